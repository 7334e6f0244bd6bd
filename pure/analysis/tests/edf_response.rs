// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times under EDF: by hand, against every alignment of small sets, and against tick-by-tick runs of the
//! rules for local resources with jitter.

use proptest::prelude::*;
use taut_analysis::uni::edf::demand::{EdfTask, demand};
use taut_analysis::uni::edf::dfp::{self, Floors};
use taut_analysis::uni::edf::response::{self, Blocker, EdfResponse, Locks, response};
use taut_analysis::uni::edf::srp::{self, Levels};
use taut_analysis::{Assumption, Overflow, Verdict, Why};
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_time::Duration;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// (C, T, D, J).
type Row = (u64, u64, u64, u64);

fn tasks(rows: &[Row]) -> Vec<EdfTask> {
    let task = |&(c, t, d, j): &Row| EdfTask { cost: ns(c), period: ns(t), deadline: ns(d), jitter: ns(j) };
    rows.iter().map(task).collect()
}

fn value<B>(verdict: Result<Verdict<B>, Overflow>) -> Option<B> {
    match verdict.expect("small numbers") {
        Verdict::Schedulable(found)
        | Verdict::Unschedulable(found)
        | Verdict::NotShown(Why::Passes(found)) => Some(found),
        _ => None,
    }
}

/// (R, R').
fn bound(rows: &[Row], which: usize) -> Option<(u64, u64)> {
    let found = value(response(&tasks(rows), which, &[], true))?;
    Some((found.from_arrival.as_ns(), found.from_release.as_ns()))
}

#[test]
fn the_worst_is_not_when_all_come_at_once() {
    // At once, the second responds in 5. It responds in 6 if it arrives 1 after the first, whose second job is then
    // due at the same time: the first takes 2 + 2 of the 7.
    let rows = [(2, 4, 4, 0), (3, 7, 7, 0)];
    assert_eq!(bound(&rows, 0), Some((3, 3)));
    assert_eq!(bound(&rows, 1), Some((6, 6)));
}

#[test]
fn jitter_counts_from_the_arrival() {
    assert_eq!(bound(&[(4, 20, 40, 25)], 0), Some((29, 8)));
    assert_eq!(bound(&[(4, 20, 20, 3)], 0), Some((7, 4)));
}

#[test]
fn blocking_counts_for_what_is_due_sooner() {
    let rows = [(1, 10, 5, 0), (5, 50, 40, 0)];
    let blocker = [Blocker { time: ns(3), from: ns(0), until: ns(40), of: None }];
    let found = |which| value(response(&tasks(&rows), which, &blocker, true)).map(|r| r.from_arrival.as_ns());
    assert_eq!((found(0), found(1)), (Some(4), Some(6)));
}

#[test]
fn ways_to_give_up() {
    let zero = response(&tasks(&[(1, 0, 1, 0)]), 0, &[], true);
    assert_eq!(zero, Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
    assert_eq!(response(&[], 0, &[], true), Ok(Verdict::NotApplicable(Assumption::Listed)));
    let over = tasks(&[(1, 2, 2, 0), (2, 3, 3, 0)]);
    assert_eq!(response(&over, 0, &[], true), Ok(Verdict::NotShown(Why::Rate)));
    let late = response(&tasks(&[(2, 9, 2, 0), (2, 9, 2, 0)]), 0, &[], true);
    assert!(matches!(late, Ok(Verdict::Unschedulable(r)) if r.from_arrival == ns(4)));
    let max = u64::MAX;
    assert_eq!(response(&tasks(&[(max, max, max, 1)]), 0, &[], true), Err(Overflow));
    assert_eq!(bound(&[(max, max, max, 0)], 0), Some((max, max)));
    // U = 1 and a busy period of 2⁴⁰ with jobs of 1 ns.
    let mut full: Vec<Row> = (1..=20).map(|power| (1, 1 << power, 1 << power, 0)).collect();
    full.push((1 << 20, 1 << 40, 1 << 40, 0));
    assert!(matches!(response(&tasks(&full), 0, &[], true), Ok(Verdict::NotShown(Why::Steps(_)))));
}

/// R and R' over all alignments: every task's first job arrives up to J before some instant, or up to T − J − 1 after
/// it, and its later jobs as soon as they may; none is released before the instant. Ties count against `which`.
fn every_alignment(rows: &[Row], which: usize) -> (u64, u64) {
    // All times are 100 later, so that they are positive.
    const START: u64 = 100;
    let mut first = vec![0; rows.len()];
    let (mut arrival_max, mut release_max) = (0, 0);
    loop {
        let next = |at: usize, job: u64| START - rows[at].3 + first[at] + job * rows[at].1;
        // Per task, its job and what is left of the job.
        let mut jobs: Vec<(u64, u64)> = rows.iter().map(|row| (0, row.0)).collect();
        for now in START.. {
            let ready = (0..rows.len()).filter(|&at| next(at, jobs[at].0) <= now);
            let due = |at: usize| next(at, jobs[at].0) + rows[at].2;
            let Some(chosen) = ready.min_by_key(|&at| (due(at), at == which)) else {
                if (0..rows.len()).all(|at| now > START - rows[at].3 + first[at]) {
                    break;
                }
                continue;
            };
            jobs[chosen].1 -= 1;
            if jobs[chosen].1 == 0 {
                if chosen == which {
                    let arrival = next(chosen, jobs[chosen].0);
                    arrival_max = arrival_max.max(now + 1 - arrival);
                    release_max = release_max.max(now + 1 - arrival.max(START));
                }
                jobs[chosen] = (jobs[chosen].0 + 1, rows[chosen].0);
            }
            if now > START + 200 {
                break;
            }
        }
        // The next alignment.
        let Some(at) = (0..rows.len()).find(|&at| first[at] + 1 < rows[at].1) else {
            return (arrival_max, release_max);
        };
        first[at] += 1;
        first[..at].fill(0);
    }
}

/// A job's body in a run: execution outside, then the sections as (resource, length), then the rest outside.
#[derive(Clone, Debug)]
struct Locker {
    row: Row,
    sections: Vec<(usize, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Guard {
    Levels(Levels),
    Floors(Floors),
}

struct Job {
    task: usize,
    arrival: u64,
    release: u64,
    due: u64,
    /// Per nanosecond, the resource that is held.
    body: Vec<Option<usize>>,
    done: usize,
    started: bool,
    /// Its deadline while it holds a resource, under floors.
    floor: u64,
}

/// The longest response times of a run, tick by tick, without any code of the crates that implement the rules. `None`
/// if two jobs hold a resource at once.
fn ticks(lockers: &[Locker], guard: Guard, arrivals: &[Vec<(u64, u64, usize)>]) -> Option<Vec<(u64, u64)>> {
    let late = |l: &Locker| l.row.2 - l.row.3;
    let level = |l: &Locker| match guard {
        Guard::Levels(Levels::LatestRelease) | Guard::Floors(Floors::Own) => late(l),
        _ => l.row.2,
    };
    let jitter = lockers.iter().map(|l| l.row.3).max().unwrap_or(0);
    let ceiling = |resource: usize| {
        let users = lockers.iter().filter(|l| l.sections.iter().any(|section| section.0 == resource));
        users.map(level).min().unwrap_or(u64::MAX)
    };
    let mut jobs = Vec::new();
    for (task, (locker, arrivals)) in lockers.iter().zip(arrivals).enumerate() {
        for &(arrival, release, before) in arrivals {
            let inside: u64 = locker.sections.iter().map(|section| section.1).sum();
            let outside = (locker.row.0 - inside) as usize;
            let mut body = vec![None; before.min(outside)];
            for &(resource, length) in &locker.sections {
                body.extend((0..length).map(|_| Some(resource)));
            }
            body.extend(vec![None; outside - before.min(outside)]);
            let due = arrival + locker.row.2;
            jobs.push(Job { task, arrival, release, due, body, done: 0, started: false, floor: u64::MAX });
        }
    }
    let mut worst = vec![(0, 0); lockers.len()];
    let mut running: Option<usize> = None;
    for now in 0.. {
        if jobs.iter().all(|job| job.done == job.body.len()) {
            return Some(worst);
        }
        let holds = |job: &Job| {
            // Between ticks: the job holds the resource of its last tick if its next tick uses the same one.
            let at = job.done.checked_sub(1)?;
            let next = *job.body.get(job.done)?;
            job.body[at].filter(|&resource| next == Some(resource))
        };
        let first_of_task = |at: usize| {
            (0..at)
                .all(|other| jobs[other].task != jobs[at].task || jobs[other].done == jobs[other].body.len())
        };
        let open = (0..jobs.len()).filter(|&at| {
            jobs[at].release <= now && jobs[at].done < jobs[at].body.len() && first_of_task(at)
        });
        let chosen = match guard {
            Guard::Levels(_) => {
                let top = open.clone().filter(|&at| jobs[at].started).min_by_key(|&at| jobs[at].due);
                let new = open.clone().filter(|&at| !jobs[at].started).min_by_key(|&at| jobs[at].due);
                let system = jobs.iter().filter_map(holds).map(ceiling).min().unwrap_or(u64::MAX);
                match (top, new) {
                    (Some(top), Some(new)) => {
                        let starts =
                            jobs[new].due < jobs[top].due && level(&lockers[jobs[new].task]) < system;
                        Some(if starts { new } else { top })
                    }
                    (top, new) => top.or(new),
                }
            }
            Guard::Floors(_) => {
                let rank = |at: usize| if holds(&jobs[at]).is_some() { jobs[at].floor } else { jobs[at].due };
                open.min_by_key(|&at| (rank(at), running != Some(at), !jobs[at].started))
            }
        };
        running = chosen;
        let Some(at) = chosen else { continue };
        let held_by_others = |resource| {
            jobs.iter().enumerate().any(|(other, job)| other != at && holds(job) == Some(resource))
        };
        if let Some(resource) = jobs[at].body[jobs[at].done]
            && holds(&jobs[at]).is_none()
        {
            if held_by_others(resource) {
                return None;
            }
            let shared = if guard == Guard::Floors(Floors::Shared) { jitter } else { 0 };
            jobs[at].floor = jobs[at].due.min((now + ceiling(resource)).saturating_sub(shared));
        }
        let job = &mut jobs[at];
        job.started = true;
        job.done += 1;
        if job.done == job.body.len() {
            let seen = &mut worst[job.task];
            *seen = (seen.0.max(now + 1 - job.arrival), seen.1.max(now + 1 - job.release));
        }
    }
    None
}

fn set(lockers: &[Locker]) -> TaskSet {
    let task = |locker: &Locker| SetTask {
        name: "t".into(),
        core: 0,
        priority: 0,
        arrivals: ArrivalPattern::Sporadic,
        period: ns(locker.row.1),
        deadline: ns(locker.row.2),
        jitter: ns(locker.row.3),
        body: Body::Anywhere {
            cost: ns(locker.row.0),
            requests: (locker.sections.iter())
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
    TaskSet::new(vec![SchedulingPolicy::Edf], resources, lockers.iter().map(task).collect()).expect("valid")
}

/// At most one section per job, so that two never touch.
fn some_lockers() -> impl Strategy<Value = Vec<Locker>> {
    let section = prop_oneof![1 => Just(vec![]), 3 => (0..2usize, 1..4u64).prop_map(|section| vec![section])];
    let locker = (section, 0..4u64, 0..20u64, 0..3u64, 15..60u64, 0..20u64);
    let fill =
        |(sections, outside, slack, late, period, jitter): (Vec<(usize, u64)>, u64, u64, u64, u64, u64)| {
            let cost = (outside + sections.iter().map(|section| section.1).sum::<u64>()).max(1);
            let deadline = cost + slack;
            let jitter = if late == 0 { 0 } else { jitter.min(slack) };
            Locker { row: (cost, period, deadline, jitter), sections }
        };
    prop::collection::vec(locker.prop_map(fill), 2..5)
}

/// Per task: its first arrival, and for each of its two jobs how late it is released and how far into it the section
/// begins.
type Course = Vec<Stretch>;
type Stretch = (u64, [(u64, usize); 2]);

fn some_courses() -> impl Strategy<Value = Vec<Course>> {
    let task = (0..25u64, [(0..20u64, 0..4usize), (0..20u64, 0..4usize)]);
    prop::collection::vec(prop::collection::vec(task, 4), 30)
}

fn check(lockers: &[Locker], guard: Guard, courses: &[Course]) -> Result<(), TestCaseError> {
    let set = set(lockers);
    let (locks, verdict) = match guard {
        Guard::Levels(levels) => (Locks::Srp(levels), srp::core_by(&set, 0, levels)),
        Guard::Floors(floors) => (Locks::Dfp(floors), dfp::core_by(&set, 0, floors)),
    };
    let holds = verdict.expect("small").holds();
    let all: Vec<EdfResponse> = value(response::core(&set, 0, locks)).unwrap_or_default();
    for course in courses {
        let arrivals = |(locker, &(first, jobs)): (&Locker, &Stretch)| {
            // Jobs of a task are released in order.
            let release = |at: usize| first + at as u64 * locker.row.1 + jobs[at].0.min(locker.row.3);
            let releases = [release(0), release(0).max(release(1))];
            [0, 1].map(|at| (first + at as u64 * locker.row.1, releases[at], jobs[at].1)).to_vec()
        };
        let arrivals: Vec<_> = lockers.iter().zip(course).map(arrivals).collect();
        let Some(seen) = ticks(lockers, guard, &arrivals) else {
            return Err(TestCaseError::fail("two hold a resource"));
        };
        for ((seen, locker), at) in seen.iter().zip(lockers).zip(0..) {
            prop_assert!(!holds || seen.0 <= locker.row.2, "{:?} of {}", seen, at);
            if let Some(claim) = all.get(at) {
                prop_assert!(seen.0 <= claim.from_arrival.as_ns(), "{:?} {:?} of {}", seen, claim, at);
                prop_assert!(seen.1 <= claim.from_release.as_ns(), "{:?} {:?} of {}", seen, claim, at);
            }
        }
    }
    Ok(())
}

fn some_rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((1..4u64, 2..9u64, 1..14u64, prop::sample::select(vec![0, 0, 1, 4, 10])), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn response_is_that_of_the_worst_alignment(rows in some_rows()) {
        for which in 0..rows.len() {
            if let Some(found) = bound(&rows, which) {
                prop_assert_eq!(found, every_alignment(&rows, which), "{}", which);
            }
        }
    }

    #[test]
    fn all_in_time_as_demand_says(rows in some_rows()) {
        let all: Option<Vec<_>> = (0..rows.len()).map(|which| bound(&rows, which)).collect();
        let holds = all.is_some_and(|all| all.iter().zip(&rows).all(|(found, row)| found.0 <= row.2));
        prop_assert_eq!(holds, demand(&tasks(&rows), true).expect("small").holds());
    }

    #[test]
    fn srp_levels_by_deadline(lockers in some_lockers(), courses in some_courses()) {
        check(&lockers, Guard::Levels(Levels::Deadline), &courses)?;
    }

    #[test]
    fn srp_levels_by_latest_release(lockers in some_lockers(), courses in some_courses()) {
        check(&lockers, Guard::Levels(Levels::LatestRelease), &courses)?;
    }

    #[test]
    fn dfp_floors_shared(lockers in some_lockers(), courses in some_courses()) {
        check(&lockers, Guard::Floors(Floors::Shared), &courses)?;
    }

    #[test]
    fn dfp_floors_own(lockers in some_lockers(), courses in some_courses()) {
        check(&lockers, Guard::Floors(Floors::Own), &courses)?;
    }
}
