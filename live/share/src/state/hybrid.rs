// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Hybrid: newest value; one writer, many registered readers, wait-free on both sides; a read does not write.
//!
//! # Use
//! The first choice for a newest value, with one reader or many, real-time on either side or both. A reader copies the
//! newest slot, and the slot's stamp shows whether the writer reused the slot during the copy; more spare slots make
//! this rarer. If the writer did, the reader reads a second time, with a claim as in [`super::chen`], which always
//! succeeds. Any number of [`Observer`]s may read beside the readers: they leave no trace, and an observer that was
//! overtaken gets [`ReaderOvertaken`].
//!
//! If callers use values in place and do not copy them, see [`super::chen`]. If the speed of some readers is known,
//! [`super::improved_chen`] saves their slots. If memory must be smallest and readers may get `Retry`, see
//! [`super::sdrtw`].
//!
//! To read a value of more than a few cache lines, prefer [`Reader::read_into`]: returning a value moves it once more.
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`reader`] ensure it).
//!
//! |                                          | write | read of this reader | read of another, of observers |
//! |------------------------------------------|-------|---------------------|-------------------------------|
//! | `write`                                  | X     | -                   | -                             |
//! | `read`, `read_into`, `read_if_newer`, `version` | -     | X                   | -                             |
//! | an observer's                            | -     | -                   | -                             |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words, P readers, X spare slots. Writer and readers are wait-free; neither waits for the
//! other.
//!
//! | operation       | bound                                                                                     |
//! |-----------------|-------------------------------------------------------------------------------------------|
//! | `write`         | 2 fences (1 free on x86-64) + P loads + W words + 2 stores; 1 exchange more per reader that is in the middle of a claim |
//! | `read`, `read_into` | 2 loads + W words + 1 fence (free on x86-64); if at least X + 1 writes overtake it: 1 load + 1 store + 1 fence + 1 exchange + W words more |
//! | `read_if_newer` | `read`; 1 load if nothing is new                                                          |
//! | an observer's `try_read` | 2 loads + W words + 2 fences; `ReaderOvertaken` if it was overtaken              |
//! | `version`       | 1 load                                                                                    |
//!
//! # Orderings
//! - O1 publish: Release of the latest store ↔ Acquire of the readers' latest loads, and an Acquire fence after the
//!   observers'.
//! - O2 stamp: Release fence between the stamp's store and the value's words ↔ Acquire fence between those words'
//!   loads and the stamp's.
//! - The claims have the orderings of [`super::chen`], whose code they use.
//!
//! # Crash
//! | death of                      | what the others see  | recovery                                                     |
//! |-------------------------------|----------------------|--------------------------------------------------------------|
//! | writer, before its latest store | the newest value   | a new [`writer`] loads the claims again, and takes a free slot |
//! | writer, after it              | the new value        | the same                                                     |
//! | reader, in its first attempt, or observer | nothing  | it leaves no trace                                           |
//! | reader, in a claim or after it | nothing             | the slot that it claimed stays reserved, which the slot count allows for; a new [`reader`] of the same number keeps that slot reserved until it makes a claim itself |
//!
//! # Source
//! Chen and Burns with fast readers as in [Huang 2002], combined. There a reader is either slow, and claims, or fast,
//! and relies on time. Here each reader first reads as a fast one, checks whether the time was enough, and if not
//! reads as a slow one. The stamp is the version word of [Kopetz 1993], one per slot.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, Memory, StridedWords, fence};

use super::chen::{
    Claims, LATEST, NOTHING, READERS_MAX, SLOT, claim, object_bytes, slot, slots_at, successor,
};
use super::turns::Turns;
pub use super::{ReaderOvertaken, Sample};
use super::{believed, sample, whole_sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, word_bytes};
use crate::{LayoutError, Plain};

/// A number of spare slots that is enough for most uses: 6, or 2 for values above 2 KiB. With them, a writer that
/// never pauses seldom overtakes a read; but more slots than the first-level cache holds make each write slower.
/// Measured with 4 KiB on a Zen 4, beside 1, 4 and 20 readers: with 3 spare slots a write takes 6, 30 and 39 % longer
/// than with 2, and a read takes the same time; with 1 a read takes 16 to 37 % longer.
pub const fn spare<T: Plain>() -> u32 {
    if size_of::<T>() > 2048 { 2 } else { 6 }
}

// # State
//
// ```text
// byte 0            latest: number of the newest write × 256 + its slot; 0 before the first (the writer's)
// byte 128 × (1+i)  claim of reader i, as in chen: 0 until its first one
// byte 128 × (1+P)  P + 2 + X slots, each on cache lines of its own: a value, and behind it its stamp: the word that
//                   latest has or will have once the value is complete (the writer's)
// ```
//
// # Invariants
//
// - I1 to I3 as in [`super::chen`], except that I2 holds only for copies by claim: other copies may read any slot, so
//   values are stored and loaded in relaxed words.
// - I4 While a slot's stamp is s, its words are those of write s, of which some may not be stored yet; once s is or
//   was in latest, all of them are stored.
// - I5 A slot that write n filled is filled again by write n + X + 2 at the earliest: the writer fills X + 2 slots in
//   turn. If a reader has claimed one of these, the writer takes one of the other P slots instead, which were filled
//   longer ago, and of which at least one is free.

/// Bytes from one slot to the next: the value and its stamp, in whole cache lines.
const fn stride<T: Plain>() -> usize {
    (word_bytes::<T>() + 8).next_multiple_of(64)
}

const fn count(readers: u32, spare: u32) -> usize {
    (readers as usize).saturating_add(2).saturating_add(spare as usize)
}

/// Bytes that an object for `T`, `readers` readers and `spare` spare slots needs.
pub const fn bytes<T: Plain>(readers: u32, spare: u32) -> usize {
    object_bytes(readers, count(readers, spare), stride::<T>())
}

/// Checks a shape; it may also have no registered readers.
pub(super) fn check<T: Plain>(memory: &Claimed<'_>, readers: u32, spare: u32) -> Result<(), LayoutError> {
    if readers > READERS_MAX {
        return Err(LayoutError::Readers);
    }
    if count(readers, spare) > SLOT as usize + 1 {
        return Err(LayoutError::Capacity);
    }
    fit(memory, bytes::<T>(readers, spare))
}

/// A number of spare slots that is enough if there are no registered readers: none, or 2 for values above a kilobyte.
/// Under a writer that never pauses an observer then reads 64 bytes in 90 ns at the 99th percentile, and 4 KiB in 0.6
/// µs. Without spare slots 4 KiB take 1.2 µs, and with more than 2 the writer's slots no longer fit in its
/// first-level cache. (Measured with a prototype that has a count in each slot, on a Zen 4.)
pub const fn observed_spare<T: Plain>() -> u32 {
    if size_of::<T>() > 1024 { 2 } else { 0 }
}

/// The writer, and an observer that the caller may clone, on one memory without registered readers: [`bytes`] of 0
/// readers. For one slot and one line more, writer and observers have the guarantees of [`super::sdrtw`]: the writer
/// only stores, as there, and an observer that was overtaken gets [`ReaderOvertaken`]. But here only the second write
/// after the copied one overtakes an observer (with spare slots, write `spare` + 2 after it), while with one slot every
/// write disturbs a reader. (Under a writer that never pauses a reader of one slot must retry for milliseconds.)
///
/// ```
/// use taut_share::{Line, Memory, state::hybrid};
///
/// const SPARE: u32 = hybrid::observed_spare::<[u64; 8]>();
/// const LINES: usize = hybrid::bytes::<[u64; 8]>(0, SPARE) / size_of::<Line>();
/// let mut lines = [const { Line::new() }; LINES];
/// let (mut writer, mut display) = hybrid::observed::<[u64; 8]>(Memory::new(&mut lines), SPARE)?;
/// let mut logger = display.clone();
/// writer.write(&[7; 8]);
/// assert_eq!(display.try_read().map(|sample| sample.map(|sample| sample.version)), Ok(Some(1)));
/// assert_eq!(logger.read_if_newer().map(|sample| sample.is_some()), Ok(true));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError`]; there are at most 256 slots (2 more than spare ones).
pub fn observed<T: Plain>(
    memory: Memory<'_>,
    spare: u32,
) -> Result<(Writer<'_, T>, Observer<'_, T>), LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, 0, spare)?;
    Ok((Writer::attach(&memory, 0, spare), Shared::on(&memory, 0, spare).observer()))
}

fn check_readers<T: Plain>(memory: &Claimed<'_>, readers: u32, spare: u32) -> Result<(), LayoutError> {
    if readers == 0 { Err(LayoutError::Readers) } else { check::<T>(memory, readers, spare) }
}

/// The writer and a reader on one memory, with [`spare`] spare slots.
///
/// ```
/// use taut_share::{Line, Memory, state::hybrid};
///
/// let mut lines = [const { Line::new() }; 8];
/// let (mut writer, mut reader) = hybrid::pair::<u64>(Memory::new(&mut lines))?;
/// writer.write(&7);
/// let mut value = 0;
/// assert_eq!((reader.read_into(&mut value), value), (Some(1), 7));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
pub fn pair<T: Plain>(memory: Memory<'_>) -> Result<(Writer<'_, T>, Reader<'_, T>), LayoutError> {
    let memory = memory.claim();
    let spare = spare::<T>();
    check::<T>(&memory, 1, spare)?;
    Ok((Writer::attach(&memory, 1, spare), Reader::attach(&Shared::on(&memory, 1, spare), 0)))
}

/// The writer and `readers` readers on one memory, with `spare` spare slots.
///
/// # Errors
///
/// [`LayoutError`]; there are 1 to [`READERS_MAX`] readers, and at most 256 slots (2 more than readers and spare ones
/// together).
pub fn group<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    spare: u32,
) -> Result<(Writer<'_, T>, Readers<'_, T>), LayoutError> {
    let memory = memory.claim();
    check_readers::<T>(&memory, readers, spare)?;
    Ok((Writer::attach(&memory, readers, spare), Readers::of(Shared::on(&memory, readers, spare))))
}

/// The writer's end alone, for readers that are in other processes or that [`reader`] makes. After the death of a
/// writer, at any step, this call makes its successor.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of readers and of spare slots, or zeros. No other writer of it
/// is alive: the last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    spare: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers, spare)?;
    Ok(Writer::attach(&memory, readers, spare))
}

/// The end of reader `which`, from 0, alone. After the death of that reader, at any step, this call makes its
/// successor.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of readers and of spare slots, or zeros. No other reader of this
/// number is alive: the last one has ended, and its end happens before this call.
pub unsafe fn reader<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    spare: u32,
    which: u32,
) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    check_readers::<T>(&memory, readers, spare)?;
    if which >= readers {
        return Err(LayoutError::Readers);
    }
    Ok(Reader::attach(&Shared::on(&memory, readers, spare), which))
}

/// An observer alone; there may be any number of observers. It only loads: the memory may be mapped read-only.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of readers and of spare slots, or zeros.
pub unsafe fn observer<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    spare: u32,
) -> Result<Observer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers, spare)?;
    Ok(Shared::on(&memory, readers, spare).observer())
}

/// The parts of the object that all ends use.
pub(super) struct Shared<'m, T> {
    latest: &'m AtomicU64,
    claims: Claims<'m>,
    slots: Places<'m, T>,
    stamps: StridedWords<'m>,
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        Self { latest: self.latest, claims: self.claims, slots: self.slots, stamps: self.stamps }
    }
}

impl<'m, T: Plain> Shared<'m, T> {
    /// The caller has checked that the memory fits and that the shape is valid (`check`).
    pub(super) fn on(memory: &Claimed<'m>, readers: u32, spare: u32) -> Self {
        let (at, stride, count) = (slots_at(readers), stride::<T>(), count(readers, spare));
        Self {
            latest: memory.word(LATEST),
            claims: Claims::on(memory, readers, count),
            slots: Places::new(memory, at, stride, count),
            stamps: memory.words(at + word_bytes::<T>(), stride, count),
        }
    }

    pub(super) fn observer(&self) -> Observer<'m, T> {
        Observer { latest: self.latest, slots: self.slots, stamps: self.stamps, seen: NOTHING }
    }
}

/// The end that writes. May be real-time.
pub struct Writer<'m, T> {
    shared: Shared<'m, T>,
    /// The word that this writer, or the one before it, published last.
    newest: u64,
    turns: Turns,
}

impl<'m, T: Plain> Writer<'m, T> {
    pub(super) fn attach(memory: &Claimed<'m>, readers: u32, spare: u32) -> Self {
        let shared = Shared::on(memory, readers, spare);
        // Relaxed: the previous writer has ended, and its end happens before this call.
        let newest = believed(shared.latest.load(Relaxed));
        // SAFETY: below the count, which is that of the stamps (`Turns::after`). Relaxed: as above.
        let stamp = |slot| unsafe { shared.stamps.at(slot) }.load(Relaxed);
        let turns = Turns::after(newest, spare as usize + 2, shared.stamps.count(), stamp);
        Self { shared, newest, turns }
    }

    /// Makes `value` the newest. Wait-free: 2 fences, a load per reader, one copy, 2 stores, and an exchange per
    /// reader that is claiming at this moment.
    #[inline]
    pub fn write(&mut self, value: &T) {
        let slot = self.shared.claims.free(self.newest, &mut self.turns);
        // We use stamps, and not a second load of latest (which would allow at most X writes in between), because the
        // writer stores latest with every write: under a fast writer the second load fetches that line again, while a
        // stamp lies with the value, whose line stays in the reader's cache until the writer fills the slot again.
        self.newest = successor(self.newest, slot);
        // SAFETY: the slot is below the count, which is that of the stamps too.
        unsafe { self.shared.stamps.at(slot) }.store(self.newest, Relaxed);
        fence(Release); // O2 stamp: the stamp before the words.
        // SAFETY: the slot is below the count, and a T fits (layout); T is Plain: no padding; only `store` and
        // `load_into` touch the slots.
        unsafe { self.shared.slots.store(slot, value) };
        self.shared.latest.store(self.newest, Release); // O1 publish
        self.turns.pass();
    }
}

/// The readers of a [`group`]; the iterator yields each once.
pub struct Readers<'m, T> {
    shared: Shared<'m, T>,
    next: u32,
}

impl<'m, T: Plain> Readers<'m, T> {
    pub(super) fn of(shared: Shared<'m, T>) -> Self {
        Self { shared, next: 0 }
    }

    /// An observer of the same object; there may be any number of observers.
    pub fn observer(&self) -> Observer<'m, T> {
        self.shared.observer()
    }
}

impl<'m, T: Plain> Iterator for Readers<'m, T> {
    type Item = Reader<'m, T>;

    fn next(&mut self) -> Option<Reader<'m, T>> {
        if self.next == self.shared.claims.readers() {
            return None;
        }
        self.next += 1;
        Some(Reader::attach(&self.shared, self.next - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.shared.claims.readers() - self.next) as usize;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for Readers<'_, T> {}
impl<T: Plain> FusedIterator for Readers<'_, T> {}

/// An end that reads and leaves no trace; a write may overtake its read.
pub struct Observer<'m, T> {
    latest: &'m AtomicU64,
    slots: Places<'m, T>,
    stamps: StridedWords<'m>,
    /// The word of the value that this end returned last.
    seen: u64,
}

impl<T> Clone for Observer<'_, T> {
    /// One more observer, which has seen what this one has seen.
    fn clone(&self) -> Self {
        Self { latest: self.latest, slots: self.slots, stamps: self.stamps, seen: self.seen }
    }
}

impl<T: Plain> Observer<'_, T> {
    /// The newest value; `None` before the first write.
    ///
    /// # Errors
    ///
    /// [`ReaderOvertaken`]: the writer reused the slot during the read.
    #[inline]
    pub fn try_read(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        let newest = self.latest.load(Relaxed);
        let is_there = newest != NOTHING;
        // SAFETY: `fast` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| is_there.then(|| self.fast(newest, value)).transpose()) }
    }

    /// [`Observer::try_read`] into `value`, which saves a further move of a large value; returns the number of the
    /// write. Before the first write it returns `None`, and `value` is unchanged.
    ///
    /// # Errors
    ///
    /// [`ReaderOvertaken`]: the writer reused the slot during the read, and `value` may hold anything.
    #[inline]
    pub fn try_read_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        let newest = self.latest.load(Relaxed);
        if newest == NOTHING {
            return Ok(None);
        }
        self.fast(newest, uninit(value)).map(Some)
    }

    /// The newest value, if it is not the one that this observer returned last; otherwise `None`, after one load of a
    /// word that only the writer writes.
    ///
    /// # Errors
    ///
    /// [`ReaderOvertaken`]: the writer reused the slot during the read.
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        let newest = self.latest.load(Relaxed);
        let is_newer = newest != self.seen;
        // SAFETY: `fast` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| is_newer.then(|| self.fast(newest, value)).transpose()) }
    }

    /// [`Observer::read_if_newer`] into `value`, without a further move; returns the number of the write. If it
    /// returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`Observer::read_if_newer`]; `value` may then hold anything.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        let newest = self.latest.load(Relaxed);
        if newest == self.seen { Ok(None) } else { self.fast(newest, uninit(value)).map(Some) }
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        // Relaxed: no read relies on it.
        self.latest.load(Relaxed) >> 8
    }

    /// Copies the value of `newest`; returns the number of its write.
    #[inline(always)]
    fn fast(&mut self, newest: u64, value: &mut MaybeUninit<T>) -> Result<u64, ReaderOvertaken> {
        // A fence, and not an Acquire load: for memory that is mapped read-only, the language allows only relaxed
        // loads.
        fence(Acquire); // O1 publish
        if !self.copy(newest, value) {
            return Err(ReaderOvertaken);
        }
        self.seen = newest;
        Ok(newest >> 8)
    }

    /// Copies the slot of `word`; returns whether the copy is of write `word`.
    #[inline(always)]
    fn copy(&self, word: u64, value: &mut MaybeUninit<T>) -> bool {
        // Proof: Suppose a reader loads l from latest, copies its slot, and then finds the stamp l. By O1 it sees
        // every word of write l, or of a later write. Suppose it had seen a word of a later write. That word was
        // stored after the fence that follows the later stamp, and loaded before the fence that precedes the load of
        // the stamp. So by O2 the reader would find that stamp or a later one, and none of these is l (chen's I3). So
        // every word is of write l. If the reader does not find l, the writer has begun to fill the slot again: by I5
        // it has begun X + 2 writes since.
        let slot = self.fill(word, value);
        fence(Acquire); // O2 stamp: the words before the stamp.
        // SAFETY: the slot is below the count.
        unsafe { self.stamps.at(slot) }.load(Relaxed) == word
    }

    /// Copies the slot of `word`; the copy may be torn if the slot is not claimed. Returns the slot's number.
    #[inline(always)]
    fn fill(&self, word: u64, value: &mut MaybeUninit<T>) -> usize {
        // A hostile reader can spoil anything for the other readers. The writer loads only claims, and each claim
        // names at most one slot whatever its value, so one slot is always free and the step bound holds. A hostile
        // writer can make readers return any bits; the readers' bounds hold too. An observer also works where the
        // memory is mapped read-only.
        let slot = slot(word, self.stamps.count());
        // SAFETY: the slot is below the count, and a T fits (layout); only `store` and `load_into` touch the slots.
        unsafe { self.slots.load_into(slot, value) };
        slot
    }
}

/// An end that reads. May be real-time.
///
/// There is one writer, and one reader of each number. They move between threads, but are not shared:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::hybrid};
/// # let mut lines = [const { Line::new() }; 8];
/// let (writer, reader) = hybrid::pair::<u64>(Memory::new(&mut lines)).unwrap();
/// let observers_may_be_many = reader.observer().clone();
/// let second = reader.clone();
/// ```
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::hybrid};
/// # let mut lines = [const { Line::new() }; 8];
/// let (writer, reader) = hybrid::pair::<u64>(Memory::new(&mut lines)).unwrap();
/// let second = writer.clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::hybrid};
/// # fn moved<T: Send>(_: &T) {}
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 8];
/// let (writer, reader) = hybrid::pair::<u64>(Memory::new(&mut lines)).unwrap();
/// moved(&reader);
/// shared(&reader);
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::hybrid};
/// # fn moved<T: Send>(_: &T) {}
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 8];
/// let (writer, reader) = hybrid::pair::<u64>(Memory::new(&mut lines)).unwrap();
/// moved(&writer);
/// shared(&writer);
/// ```
pub struct Reader<'m, T> {
    observer: Observer<'m, T>,
    claim: &'m AtomicU64,
}

impl<'m, T: Plain> Reader<'m, T> {
    /// There must be a reader of that number.
    fn attach(shared: &Shared<'m, T>, which: u32) -> Self {
        // The claim of a dead reader stays in force until this reader's first claim: the slot count allows for it.
        // SAFETY: there is such a reader (callers).
        Self { observer: shared.observer(), claim: unsafe { shared.claims.of(which) } }
    }

    /// The newest value; `None` before the first write. Wait-free: 2 loads, 1 fence and one copy; if the writer
    /// reused the slot during the read, 1 claim and another copy.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        self.read_sample().map(|sample| sample.value)
    }

    /// [`Reader::read`], with the number of the write.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        let newest = self.newest();
        // SAFETY: `take` fills the used bytes of a value.
        unsafe { whole_sample(|value| (newest != NOTHING).then(|| self.take(newest, value))) }
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load of a
    /// word that only the writer writes.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let newest = self.newest();
        let is_newer = newest != self.observer.seen;
        // SAFETY: `take` fills the used bytes of a value.
        unsafe { whole_sample(|value| is_newer.then(|| self.take(newest, value))) }
    }

    /// [`Reader::read`] into `value`, which saves a further move of a large value; returns the number of the write.
    /// Before the first write it returns `None`, and `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        let newest = self.newest();
        (newest != NOTHING).then(|| self.take(newest, uninit(value)))
    }

    /// [`Reader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        let newest = self.newest();
        (newest != self.observer.seen).then(|| self.take(newest, uninit(value)))
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        self.observer.version()
    }

    /// An observer of the same object; there may be any number of observers.
    pub fn observer(&self) -> Observer<'m, T> {
        self.observer.clone()
    }

    /// The word in latest.
    #[inline(always)]
    pub(super) fn newest(&self) -> u64 {
        self.observer.latest.load(Acquire) // O1 publish
    }

    /// Copies the newest value, for which latest had the word `newest`; returns the number of its write.
    #[inline(always)]
    fn take(&mut self, newest: u64, value: &mut MaybeUninit<T>) -> u64 {
        // Proof: Either way a read returns a value that was in latest at some moment of that read. So values never go
        // backwards, not even from one reader to another.
        self.observer.seen = newest;
        if !self.observer.copy(newest, value) {
            self.take_claimed(value);
        }
        self.observer.seen >> 8
    }

    #[cold]
    #[inline(never)]
    fn take_claimed(&mut self, value: &mut MaybeUninit<T>) {
        // Proof: A copy by claim is correct by the proof of `chen`: the writer does not touch its slot while it is
        // claimed.
        self.observer.seen = claim(self.claim, self.observer.latest);
        // No check is needed: the writer leaves the slot alone while it is claimed (chen, I1).
        self.observer.fill(self.observer.seen, value);
    }

    /// Copies the newest value, always by claim; makes no new claim while `newest` equals `held`. Returns the number
    /// of its write.
    #[inline]
    pub(super) fn read_held(
        &mut self,
        newest: u64,
        held: &mut u64,
        value: &mut MaybeUninit<T>,
    ) -> Option<u64> {
        if newest != *held {
            *held = claim(self.claim, self.observer.latest);
        }
        if *held == NOTHING {
            return None;
        }
        // The writer leaves the slot alone while it is claimed (chen, I1).
        self.observer.fill(*held, value);
        Some(*held >> 8)
    }
}

crate::ends::ends! {
    write Writer;
    read Reader;
    read Observer: ReaderOvertaken = try_read try_read_into read_if_newer;
}

// # Checked
//
// - `tests/claims/behaviour.rs`: values, errors, successors; also Miri
// - `tests/claims/steps.rs`: the bounds above, counted
// - `tests/claims/printed.rs`: the errors that one slot fewer would cause
// - the programs over all protocols: `conformance`, `stress`, `loom`, `shuttle`, `processes`, `deaths`, `hostile`
//
// `tests/claims/loom.rs`, payload of 2 words, no bound on preemptions: without spare slots 4 writes × 1 read, 8 183
// executions, and 3 × 2, 10 954; with 1, 5 × 1: 10 760; observers on 2 slots, 3 × 2: 5 010; with bound 2: 2 readers,
// 4 × 1, 9 182. Weakening O1, or leaving out the Release fence of O2, the load of the stamp, or any of the claims'
// fences, fails there.
//
// Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Release store that
// ends a claim forbids what it could do to a copy by claim); AArch64 hardware. The thread sanitizer does not model
// fences, and every access here is atomic, so it has nothing to report.
