// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// A value lent for reading where it lies, until this is dropped.
///
/// An address and not a reference: a function that is given one may end the loan while it runs.
pub struct LentPlace<'m, T> {
    pub(crate) at: NonNull<T>,
    pub(crate) life: PhantomData<&'m T>,
}

impl<T> Deref for LentPlace<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: a T stands there that nobody writes (caller of `Slots::lend_place`).
        unsafe { self.at.as_ref() }
    }
}

/// A value lent for writing where it lies, until this is dropped. An address for the reason of [`LentPlace`].
pub struct LentPlaceMut<'m, T> {
    pub(crate) at: NonNull<T>,
    pub(crate) life: PhantomData<&'m mut T>,
}

impl<T> LentPlaceMut<'_, T> {
    /// Ends it, as dropping does.
    #[inline(always)]
    pub fn end(self) {}
}

impl<T> Deref for LentPlaceMut<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: a T stands there that nobody else touches (caller of `Slots::lend_place_mut`).
        unsafe { self.at.as_ref() }
    }
}

impl<T> DerefMut for LentPlaceMut<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { self.at.as_mut() }
    }
}
