// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! EMERALDS, in user space: newest value; one real-time writer, fast readers that are safe by time, and slow readers
//! that the writer helps.
//!
//! # Use
//! As [`super::improved_peterson`], where slow readers are rare or seldom overtaken, and have the time for a second
//! attempt. Then the writer needs no fence that waits, an undisturbed read stores nothing, and the writer copies for
//! a slow reader only after that reader was overtaken. If a slow reader must succeed in one attempt, use improved
//! Peterson.
//!
//! The cost: the writer makes one load for each slow reader, and one more copy for each slow reader that has asked. A
//! slow reader that was overtaken loses one copy, and waits for the next write; when readers are overtaken, writes
//! are frequent.
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`slow_reader`] ensure it).
//! Fast readers are those of [`super::nbw_temporal`]; any number of them may run at the same time as any operation.
//!
//! |                                       | write | slow read of one number | of another |
//! |---------------------------------------|-------|-------------------------|------------|
//! | `write`                               | X     | -                       | -          |
//! | `read`, `read_bounded`, `read_if_newer`, `version` | - | X              | -          |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words, M slow readers.
//!
//! | operation                     | bound                                                                    |
//! |-------------------------------|--------------------------------------------------------------------------|
//! | `write`                       | wait-free: 1 store + W words + 1 fence (free on x86-64) + M loads, and W words + 1 store for each slow reader that was overtaken since its last answer |
//! | `SlowReader::read_bounded(n)` | n attempts; each 2 loads + 1 fence + W words and, if overtaken, 1 load and 1 store, or W words and the end |
//! | `SlowReader::read`            | 2 attempts: 2 loads + 1 fence + W words undisturbed, 6 loads + 2 fences + 1 store + 3 W words at most |
//! | `SlowReader::read_if_newer`   | `read`; 1 load when there is nothing newer                               |
//! | `FastReader::read`            | as in [`super::nbw_temporal`]                                            |
//!
//! With 3 buffers or more, *the second attempt succeeds* wherever the other threads see a store within the time of one
//! write: always on one core. Then slow reads are wait-free too. `SlowReader::insist` says why.
//!
//! # Orderings
//! - O1 publish: Release of the store of `latest` ↔ Acquire of the slow reader's first load of it.
//! - O2 reuse: Release fence before the words of a write ↔ Acquire fence between a reader's words and its second load.
//! - O3 and O4, between request and answer, are those of the helping slots (`helping_slot`).
//!
//! # Crash
//! | death of                             | what the others see | recovery                                               |
//! |--------------------------------------|---------------------|--------------------------------------------------------|
//! | writer, before its store of `latest` | the value before    | slow readers' own attempts succeed; a new [`writer`] writes the same buffer, number |
//! | writer, after it, within an answer   | the new value       | as above; a new [`writer`] answers with its first write |
//! | slow reader, after it has asked      | nothing             | the next write makes one copy that is not used; a new [`slow_reader`] takes the request over |
//! | slow reader elsewhere, fast reader   | nothing             | a new one continues                                    |
//!
//! # Source
//! [Zuberi 1999], as described in [Huang 2002, section 2.3]. We differ in what replaces the disabled interrupts, as
//! `Writer::write` says; so this protocol is correct on several cores, for which the paper excludes the original. A
//! slow reader first tries by itself, where the original always makes the call. Fast readers check their copy, at the
//! cost of one buffer more.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{Memory, fence, spin_loop};

use super::helping_slot::{Bits, HelpingSlot, HelpingSlots};
pub use super::nbw_temporal::Reader as FastReader;
use super::peterson::{bytes_over, parts};
use super::ring::{Ring, Turn};
use super::sample;
pub use super::{ReaderOvertaken, Sample};
use crate::places::uninit;
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0    latest: number of the newest write << 8 | its buffer; 0 before the first (the writer's)
// byte 128  buffers, each on cache lines of its own
// then      of each slow reader, a line: asked, one bit (the reader's)
// then      of each slow reader, whole lines: its copy, and behind it answered: number of the write << 1 | bit (the
//           writer's)
// ```
//
// A slow reader asks by making its bit differ from the bit of the answer. It asks only while the two are equal.
//
// # Invariants
//
// - I1 The numbers in `latest` grow by one from write to write; while it has number j, only the buffer of write j + 1
//   is written.
// - I2 Those of the helping slots (`helping_slot`); the writer makes the bits equal after `latest` has the number with
//   which it answers.

/// Bytes that an object for `T` needs; `None` unless there are 1 to 250 slow readers and 2 to 256 buffers and the
/// size fits in `usize`.
pub const fn bytes<T: Plain>(slow: u32, buffers: u32) -> Option<usize> {
    bytes_over::<T>(slow, buffers)
}

/// The ends of an object: the writer, the slow readers, and one fast reader, which the caller may clone.
pub type Group<'m, T> = (Writer<'m, T>, SlowReaders<'m, T>, FastReader<'m, T>);

/// All ends on one memory: 1 to 250 slow readers, a fast reader (clone it for more), 2 to 256 buffers.
/// [`nbw_temporal::buffers`](super::nbw_temporal::buffers) gives the number of buffers that the fast readers need;
/// the guarantee for slow readers' second attempts needs at least 3.
///
/// # Errors
///
/// [`LayoutError::Buffers`], [`LayoutError::Readers`], [`LayoutError::TooSmall`].
///
/// ```
/// use taut_share::{Line, Memory, state::emeralds};
///
/// let mut lines = [const { Line::new() }; 6];
/// let (mut writer, mut slow, mut fast) = emeralds::group::<u64>(Memory::new(&mut lines), 1, 4)?;
/// let mut slow = slow.next().expect("there is one");
/// writer.write(&7);
/// assert_eq!(fast.read().map(|sample| sample.map(|sample| sample.value)), Ok(Some(7)));
/// assert_eq!(slow.read_bounded(2).map(|sample| sample.map(|sample| sample.value)), Ok(Some(7)));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
pub fn group<T: Plain>(memory: Memory<'_>, slow: u32, buffers: u32) -> Result<Group<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, slow, buffers)?;
    Ok((Writer::attach(ring, slots), SlowReaders { ring, slots, next: 0 }, FastReader::attach(ring)))
}

/// The writer's end alone. After the death of a writer, at any step, this call makes its successor.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of slow readers and of buffers, or zeros. No other writer of it
/// is alive: the last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    buffers: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, slow, buffers)?;
    Ok(Writer::attach(ring, slots))
}

/// The end of slow reader `which`, from 0, alone. After the death of that reader, this call makes its successor.
///
/// # Errors
///
/// As [`group`]; [`LayoutError::Readers`] also if there is no such reader.
///
/// # Safety
///
/// The memory holds this object for this `T`, number of slow readers and of buffers, or zeros. No other slow reader
/// of this number is alive: the last one has ended, and its end happens before this call.
pub unsafe fn slow_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    buffers: u32,
    which: u32,
) -> Result<SlowReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, slow, buffers)?;
    Ok(SlowReader::attach(ring, slots.get(which).ok_or(LayoutError::Readers)?))
}

/// A fast reader's end alone; there may be any number. It only reads the buffers and needs no write access: the
/// memory may be mapped read-only.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of slow readers and of buffers, or zeros.
pub unsafe fn fast_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    buffers: u32,
) -> Result<FastReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, _) = parts(&memory, slow, buffers)?;
    Ok(FastReader::attach(ring))
}

// A hostile reader can make the writer copy once for each of its own attempts, which is in the bound, and spoil all
// values for the others; the writer names buffers and answers by numbers that are private to it. A hostile writer can
// make a reader return any bits or `ReaderOvertaken`: the number of a buffer is bounded, and the steps are the same.

/// The end that writes. Real-time.
pub struct Writer<'m, T> {
    ring: Ring<'m, T>,
    slots: HelpingSlots<'m, T>,
    next: Turn,
    answered: Bits,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(ring: Ring<'m, T>, slots: HelpingSlots<'m, T>) -> Self {
        let next = ring.next();
        Self { ring, next, answered: Bits::answered(&slots), slots }
    }

    /// Makes `value` the newest, and leaves a copy for each slow reader that was overtaken and has asked. Wait-free.
    #[inline]
    pub fn write(&mut self, value: &T) {
        // In EMERALDS a slow reader makes a system call, which copies with interrupts disabled. This guarantees that
        // no write comes between the begin and the end of the copy. No thread in user space has that guarantee by
        // itself, but two threads could stand in for it. A copier with a priority above the writer's, on the writer's
        // core, is exclusive only while the priorities hold: it fails on a second core, and after the first change of
        // a priority. The *writer* is exclusive by construction: between two of its writes there is no write. So the
        // writer copies for the readers that ask, at the end of its next write. This needs no third thread, because
        // only writes overtake a slow reader: while there are no writes, the reader's own attempts succeed.
        fence(Release); // O2 reuse: the number before this one, before the words.
        self.ring.store(self.next, value);
        self.ring.latest.store(self.next.word, Release); // O1 publish: the words before their number.
        self.slots.answer(&mut self.answered, self.next.version(), value);
        self.next = self.ring.after(self.next);
    }
}

/// The slow readers; the iterator yields each once.
pub struct SlowReaders<'m, T> {
    ring: Ring<'m, T>,
    slots: HelpingSlots<'m, T>,
    next: u32,
}

impl<'m, T: Plain> Iterator for SlowReaders<'m, T> {
    type Item = SlowReader<'m, T>;

    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.slots.get(self.next)?;
        self.next += 1;
        Some(SlowReader::attach(self.ring, slot))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.slots.count() - self.next) as usize;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for SlowReaders<'_, T> {}

impl<T: Plain> FusedIterator for SlowReaders<'_, T> {}

/// An end that reads, for readers that may be overtaken.
///
/// Neither the writer nor a slow reader may be copied, nor shared between threads:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::emeralds};
/// # let mut lines = [const { Line::new() }; 6];
/// let (writer, mut slow, fast) = emeralds::group::<u64>(Memory::new(&mut lines), 1, 4).unwrap();
/// let fast_readers_may_be_many = fast.clone();
/// let second = slow.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::emeralds};
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 6];
/// let (writer, mut slow, fast) = emeralds::group::<u64>(Memory::new(&mut lines), 1, 4).unwrap();
/// shared(&slow.next().unwrap());
/// ```
pub struct SlowReader<'m, T> {
    ring: Ring<'m, T>,
    slot: HelpingSlot<'m, T>,
    /// Our bit.
    asked: u64,
    /// The number of the value that this reader returned last.
    seen: u64,
}

impl<'m, T: Plain> SlowReader<'m, T> {
    fn attach(ring: Ring<'m, T>, slot: HelpingSlot<'m, T>) -> Self {
        Self { ring, asked: slot.last_asked(), slot, seen: 0 }
    }

    /// The newest value; `None` before the first write. Two attempts: [Progress](self#progress) says when two are
    /// always enough.
    ///
    /// # Errors
    ///
    /// [`ReaderOvertaken`]: more than `buffers` - 2 writes ended during each attempt, and the writer has not answered
    /// yet.
    #[inline]
    pub fn read(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        self.read_bounded(2)
    }

    /// The newest value, in up to `attempts` attempts (0 counts as 1) with a pause between attempts; `None` before
    /// the first write.
    ///
    /// # Errors
    ///
    /// As [`SlowReader::read`].
    #[inline]
    pub fn read_bounded(&mut self, attempts: u32) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        // SAFETY: `newest` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| self.newest(value, attempts)) }
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load. Two
    /// attempts, as [`SlowReader::read`].
    ///
    /// # Errors
    ///
    /// As [`SlowReader::read`].
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        // SAFETY: `newer` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| self.newer(value)) }
    }

    /// [`SlowReader::read`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`SlowReader::read`]; `value` may then hold anything.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        self.newest(uninit(value), 2)
    }

    /// [`SlowReader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it
    /// returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`SlowReader::read`]; `value` may then hold anything.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        self.newer(uninit(value))
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        // Relaxed: no read relies on it.
        self.ring.turn(self.ring.latest.load(Relaxed)).version()
    }

    #[inline(always)]
    fn newest(&mut self, value: &mut MaybeUninit<T>, attempts: u32) -> Result<Option<u64>, ReaderOvertaken> {
        let latest = self.ring.latest.load(Acquire); // O1 publish
        if latest == 0 { Ok(None) } else { self.copy(latest, value, attempts).map(Some) }
    }

    #[inline(always)]
    fn newer(&mut self, value: &mut MaybeUninit<T>) -> Result<Option<u64>, ReaderOvertaken> {
        let latest = self.ring.latest.load(Acquire); // O1 publish
        if self.ring.turn(latest).version() == self.seen {
            return Ok(None);
        }
        self.copy(latest, value, 2).map(Some)
    }

    /// Copies the value of one write, `latest` or a newer one; returns the number of that write.
    #[inline(always)]
    fn copy(
        &mut self,
        latest: u64,
        value: &mut MaybeUninit<T>,
        attempts: u32,
    ) -> Result<u64, ReaderOvertaken> {
        self.seen = match self.attempt(latest, value) {
            Some(version) => version,
            None => self.insist(latest, value, attempts)?,
        };
        Ok(self.seen)
    }

    /// Copies the value of `latest`; returns its number, or `None` if a write overtook the copy.
    #[inline(always)]
    fn attempt(&mut self, latest: u64, value: &mut MaybeUninit<T>) -> Option<u64> {
        // Proof: *A value out of a buffer*: the proof of [`super::nbw_temporal`].
        let turn = self.ring.turn(latest);
        self.ring.load(turn, value);
        fence(Acquire); // O2 reuse: the words before the second look at the number.
        if self.ring.overtaken(turn, self.ring.latest.load(Relaxed)) {
            return None;
        }
        Some(turn.version())
    }

    /// After a write overtook the attempt at `first`: asks the writer, and makes the remaining attempts.
    #[cold]
    fn insist(
        &mut self,
        first: u64,
        value: &mut MaybeUninit<T>,
        attempts: u32,
    ) -> Result<u64, ReaderOvertaken> {
        // With 3 buffers or more, *the second attempt succeeds* wherever the other threads see a store within the time
        // of one write. This always holds on one core, since a thread switch is a full fence. Then slow reads are
        // wait-free too: if the second attempt were overtaken, two writes would have ended during it, and the first of
        // them would have answered. Between cores the language gives no time within which other threads see a store,
        // so the second attempt may fail. It may also fail with 2 buffers, because the write that overtakes may not
        // have reached its answers. In no case does a reader wait for a writer that does not write, because it is dead
        // or has no new value.
        let begun = self.ring.turn(first).version();
        let mut left = attempts;
        loop {
            if let Some(version) = self.answer(begun, value) {
                return Ok(version);
            }
            if left <= 1 {
                return Err(ReaderOvertaken);
            }
            left -= 1;
            spin_loop();
            let latest = self.ring.latest.load(Acquire); // O1 publish
            if let Some(version) = self.attempt(latest, value) {
                return Ok(version);
            }
        }
    }

    /// Takes the writer's answer if it is for a read that began when the newest number was `begun`, or for a later
    /// one; otherwise asks the writer, unless this reader has already asked.
    fn answer(&mut self, begun: u64, value: &mut MaybeUninit<T>) -> Option<u64> {
        // Proof: *A value out of the copy*: the bits are equal, so the copy is whole (`HelpingSlot::take`). The reader
        // accepts the copy only if its number is at least that of `latest` at the first attempt of this read. So the
        // value is not older than the newest value at that time, and as it was published before it was copied (I2), it
        // has been the newest since. An answer that comes after its read has ended stays in the copy, and its number
        // shows the next read that it is old; without that comparison a read returns a stale value
        // (`tests/temporal/printed.rs`).
        let answered = self.slot.answered();
        if answered & 1 != self.asked {
            return None;
        }
        let version = answered >> 1;
        if version >= begun {
            // SAFETY: the answer has our bit, and we have not asked since.
            unsafe { self.slot.take(value) };
            return Some(version);
        }
        self.asked ^= 1;
        self.slot.ask(self.asked);
        None
    }
}

crate::ends::ends! {
    write Writer;
    read SlowReader: ReaderOvertaken = read read_into read_if_newer;
}

// # Checked
//
// - `tests/temporal/behaviour.rs`: values, numbers, layout, successors, lies; also Miri
// - `tests/temporal/steps.rs`: the bounds above, counted, also of reads that are overtaken
// - `tests/temporal/printed.rs`: an old answer; reads that are overtaken once, and each time
// - the programs over all protocols, with its slow readers: `conformance`, `stress`, `loom`, `shuttle`, `steps`,
//   `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/temporal/loom.rs`, payload of 2 words, 2 buffers: 3 writes × 1 read of 3 attempts without preemption bound:
// 3 269 executions, in some of which the writer answers; with bound 3, 4 × 2 of 2 attempts: 7 790; 3 × 2 of one
// attempt, starting with an answer present: 9 490; `read_if_newer`, 2 × 2: 73. Leaving out any of the ten orderings,
// those of the helping slots included, or weakening it by one step, fails there.
//
// Not covered: all interleavings of more than 3 writes, so the proof above argues that two attempts suffice, and no
// test enumerates it; load buffering (the Release of O3 forbids what it could do to a copy); AArch64 hardware.
