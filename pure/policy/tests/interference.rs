// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What servers take from other tasks, over all small cases: never more than `taut_analysis::uni::server` says.

use taut_policy::ArrivalPattern;
mod core_units;

use core_units::{AnyServer, Driver, Task, at, ns, run};
use taut_analysis::uni::fp::preemptive::{self, Subject};
use taut_analysis::uni::server as bounds;
use taut_policy::server::{Any, Deferrable, Polling, Replenishment, Sporadic};
use taut_time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Polling,
    Deferrable,
    Sporadic,
    /// With two places for replenishments.
    Sporadic2,
}

const KINDS: [Kind; 4] = [Kind::Polling, Kind::Deferrable, Kind::Sporadic, Kind::Sporadic2];

fn server(kind: Kind, budget: u64, period: u64, start: u64) -> AnyServer {
    let (budget, period, start) = (ns(budget), ns(period), at(start));
    match kind {
        Kind::Polling => Any::Polling(Polling::new(budget, period, start).expect("fits")),
        Kind::Deferrable => Any::Deferrable(Deferrable::new(budget, period, start).expect("fits")),
        Kind::Sporadic => {
            Any::Sporadic(Sporadic::new(budget, period, vec![Replenishment::EMPTY; 9]).expect("fits"))
        }
        Kind::Sporadic2 => {
            Any::Sporadic(Sporadic::new(budget, period, vec![Replenishment::EMPTY; 2]).expect("fits"))
        }
    }
}

fn interference(kind: Kind, budget: u64, period: u64) -> preemptive::FpTask {
    let server = bounds::ServerSupply { budget: ns(budget), period: ns(period), response: ns(period) };
    match kind {
        Kind::Polling => bounds::polling::interference(server),
        Kind::Deferrable => bounds::deferrable::interference(server),
        Kind::Sporadic | Kind::Sporadic2 => bounds::sporadic::interference(server),
    }
}

fn response(own: preemptive::FpTask, higher: &[preemptive::FpTask]) -> Option<u64> {
    let subject = Subject {
        task: own,
        deadline: own.period,
        blocking: Duration::ZERO,
        blocking_attained: true,
        preemptible: true,
    };
    let verdict = preemptive::response(&subject, higher).expect("small");
    verdict.holds().then(|| verdict.bound().map(|bound| bound.from_arrival.as_ns())).flatten()
}

fn plain(cost: u64, period: u64) -> preemptive::FpTask {
    preemptive::FpTask {
        cost: ns(cost),
        period: ns(period),
        jitter: Duration::ZERO,
        arrivals: ArrivalPattern::Periodic,
    }
}

/// Requests of one length, at those of eight units whose bits are set.
fn requests(pattern: u64, from: u64, cost: u64) -> Vec<(u64, u64)> {
    (0..8).filter(|unit| pattern >> unit & 1 == 1).map(|unit| (from + unit, cost)).collect()
}

/// The most urgent server, with all requests of 1 and 2 that may arrive at eight units: it never serves more than C_s
/// in any T_s, except a deferrable one, which serves 2·C_s where they fit, and never more than ⌈(t + T_s − C_s) /
/// T_s⌉ · C_s in t.
#[test]
fn budgets_are_conserved() {
    for (budget, period) in (1..=6).flat_map(|period| (1..=period).map(move |budget| (budget, period))) {
        let mut most = [0; 4];
        for pattern in 0_u64..256 {
            for (which, kind) in KINDS.into_iter().enumerate() {
                for (start, cost) in [(0, 1), (period / 2, 2), (period, 4)] {
                    let server = server(kind, budget, period, start);
                    let ran = run(Driver::Due, &[], (1, server), &requests(pattern, 0, cost), 24);
                    let sums = ran.sums();
                    for (from, to) in (0..24).flat_map(|from| (from + 1..=24).map(move |to| (from, to))) {
                        let (used, length) = (sums[to] - sums[from], (to - from) as u64);
                        let jitter = if kind == Kind::Deferrable { period - budget } else { 0 };
                        let bound = (length + jitter).div_ceil(period) * budget;
                        assert!(used <= bound, "{kind:?} {budget} in {period}: {}", ran.schedule);
                        if length == period {
                            most[which] = most[which].max(used);
                        }
                    }
                }
            }
        }
        assert_eq!(most, [budget, (2 * budget).min(period), budget, budget], "{budget} in {period}");
    }
}

/// A task below a server, and above both another task or none: over all requests and all phases, no response exceeds
/// its bound. The bounds are attained, so a sporadic server costs just what a periodic task would; except those of a
/// deferrable server below another task, whose worst cases do not coincide.
#[test]
fn others_see_no_more_than_the_analysis_says() {
    let mut checked = 0;
    let mut attained = [0; 4];
    for (which, kind) in KINDS.into_iter().enumerate() {
        for (budget, period) in [(1, 3), (1, 5), (2, 4), (2, 5), (3, 6)] {
            for high in [None, Some((1, 4))] {
                for cost in [1, 3] {
                    let above: Vec<_> = high.iter().map(|(cost, period)| plain(*cost, *period)).collect();
                    let higher = [above.clone(), vec![interference(kind, budget, period)]].concat();
                    let served = plain(budget, period);
                    // Assumption A1 of the analysis: the server keeps its period as a task.
                    if response(served, &above).is_none() {
                        continue;
                    }
                    let Some(bound) = response(plain(cost, 60), &higher) else { continue };
                    let mut worst = 0;
                    let phases = (0..high.map_or(1, |(_, period)| period))
                        .flat_map(|first| (0..period).map(move |start| (first, start)));
                    for (first, start) in phases {
                        let mut tasks = vec![Task { priority: 1, cost, period: 60, first: 6 }];
                        tasks.extend(high.map(|(cost, period)| Task { priority: 3, cost, period, first }));
                        for pattern in 0..256 {
                            let server = server(kind, budget, period, start);
                            let ran = run(Driver::Due, &tasks, (2, server), &requests(pattern, 2, 2), 40);
                            let end = ran.schedule.rfind('a').map_or(40, |last| last as u64 + 1);
                            worst = worst.max(end - 6);
                            checked += 1;
                        }
                    }
                    assert!(worst <= bound, "{kind:?} {budget} in {period}, {high:?}: {worst} of {bound}");
                    attained[which] += u32::from(worst == bound);
                    assert!(worst == bound || (kind == Kind::Deferrable && high.is_some()));
                }
            }
        }
    }
    println!("{checked} runs; bounds attained {attained:?}");
    assert!(attained.iter().all(|attained| *attained >= 15), "{attained:?}");
}

/// Requests to a sporadic server below a more urgent task, with one place for replenishments, with two, and with one
/// more than requests can arrive within T_s: with any number, no request takes longer than its bound, unless the
/// bound assumes a budget that is always at hand. That bound needs the places.
#[test]
fn requests_take_no_longer_than_the_analysis_says() {
    let mut seed = 0x05e7_0e75_u64;
    let mut below = |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) % n
    };
    let (mut checked, mut attained, mut beyond) = ([0; 2], [0; 2], 0);
    for _ in 0..3_000 {
        let high = (1 + below(2), 4 + below(6), below(4));
        let (period, gap, cost) = (5 + below(12), 2 + below(20), 1 + below(4));
        let (budget, jitter) = (1 + below(period / 2), gap * below(3));
        let own = preemptive::FpTask { arrivals: ArrivalPattern::Driven, ..plain(budget, period) };
        let Some(response) = response(own, &[plain(high.0, high.1)]) else { continue };
        let served = bounds::ServerSupply { budget: ns(budget), period: ns(period), response: ns(response) };
        let asked =
            bounds::Requests { cost: ns(cost), period: ns(gap), jitter: ns(jitter), deadline: ns(1_000) };
        let bound = bounds::sporadic::response(served, asked).expect("small");
        let Some(bound) = bound.bound().filter(|_| bound.holds()).map(|bound| bound.time.as_ns()) else {
            continue;
        };
        let within = (period + jitter).div_ceil(gap);
        let light = within * cost <= budget;
        let late = below(3);
        let mut last = 0;
        let requests: Vec<_> = (0..12)
            .map(|k: u64| {
                let early =
                    if late == 0 { below(jitter + 1) } else { jitter.saturating_sub(k * gap * (late - 1)) };
                last = (jitter + k * gap - early).max(last);
                (last, cost)
            })
            .collect();
        let tasks = [Task { priority: 2, cost: high.0, period: high.1, first: high.2 }];
        let enough = usize::try_from(within).expect("few") + 1;
        for places in [1, 2, enough] {
            let replenishments = vec![Replenishment::EMPTY; places];
            let server = Any::Sporadic(Sporadic::new(ns(budget), ns(period), replenishments).expect("fits"));
            let ran = run(Driver::Due, &tasks, (1, server), &requests, 400);
            let times =
                requests.iter().zip(&ran.ends).map(|(request, end)| end.map_or(400, |end| end - request.0));
            let seen = times.max().unwrap_or(0);
            if light && places < enough {
                beyond += u32::from(seen > bound);
                continue;
            }
            assert!(seen <= bound, "{places}: {seen} of {bound}, {served:?} {asked:?} {}", ran.schedule);
            checked[usize::from(light)] += 1;
            // The bound of a heavy load supposes that each request waits anew for the budget; one that follows another at
            // once does not.
            let near = if light { 1 } else { 2 };
            attained[usize::from(light)] += u32::from(seen + near >= bound);
        }
    }
    println!("{checked:?} checked, {attained:?} attained but for 2 and 1, {beyond} beyond without places");
    assert!(checked.iter().all(|count| *count > 500) && attained[0] > 0 && attained[1] > 50 && beyond > 10);
}
