// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Double Buffer: newest value; one writer, many readers, all real-time; two slots for each of them.
//!
//! # Use
//!
//! As [`super::presence`], which does the same in about half of the memory. A reader that moves to another value
//! stores and fences here, where it exchanges there; the writer fences, and looks at a word of each reader. Readers of
//! known speed need no words at all: [`super::improved_double_buffer`]. Must every value arrive: [`crate::queue`].
//!
//! ```
//! use taut_share::{Line, Memory, state::double_buffer};
//!
//! let mut lines = [const { Line::new() }; 7];
//! let (mut writer, mut readers) = double_buffer::group::<[u32; 4]>(Memory::new(&mut lines), 2)?;
//! let mut reader = readers.next().expect("two");
//! assert_eq!(reader.read(), None);
//! writer.write(&[1, 2, 3, 4]);
//! assert_eq!(reader.read(), Some([1, 2, 3, 4]));
//! assert_eq!(reader.read_if_newer(), None, "it was returned already");
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! The ends cannot be copied, nor shared between threads, only moved to one:
//!
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::double_buffer};
//! let mut lines = [const { Line::new() }; 7];
//! let (writer, mut readers) = double_buffer::group::<u64>(Memory::new(&mut lines), 2).unwrap();
//! let second = readers.next().unwrap().clone();
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::double_buffer};
//! fn shared<T: Sync>(_: &T) {}
//! let mut lines = [const { Line::new() }; 7];
//! let (writer, mut readers) = double_buffer::group::<u64>(Memory::new(&mut lines), 2).unwrap();
//! shared(&readers.next().unwrap());
//! ```
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`reader`] see to it).
//!
//! |                       | write, `write_with` | reads of reader i | reads of reader j |
//! |-----------------------|---------------------|-------------------|-------------------|
//! | write, `write_with`   | X                   | -                 | -                 |
//! | reads of reader i     | -                   | X                 | -                 |
//!
//! # Progress
//!
//! W = ⌈size of a value / 8⌉ words; P readers. All sides are wait-free and never refused.
//!
//! | operation                       | bound                                                                        |
//! |---------------------------------|------------------------------------------------------------------------------|
//! | `write`, `write_with`           | 1 fence + P loads + W words + 3 stores                                       |
//! | `read`, `read_with`, `read_sample` | 1 load + W words while the newest value is in the row where the reader stands; else 3 loads + 1 store + 1 fence + W words, + 1 load if a write was going on there; 1 load when nothing was written |
//! | `read_if_newer`                 | 1 load when there is nothing newer; else `read`                              |
//! | `version`                       | 1 load                                                                       |
//!
//! # State
//!
//! P + 1 rows of two slots.
//!
//! ```text
//! byte 0    latest: 256 × number of the newest write + 2 × its row + its column      (the writer's)
//! byte 8    cl, for each row: 256 × number + column of the write that was last in it (the writer's)
//! then      number of the write that is in a slot, for each slot                     (the writer's)
//! then, each on a line of its own,
//!           stand: for each reader, bit r: it stands in row r; 0: nowhere            (the reader's)
//! then      the slots, row by row, each on cache lines of its own
//! ```
//!
//! # Invariants
//!
//! - I1 The writer writes a row in which it saw nobody stand after its last publish, and in it the column that `cl`
//!   does not name. P readers stand in P rows at most, so there is one.
//! - I2 While a reader stands in a row, at most one write takes place in it: the one for which the writer had looked
//!   before.
//! - I3 `cl` and `latest` name a slot only when its value is there; `latest` comes last.
//!
//! # Orderings
//!
//! - O1 publish: Release of the latest store ↔ Acquire of the load of latest after which a reader copies.
//! - O2 leave: Release of the stand store by which a reader moves on ↔ Acquire of the writer's load of stand.
//! - O3 look: SeqCst fence between a publish and the writer's next look ↔ SeqCst fence between the reader's stand store
//!   and its loads of cl and latest.
//!
//! # Proof
//!
//! Of the two fences of O3 one comes first. If the writer's, of write k: the reader that stands in row r sees `cl` of r
//! and latest as write k - 1 left them, or newer. If the reader's: the writer sees it, and write k is elsewhere. So only
//! one write k can be going on in r (I2), and the reader sees all before it. It knows by the numbers: if `cl` of r is
//! newer than latest, that is write k, not published yet; the other column has the value before. Else `cl` names a
//! published slot, and write k uses the other one (I1). By O1 the content is there; the slot is written again only
//! after the writer has seen the reader elsewhere, all its looking being over (O2).
//!
//! A reader that stands in the row of latest already needs no more than latest: what it names is complete (I3), and
//! write k, if it is going on still, uses the other column.
//!
//! The value is not older than the first load of latest: if the other column is returned, its write was the newest one
//! of r at that load, as row r was latest then. It is not newer than the second load: what is not published is not
//! returned. So values never go backwards, also from one reader to the next.
//!
//! # Crash
//!
//! | who dies, where                  | what the others see    | what goes on                                         |
//! |----------------------------------|------------------------|------------------------------------------------------|
//! | writer, before its cl store      | the value before       | a new [`writer`] begins that write anew              |
//! | writer, before its latest store  | the value before       | a new [`writer`] publishes the new one first of all  |
//! | writer, after it                 | the new value          | a new [`writer`] goes on behind it                   |
//! | reader, anywhere                 | nothing                | a new [`reader`] of that number stands where it stood |
//!
//! However many die, a reader's number takes one row, P + 1 rows do, and nothing is to be repaired.
//!
//! A hostile process can make a reader return any bits; slots are bounded, and the writer's are named by private words.
//!
//! # Source
//!
//! [Huang 2002, Fig. 6]. We differ: numbers in `cl` and `latest`, without which a read can go backwards
//! (`tests/printed_buffers.rs` shows it); the rows are reduced (the listing uses an index that runs past the last one);
//! fences; each reader says itself where it stands, where the listing counts the readers of a row: so the writer's search
//! has a bound, a dead reader's row is known, and a reader that stays needs no word at all.
//!
//! # Checked
//!
//! - `tests/behaviour_buffers.rs`: values, errors, successors, in place; also Miri
//! - `tests/steps_buffers.rs`: the bounds above, counted
//! - `tests/printed_buffers.rs`: the mistakes of the listing
//! - the programs over all protocols: `conformance`, `stress`, `loom`, `shuttle`, `steps`, `processes`, `deaths`
//! - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//!
//! `tests/loom_buffers.rs`, payload of 2 words: 2 writes × 2 reads without preemption bound: 768 executions; 4 × 2 with
//! bound 4: 3 881; 2 readers, 2 writes, with bound 3: 11 774. Each fence and each annotation of O1 and O2 weakened
//! fails there.
//!
//! Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Release of O2 forbids
//! what it could do to the copy); AArch64 hardware. The thread sanitizer does not know fences, but both ends of what
//! guards the slots are accesses.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, Words, fence};

pub use super::Sample;
use super::{believed, whole_sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

/// Readers that an object can have: their rows, and one more, are the bits of a word.
pub const READERS_MAX: u32 = 63;

const fn rows(readers: u32) -> usize {
    readers as usize + 1
}

const fn numbers_offset(readers: u32) -> usize {
    8 + 8 * rows(readers)
}

const fn stand_offset(readers: u32) -> usize {
    line_bytes(numbers_offset(readers) + 16 * rows(readers))
}

const fn slots_offset(readers: u32) -> usize {
    stand_offset(readers) + LINE_BYTES * readers as usize
}

const fn stride<T>() -> usize {
    word_bytes::<T>().next_multiple_of(64)
}

/// Bytes that an object for `T` with so many readers needs (more than [`READERS_MAX`] count as that).
pub const fn bytes<T: Plain>(readers: u32) -> usize {
    let readers = if readers > READERS_MAX { READERS_MAX } else { readers };
    line_bytes(stride::<T>().saturating_mul(2 * rows(readers))).saturating_add(slots_offset(readers))
}

fn check<T: Plain>(memory: &Claimed<'_>, readers: u32) -> Result<(), LayoutError> {
    if readers == 0 || readers > READERS_MAX {
        return Err(LayoutError::Readers);
    }
    fit(memory, bytes::<T>(readers))
}

/// The writer and all readers on one memory.
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

/// The writer's end alone, where the readers are in other processes or made by [`reader`]. After the death of a
/// writer, at any step, the next one goes on here; a value that the dead one had complete is published.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T` and number of readers, or zeros; no other writer of it
/// lives: the last one has ended, and this call comes after that.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>, readers: u32) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers)?;
    Ok(Writer::attach(Object::new(&memory, readers)))
}

/// The end alone of reader `which`, from 0. After the death of a reader, at any step, the next one of its number goes
/// on here.
///
/// # Errors
///
/// [`LayoutError`], as [`group`], or [`LayoutError::Readers`] if there is no reader `which`.
///
/// # Safety
///
/// What stands on the memory is this object for this `T` and number of readers, or zeros; no other reader of this
/// number lives: the last one has ended, and this call comes after that.
pub unsafe fn reader<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    which: u32,
) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers)?;
    let object = Object::new(&memory, readers);
    let stand = object.stands.get(which as usize).ok_or(LayoutError::Readers)?;
    Ok(Reader::attach(object, stand))
}

/// Where things are.
struct Object<'m, T> {
    latest: &'m AtomicU64,
    cl: Words<'m>,
    numbers: Words<'m>,
    stands: Words<'m>,
    values: Places<'m, T>,
    rows: usize,
}

impl<T> Clone for Object<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Object<'_, T> {}

impl<'m, T: Plain> Object<'m, T> {
    fn new(memory: &Claimed<'m>, readers: u32) -> Self {
        let rows = rows(readers);
        Self {
            latest: memory.word(0),
            cl: memory.words(8, 8, rows),
            numbers: memory.words(numbers_offset(readers), 8, 2 * rows),
            stands: memory.words(stand_offset(readers), LINE_BYTES, readers as usize),
            values: Places::new(memory, slots_offset(readers), stride::<T>(), 2 * rows),
            rows,
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

    /// A slot for the next value: row and column (I1).
    #[inline(always)]
    fn choose(&self) -> (usize, usize) {
        fence(SeqCst); // O3 look: our last publish before the looking.
        let mut taken = 0;
        for which in 0..self.object.rows - 1 {
            if let Some(stand) = self.object.stands.get(which) {
                taken |= stand.load(Acquire); // O2 leave
            }
        }
        let all = u64::MAX >> (64 - self.object.rows);
        // Never 0, as P readers stand in P of P + 1 rows at most: but they may lie.
        let free = if !taken & all == 0 { all } else { !taken & all };
        // From the last row on: if nobody has come, both sides have it at hand.
        let behind = free >> self.row << self.row;
        let row = (if behind == 0 { free } else { behind }).trailing_zeros() as usize;
        (row, usize::from(self.columns >> row & 1 == 0))
    }

    /// Makes the slot the newest.
    #[inline(always)]
    fn publish(&mut self, row: usize, column: usize) {
        self.number = self.number.wrapping_add(1);
        self.columns ^= 1 << row;
        self.row = row;
        let cl = self.number << 8 | column as u64;
        if let (Some(number), Some(word)) =
            (self.object.numbers.get(2 * row + column), self.object.cl.get(row))
        {
            number.store(self.number, Relaxed);
            // Relaxed: a reader that sees it and not the store below takes the other column.
            word.store(cl, Relaxed);
        }
        self.object.latest.store(cl | (row as u64) << 1, Release); // O1 publish
    }

    /// Makes `value` the newest. Wait-free: 1 fence, a load for each reader, one copy, 3 stores.
    #[inline]
    pub fn write(&mut self, value: &T) {
        let (row, column) = self.choose();
        // SAFETY:
        // - row is below the rows, column 0 or 1 (`choose`), and a T fits (layout); T is Plain: no padding, aligned to
        //   at most 8;
        // - exclusive: nobody stands in the row, or it came after our look and takes the other column (I2, I1); who was
        //   there before has left (O2).
        unsafe { self.object.values.write(2 * row + column, value) };
        self.publish(row, column);
    }

    /// Makes the newest what `fill` leaves, without a copy. It is given an older value, or zeros, and may change all
    /// of it. A panic in `fill` publishes nothing.
    #[inline]
    pub fn write_with<R>(&mut self, fill: impl FnOnce(&mut T) -> R) -> R {
        let (row, column) = self.choose();
        // SAFETY: as in `write`, while `fill` runs; other processes as `Memory::from_raw` says.
        let result = unsafe { self.object.values.lend_mut(2 * row + column, fill) };
        self.publish(row, column);
        result
    }
}

/// An end that reads. Real-time.
pub struct Reader<'m, T> {
    object: Object<'m, T>,
    stand: &'m AtomicU64,
    /// The row where it stands, since it looked; none before the first read.
    row: Option<usize>,
    /// The number of the value that was returned last.
    seen: u64,
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(object: Object<'m, T>, stand: &'m AtomicU64) -> Self {
        Self { object, stand, row: None, seen: 0 }
    }

    /// Stands where `latest` says; the slot to look at there, with its number.
    #[inline(always)]
    fn stand(&mut self, latest: u64) -> (usize, u64) {
        let row = self.object.row(latest);
        let (slot, number) = if self.row == Some(row) {
            (2 * row + (latest & 1) as usize, latest >> 8)
        } else {
            self.move_to(row)
        };
        self.seen = number;
        (slot, number)
    }

    #[inline]
    fn move_to(&mut self, row: usize) -> (usize, u64) {
        self.row = Some(row);
        self.stand.store(1 << row, Release); // O2 leave: what we looked at before.
        fence(SeqCst); // O3 look: where we stand, before the looking.
        let cl = self.object.cl(row);
        let latest = self.object.latest();
        let slot = 2 * row + (cl & 1) as usize;
        if cl >> 8 <= latest >> 8 {
            return (slot, cl >> 8);
        }
        // That write is not published. The one before in this row is, and left its number.
        let other = slot ^ 1;
        // Relaxed: O1, as for the value.
        (other, self.object.numbers.get(other).map_or(0, |number| number.load(Relaxed)))
    }

    /// Where to look; `None` if nothing was written.
    #[inline(always)]
    fn find(&mut self) -> Option<(usize, u64)> {
        let latest = self.object.latest();
        (latest != 0).then(|| self.stand(latest))
    }

    /// Where to look; `None` if nothing was written behind what was returned last.
    #[inline(always)]
    fn find_newer(&mut self) -> Option<(usize, u64)> {
        let latest = self.object.latest();
        (latest >> 8 != self.seen).then(|| self.stand(latest))
    }

    /// The newest value; `None` before the first one. Wait-free: see the module's table.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        self.read_sample().map(|sample| sample.value)
    }

    /// The newest value with its number; `None` before the first one.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        let found = self.find();
        // SAFETY: `copy` fills what a value uses.
        unsafe { whole_sample(|value| found.map(|found| self.copy(found, value))) }
    }

    /// The newest value if it is another one than this reader returned last; else `None`, after one load.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let found = self.find_newer();
        // SAFETY: `copy` fills what a value uses.
        unsafe { whole_sample(|value| found.map(|found| self.copy(found, value))) }
    }

    /// [`Reader::read`] into `value`, which is not moved again; the result is the number of the write. If it is `None`,
    /// `value` is as it was.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        self.find().map(|found| self.copy(found, uninit(value)))
    }

    /// [`Reader::read_if_newer`] into `value`, which is not moved again; the result is the number of the write. If it is
    /// `None`, `value` is as it was.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        self.find_newer().map(|found| self.copy(found, uninit(value)))
    }

    /// The number of the newest write, 0 before the first. By the time it is looked at it may be past.
    #[inline]
    pub fn version(&self) -> u64 {
        self.object.version()
    }

    /// Shows `look` the newest value where it lies; `None` before the first one. `look` may take its time: the writer
    /// has other rows.
    #[inline]
    pub fn read_with<R>(&mut self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let (slot, _) = self.find()?;
        // SAFETY: as in `copy`, while `look` runs; other processes as `Memory::from_raw` says.
        Some(unsafe { self.object.values.lend(slot, look) })
    }

    /// Copies the value of a slot; its number.
    #[inline(always)]
    fn copy(&self, (slot, number): (usize, u64), value: &mut MaybeUninit<T>) -> u64 {
        // SAFETY:
        // - slot is in a row that there is (`row`), and a T fits (layout);
        // - T is Plain: every bit pattern is one, aligned to at most 8;
        // - exclusive against our writer: we stand in the row, and if it is there it is in the other column (I2, I1);
        //   the content is there (O1). A hostile process is outside of this program: its bits are a T as any.
        unsafe { self.object.values.read_into(slot, value) };
        number
    }
}

/// The readers of an object, each once, from number 0 on.
pub struct Readers<'m, T> {
    object: Object<'m, T>,
    next: usize,
}

impl<'m, T: Plain> Iterator for Readers<'m, T> {
    type Item = Reader<'m, T>;

    fn next(&mut self) -> Option<Reader<'m, T>> {
        let stand = self.object.stands.get(self.next)?;
        self.next += 1;
        Some(Reader::attach(self.object, stand))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.object.rows - 1 - self.next;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for Readers<'_, T> {}
impl<T: Plain> FusedIterator for Readers<'_, T> {}
