// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

/// A generator of numbers that a seed reproduces (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included; `low` if `high` is less.
    pub(crate) fn pick(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high.saturating_sub(low) + 1)
    }

    /// One element of `all`.
    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.pick(0, all.len() as u64 - 1) as usize]
    }

    /// Cuts `whole` into `parts` parts, at places drawn uniformly.
    pub(crate) fn cut(&mut self, whole: u64, parts: usize) -> Vec<u64> {
        let mut cuts: Vec<u64> = (1..parts).map(|_| self.pick(0, whole)).collect();
        cuts.push(whole);
        cuts.sort_unstable();
        let mut before = 0;
        cuts.iter().map(|&cut| cut - std::mem::replace(&mut before, cut)).collect()
    }
}
