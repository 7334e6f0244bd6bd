// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The newest value: a reader misses values that it was too slow for, and wants to.

pub mod dbp;
pub mod flow;
pub mod sdrtr;
pub mod sdrtw;
pub mod tccp;

/// A value with the number of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<T> {
    /// The value.
    pub value: T,
    /// The number of its write, from 1. A number may be missing where a writer died
    /// in the middle of a write.
    pub version: u64,
}
