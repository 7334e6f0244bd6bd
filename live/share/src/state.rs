// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The newest value: a reader misses values that it was too slow for, and wants to.
//!
//! The names of this module itself are those of [`hybrid`], which is the first choice:
//!
//! - *progress*: writer and readers are wait-free, each of them may be real-time, and none is ever told to try again;
//! - *cost*: a read that nobody overtakes writes nothing, so neither side waits for the other's cache lines beyond
//!   those of the value and of one word; a look that finds nothing new is one load of a word that stays in the
//!   reader's cache;
//! - *memory* is what it takes for that: a slot per reader, 2 more, and spare ones that make claims rare.
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
//! The others are in [the table](crate#how-to-choose): for values in place, for readers of known speed, for least memory,
//! for the value of the right job. Most give [`Sample`]s, have `read_if_newer`, which costs one load when nothing is new,
//! and say [`Overrun`] if they can be overtaken and have no second way. There is a table too of
//! [who is told what, and what then](crate#who-is-told-and-what-then).

pub mod chen;
pub mod dbp;
mod desk;
pub mod double_buffer;
pub mod emeralds;
pub mod flow;
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
    /// The number of its write, from 1. A number may be missing where a writer died
    /// in the middle of a write.
    pub version: u64,
}

/// What `fill` copies to where it is wanted, by value: one that is larger than a few words is moved on its way out.
///
/// # Safety
///
/// If `fill` gives a number, it has filled what a `T` uses.
#[inline(always)]
unsafe fn sample<T: Plain, E>(
    fill: impl FnOnce(&mut MaybeUninit<T>) -> Result<Option<u64>, E>,
) -> Result<Option<Sample<T>>, E> {
    let mut value = MaybeUninit::uninit();
    let Some(version) = fill(&mut value)? else { return Ok(None) };
    // SAFETY: filled (caller); T is Plain: any bytes are one.
    Ok(Some(Sample { value: unsafe { value.assume_init() }, version }))
}

/// [`sample`], where nothing can go wrong.
///
/// # Safety
///
/// As there.
#[inline(always)]
unsafe fn whole_sample<T: Plain>(fill: impl FnOnce(&mut MaybeUninit<T>) -> Option<u64>) -> Option<Sample<T>> {
    // SAFETY: the caller's duty is the same.
    match unsafe { sample(|value| Ok::<_, Infallible>(fill(value))) } {
        Ok(sample) => sample,
    }
}

/// What a new writer counts on from, out of a shared word that the writer before left. An honest one stays below 2⁶³;
/// taking the others for that too, none that is counted on from here comes to 0, which says that nothing was written.
#[inline(always)]
const fn believed(word: u64) -> u64 {
    word & (u64::MAX >> 1)
}

/// The reader was overtaken: by so many writes that its buffer may have been written while it was copied. Nothing can
/// be said about the copy, which is thrown away. Where time was to see to it, the assumption has not been kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun;

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more writes took place during the read than the buffers are for")
    }
}

impl core::error::Error for Overrun {}
