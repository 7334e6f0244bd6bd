// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The binding between Python and the crates of `pure/`: both sides exchange plain numbers, texts, lists and tuples.
//!
//! This module is private (`taut._taut`, described in `_taut.pyi`): the sources under `python/taut` give its results
//! names, units and documentation. Times are whole nanoseconds. No input from Python makes this code panic: it checks
//! the preconditions of the crates first. Work runs through `work::free`, which lets other Python threads run
//! meanwhile, and converts a panic, which would be an error of ours, into an `InternalError`.

mod answer;
mod edf;
mod flow;
mod fp;
mod manifest;
mod multi;
mod select;
mod server;
mod set;
mod simulate;
mod sweep;
mod table;
mod wait_free;
mod work;

use pyo3::prelude::*;

/// Registers a part of the module: adds its functions and types.
type Register = fn(&Bound<'_, PyModule>) -> PyResult<()>;

/// All parts, one per file.
const REGISTER: &[Register] = &[
    work::add,
    set::add,
    fp::add,
    edf::add,
    server::add,
    multi::add,
    wait_free::add,
    flow::add,
    table::add,
    select::add,
    manifest::add,
    simulate::add,
    sweep::add,
];

/// The module.
#[pymodule]
fn _taut(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    REGISTER.iter().try_for_each(|add| add(module))
}
