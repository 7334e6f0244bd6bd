// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A state that is one copy under a lock.

use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::ptr::NonNull;

use crate::Payload;
use crate::job::sealed::Caller;
use crate::payload::Stamped;
use crate::resource::Resource;

/// An end of it: any party's, for a lock knows no sides.
pub(crate) struct Locked<'p, P: Payload> {
    resource: Resource<()>,
    place: NonNull<Stamped<P>>,
    memory: PhantomData<&'p P>,
}

// SAFETY: the copy is touched by who holds the resource alone, one thread at a time, and payloads are plain data.
unsafe impl<P: Payload> Send for Locked<'_, P> {}

impl<'p, P: Payload> Locked<'p, P> {
    /// An end over a region; `None` if a value does not fit there.
    ///
    /// # Safety
    /// The region is mapped for 'p, zero or a value of this channel, and nobody touches it but by ends of this resource.
    pub(crate) unsafe fn over((base, bytes): (NonNull<u8>, usize), resource: Resource<()>) -> Option<Self> {
        let place = base.cast::<Stamped<P>>();
        let fits = bytes >= size_of::<Stamped<P>>() && base.addr().get() % align_of::<Stamped<P>>() == 0;
        fits.then_some(Self { resource, place, memory: PhantomData })
    }

    /// Puts a value in place of the last one; `false` if the caller did not get the lock.
    pub(crate) fn put(&self, by: &mut impl Caller, value: &Stamped<P>) -> bool {
        let mut place = self.place;
        // SAFETY: inside the region (`over`), and the resource is held: nobody else has a reference meanwhile.
        by.locked(&self.resource, || taut_share::copy(value, unsafe { place.as_mut() })).is_some()
    }

    /// Copies the value to where it is wanted: whether there is one; none before the first, and if the caller did not
    /// get the lock.
    pub(crate) fn get(&self, by: &mut impl Caller, value: &mut Stamped<P>) -> bool {
        let place = self.place;
        // SAFETY: as in `put`; all bytes are those of a value, or zero, which is one, for payloads are plain data.
        let got = by.locked(&self.resource, || taut_share::copy(unsafe { place.as_ref() }, value));
        got.is_some() && value.sequence > 0
    }
}
