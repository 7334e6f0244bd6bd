// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A job belongs to its thread; what threads may share of an executor.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use std::cell::Cell;
use std::rc::Rc;

use taut_exec::{Between, Exec, Global, Job, Resource, Setup, Violation, Work};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Setup<'static>: send,
        Exec<'static>: both,
        Job<'static>: neither,
        Between<'static>: both,
        Resource<u64>: both,
        Resource<Cell<u64>>: both,
        Resource<Rc<u64>>: neither,
        Global<'static, u64>: both,
        Global<'static, Cell<u64>>: both,
        Global<'static, Rc<u64>>: neither,
        Violation<'static>: both,
        dyn Work: send,
    }
}
