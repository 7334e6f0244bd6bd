// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Judgements that are made one after another, each compared with the analysis.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use proptest::prelude::*;
use taut_analysis::multi::{Guard, GuardedSet, Solution, Trial, mixed};
use taut_analysis::{Overflow, Verdict};
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_time::Duration;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// (core, priority, C outside of sections, T, T − D, J, sections as (resource, how many, how long)).
type Row = (usize, u32, u64, u64, u64, u64, Vec<(usize, u32, u64)>);

const RESOURCES: usize = 6;

fn set(rows: &[Row], times: u64) -> TaskSet {
    let task = |(core, priority, outside, period, early, jitter, sections): &Row| {
        let request = |&(resource, count, length): &(usize, u32, u64)| Request {
            resource,
            count,
            length: ns(length * times),
            outermost: true,
        };
        let inside: u64 = sections.iter().map(|&(_, count, length)| u64::from(count) * length).sum();
        SetTask {
            name: "t".into(),
            core: *core,
            priority: *priority,
            arrivals: ArrivalPattern::Sporadic,
            period: ns(period * times),
            deadline: ns((period - early) * times),
            jitter: ns(jitter * times),
            body: Body::Anywhere {
                cost: ns((outside + inside) * times),
                requests: sections.iter().map(request).collect(),
            },
        }
    };
    let resources = vec![Resource { name: "r".into() }; RESOURCES];
    TaskSet::new(vec![SchedulingPolicy::FixedPriority; 3], resources, rows.iter().map(task).collect())
        .unwrap()
}

fn some_rows() -> impl Strategy<Value = Vec<Row>> {
    let sections = prop::collection::vec((0..RESOURCES, 1..3u32, 1..12u64), 0..4);
    let row = (0..3usize, 0..12u32, 1..30u64, 80..900u64, 0..40u64, 0..20u64, sections);
    prop::collection::vec(row, 2..14)
}

/// A step: go back by some steps, then guard a resource, add to a task's cost, and lengthen a resource's sections.
type Step = (usize, usize, bool, usize, u64, (usize, u64));

fn some_steps() -> impl Strategy<Value = Vec<Step>> {
    let longer = (0..RESOURCES, 0..3u64);
    prop::collection::vec((0..3usize, 0..RESOURCES, any::<bool>(), 0..14usize, 0..4u64, longer), 1..40)
}

struct At {
    guards: Vec<Guard>,
    costs: Vec<u64>,
    longer: Vec<u64>,
    solution: Solution,
}

fn check(rows: &[Row], times: u64, steps: &[Step]) -> Result<u32, TestCaseError> {
    let first = set(rows, times);
    let mut guarded = GuardedSet::new(&first).unwrap().unwrap();
    let guards = vec![Guard::Absent; RESOURCES];
    (0..RESOURCES).for_each(|resource| guarded.guard(resource, Guard::Absent));
    let costs = (0..rows.len()).map(|task| first.cost(task).as_ns()).collect();
    let mut trial = Trial::new(&guarded);
    let mut path = vec![At { guards, costs, longer: vec![0; RESOURCES], solution: Solution::default() }];
    let mut fits = 0;
    for &(back, resource, spins, task, more, (which, by)) in steps {
        path.truncate(path.len().saturating_sub(back).max(1));
        let above = path.last().unwrap();
        let (mut guards, mut costs) = (above.guards.clone(), above.costs.clone());
        if guards[resource] == Guard::Absent {
            guards[resource] = if spins { Guard::Spinning } else { Guard::Suspending };
        }
        costs[task % rows.len()] += more * times;
        let mut longer = above.longer.clone();
        longer[which] += by * times;
        for (task, row) in rows.iter().enumerate() {
            let count: u64 =
                row.6.iter().filter(|section| section.0 == which).map(|use_| u64::from(use_.1)).sum();
            costs[task] += count * by * times;
        }
        for resource in 0..RESOURCES {
            guarded.lengthen(resource, ns(longer[resource])).unwrap();
            trial.lengthen(resource, ns(longer[resource])).unwrap();
            guarded.guard(resource, guards[resource]);
            trial.guard(resource, guards[resource]);
        }
        for (task, cost) in costs.iter().enumerate() {
            guarded.cost(task, ns(*cost));
            trial.cost(task, ns(*cost));
        }
        // The same result as from a set that is built with these values.
        let fresh = rows.iter().zip(&costs).map(|(row, cost)| {
            let mut row = row.clone();
            row.6.iter_mut().for_each(|section| section.2 += longer[section.0] / times);
            row.2 = cost / times - row.6.iter().map(|section| u64::from(section.1) * section.2).sum::<u64>();
            row
        });
        let mut made = GuardedSet::new(&set(&fresh.collect::<Vec<_>>(), times)).unwrap().unwrap();
        (0..RESOURCES).for_each(|resource| made.guard(resource, guards[resource]));
        let kept = |judged: &GuardedSet| mixed::response_times(judged).map(|verdict| verdict.holds());
        prop_assert_eq!(kept(&guarded), kept(&made));
        let expected = match mixed::response_times(&made) {
            Ok(Verdict::Schedulable(bounds)) => {
                Ok(Some(bounds.tasks.iter().map(|task| task.from_arrival).collect::<Vec<_>>()))
            }
            Ok(_) => Ok(None),
            Err(Overflow) => Err(Overflow),
        };
        let sooner = trial.keeps_deadlines(Some(&above.solution));
        let found = trial.fits(Some(&above.solution)).map(|fits| fits.then(|| trial.responses().collect()));
        match &expected {
            // The trial may have ended before the overflow.
            Err(Overflow) => prop_assert!(matches!(found, Err(Overflow) | Ok(None))),
            expected => prop_assert_eq!(&found, expected),
        }
        prop_assert!(found.is_err() || sooner == found.as_ref().map(Option::is_some).map_err(|_| Overflow));
        // A layout that is made anew from the current values gives the same result.
        let anew = Trial::new(&guarded).fits(None);
        prop_assert!(found.is_err() || anew == found.as_ref().map(Option::is_some).map_err(|_| Overflow));
        if let Ok(Some(_)) = found {
            fits += 1;
            path.push(At { guards, costs, longer, solution: trial.solution().clone() });
        }
    }
    Ok(fits)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The same verdicts and the same response times, whatever steps led there.
    #[test]
    fn as_the_analysis(rows in some_rows(), steps in some_steps()) {
        check(&rows, 1, &steps)?;
    }

    /// With distinct priorities and one request per job, which takes the fast path; and with times that do not fit.
    #[test]
    fn once_each(mut rows in some_rows(), steps in some_steps(), bit in 0..48u32) {
        for (at, row) in rows.iter_mut().enumerate() {
            row.1 = row.1 * 16 + u32::try_from(at).unwrap();
            row.6.sort_unstable();
            row.6.dedup_by_key(|section| section.0);
            row.6.iter_mut().for_each(|section| section.1 = 1);
        }
        check(&rows, 1, &steps)?;
        check(&rows, 1 << bit, &steps)?;
    }
}

/// Most steps of a typical walk do fit, so that the properties above are not vacuous.
#[test]
fn much_fits() {
    let row = |at: u64| -> Row {
        let sections = (0..3).map(|more| (((at + more) % 6) as usize, 1, at + more + 1)).collect();
        ((at % 3) as usize, at as u32, 10, 400 + 37 * at, 0, at, sections)
    };
    let rows: Vec<Row> = (0..9).map(row).collect();
    let steps: Vec<Step> =
        (0..30).map(|at| (at % 3, (at * 5) % 6, at % 2 == 0, at, 1, (at % 6, 1))).collect();
    assert!(check(&rows, 1, &steps).unwrap() > 20);
}
