// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr::NonNull;

/// Consecutive places, lent for reading in place: see `Slots::lend_run`.
pub struct Lent<'m, T> {
    first: NonNull<u8>,
    stride: usize,
    count: usize,
    values: PhantomData<&'m [T]>,
}

impl<T: Copy> Lent<'_, T> {
    /// # Safety
    ///
    /// `count` values, `stride` bytes apart from `first` on, exist, and nobody writes them while the result lives.
    #[inline(always)]
    pub(crate) unsafe fn new(first: NonNull<u8>, stride: usize, count: usize) -> Self {
        Self { first, stride, count, values: PhantomData }
    }

    /// The number of places.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The values, in the order of their places.
    #[inline(always)]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.count).map(|i| {
            // SAFETY: i is below the count: the value exists, and nobody writes it (`new`).
            unsafe { self.first.add(i * self.stride).cast::<T>().as_ref() }
        })
    }

    /// The values as one slice; `None` if there is space between them.
    #[inline(always)]
    pub fn as_slice(&self) -> Option<&[T]> {
        if self.stride != size_of::<T>() {
            return None;
        }
        // SAFETY: `count` values without space in between, which nobody writes (`new`).
        Some(unsafe { NonNull::slice_from_raw_parts(self.first.cast(), self.count).as_ref() })
    }
}

/// Consecutive places, lent for writing in place: see `Slots::lend_run_mut`.
pub struct LentMut<'m, T> {
    first: NonNull<u8>,
    stride: usize,
    count: usize,
    values: PhantomData<&'m mut [T]>,
}

impl<T: Copy> LentMut<'_, T> {
    /// # Safety
    ///
    /// `count` values, `stride` bytes apart from `first` on, exist, and nobody else touches them while the result
    /// lives.
    #[inline(always)]
    pub(crate) unsafe fn new(first: NonNull<u8>, stride: usize, count: usize) -> Self {
        Self { first, stride, count, values: PhantomData }
    }

    /// The number of places.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The places, in order.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> + ExactSizeIterator {
        let (first, stride) = (self.first, self.stride);
        (0..self.count).map(move |i| {
            // SAFETY: i is below the count: the value exists, and nobody else touches it (`new`). The iterator
            // borrows this value mutably and yields each place once.
            unsafe { first.add(i * stride).cast::<T>().as_mut() }
        })
    }

    /// The places as one slice; `None` if there is space between them.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        if self.stride != size_of::<T>() {
            return None;
        }
        // SAFETY: `count` values without space in between, which nobody else touches (`new`).
        Some(unsafe { NonNull::slice_from_raw_parts(self.first.cast(), self.count).as_mut() })
    }

    /// Ends the loan and keeps what the caller wrote. The caller wrote it in place, so nothing is left to do.
    #[inline(always)]
    pub fn end(self) {}
}
