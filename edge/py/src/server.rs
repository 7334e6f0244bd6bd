// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers, and utilisation of a core.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use taut_analysis::uni::server::{Requests, ServerResponse, ServerSupply, deferrable, polling, sporadic};
use taut_analysis::uni::utilisation::{Utilisation, hyperbolic, liu_layland};
use taut_time::Duration;

use crate::answer::{Answer, answer};
use crate::work::{fits, free, time};

/// Adds the functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(server_response, module)?)?;
    module.add_function(wrap_pyfunction!(server_interference, module)?)?;
    module.add_function(wrap_pyfunction!(utilisation, module)?)?;
    module.add_function(wrap_pyfunction!(utilisation_test, module)?)?;
    module.add_function(wrap_pyfunction!(liu_layland_bound, module)?)
}

/// Budget, period, response.
type ServerRow = (u64, u64, u64);

fn server((budget, period, response): ServerRow) -> ServerSupply {
    ServerSupply { budget: time(budget), period: time(period), response: time(response) }
}

/// Requests (C, T, J, D) to a server of a kind: R, which request attains it, periods of the server.
#[pyfunction]
fn server_response(
    py: Python<'_>,
    kind: &str,
    row: ServerRow,
    requests: (u64, u64, u64, u64),
) -> PyResult<Answer<(u64, u64, u64)>> {
    let server = server(row);
    let (cost, period, jitter, deadline) = requests;
    let requests =
        Requests { cost: time(cost), period: time(period), jitter: time(jitter), deadline: time(deadline) };
    let verdict = fits(py, || match kind {
        "polling" => polling::response(server, requests),
        "deferrable" => deferrable::response(server, requests),
        _ => sporadic::response(server, requests),
    })?;
    Ok(answer(verdict, |found: ServerResponse| (found.time.as_ns(), found.request, found.budgets)))
}

/// The task, as C, T, J, that stands for a server where it interferes.
#[pyfunction]
fn server_interference(py: Python<'_>, kind: &str, row: ServerRow) -> PyResult<(u64, u64, u64)> {
    let server = server(row);
    let task = free(py, || match kind {
        "polling" => polling::interference(server),
        "deferrable" => deferrable::interference(server),
        _ => sporadic::interference(server),
    })?;
    Ok((task.cost.as_ns(), task.period.as_ns(), task.jitter.as_ns()))
}

fn pairs(tasks: Vec<(u64, u64)>) -> Vec<(Duration, Duration)> {
    tasks.into_iter().map(|(cost, period)| (time(cost), time(period))).collect()
}

/// U of tasks as (C, T): parts per million, rounded up, and whether U ≤ 1 exactly.
#[pyfunction]
fn utilisation(py: Python<'_>, tasks: Vec<(u64, u64)>) -> PyResult<(u64, bool)> {
    let tasks = pairs(tasks);
    let found = free(py, || Utilisation::of(tasks))?;
    let found = found.ok_or_else(|| PyValueError::new_err("a period is zero"))?;
    Ok((found.ppm(), found.fits()))
}

/// A test of U, by name.
#[pyfunction]
fn utilisation_test(py: Python<'_>, theorem: &str, tasks: Vec<(u64, u64)>) -> PyResult<Answer<u64>> {
    let tasks = pairs(tasks);
    let verdict = free(py, || match theorem {
        "hyperbolic" => hyperbolic::test(&tasks),
        _ => liu_layland::test(&tasks),
    })?;
    Ok(answer(verdict, |found| found.ppm()))
}

/// The bound for so many tasks.
#[pyfunction]
fn liu_layland_bound(py: Python<'_>, tasks: u32) -> PyResult<u64> {
    free(py, || liu_layland::bound(tasks))
}
