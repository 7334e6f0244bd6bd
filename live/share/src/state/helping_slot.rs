// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Helping slots: where a writer leaves a value for a reader that asks for it.
//!
//! # Use
//! [Peterson's protocol](super::peterson) and [that of EMERALDS](super::emeralds) are built on these: a reader that
//! cannot rely on its own copy of a buffer asks, and the writer copies for it at the end of a write. The protocols say
//! when a reader asks, and what an answer is worth.
//!
//! # Callers
//! One writer, with its [`Bits`], and one reader for each slot; all may run at the same time. The ends of the protocols
//! ensure it.
//!
//! # Progress
//! All wait-free. W = ⌈size of a value / 8⌉ words.
//!
//! | operation                | bound                                                                       |
//! |--------------------------|-----------------------------------------------------------------------------|
//! | the writer's `answer`    | 1 load for each reader; W words + 1 store for each that has asked            |
//! | a reader's `ask`         | 1 store                                                                     |
//! | its `answered`           | 1 load                                                                      |
//! | its `take`               | W words                                                                     |
//!
//! # Orderings
//! - O3 ask: Release of the reader's store of its bit ↔ Acquire of the writer's load of it.
//! - O4 answer: Release of the writer's store of the answer ↔ Acquire of the reader's load of it.
//!
//! The protocols count their own orderings around these.
//!
//! # Crash
//! A reader that dies after it has asked costs one copy that is not used; its successor takes the request over. A
//! writer that dies within an answer has not answered; its successor loads the bits of the answers, and answers anew.
//!
//! # Source
//! The handshake of [Peterson 1983], one bit on each side.

use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, StridedWords};

use crate::places::Places;
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0              of each reader, a line: asked, one bit (the reader's)
// byte 128 × readers  of each reader, whole lines (the writer's): a place for the value, and behind it
//                     answered: number of the write << 1 | the bit that was asked
// ```
//
// A reader asks by making its bit differ from the bit of the answer; the writer answers by making them equal.
//
// # Invariants
//
// - I1 The writer writes the place only while the bits differ; the reader reads it only while they are equal.
// - I2 Only the reader makes the bits differ. Only the writer makes them equal, once for each request.

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
    asked: StridedWords<'m>,
    answered: StridedWords<'m>,
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

    /// For the writer, after write `version`: leaves `value` for each reader that has asked since its last answer.
    #[inline(always)]
    pub(super) fn answer(&self, answered: &mut Bits, version: u64, value: &T) {
        for which in 0..self.count {
            let Some(slot) = self.get(which) else { break };
            let asked = slot.asked.load(Acquire) & 1; // O3 ask: the reader's last copying before ours.
            if asked != answered.get(which) {
                // SAFETY: which < count (`get`), and a T fits (`new`); exclusive: the bits differ, by our private
                // account of the answers; the reader's copying is over (O3), and it will not read until we answer
                // (I1).
                unsafe { self.places.write(slot.which, value) };
                answered.set(which, asked);
                // O4 answer: the copy before the bits are equal.
                slot.answered.store(version << 1 | asked, Release);
            }
        }
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
    asked: &'m AtomicU64,
    answered: &'m AtomicU64,
    places: Places<'m, T>,
    which: usize,
}

impl<T: Plain> HelpingSlot<'_, T> {
    /// The bit that the reader asked with last, for the reader.
    #[inline(always)]
    pub(super) fn last_asked(&self) -> u64 {
        // Relaxed: only the reader stores it, and the last reader has ended before this one begins.
        self.asked.load(Relaxed) & 1
    }

    /// The bit of the last answer, for the reader: it asks with the other one.
    #[inline(always)]
    pub(super) fn last_answered(&self) -> u64 {
        // Relaxed: no copy relies on it.
        self.answered.load(Relaxed) & 1
    }

    /// Asks with `bit`.
    #[inline(always)]
    pub(super) fn ask(&self, bit: u64) {
        self.asked.store(bit, Release); // O3 ask: our last copying before the writer's.
    }

    /// The last answer: number of the write << 1 | the bit that was asked.
    #[inline(always)]
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Acquire) // O4 answer
    }

    /// Copies the value that the writer left.
    ///
    /// # Safety
    ///
    /// The caller is the reader, [`HelpingSlot::answered`] has returned the bit with which it asked last, and it has
    /// not asked since.
    #[inline(always)]
    pub(super) unsafe fn take(&self, value: &mut MaybeUninit<T>) {
        // Proof: the bits are equal, so the place is the reader's until it asks again (I1): O4 orders the writer's
        // copying before ours, and O3 ours before the writer's next.
        // SAFETY: which < count (`HelpingSlots::get`), and a T fits (`HelpingSlots::new`); exclusive (proof above).
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
                // The last writer has ended before, and only the writer stores this word.
                bits.set(which, slot.last_answered());
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

// # Checked
//
// With the protocols: `tests/temporal`; weakening either end of either ordering fails in `tests/temporal/loom.rs`.
