// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Who has attached may be asked by several threads; a seat is one thread's.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use taut_segment::board::{Board, Bulk, Hybrid, Qrtr, Reader, Seat, Sender, Writer};
use taut_segment::{Attached, Directory, Owner, Visitor};

#[test]
fn what_threads_share() {
    threads! {
        Owner: both,
        Attached: both,
        Visitor: both,
        Directory: both,
        Board: both,
        Seat<Hybrid<u64>, Writer>: both,
        Seat<Qrtr<u64>, Reader>: both,
        Seat<Bulk<u64>, Sender>: both,
    }
}
