// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wait-free state: buffers and retries.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use taut_analysis::Overflow;
use taut_analysis::wait_free::buffers::{self, Claim};
use taut_analysis::wait_free::{
    flow, lifetime, partition, reader_instances, retries, smallest, writes_during_read,
};
use taut_model::Mechanism;

use crate::answer::{Answer, answer};
use crate::work::{fits, free, time, times};

/// Adds the functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(buffers_count, module)?)?;
    module.add_function(wrap_pyfunction!(buffers_temporal, module)?)?;
    module.add_function(wrap_pyfunction!(buffers_presence, module)?)?;
    module.add_function(wrap_pyfunction!(buffers_lifetime, module)?)?;
    module.add_function(wrap_pyfunction!(buffers_partition, module)?)?;
    module.add_function(wrap_pyfunction!(buffers_instances, module)?)?;
    module.add_function(wrap_pyfunction!(buffers_smallest, module)?)?;
    module.add_function(wrap_pyfunction!(buffers_flow, module)?)?;
    module.add_function(wrap_pyfunction!(writes_most, module)?)?;
    module.add_function(wrap_pyfunction!(longest_read, module)?)?;
    module.add_function(wrap_pyfunction!(printed_longest_read, module)?)?;
    module.add_function(wrap_pyfunction!(retries_per_write, module)?)?;
    module.add_function(wrap_pyfunction!(retries_elsewhere, module)?)?;
    module.add_function(wrap_pyfunction!(retries_below, module)?)?;
    module.add_function(wrap_pyfunction!(retries_cost, module)?)
}

fn claim(word: &str) -> PyResult<Claim> {
    let of = Mechanism::from_word(word).and_then(Claim::of);
    of.ok_or_else(|| PyValueError::new_err(format!("`{word}` is not one of chen, double-buffer, peterson")))
}

fn counted<T>(result: Result<T, Overflow>) -> PyResult<T> {
    result.map_err(|overflow| PyOverflowError::new_err(overflow.to_string()))
}

/// Buffers for `slow` slow readers, and for fast readers whose reads `fast` writes can touch; with `printed`, the count
/// of the paper.
#[pyfunction]
fn buffers_count(word: &str, slow: u64, fast: Option<u64>, printed: bool) -> PyResult<u64> {
    let claim = claim(word)?;
    counted(if printed { buffers::printed(claim, slow, fast) } else { buffers::mixed(claim, slow, fast) })
}

/// Buffers by time alone.
#[pyfunction]
fn buffers_temporal(writes: u64) -> PyResult<u64> {
    counted(buffers::temporal(writes))
}

/// Buffers of presence counting.
#[pyfunction]
fn buffers_presence(readers: u64) -> PyResult<u64> {
    counted(buffers::presence(readers))
}

/// A writer: T, and the longest time from an arrival to the end of its write.
type WriterRow = (u64, u64);

fn writer((period, within): WriterRow) -> writes_during_read::WriterTiming {
    writes_during_read::WriterTiming { period: time(period), within: time(within) }
}

/// Buffers by how long values are used; `ignoring` the writer's response is unsound.
#[pyfunction]
fn buffers_lifetime(
    py: Python<'_>,
    used_for: Vec<u64>,
    row: WriterRow,
    ignoring: bool,
) -> PyResult<Answer<u64>> {
    let (used, writer) = (times(&used_for), writer(row));
    let verdict = fits(py, || {
        if ignoring {
            lifetime::without_writer_response(&used, &writer)
        } else {
            lifetime::buffers(&used, &writer)
        }
    })?;
    Ok(answer(verdict, |count| count))
}

/// Fast readers, slow readers, buffers, and buffers by the number of fast readers.
type PartitionRow = (Vec<usize>, Vec<usize>, u64, Vec<u64>);

/// Which readers to treat as fast; `form` is `"best"`, `"printed"` or `"prose"`.
#[pyfunction]
fn buffers_partition(py: Python<'_>, word: &str, writes: Vec<u64>, form: &str) -> PyResult<PartitionRow> {
    let claim = claim(word)?;
    let found = fits(py, || match form {
        "printed" => partition::printed(claim, &writes),
        "prose" => partition::printed_prose(&writes),
        _ => partition::best(claim, &writes),
    })?;
    Ok((found.fast, found.slow, found.buffers, found.by_fast))
}

/// Readers as T and R; with `above`, all run on one core and the writer is the most urgent. Jobs under way, and
/// buffers.
#[pyfunction]
fn buffers_instances(
    py: Python<'_>,
    readers: Vec<(u64, u64)>,
    above: bool,
) -> PyResult<(Answer<u64>, Answer<u64>)> {
    let reader = |(period, response)| reader_instances::ReaderTiming {
        period: time(period),
        response: time(response),
    };
    let readers: Vec<_> = readers.into_iter().map(reader).collect();
    let place = if above {
        reader_instances::WriterPlacement::WriterAboveOnOneCore
    } else {
        reader_instances::WriterPlacement::Any
    };
    fits(py, || {
        let jobs = answer(reader_instances::instances(&readers)?, |count| count);
        Ok((jobs, answer(reader_instances::buffers(&readers, place)?, |count| count)))
    })
}

/// Buffers by the readers' jobs, by time, and by both; the fast readers of the count by both; the least.
type SizesRow = (u64, Option<u64>, u64, Vec<usize>, u64);

/// Readers as T, R and how long they use a value.
#[pyfunction]
fn buffers_smallest(
    py: Python<'_>,
    readers: Vec<(u64, u64, u64)>,
    row: WriterRow,
) -> PyResult<Answer<SizesRow>> {
    let reader = |(period, response, used)| smallest::ReaderUse {
        jobs: reader_instances::ReaderTiming { period: time(period), response: time(response) },
        used_for: time(used),
    };
    let (readers, writer) = (readers.into_iter().map(reader).collect::<Vec<_>>(), writer(row));
    let verdict = fits(py, || smallest::buffers(&readers, &writer))?;
    Ok(answer(verdict, |sizes| {
        let least = sizes.least();
        (sizes.instances, sizes.lifetime, sizes.mixed, sizes.fast, least)
    }))
}

/// Buffers where flows are preserved: of `"dbp-one"`, `"dbp-several"` or `"tccp"`. The writer as T, R, J; readers as T,
/// R, L and whether they are more urgent than the writer.
#[pyfunction]
fn buffers_flow(
    py: Python<'_>,
    form: &str,
    row: (u64, u64, u64),
    readers: Vec<(u64, u64, u64, bool)>,
) -> PyResult<Answer<u64>> {
    let (period, response, jitter) = row;
    let writer = flow::FlowWriter { period: time(period), response: time(response), jitter: time(jitter) };
    let reader = |(period, response, from, above)| flow::FlowReader {
        period: time(period),
        response: time(response),
        from_activation: time(from),
        above,
    };
    let readers: Vec<_> = readers.into_iter().map(reader).collect();
    let verdict = fits(py, || match form {
        "tccp" => flow::tccp(&writer, &readers),
        "dbp-one" => flow::dbp(flow::Cores::One, &writer, &readers),
        _ => flow::dbp(flow::Cores::Several, &writer, &readers),
    })?;
    Ok(answer(verdict, |count| count))
}

/// Writes that can touch a read; with `printed`, the count of the paper.
#[pyfunction]
fn writes_most(py: Python<'_>, read: u64, row: WriterRow, printed: bool) -> PyResult<Answer<u64>> {
    let writer = writer(row);
    let verdict = fits(py, || {
        if printed {
            writes_during_read::printed(time(read), &writer)
        } else {
            writes_during_read::most(time(read), &writer)
        }
    })?;
    Ok(answer(verdict, |count| count))
}

/// The longest that a read can last.
#[pyfunction]
fn longest_read(within: u64, elsewhere: u64) -> u64 {
    writes_during_read::longest_read(time(within), time(elsewhere)).as_ns()
}

/// The same as printed.
#[pyfunction]
fn printed_longest_read(period: u64, cost: u64, read: u64) -> Option<u64> {
    writes_during_read::printed_longest_read(time(period), time(cost), time(read)).map(|time| time.as_ns())
}

fn attempt((shortest, longest): (u64, u64)) -> retries::Attempt {
    retries::Attempt { shortest: time(shortest), longest: time(longest) }
}

/// T, R, J, and the duration of a write.
type RetriesWriterRow = (u64, u64, u64, u64);

fn retries_writer((period, response, jitter, write): RetriesWriterRow) -> retries::OvertakingWriter {
    retries::OvertakingWriter {
        period: time(period),
        response: time(response),
        jitter: time(jitter),
        write: time(write),
    }
}

/// Attempts, each from the shortest to the longest, that one write can fail.
#[pyfunction]
fn retries_per_write(py: Python<'_>, row: (u64, u64), write: u64) -> PyResult<u64> {
    fits(py, || retries::per_write(&attempt(row), time(write)))
}

/// Retries beside a writer on another core, and the time until the last attempt has ended.
#[pyfunction]
fn retries_elsewhere(
    py: Python<'_>,
    row: (u64, u64),
    writer: RetriesWriterRow,
) -> PyResult<Answer<(u64, u64)>> {
    let verdict = fits(py, || retries::on_another_core(&attempt(row), &retries_writer(writer)))?;
    Ok(answer(verdict, |found| (found.retries, found.within.as_ns())))
}

/// Retries below the writer on its core.
#[pyfunction]
fn retries_below(py: Python<'_>, deadline: u64, writer: RetriesWriterRow) -> PyResult<Answer<u64>> {
    let verdict = fits(py, || retries::below_the_writer(time(deadline), &retries_writer(writer)))?;
    Ok(answer(verdict, |count| count))
}

/// C of a job that reads once.
#[pyfunction]
fn retries_cost(py: Python<'_>, other: u64, attempt: u64, retries: u64) -> PyResult<u64> {
    let cost = free(py, || retries::cost(time(other), time(attempt), retries))?;
    counted(cost).map(|time| time.as_ns())
}
