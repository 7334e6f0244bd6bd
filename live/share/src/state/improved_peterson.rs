// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Improved Peterson: newest value; one real-time writer, slow readers that are safe by handshake and fast ones that
//! are safe by time.
//!
//! # Use
//! One object for readers of which some are known to be fast enough for [`super::nbw_temporal`], and some are not. It
//! needs few buffers, since slow readers need none of the ring; the writer loads words of the slow readers only, and
//! fast readers store nothing. A fast reader whose timing assumption fails gets [`ReaderOvertaken`]. If all readers are
//! fast, see [`super::nbw_temporal`]; if none is, [`super::peterson`]. If the slow readers can wait for a write, see
//! [`super::emeralds`].
//!
//! # Callers
//! Slow readers and the writer as in [`super::peterson`], fast readers as in [`super::nbw_temporal`]: all different
//! ends may run at the same time, and there may be any number of fast readers.
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words, M slow readers. All operations are wait-free.
//!
//! | operation                | bound                                                                         |
//! |--------------------------|-------------------------------------------------------------------------------|
//! | `write`                  | 1 store + W words + 2 fences + M loads, and W words + 1 store for each slow reader that has begun a read since its last copy |
//! | `SlowReader::read`       | 3 loads + 1 store + 2 fences + W or 2 W words                                 |
//! | `FastReader::read`       | 2 loads + W words + 2 fences, or [`ReaderOvertaken`] after that               |
//!
//! A fast reader does not get [`ReaderOvertaken`] while at most `buffers` - 2 writes end during its read:
//! [`nbw_temporal::buffers`](super::nbw_temporal::buffers) computes the number of buffers for the slowest of the fast
//! readers.
//!
//! # Orderings
//! The orderings of [`super::peterson`] between the writer and slow readers. Of these, the publishing store and the
//! fence before the words are also O1 and O2 of [`super::nbw_temporal`], which has the fast readers' ends of both.
//!
//! # Crash
//! As [`super::peterson`]; a fast reader leaves no trace.
//!
//! # Source
//! [Huang 2002, section 3.5], the transformation, applied to [`super::peterson`]: "we derive the Improved Peterson's
//! algorithm", whose listing is not in the paper. We differ as both parts do. The check of the fast readers costs one
//! buffer more than the paper's N = N_max + 1, and detects an assumption that fails.

pub use super::nbw_temporal::Reader as FastReader;
pub use super::peterson::{Reader as SlowReader, Readers as SlowReaders, Writer};
pub use super::{ReaderOvertaken, Sample};
use crate::{LayoutError, Plain};
use taut_atomic::Memory;

use super::peterson::{bytes_over, parts};

// # State
//
// The state of [`super::peterson`] with `buffers` buffers: the buffers of [`super::nbw_temporal`], and behind them a
// bit, an answer and a copy for each slow reader. In total max(2, N) + M values, where N is the number of buffers that
// the fast readers need.
//
// # Invariants
//
// - I1 and I2 of [`super::peterson`], for any number of buffers from 2 on.

/// Bytes that an object for `T` needs; `None` unless there are 1 to 250 slow readers and 2 to 256 buffers and the
/// size fits in `usize`.
pub const fn bytes<T: Plain>(slow: u32, buffers: u32) -> Option<usize> {
    bytes_over::<T>(slow, buffers)
}

/// The ends of an object: the writer, the slow readers, and one fast reader, which the caller may clone.
pub type Group<'m, T> = (Writer<'m, T>, SlowReaders<'m, T>, FastReader<'m, T>);

/// All ends on one memory: 1 to 250 slow readers, a fast reader (clone it for more), 2 to 256 buffers.
///
/// # Errors
///
/// [`LayoutError::Buffers`], [`LayoutError::Readers`], [`LayoutError::TooSmall`].
///
/// ```
/// use taut_share::state::{improved_peterson, nbw_temporal};
/// use taut_share::{Line, Memory};
///
/// let buffers = nbw_temporal::buffers(1_400_000, 700_000, 1_000_000).expect("few enough");
/// let mut lines = [const { Line::new() }; 10];
/// let (mut writer, mut slow, mut fast) =
///     improved_peterson::group::<u64>(Memory::new(&mut lines), 1, buffers)?;
/// let mut slow = slow.next().expect("there is one");
/// writer.write(&7);
/// assert_eq!(fast.read().map(|sample| sample.map(|sample| sample.value)), Ok(Some(7)));
/// assert_eq!(slow.read(), Some(7));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
pub fn group<T: Plain>(memory: Memory<'_>, slow: u32, buffers: u32) -> Result<Group<'_, T>, LayoutError> {
    // Proof: *Slow readers*: the proof of [`super::peterson`], in which the words of a reader that loaded number k may
    // be of write k + n or later, where n ≥ 2 is the number of buffers. The proof needs the writer's load of the bit
    // after write k + 1, which comes before the words of write k + n for every n ≥ 2.
    //
    // *Fast readers*: the proof of [`super::nbw_temporal`]. It requires that the writer's writes take the buffers in
    // turn, and that each write begins with a Release fence and ends with a Release store of the next number. What
    // this writer does between two writes touches neither the buffers nor the number. Slow readers hold no buffer, so
    // the distance of reuse is the whole ring. The check accepts up to `buffers` - 2 numbers after the first;
    // accepting one more lets a torn value pass.
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, slow, buffers)?;
    Ok((Writer::attach(ring, slots), SlowReaders::new(ring, slots), FastReader::attach(ring)))
}

/// The writer's end alone. After the death of a writer, at any step, this call makes its successor.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of slow readers and of buffers, or zeros. No other writer of it
/// is alive: the last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    buffers: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, slow, buffers)?;
    Ok(Writer::attach(ring, slots))
}

/// The end of slow reader `which`, from 0, alone. After the death of that reader, this call makes its successor.
///
/// # Errors
///
/// As [`group`]; [`LayoutError::Readers`] also if there is no such reader.
///
/// # Safety
///
/// The memory holds this object for this `T`, number of slow readers and of buffers, or zeros. No other slow reader
/// of this number is alive: the last one has ended, and its end happens before this call.
pub unsafe fn slow_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    buffers: u32,
    which: u32,
) -> Result<SlowReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, slots) = parts(&memory, slow, buffers)?;
    Ok(SlowReader::attach(ring, slots.get(which).ok_or(LayoutError::Readers)?))
}

/// A fast reader's end alone; there may be any number. It only reads the buffers and needs no write access: the
/// memory may be mapped read-only.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of slow readers and of buffers, or zeros.
pub unsafe fn fast_reader<T: Plain>(
    memory: Memory<'_>,
    slow: u32,
    buffers: u32,
) -> Result<FastReader<'_, T>, LayoutError> {
    let memory = memory.claim();
    let (ring, _) = parts(&memory, slow, buffers)?;
    Ok(FastReader::attach(ring))
}

// # Checked
//
// - `tests/temporal/behaviour.rs`: layout, and a fast reader on a mapping that it may not write; also Miri
// - `tests/temporal/steps.rs`: the bounds above, counted
// - `tests/temporal/printed.rs`: writes that come in the middle of a fast read: as many as the check accepts, and one
//   more
// - the programs over all protocols, with its slow readers: `conformance`, `stress`, `loom`, `shuttle`, `steps`,
//   `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/temporal/loom.rs`, payload of 2 words: 3 buffers, 3 writes, one slow reader that reads twice and one fast
// reader that reads once, preemption bound 3: 12 114 executions.
//
// Not covered: exhaustive runs of more than one slow reader beside a fast one; and what both parts do not cover.
