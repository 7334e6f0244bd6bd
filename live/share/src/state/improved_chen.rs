// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Improved Chen: newest value; one writer, some slow readers that claim, any number of fast ones that rely on time.
//!
//! # Use
//!
//! When it is known how long a read takes at most and how often is written: readers for which few writes fit into a
//! read need no slot each, only a few together. A fast reader costs the writer nothing and may be cloned; slow ones
//! are registered and never told anything. An assumption that does not hold is noticed: the fast reader is told
//! [`Overrun`], and never gets a value that is not one. Nothing is known about time: [`super::hybrid`].
//!
//! ```
//! use taut_share::{Line, Memory, state::improved_chen};
//!
//! // One slow reader; a fast one during whose reads at most 2 writes go on.
//! const LINES: usize = improved_chen::bytes::<u64>(1, 2) / size_of::<Line>();
//! let mut lines = [const { Line::new() }; LINES];
//! let (mut writer, mut slow, mut fast) = improved_chen::group::<u64>(Memory::new(&mut lines), 1, 2)?;
//! let mut slow = slow.next().unwrap();
//! let mut another = fast.clone();
//! writer.write(&7);
//! assert_eq!(slow.read(), Some(7));
//! assert_eq!(fast.try_read().map(|sample| sample.unwrap().value), Ok(7));
//! assert_eq!(another.try_read().map(|sample| sample.unwrap().version), Ok(1));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! A slow reader is one, and moves between threads, but is not shared:
//!
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::improved_chen};
//! # let mut lines = [const { Line::new() }; 8];
//! let (_, mut slow, _) = improved_chen::group::<u64>(Memory::new(&mut lines), 1, 2).unwrap();
//! let second = slow.next().unwrap().clone();
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::improved_chen};
//! # fn moved<T: Send>(_: &T) {}
//! fn shared<T: Sync>(_: &T) {}
//! # let mut lines = [const { Line::new() }; 8];
//! let (_, mut slow, _) = improved_chen::group::<u64>(Memory::new(&mut lines), 1, 2).unwrap();
//! let slow = slow.next().unwrap();
//! moved(&slow);
//! shared(&slow);
//! ```
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`slow_reader`] see to it).
//!
//! |                        | write | read of this slow reader | read of another, of fast ones |
//! |------------------------|-------|--------------------------|-------------------------------|
//! | `write`                | X     | -                        | -                             |
//! | a slow reader's reads  | -     | X                        | -                             |
//! | a fast reader's reads  | -     | -                        | -                             |
//!
//! # Progress
//!
//! W = ⌈size of a value / 8⌉ words, M slow readers. All are wait-free; none needs anything from another.
//!
//! | operation          | bound                                                                                  |
//! |--------------------|----------------------------------------------------------------------------------------|
//! | `write`            | 2 fences + M loads + W words + 2 stores; 1 exchange more per slow reader that is in the middle of a claim |
//! | slow `read`        | 2 loads + 1 store + 1 fence + 1 exchange + W words; 1 load + W words if nothing is new  |
//! | fast `try_read`    | 2 loads + 1 fence + W words                                                            |
//! | `read_if_newer`    | as the read; 1 load if nothing is new                                                  |
//!
//! # State
//!
//! That of [`super::hybrid`], byte for byte, with M readers and N - 2 spare slots: M + N in all. N = max(2, overlaps + 1),
//! where *overlaps* is the number of writes that may go on at some moment of a fast read, the one that goes on when it
//! begins included. With a read of at most R, and writes that come every P_W and are complete D_W later:
//! overlaps = ⌈(R + D_W) / P_W⌉, at least 2.
//!
//! # Invariants
//!
//! - I1 Those of [`super::hybrid`]; by its I5 a slot is filled again after N writes at the earliest, so not by those
//!   that overlap a fast read.
//!
//! # Orderings
//!
//! Those of [`super::hybrid`] and [`super::chen`], whose code it is.
//!
//! # Proof
//!
//! A fast read copies the slot that latest named when the read began. Of the writes since then, at most N - 1 have begun
//! before it ends (assumption), and the slot is filled again by the N-th at the earliest (I1). So it is told nothing;
//! and if the assumption does not hold, the stamp shows it (`hybrid`). Slow reads: `chen`.
//!
//! # Crash
//!
//! As of [`super::hybrid`]: a fast reader is its observer, which leaves no trace.
//!
//! # Source
//!
//! [Huang 2002, Fig. 3 and §3]: M slow readers and max(2, N) more buffers, N by the fast readers' speed. As printed the
//! search goes round all of them, from latest on, which keeps a slot for N writes too, but writes to more memory than
//! the claims ask for. We differ as `chen` does, and in the stamps: as printed a fast reader that was too slow gets a
//! torn value and does not know.
//!
//! # Checked
//!
//! As [`super::hybrid`], whose code it is, and in `tests/loom_chen.rs`, `tests/steps_chen.rs` and
//! `tests/behaviour_chen.rs` by its own names; in the programs over all protocols, `tests/hostile.rs` and
//! `tests/fuzzed.rs` among them, with slow readers and with fast ones.
//!
//! Not covered: as `hybrid`; the times themselves, which are the caller's.

use core::iter::FusedIterator;

use taut_atomic::Memory;

use super::hybrid::{self, Observer, Shared};
pub use super::hybrid::{Overrun, Sample, Writer};
use super::whole_sample;
use crate::places::uninit;
use crate::{LayoutError, Plain};

/// A reader that relies on time. It is registered nowhere; clone it for more.
pub type FastReader<'m, T> = Observer<'m, T>;

/// Slots beyond those of slow readers and the two that there always are; a number that is refused, if that is too
/// large to be one.
const fn spare(overlaps: u32) -> u32 {
    overlaps.saturating_sub(1)
}

/// Bytes that an object for `T`, so many slow readers, and fast readers that so many writes may overlap, needs.
pub const fn bytes<T: Plain>(slow: u32, overlaps: u32) -> usize {
    hybrid::bytes::<T>(slow, spare(overlaps))
}

/// The ends of an object: the writer, the slow readers, and a fast reader to be cloned.
pub type Group<'m, T> = (Writer<'m, T>, SlowReaders<'m, T>, FastReader<'m, T>);

/// All ends on one memory: the writer, `slow` slow readers, 0 to [`super::chen::READERS_MAX`], and a fast reader, to be
/// cloned, during a read of which at most `overlaps` writes go on, the one that goes on when it begins included.
///
/// # Errors
///
/// [`LayoutError`]; slots (`slow` + `overlaps` + 1) are at most 256.
pub fn group<T: Plain>(memory: Memory<'_>, slow: u32, overlaps: u32) -> Result<Group<'_, T>, LayoutError> {
    let memory = memory.claim();
    hybrid::check::<T>(&memory, slow, spare(overlaps))?;
    let shared = Shared::on(&memory, slow, spare(overlaps));
    let fast = shared.observer();
    let slow_readers = SlowReaders(hybrid::Readers::of(shared));
    Ok((Writer::attach(&memory, slow, spare(overlaps)), slow_readers, fast))
}

/// The writer's end alone. After the death of a writer, at any step, the next one goes on here.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, `slow` and `overlaps`, or zeros; no other writer of it lives:
/// the last one has ended, and this call comes after that.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    hybrid::check::<T>(&memory, slow, spare(overlaps))?;
    Ok(Writer::attach(&memory, slow, spare(overlaps)))
}

/// The end of slow reader `which`, from 0, alone. After the death of that reader, at any step, the next one goes on
/// here.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, `slow` and `overlaps`, or zeros; no other slow reader of this
/// number lives: the last one has ended, and this call comes after that.
pub unsafe fn slow_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
    which: u32,
) -> Result<SlowReader<'_, T>, LayoutError> {
    // SAFETY: the caller's duties are the same.
    unsafe { hybrid::reader(memory, slow, spare(overlaps), which) }.map(SlowReader::of)
}

/// A fast reader alone; there may be any number.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, `slow` and `overlaps`, or zeros.
pub unsafe fn fast_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    overlaps: u32,
) -> Result<FastReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    hybrid::check::<T>(&memory, slow, spare(overlaps))?;
    Ok(Shared::on(&memory, slow, spare(overlaps)).observer())
}

/// The slow readers of a [`group`], each once.
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

/// A reader that claims what it reads, and takes its time.
pub struct SlowReader<'m, T> {
    reader: hybrid::Reader<'m, T>,
    /// The claim of the last read: its slot is ours until the next.
    held: u64,
}

impl<'m, T: Plain> SlowReader<'m, T> {
    fn of(reader: hybrid::Reader<'m, T>) -> Self {
        // As if nothing had been read: the first read claims anew, and gives back what a dead reader held.
        Self { reader, held: 0 }
    }

    /// The newest value; `None` before the first write. Wait-free: 2 loads, 1 store, 1 fence, 1 exchange and one
    /// copy; 1 load and one copy if there is nothing newer than the last one.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        self.read_sample().map(|sample| sample.value)
    }

    /// [`SlowReader::read`], with the number of the write.
    #[inline]
    pub fn read_sample(&mut self) -> Option<Sample<T>> {
        // SAFETY: `read_held` fills what a value uses, if it gives a number.
        unsafe { whole_sample(|value| self.reader.read_held(self.reader.newest(), &mut self.held, value)) }
    }

    /// The newest value if it is another one than this reader's last; else `None`, after one load of a word that
    /// only the writer writes.
    #[inline]
    pub fn read_if_newer(&mut self) -> Option<Sample<T>> {
        let newest = self.reader.newest();
        if newest == self.held {
            return None;
        }
        // SAFETY: `read_held` fills what a value uses, if it gives a number.
        unsafe { whole_sample(|value| self.reader.read_held(newest, &mut self.held, value)) }
    }

    /// [`SlowReader::read`] into `value`, which is not moved again; the result is the number of the write. If it is `None`,
    /// `value` is as it was.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        self.reader.read_held(self.reader.newest(), &mut self.held, uninit(value))
    }

    /// [`SlowReader::read_if_newer`] into `value`, which is not moved again; the result is the number of the write. If it is
    /// `None`, `value` is as it was.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Option<u64> {
        let newest = self.reader.newest();
        if newest == self.held { None } else { self.reader.read_held(newest, &mut self.held, uninit(value)) }
    }

    /// The number of the newest write, 0 before the first. By the time it is looked at it may be past.
    #[inline]
    pub fn version(&self) -> u64 {
        self.reader.version()
    }
}
