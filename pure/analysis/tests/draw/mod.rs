// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random choices for tests that draw many small sets: for the crate's own tests and for those beside it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

/// A source of choices that a seed reproduces (xorshift).
#[derive(Clone)]
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// `low` to `high`, both included.
    pub fn pick(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + (self.0 >> 11) % (high - low + 1)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.pick(0, 99) < percent
    }
}
