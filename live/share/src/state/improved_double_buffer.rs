// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Improved Double Buffer: newest value; one writer; readers of known speed that leave no trace, and slow ones.
//!
//! # Use
//!
//! Where most readers are fast against the writer's period, by analysis: a fast reader costs no memory of its own and
//! the writer no look, there may be any number, and it needs no number. If the analysis was wrong it is told
//! [`Overrun`], and no torn value ever. Slow readers (loggers, displays, remote ends) are protected for as long as they
//! look. All readers unknown: [`super::presence`]. Must every value arrive: [`crate::queue`].
//!
//! ```
//! use taut_share::{Line, Memory, state::improved_double_buffer};
//!
//! let mut lines = [const { Line::new() }; 8];
//! // One slow reader; at most 3 writes overlap a fast read.
//! let (mut writer, mut slow, mut fast) = improved_double_buffer::group::<u64>(Memory::new(&mut lines), 1, 3)?;
//! let mut slow = slow.next().expect("one");
//! assert_eq!(fast.read(), Ok(None));
//! writer.write(&7);
//! assert_eq!((fast.clone().read(), slow.read()), (Ok(Some(7)), Some(7)));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! The writer and a slow reader cannot be copied, and no end is shared between threads, only moved to one:
//!
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::improved_double_buffer};
//! let mut lines = [const { Line::new() }; 8];
//! let (writer, mut slow, fast) = improved_double_buffer::group::<u64>(Memory::new(&mut lines), 1, 3).unwrap();
//! let second = slow.next().unwrap().clone();
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::improved_double_buffer};
//! fn shared<T: Sync>(_: &T) {}
//! let mut lines = [const { Line::new() }; 8];
//! let (writer, slow, fast) = improved_double_buffer::group::<u64>(Memory::new(&mut lines), 1, 3).unwrap();
//! shared(&fast);
//! ```
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`slow_reader`] see to it).
//!
//! |                       | write | reads of slow reader i | of slow reader j | fast reads |
//! |-----------------------|-------|------------------------|------------------|------------|
//! | write                 | X     | -                      | -                | -          |
//! | reads of slow reader i | -    | X                      | -                | -          |
//! | fast reads            | -     | -                      | -                | -          |
//!
//! # Progress
//!
//! W = ⌈size of a value / 8⌉ words; M slow readers. All sides are wait-free; the writer and slow readers are never
//! refused.
//!
//! | operation                | bound                                                                               |
//! |--------------------------|-------------------------------------------------------------------------------------|
//! | `write`                  | 2 fences (1 if there are no slow readers) + M loads + W words + 3 stores            |
//! | slow `read`              | 1 load + W words while the newest value is in the row where the reader stands; else 4 loads + 2 stores + 2 fences + W words, + 1 load if a write was going on there; 1 load when nothing was written |
//! | fast `read`              | 2 loads + W words + 2 fences (free on x86-64); 1 load when nothing was written      |
//! | `read_if_newer` of both  | 1 load when there is nothing newer; else `read`                                     |
//! | `version` of both        | 1 load                                                                              |
//!
//! # State
//!
//! H = max(1, ⌈(V + 1) / 2⌉) = ⌊V / 2⌋ + 1 for up to V writes that overlap a fast read; M + H rows of two slots.
//!
//! ```text
//! byte 0    latest: 256 × number of the newest write + 2 × its row + its column      (the writer's)
//! byte 8    cl, for each row: 256 × number + column of the write that was last in it (the writer's)
//! then, each on a line of its own,
//!           stand: for each slow reader, bit r: it stands in row r; 0: nowhere       (the reader's)
//! then      the slots, row by row, each on cache lines of its own: number of the write that began there last, value
//! ```
//!
//! # Invariants
//!
//! - I1 to I3 as in [`super::double_buffer`], with slow readers for readers.
//! - I4 A slot's number is that of its value, or newer while it is written and, after a writer's death, unpublished.
//! - I5 A slot is written again by the 2 H-th write after, or later.
//!
//! # Orderings
//!
//! - O1 publish: Release of the latest store ↔ Acquire of the load of latest after which a slow reader copies, and an
//!   Acquire fence behind that of a fast one.
//! - O2 leave: Release of the stand store by which a slow reader leaves ↔ Acquire of the writer's load of stand.
//! - O3 look: SeqCst fence between a publish and the writer's next look ↔ SeqCst fence between a slow reader's stand
//!   store and its loads of cl and latest.
//! - O4 begin: Release fence after the store of a slot's number ↔ Acquire fence before a fast reader's load of it.
//!
//! # Proof
//!
//! Slow reads: as in [`super::double_buffer`].
//!
//! Fast reads: let a reader load latest, which names a slot and number n. By O1 it sees every word of write n there, or
//! later ones. Had it seen a word of a later write, then by O4 its load of the slot's number would give that write's,
//! or a later one, and not n. So what is accepted is of write n, which was the newest at the load of latest.
//!
//! How late that can be (I5): from a write in row i until the next in row i, the writer's search goes once around, and
//! passes each of the other M + H - 1 rows: it writes it, or found a slow reader there. A reader is found in one row
//! at most. For let it be found in x, and at a later write in y. In between it had left x, and only then (fence of O3,
//! between its leaving and its next load of latest) asked for the newest row: the row of the write before it was found
//! in x, or a newer one. That is behind the search, and y ahead of it. So H - 1 rows at least are written, and two
//! times around, when the same column has its turn, are 2 H writes. Hence a fast read overlapped by at most
//! 2 H - 1 ≥ V writes is never told `Overrun`.
//!
//! # Crash
//!
//! | who dies, where                  | what the others see    | what goes on                                         |
//! |----------------------------------|------------------------|------------------------------------------------------|
//! | writer, before its cl store      | the value before       | a new [`writer`] begins that write anew              |
//! | writer, before its latest store  | the value before       | a new [`writer`] publishes the new one first of all  |
//! | writer, after it                 | the new value          | a new [`writer`] goes on behind it                   |
//! | slow reader, anywhere            | nothing                | a new [`slow_reader`] of that number stands where it stood |
//! | fast reader, anywhere            | nothing                | a fast reader leaves no trace                        |
//!
//! However many die, a slow reader's number takes one row, and nothing is to be repaired. A write that a dead writer
//! had begun counts as one more that overlaps.
//!
//! A hostile process can make a reader return any bits or say `Overrun`; slots are bounded, and the writer's are named
//! by private words. A fast reader works where the memory is mapped for reading alone.
//!
//! # Source
//!
//! [Huang 2002, Fig. 8] for 2 (M + max(1, ⌈N / 2⌉)) slots with N = V + 1. We differ: as in [`super::double_buffer`]; the
//! search begins at the row behind the newest, where the listing's loop steps once more before its first test, which
//! halves the distance of I5 (`tests/printed_buffers.rs` shows it); fast reads are checked; a slow reader leaves its row
//! before it asks for the newest, without which it can be found in two rows of one round.
//!
//! # Checked
//!
//! - `tests/behaviour_buffers.rs`: values, errors, successors, the distance of I5; also Miri
//! - `tests/steps_buffers.rs`: the bounds above, counted
//! - `tests/printed_buffers.rs`: the mistakes of the listing
//! - the programs over all protocols, with a reader of each kind: `conformance`, `stress`, `loom`, `shuttle`, `steps`,
//!   `processes`, `deaths`
//! - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//!
//! `tests/loom_buffers.rs`, payload of 2 words, 3 writes: a fast reader, V = 1, without preemption bound: 11 066
//! executions; V = 3, bound 3: 105; a slow one and a fast one, bound 2: 11 511; a slow one, 4 writes, bound 4: 19 305.
//! Each fence of O4 left out, the writer's fence of O3, and each end of O1 weakened or left out fails there.
//!
//! Not covered: two readers without a bound on preemptions, and more readers; load buffering; AArch64 hardware. The
//! thread sanitizer does not know fences, and every access here is atomic: it can say nothing.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, Words, fence};

pub use super::{Overrun, Sample};
use super::{believed, sample, whole_sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

/// Rows that an object can have, M + H: the bits of a word.
pub const ROWS_MAX: usize = 64;

/// Rows for `slow` readers and fast reads that up to `overlaps` writes overlap.
const fn rows(slow: u32, overlaps: u32) -> usize {
    // max(1, ⌈(V + 1) / 2⌉)
    (slow as usize).saturating_add(overlaps as usize / 2 + 1)
}

const fn stands_offset(rows: usize) -> usize {
    line_bytes(8 + 8 * rows)
}

const fn slots_offset(slow: u32, rows: usize) -> usize {
    stands_offset(rows) + LINE_BYTES * slow as usize
}

const fn stride<T>() -> usize {
    (8 + word_bytes::<T>()).next_multiple_of(64)
}

/// Bytes that an object for `T` needs with `slow` slow readers, and fast reads that up to `overlaps` writes overlap, one
/// that is going on when the read begins included. `None` if that takes more than [`ROWS_MAX`] rows, or is not a number.
pub const fn bytes<T: Plain>(slow: u32, overlaps: u32) -> Option<usize> {
    let rows = rows(slow, overlaps);
    if rows > ROWS_MAX {
        return None;
    }
    let Some(slots) = stride::<T>().checked_mul(2 * rows) else { return None };
    let Some(slots) = slots.checked_add(8) else { return None };
    let Some(slots) = slots.checked_next_multiple_of(LINE_BYTES) else { return None };
    slots.checked_add(slots_offset(slow, rows))
}

fn check<T: Plain>(memory: &Claimed<'_>, slow: u32, overlaps: u32) -> Result<(), LayoutError> {
    if slow as usize >= ROWS_MAX {
        return Err(LayoutError::Readers);
    }
    fit(memory, bytes::<T>(slow, overlaps).ok_or(LayoutError::Buffers)?)
}

/// The ends on one memory: the writer, the slow readers, and a fast one; clone the latter for more.
pub type Group<'m, T> = (Writer<'m, T>, SlowReaders<'m, T>, FastReader<'m, T>);

/// All ends on one memory, for `slow` slow readers (0 is fine), and fast reads that up to `overlaps` writes overlap.
///
/// # Errors
///
/// [`LayoutError`]: too small, or more than [`ROWS_MAX`] rows.
pub fn group<T: Plain>(memory: Memory<'_>, slow: u32, overlaps: u32) -> Result<Group<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, slow, overlaps)?;
    let object = Object::new(&memory, slow, overlaps);
    Ok((Writer::attach(object), SlowReaders { object, next: 0 }, FastReader::attach(object)))
}

/// The writer's end alone, where the readers are in other processes or made by [`slow_reader`] and [`fast_reader`].
/// After the death of a writer, at any step, the next one goes on here; a value that the dead one had complete is
/// published.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T` and these numbers, or zeros; no other writer of it lives: the
/// last one has ended, and this call comes after that.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, slow, overlaps)?;
    Ok(Writer::attach(Object::new(&memory, slow, overlaps)))
}

/// The end alone of slow reader `which`, from 0. After the death of a slow reader, at any step, the next one of its
/// number goes on here.
///
/// # Errors
///
/// [`LayoutError`], as [`group`], or [`LayoutError::Readers`] if there is no slow reader `which`.
///
/// # Safety
///
/// What stands on the memory is this object for this `T` and these numbers, or zeros; no other slow reader of this
/// number lives: the last one has ended, and this call comes after that.
pub unsafe fn slow_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
    which: u32,
) -> Result<SlowReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, slow, overlaps)?;
    let object = Object::new(&memory, slow, overlaps);
    let stand = object.stands.get(which as usize).ok_or(LayoutError::Readers)?;
    Ok(SlowReader::attach(object, stand))
}

/// A fast reader's end alone; there may be any number. It needs no write access: the memory may be mapped for reading.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T` and these numbers, or zeros.
pub unsafe fn fast_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
) -> Result<FastReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, slow, overlaps)?;
    Ok(FastReader::attach(Object::new(&memory, slow, overlaps)))
}

/// Where things are.
struct Object<'m, T> {
    latest: &'m AtomicU64,
    cl: Words<'m>,
    stands: Words<'m>,
    numbers: Words<'m>,
    values: Places<'m, T>,
    rows: usize,
    slow: usize,
}

impl<T> Clone for Object<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Object<'_, T> {}

impl<'m, T: Plain> Object<'m, T> {
    fn new(memory: &Claimed<'m>, slow: u32, overlaps: u32) -> Self {
        let rows = rows(slow, overlaps);
        let slots = slots_offset(slow, rows);
        Self {
            latest: memory.word(0),
            cl: memory.words(8, 8, rows),
            stands: memory.words(stands_offset(rows), LINE_BYTES, slow as usize),
            numbers: memory.words(slots, stride::<T>(), 2 * rows),
            values: Places::new(memory, slots + 8, stride::<T>(), 2 * rows),
            rows,
            slow: slow as usize,
        }
    }

    /// The newest write, where it is.
    #[inline(always)]
    fn latest(&self) -> u64 {
        self.latest.load(Acquire) // O1 publish
    }

    /// The number of the newest write.
    #[inline(always)]
    fn version(&self) -> u64 {
        // Relaxed: nothing is read on the strength of it.
        self.latest.load(Relaxed) >> 8
    }

    /// The row of `latest`, made one that is.
    #[inline(always)]
    fn row(&self, latest: u64) -> usize {
        let row = (latest >> 1 & 127) as usize;
        if row < self.rows { row } else { 0 }
    }

    #[inline(always)]
    fn cl(&self, row: usize) -> u64 {
        // Relaxed: the fences before it say what it can be; that the slot is there, the load of latest behind it.
        self.cl.get(row).map_or(0, |cl| cl.load(Relaxed))
    }

    /// The number of a slot.
    #[inline(always)]
    fn number(&self, slot: usize) -> u64 {
        // Relaxed: a slow reader has O1, a fast one O4.
        self.numbers.get(slot).map_or(0, |number| number.load(Relaxed))
    }

    /// # Safety
    ///
    /// `slot` is one that there is.
    #[inline(always)]
    unsafe fn load(&self, slot: usize, value: &mut MaybeUninit<T>) {
        // SAFETY: caller's, and a T fits (layout); slots are touched by `store` and `load_into` alone.
        unsafe { self.values.load_into(slot, value) };
    }
}

/// The end that writes. Real-time.
pub struct Writer<'m, T> {
    object: Object<'m, T>,
    /// The number of the newest write.
    number: u64,
    /// Its row.
    row: usize,
    /// Bit r: the column that `cl` of row r names.
    columns: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(object: Object<'m, T>) -> Self {
        // Relaxed, all: the last writer stored them, whose end comes before this call.
        let mut latest = believed(object.latest.load(Relaxed));
        let mut columns = 0;
        for row in 0..object.rows {
            let cl = believed(object.cl(row));
            columns |= (cl & 1) << row;
            if cl >> 8 > latest >> 8 {
                latest = cl | (row as u64) << 1;
            }
        }
        // What the last writer had not come to. Left so, our next write had the number of that one.
        object.latest.store(latest, Release); // O1 publish
        Self { object, number: latest >> 8, row: object.row(latest), columns }
    }

    /// The first row behind the newest where nobody stands (I1).
    #[inline(always)]
    fn choose(&self) -> usize {
        let mut taken = 0;
        if self.object.slow > 0 {
            fence(SeqCst); // O3 look: our last publish before the looking.
        }
        for which in 0..self.object.slow {
            if let Some(stand) = self.object.stands.get(which) {
                taken |= stand.load(Acquire); // O2 leave
            }
        }
        let all = u64::MAX >> (64 - self.object.rows);
        // Never 0, as M readers stand in M of M + H rows at most: but they may lie.
        let free = if !taken & all == 0 { all } else { !taken & all };
        let behind = free & (!1 << self.row);
        (if behind == 0 { free } else { behind }).trailing_zeros() as usize
    }

    /// Makes `value` the newest. Wait-free: a load for each slow reader, one copy, 3 stores, 2 fences.
    #[inline]
    pub fn write(&mut self, value: &T) {
        let row = self.choose();
        let column = usize::from(self.columns >> row & 1 == 0);
        let slot = 2 * row + column;
        self.number = self.number.wrapping_add(1);
        let cl = self.number << 8 | column as u64;
        if let Some(number) = self.object.numbers.get(slot) {
            number.store(self.number, Relaxed);
        }
        fence(Release); // O4 begin: the slot's number before the words.
        // SAFETY: row is below the rows, column 0 or 1, and a T fits (layout); T is Plain: no padding; slots are touched
        // by `store` and `load` alone.
        unsafe { self.object.values.store(slot, value) };
        if let Some(word) = self.object.cl.get(row) {
            // Relaxed: a reader that sees it and not the store below takes the other column.
            word.store(cl, Relaxed);
        }
        self.object.latest.store(cl | (row as u64) << 1, Release); // O1 publish
        self.columns ^= 1 << row;
        self.row = row;
    }
}

/// An end that reads, protected for as long as it takes. Real-time.
pub struct SlowReader<'m, T> {
    object: Object<'m, T>,
    stand: &'m AtomicU64,
    /// The row where it stands, since it looked; none before the first read.
    row: Option<usize>,
    /// The number of the value that was returned last.
    seen: u64,
}

impl<'m, T: Plain> SlowReader<'m, T> {
    fn attach(object: Object<'m, T>, stand: &'m AtomicU64) -> Self {
        Self { object, stand, row: None, seen: 0 }
    }

    /// Copies the value that `latest` leads to; its number.
    #[inline(always)]
    fn copy(&mut self, latest: u64, value: &mut MaybeUninit<T>) -> u64 {
        let row = self.object.row(latest);
        let (slot, version) = if self.row == Some(row) {
            (2 * row + (latest & 1) as usize, latest >> 8)
        } else {
            self.move_on()
        };
        self.seen = version;
        // SAFETY: the row is one that there is (`Object::row`), the column 0 or 1. What it copies is of one write: we
        // stand in the row, and if the writer is there it is in the other column (I2, I1).
        unsafe { self.object.load(slot, value) };
        version
    }

    #[inline]
    fn move_on(&mut self) -> (usize, u64) {
        self.stand.store(0, Release); // O2 leave: what we looked at before.
        fence(SeqCst); // O3 look: that we left, before we ask where to go (I5).
        let row = self.object.row(self.object.latest.load(Relaxed));
        self.row = Some(row);
        // Relaxed: nothing was looked at since we left.
        self.stand.store(1 << row, Relaxed);
        fence(SeqCst); // O3 look: where we stand, before the looking.
        let cl = self.object.cl(row);
        let latest = self.object.latest();
        let slot = 2 * row + (cl & 1) as usize;
        if cl >> 8 <= latest >> 8 {
            return (slot, cl >> 8);
        }
        // That write is not published. The one before in this row is.
        (slot ^ 1, self.object.number(slot ^ 1))
    }

    /// The newest value with its number; `None` before the first one. Wait-free: see the module's table.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        let latest = self.object.latest();
        // SAFETY: `copy` fills what a value uses.
        unsafe { whole_sample(|value| (latest != 0).then(|| self.copy(latest, value))) }
    }

    /// The newest value; `None` before the first one.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        self.read_sample().map(|sample| sample.value)
    }

    /// The newest value if it is another one than this reader returned last; else `None`, after one load.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let latest = self.object.latest();
        let is_newer = latest >> 8 != self.seen;
        // SAFETY: `copy` fills what a value uses.
        unsafe { whole_sample(|value| is_newer.then(|| self.copy(latest, value))) }
    }

    /// [`SlowReader::read`] into `value`, which is not moved again; the result is the number of the write. If it is `None`,
    /// `value` is as it was.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        let latest = self.object.latest();
        (latest != 0).then(|| self.copy(latest, uninit(value)))
    }

    /// [`SlowReader::read_if_newer`] into `value`, which is not moved again; the result is the number of the write. If it is
    /// `None`, `value` is as it was.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        let latest = self.object.latest();
        (latest >> 8 != self.seen).then(|| self.copy(latest, uninit(value)))
    }

    /// The number of the newest write, 0 before the first. By the time it is looked at it may be past.
    #[inline]
    pub fn version(&self) -> u64 {
        self.object.version()
    }
}

/// An end that reads and leaves no trace: safe by the speed of its read, and told if that was not enough. Real-time.
pub struct FastReader<'m, T> {
    object: Object<'m, T>,
    /// The number of the value that was returned last.
    seen: u64,
}

impl<T> Clone for FastReader<'_, T> {
    /// One more reader, which has seen what this one has.
    fn clone(&self) -> Self {
        Self { object: self.object, seen: self.seen }
    }
}

impl<'m, T: Plain> FastReader<'m, T> {
    fn attach(object: Object<'m, T>) -> Self {
        Self { object, seen: 0 }
    }

    /// Copies the value that `latest` names; its number.
    #[inline(always)]
    fn copy(&mut self, latest: u64, value: &mut MaybeUninit<T>) -> Result<u64, Overrun> {
        // A fence, and not the load: of memory that is mapped for reading only, the language allows relaxed loads
        // alone.
        fence(Acquire); // O1 publish
        let slot = 2 * self.object.row(latest) + (latest & 1) as usize;
        // SAFETY: the row is one that there is (`Object::row`), the column 0 or 1.
        unsafe { self.object.load(slot, value) };
        fence(Acquire); // O4 begin: the words before the look at the slot's number.
        let version = latest >> 8;
        // A latest store carries 56 bits of the number.
        if self.object.number(slot) << 8 >> 8 != version {
            return Err(Overrun);
        }
        self.seen = version;
        Ok(version)
    }

    /// The newest value with its number; `None` before the first one. Wait-free: 2 loads, one copy, 2 fences.
    ///
    /// # Errors
    ///
    /// [`Overrun`]: more writes overlapped the read than the object was made for. The next read may succeed.
    #[inline]
    pub fn read_sample(&mut self) -> Result<Option<Sample<T>>, Overrun> {
        let latest = self.object.latest.load(Relaxed);
        // SAFETY: `copy` fills what a value uses, if it gives a number.
        unsafe { sample(|value| (latest != 0).then(|| self.copy(latest, value)).transpose()) }
    }

    /// The newest value; `None` before the first one.
    ///
    /// # Errors
    ///
    /// As [`FastReader::read_sample`].
    #[inline]
    pub fn read(&mut self) -> Result<Option<T>, Overrun> {
        Ok(self.read_sample()?.map(|sample| sample.value))
    }

    /// The newest value if it is another one than this reader returned last; else `None`, after one load.
    ///
    /// # Errors
    ///
    /// As [`FastReader::read_sample`].
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, Overrun> {
        let latest = self.object.latest.load(Relaxed);
        let is_newer = latest >> 8 != self.seen;
        // SAFETY: `copy` fills what a value uses, if it gives a number.
        unsafe { sample(|value| is_newer.then(|| self.copy(latest, value)).transpose()) }
    }

    /// [`FastReader::read`] into `value`, which is not moved again; the result is the number of the write. If it is `None`,
    /// `value` is as it was.
    ///
    /// # Errors
    ///
    /// As [`FastReader::read_sample`]; `value` holds anything then.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Result<Option<u64>, Overrun> {
        let latest = self.object.latest.load(Relaxed);
        if latest == 0 { Ok(None) } else { self.copy(latest, uninit(value)).map(Some) }
    }

    /// [`FastReader::read_if_newer`] into `value`, which is not moved again; the result is the number of the write. If it is
    /// `None`, `value` is as it was.
    ///
    /// # Errors
    ///
    /// As [`FastReader::read_sample`]; `value` holds anything then.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, Overrun> {
        let latest = self.object.latest.load(Relaxed);
        if latest >> 8 == self.seen { Ok(None) } else { self.copy(latest, uninit(value)).map(Some) }
    }

    /// The number of the newest write, 0 before the first. By the time it is looked at it may be past.
    #[inline]
    pub fn version(&self) -> u64 {
        self.object.version()
    }
}

/// The slow readers of an object, each once, from number 0 on.
pub struct SlowReaders<'m, T> {
    object: Object<'m, T>,
    next: usize,
}

impl<'m, T: Plain> Iterator for SlowReaders<'m, T> {
    type Item = SlowReader<'m, T>;

    fn next(&mut self) -> Option<SlowReader<'m, T>> {
        let stand = self.object.stands.get(self.next)?;
        self.next += 1;
        Some(SlowReader::attach(self.object, stand))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.object.slow - self.next;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for SlowReaders<'_, T> {}
impl<T: Plain> FusedIterator for SlowReaders<'_, T> {}
