// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Transactions with offsets against a simulation of all phasings of tiny sets, and the methods against each other.

mod draw;

use draw::Draw;
use proptest::prelude::*;
use taut_analysis::uni::fp::offsets::{self, Activity, ActivityPosition, OffsetTheorem, Transaction};
use taut_analysis::{Assumption, Verdict, Why};
use taut_time::Duration;

fn ns(time: Duration) -> u64 {
    time.as_ns()
}

/// Two or three transactions that are not overloaded, with distinct priorities.
fn draw_set(draw: &mut Draw, jitter: u64, far: bool) -> Vec<Transaction> {
    loop {
        let mut priorities: Vec<u32> = (0..9).collect();
        let count = draw.pick(2, 3);
        let set: Vec<Transaction> = (0..count)
            .map(|_| {
                let period = [4, 6, 8, 12][draw.pick(0, 3) as usize];
                let activities = (0..draw.pick(1, 3)).map(|_| {
                    let cost = Duration::from_ns(draw.pick(1, 2));
                    let priority = priorities.remove(draw.pick(0, priorities.len() as u64 - 1) as usize);
                    Activity {
                        cost,
                        cost_least: Duration::from_ns(draw.pick(0, 1)),
                        priority,
                        offset: Duration::from_ns(draw.pick(0, if far { 2 * period } else { period - 1 })),
                        jitter: Duration::from_ns(draw.pick(0, jitter)),
                        blocking: Duration::ZERO,
                        deadline: Duration::MAX,
                    }
                });
                let activities = activities.collect();
                Transaction { activities, period: Duration::from_ns(period), periodic: true }
            })
            .collect();
        let load: u64 =
            set.iter().flat_map(|t| t.activities.iter().map(|a| ns(a.cost) * 24 / ns(t.period))).sum();
        if load <= 24 {
            return set;
        }
    }
}

/// The longest times from an event to the end of each activity, tick by tick. `late` and `cost` give the release
/// jitter and cost of a job; with `chain` an activity also waits for its predecessor.
fn observe(
    set: &[Transaction],
    events: &[Vec<u64>],
    end: u64,
    chain: bool,
    mut late: impl FnMut(&Activity) -> u64,
    mut cost: impl FnMut(&Activity) -> u64,
) -> Vec<Vec<u64>> {
    struct Line {
        job: usize,
        left: u64,
        late: u64,
        ends: Vec<u64>,
        worst: u64,
    }
    let mut lines: Vec<Vec<Line>> = set
        .iter()
        .map(|t| {
            let line = |a| Line { job: 0, left: cost(a), late: late(a), ends: vec![], worst: 0 };
            t.activities.iter().map(line).collect()
        })
        .collect();
    for now in 0..end {
        let mut urgent: Option<(u32, usize, usize)> = None;
        for (i, transaction) in set.iter().enumerate() {
            for (j, activity) in transaction.activities.iter().enumerate() {
                let line = &lines[i][j];
                let Some(event) = events[i].get(line.job) else { continue };
                let mut release = event + ns(activity.offset);
                if chain && j > 0 {
                    let Some(before) = lines[i][j - 1].ends.get(line.job) else { continue };
                    release = release.max(*before);
                }
                if release + line.late <= now && urgent.is_none_or(|u| activity.priority > u.0) {
                    urgent = Some((activity.priority, i, j));
                }
            }
        }
        let Some((_, i, j)) = urgent else { continue };
        let activity = &set[i].activities[j];
        let line = &mut lines[i][j];
        line.left -= 1;
        if line.left == 0 {
            line.worst = line.worst.max(now + 1 - events[i][line.job]);
            line.ends.push(now + 1);
            line.job += 1;
            (line.left, line.late) = (cost(activity), late(activity));
        }
    }
    lines.into_iter().map(|t| t.into_iter().map(|line| line.worst).collect()).collect()
}

fn bound(method: OffsetTheorem, set: &[Transaction], transaction: usize, activity: usize) -> Option<u64> {
    let found =
        offsets::response(method, set, ActivityPosition { transaction, activity }).expect("small numbers");
    found.bound().map(|r| ns(r.from_event))
}

const ALL: OffsetTheorem = OffsetTheorem::Exact(1_000);

#[test]
fn exact_is_exact_and_the_others_above() {
    let draw = &mut Draw::new(77);
    let mut above = [0; 3];
    for at in 0..300 {
        let set = draw_set(draw, 0, at % 2 == 0);
        // All phasings of the others relative to the first.
        let mut seen: Vec<Vec<u64>> = set.iter().map(|t| vec![0; t.activities.len()]).collect();
        let count: u64 = set[1..].iter().map(|t| ns(t.period)).product();
        for code in 0..count {
            let mut left = code;
            let events: Vec<Vec<u64>> = set
                .iter()
                .enumerate()
                .map(|(i, t)| {
                    let phase = if i == 0 { 0 } else { left % ns(t.period) };
                    left /= if i == 0 { 1 } else { ns(t.period) };
                    (0..40).map(|k| phase + k * ns(t.period)).collect()
                })
                .collect();
            let run = observe(&set, &events, 120, false, |_| 0, |a| ns(a.cost));
            for (most, run) in seen.iter_mut().flatten().zip(run.iter().flatten()) {
                *most = (*most).max(*run);
            }
        }
        for i in 0..set.len() {
            for (j, &seen) in seen[i].iter().enumerate() {
                let exact = bound(ALL, &set, i, j).expect("periodic");
                assert_eq!(exact, seen, "{set:?} activity {i} {j}");
                let slanted = bound(OffsetTheorem::Slanted, &set, i, j).expect("periodic");
                let approximate = bound(OffsetTheorem::Approximate, &set, i, j).expect("periodic");
                let holistic = bound(OffsetTheorem::Holistic, &set, i, j).expect("periodic");
                assert!(exact <= slanted && slanted <= approximate, "{set:?} activity {i} {j}");
                assert!(approximate <= holistic, "{set:?} activity {i} {j}");
                above[0] += u32::from(slanted > exact);
                above[1] += u32::from(approximate > slanted);
                above[2] += u32::from(holistic > approximate);
            }
        }
    }
    assert!(above[1] > 0 && above[2] > 200, "{above:?}");
}

/// With jitter, and with activities that wait for each other, no run exceeds any bound.
#[test]
fn no_run_exceeds_a_bound() {
    let draw = &mut Draw::new(4);
    let (mut tight, mut chains, mut sporadic) = (0, 0, 0);
    for at in 0..400 {
        let chain = at % 2 == 0;
        let mut set = draw_set(draw, 5, at % 3 == 0);
        set.iter_mut().for_each(|t| t.periodic = at % 3 == 0);
        let methods = [ALL, OffsetTheorem::Slanted, OffsetTheorem::Approximate, OffsetTheorem::Holistic];
        let bounds: Vec<Vec<Vec<u64>>> = methods
            .iter()
            .filter_map(|&method| {
                if chain {
                    // A chain that delays itself has no bound: give up at some deadline.
                    let mut set = set.clone();
                    let all = set.iter_mut().flat_map(|t| &mut t.activities);
                    all.for_each(|a| a.deadline = Duration::from_ns(2_000));
                    let found = offsets::chained(method, &set).expect("small numbers");
                    let all = found.bound()?.iter().map(|t| t.iter().map(|&r| ns(r)).collect());
                    return Some(all.collect());
                }
                let each = |(i, t): (usize, &Transaction)| {
                    (0..t.activities.len()).map(|j| bound(method, &set, i, j)).collect()
                };
                set.iter().enumerate().map(each).collect()
            })
            .collect();
        // All methods apply, although some events may be late.
        sporadic += u32::from(bounds.len() == 4 && set.iter().any(|t| !t.periodic));
        chains += u32::from(chain && !bounds.is_empty());
        for _ in 0..20 {
            let events: Vec<Vec<u64>> = set
                .iter()
                .map(|t| {
                    let mut event = draw.pick(0, ns(t.period) + 5);
                    let gap = |draw: &mut Draw| {
                        if t.periodic { 0 } else { [0, 0, 0, 1, 5][draw.pick(0, 4) as usize] }
                    };
                    (0..60)
                        .map(|_| {
                            let now = event;
                            event += ns(t.period) + gap(draw);
                            now
                        })
                        .collect()
                })
                .collect();
            let (mut a, mut b) = (Draw::new(draw.pick(0, 1 << 30)), Draw::new(draw.pick(0, 1 << 30)));
            let late = |activity: &Activity| {
                [ns(activity.jitter), a.pick(0, ns(activity.jitter))][a.pick(0, 1) as usize]
            };
            let cost = |activity: &Activity| b.pick(ns(activity.cost_least).max(1), ns(activity.cost));
            let seen = observe(&set, &events, 180, chain, late, cost);
            for bounds in &bounds {
                for (seen, bound) in seen.iter().flatten().zip(bounds.iter().flatten()) {
                    assert!(seen <= bound, "{set:?} chain {chain}: {seen} {bound}");
                    tight += u32::from(seen == bound);
                }
            }
        }
    }
    assert!(tight > 2_000 && chains > 100 && sporadic > 50, "{tight} {chains} {sporadic}");
}

/// Each reason for giving no bound is distinguished.
#[test]
fn ways_to_give_up() {
    let activity = |cost, priority, deadline| Activity {
        cost: Duration::from_ns(cost),
        cost_least: Duration::ZERO,
        priority,
        offset: Duration::ZERO,
        jitter: Duration::ZERO,
        blocking: Duration::ZERO,
        deadline: Duration::from_ns(deadline),
    };
    let transaction =
        |period, activities| Transaction { period: Duration::from_ns(period), periodic: true, activities };
    let of = ActivityPosition { transaction: 1, activity: 0 };
    let methods = [ALL, OffsetTheorem::Slanted, OffsetTheorem::Approximate, OffsetTheorem::Holistic];
    let ask = |method, set: &[Transaction]| offsets::response(method, set, of).expect("small numbers");
    for method in methods {
        let set = [transaction(4, vec![activity(2, 9, 4)]), transaction(4, vec![activity(3, 1, 4)])];
        assert_eq!(ask(method, &set), Verdict::NotShown(Why::Rate));
        let set = [transaction(4, vec![activity(2, 9, 4)]), transaction(8, vec![activity(3, 1, 6)])];
        let late = ask(method, &set);
        match method {
            OffsetTheorem::Exact(_) => {
                assert!(matches!(late, Verdict::Unschedulable(r) if ns(r.from_event) == 7))
            }
            _ => assert!(matches!(late, Verdict::NotShown(Why::Passes(_))), "{late:?}"),
        }
        let set = [transaction(0, vec![activity(2, 9, 4)]), transaction(8, vec![activity(3, 1, 6)])];
        assert_eq!(ask(method, &set), Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    for method in methods {
        // An equal's later job need not go first: the verdict says nothing about any run.
        let set = [transaction(5, vec![activity(3, 1, 5)]), transaction(20, vec![activity(4, 1, 9)])];
        assert!(matches!(ask(method, &set), Verdict::NotShown(Why::Passes(r)) if ns(r.from_event) == 10));
        // No work, but a release past the deadline.
        let mut set = [transaction(9, vec![]), transaction(9, vec![activity(0, 1, 3)])];
        set[1].activities[0].offset = Duration::from_ns(4);
        assert!(!ask(method, &set).holds(), "{method:?}");
    }
    let many = [
        transaction(9, (0..3).map(|p| activity(1, 5 + p, 9)).collect()),
        transaction(9, vec![activity(1, 1, 9)]),
    ];
    assert_eq!(ask(OffsetTheorem::Exact(2), &many), Verdict::NotApplicable(Assumption::FewScenarios));
    assert!(ask(OffsetTheorem::Exact(3), &many).holds());
    // Released 5 to 12 after an event that may be late, T = 9; the next event's first activity comes 9 after.
    let mut late = many.clone();
    late[0].periodic = false;
    late[0].activities[0].offset = Duration::from_ns(5);
    late[0].activities[0].jitter = Duration::from_ns(7);
    for method in methods {
        let verdict = ask(method, &late);
        let refused = verdict == Verdict::NotApplicable(Assumption::PeriodicEvent);
        assert_eq!(refused, method != OffsetTheorem::Holistic);
        let nowhere = ActivityPosition { transaction: 1, activity: 1 };
        let none = offsets::response(method, &many, nowhere);
        assert_eq!(none, Ok(Verdict::NotApplicable(Assumption::KnownActivity)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Any input ends with an answer.
    #[test]
    fn any_numbers_end(
        numbers in prop::collection::vec(
            (any_number(), prop::collection::vec(prop::array::uniform5(any_number()), 0..3)), 1..3),
        periodic in any::<bool>(),
    ) {
        let ns = Duration::from_ns;
        let set: Vec<Transaction> = numbers.iter().map(|(period, rows)| Transaction {
            period: ns(*period),
            periodic,
            activities: rows.iter().enumerate().map(|(at, &[c, o, j, b, d])| Activity {
                cost: ns(c), cost_least: ns(o), priority: at as u32, offset: ns(o), jitter: ns(j),
                blocking: ns(b), deadline: ns(d),
            }).collect(),
        }).collect();
        for method in [ALL, OffsetTheorem::Slanted, OffsetTheorem::Approximate, OffsetTheorem::Holistic] {
            let _ = offsets::response(method, &set, ActivityPosition { transaction: 0, activity: 0 });
            let _ = offsets::chained(method, &set);
        }
    }
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0u64..4, (0u32..64).prop_map(|e| 1 << e)]
}
