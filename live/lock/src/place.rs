// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A value behind a lock, in memory that processes share.

use std::fmt;
use std::marker::PhantomData;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::{AtomicU64, LINE_BYTES, Memory, Slots};
use taut_share::Plain;

use crate::global::LayoutError;
use crate::spin;

/// Bytes of a lock of so many parties and a value that processes share.
pub const fn shared_bytes<T: Plain>(parties: u32) -> usize {
    spin::bytes(parties) + (stride::<T>() + 8).next_multiple_of(LINE_BYTES)
}

/// Of a value; the word behind it says if it is whole.
const fn stride<T>() -> usize {
    size_of::<T>().next_multiple_of(8)
}

/// The word beside a value that says whether it is whole: the party that left it half changed, from 1; 0: it is whole.
///
/// It is read and written by the party that holds the lock, and ordered by that.
#[derive(Clone, Copy)]
pub(crate) struct Poison<'m>(pub(crate) &'m AtomicU64);

impl Poison<'_> {
    #[inline]
    pub(crate) fn by(self) -> Option<u32> {
        // Relaxed, here and below: ordered by the lock. A spoiled one is cut.
        (self.0.load(Relaxed) as u32).checked_sub(1)
    }

    #[cold]
    pub(crate) fn put(self, party: u32) {
        self.0.store(u64::from(party) + 1, Relaxed);
    }

    pub(crate) fn clear(self) {
        self.0.store(0, Relaxed);
    }
}

/// Where such a value stands, and whether it is whole.
///
/// That it is not is a note in the memory itself: it stays until somebody says that the value is whole again, however many
/// hold the lock before, and whoever dies meanwhile.
pub struct Place<'m, T> {
    slots: Slots<'m>,
    poison: Poison<'m>,
    value: PhantomData<T>,
}

impl<'m, T: Plain> Place<'m, T> {
    /// Cuts memory into that of a lock, and a value behind it: zeros before the first change.
    ///
    /// # Errors
    ///
    /// [`LayoutError::TooSmall`].
    pub fn cut(memory: Memory<'m>, parties: u32) -> Result<(Memory<'m>, Self), LayoutError> {
        const { assert!(align_of::<T>() <= 8 && !T::VARYING, "a value of one size, aligned to at most 8 bytes") };
        let (needed, given) = (shared_bytes::<T>(parties), memory.bytes());
        let too_small = LayoutError::TooSmall { needed, given };
        if given < needed {
            return Err(too_small);
        }
        let (lock, behind) = memory.split(spin::bytes(parties)).ok_or(too_small)?;
        let behind = behind.claim();
        let (slots, poison) = (behind.slots(0, stride::<T>(), 1), Poison(behind.word(stride::<T>())));
        Ok((lock, Self { slots, poison, value: PhantomData }))
    }
}

impl<'m, T> Place<'m, T> {
    pub(crate) fn poison(&self) -> Poison<'m> {
        self.poison
    }

    /// Lets `work` have the value where it lies.
    ///
    /// # Safety
    ///
    /// The caller is a party of the lock before it, and inside; what stands there is a `T`, or zeros; and all processes
    /// that can write there keep to the lock.
    #[inline]
    pub unsafe fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: place 0 of 1, and a T fits, any bits of which are one and without padding (`cut`); exclusive: all that use
        // it are parties of one lock, and the caller is inside.
        unsafe { self.slots.lend_mut(0, work) }
    }

    /// The party that left the value half changed, if it is not whole. For who is inside; 1 load.
    #[inline]
    pub fn torn_by(&self) -> Option<u32> {
        self.poison.by()
    }

    /// Says that a party has left the value half changed. For who is inside; 1 store.
    pub fn tear(&self, party: u32) {
        self.poison.put(party);
    }

    /// Says that the value is whole again. For who is inside; 1 store.
    pub fn mend(&self) {
        self.poison.clear();
    }
}

impl<T> fmt::Debug for Place<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use taut_atomic::Line;

    use super::*;

    #[test]
    fn a_value_is_whole_until_it_is_torn() {
        let mut lines = [const { Line::new() }; 4];
        let (_, place) = Place::<[u32; 3]>::cut(Memory::new(&mut lines), 2).unwrap();
        assert_eq!(place.torn_by(), None);
        for party in [0, 1, 63] {
            place.tear(party);
            assert_eq!(place.torn_by(), Some(party));
        }
        place.mend();
        assert_eq!(place.torn_by(), None);
        assert_eq!(format!("{place:?}"), "Place { .. }");
    }

    #[test]
    fn a_value_needs_a_line_behind_its_lock() {
        let mut lines = [const { Line::new() }; 4];
        let cut = |lines: &mut [Line]| Place::<[u32; 3]>::cut(Memory::new(lines), 2).map(drop).err();
        assert_eq!(cut(&mut lines), None);
        let too_small = LayoutError::TooSmall { needed: 512, given: 384 };
        assert_eq!(cut(&mut lines[..3]), Some(too_small));
    }
}
