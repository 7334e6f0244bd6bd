// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks as rows of numbers, the most urgent first, in microseconds.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use taut_analysis::Verdict;
use taut_analysis::uni::fp::preemptive::{FpResponse, FpTask, Subject, response};
use taut_model::ArrivalPattern;
use taut_time::Duration;

/// (C, T, D, J, B), the most urgent first, in microseconds.
pub type Row = (u64, u64, u64, u64, u64);

/// The verdict on each task.
pub fn verdicts(rows: &[Row]) -> Vec<Verdict<FpResponse>> {
    let us = Duration::from_us;
    let task = |&(c, t, _, j, _): &Row| FpTask {
        cost: us(c),
        period: us(t),
        jitter: us(j),
        arrivals: ArrivalPattern::Periodic,
    };
    let tasks: Vec<FpTask> = rows.iter().map(task).collect();
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

/// R in microseconds; none for a task that is not in time.
pub fn responses(rows: &[Row]) -> Vec<Option<u64>> {
    let bound = |v: &Verdict<FpResponse>| v.bound().map(|r| r.from_arrival.as_ns() / 1_000);
    verdicts(rows).iter().map(bound).collect()
}

/// A task of free arrivals, as one that interferes and as the task under analysis.
pub fn free((c, t, d, j, b): Row) -> (FpTask, Subject) {
    let us = Duration::from_us;
    let task = FpTask { cost: us(c), period: us(t), jitter: us(j), arrivals: ArrivalPattern::Periodic };
    let (deadline, blocking) = (us(d), us(b));
    (task, Subject { task, deadline, blocking, blocking_attained: true, preemptible: true })
}
