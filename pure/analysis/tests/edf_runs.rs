// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is said to keep its deadlines under EDF does so in runs, with release jitter and sections.

use taut_analysis::multi::edf_msrp;
use taut_analysis::uni::edf::{dfp, srp};
use taut_model::{Arrivals, Body, Request, Resource, Scheduler, SetTask, TaskSet};
use taut_sim::{CoreRule, End, GlobalRule, Jitter, Placement, Rules, Scenario, Simulation, Start};
use taut_time::Duration;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// (core, C, T, D, J, sections as (resource, how long)).
type Row = (usize, u64, u64, u64, u64, Vec<(usize, u64)>);

fn set(cores: usize, rows: &[Row]) -> TaskSet {
    let task = |(core, cost, period, deadline, jitter, sections): &Row| SetTask {
        name: "t".into(),
        core: *core,
        priority: 0,
        arrivals: Arrivals::Sporadic,
        period: ns(*period),
        deadline: ns(*deadline),
        jitter: ns(*jitter),
        body: Body::Anywhere {
            cost: ns(*cost),
            requests: sections
                .iter()
                .map(|&(resource, length)| Request {
                    resource,
                    count: 1,
                    length: ns(length),
                    outermost: true,
                })
                .collect(),
        },
    };
    let resources = vec![Resource { name: "r".into() }; 2];
    TaskSet::new(vec![Scheduler::Edf; cores], resources, rows.iter().map(task).collect()).expect("valid")
}

/// Numbers that a seed determines: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (z ^ (z >> 31)) % (to - from + 1)
    }

    /// Tasks of which some have jitter as long as their deadlines differ.
    fn rows(&mut self, cores: usize) -> Vec<Row> {
        let count = self.next(2, 3) as usize * cores + 1;
        let mut rows = Vec::new();
        for _ in 0..count {
            let core = self.next(0, cores as u64 - 1) as usize;
            let sections: Vec<(usize, u64)> =
                (0..self.next(0, 2)).map(|_| (self.next(0, 1) as usize, self.next(1, 4))).collect();
            let cost = sections.iter().map(|section| section.1).sum::<u64>() + self.next(1, 4);
            let deadline = self.next(cost, 40);
            let jitter = if self.next(0, 2) == 0 { 0 } else { self.next(0, deadline - cost) };
            rows.push((core, cost, self.next(20, 90), deadline, jitter, sections));
        }
        rows
    }
}

/// A run in which what is open is random.
fn run(simulation: &mut Simulation, set: &TaskSet, numbers: &mut Numbers) -> bool {
    let jitters: [Jitter; 4] = [Jitter::Random, Jitter::First, Jitter::Full, Jitter::None];
    let placements =
        [Placement::Random, Placement::Random, Placement::Front, Placement::Back, Placement::Even];
    let tasks = set.tasks().len();
    // Short, with arrivals near each other.
    let arrival = |numbers: &mut Numbers| (0..tasks).map(|_| ns(numbers.next(0, 30))).collect();
    let scenario = Scenario {
        seed: numbers.next(0, u64::MAX - 1),
        start: Start::At(arrival(numbers)),
        jitter: jitters[numbers.next(0, 3) as usize],
        placement: placements[numbers.next(0, 4) as usize],
        ..Scenario::worst(ns(200))
    };
    let outcome = simulation.run(&scenario, &mut ()).expect("it fits");
    assert_eq!(outcome.end, End::Complete);
    outcome.missed()
}

/// Sets until so many are said to keep their deadlines; how many others there were, and in how many of these a run
/// misses one.
fn campaign(
    seed: u64,
    accepted: usize,
    cores: usize,
    runs: usize,
    rule: CoreRule,
    holds: impl Fn(&TaskSet) -> bool,
) -> (usize, usize, usize) {
    let mut numbers = Numbers(seed);
    let (mut good, mut bad, mut shown) = (0, 0, 0);
    while good < accepted {
        let rows = numbers.rows(cores);
        let set = set(cores, &rows);
        let mut simulation = Simulation::new(&set, &Rules::all(&set, rule, GlobalRule::Msrp)).expect("valid");
        let holds = holds(&set);
        let missed = (0..runs).any(|_| run(&mut simulation, &set, &mut numbers));
        assert!(!(holds && missed), "{rows:?}");
        good += usize::from(holds);
        bad += usize::from(!holds);
        shown += usize::from(!holds && missed);
    }
    (good, bad, shown)
}

/// Release jitter makes blocking longer than one section: without the charge for whole jobs the first fails.
#[test]
fn srp_with_jitter() {
    let (good, bad, shown) =
        campaign(1, 300, 1, 30, CoreRule::Srp, |set| srp::core(set, 0).expect("small").holds());
    assert!(shown * 2 > bad, "{good} kept, {shown} of {bad} others seen to miss");
}

#[test]
fn dfp_with_jitter() {
    let rule = CoreRule::Dfp { jitter: None };
    let (good, bad, shown) = campaign(2, 300, 1, 30, rule, |set| dfp::core(set, 0).expect("small").holds());
    assert!(shown * 2 > bad, "{good} kept, {shown} of {bad} others seen to miss");
}

#[test]
fn msrp_with_jitter() {
    let (good, bad, shown) =
        campaign(3, 100, 2, 30, CoreRule::Srp, |set| edf_msrp::cores(set).expect("small").holds());
    assert!(shown * 2 > bad, "{good} kept, {shown} of {bad} others seen to miss");
}
