// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Peterson, as revised by Vidyasankar: newest value; one real-time writer, several real-time readers, no waiting and
//! no assumption about time.
//!
//! # Use
//! State between real-time threads about whose speed nothing is known, or whose readers must never have to retry. The
//! writer pays: a fence that waits for its stores, a load of one word of every reader, and a copy for each reader
//! that is reading at this moment. In return there are only two buffers, and one copy for each reader. If there is a
//! bound on how long readers take, see [`super::nbw_temporal`]; if there is one for some of them,
//! [`super::improved_peterson`]. If a reader that was overtaken has the time to wait for the next write,
//! [`super::emeralds`] costs the writer less.
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`reader`] ensure it).
//!
//! |                                  | write | read of one number | read of another |
//! |----------------------------------|-------|--------------------|-----------------|
//! | `write`                          | X     | -                  | -               |
//! | `read`, `read_sample`, `read_if_newer`, `version` | - | X     | -               |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words, P readers. All operations are wait-free.
//!
//! | operation             | bound                                                                            |
//! |-----------------------|----------------------------------------------------------------------------------|
//! | `write`               | 1 store + W words + 2 fences + P loads, and W words + 1 store for each reader that has begun a read since its last copy |
//! | `read`, `read_sample` | 3 loads + 1 store + 2 fences + W or 2 W words; without words before the first write |
//! | `read_if_newer`       | 1 load more; only 1 load when there is nothing newer                             |
//! | `version`             | 1 load                                                                           |
//!
//! One of the writer's fences and one of the reader's are sequentially consistent: on x86-64 each of these is an
//! instruction that waits until other cores see the stores before it. The other fences are free there.
//!
//! # Orderings
//! - O1 publish: Release of the store of `latest` ↔ Acquire of the reader's loads of it.
//! - O2 reuse: Release fence before the words of a write ↔ Acquire fence after the words of a read.
//! - O5 meet: SeqCst fence of the reader, between its bit and its load of `latest` ↔ SeqCst fence of the writer,
//!   between its store of `latest` and its loads of the bits.
//! - O3 and O4, between request and answer, are those of the helping slots (`helping_slot`).
//!
//! # Crash
//! | death of                        | what the others see | recovery                                            |
//! |---------------------------------|---------------------|-----------------------------------------------------|
//! | writer, before its store of `latest` | the value before | a new [`writer`] writes the same buffer, number   |
//! | writer, after it, within an answer | the new value; a reader that has asked takes it out of the buffer | a new [`writer`] answers with its first write |
//! | reader, after it has asked      | nothing             | the next write makes one copy that is not used; a new [`reader`] takes the request over |
//! | reader, elsewhere               | nothing             | a new [`reader`] continues                          |
//!
//! # Source
//! [Peterson 1983] as revised in [Vidyasankar 1990], after their costs in [Huang 2002, section 4]: a reader copies at
//! most twice, the writer at most P + 1 times. The latter has no listing; this is a reconstruction. We differ: we add
//! fences and orderings, relaxed words for the buffers, and the number of a write beside that of its buffer and
//! beside the answer's bit.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{Claimed, Memory, fence};

pub use super::Sample;
use super::helping_slot::{self, Bits, HelpingSlot, HelpingSlots};
use super::ring::{self, Ring, Turn};
use super::whole_sample;
use crate::places::uninit;
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0    latest: number of the newest write << 8 | its buffer; 0 before the first (the writer's)
// byte 128  2 buffers
// then      of each reader, a line: asked, one bit (the reader's)
// then      of each reader, whole lines: its copy, and behind it answered: number of the write << 1 | bit (the
//           writer's)
// ```
//
// A reader asks by making its bit differ from the bit of the answer, and after that copies the newest buffer. The
// writer, after each write, answers the readers that have asked: it leaves the value in their copy, then makes the
// bits equal.
//
// # Invariants
//
// - I1 The numbers in `latest` grow by one from write to write; while it has number j, only the buffer of write j + 1
//   is written.
// - I2 Those of the helping slots (`helping_slot`); the reader makes its bits differ at the begin of a read.

/// The number of main buffers.
const BUFFERS: u32 = 2;

/// Bytes that an object for `T` needs; `None` unless there are 1 to 250 readers and the size fits in `usize`.
pub const fn bytes<T: Plain>(readers: u32) -> Option<usize> {
    bytes_over::<T>(readers, BUFFERS)
}

/// As [`bytes`], for another number of buffers.
pub(super) const fn bytes_over<T: Plain>(readers: u32, buffers: u32) -> Option<usize> {
    let Some(before) = ring::bytes::<T>(buffers) else { return None };
    helping_slot::bytes::<T>(before, readers)
}

/// The ring and the helping slots of an object.
///
/// # Errors
///
/// [`LayoutError`].
pub(super) fn parts<'m, T: Plain>(
    memory: &Claimed<'m>,
    readers: u32,
    buffers: u32,
) -> Result<(Ring<'m, T>, HelpingSlots<'m, T>), LayoutError> {
    let before = ring::bytes::<T>(buffers).ok_or(LayoutError::Buffers)?;
    let slots = HelpingSlots::new(memory, before, readers)?;
    Ok((Ring::new(memory, buffers)?, slots))
}

/// The writer and 1 to 250 readers on one memory.
///
/// # Errors
///
/// [`LayoutError::Readers`], [`LayoutError::TooSmall`].
pub fn group<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
) -> Result<(Writer<'_, T>, Readers<'_, T>), LayoutError> {
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, readers, BUFFERS)?;
    Ok((Writer::attach(ring, slots), Readers::new(ring, slots)))
}

/// The writer's end alone, for readers that are in other processes or that [`reader`] makes. After the death of a
/// writer, at any step, this call makes its successor.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T` and number of readers, or zeros. No other writer of it is alive: the
/// last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>, readers: u32) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, readers, BUFFERS)?;
    Ok(Writer::attach(ring, slots))
}

/// The end of reader `which`, from 0, alone. After the death of that reader, at any step, this call makes its
/// successor.
///
/// # Errors
///
/// As [`group`]; [`LayoutError::Readers`] also if there is no such reader.
///
/// # Safety
///
/// The memory holds this object for this `T` and number of readers, or zeros. No other reader of this number is
/// alive: the last one has ended, and its end happens before this call.
pub unsafe fn reader<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    which: u32,
) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, readers, BUFFERS)?;
    Ok(Reader::attach(ring, slots.get(which).ok_or(LayoutError::Readers)?))
}

// A hostile reader can make the writer copy once for each of its own reads, which is in the bound, and spoil all
// values for the others; the writer names buffers and answers by numbers that are private to it. A hostile writer can
// make a reader return any bits: the number of a buffer is bounded, and the steps are the same.

/// The end that writes. Real-time.
pub struct Writer<'m, T> {
    ring: Ring<'m, T>,
    slots: HelpingSlots<'m, T>,
    next: Turn,
    answered: Bits,
}

impl<'m, T: Plain> Writer<'m, T> {
    pub(super) fn attach(ring: Ring<'m, T>, slots: HelpingSlots<'m, T>) -> Self {
        let next = ring.next();
        Self { ring, next, answered: Bits::answered(&slots), slots }
    }

    /// Makes `value` the newest, and leaves a copy for each reader that has begun a read since its last copy.
    /// Wait-free.
    #[inline]
    pub fn write(&mut self, value: &T) {
        fence(Release); // O2 reuse: the answers after the previous write, before the words.
        self.ring.store(self.next, value);
        self.ring.latest.store(self.next.word, Release); // O1 publish: the words before their number.
        fence(SeqCst); // O5 meet: our number before our loads of the bits.
        self.slots.answer(&mut self.answered, self.next.version(), value);
        self.next = self.ring.after(self.next);
    }
}

/// The readers; the iterator yields each once.
pub struct Readers<'m, T> {
    ring: Ring<'m, T>,
    slots: HelpingSlots<'m, T>,
    next: u32,
}

impl<'m, T: Plain> Readers<'m, T> {
    pub(super) fn new(ring: Ring<'m, T>, slots: HelpingSlots<'m, T>) -> Self {
        Self { ring, slots, next: 0 }
    }
}

impl<'m, T: Plain> Iterator for Readers<'m, T> {
    type Item = Reader<'m, T>;

    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.slots.get(self.next)?;
        self.next += 1;
        Some(Reader::attach(self.ring, slot))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.slots.count() - self.next) as usize;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for Readers<'_, T> {}

impl<T: Plain> FusedIterator for Readers<'_, T> {}

/// An end that reads. Real-time.
///
/// Neither end may be copied, nor shared between threads:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::peterson};
/// # let mut lines = [const { Line::new() }; 4];
/// let (writer, mut readers) = peterson::group::<u64>(Memory::new(&mut lines), 1).unwrap();
/// let second = readers.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::peterson};
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 4];
/// let (writer, mut readers) = peterson::group::<u64>(Memory::new(&mut lines), 1).unwrap();
/// shared(&readers.next().unwrap());
/// ```
pub struct Reader<'m, T> {
    ring: Ring<'m, T>,
    slot: HelpingSlot<'m, T>,
    /// The number of the value that this reader returned last.
    seen: u64,
}

impl<'m, T: Plain> Reader<'m, T> {
    pub(super) fn attach(ring: Ring<'m, T>, slot: HelpingSlot<'m, T>) -> Self {
        Self { ring, slot, seen: 0 }
    }

    /// The newest value; `None` before the first write. Wait-free, at most two copies.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        self.read_sample().map(|sample| sample.value)
    }

    /// The newest value with its number; `None` before the first write. Wait-free, at most two copies.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        // SAFETY: `copy` fills the used bytes of a value if it returns a number.
        unsafe { whole_sample(|value| self.copy(value)) }
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        if self.is_newer() { self.read_sample() } else { None }
    }

    /// [`Reader::read`] into `value`, without a further move; returns the number of the write. If it returns `None`,
    /// `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        self.copy(uninit(value))
    }

    /// [`Reader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        if self.is_newer() { self.copy(uninit(value)) } else { None }
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        // Relaxed: no read relies on it.
        self.ring.turn(self.ring.latest.load(Relaxed)).version()
    }

    #[inline(always)]
    fn is_newer(&self) -> bool {
        // O1 publish (Acquire): the answers before this number too, so that the copy that we take is not older than
        // it.
        let latest = self.ring.latest.load(Acquire);
        self.ring.turn(latest).version() != self.seen
    }

    /// Copies the newest value; returns the number of its write.
    #[inline(always)]
    fn copy(&mut self, value: &mut MaybeUninit<T>) -> Option<u64> {
        // Proof: Suppose a reader asks, and loads number k. It copies the buffer of write k. Each word that it sees is
        // of write k, or of write k + 2 or a later one (I1), because with two buffers write k + 2 is the next that
        // stores where write k stored.
        //
        // *If the bits differ at the end*, the words are of write k. Suppose the reader had seen a word of write k + 2
        // or later. Then by O2 it would see all that the writer did before that word, and so the writer's load of the
        // bit after write k + 1. That load follows the writer's fence after the store of number k + 1, which the
        // reader had not loaded. So by O5 the reader's fence came first, and the writer's load found the bit. The
        // writer stored the answer then (or earlier), and by O2 the reader would have loaded it: the bits would be
        // equal.
        //
        // *If they are equal*, the writer has answered since this read asked (I2), and the copy is the reader's until
        // it asks again (`HelpingSlot::take`). The value is of a write whose load of the bit came after the begin of
        // this read, so it is not older than the last write that was complete then. (Where stores become visible late,
        // the answer to the previous read may become visible only during this read, which has then repeated a request
        // that was still open. In this case the reader could not know at the begin that the write of that answer was
        // complete, so that write is not older than any write that it knew to be complete.)

        let asked = !self.slot.last_answered() & 1;
        // Proof: A reader asks with *the complement of what the writer has answered*, loaded anew for each read, and
        // not of what this reader asked last. A reader that toggles a bit of its own withdraws a request that is not
        // answered yet, and takes the next answer, or none at all, for its copy (`tests/temporal/printed.rs` shows the
        // resulting stale value).
        self.slot.ask(asked);
        fence(SeqCst); // O5 meet: our bit before our load of the number.
        let latest = self.ring.latest.load(Acquire); // O1 publish
        if latest == 0 {
            return None;
        }
        let turn = self.ring.turn(latest);
        self.ring.load(turn, value);
        fence(Acquire); // O2 reuse: the words before the load of the answer.
        let answered = self.slot.answered();
        self.seen = if answered & 1 == asked {
            // SAFETY: the answer has our bit, and we have not asked since.
            unsafe { self.slot.take(value) };
            answered >> 1
        } else {
            turn.version()
        };
        Some(self.seen)
    }
}

crate::ends::ends! {
    write Writer;
    read Reader;
}

// # Checked
//
// - `tests/temporal/behaviour.rs`: values, numbers, layout, successors, lies; also Miri
// - `tests/temporal/steps.rs`: the bounds above, counted
// - `tests/temporal/printed.rs`: a reader's own bit; writes that come in the middle of a copy
// - the programs over all protocols: `conformance`, `stress`, `loom`, `shuttle`, `steps`, `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/temporal/loom.rs`, payload of 2 words, 1 reader: 2 writes × 1 read, and 2 × 2 of `read_if_newer`, without
// preemption bound: 121 and 1 657 executions; 3 × 2 with bound 4: 4 144; with an answer to the previous read still on
// its way, bound 3: 1 368; 2 readers one after the other, bound 3: 1 028. Leaving out any of the twelve orderings,
// those of the helping slots included, or weakening it by one step, fails there.
//
// Not covered: exhaustive runs of two readers at the same time, or of more; load buffering (the Release of O3 forbids
// what it could do to a copy); AArch64 hardware.
