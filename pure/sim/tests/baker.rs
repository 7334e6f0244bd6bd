// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What Baker proves of the stack resource policy [Baker91], and the stack that gives it its name, observed in runs
//! of random sets with nested sections, under EDF and under fixed priority: a job that has started waits for no
//! resource, and before it starts at most one job that goes after it blocks it. We have not seen the paper's own
//! example in print.

mod random;

use std::collections::BTreeMap;

use random::Random;
use taut_model::{ArrivalPattern, Body, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_sim::{GlobalRule, LocalRule, Rules, RunEnd, Scenario, SimEvent, SimEventKind, Simulation};
use taut_time::Duration;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// One core, 2 to 5 tasks, 3 resources, sections up to three deep; each nested section has a resource of a higher
/// number.
fn set(random: &mut Random, scheduler: SchedulingPolicy) -> TaskSet {
    fn segments(random: &mut Random, from: usize) -> Vec<Segment> {
        let mut all = vec![Segment::Normal(ns(1 + random.below(5)))];
        for resource in from..3 {
            if random.below(2) == 0 {
                let inside = segments(random, resource + 1);
                all.push(Segment::Section { resource, inside });
                all.push(Segment::Normal(ns(1 + random.below(5))));
            }
        }
        all
    }
    let count = 2 + random.below(4);
    let tasks = (0..count).map(|at| {
        let period = 100 + random.below(400);
        SetTask {
            name: format!("t{at}"),
            core: 0,
            priority: u32::try_from(at).expect("small") + 1,
            arrivals: ArrivalPattern::Sporadic,
            period: ns(period),
            deadline: ns(period),
            jitter: Duration::ZERO,
            body: Body::Segments(segments(random, 0)),
        }
    });
    let resources = (0..3).map(|at| Resource { name: format!("r{at}") }).collect();
    TaskSet::new(vec![scheduler], resources, tasks.collect()).expect("valid")
}

/// A job under way.
struct Job {
    /// Smaller goes first: its deadline, or a number for its priority.
    rank: u64,
    started: bool,
    /// The jobs that go after it and ran between its release and its start.
    lower: Vec<(usize, u64)>,
}

/// Follows the events of a run.
#[derive(Default)]
struct Watch {
    jobs: BTreeMap<(usize, u64), Job>,
    /// The jobs that have started and are not complete, the latest last.
    stack: Vec<(usize, u64)>,
    starts: u64,
    blocked: u64,
    nested: u64,
}

impl Watch {
    fn see(&mut self, set: &TaskSet, event: SimEvent) {
        let id = (event.task, event.job);
        let task = &set.tasks()[event.task];
        match event.kind {
            SimEventKind::Release { arrival } => {
                let rank = match set.cores()[0] {
                    SchedulingPolicy::Edf => arrival.as_ns() + task.deadline.as_ns(),
                    SchedulingPolicy::FixedPriority => u64::from(u32::MAX - task.priority),
                };
                // The running job continues until the decision at this instant; that takes no time.
                self.jobs.insert(id, Job { rank, started: false, lower: Vec::new() });
            }
            SimEventKind::Start => {
                self.starts += 1;
                self.stack.push(id);
                let job = self.jobs.get_mut(&id).expect("released");
                job.started = true;
                // At most one job that goes after it has blocked it.
                assert!(job.lower.len() <= 1, "{id:?} was blocked by {:?}", job.lower);
                self.blocked += u64::from(!job.lower.is_empty());
            }
            SimEventKind::Resume | SimEventKind::Locked(_) | SimEventKind::Unlock(_) => {
                // The stack: only the job that started last runs.
                assert_eq!(self.stack.last(), Some(&id), "{id:?} runs beside one that started later");
                self.nested += u64::from(event.kind == SimEventKind::Locked(2));
                let rank = self.jobs[&id].rank;
                for job in self.jobs.values_mut().filter(|job| !job.started && job.rank < rank) {
                    if !job.lower.contains(&id) {
                        job.lower.push(id);
                    }
                }
            }
            SimEventKind::Suspend(_) | SimEventKind::Spin(_) => {
                panic!("{id:?} waits for a resource after it started")
            }
            SimEventKind::Complete { .. } => {
                assert_eq!(self.stack.pop(), Some(id));
                self.jobs.remove(&id);
            }
            SimEventKind::Preempt | SimEventKind::Miss | SimEventKind::Drop => {}
            SimEventKind::Exhausted | SimEventKind::Kill => panic!("there are no limits"),
        }
    }
}

#[test]
fn baker91_no_job_waits_once_it_has_started() {
    let mut random = Random(0x5EED);
    for (scheduler, rule) in [
        (SchedulingPolicy::Edf, LocalRule::Srp),
        (SchedulingPolicy::Edf, LocalRule::DfpByClock { jitter: None }),
        (SchedulingPolicy::Edf, LocalRule::Dfp),
        (SchedulingPolicy::FixedPriority, LocalRule::Immediate),
    ] {
        let (mut starts, mut blocked, mut nested) = (0, 0, 0);
        for seed in 0..150 {
            let set = set(&mut random, scheduler);
            let rules = Rules::all(&set, rule, GlobalRule::Msrp);
            let mut simulation = Simulation::new(&set, &rules).expect("fits");
            let mut watch = Watch::default();
            let mut sink = |event: SimEvent| watch.see(&set, event);
            let outcome = simulation.run(&Scenario::random(ns(20_000), seed), &mut sink).expect("fits");
            assert_eq!(outcome.end, RunEnd::Complete);
            (starts, blocked, nested) =
                (starts + watch.starts, blocked + watch.blocked, nested + watch.nested);
        }
        assert!(starts > 10_000 && blocked > 500 && nested > 500, "{starts} {blocked} {nested}");
    }
}
