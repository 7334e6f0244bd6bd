// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A value that lets an event take place in the middle of its copy, between its first word and the rest: it runs
//! interleavings of a protocol in one thread.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

use std::cell::RefCell;
use std::collections::VecDeque;

use taut_share::Plain;

type Event = Box<dyn FnOnce()>;

std::thread_local! {
    static NEXT: RefCell<VecDeque<Event>> = const { RefCell::new(VecDeque::new()) };
}

/// Lets `event` take place in the middle of the next copy out of shared memory that has no event yet.
pub(crate) fn meanwhile(event: impl FnOnce() + 'static) {
    NEXT.with_borrow_mut(|next| next.push_back(Box::new(event)));
}

/// Whether all events took place.
pub(crate) fn all_took_place() -> bool {
    NEXT.with_borrow(VecDeque::is_empty)
}

/// A number, twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Twice {
    first: u64,
    second: u64,
}

impl Twice {
    pub(crate) fn new(number: u64) -> Self {
        Self { first: number, second: number }
    }

    /// The number.
    ///
    /// # Panics
    ///
    /// If the two are not the same.
    pub(crate) fn number(self) -> u64 {
        assert_eq!(self.first, self.second, "torn");
        self.first
    }
}

// SAFETY: any bits are two numbers; 16 bytes without padding; all are used, whatever the first word is.
unsafe impl Plain for Twice {
    const VARYING: bool = true;

    fn used_by(_: u64) -> usize {
        if let Some(event) = NEXT.with_borrow_mut(VecDeque::pop_front) {
            event();
        }
        size_of::<Self>()
    }
}
