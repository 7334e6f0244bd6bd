// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sets that the analyses accept keep their deadlines under EDF in runs, with release jitter and sections.

use taut_analysis::multi::edf_msrp;
use taut_analysis::uni::edf::demand::Demand;
use taut_analysis::uni::edf::dfp::Floors;
use taut_analysis::uni::edf::response::{self, EdfResponse, Locks};
use taut_analysis::uni::edf::srp::Levels;
use taut_analysis::uni::edf::{dfp, srp};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::{GlobalRule, Jitter, LocalRule, Placement, Rules, RunEnd, Scenario, Simulation, Start};
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
        arrivals: ArrivalPattern::Sporadic,
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
    TaskSet::new(vec![SchedulingPolicy::Edf; cores], resources, rows.iter().map(task).collect())
        .expect("valid")
}

/// A generator of numbers that a seed determines: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (z ^ (z >> 31)) % (to - from + 1)
    }

    /// Tasks, some with jitter as long as the differences of their deadlines.
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

/// Claims about a set: whether deadlines are kept, and response times, which also hold past deadlines.
type Claims = (bool, Vec<EdfResponse>);

fn claims(responses: Result<Verdict<Vec<EdfResponse>>, Overflow>, holds: bool) -> Claims {
    match responses.expect("small") {
        Verdict::Schedulable(all) | Verdict::Unschedulable(all) | Verdict::NotShown(Why::Passes(all)) => {
            (holds, all)
        }
        _ => (holds, Vec::new()),
    }
}

fn holds(verdict: Result<Verdict<Demand>, Overflow>) -> bool {
    verdict.expect("small").holds()
}

/// A run in which all that is open is random. Returns whether a deadline is missed.
fn run(simulation: &mut Simulation, set: &TaskSet, all: &[EdfResponse], numbers: &mut Numbers) -> bool {
    let jitters = [Jitter::Random, Jitter::First, Jitter::Full, Jitter::None];
    let placements =
        [Placement::Random, Placement::Random, Placement::Front, Placement::Back, Placement::Even];
    // Short, with arrivals near each other.
    let start = (0..set.tasks().len()).map(|_| ns(numbers.next(0, 30))).collect();
    let scenario = Scenario {
        seed: numbers.next(0, u64::MAX - 1),
        start: Start::At(start),
        jitter: jitters[numbers.next(0, 3) as usize],
        placement: placements[numbers.next(0, 4) as usize],
        ..Scenario::worst(ns(200))
    };
    let outcome = simulation.run(&scenario, &mut ()).expect("it fits");
    assert_eq!(outcome.end, RunEnd::Complete);
    for (seen, claim) in outcome.tasks.iter().zip(all) {
        assert!(seen.response_max <= claim.from_arrival, "{seen:?} {claim:?} {set:?}");
        assert!(seen.from_release_max <= claim.from_release, "{seen:?} {claim:?} {set:?}");
    }
    outcome.missed()
}

/// Runs sets until `accepted` of them are claimed to keep their deadlines: none of these may miss one. Of the other
/// sets, more than half must miss one in a run.
fn campaign(seed: u64, accepted: usize, cores: usize, rule: LocalRule, claims: impl Fn(&TaskSet) -> Claims) {
    let mut numbers = Numbers(seed);
    let (mut good, mut bad, mut shown) = (0, 0, 0);
    while good < accepted {
        let rows = numbers.rows(cores);
        let set = set(cores, &rows);
        let mut simulation = Simulation::new(&set, &Rules::all(&set, rule, GlobalRule::Msrp)).expect("valid");
        let (holds, all) = claims(&set);
        let missed = (0..30).any(|_| run(&mut simulation, &set, &all, &mut numbers));
        assert!(!(holds && missed), "{rows:?}");
        good += usize::from(holds);
        bad += usize::from(!holds);
        shown += usize::from(!holds && missed);
    }
    assert!(shown * 2 > bad, "{good} kept, {shown} of {bad} others seen to miss");
}

/// Release jitter makes blocking longer than one section: without the charge for whole jobs this fails.
#[test]
fn srp_with_jitter() {
    let locks = Locks::Srp(Levels::Deadline);
    campaign(1, 250, 1, LocalRule::Srp, |set| {
        claims(response::core(set, 0, locks), holds(srp::core(set, 0)))
    });
}

#[test]
fn dfp_with_jitter() {
    let locks = Locks::Dfp(Floors::Shared);
    for (seed, rule) in [(2, LocalRule::DfpByClock { jitter: None }), (4, LocalRule::Dfp)] {
        campaign(seed, 250, 1, rule, |set| claims(response::core(set, 0, locks), holds(dfp::core(set, 0))));
    }
}

#[test]
fn msrp_with_jitter() {
    campaign(3, 80, 2, LocalRule::Srp, |set| {
        claims(edf_msrp::response_times(set), edf_msrp::cores(set).expect("small").holds())
    });
}

/// The third task is released late, after the second has started above the section of the first, and is due before
/// the second: it waits for both. One section of 2 would leave it in time. With levels by D − J the second does not
/// start.
#[test]
fn a_job_above_the_section_runs_to_its_end() {
    let rows =
        [(0, 3, 100, 30, 0, vec![(0, 2)]), (0, 4, 100, 10, 0, vec![]), (0, 1, 100, 12, 9, vec![(0, 1)])];
    let set = set(1, &rows);
    let scenario = Scenario {
        start: Start::At([7, 8, 0].map(ns).to_vec()),
        jitter: Jitter::Full,
        ..Scenario::worst(ns(50))
    };
    let mut simulation = Simulation::new(&set, &Rules::of(&set, GlobalRule::Msrp)).expect("valid");
    let outcome = simulation.run(&scenario, &mut ()).expect("it fits");
    assert_eq!((outcome.tasks[2].response_max, outcome.tasks[2].missed), (ns(14), 1));
    let Verdict::NotShown(Why::Passes(found)) = srp::core(&set, 0).expect("small") else { panic!() };
    let short = found.short.expect("a window");
    assert_eq!((short.length, short.demand, short.blocking), (ns(3), ns(1), ns(2 + 4)));
    assert!(srp::core_by(&set, 0, Levels::LatestRelease).expect("small").holds());
    assert!(dfp::core(&set, 0).expect("small").holds());
}
