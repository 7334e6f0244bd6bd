// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Fixed memory regions: persistent and release.
//!
//! A [`Scope`] is a stretch of memory with an end. Allocating advances an offset; nothing is freed individually. A
//! persistent scope is never cleared. A release scope is cleared between two jobs, and the borrow checker ensures
//! that nothing of one job is left for the next: [`Scope::clear`] needs the scope exclusively, and every allocation
//! borrows it.
//!
//! ```
//! use taut_scope::{Block, Scope};
//! let mut memory = [Block::ZERO; 4];
//! let mut scope = Scope::new(&mut memory);
//! let samples = scope.slice(32, 0.0f32).unwrap();
//! samples[3] = 1.0;
//! assert!(scope.slice(1_000, 0u64).is_err());
//! scope.clear();
//! assert_eq!(scope.used(), 0);
//! ```
//!
//! An allocation of a job cannot outlive the job:
//!
//! ```compile_fail,E0502
//! use taut_scope::{Block, Scope};
//! let mut memory = [Block::ZERO; 4];
//! let mut scope = Scope::new(&mut memory);
//! let kept = scope.slice(8, 0u8).unwrap();
//! scope.clear();
//! kept[0] = 1;
//! ```
//!
//! A value that needs dropping cannot be allocated, because a scope drops nothing:
//!
//! ```compile_fail,E0080
//! use taut_scope::{Block, Scope};
//! let mut memory = [Block::ZERO; 4];
//! let scope = Scope::new(&mut memory);
//! let _ = scope.alloc(vec![1, 2, 3]);
//! ```
//!
//! Source: the persistent and release memory of RTDroid [Yan 2018, chapter 4.4]. There a check at run time finds a
//! wrong reference; here the compiler does.
#![no_std]

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, align_of, needs_drop, size_of};
use core::ptr::NonNull;

/// A unit of memory to make a scope of: a pair of cache lines, 128 bytes.
///
/// Its bytes may be uninitialised: when a scope ends, the values that it allocated stay in the block, with the padding
/// between their fields.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
pub struct Block([MaybeUninit<u8>; 128]);

impl Block {
    /// All zero.
    pub const ZERO: Self = Self([MaybeUninit::new(0); 128]);
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").finish_non_exhaustive()
    }
}

/// A stretch of memory that is allocated from front to back.
///
/// Not `Sync`: only one thread allocates. An allocated value is `Send` if its type is.
pub struct Scope<'m> {
    base: NonNull<u8>,
    size: usize,
    used: Cell<usize>,
    peak: Cell<usize>,
    refused: Cell<usize>,
    memory: PhantomData<&'m mut [Block]>,
}

// SAFETY:
// - the scope owns its stretch exclusively for 'm (contract of both constructors), so moving the scope to another
//   thread moves the only access to the stretch
// - it is not Sync (NonNull and Cell), so no two threads allocate at once
unsafe impl Send for Scope<'_> {}

/// The scope has less room left than the call asked for. Nothing was allocated; the scope is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Bytes asked for, without padding for alignment.
    pub asked: usize,
    /// Bytes left.
    pub left: usize,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scope exceeded: {} bytes requested, {} left", self.asked, self.left)
    }
}

impl core::error::Error for Exceeded {}

#[allow(clippy::mut_from_ref, reason = "each call gives a fresh stretch, as in any arena")]
impl<'m> Scope<'m> {
    /// A scope over borrowed memory.
    pub fn new(memory: &'m mut [Block]) -> Self {
        let size = size_of_val(memory);
        // SAFETY:
        // - a slice of Blocks is valid for reads and writes of its whole size, and borrowed exclusively for 'm
        unsafe { Self::from_raw(NonNull::from(memory).cast(), size) }
    }

    /// A scope over a stretch of raw memory.
    ///
    /// # Safety
    /// `base` is valid for reads and writes of `size` bytes for all of `'m`, and during `'m` nobody else touches these
    /// bytes.
    pub unsafe fn from_raw(base: NonNull<u8>, size: usize) -> Self {
        let zero = || Cell::new(0);
        Self { base, size, used: zero(), peak: zero(), refused: zero(), memory: PhantomData }
    }

    /// Moves a value into the scope. At most a dozen instructions and one copy of `T`.
    ///
    /// # Errors
    /// [`Exceeded`] if the value does not fit; it is dropped.
    pub fn alloc<T>(&self, value: T) -> Result<&mut T, Exceeded> {
        let place = self.take::<T>(1)?;
        // SAFETY:
        // - `take` gave an aligned stretch of size_of::<T>() bytes inside the memory, valid until `clear`
        // - it gives no byte twice until `clear`, which needs &mut self while the result borrows self
        unsafe {
            place.write(value);
            Ok(&mut *place.as_ptr())
        }
    }

    /// A slice of `len` copies of a value.
    ///
    /// # Errors
    /// [`Exceeded`] if it does not fit.
    pub fn slice<T: Copy>(&self, len: usize, value: T) -> Result<&mut [T], Exceeded> {
        self.slice_with(len, |_| value)
    }

    /// A slice whose elements `make` makes in order, each from its position. If `make` panics, the space stays
    /// allocated until the scope is cleared.
    ///
    /// # Errors
    /// [`Exceeded`] if it does not fit.
    pub fn slice_with<T>(&self, len: usize, mut make: impl FnMut(usize) -> T) -> Result<&mut [T], Exceeded> {
        let first = self.take::<T>(len)?;
        for i in 0..len {
            // SAFETY:
            // - i < len, and `take` gave a stretch for len elements
            unsafe { first.add(i).write(make(i)) };
        }
        // SAFETY:
        // - all len elements were written above; the rest as in `alloc`
        Ok(unsafe { core::slice::from_raw_parts_mut(first.as_ptr(), len) })
    }

    fn take<T>(&self, len: usize) -> Result<NonNull<T>, Exceeded> {
        const { assert!(!needs_drop::<T>(), "a scope drops nothing: allocate types without Drop") };
        let start = self.base.as_ptr().addr() + self.used.get();
        let padding = start.next_multiple_of(align_of::<T>()) - start;
        let left = self.size - self.used.get();
        let asked = size_of::<T>().checked_mul(len);
        match asked.and_then(|asked| asked.checked_add(padding)) {
            Some(taken) if taken <= left => {
                let used = self.used.get();
                self.used.set(used + taken);
                self.peak.set(self.peak.get().max(used + taken));
                // SAFETY:
                // - used + padding ≤ used + taken ≤ size: inside the memory or one past its end
                Ok(unsafe { self.base.add(used + padding) }.cast())
            }
            _ => {
                let asked = asked.unwrap_or(usize::MAX);
                self.refused.set(asked);
                Err(Exceeded { asked, left })
            }
        }
    }

    /// Discards everything that was allocated.
    pub fn clear(&mut self) {
        self.used.set(0);
        self.refused.set(0);
    }

    /// The size of the scope in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes in use, padding included.
    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// The most bytes that were ever in use.
    pub fn peak(&self) -> usize {
        self.peak.get()
    }

    /// Size in bytes of the last request that did not fit since the scope was last cleared; 0 if all requests fitted.
    pub fn refused(&self) -> usize {
        self.refused.get()
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({} of {} bytes, peak {})", self.used.get(), self.size, self.peak.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_aligned_and_apart() {
        let mut memory = [Block::ZERO; 2];
        let scope = Scope::new(&mut memory);
        let a = scope.alloc(1u8).unwrap();
        let b = scope.alloc(2u64).unwrap();
        let c = scope.slice(3, 7u16).unwrap();
        let d = scope.slice_with(2, |i| i as u32).unwrap();
        assert_eq!(core::ptr::from_mut(b).addr() % 8, 0);
        *a = 9;
        c[2] = 8;
        d[1] = 5;
        assert_eq!((*a, *b, &*c, &*d), (9, 2, &[7, 7, 8][..], &[0, 5][..]));
        assert_eq!(scope.used(), 32);
    }

    #[test]
    fn the_end_is_an_error_and_changes_nothing() {
        let mut memory = [Block::ZERO; 1];
        let mut scope = Scope::new(&mut memory);
        assert!(scope.slice(128, 0u8).is_ok());
        assert_eq!(scope.alloc(1u8).unwrap_err(), Exceeded { asked: 1, left: 0 });
        assert_eq!(scope.slice(usize::MAX, 0u64).unwrap_err().asked, usize::MAX);
        assert_eq!((scope.used(), scope.peak()), (128, 128));
        scope.clear();
        assert_eq!((scope.used(), scope.peak(), scope.refused()), (0, 128, 0));
        assert_eq!(scope.alloc([1u8; 129]).unwrap_err(), Exceeded { asked: 129, left: 128 });
        assert_eq!(scope.refused(), 129);
        assert!(scope.alloc([1u8; 128]).is_ok());
    }

    #[test]
    fn nothing_at_all_can_be_allocated() {
        let scope = Scope::new(&mut []);
        assert!(scope.alloc(()).is_ok());
        assert!(scope.slice(0, 1u64).unwrap().is_empty());
        assert!(scope.alloc(1u8).is_err());
    }
}
