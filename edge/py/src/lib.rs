// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What stands between Python and the crates of `pure/`: plain numbers, texts, lists and tuples on both sides.
//!
//! This module is private (`taut._taut`, described in `_taut.pyi`): the sources under `python/taut` give its answers
//! names, units and documentation. Times are whole nanoseconds. Nothing here panics on what Python gives it: what the
//! crates take for granted is checked first, and work runs through `work::free`, which lets other threads of Python
//! run meanwhile and turns a panic, which would be a mistake of ours, into an `InternalError`.

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

/// A part of the module: adds its functions and types.
type Register = fn(&Bound<'_, PyModule>) -> PyResult<()>;

/// Every part, each by its file.
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
