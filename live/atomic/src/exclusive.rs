// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

#[cfg(shuttle)]
use crate::{AtomicU32, Ordering};

#[cfg(not(loom))]
use core::cell::UnsafeCell;
#[cfg(loom)]
use loom::cell::UnsafeCell;

/// A value to which a protocol guarantees exclusive access, within this process. Loom panics when two accesses race.
/// Under shuttle, each access contains two points at which the scheduler may switch threads, and an access panics if
/// another one overlaps it.
#[derive(Debug)]
pub struct Exclusive<T> {
    value: UnsafeCell<T>,
    #[cfg(shuttle)]
    touched: AtomicU32,
}

// SAFETY: only `with` reaches the value, and its callers prove that its calls are ordered and never overlap. So the
// value moves from thread to thread; threads never share it.
unsafe impl<T: Send> Sync for Exclusive<T> {}
// SAFETY: it holds a T, and nothing that belongs to a thread.
unsafe impl<T: Send> Send for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// Wraps a value that nobody uses yet.
    pub fn new(value: T) -> Self {
        Self {
            value: UnsafeCell::new(value),
            #[cfg(shuttle)]
            touched: AtomicU32::new(0),
        }
    }

    /// Runs `using` on the value.
    ///
    /// # Safety
    ///
    /// No other call runs until this one has returned, and each call happens before the next.
    #[inline(always)]
    pub unsafe fn with<R>(&self, using: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(shuttle)]
        assert_eq!(self.touched.swap(1, Ordering::Relaxed), 0, "two at once");
        #[cfg(not(loom))]
        // SAFETY: nobody else has a reference (caller), and this one ends here.
        let result = using(unsafe { &mut *self.value.get() });
        // SAFETY: as above, which loom checks before it runs this.
        #[cfg(loom)]
        let result = self.value.with_mut(|value| using(unsafe { &mut *value }));
        #[cfg(shuttle)]
        self.touched.store(0, Ordering::Relaxed);
        result
    }
}
