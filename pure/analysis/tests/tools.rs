// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What other tools report for their examples and for random sets.

mod rows;

use rows::{Row, responses, verdicts};
use taut_analysis::uni::fp::ceiling::Ceilings;
use taut_analysis::uni::fp::local_locks;
use taut_analysis::uni::fp::offsets::{self, Activity, OffsetTheorem, Transaction};
use taut_analysis::uni::fp::preemptive::{FpTask, Subject, response};
use taut_analysis::{Verdict, Why};
use taut_model::{ArrivalPattern, Body, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_time::Duration;

/// [Klein93] section 5.2.4.1 as MAST has it (`example_5_2_4_1`), with its B and R, in milliseconds there: six tasks, three
/// resources under immediate ceilings.
#[test]
fn klein93_blocking() {
    let us = Duration::from_us;
    let normal = |time| Segment::Normal(us(time));
    let section = |resource, time| Segment::Section { resource, inside: vec![normal(time)] };
    let bodies = [
        vec![normal(2)],
        vec![normal(9), section(0, 7), section(1, 6), section(2, 5), normal(4)],
        vec![normal(20)],
        vec![normal(21), section(2, 18), section(1, 4), section(0, 3), normal(8)],
        vec![normal(34)],
        vec![normal(20), section(0, 10), section(2, 16), section(1, 9), normal(8)],
    ];
    let periods = [40, 100, 150, 350, 480, 500];
    let tasks = bodies.into_iter().zip(periods).zip(1..).map(|((body, period), at)| SetTask {
        name: at.to_string(),
        core: 0,
        priority: 100 - 10 * at,
        arrivals: ArrivalPattern::Periodic,
        period: us(period),
        deadline: us(period),
        jitter: Duration::ZERO,
        body: Body::Segments(body),
    });
    let resources = ["1", "2", "3"].map(|name| Resource { name: name.into() }).to_vec();
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority], resources, tasks.collect()).expect("valid");
    let found = local_locks::responses(&set, 0).expect("small numbers");
    let blocking: Vec<_> = found.iter().map(|task| task.blocking.time.as_ns() / 1_000).collect();
    let response: Vec<_> = found.iter().map(|task| task.verdict.bound().map(|r| r.from_arrival)).collect();
    assert_eq!(blocking, [0, 18, 18, 16, 16, 0]);
    assert_eq!(response, [2, 53, 73, 182, 251, 300].map(|time| Some(us(time))));
    assert_eq!(Ceilings::of(&set).ceiling(2), Some(80));
}

/// The example with offsets that MAST 1.5.1 comes with (`example_with_offsets`): its results, as facts. An activity
/// waits for its predecessor.
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
    assert_eq!(found(OffsetTheorem::Holistic), [20, 70, 55, 110, 165, 175, 350]);
    for method in [OffsetTheorem::Approximate, OffsetTheorem::Slanted, OffsetTheorem::Exact(100)] {
        assert_eq!(found(method), [10, 60, 40, 55, 85, 85, 215]);
    }
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
                // The w of these tools counts from the release; past the deadline they may examine later jobs, while
                // we stop.
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

/// Each reason for giving no bound is distinguished.
#[test]
fn ways_to_give_up() {
    let task = |c, t, arrivals| FpTask {
        cost: Duration::from_ns(c),
        period: Duration::from_ns(t),
        jitter: Duration::ZERO,
        arrivals,
    };
    let subject = |task: FpTask, deadline| Subject {
        task,
        deadline: Duration::from_ns(deadline),
        blocking: Duration::ZERO,
        blocking_attained: true,
        preemptible: true,
    };
    let free = |c, t| task(c, t, ArrivalPattern::Periodic);
    // More work than the core has time: every step grows by one nanosecond, for ten seconds.
    let long = subject(free(1, 10_000_000_000), 10_000_000_000);
    let verdict = response(&long, &[free(1, 1)]).unwrap();
    assert!(matches!(verdict, Verdict::NotShown(Why::Steps(_))), "{verdict:?}");
    // A value past the deadline that does not fit.
    let huge = subject(free(u64::MAX, u64::MAX), u64::MAX);
    assert!(response(&huge, &[free(1, 10)]).is_err());
    assert!(response(&huge, &[]).unwrap().holds());
    // Offsets are ignored, so the verdict claims nothing about runs.
    let at = |c, t, o| task(c, t, ArrivalPattern::Phased(Duration::from_ns(o)));
    let late = |other| response(&subject(at(5, 10, 0), 8), &[other]).unwrap();
    assert!(matches!(late(at(5, 10, 5)), Verdict::NotShown(Why::Passes(_))));
    assert!(matches!(late(at(5, 10, 0)), Verdict::Unschedulable(_)));
    assert!(matches!(late(free(5, 10)), Verdict::Unschedulable(_)));
    assert!(matches!(late(task(5, 10, ArrivalPattern::Driven)), Verdict::NotShown(Why::Passes(_))));
}
