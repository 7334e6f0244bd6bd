// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MPCP with waiting as a linear program.
#![cfg(feature = "linear-programming")]

use proptest::prelude::*;
use taut_analysis::Verdict;
use taut_analysis::multi::{mpcp_linear, mpcp_lnr09_sound};
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_time::Duration;

/// Core, priority, cost outside of sections, T, J, sections as (resource, how many, how long), in nanoseconds.
type Row = (usize, u32, u64, u64, u64, Vec<(usize, u32, u64)>);

fn set(rows: &[Row]) -> TaskSet {
    let ns = Duration::from_ns;
    let task = |(core, priority, outside, period, jitter, sections): &Row| {
        let inside: u64 = sections.iter().map(|(_, count, length)| u64::from(*count) * length).sum();
        let request = |&(resource, count, length): &(usize, u32, u64)| Request {
            resource,
            count,
            length: ns(length),
            outermost: true,
        };
        SetTask {
            name: "t".into(),
            core: *core,
            priority: *priority,
            arrivals: ArrivalPattern::Sporadic,
            period: ns(*period),
            deadline: ns(*period),
            jitter: ns(*jitter),
            body: Body::Anywhere {
                cost: ns(outside + inside),
                requests: sections.iter().map(request).collect(),
            },
        }
    };
    let resources = vec![Resource { name: "r".into() }; 3];
    let tasks = rows.iter().map(task).collect();
    TaskSet::new(vec![SchedulingPolicy::FixedPriority; 2], resources, tasks).expect("valid")
}

/// The three tasks of `sharing::by_hand`. The first waits for 5, and then one section of 4 blocks it. The second
/// waits for 5; the first delays it once, as interference. The third waits for one section of each.
#[test]
fn by_hand() {
    let rows = [
        (0, 3, 8, 1000, 7, vec![(0, 1, 2)]),
        (0, 2, 16, 1000, 0, vec![(0, 1, 4)]),
        (1, 1, 25, 1000, 0, vec![(0, 1, 5)]),
    ];
    let found = mpcp_linear::response_times(&set(&rows)).unwrap();
    let bounds = found.bound().unwrap();
    assert_eq!(bounds.tasks.iter().map(|task| task.from_arrival.as_ns()).collect::<Vec<_>>(), [26, 35, 36]);
}

/// Without global resources it is one core with ceilings.
#[test]
fn a_local_section() {
    let rows = [
        (0, 3, 8, 1000, 0, vec![(0, 1, 2)]),
        (0, 2, 16, 1000, 0, vec![(0, 2, 4)]),
        (1, 1, 25, 1000, 0, vec![]),
    ];
    let found = mpcp_linear::response_times(&set(&rows)).unwrap();
    let bounds = found.bound().unwrap();
    assert_eq!(bounds.tasks.iter().map(|task| task.from_arrival.as_ns()).collect::<Vec<_>>(), [14, 34, 25]);
}

fn some_rows() -> impl Strategy<Value = Vec<Row>> {
    let sections = prop::collection::vec((0..3usize, 1..3u32, 1..12u64), 0..3);
    let row = (0..2usize, 0..6u32, 1..30u64, 60..600u64, 0..20u64, sections);
    prop::collection::vec(row, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn never_above_the_equations(rows in some_rows()) {
        let set = set(&rows);
        let linear = mpcp_linear::response_times(&set).unwrap();
        if let Verdict::Schedulable(equations) = mpcp_lnr09_sound::response_times(&set).unwrap() {
            let linear = linear.bound();
            prop_assert!(linear.is_some());
            for (less, more) in linear.iter().flat_map(|bounds| &bounds.tasks).zip(&equations.tasks) {
                prop_assert!(less.from_arrival <= more.from_arrival);
                prop_assert_eq!(less.terms.sum(), Some(less.from_arrival));
            }
        }
    }
}
