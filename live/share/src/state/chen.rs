// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chen: newest value; one writer, many registered readers, wait-free on both sides; values may be used in place.
//!
//! # Use
//! Large values that are built and looked at where they lie (images, maps, point clouds), both sides real-time:
//! [`Writer::write_with`], [`Reader::read_with`]. A reader keeps what it read last, so an unchanged value costs it
//! nothing. If the values are copied anyway, [`super::hybrid`] is faster with the same guarantees: there a read does
//! not write.
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`reader`] ensure it).
//!
//! |                       | write | read of this reader | read of another |
//! |-----------------------|-------|---------------------|-----------------|
//! | `write`, `write_with` | X     | -                   | -               |
//! | `read`, `read_with`, `read_if_newer`, `has_newer`, `version` | - | X | - |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words, P readers. Both sides are wait-free; neither waits for the other.
//!
//! | operation       | bound                                                                                    |
//! |-----------------|------------------------------------------------------------------------------------------|
//! | `write`         | 1 fence + P loads + W words + 1 store; 1 exchange more per reader that is in the middle of a claim |
//! | `write_with`    | the same, with the time of the closure instead of the words                              |
//! | `read`          | 2 loads + 1 store + 1 fence + 1 exchange + W words; 1 load + W words if nothing is new    |
//! | `read_with`     | the same, with the time of the closure instead of the words                              |
//! | `read_if_newer` | `read`; 1 load if nothing is new                                                         |
//! | `has_newer`, `version` | 1 load                                                                            |
//!
//! # Orderings
//! - O1 publish: Release of the latest store ↔ Acquire of the reader's latest loads.
//! - O2 return: Release of the reader's EMPTY store ↔ Acquire of the writer's claim load and of its exchange.
//! - O3 cross: SeqCst fence of the writer, between its latest store and its claim loads ↔ SeqCst fence of the
//!   reader, between its EMPTY store and its latest load.
//! - O4 settle: Release of the writer's exchange on a claim ↔ Acquire of the reader's that finds it.
//!
//! # Crash
//! | death of                      | what the others see | recovery                                                      |
//! |-------------------------------|---------------------|---------------------------------------------------------------|
//! | writer, before its latest store | the newest value  | a new [`writer`] loads the claims again, and takes a free slot |
//! | writer, after it              | the new value       | the same                                                      |
//! | reader, without a claim       | nothing             | the next write settles its claim; as below                     |
//! | reader, with a claim          | nothing             | its slot stays reserved, which the slot count allows for; a new [`reader`] of the same number makes a new claim |
//!
//! # Source
//! [Chen 1997] as in [Huang 2002, Fig. 3]. We differ: we add fences (as printed, the store of the claim and the load
//! of latest are a store buffering pattern, which no Acquire and Release forbids); the writer alternates between two
//! slots, and takes others while one is claimed, where the printed search, which has no bound, goes round all slots
//! and leaves the first-level cache; the reader uses the exchange's result instead of a third load; the writer loads
//! the claims once, before a write, and exchanges only with those that are EMPTY; a reader keeps its claim while
//! nothing is new; claims are whole words, so that no slot need be valid at first.

use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, StridedWords, fence};

pub use super::Sample;
use super::turns::Turns;
use super::{believed, whole_sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

/// The maximum number of readers of one object.
pub const READERS_MAX: u32 = 250;

// # State
//
// ```text
// byte 0            latest: number of the newest write × 256 + its slot; 0 before the first (the writer's)
// byte 128 × (1+i)  claim of reader i: a word that was in latest; EMPTY = 1 while the reader claims; 0 before its
//                   first read
// byte 128 × (1+P)  P + 2 slots, each on cache lines of its own
// ```
//
// # Invariants
//
// - I1 The writer writes a slot that is not latest's, and that no claim names which the writer found after it had
//   published latest. One slot is free: at most P + 1 of the P + 2 slots are excluded.
// - I2 A reader copies only the slot that its claim names, and only while its claim names it.
// - I3 Latest never takes the same value twice (2⁵⁶ writes: 2²⁶ a second last 34 years).

pub(super) const LATEST: usize = 0;
const CLAIMS: usize = LINE_BYTES;

/// The value of `latest` before the first write, and of a claim before the first read.
pub(super) const NOTHING: u64 = 0;
/// The value of a claim while its reader is between two claims. It is no word of `latest`, because the numbers of
/// those begin at 1.
const EMPTY: u64 = 1;
/// The bits of a word that name its slot; the others count writes.
pub(super) const SLOT: u64 = 0xFF;

const fn stride<T: Plain>() -> usize {
    word_bytes::<T>().next_multiple_of(64)
}

/// The offset of the first slot in an object for `readers` readers.
pub(super) const fn slots_at(readers: u32) -> usize {
    LINE_BYTES.saturating_mul((readers as usize).saturating_add(1))
}

/// Bytes of an object of `slots` slots, `stride` bytes apart.
pub(super) const fn object_bytes(readers: u32, slots: usize, stride: usize) -> usize {
    line_bytes(stride.saturating_mul(slots).saturating_add(slots_at(readers)))
}

/// Bytes that an object for `T` and `readers` readers needs.
pub const fn bytes<T: Plain>(readers: u32) -> usize {
    object_bytes(readers, (readers as usize).saturating_add(2), stride::<T>())
}

fn check<T: Plain>(memory: &Claimed<'_>, readers: u32) -> Result<(), LayoutError> {
    if readers == 0 || readers > READERS_MAX {
        return Err(LayoutError::Readers);
    }
    fit(memory, bytes::<T>(readers))
}

/// The writer and a reader on one memory.
///
/// ```
/// use taut_share::{Line, Memory, state::chen};
///
/// const LINES: usize = chen::bytes::<[u16; 640]>(1) / size_of::<Line>();
/// let mut lines = [const { Line::new() }; LINES];
/// let (mut camera, mut detector) = chen::pair::<[u16; 640]>(Memory::new(&mut lines))?;
/// camera.write_with(|image| image.fill(3));
/// let sum = detector.read_with(|image| image.iter().map(|pixel| u32::from(*pixel)).sum::<u32>());
/// assert_eq!(sum, Some(1920));
/// assert!(!detector.has_newer());
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
pub fn pair<T: Plain>(memory: Memory<'_>) -> Result<(Writer<'_, T>, Reader<'_, T>), LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, 1)?;
    Ok((Writer::attach(&memory, 1), Reader::attach(&Shared::on(&memory, 1), 0)))
}

/// The writer and `readers` readers on one memory.
///
/// # Errors
///
/// [`LayoutError`]; there are 1 to [`READERS_MAX`] readers.
pub fn group<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
) -> Result<(Writer<'_, T>, Readers<'_, T>), LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers)?;
    Ok((Writer::attach(&memory, readers), Readers { shared: Shared::on(&memory, readers), next: 0 }))
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
/// The memory holds this object for this `T` and number of readers, or zeros. No other writer of it is alive: the
/// last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>, readers: u32) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers)?;
    Ok(Writer::attach(&memory, readers))
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
    Ok(Reader::attach(&Shared::on(&memory, readers), which))
}

/// The slot that `word` names: below `slots`, whatever the word is.
#[inline(always)]
pub(super) fn slot(word: u64, slots: usize) -> usize {
    // A hostile reader can spoil latest and the claims for the other readers: the writer loads only claims, and each
    // claim names at most one slot whatever its value, so one of P + 2 slots is free and the step bound holds. Then
    // slots are no longer exclusive; see [`Memory::from_raw`] on the forms in place. A hostile writer can make readers
    // return any bits.
    let slot = (word & SLOT) as usize;
    if slot < slots { slot } else { no_slot() }
}

/// For a word that names no slot. A cold call, so that the processor predicts that every word is valid, and does not
/// wait for the comparison.
#[cold]
#[inline(never)]
fn no_slot() -> usize {
    0
}

/// The word after `newest`, for the write into `slot`.
#[inline(always)]
pub(super) fn successor(newest: u64, slot: usize) -> u64 {
    (newest | SLOT).wrapping_add(1) | slot as u64
}

/// The claims of all readers, and how many slots there are to claim: at least 2 more than readers.
#[derive(Clone, Copy)]
pub(super) struct Claims<'m> {
    words: StridedWords<'m>,
    slots: usize,
}

impl<'m> Claims<'m> {
    pub(super) fn on(memory: &Claimed<'m>, readers: u32, slots: usize) -> Self {
        debug_assert!(slots >= readers as usize + 2 && slots <= SLOT as usize + 1);
        Self { words: memory.words(CLAIMS, LINE_BYTES, readers as usize), slots }
    }

    pub(super) fn readers(&self) -> u32 {
        self.words.count() as u32
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The claim of reader `which`.
    ///
    /// # Safety
    ///
    /// There is such a reader.
    pub(super) unsafe fn of(&self, which: u32) -> &'m AtomicU64 {
        // SAFETY: below the count (caller).
        unsafe { self.words.at(which as usize) }
    }

    /// For the writer, which published `newest` last: a slot that no reader copies (I1), either the one whose turn it
    /// is or one that takes its place. At most one fence, and a load and an exchange per reader; without readers,
    /// none of these.
    #[inline(always)]
    pub(super) fn free(&self, newest: u64, turns: &mut Turns) -> usize {
        // Proof: Suppose the writer has published l, and loads a claim before it writes slot w. If the writer's fence
        // comes before the reader's (O3), the reader's next claim is of l or of a later word, and so not of w, which
        // the writer publishes only after it has written it. If the reader's fence comes first, the writer's load
        // finds EMPTY or a later value of the claim. If it finds EMPTY, its exchange makes l the claim, unless the
        // reader's exchange came in between; then the writer's exchange returns the reader's claim. So for each reader
        // the writer knows the one claim before l that can be in force while it writes w, and avoids its slot (I1). By
        // O2 the reader's earlier copies are over: when the writer finds a later claim, those copies happened before.
        // This holds for the exchange as for the load: between the two, the reader may have finished one read and
        // begun another.

        // The search for a free slot takes at most P + 1 steps on private memory. The writer's fence comes before a
        // write and not after it: so the stores of the previous write have time to complete before the fence.

        // Without readers no claim can follow, so there is nothing to order.
        if self.words.count() > 0 {
            fence(SeqCst); // O3 cross: the latest store before the claim loads.
        }
        // One word of marks stays in a register.
        if self.slots <= 64 {
            self.unclaimed::<1>(newest, turns)
        } else {
            self.unclaimed_of_many(newest, turns)
        }
    }

    #[inline(never)]
    fn unclaimed_of_many(&self, newest: u64, turns: &mut Turns) -> usize {
        self.unclaimed::<4>(newest, turns)
    }

    #[inline(always)]
    fn unclaimed<const WORDS: usize>(&self, newest: u64, turns: &mut Turns) -> usize {
        // A claim marks one slot, whatever the claim is. If a wrong word names a slot out of range, it marks an
        // existing slot or none.
        let mut marks = [0u64; WORDS];
        let at = |slot: usize| (slot / 64 % WORDS, 1u64 << (slot % 64));
        for which in 0..self.words.count() {
            // SAFETY: below the count.
            let claim = unsafe { self.words.at(which) };
            let held = claim.load(Acquire); // O2 return
            let held = if held == EMPTY { settle(claim, newest) } else { held };
            let (word, bit) = at((held & SLOT) as usize);
            marks[word] |= bit;
        }
        turns.unmarked(|slot| {
            let (word, bit) = at(slot);
            marks[word] & bit != 0
        })
    }
}

/// For the writer, which found a claim EMPTY: sets that reader's claim to `newest`, unless the reader has claimed in
/// the meantime.
#[cold]
fn settle(claim: &AtomicU64, newest: u64) -> u64 {
    // O4 settle (Release): the content of newest's slot, for tools that do not model the fence. O2 return (Acquire):
    // since the load that found EMPTY, the reader may have copied, and released, another slot.
    match claim.compare_exchange(EMPTY, newest, AcqRel, Acquire) {
        Ok(_) => newest,
        Err(held) => held,
    }
}

/// For a reader: releases its last slot and claims the newest. Returns the claim; the content of its slot is then
/// visible. 1 load, 1 store, 1 fence, 1 exchange.
#[inline]
pub(super) fn claim(claim: &AtomicU64, latest: &AtomicU64) -> u64 {
    // Proof: Each read returns a value that was in latest at some moment of that read: at the reader's load of latest,
    // or, if the writer settled the claim, at the writer's exchange, because the writer publishes its next value after
    // that. So values never go backwards, not even from one reader to another.
    claim.store(EMPTY, Release); // O2 return: our copy is over.
    fence(SeqCst); // O3 cross: the EMPTY store before the latest load.
    let newest = latest.load(Acquire); // O1 publish
    // O4 settle (Acquire): the writer was faster, and its word is the newer one.
    match claim.compare_exchange(EMPTY, newest, Relaxed, Acquire) {
        Ok(_) => newest,
        Err(settled) => settled,
    }
}

/// The parts of the object that all ends use.
struct Shared<'m, T> {
    latest: &'m AtomicU64,
    claims: Claims<'m>,
    slots: Places<'m, T>,
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        Self { latest: self.latest, claims: self.claims, slots: self.slots }
    }
}

impl<'m, T: Plain> Shared<'m, T> {
    /// The caller has checked that the memory fits and that the number of readers is valid (`check`).
    fn on(memory: &Claimed<'m>, readers: u32) -> Self {
        let count = readers as usize + 2;
        Self {
            latest: memory.word(LATEST),
            claims: Claims::on(memory, readers, count),
            slots: Places::new(memory, slots_at(readers), stride::<T>(), count),
        }
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
    fn attach(memory: &Claimed<'m>, readers: u32) -> Self {
        let shared = Shared::on(memory, readers);
        // Relaxed: the previous writer has ended, and its end happens before this call.
        let newest = believed(shared.latest.load(Relaxed));
        let turns = Turns::after(newest, 2, shared.claims.slots, |_| 0);
        Self { shared, newest, turns }
    }

    /// Makes `value` the newest. Wait-free: 1 fence, a load per reader, one copy, 1 store, and an exchange per reader
    /// that is claiming at this moment.
    #[inline]
    pub fn write(&mut self, value: &T) {
        let slot = self.shared.claims.free(self.newest, &mut self.turns);
        // SAFETY:
        // - the slot is below the count, and a T fits (layout); T is Plain: no padding, aligned to at most 8;
        // - exclusive: it is not latest's, and no reader copies it now or will before it is published (I1, proof
        //   above); earlier copies are over (O2).
        unsafe { self.shared.slots.write(slot, value) };
        self.publish(slot);
    }

    /// Lets `fill` make the newest value in its place, without a copy. `fill` gets an older value, or zeros; when it
    /// returns, the writer publishes what it left. If it panics, the writer publishes nothing. Wait-free if `fill`
    /// is: otherwise as [`Writer::write`].
    ///
    /// Only for memory whose other processes follow the protocol ([`Memory::from_raw`]).
    #[inline]
    pub fn write_with<R>(&mut self, fill: impl FnOnce(&mut T) -> R) -> R {
        let slot = self.shared.claims.free(self.newest, &mut self.turns);
        // SAFETY: as in `write`; other processes follow the protocol (`Memory::from_raw`).
        let result = unsafe { self.shared.slots.lend_mut(slot, fill) };
        self.publish(slot);
        result
    }

    #[inline(always)]
    fn publish(&mut self, slot: usize) {
        self.newest = successor(self.newest, slot);
        self.shared.latest.store(self.newest, Release); // O1 publish
        self.turns.pass();
    }
}

/// The readers of a [`group`]; the iterator yields each once.
pub struct Readers<'m, T> {
    shared: Shared<'m, T>,
    next: u32,
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

/// An end that reads. May be real-time.
///
/// There is one writer, and one reader of each number. They move between threads, but are not shared:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::chen};
/// # let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = chen::pair::<u64>(Memory::new(&mut lines)).unwrap();
/// let second = reader.clone();
/// ```
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::chen};
/// # let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = chen::pair::<u64>(Memory::new(&mut lines)).unwrap();
/// let second = writer.clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::chen};
/// # fn moved<T: Send>(_: &T) {}
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = chen::pair::<u64>(Memory::new(&mut lines)).unwrap();
/// moved(&reader);
/// shared(&reader);
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::chen};
/// # fn moved<T: Send>(_: &T) {}
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = chen::pair::<u64>(Memory::new(&mut lines)).unwrap();
/// moved(&writer);
/// shared(&writer);
/// ```
pub struct Reader<'m, T> {
    latest: &'m AtomicU64,
    claim: &'m AtomicU64,
    slots: Places<'m, T>,
    count: usize,
    /// The claim of the last read: its slot is ours until the next claim.
    held: u64,
}

impl<'m, T: Plain> Reader<'m, T> {
    /// There must be a reader of that number.
    fn attach(shared: &Shared<'m, T>, which: u32) -> Self {
        Self {
            latest: shared.latest,
            // SAFETY: there is such a reader (callers).
            claim: unsafe { shared.claims.of(which) },
            slots: shared.slots,
            count: shared.claims.slots(),
            // As if this reader had read nothing: its first read makes a new claim, and releases the slot of a dead
            // reader.
            held: NOTHING,
        }
    }

    /// The newest value; `None` before the first write. Wait-free: 2 loads, 1 store, 1 fence, 1 exchange and one
    /// copy; 1 load and one copy if there is nothing newer than its last value.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        let newest = self.latest.load(Acquire); // O1 publish
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| self.hold(newest).then(|| self.copy(value))) }
            .map(|sample| sample.value)
    }

    /// [`Reader::read`], with the number of the write.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        let newest = self.latest.load(Acquire); // O1 publish
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| self.hold(newest).then(|| self.copy(value))) }
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load of a
    /// word that only the writer writes.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let newest = self.latest.load(Acquire); // O1 publish
        let is_newer = newest != self.held && self.hold(newest);
        // SAFETY: `copy` fills the used bytes of a value.
        unsafe { whole_sample(|value| is_newer.then(|| self.copy(value))) }
    }

    /// [`Reader::read`] into `value`, without a further move; returns the number of the write. If it returns `None`,
    /// `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        let newest = self.latest.load(Acquire); // O1 publish
        self.hold(newest).then(|| self.copy(uninit(value)))
    }

    /// [`Reader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        let newest = self.latest.load(Acquire); // O1 publish
        (newest != self.held && self.hold(newest)).then(|| self.copy(uninit(value)))
    }

    /// Lets `look` see the newest value where it lies, without a copy; `None` before the first write. Wait-free if
    /// `look` is: otherwise as [`Reader::read`]. Meanwhile the writer continues in other slots.
    ///
    /// Only for memory whose other processes follow the protocol ([`Memory::from_raw`]).
    ///
    /// A reference that is lent to a closure does not outlive the closure:
    ///
    /// ```compile_fail
    /// # use taut_share::{Line, Memory, state::chen};
    /// # let mut lines = [const { Line::new() }; 4];
    /// let (writer, mut reader) = chen::pair::<u64>(Memory::new(&mut lines)).unwrap();
    /// let kept: Option<&u64> = reader.read_with(|value| value);
    /// ```
    #[inline]
    pub fn read_with<R>(&mut self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let newest = self.latest.load(Acquire); // O1 publish
        if !self.hold(newest) {
            return None;
        }
        // SAFETY: as in `copy`; other processes follow the protocol (`Memory::from_raw`). `look` ends before the next
        // claim of this reader, because this call borrows `self` while `look` runs.
        Some(unsafe { self.slots.lend(slot(self.held, self.count), look) })
    }

    /// Whether there is a newer value than the one that this reader returned last. 1 load.
    #[inline]
    pub fn has_newer(&self) -> bool {
        // Relaxed: no read relies on it.
        self.latest.load(Relaxed) != self.held
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        // Relaxed: as above.
        self.latest.load(Relaxed) >> 8
    }

    /// Claims the newest value, unless this reader already holds `newest`; returns whether there is a value.
    #[inline(always)]
    fn hold(&mut self, newest: u64) -> bool {
        if newest != self.held {
            self.held = claim(self.claim, self.latest);
        }
        self.held != NOTHING
    }

    /// Copies the value that this reader holds; returns the number of its write.
    #[inline(always)]
    fn copy(&self, value: &mut MaybeUninit<T>) -> u64 {
        // SAFETY:
        // - the slot is below the count, and a T fits (layout); T is Plain: every bit pattern is a value;
        // - exclusive against our writer: the claim names the slot until the next claim (I2), so the writer leaves it
        //   alone (I1), and its content is visible (O1 publish or O4 settle).
        unsafe { self.slots.read_into(slot(self.held, self.count), value) };
        self.held >> 8
    }
}

crate::ends::ends! {
    write Writer;
    read Reader;
}

// # Checked
//
// - `tests/claims/behaviour.rs`: values, errors, in place, successors; also Miri
// - `tests/claims/steps.rs`: the bounds above, counted
// - `tests/claims/printed.rs`: with one slot fewer, the search does not end
// - the programs over all protocols: `conformance`, `stress`, `loom`, `shuttle`, `steps`, `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/claims/loom.rs`, payload of 2 words, no bound on preemptions: 3 writes × 2 reads, 4 095 executions; 4 × 2
// (from the fourth write on, the writer reuses slots): 33 803; with bound 3: 5 × 2, 1 221; in place 4 × 2, 654;
// `read_if_newer` 4 × 2, 654; with bound 2: 2 readers, 4 × 1, 1 936. Weakening any annotation fails there, except the
// Release of O4: the writer's fence makes it redundant, and it is there for tools that do not model fences.
//
// Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Release of O2 forbids
// what it could do to a copy); AArch64 hardware.
