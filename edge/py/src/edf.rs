// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One core, earliest deadline first.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use taut_analysis::uni::edf::demand::{self, Demand, DemandWindow, EdfTask};
use taut_analysis::uni::edf::dfp::{self, Floors};
use taut_analysis::uni::edf::response::{self, Blocker, EdfResponse, Locks};
use taut_analysis::uni::edf::srp::{self, Levels};

use crate::answer::{Answer, answer};
use crate::set::Set;
use crate::work::{fits, position, time};

/// Adds the functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(edf_demand, module)?)?;
    module.add_function(wrap_pyfunction!(edf_core, module)?)?;
    module.add_function(wrap_pyfunction!(edf_response, module)?)?;
    module.add_function(wrap_pyfunction!(edf_response_core, module)?)
}

/// C, T, D, J.
type Row = (u64, u64, u64, u64);
/// Length, demand, blocking, and the task and resource whose section blocks.
type WindowRow = (u64, u64, u64, Option<(usize, usize)>);
/// Horizon, steps, and the window whose demand and blocking exceed its length.
pub(crate) type DemandRow = (u64, u32, Option<WindowRow>);
/// From release, from arrival, blocking, the task and resource whose section blocks, before, candidates.
pub(crate) type ResponseRow = (u64, u64, u64, Option<(usize, usize)>, u64, u32);

fn task((cost, period, deadline, jitter): Row) -> EdfTask {
    EdfTask { cost: time(cost), period: time(period), deadline: time(deadline), jitter: time(jitter) }
}

/// A demand as a row.
pub(crate) fn demand_row(found: &Demand) -> DemandRow {
    let window = |w: DemandWindow| (w.length.as_ns(), w.demand.as_ns(), w.blocking.as_ns(), w.blocked_by);
    (found.horizon.as_ns(), found.steps, found.short.map(window))
}

/// A response time as a row.
pub(crate) fn response_row(found: &EdfResponse) -> ResponseRow {
    (
        found.from_release.as_ns(),
        found.from_arrival.as_ns(),
        found.blocking.as_ns(),
        found.blocked_by,
        found.before.as_ns(),
        found.candidates,
    )
}

/// Tasks that share nothing.
#[pyfunction]
fn edf_demand(py: Python<'_>, tasks: Vec<Row>, exact: bool) -> PyResult<Answer<DemandRow>> {
    let tasks: Vec<_> = tasks.into_iter().map(task).collect();
    Ok(answer(fits(py, || demand::demand(&tasks, exact))?, |found| demand_row(&found)))
}

fn unknown(locks: &str) -> PyErr {
    PyValueError::new_err(format!("`{locks}` is not a locking protocol"))
}

fn locks(word: &str) -> PyResult<Locks> {
    Ok(match word {
        "srp" => Locks::Srp(Levels::Deadline),
        "srp-latest-release" => Locks::Srp(Levels::LatestRelease),
        "dfp" => Locks::Dfp(Floors::Shared),
        "dfp-own" => Locks::Dfp(Floors::Own),
        other => return Err(unknown(other)),
    })
}

/// A core of a set; `guard` is `"none"`, or one of [`locks`].
#[pyfunction]
fn edf_core(py: Python<'_>, set: &Bound<'_, Set>, core: usize, guard: &str) -> PyResult<Answer<DemandRow>> {
    let set = &set.get().0;
    position("core", core, set.cores().len())?;
    let verdict = if guard == "none" {
        fits(py, || demand::core(set, core))?
    } else {
        match locks(guard)? {
            Locks::Srp(levels) => fits(py, || srp::core_by(set, core, levels))?,
            Locks::Dfp(floors) => fits(py, || dfp::core_by(set, core, floors))?,
        }
    };
    Ok(answer(verdict, |found| demand_row(&found)))
}

/// One task among others; each blocker is execution that may come first although it is due later: time, from, until.
#[pyfunction]
fn edf_response(
    py: Python<'_>,
    tasks: Vec<Row>,
    which: usize,
    blockers: Vec<(u64, u64, u64)>,
    exact: bool,
) -> PyResult<Answer<ResponseRow>> {
    position("task", which, tasks.len())?;
    let tasks: Vec<_> = tasks.into_iter().map(task).collect();
    let blocker = |(length, from, until)| Blocker {
        time: time(length),
        from: time(from),
        until: time(until),
        of: None,
    };
    let blockers: Vec<_> = blockers.into_iter().map(blocker).collect();
    let verdict = fits(py, || response::response(&tasks, which, &blockers, exact))?;
    Ok(answer(verdict, |found| response_row(&found)))
}

/// All tasks of a core of a set.
#[pyfunction]
fn edf_response_core(
    py: Python<'_>,
    set: &Bound<'_, Set>,
    core: usize,
    guard: &str,
) -> PyResult<Answer<Vec<ResponseRow>>> {
    let set = &set.get().0;
    position("core", core, set.cores().len())?;
    let locks = locks(guard)?;
    let verdict = fits(py, || response::core(set, core, locks))?;
    Ok(answer(verdict, |all| all.iter().map(response_row).collect()))
}
