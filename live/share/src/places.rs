// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Places for values of one type: `taut_atomic::Slots`, but only the bytes that a value uses are copied.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use taut_atomic::{Claimed, Lent, LentMut, LentPlace, LentPlaceMut, Slots};

use crate::Plain;
use crate::plain::word_bytes;

/// Places of equal size for values in a [`Memory`](crate::Memory). An object accesses a place either exclusively or
/// with validation (see [`Slots`]).
pub(crate) struct Places<'m, T> {
    slots: Slots<'m>,
    /// Ends move between threads, but threads do not share them.
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
    /// If a value does not fit in the stride, or the places do not fit in the memory: for the construction of ends
    /// only.
    pub(crate) fn new(memory: &Claimed<'m>, offset: usize, stride: usize, count: usize) -> Self {
        assert!(word_bytes::<T>() <= stride);
        Self { slots: memory.slots(offset, stride, count), values: PhantomData }
    }

    /// Copies the value out of place `index`, exclusively. Reads every byte of it once.
    ///
    /// # Safety
    ///
    /// `index` is below the count; no write of this place in this process is concurrent.
    #[inline(always)]
    pub(crate) unsafe fn read(&self, index: usize) -> T {
        if !T::VARYING {
            // SAFETY: the caller's conditions; a T fits and is aligned to at most 8 (`new`); any bits are a T
            // (Plain).
            return unsafe { self.slots.read(index) };
        }
        let mut value = MaybeUninit::uninit();
        // SAFETY: the caller's conditions; `read_into` fills the bytes that a value uses, and those after them may be
        // uninitialised (Plain).
        unsafe {
            self.read_into(index, &mut value);
            value.assume_init()
        }
    }

    /// [`Places::read`] of the bytes that a value uses, into `value`: a large value is not moved again.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`].
    #[inline(always)]
    pub(crate) unsafe fn read_into(&self, index: usize, value: &mut MaybeUninit<T>) {
        // SAFETY: the caller's conditions; a T fits (`new`); `used_by` is between 8 and the size (Plain). The memory
        // is initialised.
        unsafe {
            if !T::VARYING {
                return self.slots.read_part::<T>(index, 0..size_of::<T>(), value);
            }
            self.slots.read_part::<T>(index, 0..8, value);
            let used = T::used_by(head(value));
            self.slots.read_part::<T>(index, 8..used, value);
        }
    }

    /// Copies the first word of the value in place `index`, exclusively.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`].
    #[inline(always)]
    pub(crate) unsafe fn read_first_word(&self, index: usize) -> u64 {
        const { assert!(size_of::<T>() >= 8, "a value of less than a word has no first word") };
        let mut word = MaybeUninit::<u64>::uninit();
        // SAFETY: the caller's conditions; a T has a word (asserted) and fits (`new`), so a word does too; all of it is
        // copied, and any bits are a u64.
        unsafe {
            self.slots.read_part(index, 0..8, &mut word);
            word.assume_init()
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
            // SAFETY: the caller's conditions; the used bytes are initialised, and at most all (Plain).
            unsafe { self.slots.write_first(index, value, value.used()) };
        } else {
            // SAFETY: the caller's conditions; a T fits (`new`) and has no padding (Plain).
            unsafe { self.slots.write(index, value) };
        }
    }

    /// Lends place `index` for reading, in place.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`], while `look` runs; and as [`Memory::from_raw`](crate::Memory::from_raw) requires for
    /// places that are lent.
    #[inline(always)]
    pub(crate) unsafe fn lend<R>(&self, index: usize, look: impl FnOnce(&T) -> R) -> R {
        // SAFETY: the caller's conditions.
        unsafe { self.slots.lend(index, look) }
    }

    /// Lends place `index` for writing, in place. It holds an older value, or zeros.
    ///
    /// # Safety
    ///
    /// As for [`Places::write`], while `fill` runs; and as [`Memory::from_raw`](crate::Memory::from_raw) requires for
    /// places that are lent.
    #[inline(always)]
    pub(crate) unsafe fn lend_mut<R>(&self, index: usize, fill: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller's conditions.
        unsafe { self.slots.lend_mut(index, fill) }
    }

    /// Lends `count` places from `index` on for reading, in place.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`] of each of them, while the result lives; and as
    /// [`Memory::from_raw`](crate::Memory::from_raw) requires for places that are lent.
    #[inline(always)]
    pub(crate) unsafe fn lend_run(&self, index: usize, count: usize) -> Lent<'m, T> {
        // SAFETY: the caller's conditions.
        unsafe { self.slots.lend_run(index, count) }
    }

    /// Lends `count` places from `index` on for writing, in place. They hold older values, or zeros.
    ///
    /// # Safety
    ///
    /// As for [`Places::write`] of each of them, while the result lives; and as
    /// [`Memory::from_raw`](crate::Memory::from_raw) requires for places that are lent.
    #[inline(always)]
    pub(crate) unsafe fn lend_run_mut(&self, index: usize, count: usize) -> LentMut<'m, T> {
        // SAFETY: the caller's conditions.
        unsafe { self.slots.lend_run_mut(index, count) }
    }

    /// Fills `values` with copies of the places from `index` on, exclusively.
    ///
    /// # Safety
    ///
    /// As for [`Places::read`] of each of them.
    #[inline(always)]
    pub(crate) unsafe fn read_run(&self, index: usize, values: &mut [T]) {
        if !T::VARYING {
            // SAFETY: the caller's conditions; as in `read`.
            return unsafe { self.slots.read_run(index, values) };
        }
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: the caller's conditions.
            unsafe { self.read_into(index + i, uninit(value)) };
        }
    }

    /// Copies `values` into the places from `index` on, exclusively.
    ///
    /// # Safety
    ///
    /// As for [`Places::write`] of each of them.
    #[inline(always)]
    pub(crate) unsafe fn write_run(&self, index: usize, values: &[T]) {
        if !T::VARYING {
            // SAFETY: the caller's conditions; as in `write`.
            return unsafe { self.slots.write_run(index, values) };
        }
        for (i, value) in values.iter().enumerate() {
            // SAFETY: the caller's conditions.
            unsafe { self.write(index + i, value) };
        }
    }

    /// Fills `values` with copies of the places from `index` on, while a writer may write them: a copy may be torn
    /// until the protocol has checked it.
    ///
    /// # Safety
    ///
    /// As for [`Places::load_into`] of each of them.
    #[inline(always)]
    pub(crate) unsafe fn load_run(&self, index: usize, values: &mut [T]) {
        if !T::VARYING {
            // SAFETY: the caller's conditions; any bits are a T (Plain).
            return unsafe { self.slots.load_run(index, values) };
        }
        for (i, value) in values.iter_mut().enumerate() {
            // SAFETY: the caller's conditions; torn or not, the first word and the bytes that it says are used are
            // initialised, which makes a T that varies (Plain).
            unsafe { self.load_into(index + i, uninit(value)) };
        }
    }

    /// Lends place `index` for reading, in place, as long as the result lives.
    ///
    /// # Safety
    ///
    /// As for [`Places::lend`], until the result is dropped.
    #[inline(always)]
    pub(crate) unsafe fn lend_place(&self, index: usize) -> LentPlace<'m, T> {
        // SAFETY: the caller's conditions; a T fits (`new`).
        unsafe { self.slots.lend_place(index) }
    }

    /// Lends place `index` for writing, in place, as long as the result lives. It holds an older value, or zeros.
    ///
    /// # Safety
    ///
    /// As for [`Places::lend_mut`], until the result is dropped.
    #[inline(always)]
    pub(crate) unsafe fn lend_place_mut(&self, index: usize) -> LentPlaceMut<'m, T> {
        // SAFETY: the caller's conditions; a T fits (`new`).
        unsafe { self.slots.lend_place_mut(index) }
    }

    /// Copies the bytes that the value of place `index` uses, while a writer may write it: the copy is a `T` only
    /// after the protocol's check.
    ///
    /// # Safety
    ///
    /// `index` is below the count; in this process only [`Places::store`] writes the place.
    #[inline(always)]
    pub(crate) unsafe fn load_into(&self, index: usize, value: &mut MaybeUninit<T>) {
        // SAFETY: the caller's conditions; a T fits (`new`); `used_by` is between 8 and the size, whatever the torn
        // head is (Plain).
        unsafe {
            if !T::VARYING {
                return self.slots.load_part::<T>(index, 0..size_of::<T>(), value);
            }
            self.slots.load_part::<T>(index, 0..8, value);
            let used = T::used_by(head(value));
            self.slots.load_part::<T>(index, 8..used, value);
        }
    }

    /// Copies the first word of place `index`, while a writer may write it.
    ///
    /// # Safety
    ///
    /// As for [`Places::load_into`].
    #[inline(always)]
    pub(crate) unsafe fn load_first_word(&self, index: usize) -> u64 {
        const { assert!(size_of::<T>() >= 8, "a value of less than a word has no first word") };
        let mut word = MaybeUninit::<u64>::uninit();
        // SAFETY: the caller's conditions; a T has a word (asserted) and fits (`new`), so a word does too; all of it is
        // copied, and any bits are a u64.
        unsafe {
            self.slots.load_part(index, 0..8, &mut word);
            word.assume_init()
        }
    }

    /// Copies `value` into place `index` while readers may read it.
    ///
    /// # Safety
    ///
    /// `index` is below the count; in this process only [`Places::store`], [`Places::load_into`] and
    /// [`Places::load_run`] access the place.
    #[inline(always)]
    pub(crate) unsafe fn store(&self, index: usize, value: &T) {
        if T::VARYING {
            // SAFETY: the caller's conditions; the used bytes are initialised, and at most all (Plain).
            unsafe { self.slots.store_first(index, value, value.used()) };
        } else {
            // SAFETY: the caller's conditions; a T fits (`new`) and has no padding (Plain).
            unsafe { self.slots.store(index, value) };
        }
    }
}

/// `value` as the destination of [`Places::load_into`] and [`Places::read_into`], which use nothing of its old
/// content.
#[inline(always)]
pub(crate) fn uninit<T: Plain>(value: &mut T) -> &mut MaybeUninit<T> {
    // SAFETY: the same layout. Code with a `MaybeUninit` could make its bytes uninitialised; the two functions only
    // write initialised bytes, and any of those are a T (Plain).
    unsafe { &mut *core::ptr::from_mut(value).cast::<MaybeUninit<T>>() }
}

/// The first word of a value that varies.
///
/// # Safety
///
/// That word is initialised.
unsafe fn head<T: Plain>(value: &MaybeUninit<T>) -> u64 {
    const { assert!(!T::VARYING || size_of::<T>() >= 8) };
    // SAFETY: there are 8 bytes (asserted; called only for types that vary), initialised (caller).
    unsafe { value.as_ptr().cast::<u64>().read_unaligned() }
}
