// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random small systems, planned and run: no job takes longer than the plan says.

mod drafts;
mod systems;

use drafts::real_time;
use systems::{Numbers, Seen, check, s, share, system, tasks};
use taut_model::{ArrivalDraft, LockingProtocol, SchedulingPolicy, SegmentDraft, Shared};

#[test]
fn edf() {
    let (mut numbers, mut seen) = (Numbers(1), Seen::default());
    for round in 0..160u64 {
        let cores = 1 + u16::from(round % 2 == 1);
        let tasks =
            tasks(cores, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(cores, SchedulingPolicy::Edf, tasks);
        match round % 4 {
            0 => {}
            1 => share(&mut draft, &mut numbers, |_| None),
            2 => share(&mut draft, &mut numbers, |_| Some(LockingProtocol::Dfp)),
            _ => share(&mut draft, &mut numbers, |_| None),
        }
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 40 && seen.attained * 3 > seen.bounds, "{seen:?}");
}

#[test]
fn fixed_priority_with_deadlines_of_any_length() {
    let (mut numbers, mut seen) = (Numbers(2), Seen::default());
    for round in 0..160u64 {
        let cores = 1 + u16::from(round % 4 == 3);
        let tasks = tasks(cores, &mut numbers, |numbers, cost, period| {
            numbers.next(cost.max(period / 2), 4 * period)
        });
        let mut draft = system(cores, SchedulingPolicy::FixedPriority, tasks);
        if round % 2 == 1 {
            share(&mut draft, &mut numbers, |_| None);
        }
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 40 && seen.attained * 3 > seen.bounds, "{seen:?}");
}

#[test]
fn edf_with_deadlines_of_any_length() {
    let (mut numbers, mut seen) = (Numbers(3), Seen::default());
    for round in 0..160u64 {
        let cores = 1 + u16::from(round % 3 == 2);
        let tasks = tasks(cores, &mut numbers, |numbers, cost, period| {
            numbers.next(cost.max(period / 2), 4 * period)
        });
        let mut draft = system(cores, SchedulingPolicy::Edf, tasks);
        if round % 3 != 0 {
            share(&mut draft, &mut numbers, |numbers| {
                (numbers.chance(30) && cores == 1).then_some(LockingProtocol::Dfp)
            });
        }
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 40 && seen.attained * 3 > seen.bounds, "{seen:?}");
}

/// Runs use the offsets: without a common start the bounds would not hold.
#[test]
fn offsets() {
    let (mut numbers, mut seen) = (Numbers(4), Seen::default());
    let mut with_offsets = 0;
    for _ in 0..160 {
        let mut tasks = tasks(1, &mut numbers, |numbers, cost, _| numbers.next(cost, cost + 4));
        for task in &mut tasks {
            let task = real_time(task);
            let period = s([10, 15, 20, 20][numbers.next(0, 3) as usize]);
            task.arrival = ArrivalDraft::Periodic { period, offset: s(numbers.next(0, 19)) };
            if numbers.chance(20) {
                task.deadline = s(numbers.next(20, 40));
            }
        }
        let draft = system(1, SchedulingPolicy::FixedPriority, tasks);
        with_offsets += check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(with_offsets > 20 && seen.attained * 3 > seen.bounds, "{with_offsets} of {seen:?}");
}

/// Segments of a job of so many seconds, nested up to twice.
fn parts(seconds: u64, open: &[&str], numbers: &mut Numbers) -> Vec<SegmentDraft> {
    let mut left = seconds;
    let mut parts = Vec::new();
    while left > 0 {
        let run = numbers.next(1, left.min(3));
        left -= run;
        let hold = match open {
            [] => None,
            open => numbers.chance(60).then(|| open[numbers.next(0, open.len() as u64 - 1) as usize]),
        };
        let nests = hold.is_some() && numbers.chance(50);
        let inside: Vec<&str> = open.iter().copied().filter(|name| Some(*name) != hold).collect();
        parts.push(SegmentDraft {
            hold: hold.map(str::to_owned),
            run: (!nests).then_some(s(run)),
            segments: if nests { self::parts(run, &inside, numbers) } else { Vec::new() },
        });
    }
    parts
}

#[test]
fn segments() {
    let (mut numbers, mut seen) = (Numbers(5), Seen::default());
    for round in 0..160u64 {
        let cores = 1 + u16::from(round % 4 == 3);
        let scheduler = if round % 2 == 0 { SchedulingPolicy::FixedPriority } else { SchedulingPolicy::Edf };
        let tasks =
            tasks(cores, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(cores, scheduler, tasks);
        let protocol = (scheduler == SchedulingPolicy::Edf && cores == 1 && round % 3 == 0)
            .then_some(LockingProtocol::Dfp);
        draft.resources = ["a", "b", "c"].map(|name| Shared { name: name.into(), protocol }).to_vec();
        for task in &mut draft.tasks {
            let task = real_time(task);
            let seconds = task.wcet.value.as_ns() / 1_000_000_000;
            let used = numbers.next(0, seconds);
            // Sections of resources of several cores do not nest.
            let open: &[&str] = if cores == 1 { &["a", "b", "c"] } else { &["a"] };
            task.segments = parts(used, open, &mut numbers);
        }
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 40 && seen.attained * 3 > seen.bounds, "{seen:?}");
}
