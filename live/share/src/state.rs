// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The newest value: a reader skips the values that it is too slow for, on purpose.
//!
//! The names of this module itself are those of [`hybrid`], the default choice:
//!
//! - *progress*: writer and readers are wait-free, each of them may be real-time, and none ever has to retry;
//! - *cost*: a read that is not overtaken writes nothing, so neither side waits for the other's cache lines except
//!   those of the value and of one word; a read that finds nothing new is one load of a word that stays in the
//!   reader's cache;
//! - *memory* is the price for that: a slot per reader, 2 more, and spare slots that make claims rare.
//!
//! ```
//! use taut_share::{Line, Memory, state};
//!
//! const SPARE: u32 = state::spare::<[f32; 3]>();
//! const LINES: usize = state::bytes::<[f32; 3]>(2, SPARE) / size_of::<Line>();
//! let mut lines = [const { Line::new() }; LINES];
//! let (mut writer, mut readers) = state::group::<[f32; 3]>(Memory::new(&mut lines), 2, SPARE)?;
//! let (mut control, mut logger) = (readers.next().unwrap(), readers.next().unwrap());
//! let mut display = control.observer();
//!
//! assert_eq!(control.read(), None);
//! writer.write(&[0.5, 1.0, 1.5]);
//! assert_eq!(control.read(), Some([0.5, 1.0, 1.5]));
//! assert_eq!(logger.read_if_newer().map(|sample| sample.version), Some(1));
//! assert_eq!(logger.read_if_newer(), None);
//! assert_eq!(display.try_read().map(|sample| sample.is_some()), Ok(true));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! [The table](crate#how-to-choose) lists the others: for values in place, for readers of known speed, for least
//! memory, for the value of the right job. Most return [`Sample`]s, have `read_if_newer`, which costs one load if
//! nothing is new, and report [`ReaderOvertaken`] if a read can be overtaken and has no fallback. A second table lists
//! [what an operation can report](crate#what-an-operation-can-report-and-what-to-do-then).

pub mod chen;
pub mod dbp;
pub mod double_buffer;
pub mod emeralds;
pub mod flow;
mod helping_slot;
pub mod hybrid;
pub mod improved_chen;
pub mod improved_double_buffer;
pub mod improved_peterson;
pub mod nbw_temporal;
pub mod peterson;
pub mod presence;
mod ring;
pub mod sdrtr;
pub mod sdrtw;
pub mod spinlock;
pub mod tccp;
mod turns;

use core::convert::Infallible;
use core::fmt;
use core::mem::MaybeUninit;

use crate::Plain;

pub use hybrid::{Observer, Reader, Readers, Writer, bytes, group, observer, pair, reader, spare, writer};

/// A value with the number of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<T> {
    /// The value.
    pub value: T,
    /// The number of its write, from 1. A number may be missing if a writer died in the middle of a write.
    pub version: u64,
}

/// Returns by value what `fill` copies; a value of more than a few words is moved once more.
///
/// # Safety
///
/// If `fill` returns a number, it has filled what a `T` uses.
#[inline(always)]
unsafe fn sample<T: Plain, E>(
    fill: impl FnOnce(&mut MaybeUninit<T>) -> Result<Option<u64>, E>,
) -> Result<Option<Sample<T>>, E> {
    let mut value = MaybeUninit::uninit();
    let Some(version) = fill(&mut value)? else { return Ok(None) };
    // SAFETY: filled (caller); T is Plain: any bytes are a T.
    Ok(Some(Sample { value: unsafe { value.assume_init() }, version }))
}

/// [`sample`] for a `fill` that cannot fail.
///
/// # Safety
///
/// As for [`sample`].
#[inline(always)]
unsafe fn whole_sample<T: Plain>(fill: impl FnOnce(&mut MaybeUninit<T>) -> Option<u64>) -> Option<Sample<T>> {
    // SAFETY: the caller's duty is the same.
    match unsafe { sample(|value| Ok::<_, Infallible>(fill(value))) } {
        Ok(sample) => sample,
    }
}

/// The count at which a new writer continues, from a shared word that the previous writer left. A correct one is
/// below 2⁶³. This reduces any other one to below 2⁶³, so that a count that continues from here does not reach 0,
/// which means that nothing was written.
#[inline(always)]
const fn believed(word: u64) -> u64 {
    word & (u64::MAX >> 1)
}

/// The reader was overtaken: so many writes took place during its copy that the writer may have written its buffer.
/// The copy is discarded. In a protocol that relies on time, the assumption has been broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderOvertaken;

impl fmt::Display for ReaderOvertaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more writes took place during the read than the number of buffers allows")
    }
}

impl core::error::Error for ReaderOvertaken {}
