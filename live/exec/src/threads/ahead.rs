// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Programs the kernel's clock for a release before the dispatcher sleeps until it.
//!
//! A sleep that becomes the first event of its processor programs the processor's clock. That takes 5.5 µs on a
//! virtual machine, and would delay the job that starts then. So the dispatcher arms a timer for the release after
//! the next; no thread waits for that timer. It is in the kernel's queue before the sleep until that release begins,
//! and the interrupt of the release before has programmed the clock.
//!
//! The timer is armed a little before the release. The kernel checks what has expired some time after the instant for
//! which the clock is programmed. If the release has come by then, the sleep ends in the same interrupt, earlier by
//! that much. The sleep itself is until the release, so it never ends before. If the kernel checks before the
//! release, the interrupt was in vain. So the timer is early only by a quarter of the least lateness found for a
//! sleep. On the virtual machine where this was measured, sleeps are late by 13 µs, seldom by 7. There the same
//! interrupt ends both when the timer is up to 6 µs early, and a second interrupt comes at 10 µs, whether the
//! processor is idle or a job runs.

use taut_sys::clock;
use taut_sys::timer::Timer;

use crate::ready::state::NEVER;

/// The number of sleeps that measure how late a sleep ends.
const SLEEPS: u32 = 8;
/// The length of each of them.
const SLEEP_NS: u64 = 100_000;
/// The most by which a timer is early, whatever is measured: a processor that always stalls must not cause interrupts in
/// vain.
const EARLY_MAX_NS: u64 = 3_000;

/// Timers for the release after the next, used in turn.
#[derive(Debug)]
pub(crate) struct Ahead {
    timers: [Timer; 2],
    /// The release for which the last timer was armed.
    armed_ns: u64,
    turn: usize,
    early_ns: u64,
}

impl Ahead {
    /// For the processor that the calling thread is pinned to. The calling thread sleeps for about a millisecond.
    /// `None` if there are no timers: then releases are some microseconds later. For boot.
    pub(crate) fn new() -> Option<Self> {
        let timers = [Timer::new().ok()?, Timer::new().ok()?];
        Some(Self { timers, armed_ns: 0, turn: 0, early_ns: (least_late_ns() / 4).min(EARLY_MAX_NS) })
    }

    /// Arms a timer for a release; none for [`NEVER`]. One short system call, unless the release is the same as the
    /// last time.
    pub(crate) fn arm(&mut self, at_ns: u64) {
        if at_ns != self.armed_ns && at_ns != NEVER {
            self.turn ^= 1;
            self.armed_ns = at_ns;
            // If this fails, a release is some microseconds later.
            let _ = self.timers[self.turn].arm(at_ns.saturating_sub(self.early_ns));
        }
    }
}

/// The least lateness of a sleep of the calling thread, ns.
fn least_late_ns() -> u64 {
    let late = |_| {
        let until_ns = clock::monotonic_ns() + SLEEP_NS;
        clock::sleep_until(until_ns);
        clock::monotonic_ns().saturating_sub(until_ns)
    };
    (0..SLEEPS).map(late).min().unwrap_or(0)
}
