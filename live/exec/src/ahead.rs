// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The kernel's clock, programmed for a release before the dispatcher sleeps until it.
//!
//! A sleep that becomes the earliest thing its processor waits for programs the processor's clock, which takes 5.5 µs on a
//! virtual machine, and it would be in the way of the job that is started then. So a timer that nobody waits for is armed
//! for the release after the next: it is in the kernel's queue when the sleep until it begins, and the interrupt of the
//! release before has programmed the clock.
//!
//! That timer is armed a little before the release. From the instant for which the clock is programmed it takes a while
//! until the kernel looks what has ended. If the release has come by then, the sleep has ended too: in the same interrupt,
//! earlier by as much. The sleep itself is until the release, so it never ends before. If the kernel looks before the
//! release, the interrupt was in vain. So it is only as much as a quarter of the least that a sleep was found to be late
//! by: on the virtual machine where this was measured sleeps are late by 13 µs, seldom by 7, and the interrupt is the same up to
//! 6 µs before, and another one at 10 µs, whether the processor is idle or a job runs.

use taut_sys::clock;
use taut_sys::timer::Timer;

use crate::state::NEVER;

/// Sleeps by which it is found out how late they end.
const SLEEPS: u32 = 8;
/// How long each of them is.
const SLEEP_NS: u64 = 100_000;
/// Whatever is found, not more: a processor that stalls all the time is no reason for interrupts in vain.
const EARLY_MAX_NS: u64 = 3_000;

/// Timers for the release after the next, in turns.
#[derive(Debug)]
pub(crate) struct Ahead {
    timers: [Timer; 2],
    /// For whom, to the last one.
    armed_ns: u64,
    turn: usize,
    early_ns: u64,
}

impl Ahead {
    /// For the processor that the calling thread is pinned to, which sleeps for about a millisecond meanwhile. `None` if
    /// there are no timers: releases are later by some microseconds then. For boot.
    pub(crate) fn new() -> Option<Self> {
        let timers = [Timer::new().ok()?, Timer::new().ok()?];
        Some(Self { timers, armed_ns: 0, turn: 0, early_ns: (least_late_ns() / 4).min(EARLY_MAX_NS) })
    }

    /// For a release, at [`NEVER`] none. One short system call, if it was not the last.
    pub(crate) fn arm(&mut self, at_ns: u64) {
        if at_ns != self.armed_ns && at_ns != NEVER {
            self.turn ^= 1;
            self.armed_ns = at_ns;
            // Without it a release is later by some microseconds.
            let _ = self.timers[self.turn].arm(at_ns.saturating_sub(self.early_ns));
        }
    }
}

/// By how much a sleep of the calling thread ends late, at least.
fn least_late_ns() -> u64 {
    let late = |_| {
        let until_ns = clock::monotonic_ns() + SLEEP_NS;
        clock::sleep_until(until_ns);
        clock::monotonic_ns().saturating_sub(until_ns)
    };
    (0..SLEEPS).map(late).min().unwrap_or(0)
}
