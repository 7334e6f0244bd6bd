// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Counts this thread's accesses to shared memory, and can call a function, such as one that kills the process,
//! before any of them. Exists under `--cfg steps` only.

use core::mem::{MaybeUninit, size_of};
use core::sync::atomic as real;
use core::sync::atomic::Ordering;
use std::cell::Cell;

/// Accesses to shared memory, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Atomic loads, without payload.
    pub loads: u64,
    /// Atomic stores, without payload.
    pub stores: u64,
    /// Atomic read-modify-writes, failed compare-exchanges included.
    pub exchanges: u64,
    /// Fences.
    pub fences: u64,
    /// Words of payload, read or written, atomically or not.
    pub words: u64,
}

impl Steps {
    /// The sum of all kinds.
    pub fn total(self) -> u64 {
        self.loads + self.stores + self.exchanges + self.fences + self.words
    }
}

/// The number of steps until the call, and the function to call before the last of them.
type Strike = Option<(u64, fn())>;

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

std::thread_local! {
    static STEPS: Cell<Steps> = const { Cell::new(NONE) };
    static STRIKE: Cell<Strike> = const { Cell::new(None) };
}

/// Runs `work` and returns its result with the steps that this thread took in it.
pub fn count<R>(work: impl FnOnce() -> R) -> (R, Steps) {
    STEPS.set(NONE);
    let result = work();
    (result, STEPS.take())
}

/// Calls `strike` once, immediately before this thread's `n`-th step from now on. A test that kills its process
/// there, for every `n`, covers a death at every step.
pub fn strike_at(n: u64, strike: fn()) {
    assert!(n >= 1, "steps are counted from 1");
    STRIKE.set(Some((n, strike)));
}

fn step(kind: impl FnOnce(&mut Steps) -> &mut u64) {
    if let Some((n, strike)) = STRIKE.get() {
        STRIKE.set((n > 1).then_some((n - 1, strike)));
        if n == 1 {
            strike();
        }
    }
    let mut steps = STEPS.get();
    *kind(&mut steps) += 1;
    STEPS.set(steps);
}

pub(crate) fn payload() {
    step(|steps| &mut steps.words);
}

/// A load that is no atomic's own.
pub(crate) fn look() {
    step(|steps| &mut steps.loads);
}

/// Copies a `T` out of `from`, a word per step.
///
/// # Safety
///
/// `from` points to a `T` that nobody writes during the copy.
pub(crate) unsafe fn copy_out<T: Copy>(from: *const u8) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    for start in (0..size_of::<T>()).step_by(8) {
        payload();
        let rest = (size_of::<T>() - start).min(8);
        // SAFETY: `rest` bytes from `start` on are inside of both.
        unsafe {
            core::ptr::copy_nonoverlapping(from.add(start), value.as_mut_ptr().cast::<u8>().add(start), rest);
        }
    }
    // SAFETY: every byte was copied from a T.
    unsafe { value.assume_init() }
}

/// Copies `value` to `to`, a word per step.
///
/// # Safety
///
/// `to` has room for a `T`, and nobody else touches it during the copy.
pub(crate) unsafe fn copy_in<T: Copy>(to: *mut u8, value: &T) {
    for start in (0..size_of::<T>()).step_by(8) {
        payload();
        let rest = (size_of::<T>() - start).min(8);
        // SAFETY: `rest` bytes from `start` on are inside of both.
        unsafe {
            core::ptr::copy_nonoverlapping(
                core::ptr::from_ref(value).cast::<u8>().add(start),
                to.add(start),
                rest,
            );
        }
    }
}

/// A fence that counts.
pub fn fence(order: Ordering) {
    step(|steps| &mut steps.fences);
    real::fence(order);
}

macro_rules! counted {
    ($name:ident, $int:ty) => {
        /// Core's atomic of the same name, with every access counted.
        #[repr(transparent)]
        #[derive(Debug, Default)]
        pub struct $name(real::$name);

        #[expect(missing_docs, reason = "core's, name by name")]
        impl $name {
            pub const fn new(value: $int) -> Self {
                Self(real::$name::new(value))
            }

            /// # Safety
            ///
            /// As for core's: `ptr` is aligned and valid for `'a`, and every access to it is atomic.
            pub const unsafe fn from_ptr<'a>(ptr: *mut $int) -> &'a Self {
                // SAFETY: repr(transparent) over core's, which is laid out as the integer; the rest is the caller's
                // duty.
                unsafe { &*ptr.cast::<Self>() }
            }

            pub const fn as_ptr(&self) -> *mut $int {
                self.0.as_ptr()
            }

            pub fn get_mut(&mut self) -> &mut $int {
                self.0.get_mut()
            }

            pub fn into_inner(self) -> $int {
                self.0.into_inner()
            }

            pub fn load(&self, order: Ordering) -> $int {
                step(|steps| &mut steps.loads);
                self.0.load(order)
            }

            pub fn store(&self, value: $int, order: Ordering) {
                step(|steps| &mut steps.stores);
                self.0.store(value, order);
            }

            pub fn swap(&self, value: $int, order: Ordering) -> $int {
                step(|steps| &mut steps.exchanges);
                self.0.swap(value, order)
            }

            pub fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                step(|steps| &mut steps.exchanges);
                self.0.compare_exchange(current, new, success, failure)
            }

            pub fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                step(|steps| &mut steps.exchanges);
                self.0.compare_exchange_weak(current, new, success, failure)
            }

            pub fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                step(|steps| &mut steps.exchanges);
                self.0.fetch_add(value, order)
            }

            pub fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                step(|steps| &mut steps.exchanges);
                self.0.fetch_sub(value, order)
            }

            pub fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                step(|steps| &mut steps.exchanges);
                self.0.fetch_and(value, order)
            }

            pub fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                step(|steps| &mut steps.exchanges);
                self.0.fetch_or(value, order)
            }
        }
    };
}

counted!(AtomicU8, u8);
counted!(AtomicU32, u32);
counted!(AtomicU64, u64);
counted!(AtomicUsize, usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_counts_once() {
        let word = AtomicU64::new(1);
        let ((), steps) = count(|| {
            word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            word.fetch_add(1, Ordering::Relaxed);
            assert_eq!(word.compare_exchange(0, 9, Ordering::Relaxed, Ordering::Relaxed), Err(3));
            payload();
        });
        assert_eq!(steps, Steps { loads: 1, stores: 1, exchanges: 2, fences: 1, words: 1 });
        assert_eq!(steps.total(), 6);
    }

    #[test]
    fn strikes_before_the_step_and_once() {
        std::thread_local!(static STRUCK: Cell<u32> = const { Cell::new(0) });
        let word = AtomicU32::new(0);
        strike_at(2, || STRUCK.set(STRUCK.get() + 1));
        word.store(1, Ordering::Relaxed);
        assert_eq!(STRUCK.get(), 0);
        word.store(2, Ordering::Relaxed);
        assert_eq!(STRUCK.get(), 1);
        word.store(3, Ordering::Relaxed);
        assert_eq!(STRUCK.get(), 1);
    }
}
