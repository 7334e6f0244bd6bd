// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::atomic::{AtomicU32, Ordering};

use taut_sys::futex;

/// Where one thread sleeps until another lets it go on; what that one did before is seen then. Opened before it sleeps,
/// it does not.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Gate(AtomicU32);

impl Gate {
    /// Sleeps until it is open, and shuts it.
    pub(crate) fn wait(&self) {
        while self.0.swap(0, Ordering::Acquire) == 0 {
            // Every reason to return is one to look again.
            let _ = futex::wait(&self.0, 0, None, false);
        }
    }

    /// Lets the thread go on. One system call that does not block; a thread of a higher priority runs before it returns.
    pub(crate) fn open(&self) {
        self.0.store(1, Ordering::Release);
        let _ = futex::wake(&self.0, 1, false);
    }
}

/// A mutex without a guard: the right that it gives is handed about by other means. What one did who had it is seen by the
/// next.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Latch(AtomicU32);

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Somebody may sleep.
const AWAITED: u32 = 2;

impl Latch {
    /// Waits until it has it.
    pub(crate) fn take(&self) {
        if self.0.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        // As [Drepper 2011, section 5], the second mutex.
        while self.0.swap(AWAITED, Ordering::Acquire) != FREE {
            let _ = futex::wait(&self.0, AWAITED, None, false);
        }
    }

    /// Gives it back; only for who has it.
    pub(crate) fn give(&self) {
        if self.0.swap(FREE, Ordering::Release) == AWAITED {
            let _ = futex::wake(&self.0, 1, false);
        }
    }
}
