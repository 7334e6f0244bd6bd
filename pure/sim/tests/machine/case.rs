// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random sets and rules.

use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::{GlobalRule, LocalRule, Rules};
use taut_time::Duration;

use crate::random::Random;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// A random set, rules under which it can run, and the machine's behaviour.
pub struct Case {
    pub set: TaskSet,
    pub rules: Rules,
    /// The longest time from an arrival until its core receives the release.
    pub late: u64,
    /// Whether a job that arrives while an earlier one runs is dropped.
    pub skips: bool,
}

/// 1 to 3 cores with up to 4 tasks and 2 resources each, and up to 2 resources that cores share.
pub fn case(random: &mut Random) -> Case {
    loop {
        let cores = 1 + random.below(3) as usize;
        let globals = if cores > 1 { 1 + random.below(2) as usize } else { 0 };
        let late = [0, 40, 400][random.below(3) as usize];
        let mut tasks = Vec::new();
        for core in 0..cores {
            for _ in 0..1 + random.below(4) {
                let mut requests = Vec::new();
                let resources = (2 * core..2 * core + 2).chain(2 * cores..2 * cores + globals);
                for resource in resources {
                    if random.below(3) > 0 {
                        requests.push(Request { resource, count: 1, length: ns(1), outermost: true });
                    }
                }
                let period = 150 + random.below(900);
                tasks.push(SetTask {
                    name: format!("t{}", tasks.len()),
                    core,
                    priority: 1 + random.below(6) as u32,
                    arrivals: if random.below(3) == 0 {
                        ArrivalPattern::Sporadic
                    } else {
                        ArrivalPattern::Periodic
                    },
                    period: ns(period),
                    deadline: ns(period / 2 + random.below(period)),
                    jitter: ns(late),
                    body: Body::Anywhere { cost: ns(100), requests },
                });
            }
        }
        let resources = (0..2 * cores + globals).map(|at| Resource { name: format!("r{at}") }).collect();
        let set =
            TaskSet::new(vec![SchedulingPolicy::FixedPriority; cores], resources, tasks).expect("valid");
        let core_rules = [
            LocalRule::Immediate,
            LocalRule::Original,
            LocalRule::Srp,
            LocalRule::DfpByClock { jitter: Some(ns(late)) },
            LocalRule::Dfp,
        ];
        let global_rules = [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong];
        let rules = Rules {
            cores: (0..cores).map(|_| core_rules[random.below(5) as usize]).collect(),
            resources: set.resources().iter().map(|_| global_rules[random.below(3) as usize]).collect(),
        };
        // Some rules do not allow suspension.
        if taut_sim::Simulation::new(&set, &rules).is_ok() {
            return Case { set, rules, late, skips: random.below(2) == 0 };
        }
    }
}
