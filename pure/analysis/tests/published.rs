// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Examples from the literature, by name, and what other tools say about random sets.

use taut_analysis::uni::fp::ceiling::Ceilings;
use taut_analysis::uni::fp::offsets::{self, Activity, Method, Transaction};
use taut_analysis::uni::fp::preemptive::{Release, Response, Subject, Task, response};
use taut_analysis::uni::fp::{arbitrary, audsley, limited_preemption, local_locks, non_preemptive};
use taut_analysis::{Assumption, Verdict, Why};
use taut_model::{Arrivals, Body, Resource, Scheduler, Segment, SetTask, TaskSet};
use taut_time::Duration;

/// (C, T, D, J, B), the most urgent first, in microseconds.
type Row = (u64, u64, u64, u64, u64);

fn verdicts(rows: &[Row]) -> Vec<Verdict<Response>> {
    let us = Duration::from_us;
    let task =
        |&(c, t, _, j, _): &Row| Task { cost: us(c), period: us(t), jitter: us(j), release: Release::Free };
    let tasks: Vec<Task> = rows.iter().map(task).collect();
    let one = |(i, row): (usize, &Row)| {
        let subject = Subject {
            task: tasks[i],
            deadline: us(row.2),
            blocking: us(row.4),
            blocking_attained: true,
            preemptible: true,
        };
        response(&subject, &tasks[..i]).expect("small numbers")
    };
    rows.iter().enumerate().map(one).collect()
}

fn responses(rows: &[Row]) -> Vec<Option<u64>> {
    let bound = |v: &Verdict<Response>| v.bound().map(|r| r.from_arrival.as_ns() / 1_000);
    verdicts(rows).iter().map(bound).collect()
}

/// [BurnsWellings09] A. Burns, A. Wellings, "Real-Time Systems and Programming Languages", 4th edition, chapter
/// 11, on the equation of [JosephPandya86]: task sets C and D.
#[test]
fn burns_wellings_task_sets() {
    let harmonic = [(5, 20, 20, 0, 0), (10, 40, 40, 0, 0), (40, 80, 80, 0, 0)];
    assert_eq!(responses(&harmonic), [Some(5), Some(15), Some(80)]);
    let prime = [(3, 7, 7, 0, 0), (3, 12, 12, 0, 0), (5, 20, 20, 0, 0)];
    assert_eq!(responses(&prime), [Some(3), Some(6), Some(20)]);
}

/// [ShaGoodenough90] "Real-time scheduling theory and Ada", IEEE Computer 23(4): the first task's cost raised
/// from 20 to 40, where the utilisation bound no longer says yes and the exact test does.
#[test]
fn sha_goodenough90_example() {
    let rows = [(40, 100, 100, 0, 0), (40, 150, 150, 0, 0), (100, 350, 350, 0, 0)];
    assert_eq!(responses(&rows), [Some(40), Some(80), Some(300)]);
}

// The examples of Lehoczky, Davis and Bril are entered as they are quoted elsewhere, not from the papers' pages: to be
// held against print.

/// [Lehoczky90] "Fixed priority scheduling of periodic task sets with arbitrary deadlines", RTSS 1990: C = 26 and
/// 62, T = 70 and 100. The first job of the second task ends at 114, so it does not keep D = T, and with a longer
/// deadline it is not the slowest: the fifth of seven ends 118 after its arrival.
#[test]
fn lehoczky90_example() {
    let found = verdicts(&[(26, 70, 70, 0, 0), (62, 100, 100, 0, 0)]);
    assert!(found[0].holds());
    let Verdict::Unschedulable(past) = &found[1] else { panic!("{:?}", found[1]) };
    assert_eq!(past.from_arrival, Duration::from_us(114));
    assert_eq!(past.jobs, [2]);
    let found = verdicts(&[(26, 70, 70, 0, 0), (62, 100, 118, 0, 0)]);
    assert_eq!(found[1], Verdict::NotApplicable(Assumption::ConstrainedDeadline));
    let long = |d| arbitrary::response(&free((62, 100, d, 0, 0)).1, &[free((26, 70, 70, 0, 0)).0]).unwrap();
    let Verdict::Schedulable(bound) = long(118) else { panic!() };
    assert_eq!((bound.from_arrival, bound.job), (Duration::from_us(118), 5));
    // 5 · 62 + 8 · 26 − 4 · 100
    assert_eq!(bound.jobs, [8]);
    assert!(matches!(long(117), Verdict::Unschedulable(past) if past.from_arrival == Duration::from_us(118)));
}

fn free((c, t, d, j, b): Row) -> (Task, Subject) {
    let us = Duration::from_us;
    let task = Task { cost: us(c), period: us(t), jitter: us(j), release: Release::Free };
    let (deadline, blocking) = (us(d), us(b));
    (task, Subject { task, deadline, blocking, blocking_attained: true, preemptible: true })
}

/// [Lehoczky90] again: with D > T neither the shorter period nor the shorter deadline first is right, and
/// [Audsley91] finds the order that is. C = 52 and 52, T = 100 and 140, D = 110 and 154.
#[test]
fn audsley91_finds_what_monotonic_orders_miss() {
    let rows = [(52, 100, 110, 0, 0), (52, 140, 154, 0, 0)];
    let mut asked = 0;
    let order = audsley::assign(2, |task, above, _| {
        asked += 1;
        let above: Vec<Task> = above.iter().map(|&j| free(rows[j]).0).collect();
        arbitrary::response(&free(rows[task]).1, &above).unwrap().holds()
    });
    assert_eq!((order, asked), (Some(vec![1, 0]), 3));
}

/// [Davis07]: three messages of 1 ms, T = 2.5, 3.5 and 3.5 ms, D = 2.5, 3.25 and 3.25. Up to then CAN was
/// analysed by the first job of the window, 3 ms for the last message; its second takes 3.5.
#[test]
fn davis07_example() {
    let rows =
        [(1_000, 2_500, 2_500, 0, 1_000), (1_000, 3_500, 3_250, 0, 1_000), (1_000, 3_500, 3_250, 0, 0)];
    let tasks: Vec<Task> = rows.iter().map(|&row| free(row).0).collect();
    let ask = |i: usize| non_preemptive::response(&free(rows[i]).1, &tasks[..i]).unwrap();
    let us = |verdict: &Verdict<arbitrary::Response>| verdict.bound().map(|r| r.from_arrival.as_ns() / 1_000);
    assert_eq!([ask(0), ask(1)].map(|v| us(&v)), [Some(2_000), Some(3_000)]);
    let Verdict::Unschedulable(past) = ask(2) else { panic!() };
    assert_eq!((past.from_arrival, past.job), (Duration::from_us(3_500), 2));
    let first =
        limited_preemption::burns94_first_job(&free(rows[2]).1, Duration::from_us(1_000), &tasks[..2]);
    assert_eq!(first, Ok(Some(Duration::from_us(3_000))), "what was believed");
}

/// [Bril09]: T = 5 and 7, C = 2 and 1.2 + 3, the 3 without preemption, U = 1. The first job takes 6.2, as
/// [Burns94] has it; the fifth takes 7.
#[test]
fn bril09_example() {
    let (higher, region) = (free((2_000, 5_000, 5_000, 0, 0)).0, Duration::from_us(3_000));
    let subject = free((4_200, 7_000, 7_000, 0, 0)).1;
    let verdict = limited_preemption::response(&subject, region, &[higher]).unwrap();
    let bound = verdict.bound().expect("schedulable");
    assert_eq!((bound.from_arrival, bound.job), (Duration::from_us(7_000), 5));
    let first = limited_preemption::burns94_first_job(&subject, region, &[higher]);
    assert_eq!(first, Ok(Some(Duration::from_us(6_200))));
}

/// The shape of what befell Mars Pathfinder in 1997, as [Reeves97] tells it: the bus task, urgent, and the task
/// for weather data, not urgent, share a lock, and long tasks of medium urgency share nothing. The times are ours.
/// With ceilings the bus task waits for one section. Without, whoever is above the holder delays it as well, and no
/// section bounds that: the medium tasks' jobs alone pass the deadline.
#[test]
fn mars_pathfinder() {
    let ms = Duration::from_ms;
    let section = |time| vec![Segment::Section { resource: 0, inside: vec![Segment::Normal(ms(time))] }];
    let task = |name: &str, priority, period, body| SetTask {
        name: name.into(),
        core: 0,
        priority,
        arrivals: Arrivals::Sporadic,
        period: ms(period),
        deadline: ms(period),
        jitter: Duration::ZERO,
        body: Body::Segments(body),
    };
    let tasks = vec![
        task("bus", 30, 125, section(10)),
        task("communication", 20, 1_000, vec![Segment::Normal(ms(120))]),
        task("weather", 10, 1_000, section(5)),
    ];
    let lock = vec![Resource { name: "pipe list".into() }];
    let set = TaskSet::new(vec![Scheduler::FixedPriority], lock, tasks).expect("valid");
    let ceilings = Ceilings::of(&set);
    assert_eq!(ceilings.ceiling(0), Some(30));
    let blocking = |task| ceilings.blocking(&set, task);
    assert_eq!((blocking(0).of, blocking(0).time), (Some((2, 0)), ms(5)));
    assert_eq!(blocking(1).time, ms(5), "the ceiling keeps it out, though it never locks");
    assert_eq!(blocking(2).of, None);
    let all = local_locks::responses(&set, 0).expect("small numbers");
    let ms_of = |at: usize| all[at].verdict.bound().map(|r| r.from_arrival.as_ns() / 1_000_000);
    // Itself and the section; with two jobs of the bus task; two of the bus task, one of communication.
    assert_eq!([ms_of(0), ms_of(1), ms_of(2)], [Some(15), Some(145), Some(145)]);
    let bus = |blocking| free((10_000, 125_000, 125_000, 0, blocking)).1;
    assert!(arbitrary::response(&bus(5_000), &[]).unwrap().holds());
    let medium = set.cost(1).as_ns() / 1_000;
    assert!(!arbitrary::response(&bus(5_000 + medium), &[]).unwrap().holds());
}

/// A section inside another keeps out up to its own ceiling, the whole up to the outer one's.
#[test]
fn nested_sections_block_by_their_own_ceilings() {
    let us = Duration::from_us;
    let section = |resource, inside| Segment::Section { resource, inside };
    let task = |priority: u32, core, body| SetTask {
        name: priority.to_string(),
        core,
        priority,
        arrivals: Arrivals::Sporadic,
        period: us(1_000),
        deadline: us(1_000),
        jitter: Duration::ZERO,
        body: Body::Segments(body),
    };
    let one = |resource, time| section(resource, vec![Segment::Normal(us(time))]);
    let nested = section(0, vec![Segment::Normal(us(30)), one(1, 7), Segment::Normal(us(3))]);
    let tasks = vec![
        task(4, 0, vec![one(1, 1)]),
        task(3, 0, vec![one(0, 1)]),
        task(2, 0, vec![Segment::Normal(us(1))]),
        task(1, 0, vec![nested, one(2, 90)]),
        task(9, 1, vec![one(2, 1)]),
    ];
    let resources = ["outer", "inner", "global"].map(|name| Resource { name: name.into() }).to_vec();
    let set = TaskSet::new(vec![Scheduler::FixedPriority; 2], resources, tasks).expect("valid");
    let ceilings = Ceilings::of(&set);
    assert_eq!([0, 1, 2, 3].map(|r| ceilings.ceiling(r)), [Some(3), Some(4), None, None]);
    let found = [0, 1, 2, 3, 4].map(|i| ceilings.blocking(&set, i).time.as_ns() / 1_000);
    assert_eq!(found, [7, 40, 40, 0, 0]);
    for found in local_locks::responses(&set, 0).expect("small numbers") {
        assert_eq!(found.verdict, Verdict::NotApplicable(Assumption::LocalResources));
    }
}

/// The example with offsets that MAST 1.5.1 comes with: its results, as facts. An activity waits for the one before.
#[test]
fn mast_example_with_offsets() {
    let us = Duration::from_us;
    let transaction = |period, priority, rows: &[(u64, u64)]| Transaction {
        period: us(period),
        periodic: true,
        activities: rows
            .iter()
            .map(|&(offset, cost)| Activity {
                cost: us(cost),
                cost_least: Duration::ZERO,
                priority,
                offset: us(offset),
                jitter: Duration::ZERO,
                blocking: Duration::ZERO,
                deadline: us(1_000),
            })
            .collect(),
    };
    let set = [
        transaction(100, 30, &[(0, 10), (50, 10)]),
        transaction(100, 20, &[(0, 25), (30, 5), (70, 5)]),
        transaction(250, 10, &[(0, 30), (130, 30)]),
    ];
    let found = |method| {
        let found = offsets::chained(method, &set).expect("small numbers");
        let all = found.bound().expect("bounded").concat();
        all.iter().map(|r| r.as_ns() / 1_000).collect::<Vec<_>>()
    };
    assert_eq!(found(Method::Holistic), [20, 70, 55, 110, 165, 175, 350]);
    for method in [Method::Approximate, Method::Slanted, Method::Exact(100)] {
        assert_eq!(found(method), [10, 60, 40, 55, 85, 85, 215]);
    }
}

/// [Audsley93], [Tindell94]: a task released by the end of another one inherits its response time as jitter. With
/// T = 20 and J = 15, two of its jobs can be released 5 apart, which a test without jitter counts as one.
#[test]
fn jitter_lets_two_jobs_come_close() {
    assert_eq!(responses(&[(2, 20, 20, 0, 0), (4, 30, 30, 0, 0)]), [Some(2), Some(6)]);
    assert_eq!(responses(&[(2, 20, 20, 15, 0), (4, 30, 30, 0, 0)]), [Some(17), Some(8)]);
    // Its own jitter counts in what the deadline is about, and not from the release.
    let found = verdicts(&[(2, 20, 20, 15, 0)]);
    let bound = found[0].bound().expect("schedulable");
    assert_eq!((bound.from_release, bound.from_arrival), (Duration::from_us(2), Duration::from_us(17)));
}

fn rows(text: &str) -> Vec<Vec<Vec<Option<u64>>>> {
    let mut sets: Vec<(&str, Vec<Vec<Option<u64>>>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (set, numbers) = line.split_once(' ').expect("set and numbers");
        let numbers = numbers.split(' ').map(|n| n.parse().ok()).collect();
        match sets.last_mut() {
            Some((last, rows)) if *last == set => rows.push(numbers),
            _ => sets.push((set, vec![numbers])),
        }
    }
    sets.into_iter().map(|(_, rows)| rows).collect()
}

#[test]
fn equal_to_other_tools_without_blocking() {
    let mut compared = 0;
    for set in rows(include_str!("data/preemptive.txt")) {
        for (jitter, column) in [(false, 3), (true, 4)] {
            let row = |n: &Vec<Option<u64>>| {
                let (c, t, d) = (n[0].unwrap(), n[1].unwrap(), n[2].unwrap());
                (c, t, d, if jitter { t / 10 } else { 0 }, 0)
            };
            let input: Vec<Row> = set.iter().map(row).collect();
            for ((verdict, numbers), (_, _, d, j, _)) in verdicts(&input).iter().zip(&set).zip(&input) {
                // Their w counts from the release; past the deadline they may look at later jobs, we stop.
                match (verdict, numbers[column].filter(|w| w + j <= *d)) {
                    (Verdict::Schedulable(r), Some(w)) => assert_eq!(r.from_release, Duration::from_us(w)),
                    (Verdict::Unschedulable(r), None) => assert!(r.from_arrival > Duration::from_us(*d)),
                    other => panic!("{other:?}"),
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn equal_to_mast_with_blocking() {
    let mut compared = 0;
    for set in rows(include_str!("data/ceiling.txt")) {
        let row = |n: &Vec<Option<u64>>| (n[0].unwrap(), n[1].unwrap(), n[2].unwrap(), 0, n[3].unwrap());
        let input: Vec<Row> = set.iter().map(row).collect();
        for (found, numbers) in responses(&input).iter().zip(&set) {
            assert_eq!(*found, numbers[4]);
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

/// Each way to give no bound is told apart.
#[test]
fn ways_to_give_up() {
    let task = |c, t, release| Task {
        cost: Duration::from_ns(c),
        period: Duration::from_ns(t),
        jitter: Duration::ZERO,
        release,
    };
    let subject = |task: Task, deadline| Subject {
        task,
        deadline: Duration::from_ns(deadline),
        blocking: Duration::ZERO,
        blocking_attained: true,
        preemptible: true,
    };
    let free = |c, t| task(c, t, Release::Free);
    // More than the core has: every step grows by one nanosecond, for ten seconds.
    let long = subject(free(1, 10_000_000_000), 10_000_000_000);
    let verdict = response(&long, &[free(1, 1)]).unwrap();
    assert!(matches!(verdict, Verdict::NotShown(Why::Steps(_))), "{verdict:?}");
    // A value past the deadline that does not fit.
    let huge = subject(free(u64::MAX, u64::MAX), u64::MAX);
    assert!(response(&huge, &[free(1, 10)]).is_err());
    assert!(response(&huge, &[]).unwrap().holds());
    // Offsets are ignored, so nothing is claimed about runs.
    let at = |c, t, o| task(c, t, Release::Phase(Duration::from_ns(o)));
    let late = |other| response(&subject(at(5, 10, 0), 8), &[other]).unwrap();
    assert!(matches!(late(at(5, 10, 5)), Verdict::NotShown(Why::Passes(_))));
    assert!(matches!(late(at(5, 10, 0)), Verdict::Unschedulable(_)));
    assert!(matches!(late(free(5, 10)), Verdict::Unschedulable(_)));
    assert!(matches!(late(task(5, 10, Release::Driven)), Verdict::NotShown(Why::Passes(_))));
}
