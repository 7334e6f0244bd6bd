// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Improved Double Buffer: newest value; one writer; readers of known speed, which leave no trace, and slow ones.
//!
//! # Use
//! For objects most of whose readers are fast compared with the writer's period, by analysis. A fast reader costs no
//! memory of its own, the writer does not check for it, there may be any number of fast readers, and they have no
//! reader number. If the analysis was wrong a fast reader gets [`ReaderOvertaken`], and never a torn value. Slow
//! readers (loggers, displays, remote ends) are protected for as long as their reads take. If nothing is known about
//! any reader, see [`super::presence`]. If every value must arrive, see [`crate::queue`].
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`slow_reader`] ensure it).
//!
//! |                       | write | reads of slow reader i | of slow reader j | fast reads |
//! |-----------------------|-------|------------------------|------------------|------------|
//! | write                 | X     | -                      | -                | -          |
//! | reads of slow reader i | -    | X                      | -                | -          |
//! | fast reads            | -     | -                      | -                | -          |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words; M slow readers. All sides are wait-free; no operation of the writer and of slow
//! readers is refused.
//!
//! | operation                | bound                                                                               |
//! |--------------------------|-------------------------------------------------------------------------------------|
//! | `write`                  | 2 fences (1 if there are no slow readers) + M loads + W words + 3 stores            |
//! | slow `read`              | 1 load + W words while the newest value is in the row where the reader stands; otherwise 4 loads + 2 stores + 2 fences + W words, + 1 load if a write was in progress there; 1 load if nothing was written |
//! | fast `read`              | 2 loads + W words + 2 fences (free on x86-64); 1 load if nothing was written        |
//! | `read_if_newer` of both  | 1 load when there is nothing newer; otherwise `read`                                |
//! | `version` of both        | 1 load                                                                              |
//!
//! # Orderings
//! - O1 publish: Release of the latest store ↔ Acquire of the load of latest after which a slow reader copies, and an
//!   Acquire fence after a fast reader's load of latest.
//! - O2 leave: Release of the stand store by which a slow reader leaves ↔ Acquire of the writer's load of stand.
//! - O3 look: SeqCst fence between a publish and the writer's next loads of stand ↔ SeqCst fence between a slow
//!   reader's stand store and its loads of cl and latest.
//! - O4 begin: Release fence after the store of a slot's number ↔ Acquire fence before a fast reader's load of it.
//!
//! # Crash
//! | death of                         | what the others see    | recovery                                             |
//! |----------------------------------|------------------------|------------------------------------------------------|
//! | writer, before its cl store      | the value before       | a new [`writer`] starts that write again             |
//! | writer, before its latest store  | the value before       | a new [`writer`] publishes the new value first       |
//! | writer, after it                 | the new value          | a new [`writer`] continues after it                  |
//! | slow reader, anywhere            | nothing                | a new [`slow_reader`] of that number stands in the same row |
//! | fast reader, anywhere            | nothing                | a fast reader leaves no trace                        |
//!
//! However many ends die, a slow reader's number takes one row, and nothing needs repair. A write that a dead writer
//! had begun counts as one more write that overlaps.
//!
//! # Source
//! [Huang 2002, Fig. 8] for 2 (M + max(1, ⌈N / 2⌉)) slots with N = V + 1. We differ: as in [`super::double_buffer`];
//! the search begins at the row after the newest, where the listing's loop steps once more before its first test,
//! which halves the distance of I5 (`tests/buffers/printed.rs` shows it); a fast read checks its copy; a slow reader
//! leaves its row before it loads the newest row, because otherwise the search can find it in two rows of one round.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, StridedWords, fence};

pub use super::{ReaderOvertaken, Sample};
use super::{believed, sample, whole_sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

/// The maximum number of rows of an object, M + H: the bits of a word.
pub const ROWS_MAX: usize = 64;

// # State
//
// H = max(1, ⌈(V + 1) / 2⌉) = ⌊V / 2⌋ + 1 where up to V writes overlap a fast read; M + H rows of two slots.
//
// ```text
// byte 0    latest: 256 × number of the newest write + 2 × its row + its column      (the writer's)
// byte 8    cl, for each row: 256 × number + column of the write that was last in it (the writer's)
// then, each on a line of its own,
//           stand: for each slow reader, bit r: it stands in row r; 0: in no row     (the reader's)
// then      the slots, row by row, each on cache lines of its own: number of the write that began there last, value
// ```
//
// # Invariants
//
// - I1 to I3 as in [`super::double_buffer`], where the readers are the slow readers.
// - I4 A slot's number is that of its value; or it is newer, while the slot is being written or, after a writer's
//   death, unpublished.
// - I5 The next write into a slot is the 2 H-th write after the last one into it, or a later write.

/// The number of rows for `slow` slow readers, and for fast reads that up to `overlaps` writes overlap.
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

/// Bytes that an object for `T` needs with `slow` slow readers, and fast reads that up to `overlaps` writes overlap,
/// including a write that is in progress when the read begins. `None` if that takes more than [`ROWS_MAX`] rows, or
/// the size does not fit in `usize`.
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

/// The ends of one object: the writer, the slow readers, and one fast reader; clone the latter for more.
pub type Group<'m, T> = (Writer<'m, T>, SlowReaders<'m, T>, FastReader<'m, T>);

/// All ends on one memory, for `slow` slow readers (0 is allowed), and fast reads that up to `overlaps` writes
/// overlap.
///
/// ```
/// use taut_share::{Line, Memory, state::improved_double_buffer};
///
/// let mut lines = [const { Line::new() }; 8];
/// // One slow reader; at most 3 writes overlap a fast read.
/// let (mut writer, mut slow, mut fast) = improved_double_buffer::group::<u64>(Memory::new(&mut lines), 1, 3)?;
/// let mut slow = slow.next().expect("one");
/// assert_eq!(fast.read(), Ok(None));
/// writer.write(&7);
/// assert_eq!((fast.clone().read(), slow.read()), (Ok(Some(7)), Some(7)));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
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

/// The writer's end alone, for readers that are in other processes or that [`slow_reader`] and [`fast_reader`] make.
/// After the death of a writer, at any step, this call makes its successor; a value that the dead writer had
/// completed is published.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T` and these numbers, or zeros. No other writer of it is alive: the last
/// one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, slow, overlaps)?;
    Ok(Writer::attach(Object::new(&memory, slow, overlaps)))
}

/// The end of slow reader `which`, from 0, alone. After the death of that reader, at any step, this call makes its
/// successor.
///
/// # Errors
///
/// [`LayoutError`], as [`group`], or [`LayoutError::Readers`] if there is no slow reader `which`.
///
/// # Safety
///
/// The memory holds this object for this `T` and these numbers, or zeros. No other slow reader of this number is
/// alive: the last one has ended, and its end happens before this call.
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

/// A fast reader's end alone; there may be any number of fast readers. It needs no write access: the memory may be
/// mapped read-only.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T` and these numbers, or zeros.
pub unsafe fn fast_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
) -> Result<FastReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, slow, overlaps)?;
    Ok(FastReader::attach(Object::new(&memory, slow, overlaps)))
}

/// The parts of the object in the memory.
struct Object<'m, T> {
    latest: &'m AtomicU64,
    cl: StridedWords<'m>,
    stands: StridedWords<'m>,
    numbers: StridedWords<'m>,
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
        // A hostile process can make a reader return any bits or `ReaderOvertaken`; a reader bounds the slots that it
        // uses, and the writer names its slots by private words. A fast reader also works where the memory is mapped
        // read-only.
        let row = (latest >> 1 & 127) as usize;
        if row < self.rows { row } else { 0 }
    }

    #[inline(always)]
    fn cl(&self, row: usize) -> u64 {
        // Relaxed: the fences before this load bound what it can return; the load of latest after it makes the slot's
        // content visible.
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
    /// `slot` is a slot of this object.
    #[inline(always)]
    unsafe fn load(&self, slot: usize, value: &mut MaybeUninit<T>) {
        // SAFETY: caller's, and a T fits (layout); only `store` and `load_into` touch the slots.
        unsafe { self.values.load_into(slot, value) };
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

    /// The first row after the newest in which no slow reader stands (I1).
    #[inline(always)]
    fn choose(&self) -> usize {
        // Proof: When the slot is written again (I5): from a write in row i to the next in row i, the writer's search
        // goes round once, and passes each of the other M + H - 1 rows: it writes the row, or found a slow reader in
        // it. In one round it finds a reader in at most one row. For suppose it finds the reader in x, and at a later
        // write in y. In between the reader left x, and only after that (fence of O3, between its leaving and its next
        // load of latest) loaded the newest row: the row of the write before the search found it in x, or a newer one.
        // The search has already passed that row in this round, but y is still ahead of it: a contradiction. So each
        // round writes at least H - 1 of the other rows, and two rounds, after which the same column is written again,
        // are 2 H writes. Hence a fast read that at most 2 H - 1 ≥ V writes overlap never returns `ReaderOvertaken`.
        let mut taken = 0;
        if self.object.slow > 0 {
            fence(SeqCst); // O3 look: our last publish before our loads of stand.
        }
        for which in 0..self.object.slow {
            if let Some(stand) = self.object.stands.get(which) {
                taken |= stand.load(Acquire); // O2 leave
            }
        }
        let all = u64::MAX >> (64 - self.object.rows);
        // Never 0, because M readers stand in at most M of M + H rows; but hostile readers may store any bits.
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
        // SAFETY: row is below the rows, column 0 or 1, and a T fits (layout); T is Plain: no padding; only `store`
        // and `load_into` touch the slots.
        unsafe { self.object.values.store(slot, value) };
        if let Some(word) = self.object.cl.get(row) {
            // Relaxed: a reader that sees this store and not the one below takes the other column.
            word.store(cl, Relaxed);
        }
        self.object.latest.store(cl | (row as u64) << 1, Release); // O1 publish
        self.columns ^= 1 << row;
        self.row = row;
    }
}

/// An end that reads, and is protected for as long as its read takes. Real-time.
///
/// The writer and a slow reader cannot be copied. No end is shared between threads; it can only move from thread to
/// thread:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::improved_double_buffer};
/// let mut lines = [const { Line::new() }; 8];
/// let (writer, mut slow, fast) = improved_double_buffer::group::<u64>(Memory::new(&mut lines), 1, 3).unwrap();
/// let second = slow.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::improved_double_buffer};
/// fn shared<T: Sync>(_: &T) {}
/// let mut lines = [const { Line::new() }; 8];
/// let (writer, slow, fast) = improved_double_buffer::group::<u64>(Memory::new(&mut lines), 1, 3).unwrap();
/// shared(&fast);
/// ```
pub struct SlowReader<'m, T> {
    object: Object<'m, T>,
    stand: &'m AtomicU64,
    /// The row in which this reader stands since its last move; `None` before the first read.
    row: Option<usize>,
    /// The number of the value that this reader returned last.
    seen: u64,
}

impl<'m, T: Plain> SlowReader<'m, T> {
    fn attach(object: Object<'m, T>, stand: &'m AtomicU64) -> Self {
        Self { object, stand, row: None, seen: 0 }
    }

    /// Copies the value to which `latest` leads; returns its number.
    #[inline(always)]
    fn copy(&mut self, latest: u64, value: &mut MaybeUninit<T>) -> u64 {
        let row = self.object.row(latest);
        let (slot, version) = if self.row == Some(row) {
            (2 * row + (latest & 1) as usize, latest >> 8)
        } else {
            self.move_on()
        };
        self.seen = version;
        // SAFETY: the row exists (`Object::row`), the column is 0 or 1. The copy is of one write: we stand in the
        // row, and if the writer is in it too, it uses the other column (I2, I1).
        unsafe { self.object.load(slot, value) };
        version
    }

    #[inline]
    fn move_on(&mut self) -> (usize, u64) {
        // Proof: Slow reads: as in [`super::double_buffer`].
        self.stand.store(0, Release); // O2 leave: our loads of the slot before.
        fence(SeqCst); // O3 look: our leaving before our load of the newest row (I5).
        let row = self.object.row(self.object.latest.load(Relaxed));
        self.row = Some(row);
        // Relaxed: we have loaded nothing from a slot since we left.
        self.stand.store(1 << row, Relaxed);
        fence(SeqCst); // O3 look: our stand store before our loads of cl and latest.
        let cl = self.object.cl(row);
        let latest = self.object.latest();
        let slot = 2 * row + (cl & 1) as usize;
        if cl >> 8 <= latest >> 8 {
            return (slot, cl >> 8);
        }
        // That write is not published. The write before it in this row is.
        (slot ^ 1, self.object.number(slot ^ 1))
    }

    /// The newest value with its number; `None` before the first one. Wait-free: see the module's table.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        let latest = self.object.latest();
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| (latest != 0).then(|| self.copy(latest, value))) }
    }

    /// The newest value; `None` before the first one.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        self.read_sample().map(|sample| sample.value)
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let latest = self.object.latest();
        let is_newer = latest >> 8 != self.seen;
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| is_newer.then(|| self.copy(latest, value))) }
    }

    /// [`SlowReader::read`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        let latest = self.object.latest();
        (latest != 0).then(|| self.copy(latest, uninit(value)))
    }

    /// [`SlowReader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it
    /// returns `None`, `value` is unchanged.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        let latest = self.object.latest();
        (latest >> 8 != self.seen).then(|| self.copy(latest, uninit(value)))
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        self.object.version()
    }
}

/// An end that reads and leaves no trace: safe if its read is fast enough; otherwise the read returns
/// [`ReaderOvertaken`]. Real-time.
pub struct FastReader<'m, T> {
    object: Object<'m, T>,
    /// The number of the value that this reader returned last.
    seen: u64,
}

impl<T> Clone for FastReader<'_, T> {
    /// One more reader, which has seen what this one has seen.
    fn clone(&self) -> Self {
        Self { object: self.object, seen: self.seen }
    }
}

impl<'m, T: Plain> FastReader<'m, T> {
    fn attach(object: Object<'m, T>) -> Self {
        Self { object, seen: 0 }
    }

    /// Copies the value that `latest` names; returns its number.
    #[inline(always)]
    fn copy(&mut self, latest: u64, value: &mut MaybeUninit<T>) -> Result<u64, ReaderOvertaken> {
        // Proof: Fast reads: suppose a reader loads latest, which names a slot and number n. By O1 it sees there every
        // word of write n, or of a later write. Suppose it had seen a word of a later write. Then by O4 its load of
        // the slot's number would return that write's number, or a later one, and not n. So a value that the check
        // accepts is of write n, which was the newest at the load of latest.

        // A fence, and not an Acquire load: for memory that is mapped read-only, the language allows only relaxed
        // loads.
        fence(Acquire); // O1 publish
        let slot = 2 * self.object.row(latest) + (latest & 1) as usize;
        // SAFETY: the row exists (`Object::row`), the column is 0 or 1.
        unsafe { self.object.load(slot, value) };
        fence(Acquire); // O4 begin: the words before the load of the slot's number.
        let version = latest >> 8;
        // `latest` carries 56 bits of the number.
        if self.object.number(slot) << 8 >> 8 != version {
            return Err(ReaderOvertaken);
        }
        self.seen = version;
        Ok(version)
    }

    /// The newest value with its number; `None` before the first one. Wait-free: 2 loads, one copy, 2 fences.
    ///
    /// # Errors
    ///
    /// [`ReaderOvertaken`]: more writes overlapped the read than the object was made for. The next read may succeed.
    #[inline]
    pub fn read_sample(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        let latest = self.object.latest.load(Relaxed);
        // SAFETY: `copy` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| (latest != 0).then(|| self.copy(latest, value)).transpose()) }
    }

    /// The newest value; `None` before the first one.
    ///
    /// # Errors
    ///
    /// As [`FastReader::read_sample`].
    #[inline]
    pub fn read(&mut self) -> Result<Option<T>, ReaderOvertaken> {
        Ok(self.read_sample()?.map(|sample| sample.value))
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load.
    ///
    /// # Errors
    ///
    /// As [`FastReader::read_sample`].
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        let latest = self.object.latest.load(Relaxed);
        let is_newer = latest >> 8 != self.seen;
        // SAFETY: `copy` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| is_newer.then(|| self.copy(latest, value)).transpose()) }
    }

    /// [`FastReader::read`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`FastReader::read_sample`]; `value` may then hold anything.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        let latest = self.object.latest.load(Relaxed);
        if latest == 0 { Ok(None) } else { self.copy(latest, uninit(value)).map(Some) }
    }

    /// [`FastReader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it
    /// returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`FastReader::read_sample`]; `value` may then hold anything.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        let latest = self.object.latest.load(Relaxed);
        if latest >> 8 == self.seen { Ok(None) } else { self.copy(latest, uninit(value)).map(Some) }
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        self.object.version()
    }
}

/// The slow readers of an object; the iterator yields each once, from number 0 on.
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

crate::ends::ends! {
    write Writer;
    read SlowReader;
    read FastReader: ReaderOvertaken = read_sample read_into read_if_newer;
}

// # Checked
//
// - `tests/buffers/behaviour.rs`: values, errors, successors, the distance of I5; also Miri
// - `tests/buffers/steps.rs`: the bounds above, counted
// - `tests/buffers/printed.rs`: the mistakes of the listing
// - the programs over all protocols, with a reader of each kind: `conformance`, `stress`, `loom`, `shuttle`, `steps`,
//   `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/buffers/loom.rs`, payload of 2 words, 3 writes: a fast reader, V = 1, without preemption bound: 11 066
// executions; V = 3, bound 3: 105; a slow one and a fast one, bound 2: 11 511; a slow one, 4 writes, bound 4: 19 305.
// Leaving out either fence of O4 or the writer's fence of O3, or weakening or leaving out either end of O1, fails
// there.
//
// Not covered: two readers without a bound on preemptions, and more readers; load buffering; AArch64 hardware. The
// thread sanitizer does not model fences, and every access here is atomic, so it has nothing to report.
