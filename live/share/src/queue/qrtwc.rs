// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! QrtWc: every value in order, as long as the reader keeps up; a full queue discards all its values. Real-time
//! writer.
//!
//! # Use
//!
//! Sequences of which a part is worth nothing: increments, deltas, a stream that must start again after a gap. After
//! an overflow the reader gets the value that caused it, and those that follow. If the latest stretch is worth more,
//! use [`super::qrtwo`]; if every value must arrive, [`super::qrtr`].
//!
//! # Callers, Progress, State, Invariants, Orderings, Proof, Crash
//!
//! See [`ring`].
//!
//! # Several readers
//!
//! A [`Follower`] is one more reader; there may be any number. Each sees every value and discards by this policy
//! independently of the others, and takes no value from another reader: only a reader itself knows what it has taken,
//! and the ring does not change. Followers do not share work; for that, put a queue before each worker. The one
//! [`Reader`] differs in that it stores its head in the object, so that a successor continues after it.
//!
//! # Source
//!
//! [Perez Ruiz 2020, Listing 4]. The printed queue returns values that it has discarded, and also discards the value
//! that did not fit. We differ: each reader computes from the tail how often the queue was cleared since its last
//! pop; the value that did not fit stays; a push to another slot disturbs no pop. The queue uses its whole capacity.
//!
//! # Checked
//!
//! With the ring; see [`ring`].
//!
//! # Example
//!
//! ```
//! use taut_share::{Line, Memory, queue::qrtwc};
//!
//! let mut lines = [const { Line::new() }; 4];
//! let (mut writer, mut reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0)?;
//! for n in 1..=3 {
//!     writer.push(&n);
//! }
//! let popped = reader.pop().expect("nobody pushes").expect("one waits");
//! assert_eq!((popped.value, popped.lost), (3, 2));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! An end can move to another thread but cannot be shared between threads, and only followers can be cloned:
//!
//! ```
//! # use taut_share::{Line, Memory, queue::qrtwc};
//! fn moved<T: Send>(_: T) {}
//! let mut lines = [const { Line::new() }; 4];
//! let (writer, reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
//! moved((reader.follower().clone(), writer, reader));
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, queue::qrtwc};
//! fn shared<T: Sync>(_: &T) {}
//! let mut lines = [const { Line::new() }; 4];
//! let (writer, reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
//! shared(&writer);
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, queue::qrtwc};
//! fn shared<T: Sync>(_: &T) {}
//! let mut lines = [const { Line::new() }; 4];
//! let (writer, reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
//! shared(&reader.follower());
//! ```
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, queue::qrtwc};
//! let mut lines = [const { Line::new() }; 4];
//! let (writer, reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
//! let second = writer.clone();
//! ```
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, queue::qrtwc};
//! let mut lines = [const { Line::new() }; 4];
//! let (writer, reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
//! let second = reader.clone();
//! ```

use taut_atomic::Memory;

use super::ring;
pub use super::ring::{Overtaken, Popped, PoppedSlice, bytes, spare};
use crate::{LayoutError, Plain};

/// A full queue discards all its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear;

impl ring::sealed::Sealed for Clear {}

impl ring::Policy for Clear {
    #[inline(always)]
    fn oldest(head: u64, tail: u64, capacity: u64) -> u64 {
        // Since `head` was the oldest, every `capacity`-th push found the queue full, and cleared it.
        let clears = (tail - head - 1) / capacity;
        head + clears * capacity
    }
}

/// The end that pushes. Real-time. See [`ring::Writer`].
pub type Writer<'m, T> = ring::Writer<'m, T, Clear>;

/// The end that pops. See [`ring::Reader`].
pub type Reader<'m, T> = ring::Reader<'m, T, Clear>;

/// An additional reader. See [`ring::Reader`].
pub type Follower<'m, T> = ring::Reader<'m, T, Clear, ring::Unpublished>;

/// Both ends on one memory, for up to `capacity` values, with `spare` more slots that make it rare that the writer
/// overtakes a pop ([`spare`] recommends a number; each slot costs the memory of a value).
///
/// # Errors
///
/// [`LayoutError`].
pub fn pair<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<(Writer<'_, T>, Reader<'_, T>), LayoutError> {
    ring::pair(memory, capacity, spare)
}

/// The writer's end alone; the reader's end is in another process or made by [`reader`]. If a writer dies, at any
/// step, this call attaches its successor.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, capacity and spare slots, or zeros. No other writer of it exists: the
/// last one has ended, and this call happens after that.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    // SAFETY: the caller's duties are the same.
    unsafe { ring::writer(memory, capacity, spare) }
}

/// The reader's end alone; the writer's end is in another process or made by [`writer`]. If a reader dies, at any
/// step, this call attaches its successor, which may get values again that the dead one had just copied, and counts
/// the values that were discarded in between as lost.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, capacity and spare slots, or zeros. No other reader of it exists but
/// followers: the last one has ended, and this call happens after that.
pub unsafe fn reader<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Reader<'_, T>, LayoutError> {
    // SAFETY: the caller's duties are the same.
    unsafe { ring::reader(memory, capacity, spare) }
}

/// An additional reader, for the values that are pushed after this call; there may be any number.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T`, capacity and spare slots, or zeros.
pub unsafe fn follower<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Follower<'_, T>, LayoutError> {
    // SAFETY: the caller's duties are the same.
    unsafe { ring::follower(memory, capacity, spare) }
}
