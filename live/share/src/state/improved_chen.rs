// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Improved Chen: newest value; one writer, some slow readers that claim, any number of fast readers that rely on
//! time.
//!
//! # Use
//! For objects where the longest time of a read and the rate of the writes are known: readers during whose reads only
//! few writes take place need no slot each, only a few slots together. A fast reader costs the writer nothing and the
//! caller may clone it; slow readers are registered, and their reads never fail. A fast reader detects an assumption
//! that fails: it gets [`ReaderOvertaken`], and never a torn value. If nothing is known about time, see
//! [`super::hybrid`].
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`slow_reader`] ensure it).
//!
//! |                        | write | read of this slow reader | read of another, of fast ones |
//! |------------------------|-------|--------------------------|-------------------------------|
//! | `write`                | X     | -                        | -                             |
//! | a slow reader's reads  | -     | X                        | -                             |
//! | a fast reader's reads  | -     | -                        | -                             |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words, M slow readers. All are wait-free; none waits for another.
//!
//! | operation          | bound                                                                                  |
//! |--------------------|----------------------------------------------------------------------------------------|
//! | `write`            | 2 fences + M loads + W words + 2 stores; 1 exchange more per slow reader that is in the middle of a claim |
//! | slow `read`        | 2 loads + 1 store + 1 fence + 1 exchange + W words; 1 load + W words if nothing is new  |
//! | fast `try_read`    | 2 loads + 1 fence + W words                                                            |
//! | `read_if_newer`    | as the read; 1 load if nothing is new                                                  |
//!
//! # Orderings
//! The orderings of [`super::hybrid`] and [`super::chen`], whose code this is.
//!
//! # Crash
//! As [`super::hybrid`]: a fast reader is its observer, which leaves no trace.
//!
//! # Source
//! [Huang 2002, Fig. 3 and §3]: M slow readers and max(2, N) more buffers, N by the fast readers' speed. As printed,
//! the search goes round all buffers, starting at latest; this too keeps a slot for N writes, but writes to more
//! memory than the claims require. We differ as `chen` does, and in the stamps: as printed, a fast reader that was
//! too slow gets a torn value and does not notice.

use core::iter::FusedIterator;

use taut_atomic::Memory;

use super::hybrid::{self, Observer, Shared};
pub use super::hybrid::{ReaderOvertaken, Sample, Writer};
use super::whole_sample;
use crate::places::uninit;
use crate::{LayoutError, Plain};

// Proof: A fast read copies the slot that latest named when the read began. Of the writes since then, at most N - 1
// have begun before the read ends (assumption), and the N-th is the first that can fill the slot again (I1). So the
// read does not return `ReaderOvertaken`; and if the assumption fails, the stamp shows it (`hybrid`). Slow reads:
// `chen`.

/// A reader that relies on time. It is not registered; clone it for more.
pub type FastReader<'m, T> = Observer<'m, T>;

// # State
//
// The state of [`super::hybrid`], byte for byte, with M readers and N - 2 spare slots: M + N slots in total.
// N = max(2, overlaps + 1), where *overlaps* is the number of writes that may be in progress at some moment of a fast
// read, including a write that is in progress when the read begins. With a read that takes at most R, and writes that
// come every P_W and are complete D_W later: overlaps = ⌈(R + D_W) / P_W⌉, at least 2.
//
// # Invariants
//
// - I1 The invariants of [`super::hybrid`]; by its I5 the writer fills a slot again after N writes at the earliest, so
//   none of the writes that overlap a fast read does.

/// The number of slots beyond those of the slow readers and the two that are always there. `hybrid::check` refuses it
/// if it is too large.
const fn spare(overlaps: u32) -> u32 {
    overlaps.saturating_sub(1)
}

/// Bytes that an object for `T` needs with `slow` slow readers, and fast reads that up to `overlaps` writes overlap.
pub const fn bytes<T: Plain>(slow: u32, overlaps: u32) -> usize {
    hybrid::bytes::<T>(slow, spare(overlaps))
}

/// The ends of an object: the writer, the slow readers, and one fast reader, which the caller may clone.
pub type Group<'m, T> = (Writer<'m, T>, SlowReaders<'m, T>, FastReader<'m, T>);

/// All ends on one memory: the writer, `slow` slow readers (0 to [`super::chen::READERS_MAX`]), and one fast reader,
/// which the caller may clone. At most `overlaps` writes overlap a fast read, including a write that is in progress
/// when the read begins.
///
/// ```
/// use taut_share::{Line, Memory, state::improved_chen};
///
/// // One slow reader; and a fast one, where at most 2 writes overlap a read.
/// const LINES: usize = improved_chen::bytes::<u64>(1, 2) / size_of::<Line>();
/// let mut lines = [const { Line::new() }; LINES];
/// let (mut writer, mut slow, mut fast) = improved_chen::group::<u64>(Memory::new(&mut lines), 1, 2)?;
/// let mut slow = slow.next().unwrap();
/// let mut another = fast.clone();
/// writer.write(&7);
/// assert_eq!(slow.read(), Some(7));
/// assert_eq!(fast.try_read().map(|sample| sample.unwrap().value), Ok(7));
/// assert_eq!(another.try_read().map(|sample| sample.unwrap().version), Ok(1));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError`]; there are at most 256 slots (`slow` + `overlaps` + 1).
pub fn group<T: Plain>(memory: Memory<'_>, slow: u32, overlaps: u32) -> Result<Group<'_, T>, LayoutError> {
    let memory = memory.claim();
    hybrid::check::<T>(&memory, slow, spare(overlaps))?;
    let shared = Shared::on(&memory, slow, spare(overlaps));
    let fast = shared.observer();
    let slow_readers = SlowReaders(hybrid::Readers::of(shared));
    Ok((Writer::attach(&memory, slow, spare(overlaps)), slow_readers, fast))
}

/// The writer's end alone. After the death of a writer, at any step, this call makes its successor.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, `slow` and `overlaps`, or zeros. No other writer of it is alive: the
/// last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    hybrid::check::<T>(&memory, slow, spare(overlaps))?;
    Ok(Writer::attach(&memory, slow, spare(overlaps)))
}

/// The end of slow reader `which`, from 0, alone. After the death of that reader, at any step, this call makes its
/// successor.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, `slow` and `overlaps`, or zeros. No other slow reader of this number is
/// alive: the last one has ended, and its end happens before this call.
pub unsafe fn slow_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
    which: u32,
) -> Result<SlowReader<'_, T>, LayoutError> {
    // SAFETY: the caller's duties are the same.
    unsafe { hybrid::reader(memory, slow, spare(overlaps), which) }.map(SlowReader::of)
}

/// A fast reader alone; there may be any number of fast readers.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, `slow` and `overlaps`, or zeros.
pub unsafe fn fast_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
) -> Result<FastReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    hybrid::check::<T>(&memory, slow, spare(overlaps))?;
    Ok(Shared::on(&memory, slow, spare(overlaps)).observer())
}

/// The slow readers of a [`group`]; the iterator yields each once.
pub struct SlowReaders<'m, T>(hybrid::Readers<'m, T>);

impl<'m, T: Plain> Iterator for SlowReaders<'m, T> {
    type Item = SlowReader<'m, T>;

    fn next(&mut self) -> Option<SlowReader<'m, T>> {
        self.0.next().map(SlowReader::of)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T: Plain> ExactSizeIterator for SlowReaders<'_, T> {}
impl<T: Plain> FusedIterator for SlowReaders<'_, T> {}

/// A reader that claims what it reads; its read may take any time.
///
/// There is one slow reader of each number. It moves between threads, but is not shared:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::improved_chen};
/// # let mut lines = [const { Line::new() }; 8];
/// let (_, mut slow, _) = improved_chen::group::<u64>(Memory::new(&mut lines), 1, 2).unwrap();
/// let second = slow.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::improved_chen};
/// # fn moved<T: Send>(_: &T) {}
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 8];
/// let (_, mut slow, _) = improved_chen::group::<u64>(Memory::new(&mut lines), 1, 2).unwrap();
/// let slow = slow.next().unwrap();
/// moved(&slow);
/// shared(&slow);
/// ```
pub struct SlowReader<'m, T> {
    reader: hybrid::Reader<'m, T>,
    /// The claim of the last read: its slot is ours until the next claim.
    held: u64,
}

impl<'m, T: Plain> SlowReader<'m, T> {
    fn of(reader: hybrid::Reader<'m, T>) -> Self {
        // As if this reader had read nothing: its first read makes a new claim, and releases the slot of a dead
        // reader.
        Self { reader, held: 0 }
    }

    /// The newest value; `None` before the first write. Wait-free: 2 loads, 1 store, 1 fence, 1 exchange and one
    /// copy; 1 load and one copy if there is nothing newer than its last value.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        self.read_sample().map(|sample| sample.value)
    }

    /// [`SlowReader::read`], with the number of the write.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        // SAFETY: `read_held` fills the used bytes of a value if it returns a number.
        unsafe { whole_sample(|value| self.reader.read_held(self.reader.newest(), &mut self.held, value)) }
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load of a
    /// word that only the writer writes.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let newest = self.reader.newest();
        if newest == self.held {
            return None;
        }
        // SAFETY: `read_held` fills the used bytes of a value if it returns a number.
        unsafe { whole_sample(|value| self.reader.read_held(newest, &mut self.held, value)) }
    }

    /// [`SlowReader::read`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        self.reader.read_held(self.reader.newest(), &mut self.held, uninit(value))
    }

    /// [`SlowReader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it
    /// returns `None`, `value` is unchanged.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        let newest = self.reader.newest();
        if newest == self.held { None } else { self.reader.read_held(newest, &mut self.held, uninit(value)) }
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        self.reader.version()
    }
}

crate::ends::ends! {
    read SlowReader;
}

// # Checked
//
// As [`super::hybrid`], whose code this is; and under its own names in `tests/claims/loom.rs`, `tests/claims/steps.rs`
// and `tests/claims/behaviour.rs`; in the programs over all protocols, including `tests/hostile.rs` and
// `tests/fuzzed.rs`, with slow readers and with fast ones.
//
// Not covered: as `hybrid`; the times themselves, for which the caller is responsible.
