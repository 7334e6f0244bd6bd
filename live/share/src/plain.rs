// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_atomic::{LINE_BYTES, Memory};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A value that can stand in shared memory: every bit pattern is one (so a peer that lies can at worst send a
/// wrong value), no padding, no address, nothing to drop. Derive zerocopy's four traits and `Copy` to get it.
///
/// Aligned to at most 8 bytes; a type that is not, does not compile as soon as an object for it is built.
pub trait Plain: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Send + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Send + 'static> Plain for T {}

/// Why an object cannot be built there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The memory is too short.
    TooSmall {
        /// Bytes that the object needs.
        needed: usize,
        /// Bytes that there are.
        given: usize,
    },
    /// The capacity is 0, or so large that the object's size is not a number.
    Capacity,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { needed, given } => write!(f, "the object needs {needed} bytes and gets {given}"),
            Self::Capacity => f.write_str("the capacity must be at least 1, and the size a number"),
        }
    }
}

impl core::error::Error for LayoutError {}

/// Checks that an object of `needed` bytes has room.
pub(crate) fn fit(memory: &Memory<'_>, needed: usize) -> Result<(), LayoutError> {
    let given = memory.bytes();
    if given < needed { Err(LayoutError::TooSmall { needed, given }) } else { Ok(()) }
}

/// Bytes of a `T` in whole words.
pub(crate) const fn word_bytes<T>() -> usize {
    const { assert!(align_of::<T>() <= 8, "a value in shared memory is aligned to at most 8 bytes") };
    size_of::<T>().next_multiple_of(8)
}

/// `bytes` rounded up to whole lines.
pub(crate) const fn line_bytes(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE_BYTES)
}
