// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory of a region belongs to one thread.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use taut_scope::{Block, Scope};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Block: both,
        Scope<'static>: send,
    }
}
