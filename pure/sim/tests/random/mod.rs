// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random choices for tests that draw many small sets.
#![allow(unreachable_pub, reason = "a module of tests")]

/// A source of choices that a seed reproduces (xorshift); the seed is not 0.
pub struct Random(pub u64);

impl Random {
    /// A number from 0 to n − 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}
