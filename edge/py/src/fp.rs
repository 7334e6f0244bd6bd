// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One core, fixed priority.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use taut_analysis::uni::fp::offsets::{self, Activity, ActivityPosition, OffsetTheorem, Transaction};
use taut_analysis::uni::fp::preemptive::{FpTask, Subject};
use taut_analysis::uni::fp::{
    arbitrary, assignment, audsley, ceiling, limited_preemption, local_locks, non_preemptive, preemptive,
    sweep,
};
use taut_model::ArrivalPattern;

use crate::answer::{Answer, answer};
use crate::set::Set;
use crate::work::{fits, free, position, time};

/// Adds the functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fp_response, module)?)?;
    module.add_function(wrap_pyfunction!(fp_is_exact, module)?)?;
    module.add_function(wrap_pyfunction!(fp_burns94, module)?)?;
    module.add_function(wrap_pyfunction!(fp_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(fp_audsley, module)?)?;
    module.add_function(wrap_pyfunction!(fp_assign, module)?)?;
    module.add_function(wrap_pyfunction!(fp_ceilings, module)?)?;
    module.add_function(wrap_pyfunction!(fp_ceiling_blocking, module)?)?;
    module.add_function(wrap_pyfunction!(fp_local_locks, module)?)?;
    module.add_function(wrap_pyfunction!(fp_offsets, module)?)?;
    module.add_function(wrap_pyfunction!(fp_offsets_chained, module)?)
}

/// C, T, J, how it is released (0 at any time, 1 at an offset, 2 driven by another task), that offset.
type Row = (u64, u64, u64, u8, u64);

/// The task, D, B, whether B is attained, whether it is preemptible throughout.
type Asked = (Row, u64, u64, bool, bool);

/// R from release and from arrival, the job that attains it, the jobs of each interfering task, steps.
type Found = (u64, u64, u64, Vec<u64>, u32);

fn task((cost, period, jitter, release, offset): Row) -> FpTask {
    let arrivals = match release {
        0 => ArrivalPattern::Periodic,
        1 => ArrivalPattern::Phased(time(offset)),
        _ => ArrivalPattern::Driven,
    };
    FpTask { cost: time(cost), period: time(period), jitter: time(jitter), arrivals }
}

fn subject((row, deadline, blocking, blocking_attained, preemptible): Asked) -> Subject {
    let (deadline, blocking) = (time(deadline), time(blocking));
    Subject { task: task(row), deadline, blocking, blocking_attained, preemptible }
}

fn of_window(r: arbitrary::WindowResponse) -> Found {
    (r.from_release.as_ns(), r.from_arrival.as_ns(), r.job, r.jobs, r.steps)
}

fn of_first_job(r: preemptive::FpResponse) -> Found {
    (r.from_release.as_ns(), r.from_arrival.as_ns(), 1, r.jobs, r.steps)
}

/// A task below others; only `"limited"` uses `last`.
#[pyfunction]
fn fp_response(
    py: Python<'_>,
    theorem: &str,
    asked: Asked,
    higher: Vec<Row>,
    last: u64,
) -> PyResult<Answer<Found>> {
    let (subject, higher) = (subject(asked), higher.into_iter().map(task).collect::<Vec<_>>());
    fits(py, || {
        Ok(match theorem {
            "preemptive" => answer(preemptive::response(&subject, &higher)?, of_first_job),
            "arbitrary" => answer(arbitrary::response(&subject, &higher)?, of_window),
            "non-preemptive" => answer(non_preemptive::response(&subject, &higher)?, of_window),
            _ => answer(limited_preemption::response(&subject, time(last), &higher)?, of_window),
        })
    })
}

/// Whether the equation's value is attained.
#[pyfunction]
fn fp_is_exact(py: Python<'_>, asked: Asked, higher: Vec<Row>) -> PyResult<bool> {
    let (subject, higher) = (subject(asked), higher.into_iter().map(task).collect::<Vec<_>>());
    free(py, || preemptive::is_exact(&subject, &higher))
}

/// Unsound: the first job alone.
#[pyfunction]
fn fp_burns94(py: Python<'_>, asked: Asked, higher: Vec<Row>, last: u64) -> PyResult<Option<u64>> {
    let (subject, higher) = (subject(asked), higher.into_iter().map(task).collect::<Vec<_>>());
    let found = fits(py, || limited_preemption::burns94_first_job(&subject, time(last), &higher))?;
    Ok(found.map(|time| time.as_ns()))
}

/// Tasks, the most urgent first, each C, T, D, J, B. The answer is the position of the first task that is not shown to
/// keep its deadline; the responses of the tasks before it are bounds.
#[pyfunction]
fn fp_sweep(py: Python<'_>, tasks: Vec<(u64, u64, u64, u64, u64)>) -> PyResult<(Answer<usize>, Vec<u64>)> {
    let tasks: Vec<_> = tasks
        .into_iter()
        .map(|(cost, period, deadline, jitter, blocking)| sweep::SweepTask {
            cost: time(cost),
            period: time(period),
            deadline: time(deadline),
            jitter: time(jitter),
            blocking: time(blocking),
        })
        .collect();
    fits(py, || {
        let mut levels = Vec::new();
        let verdict = sweep::responses(&tasks, &mut levels)?;
        let proven = match &verdict {
            taut_analysis::Verdict::Schedulable(count)
            | taut_analysis::Verdict::Unschedulable(count)
            | taut_analysis::Verdict::NotShown(taut_analysis::Why::Passes(count)) => *count,
            _ => 0,
        };
        let responses = levels.iter().take(proven).map(|level| level.response.as_ns()).collect();
        Ok((answer(verdict, |count| count), responses))
    })
}

/// The most tasks that can be ordered: the test is called in Python, up to once per pair of tasks.
const TASKS_MAX: usize = 1 << 16;

/// An order in which every task passes a test; the test is a Python function, and an exception in it ends the search.
#[pyfunction]
fn fp_audsley(py: Python<'_>, count: usize, passes: &Bound<'_, PyAny>) -> PyResult<Option<Vec<usize>>> {
    position("task", count, TASKS_MAX)?;
    let mut raised = None;
    let order = audsley::assign(count, |task, above, below| {
        if raised.is_some() {
            return false;
        }
        let asked = py.check_signals().and_then(|()| passes.call1((task, above.to_vec(), below.to_vec())));
        asked.and_then(|answer| answer.is_truthy()).unwrap_or_else(|error| {
            raised = Some(error);
            false
        })
    });
    raised.map_or(Ok(order), Err)
}

/// Priorities by D − J; each task as its fixed number, if any, and D − J.
#[pyfunction]
fn fp_assign(py: Python<'_>, tasks: Vec<(Option<u8>, u64)>) -> PyResult<Option<Vec<u8>>> {
    let mut seen = [false; 256];
    for fixed in tasks.iter().filter_map(|(fixed, _)| *fixed) {
        if !(1..=assignment::HIGHEST).contains(&fixed)
            || std::mem::replace(&mut seen[usize::from(fixed)], true)
        {
            let highest = assignment::HIGHEST;
            return Err(PyValueError::new_err(format!(
                "fixed priority {fixed} is used twice or is not from 1 to {highest}"
            )));
        }
    }
    let candidate = |(fixed, laxity)| assignment::Candidate { fixed, laxity: time(laxity) };
    let tasks: Vec<_> = tasks.into_iter().map(candidate).collect();
    free(py, || assignment::assign(&tasks))
}

/// The ceiling of each local resource.
#[pyfunction]
fn fp_ceilings(py: Python<'_>, set: &Bound<'_, Set>) -> PyResult<Vec<Option<u32>>> {
    let set = &set.get().0;
    free(py, || {
        let ceilings = ceiling::Ceilings::of(set);
        (0..set.resources().len()).map(|resource| ceilings.ceiling(resource)).collect()
    })
}

/// The task and the resource of the blocking section, and its length.
type Blocked = (Option<(usize, usize)>, u64);

/// The longest section that blocks a task.
#[pyfunction]
fn fp_ceiling_blocking(py: Python<'_>, set: &Bound<'_, Set>, task: usize) -> PyResult<Blocked> {
    let set = &set.get().0;
    position("task", task, set.tasks().len())?;
    let section = free(py, || ceiling::Ceilings::of(set).blocking(set, task))?;
    Ok((section.of, section.time.as_ns()))
}

/// The task, its blocking, the interfering tasks, the verdict.
type LockedRow = (usize, Blocked, Vec<usize>, Answer<Found>);

/// Response times of a core with local locks.
#[pyfunction]
fn fp_local_locks(py: Python<'_>, set: &Bound<'_, Set>, core: usize) -> PyResult<Vec<LockedRow>> {
    let set = &set.get().0;
    position("core", core, set.cores().len())?;
    let found = fits(py, || local_locks::responses(set, core))?;
    let row = |found: local_locks::TaskResult| {
        let blocked = (found.blocking.of, found.blocking.time.as_ns());
        (found.task, blocked, found.higher, answer(found.verdict, of_window))
    };
    Ok(found.into_iter().map(row).collect())
}

/// T, whether it is exact, and for each activity C, least C, priority, O, J, B, D.
type TransactionRow = (u64, bool, Vec<(u64, u64, u32, u64, u64, u64, u64)>);

fn transactions(rows: Vec<TransactionRow>) -> Vec<Transaction> {
    let activity = |(cost, least, priority, offset, jitter, blocking, deadline)| Activity {
        cost: time(cost),
        cost_least: time(least),
        priority,
        offset: time(offset),
        jitter: time(jitter),
        blocking: time(blocking),
        deadline: time(deadline),
    };
    let transaction = |(period, periodic, activities): TransactionRow| Transaction {
        period: time(period),
        periodic,
        activities: activities.into_iter().map(activity).collect(),
    };
    rows.into_iter().map(transaction).collect()
}

fn method(name: &str, limit: u64) -> PyResult<OffsetTheorem> {
    Ok(match name {
        "holistic" => OffsetTheorem::Holistic,
        "approximate" => OffsetTheorem::Approximate,
        "slanted" => OffsetTheorem::Slanted,
        "exact" => OffsetTheorem::Exact(limit),
        _ => {
            return Err(PyValueError::new_err(format!(
                "`{name}` is not one of holistic, approximate, slanted, exact"
            )));
        }
    })
}

/// An activity of a transaction: R from the event, steps.
#[pyfunction]
fn fp_offsets(
    py: Python<'_>,
    by: (String, u64),
    rows: Vec<TransactionRow>,
    of: (usize, usize),
) -> PyResult<Answer<(u64, u32)>> {
    let (method, transactions) = (method(&by.0, by.1)?, transactions(rows));
    position("transaction", of.0, transactions.len())?;
    position("activity", of.1, transactions[of.0].activities.len())?;
    let of = ActivityPosition { transaction: of.0, activity: of.1 };
    let verdict = fits(py, || offsets::response(method, &transactions, of))?;
    Ok(answer(verdict, |found| (found.from_event.as_ns(), found.steps)))
}

/// All activities, each of which waits for the one before it.
#[pyfunction]
fn fp_offsets_chained(
    py: Python<'_>,
    by: (String, u64),
    rows: Vec<TransactionRow>,
) -> PyResult<Answer<Vec<Vec<u64>>>> {
    let (method, transactions) = (method(&by.0, by.1)?, transactions(rows));
    let verdict = fits(py, || offsets::chained(method, &transactions))?;
    Ok(answer(verdict, |all| all.iter().map(|each| crate::work::numbers(each)).collect()))
}
