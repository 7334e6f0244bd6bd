// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Double Buffer: newest value; one writer, many readers, all real-time; two slots for each reader and for the
//! writer.
//!
//! # Use
//! As [`super::presence`], which does the same in about half of the memory. A reader that moves to another value uses
//! a store and a fence here, where it uses an exchange there; the writer uses a fence, and loads a word of each
//! reader. Readers of known speed need no words at all: see [`super::improved_double_buffer`]. If every value must
//! arrive, see [`crate::queue`].
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
//! | operation                       | bound                                                                        |
//! |---------------------------------|------------------------------------------------------------------------------|
//! | `write`, `write_with`           | 1 fence + P loads + W words + 3 stores                                       |
//! | `read`, `read_with`, `read_sample` | 1 load + W words while the newest value is in the row where the reader stands; otherwise 3 loads + 1 store + 1 fence + W words, + 1 load if a write was in progress there; 1 load if nothing was written |
//! | `read_if_newer`                 | 1 load when there is nothing newer; otherwise `read`                         |
//! | `version`                       | 1 load                                                                       |
//!
//! # Orderings
//! - O1 publish: Release of the latest store ↔ Acquire of the load of latest after which a reader copies.
//! - O2 leave: Release of the stand store by which a reader moves on ↔ Acquire of the writer's load of stand.
//! - O3 look: SeqCst fence between a publish and the writer's next loads of stand ↔ SeqCst fence between the reader's
//!   stand store and its loads of cl and latest.
//!
//! # Crash
//! | death of                         | what the others see    | recovery                                             |
//! |----------------------------------|------------------------|------------------------------------------------------|
//! | writer, before its cl store      | the value before       | a new [`writer`] starts that write again             |
//! | writer, before its latest store  | the value before       | a new [`writer`] publishes the new value first       |
//! | writer, after it                 | the new value          | a new [`writer`] continues after it                  |
//! | reader, anywhere                 | nothing                | a new [`reader`] of that number stands in the same row |
//!
//! However many ends die, a reader's number takes one row, P + 1 rows are enough, and nothing needs repair.
//!
//! # Source
//! [Huang 2002, Fig. 6]. We differ: numbers in `cl` and `latest`, without which a read can go backwards
//! (`tests/buffers/printed.rs` shows it); the row numbers are reduced modulo their count (the listing uses an index
//! that runs past the last one); we add fences; each reader itself records where it stands, where the listing counts
//! the readers of a row: so the writer's search has a bound, a dead reader's row is known, and a reader that stays
//! needs no word at all.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, StridedWords, fence};

pub use super::Sample;
use super::{believed, whole_sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

/// The maximum number of readers of an object: their rows, and one more, are the bits of a word.
pub const READERS_MAX: u32 = 63;

// # State
//
// P + 1 rows of two slots.
//
// ```text
// byte 0    latest: 256 × number of the newest write + 2 × its row + its column      (the writer's)
// byte 8    cl, for each row: 256 × number + column of the write that was last in it (the writer's)
// then      number of the write that is in a slot, for each slot                     (the writer's)
// then, each on a line of its own,
//           stand: for each reader, bit r: it stands in row r; 0: in no row          (the reader's)
// then      the slots, row by row, each on cache lines of its own
// ```
//
// # Invariants
//
// - I1 The writer writes a row in which it saw no reader stand after its last publish, and in that row the column that
//   `cl` does not name. P readers stand in at most P rows, so there is such a row.
// - I2 While a reader stands in a row, at most one write takes place in it: the write for which the writer had loaded
//   `stand` before the reader's store.
// - I3 `cl` and `latest` name a slot only when its value is complete; the writer stores `latest` last.

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

/// Bytes that an object for `T` with `readers` readers needs (more than [`READERS_MAX`] count as [`READERS_MAX`]).
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
/// ```
/// use taut_share::{Line, Memory, state::double_buffer};
///
/// let mut lines = [const { Line::new() }; 7];
/// let (mut writer, mut readers) = double_buffer::group::<[u32; 4]>(Memory::new(&mut lines), 2)?;
/// let mut reader = readers.next().expect("two");
/// assert_eq!(reader.read(), None);
/// writer.write(&[1, 2, 3, 4]);
/// assert_eq!(reader.read(), Some([1, 2, 3, 4]));
/// assert_eq!(reader.read_if_newer(), None, "it was returned already");
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
/// writer, at any step, this call makes its successor; a value that the dead writer had completed is published.
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
    let object = Object::new(&memory, readers);
    let stand = object.stands.get(which as usize).ok_or(LayoutError::Readers)?;
    Ok(Reader::attach(object, stand))
}

/// The parts of the object in the memory.
struct Object<'m, T> {
    latest: &'m AtomicU64,
    cl: StridedWords<'m>,
    numbers: StridedWords<'m>,
    stands: StridedWords<'m>,
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

    /// The word of the newest write: its number, row and column.
    #[inline(always)]
    fn latest(&self) -> u64 {
        self.latest.load(Acquire) // O1 publish
    }

    /// The number of the newest write.
    #[inline(always)]
    fn version(&self) -> u64 {
        // Relaxed: no read relies on it.
        self.latest.load(Relaxed) >> 8
    }

    /// The row of `latest`; 0 if the word names no row of this object.
    #[inline(always)]
    fn row(&self, latest: u64) -> usize {
        // A hostile process can make a reader return any bits; a reader bounds the slots that it uses, and the writer
        // names its slots by private words.
        let row = (latest >> 1 & 127) as usize;
        if row < self.rows { row } else { 0 }
    }

    #[inline(always)]
    fn cl(&self, row: usize) -> u64 {
        // Relaxed: the fences before this load bound what it can return; the load of latest after it makes the slot's
        // content visible.
        self.cl.get(row).map_or(0, |cl| cl.load(Relaxed))
    }
}

/// The end that writes. Real-time.
pub struct Writer<'m, T> {
    object: Object<'m, T>,
    /// The number of the newest write.
    number: u64,
    /// The row of the newest write.
    row: usize,
    /// Bit r: the column that `cl` of row r names.
    columns: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(object: Object<'m, T>) -> Self {
        // Relaxed, all: the last writer stored them, and its end happens before this call.
        let mut latest = believed(object.latest.load(Relaxed));
        let mut columns = 0;
        for row in 0..object.rows {
            let cl = believed(object.cl(row));
            columns |= (cl & 1) << row;
            if cl >> 8 > latest >> 8 {
                latest = cl | (row as u64) << 1;
            }
        }
        // Publishes the write that the last writer had not yet published. Otherwise our next write would have the
        // same number.
        object.latest.store(latest, Release); // O1 publish
        Self { object, number: latest >> 8, row: object.row(latest), columns }
    }

    /// A slot for the next value: row and column (I1).
    #[inline(always)]
    fn choose(&self) -> (usize, usize) {
        fence(SeqCst); // O3 look: our last publish before our loads of stand.
        let mut taken = 0;
        for which in 0..self.object.rows - 1 {
            if let Some(stand) = self.object.stands.get(which) {
                taken |= stand.load(Acquire); // O2 leave
            }
        }
        let all = u64::MAX >> (64 - self.object.rows);
        // Never 0, because P readers stand in at most P of P + 1 rows; but hostile readers may store any bits.
        let free = if !taken & all == 0 { all } else { !taken & all };
        // The search starts at the last row: if no reader has entered it, both sides still have its words cached.
        let behind = free >> self.row << self.row;
        let row = (if behind == 0 { free } else { behind }).trailing_zeros() as usize;
        (row, usize::from(self.columns >> row & 1 == 0))
    }

    /// Makes the slot the newest, and publishes it.
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
            // Relaxed: a reader that sees this store and not the one below takes the other column.
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
        // - exclusive: no reader stands in the row, or it entered after our loads of stand and takes the other column
        //   (I2, I1); readers that were there before have left (O2).
        unsafe { self.object.values.write(2 * row + column, value) };
        self.publish(row, column);
    }

    /// Lets `fill` make the newest value in place, without a copy. `fill` gets an older value, or zeros, and may
    /// change all of it. A panic in `fill` publishes nothing.
    #[inline]
    pub fn write_with<R>(&mut self, fill: impl FnOnce(&mut T) -> R) -> R {
        let (row, column) = self.choose();
        // SAFETY: as in `write`, while `fill` runs; for other processes see `Memory::from_raw`.
        let result = unsafe { self.object.values.lend_mut(2 * row + column, fill) };
        self.publish(row, column);
        result
    }
}

/// An end that reads. Real-time.
///
/// The ends cannot be copied, nor shared between threads; they can only move from thread to thread:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::double_buffer};
/// let mut lines = [const { Line::new() }; 7];
/// let (writer, mut readers) = double_buffer::group::<u64>(Memory::new(&mut lines), 2).unwrap();
/// let second = readers.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::double_buffer};
/// fn shared<T: Sync>(_: &T) {}
/// let mut lines = [const { Line::new() }; 7];
/// let (writer, mut readers) = double_buffer::group::<u64>(Memory::new(&mut lines), 2).unwrap();
/// shared(&readers.next().unwrap());
/// ```
pub struct Reader<'m, T> {
    object: Object<'m, T>,
    stand: &'m AtomicU64,
    /// The row in which this reader stands since its last move; `None` before the first read.
    row: Option<usize>,
    /// The number of the value that this reader returned last.
    seen: u64,
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(object: Object<'m, T>, stand: &'m AtomicU64) -> Self {
        Self { object, stand, row: None, seen: 0 }
    }

    /// Stands in the row that `latest` names; returns the slot to copy there, with its number.
    #[inline(always)]
    fn stand(&mut self, latest: u64) -> (usize, u64) {
        // Proof: A reader that already stands in the row of latest needs only latest: the slot that latest names is
        // complete (I3), and write k, if it is still in progress, uses the other column.
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
        // Proof: One of the two fences of O3 comes first. If the writer's fence of write k comes first, the reader
        // that stands in row r sees `cl` of r and latest as write k - 1 left them, or newer. If the reader's fence
        // comes first, the writer sees the reader in r, and write k goes to another row. So only one write k can be in
        // progress in r (I2), and the reader sees everything before it. The numbers show the reader which slot to use:
        // if `cl` of r is newer than latest, it is of write k, which is not published yet, and the other column has
        // the value before. Otherwise `cl` names a published slot, and write k uses the other one (I1). By O1 the
        // content is visible. The writer writes the slot again only after it has seen the reader elsewhere, when all
        // the reader's loads of the slot are over (O2).
        self.row = Some(row);
        self.stand.store(1 << row, Release); // O2 leave: our loads of the slot before.
        fence(SeqCst); // O3 look: our stand store before our loads of cl and latest.
        let cl = self.object.cl(row);
        let latest = self.object.latest();
        let slot = 2 * row + (cl & 1) as usize;
        if cl >> 8 <= latest >> 8 {
            return (slot, cl >> 8);
        }
        // That write is not published. The write before it in this row is, and left its number.
        let other = slot ^ 1;
        // Relaxed: O1, as for the value.
        (other, self.object.numbers.get(other).map_or(0, |number| number.load(Relaxed)))
    }

    /// The slot to copy, with its number; `None` if nothing was written.
    #[inline(always)]
    fn find(&mut self) -> Option<(usize, u64)> {
        // Proof: The value is not older than the first load of latest: if the read returns the other column, its write
        // was the newest one of r at that load, because row r was latest then. It is not newer than the second load:
        // the read returns only what is published. So values never go backwards, not even from one reader to the next.
        let latest = self.object.latest();
        (latest != 0).then(|| self.stand(latest))
    }

    /// The slot to copy, with its number; `None` if nothing newer was written than this reader returned last.
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
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| found.map(|found| self.copy(found, value))) }
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let found = self.find_newer();
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| found.map(|found| self.copy(found, value))) }
    }

    /// [`Reader::read`] into `value`, without a further move; returns the number of the write. If it returns `None`,
    /// `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        self.find().map(|found| self.copy(found, uninit(value)))
    }

    /// [`Reader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        self.find_newer().map(|found| self.copy(found, uninit(value)))
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        self.object.version()
    }

    /// Shows `look` the newest value where it lies; `None` before the first one. `look` may take any time: the writer
    /// has other rows.
    #[inline]
    pub fn read_with<R>(&mut self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let (slot, _) = self.find()?;
        // SAFETY: as in `copy`, while `look` runs; for other processes see `Memory::from_raw`.
        Some(unsafe { self.object.values.lend(slot, look) })
    }

    /// Copies the value of a slot; returns its number.
    #[inline(always)]
    fn copy(&self, (slot, number): (usize, u64), value: &mut MaybeUninit<T>) -> u64 {
        // SAFETY:
        // - slot is in an existing row (`row`), and a T fits (layout);
        // - T is Plain: every bit pattern is a value, and it is aligned to at most 8;
        // - exclusive against our writer: we stand in the row, and if the writer is in it too, it uses the other
        //   column (I2, I1); the content is visible (O1). A hostile process is outside this program: its bits are a T
        //   like any others.
        unsafe { self.object.values.read_into(slot, value) };
        number
    }
}

/// The readers of an object; the iterator yields each once, from number 0 on.
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

crate::ends::ends! {
    write Writer;
    read Reader;
}

// # Checked
//
// - `tests/buffers/behaviour.rs`: values, errors, successors, in place; also Miri
// - `tests/buffers/steps.rs`: the bounds above, counted
// - `tests/buffers/printed.rs`: the mistakes of the listing
// - the programs over all protocols: `conformance`, `stress`, `loom`, `shuttle`, `steps`, `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/buffers/loom.rs`, payload of 2 words: 2 writes × 2 reads without preemption bound: 768 executions; 4 × 2 with
// bound 4: 3 881; 2 readers, 2 writes, with bound 3: 11 774. Weakening any fence, or any annotation of O1 and O2,
// fails there.
//
// Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Release of O2 forbids
// what it could do to the copy); AArch64 hardware. The thread sanitizer does not model fences, but the orderings that
// guard the slots have accesses at both ends.
