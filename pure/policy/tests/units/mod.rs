// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs on one core, unit by unit, with every invariant asserted after each step.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test file uses its part")]

use proptest::prelude::*;
use taut_policy::ceiling::{Immediate, Original};
use taut_policy::queue::{Heap, HeapSlot, LinkedList, Node};
use taut_policy::{Dfp, LocalAnswer, LocalResource, Locking, Slot, Srp, SrpTask};
use taut_time::{Duration, Instant};

pub const TASKS: usize = 6;
pub const RESOURCES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Run,
    Lock(usize),
    Unlock(usize),
}
pub use Step::{Lock, Run, Unlock};

/// One job, of the task at the job's position.
#[derive(Clone, Debug)]
pub struct Job {
    pub arrival: u64,
    /// When its release is reported to the rule.
    pub reported: u64,
    pub deadline: u64,
    pub steps: Vec<Step>,
}

pub fn job(arrival: u64, deadline: u64, steps: &[Step]) -> Job {
    Job { arrival, reported: arrival, deadline, steps: steps.to_vec() }
}

/// `length` units inside a section.
pub fn inside(resource: usize, length: usize) -> Vec<Step> {
    [vec![Lock(resource)], vec![Run; length], vec![Unlock(resource)]].concat()
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// A letter per unit, with a star if the job holds something, `.` if no job runs; ends where mutual exclusion
    /// breaks.
    pub schedule: String,
    /// When a job requested a resource that another one held, and which job.
    pub broken: Option<(u64, usize)>,
    pub missed: Vec<bool>,
}

/// Runs the jobs, and asserts the rule's invariants after each step if `keeps_invariants`.
pub fn run(rule: &mut impl Locking, jobs: &[Job], keeps_invariants: bool) -> Ran {
    run_from(rule, jobs, keeps_invariants, |now| now)
}

/// As [`run`], with floors that count from `base` of the clock.
fn run_from(rule: &mut impl Locking, jobs: &[Job], keeps_invariants: bool, base: impl Fn(u64) -> u64) -> Ran {
    let mut at = vec![0; jobs.len()];
    let mut holds = vec![Vec::new(); jobs.len()];
    let mut ran = Ran { schedule: String::new(), broken: None, missed: vec![true; jobs.len()] };
    let units: usize = jobs.iter().flat_map(|job| &job.steps).filter(|step| **step == Run).count();
    let end = jobs.iter().map(|job| job.reported).max().unwrap_or(0) + units as u64;
    let mut replenishments = Vec::new();
    for now in 0..=end {
        for (task, job) in jobs.iter().enumerate().filter(|(_, job)| job.reported == now) {
            rule.release(task, Instant::from_ns(job.arrival)).expect("idle");
        }
        let running = loop {
            let decided = rule.decide();
            if keeps_invariants {
                rule.check_state().unwrap_or_else(|why| panic!("{why} at {now} of {jobs:?}"));
            }
            let Some(task) = decided else { break None };
            match jobs[task].steps.get(at[task]) {
                Some(&Lock(resource)) if rule.holder(resource) == Some(task) => {
                    // It has waited, and runs again.
                    holds[task].push(resource);
                    at[task] += 1;
                }
                Some(&Lock(resource)) => match rule.lock(Instant::from_ns(base(now)), resource).expect("may")
                {
                    LocalAnswer::Granted => {
                        let others = holds.iter().any(|of: &Vec<usize>| of.contains(&resource));
                        assert!(!others, "two hold {resource} at {now} of {jobs:?}");
                        holds[task].push(resource);
                        at[task] += 1;
                    }
                    LocalAnswer::Waits => {}
                    LocalAnswer::Broken => {
                        ran.broken = Some((now, task));
                        ran.schedule = replenishments.join(" ");
                        return ran;
                    }
                },
                _ => break Some(task),
            }
        };
        let Some(task) = running else {
            replenishments.push(".".to_owned());
            continue;
        };
        let star = if holds[task].is_empty() { "" } else { "*" };
        replenishments.push(format!("{}{star}", char::from(b'A' + task as u8)));
        at[task] += 1;
        while let Some(&Unlock(resource)) = jobs[task].steps.get(at[task]) {
            rule.unlock(resource).expect("holds it");
            assert_eq!(holds[task].pop(), Some(resource));
            at[task] += 1;
        }
        if at[task] == jobs[task].steps.len() {
            assert_eq!(rule.complete(), Ok(task));
            ran.missed[task] = now + 1 > jobs[task].arrival + jobs[task].deadline;
        }
    }
    while replenishments.last().is_some_and(|part| part == ".") {
        replenishments.pop();
    }
    assert!(jobs.iter().zip(&at).all(|(job, at)| job.steps.len() == *at), "a job is left: {jobs:?}");
    ran.schedule = replenishments.join(" ");
    ran
}

pub fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

pub fn deadlines(jobs: &[Job]) -> Vec<Duration> {
    jobs.iter().map(|job| ns(job.deadline)).collect()
}

/// For each resource, the least relative deadline of its users.
pub fn floors(jobs: &[Job]) -> Vec<Duration> {
    let users = |resource| jobs.iter().filter(move |job| job.steps.contains(&Lock(resource)));
    let floor = |resource| users(resource).map(|job| ns(job.deadline)).min().unwrap_or(Duration::MAX);
    (0..RESOURCES).map(floor).collect()
}

pub fn heap() -> Heap<[HeapSlot; TASKS]> {
    Heap::new([HeapSlot::EMPTY; TASKS])
}

pub fn srp(jobs: &[Job]) -> Ran {
    let (tasks, resources) = ([SrpTask::EMPTY; TASKS], [LocalResource::EMPTY; RESOURCES]);
    run(&mut Srp::new(heap(), tasks, &deadlines(jobs), resources, &floors(jobs)).expect("fits"), jobs, true)
}

pub fn dfp_with(jobs: &[Job], jitter: u64) -> Ran {
    let (slots, resources) = ([Slot::EMPTY; TASKS], [LocalResource::EMPTY; RESOURCES]);
    let rule = Dfp::new(heap(), slots, &deadlines(jobs), resources, &floors(jobs), ns(jitter));
    run(&mut rule.expect("fits"), jobs, true)
}

/// Floors count from the next release not yet reported to the rule.
pub fn dfp_next(jobs: &[Job]) -> Ran {
    let (slots, resources) = ([Slot::EMPTY; TASKS], [LocalResource::EMPTY; RESOURCES]);
    let rule = Dfp::new(heap(), slots, &deadlines(jobs), resources, &floors(jobs), Duration::ZERO);
    let next = |now| {
        let untold = jobs.iter().filter(|job| job.reported > now).map(|job| job.arrival);
        untold.min().unwrap_or(u64::MAX)
    };
    run_from(&mut rule.expect("fits"), jobs, true, next)
}

pub fn dfp(jobs: &[Job]) -> Ran {
    dfp_with(jobs, 0)
}

/// Deadline-monotonic priorities, and the ceilings that follow from them.
pub fn priorities(jobs: &[Job]) -> (Vec<u32>, Vec<u32>) {
    let of = |deadline: u64| 1000 - u32::try_from(deadline).expect("small");
    let ceiling = |floor: &Duration| if *floor == Duration::MAX { 0 } else { of(floor.as_ns()) };
    (jobs.iter().map(|job| of(job.deadline)).collect(), floors(jobs).iter().map(ceiling).collect())
}

pub fn immediate(jobs: &[Job]) -> Ran {
    let ((own, ceilings), resources) = (priorities(jobs), [LocalResource::EMPTY; RESOURCES]);
    run(
        &mut Immediate::new(heap(), [Slot::EMPTY; TASKS], &own, resources, &ceilings).expect("fits"),
        jobs,
        true,
    )
}

pub fn original(jobs: &[Job]) -> Ran {
    let ((own, ceilings), resources) = (priorities(jobs), [LocalResource::EMPTY; RESOURCES]);
    let list = LinkedList::new([Node::EMPTY; TASKS]);
    run(&mut Original::new(list, [Slot::EMPTY; TASKS], &own, resources, &ceilings).expect("fits"), jobs, true)
}

/// Jobs of random sections, properly nested if `nested`.
pub fn sets(nested: bool) -> impl Strategy<Value = Vec<Job>> {
    let section = (0..2_usize, 1_usize..3, any::<bool>()).prop_map(move |(resource, length, nests)| {
        if nests && nested {
            let inner = inside(1 - resource, 1);
            [vec![Lock(resource)], vec![Run; length], inner, vec![Run, Unlock(resource)]].concat()
        } else {
            inside(resource, length)
        }
    });
    let part = prop_oneof![(1_usize..3).prop_map(|length| vec![Run; length]), section];
    let one = (0_u64..8, 2_u64..16, prop::collection::vec(part, 1..3));
    let one =
        one.prop_map(|(arrival, deadline, replenishments)| job(arrival, deadline, &replenishments.concat()));
    prop::collection::vec(one, 2..=TASKS)
}
