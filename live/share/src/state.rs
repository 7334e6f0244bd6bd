// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The newest value: a reader misses values that it was too slow for, and wants to.

mod desk;
pub mod emeralds;
pub mod improved_peterson;
pub mod nbw_temporal;
pub mod peterson;
mod ring;
pub mod sdrtr;
pub mod sdrtw;
pub mod spinlock;

use core::fmt;

/// A value with the number of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<T> {
    /// The value.
    pub value: T,
    /// The number of its write, from 1. A number may be missing where a writer died
    /// in the middle of a write.
    pub version: u64,
}

/// The reader was overtaken: by so many writes that its buffer may have been written while it was copied. What time
/// was to see to has not been kept; the copy is thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun;

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more writes took place during the read than the buffers are for")
    }
}

impl core::error::Error for Overrun {}
