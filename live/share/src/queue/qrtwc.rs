// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! QrtWc: every value in order, as long as the reader keeps up; when full, all that wait make room. Real-time writer.
//!
//! # Use
//!
//! Steps of a thing of which a part is worth nothing: increments, deltas, a stream that is to start again after a gap.
//! After an overflow the reader gets the value that caused it, and what follows. Rather the latest stretch:
//! [`super::qrtwo`]. Every value must arrive: [`super::qrtr`].
//!
//! # Callers, Progress, State, Invariants, Orderings, Proof, Crash
//!
//! Those of [`ring`].
//!
//! # Several readers
//!
//! A [`Follower`] is one more reader, of which there may be any number: each sees every value on its own account,
//! discards by this policy on its own account, and takes nothing from anybody, since what a reader has taken is known
//! to that reader alone and changes nothing in the ring. It does not share work: for that put a queue before each
//! worker. The one [`Reader`] differs in that it leaves its head in the object, so that a successor goes on behind it.
//!
//! # Source
//!
//! [Perez Ruiz 2020, Listing 4]. The printed one returns values that it has discarded, and discards the value that
//! did not fit as well. We differ: each reader works out from the tail how often the queue was cleared since its last
//! pop; what did not fit stays; a push of another slot disturbs no pop. All of the capacity is used.
//!
//! # Checked
//!
//! With the ring: see there.
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
//! The ends are moved between threads, not shared, and only followers are cloned:
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

/// All values that wait make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear;

impl ring::sealed::Sealed for Clear {}

impl ring::Policy for Clear {
    #[inline(always)]
    fn oldest(head: u64, tail: u64, capacity: u64) -> u64 {
        // Since `head` was the oldest, every capacity-th push found the queue full: so many clears.
        let clears = (tail - head - 1) / capacity;
        head + clears * capacity
    }
}

/// The end that pushes. Real-time. See [`ring::Writer`].
pub type Writer<'m, T> = ring::Writer<'m, T, Clear>;

/// The end that pops. See [`ring::Reader`].
pub type Reader<'m, T> = ring::Reader<'m, T, Clear>;

/// An end that reads along. See [`ring::Reader`].
pub type Follower<'m, T> = ring::Reader<'m, T, Clear, ring::Unpublished>;

/// Both ends on one memory, for up to `capacity` values, with `spare` slots that make it rare that a pop is overtaken
/// ([`spare`] gives a good number; each costs the memory of a value).
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

/// The writer's end alone, where the reader's is in another process or made by [`reader`]. After the death of a
/// writer, at any step, the next one goes on here.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, capacity and spare slots, or zeros; no other writer of it lives: the
/// last one has ended, and this call comes after that.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    // SAFETY: the caller's duties are the same.
    unsafe { ring::writer(memory, capacity, spare) }
}

/// The reader's end alone, where the writer's is in another process or made by [`writer`]. After the death of a
/// reader, at any step, the next one goes on here; it may get values again that the dead one had just copied, and
/// counts as lost what was discarded in between.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, capacity and spare slots, or zeros; no other reader of it but followers
/// lives: the last one has ended, and this call comes after that.
pub unsafe fn reader<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Reader<'_, T>, LayoutError> {
    // SAFETY: the caller's duties are the same.
    unsafe { ring::reader(memory, capacity, spare) }
}

/// An end that reads along, from what is pushed after this call on; there may be any number.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, capacity and spare slots, or zeros.
pub unsafe fn follower<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Follower<'_, T>, LayoutError> {
    // SAFETY: the caller's duties are the same.
    unsafe { ring::follower(memory, capacity, spare) }
}
