// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr::NonNull;

/// Places in a row, lent for reading where they lie: see `Slots::lend_run`.
pub struct Lent<'m, T> {
    first: NonNull<u8>,
    stride: usize,
    count: usize,
    values: PhantomData<&'m [T]>,
}

impl<T: Copy> Lent<'_, T> {
    /// # Safety
    ///
    /// `count` values, `stride` bytes apart from `first` on, are there and are written by nobody while this lives.
    #[inline(always)]
    pub(crate) unsafe fn new(first: NonNull<u8>, stride: usize, count: usize) -> Self {
        Self { first, stride, count, values: PhantomData }
    }

    /// How many.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The values, the first one first.
    #[inline(always)]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.count).map(|i| {
            // SAFETY: i is below the count: there, and written by nobody (`new`).
            unsafe { self.first.add(i * self.stride).cast::<T>().as_ref() }
        })
    }

    /// The values side by side; `None` if there is space between them.
    #[inline(always)]
    pub fn as_slice(&self) -> Option<&[T]> {
        if self.stride != size_of::<T>() {
            return None;
        }
        // SAFETY: `count` values without space in between, written by nobody (`new`).
        Some(unsafe { NonNull::slice_from_raw_parts(self.first.cast(), self.count).as_ref() })
    }
}

/// Places in a row, lent for writing where they lie: see `Slots::lend_run_mut`.
pub struct LentMut<'m, T> {
    first: NonNull<u8>,
    stride: usize,
    count: usize,
    values: PhantomData<&'m mut [T]>,
}

impl<T: Copy> LentMut<'_, T> {
    /// # Safety
    ///
    /// `count` values, `stride` bytes apart from `first` on, are there and are touched by nobody else while this
    /// lives.
    #[inline(always)]
    pub(crate) unsafe fn new(first: NonNull<u8>, stride: usize, count: usize) -> Self {
        Self { first, stride, count, values: PhantomData }
    }

    /// How many.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The places, the first one first.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> + ExactSizeIterator {
        let (first, stride) = (self.first, self.stride);
        (0..self.count).map(move |i| {
            // SAFETY: i is below the count: there, touched by nobody else (`new`); the iterator holds this value
            // mutably and gives each place once.
            unsafe { first.add(i * stride).cast::<T>().as_mut() }
        })
    }

    /// The places side by side; `None` if there is space between them.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        if self.stride != size_of::<T>() {
            return None;
        }
        // SAFETY: `count` values without space in between, touched by nobody else (`new`).
        Some(unsafe { NonNull::slice_from_raw_parts(self.first.cast(), self.count).as_mut() })
    }

    /// Ends the loan, and what was written stays: nothing is left to do here, as it was written where it lies.
    #[inline(always)]
    pub fn end(self) {}
}
