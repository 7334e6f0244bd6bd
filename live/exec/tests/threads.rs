// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A job belongs to its thread; what threads may share of an executor.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use std::cell::Cell;
use std::rc::Rc;

use taut_exec::{Between, CoreResource, Exec, GlobalResource, Job, Setup, Violation, Work};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Setup<'static>: send,
        Exec<'static>: both,
        Job<'static>: neither,
        Between<'static>: both,
        CoreResource<u64>: both,
        CoreResource<Cell<u64>>: both,
        CoreResource<Rc<u64>>: neither,
        GlobalResource<'static, u64>: both,
        GlobalResource<'static, Cell<u64>>: both,
        GlobalResource<'static, Rc<u64>>: neither,
        Violation<'static>: both,
        dyn Work: send,
    }
}
