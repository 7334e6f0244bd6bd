// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Hybrid: newest value; one writer, many registered readers, wait-free on both sides; a read does not write.
//!
//! # Use
//!
//! The first choice for a newest value, with one reader or many, real-time on either side or both. A reader copies
//! the newest slot and sees by the slot's stamp whether the writer came back to it meanwhile; the more spare slots,
//! the rarer. Then, once, it takes the other way, a claim as in [`super::chen`], which always ends well. Any number
//! of [`Observer`]s may look on beside the readers: they leave no trace, and are told when they were overtaken.
//!
//! Are values used in place and not copied: [`super::chen`]. Are there readers whose speed is known:
//! [`super::improved_chen`] saves their slots. Must memory be least: [`super::sdrtw`], if readers may be told `Retry`.
//!
//! A value of more than a few cache lines is better read by [`Reader::read_into`]: what is returned by value is moved
//! once more.
//!
//! ```
//! use taut_share::{Line, Memory, state::hybrid};
//!
//! let mut lines = [const { Line::new() }; 8];
//! let (mut writer, mut reader) = hybrid::pair::<u64>(Memory::new(&mut lines))?;
//! writer.write(&7);
//! let mut value = 0;
//! assert_eq!((reader.read_into(&mut value), value), (Some(1), 7));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! Writer and readers are one each, and move between threads, but are not shared:
//!
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::hybrid};
//! # let mut lines = [const { Line::new() }; 8];
//! let (writer, reader) = hybrid::pair::<u64>(Memory::new(&mut lines)).unwrap();
//! let observers_may_be_many = reader.observer().clone();
//! let second = reader.clone();
//! ```
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::hybrid};
//! # let mut lines = [const { Line::new() }; 8];
//! let (writer, reader) = hybrid::pair::<u64>(Memory::new(&mut lines)).unwrap();
//! let second = writer.clone();
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::hybrid};
//! # fn moved<T: Send>(_: &T) {}
//! fn shared<T: Sync>(_: &T) {}
//! # let mut lines = [const { Line::new() }; 8];
//! let (writer, reader) = hybrid::pair::<u64>(Memory::new(&mut lines)).unwrap();
//! moved(&reader);
//! shared(&reader);
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::hybrid};
//! # fn moved<T: Send>(_: &T) {}
//! fn shared<T: Sync>(_: &T) {}
//! # let mut lines = [const { Line::new() }; 8];
//! let (writer, reader) = hybrid::pair::<u64>(Memory::new(&mut lines)).unwrap();
//! moved(&writer);
//! shared(&writer);
//! ```
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`reader`] see to it).
//!
//! |                                          | write | read of this reader | read of another, of observers |
//! |------------------------------------------|-------|---------------------|-------------------------------|
//! | `write`                                  | X     | -                   | -                             |
//! | `read`, `read_into`, `read_if_newer`, `version` | -     | X                   | -                             |
//! | an observer's                            | -     | -                   | -                             |
//!
//! # Progress
//!
//! W = ⌈size of a value / 8⌉ words, P readers, X spare slots. Writer and readers are wait-free; neither needs
//! anything from the other.
//!
//! | operation       | bound                                                                                     |
//! |-----------------|-------------------------------------------------------------------------------------------|
//! | `write`         | 2 fences (1 free on x86-64) + P loads + W words + 2 stores; 1 exchange more per reader that is in the middle of a claim |
//! | `read`, `read_into` | 2 loads + W words + 1 fence (free on x86-64); overtaken by X + 1 writes at least: 1 load + 1 store + 1 fence + 1 exchange + W words more |
//! | `read_if_newer` | `read`; 1 load if nothing is new                                                          |
//! | an observer's `try_read` | 2 loads + W words + 2 fences; then it is told                                    |
//! | `version`       | 1 load                                                                                    |
//!
//! # State
//!
//! ```text
//! byte 0            latest: number of the newest write × 256 + its slot; 0 before the first (the writer's)
//! byte 128 × (1+i)  claim of reader i, as in chen: 0 until its first one
//! byte 128 × (1+P)  P + 2 + X slots, each on cache lines of its own: a value, and behind it its stamp, which is
//!                   what latest is or will be once the value is complete (the writer's)
//! ```
//!
//! # Invariants
//!
//! - I1 to I3 as in [`super::chen`], but that I2 holds for copies by claim alone: other copies go on in any slot, so
//!   values are stored and loaded in relaxed words.
//! - I4 While a slot's stamp is s, its words are those of write s, some of them perhaps not stored yet; when s stands,
//!   or stood, in latest, all of them are.
//! - I5 A slot that write n filled is filled again by write n + X + 2 at the earliest: the writer fills X + 2 slots in
//!   turn. For one that is claimed it takes one of the other P, which have rested longer, and one of which is free.
//!
//! # Orderings
//!
//! - O1 publish: Release of the latest store ↔ Acquire of the readers' latest loads, and an Acquire fence behind the observers'.
//! - O2 stamp: Release fence between the stamp's store and the value's words ↔ Acquire fence between those words'
//!   loads and the stamp's.
//! - Of claims as in [`super::chen`], whose code they are.
//!
//! # Proof
//!
//! Let a reader load l from latest and copy its slot, and then find the stamp l. By O1 it sees every word of write l,
//! or later ones. Had it seen a word of a later write, then by O2 (that word was stored after the fence that follows
//! the later stamp, and loaded before the fence that the stamp's load follows) it would find that stamp or one still
//! later, none of which is l (chen's I3). So every word is of write l. If it does not find l, the writer has begun to
//! fill the slot again: by I5 it has begun X + 2 writes since.
//!
//! A copy by claim is right by the proof of `chen`: its slot is not touched from the claim on.
//!
//! Either way a read gives what was in latest at a moment of that read, so values never go backwards, from one
//! reader to another neither.
//!
//! # Crash
//!
//! | who dies, where               | what the others see  | what goes on                                                 |
//! |-------------------------------|----------------------|--------------------------------------------------------------|
//! | writer, before its latest store | the newest value   | a new [`writer`] looks at the claims anew, and takes a free slot |
//! | writer, after it              | the new value        | the same                                                     |
//! | reader, in its first attempt, or observer | nothing  | there is no trace                                            |
//! | reader, in a claim or after it | nothing             | the slot that it claimed stays reserved, which is paid for; a new [`reader`] of the same number keeps that until it claims itself |
//!
//! A hostile reader can spoil anything for the other readers; the writer loads only claims, each names at most one
//! slot whatever it is, so one is always free and the step bound stands. A hostile writer can make readers return
//! any bits; their bounds stand too. An observer works where the memory is mapped for reading alone.
//!
//! # Source
//!
//! Chen and Burns with fast readers as in [Huang 2002], joined: there a reader is slow, and claims, or fast, and relies
//! on time; here each is fast first, sees whether time was enough, and is slow if not. The stamp is the version word
//! of [Kopetz 1993], one per slot.
//!
//! Why stamps, and not a second look at latest (after which X writes at most may have come in between): the writer
//! stores latest with every write, so under a fast writer the second look fetches that line again, while a stamp
//! lies with the value, whose line stays here until the slot is filled again.
//!
//! # Checked
//!
//! - `tests/behaviour_chen.rs`: values, errors, successors; also Miri
//! - `tests/steps_chen.rs`: the bounds above, counted
//! - `tests/printed_chen.rs`: the mistakes that a slot fewer would bring
//! - the programs over all protocols: `conformance`, `stress`, `loom`, `shuttle`, `processes`, `deaths`, `hostile`
//!
//! `tests/loom_chen.rs`, payload of 2 words, no bound on preemptions: without spare slots 4 writes × 1 read, 8 183
//! executions, and 3 × 2, 10 954; with 1, 5 × 1: 10 760; observers on 2 slots, 3 × 2: 5 010; with bound 2: 2 readers,
//! 4 × 1, 9 182. O1 weakened, the Release fence of O2, the look at the stamp, and each of the claims' fences left out
//! fail there.
//!
//! Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Release with which a
//! claim is given back forbids what it could do to a copy by claim); AArch64 hardware. The thread sanitizer does not
//! know fences, and every access here is atomic: it can say nothing.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, Memory, Words, fence};

use super::chen::{
    Claims, LATEST, NOTHING, READERS_MAX, SLOT, claim, object_bytes, slot, slots_at, successor,
};
use super::turns::Turns;
pub use super::{Overrun, Sample};
use super::{believed, sample, whole_sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, word_bytes};
use crate::{LayoutError, Plain};

/// Spare slots that are enough for most: 6, or 2 for values above 2 KiB. They buy that a read is seldom overtaken by a
/// writer that never pauses; but more slots than the first cache holds make each write slower. 4 KiB on a Zen 4, beside
/// 1, 4 and 20 readers: with 3 a write takes 6, 30 and 39 % longer than with 2, and a read as long; with 1 a read takes
/// 16 to 37 % longer.
pub const fn spare<T: Plain>() -> u32 {
    if size_of::<T>() > 2048 { 2 } else { 6 }
}

/// A slot: the value and its stamp.
const fn stride<T: Plain>() -> usize {
    (word_bytes::<T>() + 8).next_multiple_of(64)
}

const fn count(readers: u32, spare: u32) -> usize {
    (readers as usize).saturating_add(2).saturating_add(spare as usize)
}

/// Bytes that an object for `T`, so many readers and so many spare slots needs.
pub const fn bytes<T: Plain>(readers: u32, spare: u32) -> usize {
    object_bytes(readers, count(readers, spare), stride::<T>())
}

/// Checks a shape, also one without readers that claim.
pub(super) fn check<T: Plain>(memory: &Claimed<'_>, readers: u32, spare: u32) -> Result<(), LayoutError> {
    if readers > READERS_MAX {
        return Err(LayoutError::Readers);
    }
    if count(readers, spare) > SLOT as usize + 1 {
        return Err(LayoutError::Capacity);
    }
    fit(memory, bytes::<T>(readers, spare))
}

/// Spare slots that are enough where nobody is registered: none, or 2 for values from a kilobyte on. Under a writer that
/// never pauses an observer then reads 64 bytes in 90 ns at the 99th percentile, and 4 KiB in 0.6 µs; with none 4 KiB take
/// 1.2 µs, and more than 2 cost the writer its first cache. (Of a prototype with a count in each slot, on a Zen 4.)
pub const fn observed_spare<T: Plain>() -> u32 {
    if size_of::<T>() > 1024 { 2 } else { 0 }
}

/// The writer, and an observer to be cloned, on one memory, where nobody is registered: [`bytes`] of 0 readers. It is
/// [`super::sdrtw`]'s promise, all that write and read, on one slot more and a line: the writer only stores, as there, and
/// a reader that was overtaken is told, but it is overtaken only by the second write behind the one that it copies (by the
/// one behind `spare` + 1), where one slot lets every write disturb it. (Under a writer that never pauses a reader of one
/// slot has to try again for milliseconds.)
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
/// [`LayoutError`]; slots (2 more than spare ones) are at most 256.
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

/// The writer and a reader on one memory, with [`spare`] slots to spare.
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

/// The writer and so many readers on one memory, with so many spare slots.
///
/// # Errors
///
/// [`LayoutError`]; readers are 1 to [`READERS_MAX`], slots (2 more than readers and spare together) at most 256.
pub fn group<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    spare: u32,
) -> Result<(Writer<'_, T>, Readers<'_, T>), LayoutError> {
    let memory = memory.claim();
    check_readers::<T>(&memory, readers, spare)?;
    Ok((Writer::attach(&memory, readers, spare), Readers::of(Shared::on(&memory, readers, spare))))
}

/// The writer's end alone, where the readers are in other processes or made by [`reader`]. After the death of a
/// writer, at any step, the next one goes on here.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, number of readers and of spare slots, or zeros; no other
/// writer of it lives: the last one has ended, and this call comes after that.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    spare: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers, spare)?;
    Ok(Writer::attach(&memory, readers, spare))
}

/// The end of reader `which`, from 0, alone. After the death of that reader, at any step, the next one goes on here.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, number of readers and of spare slots, or zeros; no other
/// reader of this number lives: the last one has ended, and this call comes after that.
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

/// An observer alone; there may be any number. It only loads: the memory may be mapped for reading alone.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, number of readers and of spare slots, or zeros.
pub unsafe fn observer<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    spare: u32,
) -> Result<Observer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers, spare)?;
    Ok(Shared::on(&memory, readers, spare).observer())
}

/// What all ends look at.
pub(super) struct Shared<'m, T> {
    latest: &'m AtomicU64,
    claims: Claims<'m>,
    slots: Places<'m, T>,
    stamps: Words<'m>,
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        Self { latest: self.latest, claims: self.claims, slots: self.slots, stamps: self.stamps }
    }
}

impl<'m, T: Plain> Shared<'m, T> {
    /// The memory fits, and this shape may be (`check`).
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
    /// What this writer, or the one before it, has published last.
    newest: u64,
    turns: Turns,
}

impl<'m, T: Plain> Writer<'m, T> {
    pub(super) fn attach(memory: &Claimed<'m>, readers: u32, spare: u32) -> Self {
        let shared = Shared::on(memory, readers, spare);
        // Relaxed: the writer before us has ended, which this call comes after.
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
        self.newest = successor(self.newest, slot);
        // SAFETY: the slot is below the count, which is that of the stamps too.
        unsafe { self.shared.stamps.at(slot) }.store(self.newest, Relaxed);
        fence(Release); // O2 stamp: the stamp before the words.
        // SAFETY: the slot is below the count, and a T fits (layout); T is Plain: no padding; slots are never touched
        // otherwise than by `store` and `load`.
        unsafe { self.shared.slots.store(slot, value) };
        self.shared.latest.store(self.newest, Release); // O1 publish
        self.turns.pass();
    }
}

/// The readers of a [`group`], each once.
pub struct Readers<'m, T> {
    shared: Shared<'m, T>,
    next: u32,
}

impl<'m, T: Plain> Readers<'m, T> {
    pub(super) fn of(shared: Shared<'m, T>) -> Self {
        Self { shared, next: 0 }
    }

    /// An observer of the same object; there may be any number.
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

/// An end that reads and leaves no trace; it may be overtaken.
pub struct Observer<'m, T> {
    latest: &'m AtomicU64,
    slots: Places<'m, T>,
    stamps: Words<'m>,
    /// The word of the value that was returned last.
    seen: u64,
}

impl<T> Clone for Observer<'_, T> {
    /// One more observer, which has seen what this one has.
    fn clone(&self) -> Self {
        Self { latest: self.latest, slots: self.slots, stamps: self.stamps, seen: self.seen }
    }
}

impl<T: Plain> Observer<'_, T> {
    /// The newest value; `None` before the first write.
    ///
    /// # Errors
    ///
    /// [`Overrun`]: the writer came back to the slot meanwhile.
    #[inline]
    pub fn try_read(&mut self) -> Result<Option<Sample<T>>, Overrun> {
        let newest = self.latest.load(Relaxed);
        let is_there = newest != NOTHING;
        // SAFETY: `fast` fills what a value uses, if it gives a number.
        unsafe { sample(|value| is_there.then(|| self.fast(newest, value)).transpose()) }
    }

    /// [`Observer::try_read`] into `value`, which saves moving a large one again; the result is the number of the
    /// write. Before the first write it is `None`, and `value` is as it was.
    ///
    /// # Errors
    ///
    /// [`Overrun`]: the writer came back to the slot meanwhile, and `value` holds anything.
    #[inline]
    pub fn try_read_into(&mut self, value: &mut T) -> Result<Option<u64>, Overrun> {
        let newest = self.latest.load(Relaxed);
        if newest == NOTHING {
            return Ok(None);
        }
        self.fast(newest, uninit(value)).map(Some)
    }

    /// The newest value if it is another one than this observer returned last; else `None`, after one load of a word
    /// that only the writer writes.
    ///
    /// # Errors
    ///
    /// [`Overrun`]: the writer came back to the slot meanwhile.
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, Overrun> {
        let newest = self.latest.load(Relaxed);
        let is_newer = newest != self.seen;
        // SAFETY: `fast` fills what a value uses, if it gives a number.
        unsafe { sample(|value| is_newer.then(|| self.fast(newest, value)).transpose()) }
    }

    /// [`Observer::read_if_newer`] into `value`, which is not moved again; the result is the number of the write. If it is
    /// `None`, `value` is as it was.
    ///
    /// # Errors
    ///
    /// As [`Observer::read_if_newer`]; `value` holds anything then.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, Overrun> {
        let newest = self.latest.load(Relaxed);
        if newest == self.seen { Ok(None) } else { self.fast(newest, uninit(value)).map(Some) }
    }

    /// The number of the newest write, 0 before the first. By the time it is looked at it may be past.
    #[inline]
    pub fn version(&self) -> u64 {
        // Relaxed: nothing is read on the strength of it.
        self.latest.load(Relaxed) >> 8
    }

    /// Copies the value of `newest`; its number.
    #[inline(always)]
    fn fast(&mut self, newest: u64, value: &mut MaybeUninit<T>) -> Result<u64, Overrun> {
        // A fence, and not the load: of memory that is mapped for reading only, the language allows relaxed loads
        // alone.
        fence(Acquire); // O1 publish
        if !self.copy(newest, value) {
            return Err(Overrun);
        }
        self.seen = newest;
        Ok(newest >> 8)
    }

    /// Copies the slot of `word`; whether what it copied is of write `word`.
    #[inline(always)]
    fn copy(&self, word: u64, value: &mut MaybeUninit<T>) -> bool {
        let slot = self.fill(word, value);
        fence(Acquire); // O2 stamp: the words before the stamp.
        // SAFETY: the slot is below the count.
        unsafe { self.stamps.at(slot) }.load(Relaxed) == word
    }

    /// Copies the slot of `word`, torn perhaps if it is not claimed; its number.
    #[inline(always)]
    fn fill(&self, word: u64, value: &mut MaybeUninit<T>) -> usize {
        let slot = slot(word, self.stamps.count());
        // SAFETY: the slot is below the count, and a T fits (layout); slots are never touched otherwise than by
        // `store` and `load`.
        unsafe { self.slots.load_into(slot, value) };
        slot
    }
}

/// An end that reads. May be real-time.
pub struct Reader<'m, T> {
    observer: Observer<'m, T>,
    claim: &'m AtomicU64,
}

impl<'m, T: Plain> Reader<'m, T> {
    /// There is a reader of that number.
    fn attach(shared: &Shared<'m, T>, which: u32) -> Self {
        // A claim that a dead reader left stands until this one's first: its slot is paid for.
        // SAFETY: there is such a reader (callers).
        Self { observer: shared.observer(), claim: unsafe { shared.claims.of(which) } }
    }

    /// The newest value; `None` before the first write. Wait-free: 2 loads, 1 fence and one copy; if the writer came
    /// back to the slot meanwhile, a claim and another copy.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        self.read_sample().map(|sample| sample.value)
    }

    /// [`Reader::read`], with the number of the write.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        let newest = self.newest();
        // SAFETY: `take` fills what a value uses.
        unsafe { whole_sample(|value| (newest != NOTHING).then(|| self.take(newest, value))) }
    }

    /// The newest value if it is another one than this reader's last; else `None`, after one load of a word that
    /// only the writer writes.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let newest = self.newest();
        let is_newer = newest != self.observer.seen;
        // SAFETY: `take` fills what a value uses.
        unsafe { whole_sample(|value| is_newer.then(|| self.take(newest, value))) }
    }

    /// [`Reader::read`] into `value`, which saves moving a large one again; the result is the number of the write.
    /// Before the first write it is `None`, and `value` is as it was.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        let newest = self.newest();
        (newest != NOTHING).then(|| self.take(newest, uninit(value)))
    }

    /// [`Reader::read_if_newer`] into `value`, which is not moved again; the result is the number of the write. If it is
    /// `None`, `value` is as it was.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        let newest = self.newest();
        (newest != self.observer.seen).then(|| self.take(newest, uninit(value)))
    }

    /// The number of the newest write, 0 before the first. By the time it is looked at it may be past.
    #[inline]
    pub fn version(&self) -> u64 {
        self.observer.version()
    }

    /// An observer of the same object; there may be any number.
    pub fn observer(&self) -> Observer<'m, T> {
        self.observer.clone()
    }

    /// What stands in latest.
    #[inline(always)]
    pub(super) fn newest(&self) -> u64 {
        self.observer.latest.load(Acquire) // O1 publish
    }

    /// Copies the newest value, which latest named as `newest`; its number.
    #[inline(always)]
    fn take(&mut self, newest: u64, value: &mut MaybeUninit<T>) -> u64 {
        self.observer.seen = newest;
        if !self.observer.copy(newest, value) {
            self.take_claimed(value);
        }
        self.observer.seen >> 8
    }

    #[cold]
    #[inline(never)]
    fn take_claimed(&mut self, value: &mut MaybeUninit<T>) {
        self.observer.seen = claim(self.claim, self.observer.latest);
        // Nothing to be checked: the slot is left alone while it is claimed (chen, I1).
        self.observer.fill(self.observer.seen, value);
    }

    /// Copies the newest value, by claim alone; nothing is claimed anew while `newest` is `held`. Its number.
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
        // The slot is left alone as long as it is claimed (chen, I1).
        self.observer.fill(*held, value);
        Some(*held >> 8)
    }
}
