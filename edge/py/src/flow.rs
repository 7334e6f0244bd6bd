// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Queues and chains.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use taut_analysis::chain::data_age::data_age;
use taut_analysis::chain::end_to_end::{ChainChannel, ChainTask, Hop, Reading};
use taut_analysis::chain::reaction;
use taut_analysis::queue::{self, SendingTask, TakingTask, overflow};
use taut_model::ArrivalPattern;

use crate::answer::{Answer, answer};
use crate::work::{fits, numbers, time};

/// Adds the functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(queue_capacity, module)?)?;
    module.add_function(wrap_pyfunction!(queue_time, module)?)?;
    module.add_function(wrap_pyfunction!(queue_overflow, module)?)?;
    module.add_function(wrap_pyfunction!(chain_data_age, module)?)?;
    module.add_function(wrap_pyfunction!(chain_reaction, module)?)?;
    module.add_function(wrap_pyfunction!(chain_davare07, module)?)
}

/// T, R, values sent per job.
type WriterRow = (u64, u64, u32);
/// T, R, values taken per job, whether the queue releases it.
type ReaderRow = (u64, u64, u32, bool);

fn ends((period, response, sends): WriterRow, row: ReaderRow) -> (SendingTask, TakingTask) {
    let writer = SendingTask { period: time(period), response: time(response), sends };
    let (period, response, takes, triggered) = row;
    (writer, TakingTask { period: time(period), response: time(response), takes, triggered })
}

/// Values that can wait.
#[pyfunction]
fn queue_capacity(py: Python<'_>, writer: WriterRow, reader: ReaderRow) -> PyResult<Answer<u64>> {
    let (writer, reader) = ends(writer, reader);
    Ok(answer(fits(py, || queue::capacity(&writer, &reader))?, |count| count))
}

/// `"wait"` or `"latency"` of a value.
#[pyfunction]
fn queue_time(py: Python<'_>, what: &str, writer: WriterRow, reader: ReaderRow) -> PyResult<Answer<u64>> {
    let (writer, reader) = ends(writer, reader);
    let verdict = fits(py, || match what {
        "wait" => queue::wait(&writer, &reader),
        _ => queue::latency(&writer, &reader),
    })?;
    Ok(answer(verdict, |found| found.as_ns()))
}

/// When a queue of `values` places is full: `"not-before"`, or `"certainly-by"`; no time if it never is.
#[pyfunction]
fn queue_overflow(
    py: Python<'_>,
    what: &str,
    writer: WriterRow,
    reader: ReaderRow,
    values: u64,
) -> PyResult<Answer<Option<u64>>> {
    let (writer, reader) = ends(writer, reader);
    let verdict = fits(py, || match what {
        "not-before" => overflow::not_before(&writer, &reader, values),
        _ => Ok(overflow::certainly_by(&writer, &reader, values)?.map(Some)),
    })?;
    Ok(answer(verdict, |found| found.map(|time| time.as_ns())))
}

/// Whether it is periodic; T, R, J.
type TaskRow = (bool, u64, u64, u64);
/// How a state is read, or `"queue"`; for a queue, the values sent and taken per job, and whether it releases its
/// reader; the reader.
type HopRow = (String, (u32, u32, bool), TaskRow);

fn task((periodic, period, response, jitter): TaskRow) -> ChainTask {
    let arrivals = if periodic { ArrivalPattern::Periodic } else { ArrivalPattern::Sporadic };
    ChainTask { arrivals, period: time(period), response: time(response), jitter: time(jitter) }
}

fn hops(rows: Vec<HopRow>) -> PyResult<Vec<Hop>> {
    let hop = |(word, (sends, takes, triggered), reader): HopRow| {
        let channel = match word.as_str() {
            "queue" => ChainChannel::Queue { sends, takes, triggered },
            "newest" => ChainChannel::State(Reading::Newest),
            "newest-below-writer" => ChainChannel::State(Reading::NewestBelowWriter),
            "preserved" => ChainChannel::State(Reading::Preserved),
            "preserved-delayed" => ChainChannel::State(Reading::PreservedDelayed),
            other => return Err(PyValueError::new_err(format!("`{other}` is not a kind of channel"))),
        };
        Ok(Hop { channel, reader: task(reader) })
    };
    rows.into_iter().map(hop).collect()
}

/// Time until the last output, time until that output is replaced, hops, the last response.
type AgeRow = (u64, Option<u64>, Vec<u64>, u64);

/// The age of data.
#[pyfunction]
fn chain_data_age(py: Python<'_>, first: TaskRow, rows: Vec<HopRow>) -> PyResult<Answer<AgeRow>> {
    let (first, hops) = (task(first), hops(rows)?);
    let verdict = fits(py, || data_age(&first, &hops))?;
    Ok(answer(verdict, |age| {
        let replaced = age.until_replaced.map(|time| time.as_ns());
        (age.until_output.as_ns(), replaced, numbers(&age.hops), age.response.as_ns())
    }))
}

/// Total, sampling, hops, the last response.
type ReactionRow = (u64, u64, Vec<u64>, u64);

/// The time until a chain has reacted.
#[pyfunction]
fn chain_reaction(py: Python<'_>, first: TaskRow, rows: Vec<HopRow>) -> PyResult<Answer<ReactionRow>> {
    let (first, hops) = (task(first), hops(rows)?);
    let verdict = fits(py, || reaction::reaction(&first, &hops))?;
    Ok(answer(verdict, |found| {
        (found.total.as_ns(), found.sampling.as_ns(), numbers(&found.hops), found.response.as_ns())
    }))
}

/// Σ (T + R).
#[pyfunction]
fn chain_davare07(py: Python<'_>, tasks: Vec<TaskRow>) -> PyResult<u64> {
    let tasks: Vec<_> = tasks.into_iter().map(task).collect();
    fits(py, || reaction::davare07(&tasks)).map(|time| time.as_ns())
}
