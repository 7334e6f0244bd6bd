// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Examples from the literature, by name, and what other tools say about random sets.

use taut_analysis::uni::fp::preemptive::{Release, Response, Subject, Task, response};
use taut_analysis::{Verdict, Why};
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

/// [Lehoczky90] "Fixed priority scheduling of periodic task sets with arbitrary deadlines", RTSS 1990: C = 26 and
/// 62, T = 70 and 100. The first job of the second task ends at 114, so it does not keep D = T. (Its third ends
/// later after its arrival, 116: a longer deadline would need the test for arbitrary deadlines, and ours says so.)
#[test]
fn lehoczky90_example() {
    let found = verdicts(&[(26, 70, 70, 0, 0), (62, 100, 100, 0, 0)]);
    assert!(found[0].holds());
    let Verdict::Unschedulable(past) = &found[1] else { panic!("{:?}", found[1]) };
    assert_eq!(past.from_arrival, Duration::from_us(114));
    assert_eq!(past.jobs, [2]);
    let found = verdicts(&[(26, 70, 70, 0, 0), (62, 100, 118, 0, 0)]);
    assert_eq!(found[1], Verdict::NotApplicable(taut_analysis::Assumption::ConstrainedDeadline));
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
