// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Places for values of one type: `taut_atomic::Slots`, of which only what a value uses is copied.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use taut_atomic::{Claimed, Lent, LentMut, LentPlace, LentPlaceMut, Slots};

use crate::Plain;
use crate::plain::word_bytes;

/// Equal places for values in a [`Memory`]. An object touches one either exclusively or validated (see [`Slots`]).
pub(crate) struct Places<'m, T> {
    slots: Slots<'m>,
    /// Ends move between threads, but are not shared.
    values: PhantomData<Cell<T>>,
}

impl<T> Clone for Places<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Places<'_, T> {}

impl<'m, T: Plain> Places<'m, T> {
    /// `count` places, `stride` bytes apart, the first at byte `offset`.
    ///
    /// # Panics
    ///
    /// If a value does not fit in the stride, or the places not in the memory: for the construction of ends only.
    pub(crate) fn new(memory: &Claimed<'m>, offset: usize, stride: usize, count: usize) -> Self {
        assert!(word_bytes::<T>() <= stride);
        Self { slots: memory.slots(offset, stride, count), values: PhantomData }
    }

    /// Copies the value out of place `index`, exclusively. Every byte of it is fetched once.
    ///
    /// # Safety
    ///
    /// `index` is below the count; no write of this place in this process is concurrent.
    #[inline(always)]
    pub(crate) unsafe fn read(&self, index: usize) -> T {
        if !T::VARYING {
            // SAFETY: caller's; a T fits and is aligned to at most 8 (`new`); any bits are one (Plain).
            return unsafe { self.slots.read(index) };
        }
        let mut value = MaybeUninit::uninit();
        // SAFETY: caller's; what a value uses is filled, and what lies behind may be uninitialised in one (Plain).
        unsafe {
            self.read_into(index, &mut value);
            value.assume_init()
        }
    }

    /// [`Places::read`], of what a value uses, to where it is wanted: large values are not moved again.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`].
    #[inline(always)]
    pub(crate) unsafe fn read_into(&self, index: usize, value: &mut MaybeUninit<T>) {
        // SAFETY: caller's; a T fits (`new`); `used_by` is between 8 and the size (Plain). Memory is initialised.
        unsafe {
            if !T::VARYING {
                return self.slots.read_part::<T>(index, 0..size_of::<T>(), value);
            }
            self.slots.read_part::<T>(index, 0..8, value);
            let used = T::used_by(head(value));
            self.slots.read_part::<T>(index, 8..used, value);
        }
    }

    /// Copies `value` into place `index`, exclusively.
    ///
    /// # Safety
    ///
    /// `index` is below the count; no other access to this place in this process is concurrent.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, index: usize, value: &T) {
        if T::VARYING {
            // SAFETY: caller's; the used bytes are initialised, and at most all (Plain).
            unsafe { self.slots.write_first(index, value, value.used()) };
        } else {
            // SAFETY: caller's; a T fits (`new`) and has no padding (Plain).
            unsafe { self.slots.write(index, value) };
        }
    }

    /// Lends place `index` for reading, where it lies.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`], while `look` runs; and as [`Memory::from_raw`] says of places that are lent.
    #[inline(always)]
    pub(crate) unsafe fn lend<R>(&self, index: usize, look: impl FnOnce(&T) -> R) -> R {
        // SAFETY: caller's.
        unsafe { self.slots.lend(index, look) }
    }

    /// Lends place `index` for writing, where it lies: an older value, or zeros.
    ///
    /// # Safety
    ///
    /// As for [`Places::write`], while `fill` runs; and as [`Memory::from_raw`] says of places that are lent.
    #[inline(always)]
    pub(crate) unsafe fn lend_mut<R>(&self, index: usize, fill: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: caller's.
        unsafe { self.slots.lend_mut(index, fill) }
    }

    /// Lends `count` places from `index` on for reading, where they lie.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`] and each of them, while the result lives; and as [`Memory::from_raw`] says of places
    /// that are lent.
    #[inline(always)]
    pub(crate) unsafe fn lend_run(&self, index: usize, count: usize) -> Lent<'m, T> {
        // SAFETY: caller's.
        unsafe { self.slots.lend_run(index, count) }
    }

    /// Lends `count` places from `index` on for writing, where they lie: older values, or zeros.
    ///
    /// # Safety
    ///
    /// As for [`Places::write`] and each of them, while the result lives; and as [`Memory::from_raw`] says of places
    /// that are lent.
    #[inline(always)]
    pub(crate) unsafe fn lend_run_mut(&self, index: usize, count: usize) -> LentMut<'m, T> {
        // SAFETY: caller's.
        unsafe { self.slots.lend_run_mut(index, count) }
    }

    /// Copies as many values as `values` has out of the places from `index` on, exclusively.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`] and each of them.
    #[inline(always)]
    pub(crate) unsafe fn read_run(&self, index: usize, values: &mut [T]) {
        if !T::VARYING {
            // SAFETY: caller's; as in `read`.
            return unsafe { self.slots.read_run(index, values) };
        }
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: caller's.
            unsafe { self.read_into(index + i, uninit(value)) };
        }
    }

    /// Copies `values` into the places from `index` on, exclusively.
    ///
    /// # Safety
    ///
    /// As for [`Places::write`] and each of them.
    #[inline(always)]
    pub(crate) unsafe fn write_run(&self, index: usize, values: &[T]) {
        if !T::VARYING {
            // SAFETY: caller's; as in `write`.
            return unsafe { self.slots.write_run(index, values) };
        }
        for (i, value) in values.iter().enumerate() {
            // SAFETY: caller's.
            unsafe { self.write(index + i, value) };
        }
    }

    /// Copies as many values as `values` has out of the places from `index` on while they may be written: torn ones,
    /// until the protocol's check.
    ///
    /// # Safety
    ///
    /// As for [`Places::load_into`] and each of them.
    #[inline(always)]
    pub(crate) unsafe fn load_run(&self, index: usize, values: &mut [T]) {
        if !T::VARYING {
            // SAFETY: caller's; any bits are a T (Plain).
            return unsafe { self.slots.load_run(index, values) };
        }
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: caller's; torn or not, its first word and what that says is used are initialised, which makes
            // a T that varies (Plain).
            unsafe { self.load_into(index + i, uninit(value)) };
        }
    }

    /// Lends place `index` for reading, where it lies, for as long as the result is kept.
    ///
    /// # Safety
    ///
    /// As for [`Places::lend`], until the result is dropped.
    #[inline(always)]
    pub(crate) unsafe fn lend_place(&self, index: usize) -> LentPlace<'m, T> {
        // SAFETY: caller's; a T fits (`new`).
        unsafe { self.slots.lend_place(index) }
    }

    /// Lends place `index` for writing, where it lies, for as long as the result is kept: an older value, or zeros.
    ///
    /// # Safety
    ///
    /// As for [`Places::lend_mut`], until the result is dropped.
    #[inline(always)]
    pub(crate) unsafe fn lend_place_mut(&self, index: usize) -> LentPlaceMut<'m, T> {
        // SAFETY: caller's; a T fits (`new`).
        unsafe { self.slots.lend_place_mut(index) }
    }

    /// Copies what the value of place `index` uses, while it may be written: a `T` only after the protocol's check.
    ///
    /// # Safety
    ///
    /// `index` is below the count; in this process the place is written by [`Places::store`] alone.
    #[inline(always)]
    pub(crate) unsafe fn load_into(&self, index: usize, value: &mut MaybeUninit<T>) {
        // SAFETY: caller's; a T fits (`new`); `used_by` is between 8 and the size, whatever the torn head is (Plain).
        unsafe {
            if !T::VARYING {
                return self.slots.load_part::<T>(index, 0..size_of::<T>(), value);
            }
            self.slots.load_part::<T>(index, 0..8, value);
            let used = T::used_by(head(value));
            self.slots.load_part::<T>(index, 8..used, value);
        }
    }

    /// Copies `value` into place `index` while it may be read.
    ///
    /// # Safety
    ///
    /// `index` is below the count; in this process the place is touched by [`Places::store`] and [`Places::load_into`]
    /// alone.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, index: usize, value: &T) {
        if T::VARYING {
            // SAFETY: caller's; the used bytes are initialised, and at most all (Plain).
            unsafe { self.slots.store_first(index, value, value.used()) };
        } else {
            // SAFETY: caller's; a T fits (`new`) and has no padding (Plain).
            unsafe { self.slots.store(index, value) };
        }
    }
}

/// A place to copy a value into, for [`Places::load_into`] and [`Places::read_into`]: of the old one nothing is used.
#[inline(always)]
pub(crate) fn uninit<T: Plain>(value: &mut T) -> &mut MaybeUninit<T> {
    // SAFETY: the same layout. Bytes of a `MaybeUninit` could be taken away; the two only write, and initialised
    // ones, and any of those are a T (Plain).
    unsafe { &mut *core::ptr::from_mut(value).cast::<MaybeUninit<T>>() }
}

/// The first word of a value that varies.
///
/// # Safety
///
/// It is initialised.
unsafe fn head<T: Plain>(value: &MaybeUninit<T>) -> u64 {
    const { assert!(!T::VARYING || size_of::<T>() >= 8) };
    // SAFETY: there are 8 bytes (asserted; called for those that vary alone), initialised (caller).
    unsafe { value.as_ptr().cast::<u64>().read_unaligned() }
}
