// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs do not change: digests of random runs, recorded before `taut_policy` drove the servers and before there were
//! budgets. A change that is meant to alter runs records them anew: the failing test prints them.

mod random;

use random::Random;
use taut_model::{ArrivalPattern, Body, Request as Section, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::server::{self, ServerRequest, SimServer};
use taut_sim::{Execution, GlobalRule, LocalRule, Rules, Scenario, ServerPolicy, SimEvent, Simulation};
use taut_time::Duration;

/// FNV-1a over numbers.
struct Digest(u64);

impl Digest {
    const START: Self = Self(0xcbf2_9ce4_8422_2325);

    fn put(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

fn task(core: usize, priority: u32, cost: u64, period: u64, jitter: u64) -> SetTask {
    SetTask {
        name: format!("t{priority}"),
        core,
        priority,
        arrivals: ArrivalPattern::Sporadic,
        period: ns(period),
        deadline: ns(period),
        jitter: ns(jitter),
        body: Body::Anywhere { cost: ns(cost), requests: Vec::new() },
    }
}

/// A server among up to four tasks, with requests of any load: bursts, pauses, and more than it can serve.
fn served(random: &mut Random, policy: ServerPolicy) -> Digest {
    let tasks = (0..1 + random.below(4))
        .map(|at| {
            let period = 6 + random.below(40);
            // Two tasks may have the same priority; none has the server's.
            let priority = [1, 2, 2, 4, 5][((at + random.below(2)) % 5) as usize];
            task(0, priority, 1 + random.below(period / 3), period, random.below(5))
        })
        .collect();
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![], tasks).expect("valid");
    let period = 4 + random.below(24);
    let server = SimServer {
        policy,
        priority: 3,
        budget: ns(1 + random.below(period / 2)),
        period: ns(period),
        start: ns(random.below(period + 1)),
    };
    let mut at = 0;
    let requests: Vec<_> = (0..60)
        .map(|_| {
            at += [0, 1, 3, 11, 40][random.below(5) as usize] * random.below(4);
            ServerRequest { arrival: ns(at), cost: ns(1 + random.below(7)) }
        })
        .collect();
    let mut scenario = Scenario::random(ns(900), random.below(1 << 40));
    if random.below(3) == 0 {
        scenario.execution = Execution::Full;
    }
    let served = server::run(&set, 0, &server, &requests, &scenario).expect("fits");
    assert_eq!(served.requests.len(), requests.len());
    let mut digest = Digest::START;
    served.requests.iter().chain(&served.tasks).for_each(|time| digest.put(time.as_ns()));
    digest
}

#[test]
fn servers() {
    let found = [ServerPolicy::Polling, ServerPolicy::Deferrable, ServerPolicy::Sporadic].map(|policy| {
        let mut random = Random(0x5e1f_0001);
        let mut all = Digest::START;
        (0..300).for_each(|_| all.put(served(&mut random, policy).0));
        all.0
    });
    // The last one anew: a request at the instant at which the last one is done continues the backlog.
    let expected = [0xe6f4_a191_ccb1_5f6c, 0xaec4_b2e7_ddcf_d265, 0x7452_a24f_bc9c_92dd];
    assert_eq!(found, expected, "{found:#018x?}");
}

/// Two cores, up to four tasks on each, three resources of either kind.
fn ordinary(random: &mut Random, core: LocalRule, global: GlobalRule) -> Digest {
    let resources = ["a", "b", "c"].map(|name| Resource { name: name.into() }).to_vec();
    let mut priority = 0;
    let tasks = (0..2)
        .flat_map(|core| (0..2 + random.below(3)).map(|_| (core, random.below(1 << 60))).collect::<Vec<_>>())
        .map(|(core, seed)| {
            let random = &mut Random(seed | 1);
            let period = 20 + random.below(100);
            priority += 1;
            let mut task = task(core, priority, 3 + random.below(period / 4), period, random.below(6));
            let requests = (0..3)
                .filter(|_| random.below(3) == 0)
                .map(|resource| Section { resource, count: 1, length: ns(1), outermost: true })
                .collect();
            if let Body::Anywhere { requests: of, .. } = &mut task.body {
                *of = requests;
            }
            task
        })
        .collect();
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority; 2], resources, tasks).expect("valid");
    let mut simulation = Simulation::new(&set, &Rules::all(&set, core, global)).expect("fits");
    let mut digest = Digest::START;
    let reported = &mut |event: SimEvent| {
        digest.put(event.at.as_ns());
        digest.put(event.task as u64);
        digest.put(event.job);
        format!("{:?}", event.kind).bytes().for_each(|byte| digest.put(byte.into()));
    };
    let outcome = simulation.run(&Scenario::random(ns(2000), random.below(1 << 40)), reported).expect("fits");
    let (last, events) = (outcome.last.as_ns(), outcome.events);
    digest.put(last);
    digest.put(events);
    digest
}

#[test]
fn ordinary_runs() {
    let rules = [
        (LocalRule::Immediate, GlobalRule::Msrp),
        (LocalRule::Original, GlobalRule::Mpcp),
        (LocalRule::Srp, GlobalRule::FmlpLong),
        (LocalRule::Srp, GlobalRule::Msrp),
    ];
    let found = rules.map(|(core, global)| {
        let mut random = Random(0x5e1f_0002);
        let mut all = Digest::START;
        (0..60).for_each(|_| all.put(ordinary(&mut random, core, global).0));
        all.0
    });
    let expected =
        [0x1fe3_d561_cb1d_721a, 0x0021_5533_99a6_6335, 0x3992_b50a_c438_24de, 0xc42b_e4ea_ad20_d599];
    assert_eq!(found, expected, "{found:#018x?}");
}
