// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Helping slots: where a writer leaves a value for a reader that asks for it. Each reader has two words and a place
//! for a value. The protocols say which orderings belong to them, and why.
//!
//! ```text
//! byte 0              of each reader, a line: asked, one bit (the reader's)
//! byte 128 × readers  of each reader, whole lines (the writer's): a place for the value, and behind it
//!                     answered: number of the write << 1 | the bit that was asked
//! ```
//!
//! While the bits differ, the writer owns the place; while they are equal, the reader owns it.

use core::mem::MaybeUninit;

use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Words};

use crate::places::Places;
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

/// Most readers.
const READERS: u32 = 250;

/// Bytes from one place to the next.
const fn stride<T: Plain>() -> usize {
    line_bytes(word_bytes::<T>() + 8)
}

/// Bytes of an object that has the helping slots of `readers` readers behind its first `before` bytes; `None` if the
/// size does not fit in `usize`, or unless there are 1 to 250 readers.
pub(super) const fn bytes<T: Plain>(before: usize, readers: u32) -> Option<usize> {
    if readers == 0 || readers > READERS {
        return None;
    }
    let Some(all) = (LINE_BYTES + stride::<T>()).checked_mul(readers as usize) else { return None };
    all.checked_add(before)
}

/// The helping slots of all readers.
pub(super) struct HelpingSlots<'m, T> {
    asked: Words<'m>,
    answered: Words<'m>,
    places: Places<'m, T>,
    count: u32,
}

impl<T> Clone for HelpingSlots<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for HelpingSlots<'_, T> {}

impl<'m, T: Plain> HelpingSlots<'m, T> {
    /// The helping slots behind the first `before` bytes.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Readers`], [`LayoutError::TooSmall`].
    pub(super) fn new(memory: &Claimed<'m>, before: usize, readers: u32) -> Result<Self, LayoutError> {
        fit(memory, bytes::<T>(before, readers).ok_or(LayoutError::Readers)?)?;
        let (count, stride) = (readers as usize, stride::<T>());
        let places = before + count * LINE_BYTES;
        Ok(Self {
            asked: memory.words(before, LINE_BYTES, count),
            answered: memory.words(places + word_bytes::<T>(), stride, count),
            places: Places::new(memory, places, stride, count),
            count: readers,
        })
    }

    /// How many readers there are.
    #[inline(always)]
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The helping slot of reader `which`, if there is such a reader.
    #[inline(always)]
    pub(super) fn get(&self, which: u32) -> Option<HelpingSlot<'m, T>> {
        let which = which as usize;
        let (asked, answered) = (self.asked.get(which)?, self.answered.get(which)?);
        Some(HelpingSlot { asked, answered, places: self.places, which })
    }
}

/// The helping slot of one reader.
pub(super) struct HelpingSlot<'m, T> {
    pub(super) asked: &'m AtomicU64,
    pub(super) answered: &'m AtomicU64,
    places: Places<'m, T>,
    which: usize,
}

impl<T: Plain> HelpingSlot<'_, T> {
    /// Leaves `value` for the reader.
    ///
    /// # Safety
    ///
    /// The caller is the writer, and owns the place: it has seen the bits differ, after the reader's last copy
    /// (ordered), and has not answered since.
    #[inline(always)]
    pub(super) unsafe fn leave(&self, value: &T) {
        // SAFETY: which < count (`HelpingSlots::get`), and a T fits (`HelpingSlots::new`); exclusive (caller).
        unsafe { self.places.write(self.which, value) };
    }

    /// Copies the value that the writer left.
    ///
    /// # Safety
    ///
    /// The caller is the reader, and owns the place: it has seen the bits equal, after the writer's copy (ordered),
    /// and has not asked since.
    #[inline(always)]
    pub(super) unsafe fn take(&self, value: &mut MaybeUninit<T>) {
        // SAFETY: as in `leave`.
        unsafe { self.places.read_into(self.which, value) };
    }
}

/// One bit for each reader, private to the writer: the bit with which it answered last.
pub(super) struct Bits([u64; 4]);

impl Bits {
    /// The bits of the answers in the helping slots.
    pub(super) fn answered<T: Plain>(slots: &HelpingSlots<'_, T>) -> Self {
        let mut bits = Self([0; 4]);
        for which in 0..slots.count() {
            if let Some(slot) = slots.get(which) {
                // Relaxed: the last writer has ended before, and only the writer stores this word.
                bits.set(which, slot.answered.load(taut_atomic::Ordering::Relaxed) & 1);
            }
        }
        bits
    }

    /// The bit of reader `which`.
    #[inline(always)]
    pub(super) fn get(&self, which: u32) -> u64 {
        self.0[which as usize / 64 % 4] >> (which % 64) & 1
    }

    /// Sets the bit of reader `which` to the lowest bit of `bit`.
    #[inline(always)]
    pub(super) fn set(&mut self, which: u32, bit: u64) {
        let word = &mut self.0[which as usize / 64 % 4];
        *word = *word & !(1 << (which % 64)) | (bit & 1) << (which % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn bits_are_one_for_each() {
        let mut bits = Bits([0; 4]);
        for which in (0..250).step_by(3) {
            bits.set(which, 3);
        }
        bits.set(60, 2);
        assert!((0..250).all(|which| bits.get(which) == u64::from(which % 3 == 0 && which != 60)));
    }
}
