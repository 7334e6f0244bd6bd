// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which types of this crate threads can send and share.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use std::cell::Cell;
use std::rc::Rc;

use taut_atomic::{
    Claimed, Exclusive, Flag, Flags, Lent, LentMut, LentPlace, LentPlaceMut, Line, Memory, Slots,
    StridedWords,
};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Line: both,
        Memory<'static>: send,
        Claimed<'static>: send,
        StridedWords<'static>: both,
        Flag<'static>: both,
        Flags<'static>: send,
        Slots<'static>: send,
        Lent<'static, u64>: neither,
        LentMut<'static, u64>: neither,
        LentPlace<'static, u64>: neither,
        LentPlaceMut<'static, u64>: neither,
        Lent<'static, Cell<u64>>: neither,
        LentMut<'static, Cell<u64>>: neither,
        LentPlace<'static, Cell<u64>>: neither,
        LentPlaceMut<'static, Cell<u64>>: neither,
        LentPlace<'static, *const u8>: neither,
        LentPlaceMut<'static, *const u8>: neither,
        Exclusive<u64>: both,
        Exclusive<Cell<u64>>: both,
        Exclusive<Rc<u64>>: neither,
    }
}
