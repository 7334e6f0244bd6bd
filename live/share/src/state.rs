// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The newest value: a reader misses values that it was too slow for, and wants to.

pub mod chen;
pub mod hybrid;
pub mod improved_chen;
pub mod sdrtr;
pub mod sdrtw;

pub use hybrid::{
    Observer, Overrun, Reader, Readers, SPARE, Writer, bytes, group, observer, pair, reader, writer,
};

/// A value with the number of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<T> {
    /// The value.
    pub value: T,
    /// The number of its write, from 1. A number may be missing where a writer died
    /// in the middle of a write.
    pub version: u64,
}
