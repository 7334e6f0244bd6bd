// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Presence: newest value; one writer, many readers, all real-time.
//!
//! # Use
//! State that several real-time threads read: a pose, a clock, a mode. No thread waits, no thread must retry, every
//! reader gets the newest whole value, and a reader keeps the value that it looks at for as long as it likes, also in
//! place. An unchanged value costs a reader one load. For one reader and a writer that may get `Busy`, see
//! [`super::sdrtr`]. For readers that are not real-time and may get `Retry`, see [`super::sdrtw`]. If every value
//! must arrive, see [`crate::queue`].
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`reader`] ensure it).
//!
//! |                       | write, `write_with` | reads of reader i | reads of reader j |
//! |-----------------------|---------------------|-------------------|-------------------|
//! | write, `write_with`   | X                   | -                 | -                 |
//! | reads of reader i     | -                   | X                 | -                 |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words; P readers. All sides are wait-free, and no operation is refused.
//!
//! | operation            | bound                                                                                   |
//! |----------------------|-----------------------------------------------------------------------------------------|
//! | `write`              | W words + 1 store + 1 exchange if no reader entered the previous value; otherwise 1 exchange more, a store for each reader that entered it, and 1 of both for each that enters meanwhile: at most P + 1 of both. No load |
//! | `write_with`         | the same                                                                                |
//! | `read`, `read_with`  | 1 load + W words if this reader already has the value; otherwise 1 exchange more; without the words if nothing was written |
//! | `read_sample`        | `read` + 1 load                                                                         |
//! | `read_if_newer`      | 1 load when there is nothing newer; else `read_sample`                                  |
//!
//! The exchanges of one write after the first find the line in the writer's cache, unless another reader came in
//! between. On AArch64 without LSE the processor runs an exchange as a loop; build with `+lse` to get the bound.
//!
//! # Orderings
//! - O1 publish: Release of the writer's exchange ↔ Acquire of the reader's exchange that sets its bit.
//! - O2 move: Release of the reader's exchange that sets its bit ↔ Acquire of the writer's exchange that finds it
//!   set, and of a new writer's first load.
//!
//! # Crash
//! | death of                         | what the others see   | recovery                                              |
//! |----------------------------------|-----------------------|-------------------------------------------------------|
//! | writer, before it has published  | the value before      | a new [`writer`] takes a free slot and the same number |
//! | writer, after it                 | the new value         | a new [`writer`] continues after it                   |
//! | reader, anywhere                 | nothing               | its slot stays reserved; a new [`reader`] of that number begins in it |
//!
//! At every moment `cur` or `at` records what a reader holds, without a gap, and each new end reads all that it knows
//! from these two. However many readers and writers die, P + 2 slots are enough, and nothing needs repair.
//!
//! # Source
//! Readers' bits beside the slot, and the writer's record of where it saw them, are from the readers field of
//! [Larsson 2009], whose size is bounded by the bits of a word; [Ianni 2017] counts readers instead, for more of
//! them. We differ: a reader whose bit is set leaves it and uses its slot again, so that an unchanged value costs a
//! transfer of a line only if another reader came meanwhile; the reader adds its bit instead of or-ing it, which on
//! x86-64 is one instruction; the writer records bits before it clears them, by a compare-exchange where they use an
//! exchange, which closes the gap in which a writer's death loses them. This protocol does for many readers what the
//! double buffer of [Huang 2002] does, in half of the memory: see [`super::double_buffer`].

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, StridedWords};

pub use super::Sample;
use super::whole_sample;
use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

/// The maximum number of readers of an object: their bits and a slot's number fill a word.
pub const READERS_MAX: u32 = 58;

// # State
//
// ```text
// byte 0    cur: bit i: reader i is in the newest slot | bits 58 ..= 63: that slot, 1 ..= P + 2, or 0: nothing written
// byte 8    number of the write that is in slot s, for s = 1 ..= P + 2        (the writer's)
// then, on a line of its own,
//           at: for each reader the slot in which the writer last found it, or 0  (the writer's)
// then      P + 2 slots, each on cache lines of its own
// ```
//
// # Invariants
//
// - I1 A reader is in at most one slot: in the newest if its bit is set; otherwise in that of its `at`, which it keeps
//   until it sets its bit.
// - I2 The writer changes the newest slot only once every bit that the change clears is recorded in `at`.
// - I3 The writer writes a slot that is neither the newest nor in any `at`. There are P + 2 slots, so there is one.
// - I4 A slot's number and value change only while no reader is in it, and it is not the newest.

const SLOT_SHIFT: u32 = READERS_MAX;

const fn slots(readers: u32) -> usize {
    readers as usize + 2
}

const fn at_offset(readers: u32) -> usize {
    line_bytes(8 + 8 * slots(readers))
}

const fn slots_offset(readers: u32) -> usize {
    at_offset(readers) + line_bytes(8 * readers as usize)
}

const fn stride<T>() -> usize {
    word_bytes::<T>().next_multiple_of(64)
}

/// Bytes that an object for `T` with `readers` readers needs (more than [`READERS_MAX`] count as [`READERS_MAX`]).
pub const fn bytes<T: Plain>(readers: u32) -> usize {
    let readers = if readers > READERS_MAX { READERS_MAX } else { readers };
    line_bytes(stride::<T>().saturating_mul(slots(readers))).saturating_add(slots_offset(readers))
}

fn check<T: Plain>(memory: &Claimed<'_>, readers: u32) -> Result<(), LayoutError> {
    if readers == 0 || readers > READERS_MAX {
        return Err(LayoutError::Readers);
    }
    fit(memory, bytes::<T>(readers))
}

/// The writer and all readers on one memory.
///
/// ```
/// use taut_share::{Line, Memory, state::presence};
///
/// let mut lines = [const { Line::new() }; 6];
/// let (mut writer, mut readers) = presence::group::<[u32; 4]>(Memory::new(&mut lines), 2)?;
/// let (mut first, mut second) = (readers.next().expect("two"), readers.next().expect("two"));
/// assert_eq!(first.read(), None);
/// writer.write(&[1, 2, 3, 4]);
/// assert_eq!(first.read(), Some([1, 2, 3, 4]));
/// assert_eq!(second.read_with(|value| value[3]), Some(4));
/// assert_eq!(first.read_if_newer(), None, "it was returned already");
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError`]: too small, no readers, or more than [`READERS_MAX`].
pub fn group<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
) -> Result<(Writer<'_, T>, Readers<'_, T>), LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers)?;
    let object = Object::new(&memory, readers);
    Ok((Writer::attach(object), Readers { object, next: 0 }))
}

/// The writer's end alone, for readers that are in other processes or that [`reader`] makes. After the death of a
/// writer, at any step, this call makes its successor.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T` and number of readers, or zeros. No other writer of it is alive: the
/// last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>, readers: u32) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers)?;
    Ok(Writer::attach(Object::new(&memory, readers)))
}

/// The end of reader `which`, from 0, alone. After the death of that reader, at any step, this call makes its
/// successor.
///
/// # Errors
///
/// [`LayoutError`], as [`group`], or [`LayoutError::Readers`] if there is no reader `which`.
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
    check::<T>(&memory, readers)?;
    if which >= readers {
        return Err(LayoutError::Readers);
    }
    Ok(Reader::attach(Object::new(&memory, readers), which))
}

/// The parts of the object in the memory.
struct Object<'m, T> {
    cur: &'m AtomicU64,
    numbers: StridedWords<'m>,
    at: StridedWords<'m>,
    values: Places<'m, T>,
    readers: u32,
}

impl<T> Clone for Object<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Object<'_, T> {}

impl<'m, T: Plain> Object<'m, T> {
    fn new(memory: &Claimed<'m>, readers: u32) -> Self {
        Self {
            cur: memory.word(0),
            numbers: memory.words(8, 8, slots(readers)),
            at: memory.words(at_offset(readers), 8, readers as usize),
            values: Places::new(memory, slots_offset(readers), stride::<T>(), slots(readers)),
            readers,
        }
    }

    /// The slot number in a word of shared memory; 0, for no slot, also if the number is out of range.
    #[inline(always)]
    fn slot(&self, word: u64) -> usize {
        // A hostile process can make a reader return any bits, and make the writer use P + 2 exchanges (the last one
        // succeeds whatever the word is). The writer names its slots by private words, and a reader bounds the slot
        // numbers that it reads.
        let slot = (word >> SLOT_SHIFT) as usize;
        if slot <= slots(self.readers) { slot } else { 0 }
    }

    /// The number of the write whose value is in `slot`.
    #[inline(always)]
    fn number(&self, slot: usize) -> u64 {
        // Relaxed: the writer stored it before the publish, and every reader in the slot synchronises with that
        // publish (O1).
        self.numbers.get(slot.wrapping_sub(1)).map_or(0, |number| number.load(Relaxed))
    }
}

/// The end that writes. Real-time.
pub struct Writer<'m, T> {
    object: Object<'m, T>,
    /// `cur` as last seen; `at` records all bits in it.
    known: u64,
    /// The newest slot, 0 before the first write.
    newest: usize,
    /// The number of the newest write.
    number: u64,
    /// A private copy of the shared `at`.
    at: [u8; READERS_MAX as usize],
    /// For each slot, how many readers have it as their `at`.
    taken: [u8; slots(READERS_MAX) + 1],
    /// Bit s: slot s is no reader's `at`.
    free: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(object: Object<'m, T>) -> Self {
        // O2 move: the readers that entered since the last writer's last load.
        let cur = object.cur.load(Acquire);
        let mut writer = Self {
            object,
            known: 0,
            newest: object.slot(cur),
            number: object.number(object.slot(cur)),
            at: [0; READERS_MAX as usize],
            taken: [0; slots(READERS_MAX) + 1],
            free: ((1 << slots(object.readers)) - 1) << 1,
        };
        for which in 0..object.readers as usize {
            let slot = object.at.get(which).map_or(0, |at| at.load(Relaxed));
            writer.take(which, if slot <= slots(object.readers) as u64 { slot as usize } else { 0 });
        }
        writer.note(cur);
        writer.known = cur;
        writer
    }

    /// Sets the private `at` of reader `which`.
    #[inline(always)]
    fn take(&mut self, which: usize, slot: usize) {
        let before = usize::from(self.at[which]);
        self.taken[before] = self.taken[before].saturating_sub(1);
        // Slot 0 is no slot: its bit of `free` has no meaning, and `choose` leaves it out.
        if self.taken[before] == 0 {
            self.free |= 1 << before;
        }
        self.at[which] = slot as u8;
        self.taken[slot] += 1;
        self.free &= !(1 << slot);
    }

    /// Records the readers of `new`, which the writer found in the newest slot.
    #[inline]
    fn note(&mut self, new: u64) {
        let mut new = new & ((1 << self.object.readers) - 1);
        while new != 0 {
            let which = new.trailing_zeros() as usize;
            new &= new - 1;
            self.take(which, self.newest);
            if let Some(at) = self.object.at.get(which) {
                // Relaxed: only a new writer loads it, and our end happens before that writer begins.
                at.store(self.newest as u64, Relaxed);
            }
        }
    }

    /// A slot that no reader is in, and that is not the newest (I3).
    #[inline(always)]
    fn choose(&self) -> usize {
        let free = self.free & !(1 << self.newest) & !1;
        // Never 0, because the P readers and the newest value take at most P + 1 of P + 2 slots.
        (free.trailing_zeros() as usize).min(slots(self.object.readers))
    }

    /// Makes `slot` the newest.
    #[inline(always)]
    fn publish(&mut self, slot: usize) {
        // Proof: All steps that matter are read-modify-writes of `cur`, so they happen one after the other. A reader
        // that finds its bit clear sets it, and that exchange returns the newest slot. If this comes before the next
        // publish, that publish fails until the bit is recorded in `at` (I2), and the writer leaves the slot alone
        // (I3) as long as this `at` stays. It stays until the writer sees a later bit of the same reader; by then the
        // reader has moved on, and all its loads of the old slot come before (O2). A reader that finds its bit set is
        // still in the newest slot, with the value that it synchronised with (O1): it may use it again. Each publish
        // that fails has found one more bit, and a reader sets its bit once between two publishes, so P + 1 attempts
        // are enough. A read takes effect at its last access of `cur`, a write at its publish: the object is atomic.
        self.number = self.number.wrapping_add(1);
        if let Some(number) = self.object.numbers.get(slot - 1) {
            number.store(self.number, Relaxed);
        }
        let new = (slot as u64) << SLOT_SHIFT;
        let mut left = self.object.readers;
        // A reader that has entered stays until the exchange: if another process clears its bit, we do not record it
        // again.
        let mut noted = self.known;
        // O1 publish (Release): the slot's content. O2 move (Acquire): on failure, the readers found.
        while let Err(found) = self.object.cur.compare_exchange(self.known, new, Release, Acquire) {
            self.note(found & !noted);
            noted |= found;
            self.known = found;
            if left == 0 {
                // Each failure has found one more reader, and there are no more: so another process writes this word
                // wrongly.
                let found = self.object.cur.swap(new, AcqRel); // O1 publish, O2 move
                self.note(found & !noted);
                break;
            }
            left -= 1;
        }
        (self.known, self.newest) = (new, slot);
    }

    /// Makes `value` the newest. Wait-free: one copy, no load, at most P + 2 exchanges.
    #[inline]
    pub fn write(&mut self, value: &T) {
        let slot = self.choose();
        // SAFETY:
        // - slot is 1 ..= P + 2 (`choose`), and a T fits (layout); T is Plain: no padding, aligned to at most 8;
        // - exclusive: no reader is in it nor can enter it (I3), and every reader that was in it has moved on (O2).
        unsafe { self.object.values.write(slot - 1, value) };
        self.publish(slot);
    }

    /// Lets `fill` make the newest value in place, without a copy. `fill` gets an older value, or zeros, and may
    /// change all of it. A panic in `fill` publishes nothing.
    #[inline]
    pub fn write_with<R>(&mut self, fill: impl FnOnce(&mut T) -> R) -> R {
        let slot = self.choose();
        // SAFETY: as in `write`, while `fill` runs; for other processes see `Memory::from_raw`.
        let result = unsafe { self.object.values.lend_mut(slot - 1, fill) };
        self.publish(slot);
        result
    }
}

/// An end that reads. Real-time.
///
/// The ends cannot be copied, nor shared between threads; they can only move from thread to thread:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::presence};
/// let mut lines = [const { Line::new() }; 6];
/// let (writer, mut readers) = presence::group::<u64>(Memory::new(&mut lines), 2).unwrap();
/// let second = readers.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::presence};
/// fn shared<T: Sync>(_: &T) {}
/// let mut lines = [const { Line::new() }; 6];
/// let (writer, mut readers) = presence::group::<u64>(Memory::new(&mut lines), 2).unwrap();
/// shared(&readers.next().unwrap());
/// ```
pub struct Reader<'m, T> {
    object: Object<'m, T>,
    bit: u64,
    /// The slot that the reader is in (I1), 0 before it is in one.
    slot: usize,
    /// Whether this reader has not yet returned the value of its slot.
    new: bool,
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(object: Object<'m, T>, which: u32) -> Self {
        let bit = 1 << which;
        // Relaxed: if the bit is set, the last reader of this number has set it, with the Acquire of O1; its end
        // happens before this call.
        let cur = object.cur.load(Relaxed);
        let slot = if cur & bit == 0 { 0 } else { object.slot(cur) };
        Self { object, bit, slot, new: slot > 0 }
    }

    /// Enters the newest slot, unless the reader is in it; returns whether it is in a slot.
    #[inline(always)]
    fn enter(&mut self) -> bool {
        // Relaxed: if the bit is set, we set it.
        if self.object.cur.load(Relaxed) & self.bit == 0 {
            // O1 publish (Acquire): the content of the slot that the result names. O2 move (Release): our loads of
            // the previous slot.
            let cur = self.object.cur.fetch_add(self.bit, AcqRel);
            self.slot = self.object.slot(cur);
            self.new = true;
        }
        self.slot > 0
    }

    /// The newest value; `None` before the first one. Wait-free: 1 load, one copy, and 1 exchange if the value is not
    /// the one of the last read.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        // SAFETY: `copy` fills the used bytes of a value. The number 0 is not used: the real one would cost one load
        // more.
        unsafe { whole_sample(|value| self.enter().then(|| self.copy(value)).map(|()| 0)) }
            .map(|sample| sample.value)
    }

    /// The newest value with its number; `None` before the first one.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| self.enter().then(|| self.copy_numbered(value))) }
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| (self.enter() && self.new).then(|| self.copy_numbered(value))) }
    }

    /// [`Reader::read`] into `value`, without a further move; returns the number of the write. If it returns `None`,
    /// `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        self.enter().then(|| self.copy_numbered(uninit(value)))
    }

    /// [`Reader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        (self.enter() && self.new).then(|| self.copy_numbered(uninit(value)))
    }

    /// Shows `look` the newest value where it lies; `None` before the first one. `look` may take any time: the writer
    /// has other slots.
    #[inline]
    pub fn read_with<R>(&mut self, look: impl FnOnce(&T) -> R) -> Option<R> {
        if !self.enter() {
            return None;
        }
        self.new = false;
        // SAFETY: as in `copy`, while `look` runs; for other processes see `Memory::from_raw`.
        Some(unsafe { self.object.values.lend(self.slot - 1, look) })
    }

    /// Copies the value of the reader's slot; returns its number, for one load more.
    #[inline(always)]
    fn copy_numbered(&mut self, value: &mut MaybeUninit<T>) -> u64 {
        self.copy(value);
        self.object.number(self.slot)
    }

    /// Copies the value of the reader's slot.
    #[inline(always)]
    fn copy(&mut self, value: &mut MaybeUninit<T>) {
        self.new = false;
        // SAFETY:
        // - slot is 1 ..= P + 2 (`enter` returned true), and a T fits (layout);
        // - T is Plain: every bit pattern is a value, and it is aligned to at most 8;
        // - exclusive against our writer: we are in the slot (I1), so the writer leaves it alone (I3), and its
        //   content is visible (O1). A hostile process is outside this program: its bits are a T like any others.
        unsafe { self.object.values.read_into(self.slot - 1, value) };
    }
}

/// The readers of an object; the iterator yields each once, from number 0 on.
pub struct Readers<'m, T> {
    object: Object<'m, T>,
    next: u32,
}

impl<'m, T: Plain> Iterator for Readers<'m, T> {
    type Item = Reader<'m, T>;

    fn next(&mut self) -> Option<Reader<'m, T>> {
        let which = self.next;
        (which < self.object.readers).then(|| {
            self.next += 1;
            Reader::attach(self.object, which)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.object.readers - self.next) as usize;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for Readers<'_, T> {}
impl<T: Plain> FusedIterator for Readers<'_, T> {}
const _: () = assert!(at_offset(READERS_MAX).is_multiple_of(LINE_BYTES) && slots(READERS_MAX) < 64);

crate::ends::ends! {
    write Writer;
    read Reader;
}

// # Checked
//
// - `tests/buffers/behaviour.rs`: values, errors, successors, in place; also Miri
// - `tests/buffers/steps.rs`: the bounds above, counted
// - `tests/buffers/printed.rs`: one slot fewer is too few
// - the programs over all protocols: `conformance`, `stress`, `loom`, `shuttle`, `steps`, `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/buffers/loom.rs`, payload of 2 words: 4 writes × 3 reads without preemption bound: 1 969 executions; 2
// readers, 2 writes, with bound 4: 13 218. Weakening any of the four annotations fails there.
//
// Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Release of O2 forbids
// what it could do to the copy); AArch64 hardware.
