// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A state that is one copy under a lock.

use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::ptr::NonNull;

use crate::Payload;
use crate::job::sealed::SealedCaller;
use crate::payload::Stamped;
use crate::resource::Resource;

/// An end of such a state, the same for every party: a lock knows no sides.
pub(crate) struct Locked<'p, P: Payload> {
    resource: Resource<()>,
    place: NonNull<Stamped<P>>,
    memory: PhantomData<&'p P>,
}

// SAFETY: only the holder of the resource touches the copy, one thread at a time, and payloads are plain data.
unsafe impl<P: Payload> Send for Locked<'_, P> {}

impl<'p, P: Payload> Locked<'p, P> {
    /// An end over a region; `None` if a value does not fit there.
    ///
    /// # Safety
    /// The region is mapped for 'p and holds zeros or a value of this channel; only ends with this resource touch
    /// it.
    pub(crate) unsafe fn over((base, bytes): (NonNull<u8>, usize), resource: Resource<()>) -> Option<Self> {
        let place = base.cast::<Stamped<P>>();
        let fits = bytes >= size_of::<Stamped<P>>() && base.addr().get() % align_of::<Stamped<P>>() == 0;
        fits.then_some(Self { resource, place, memory: PhantomData })
    }

    /// Replaces the value; `false` if the caller did not get the lock.
    pub(crate) fn put(&self, by: &mut impl SealedCaller, value: &Stamped<P>) -> bool {
        let mut place = self.place;
        // SAFETY: inside the region (`over`), and the caller holds the resource: no other reference exists
        // meanwhile.
        by.locked(&self.resource, || taut_share::copy(value, unsafe { place.as_mut() })).is_some()
    }

    /// Copies the value to `value`. Returns `false` before the first value, and if the caller did not get the lock.
    pub(crate) fn get(&self, by: &mut impl SealedCaller, value: &mut Stamped<P>) -> bool {
        let place = self.place;
        // SAFETY: as in `put`; all bytes are those of a value, or zero, which is a value too, for payloads are
        // plain data.
        let got = by.locked(&self.resource, || taut_share::copy(unsafe { place.as_ref() }, value));
        got.is_some() && value.sequence > 0
    }
}
