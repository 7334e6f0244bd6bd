// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A shared word: std's atomic, or loom's under `cfg(loom)`; unit tests count the accesses of their thread.

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};

#[cfg(test)]
std::thread_local! {
    /// Shared accesses of this thread since the thread last set this to 0.
    pub(crate) static STEPS_TAKEN: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

impl Word {
    pub(crate) fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    #[inline]
    pub(crate) fn load(&self, ordering: Ordering) -> u64 {
        step();
        self.0.load(ordering)
    }

    #[inline]
    pub(crate) fn store(&self, value: u64, ordering: Ordering) {
        step();
        self.0.store(value, ordering);
    }
}

#[inline]
fn step() {
    #[cfg(test)]
    STEPS_TAKEN.with(|steps| steps.set(steps.get() + 1));
}
