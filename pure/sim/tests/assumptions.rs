// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An assumption of an analysis, and a run that violates it and exceeds the bound.

use taut_analysis::multi::msrp_gai01;
use taut_model::{ArrivalPattern, Body, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_sim::{GlobalRule, LocalRule, Rules, Scenario, Simulation, Start};
use taut_time::Duration;

/// MSRP needs immediate ceilings, or SRP, for local resources. Under the original ceilings a task can start while
/// another task holds a lock that it will request. So it can be blocked twice: by a section that is not preempted
/// when it arrives, and by the holder when it requests the lock. The low task locks `local` at 0 for 5, the middle
/// one takes `global` at 2 for 4, and the high one arrives at 3: it waits until 6, runs, requests `local` at 7, and
/// waits for the 4 that are left. Its bound is 2 + 5.
#[test]
fn msrp_needs_immediate_ceilings() {
    let ns = Duration::from_ns;
    let run = |time| Segment::Normal(ns(time));
    let section = |resource, time| Segment::Section { resource, inside: vec![run(time)] };
    let task = |name: &str, core, priority, body| SetTask {
        name: name.into(),
        core,
        priority,
        arrivals: ArrivalPattern::Sporadic,
        period: ns(100),
        deadline: ns(100),
        jitter: Duration::ZERO,
        body: Body::Segments(body),
    };
    let tasks = vec![
        task("high", 0, 3, vec![run(1), section(0, 1)]),
        task("middle", 0, 2, vec![run(1), section(1, 4)]),
        task("low", 0, 1, vec![section(0, 5)]),
        task("elsewhere", 1, 4, vec![section(1, 1)]),
    ];
    let resources = ["local", "global"].map(|name| Resource { name: name.into() }).to_vec();
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority; 2], resources, tasks).expect("valid");
    let verdict = msrp_gai01::response_times(&set).expect("small numbers");
    let bound = verdict.bound().expect("schedulable").tasks[0].from_arrival;
    assert_eq!(bound, ns(7));
    let start = Start::At([3, 1, 0, 50].map(ns).to_vec());
    let scenario = Scenario { start, ..Scenario::worst(ns(90)) };
    let seen = |rule| {
        let rules = Rules::all(&set, rule, GlobalRule::Msrp);
        let mut simulation = Simulation::new(&set, &rules).expect("fits");
        simulation.run(&scenario, &mut ()).expect("fits").tasks[0].response_max
    };
    assert_eq!(seen(LocalRule::Original), ns(9));
    assert!(seen(LocalRule::Immediate) <= bound);
}
