// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// A value lent for reading in place, until this loan is dropped.
///
/// It holds an address and not a reference, because a function that receives the loan as an argument may end it before
/// that function returns.
pub struct LentPlace<'m, T> {
    pub(crate) at: NonNull<T>,
    pub(crate) life: PhantomData<&'m T>,
}

impl<T> Deref for LentPlace<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: there is a T at the address, and nobody writes it (caller of `Slots::lend_place`).
        unsafe { self.at.as_ref() }
    }
}

/// A value lent for writing in place, until this loan is dropped. It holds an address for the same reason as
/// [`LentPlace`].
pub struct LentPlaceMut<'m, T> {
    pub(crate) at: NonNull<T>,
    pub(crate) life: PhantomData<&'m mut T>,
}

impl<T> LentPlaceMut<'_, T> {
    /// Ends the loan, as dropping does.
    #[inline(always)]
    pub fn end(self) {}
}

impl<T> Deref for LentPlaceMut<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: there is a T at the address, and nobody else touches it (caller of `Slots::lend_place_mut`).
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
