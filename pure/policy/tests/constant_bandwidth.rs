// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Constant bandwidth servers under EDF, from their definition \[Abeni98\].

mod core_units;

use core_units::{AnyServer, Driver, Task, at, ns, run_edf};
use taut_policy::server::{Any, ConstantBandwidth, ServerRule};

fn server(budget: u64, period: u64) -> AnyServer {
    Any::ConstantBandwidth(ConstantBandwidth::new(ns(budget), ns(period)).expect("fits"))
}

/// C_s = 2, T_s = 5, alone. A request of 5 at 1 has the deadline 6, from 3 on 11, and from 5 on 16; a budget of 1 is
/// left at 6. At 7 this is less than the server's share of the time until 16, so budget and deadline stay; at 14 it
/// is more, so both are renewed.
#[test]
fn the_rules_one_by_one() {
    let mut server = ConstantBandwidth::new(ns(2), ns(5)).expect("fits");
    let step = |server: &mut ConstantBandwidth, now, ran| {
        let over = server.pass(at(now), ran);
        (over, server.deadline().as_ns(), server.left().as_ns())
    };
    assert_eq!(step(&mut server, 1, false), (false, 0, 2));
    server.wake();
    assert_eq!(server.arrival(), at(1));
    assert_eq!(step(&mut server, 2, true), (false, 6, 1));
    assert_eq!(step(&mut server, 3, true), (true, 11, 2));
    assert_eq!(step(&mut server, 5, true), (true, 16, 2));
    assert_eq!(step(&mut server, 6, true), (false, 16, 1));
    assert_eq!(step(&mut server, 7, false), (false, 16, 1));
    let mut early = server;
    early.wake();
    assert_eq!(step(&mut early, 7, false), (false, 16, 1));
    server.pass(at(14), false);
    server.wake();
    assert_eq!(step(&mut server, 14, false), (false, 19, 2));
    // A late report: each budget that the server has used moves the deadline.
    assert_eq!(step(&mut server, 19, true), (true, 29, 1));
    assert!(server.is_ready(true) && !server.is_ready(false) && server.next(true).is_none());
}

/// Tasks and C_s / T_s add up to 1 at most: no task is late, whatever is requested, and a server whose requests keep
/// to its share serves each within T_s. Above 1, some are late.
#[test]
fn a_share_is_a_share() {
    let mut seed = 0x0cb5_0001_u64;
    let mut below = |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) % n
    };
    let (mut full, mut late, mut kept) = (0, 0, 0);
    for _ in 0..4_000 {
        let tasks: Vec<_> = (0..1 + below(3))
            .map(|_| {
                let period = 2 + below(9);
                Task { priority: 0, cost: 1 + below(period) / 2, period, first: 0 }
            })
            .collect();
        let period = 2 + below(9);
        let budget = 1 + below(period) / 2;
        // In units of 1/2520, which every number up to 10 divides.
        let load =
            tasks.iter().map(|task| task.cost * 2520 / task.period).sum::<u64>() + budget * 2520 / period;
        let keeps = below(2) == 0;
        let mut now = 0;
        let requests: Vec<_> = (0..30)
            .map(|_| {
                now += if keeps { period + below(4) } else { below(2 * period) };
                (now, if keeps { 1 + below(budget) } else { 1 + below(2 * period) })
            })
            .collect();
        let ran = run_edf(Driver::Due, &tasks, (period, server(budget, period)), &requests, 300);
        assert_eq!(ran, run_edf(Driver::Always, &tasks, (period, server(budget, period)), &requests, 300));
        if load > 2520 {
            late += u32::from(ran.late);
            continue;
        }
        full += u32::from(load == 2520);
        assert!(!ran.late, "{budget} in {period}, {}", ran.schedule);
        if keeps {
            for (request, end) in
                requests.iter().zip(&ran.ends).filter(|(request, _)| request.0 + period < 300)
            {
                assert!(end.is_some_and(|end| end <= request.0 + period), "{request:?} {end:?}");
                kept += 1;
            }
        }
    }
    assert!(full > 100 && late > 300 && kept > 10_000, "{full} {late} {kept}");
}
