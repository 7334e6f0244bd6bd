// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The value that a lock protects in a model: loom panics when two accesses race; under shuttle racing accesses
//! lose counts.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

#[cfg(loom)]
use loom::{cell::UnsafeCell, sync::Arc};
#[cfg(shuttle)]
use shuttle::sync::{Arc, atomic::AtomicU64, atomic::Ordering::Relaxed};

/// A number that is incremented in two steps.
pub(crate) struct Count {
    #[cfg(loom)]
    count: UnsafeCell<u64>,
    #[cfg(shuttle)]
    count: AtomicU64,
}

// SAFETY: loom checks that accesses are exclusive, which is what the type is for.
#[cfg(loom)]
unsafe impl Sync for Count {}
// SAFETY: as above.
#[cfg(loom)]
unsafe impl Send for Count {}

impl Count {
    pub(crate) fn new() -> Arc<Self> {
        #[cfg(loom)]
        let count = UnsafeCell::new(0);
        #[cfg(shuttle)]
        let count = AtomicU64::new(0);
        Arc::new(Self { count })
    }

    /// Increments the number; returns its value before.
    #[cfg(loom)]
    pub(crate) fn up(&self) -> u64 {
        // SAFETY: the access is exclusive, or loom panics.
        self.count.with_mut(|count| unsafe {
            *count += 1;
            *count - 1
        })
    }

    /// Increments the number; returns its value before.
    #[cfg(shuttle)]
    pub(crate) fn up(&self) -> u64 {
        let count = self.count.load(Relaxed);
        self.count.store(count + 1, Relaxed);
        count
    }
}
