// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs work without Python's global lock, and keeps panics from reaching Python.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use taut_analysis::Overflow;
use taut_time::Duration;

pyo3::create_exception!(taut, InternalError, PyRuntimeError, "A mistake of taut's own. Please report it.");

/// Adds the exception and functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InternalError", module.py().get_type::<InternalError>())?;
    module.add_function(wrap_pyfunction!(parse_time, module)?)?;
    module.add_function(wrap_pyfunction!(show_time, module)?)
}

/// Runs `work` while other Python threads may run.
///
/// # Errors
/// `InternalError` if `work` panics.
pub(crate) fn free<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .map_err(|_| InternalError::new_err("taut failed internally: please report it"))
}

/// As [`free`], for work that may not fit in 64 bits.
///
/// # Errors
/// `OverflowError`, and those of [`free`].
pub(crate) fn fits<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Overflow> + Send,
) -> PyResult<T> {
    free(py, work)?.map_err(|overflow| PyOverflowError::new_err(overflow.to_string()))
}

/// Checks that a position is in a list of this length.
///
/// # Errors
/// `IndexError`.
pub(crate) fn position(what: &str, at: usize, length: usize) -> PyResult<()> {
    if at < length {
        Ok(())
    } else {
        Err(PyIndexError::new_err(format!("no {what} {at}: there are {length}")))
    }
}

/// A time given in ns.
pub(crate) fn time(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// Times given in ns.
pub(crate) fn times(list: &[u64]) -> Vec<Duration> {
    list.iter().map(|ns| time(*ns)).collect()
}

/// Times in ns.
pub(crate) fn numbers(list: &[Duration]) -> Vec<u64> {
    list.iter().map(|time| time.as_ns()).collect()
}

/// A time with its unit, as `"1.5ms"`, in ns.
#[pyfunction]
fn parse_time(text: &str) -> PyResult<u64> {
    let time: Result<Duration, _> = text.parse();
    time.map(Duration::as_ns).map_err(|why| PyValueError::new_err(format!("`{text}` is not a time: {why}")))
}

/// A time in ns as text with a unit.
#[pyfunction]
fn show_time(ns: u64) -> String {
    time(ns).to_string()
}
