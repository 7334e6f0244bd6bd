// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A value behind a lock, in memory that processes share.

use std::fmt;
use std::marker::PhantomData;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::{AtomicU64, LINE_BYTES, Memory, Slots};
use taut_share::Plain;

use crate::global::LockLayoutError;
use crate::spin;

/// The bytes of a lock of this number of parties, and of a value that processes share.
pub const fn shared_bytes<T: Plain>(parties: u32) -> usize {
    spin::bytes(parties) + (stride::<T>() + 8).next_multiple_of(LINE_BYTES)
}

/// The bytes of a value. The word after it says whether the value is whole.
const fn stride<T>() -> usize {
    size_of::<T>().next_multiple_of(8)
}

/// The word beside a value that says whether the value is whole: the party that left it half changed, plus 1; 0:
/// whole.
///
/// Only the party that holds the lock reads and writes it, and the lock orders these accesses.
#[derive(Clone, Copy)]
pub(crate) struct Poison<'m>(pub(crate) &'m AtomicU64);

impl Poison<'_> {
    #[inline]
    pub(crate) fn by(self) -> Option<u32> {
        // Relaxed, here and below: the lock orders the accesses. A spoiled word is truncated.
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

/// The location of such a value, and whether it is whole.
///
/// The memory itself records that a value is not whole. The record stays until a party says that the value is whole
/// again, however many parties hold the lock before that, and whichever of them die.
pub struct SharedValue<'m, T> {
    slots: Slots<'m>,
    poison: Poison<'m>,
    value: PhantomData<T>,
}

impl<'m, T: Plain> SharedValue<'m, T> {
    /// Splits memory into the part of a lock and the place of a value after it. The value is zeros before the first
    /// change.
    ///
    /// # Errors
    ///
    /// [`LockLayoutError::TooSmall`].
    pub fn cut(memory: Memory<'m>, parties: u32) -> Result<(Memory<'m>, Self), LockLayoutError> {
        const { assert!(align_of::<T>() <= 8 && !T::VARYING, "a value of one size, aligned to at most 8 bytes") };
        let (needed, given) = (shared_bytes::<T>(parties), memory.bytes());
        let too_small = LockLayoutError::TooSmall { needed, given };
        if given < needed {
            return Err(too_small);
        }
        let (lock, behind) = memory.split(spin::bytes(parties)).ok_or(too_small)?;
        let behind = behind.claim();
        let (slots, poison) = (behind.slots(0, stride::<T>(), 1), Poison(behind.word(stride::<T>())));
        Ok((lock, Self { slots, poison, value: PhantomData }))
    }
}

impl<'m, T> SharedValue<'m, T> {
    pub(crate) fn poison(&self) -> Poison<'m> {
        self.poison
    }

    /// Gives `work` access to the value in place.
    ///
    /// # Safety
    ///
    /// The caller is a party of the lock before the value, and inside; the memory of the value holds a `T`, or
    /// zeros; and all processes that can write there obey the lock.
    #[inline]
    pub unsafe fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: index 0 is below the count of 1, and a T fits; any bits are a valid T, which has no padding
        // (`cut`). The access is exclusive: all users of the value are parties of one lock, and the caller is
        // inside.
        unsafe { self.slots.lend_mut(0, work) }
    }

    /// The party that left the value half changed, if the value is not whole. For the party inside; 1 load.
    #[inline]
    pub fn torn_by(&self) -> Option<u32> {
        self.poison.by()
    }

    /// Records that a party has left the value half changed. For the party inside; 1 store.
    pub fn tear(&self, party: u32) {
        self.poison.put(party);
    }

    /// Records that the value is whole again. For the party inside; 1 store.
    pub fn mend(&self) {
        self.poison.clear();
    }
}

impl<T> fmt::Debug for SharedValue<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedValue").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use taut_atomic::Line;

    use super::*;

    #[test]
    fn a_value_is_whole_until_it_is_torn() {
        let mut lines = [const { Line::new() }; 4];
        let (_, place) = SharedValue::<[u32; 3]>::cut(Memory::new(&mut lines), 2).unwrap();
        assert_eq!(place.torn_by(), None);
        for party in [0, 1, 63] {
            place.tear(party);
            assert_eq!(place.torn_by(), Some(party));
        }
        place.mend();
        assert_eq!(place.torn_by(), None);
        assert_eq!(format!("{place:?}"), "SharedValue { .. }");
    }

    #[test]
    fn a_value_needs_a_line_behind_its_lock() {
        let mut lines = [const { Line::new() }; 4];
        let cut = |lines: &mut [Line]| SharedValue::<[u32; 3]>::cut(Memory::new(lines), 2).map(drop).err();
        assert_eq!(cut(&mut lines), None);
        let too_small = LockLayoutError::TooSmall { needed: 512, given: 384 };
        assert_eq!(cut(&mut lines[..3]), Some(too_small));
    }
}
