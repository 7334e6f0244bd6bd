// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random numbers that a seed and a row reproduce.
//!
//! The generator is splitmix64 (Steele, Lea and Flood 2014), written out in ten lines that never change: the next
//! version of a library might draw other numbers. It is not cryptographic.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Draw {
    /// The stream of a row: different for each row and each seed, and the same on every machine.
    pub(crate) fn new(seed: u64, row: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(STEP)).wrapping_add(row)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `count`; 0 if `count` is 0. The probabilities of two numbers differ relatively by at most
    /// `count` in 2⁶⁴.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(count);
        (wide >> 64) as u64
    }

    /// As [`Self::below`], for a position.
    pub(crate) fn position(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// A number from `low` to `high`, both included; `low` if `high` is below it.
    pub(crate) fn between(&mut self, (low, high): (u64, u64)) -> u64 {
        match high.saturating_sub(low).checked_add(1) {
            Some(count) => low + self.below(count),
            None => self.next(),
        }
    }

    /// Cuts `whole` into `parts`, with all ways equally likely, at sorted random places: a part is the distance between
    /// two of them.
    pub(crate) fn cut(&mut self, whole: u64, parts: usize) -> Vec<u64> {
        let mut cuts: Vec<u64> = (1..parts).map(|_| self.between((0, whole))).collect();
        cuts.push(whole);
        cuts.sort_unstable();
        let mut before = 0;
        cuts.iter().map(|&cut| cut - std::mem::replace(&mut before, cut)).collect()
    }

    /// A number from `low` to `high`, in which each octave is equally likely. It computes in whole numbers
    /// throughout, because the last digit of a logarithm differs between machines.
    pub(crate) fn octaves(&mut self, (low, high): (u64, u64)) -> u64 {
        const ONE: u128 = 1 << 32;
        let mut root = (u128::from(high.max(low)) << 32) / u128::from(low.max(1));
        let mut factor = ONE;
        // (high / low) to a random power between 0 and 1, built bit by bit.
        let power = self.next();
        for bit in (32..64).rev() {
            // 32 bits after the point, and 64 before it: the square root fits.
            root = (root << 32).isqrt();
            if power >> bit & 1 == 1 {
                factor = (factor * root) >> 32;
            }
        }
        let value = (u128::from(low) * factor) >> 32;
        u64::try_from(value).unwrap_or(high).clamp(low, high.max(low))
    }
}

fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // From a state of 0, as published.
        let mut draw = Draw(0);
        let published = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
        assert_eq!([draw.next(), draw.next(), draw.next()], published);
        let first = |seed, row| Draw::new(seed, row).next();
        let all = [first(0, 0), first(0, 1), first(1, 0), first(1, 1), first(u64::MAX, u64::MAX)];
        assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)), "{all:?}");
    }

    #[test]
    fn ranges_hold() {
        let mut draw = Draw::new(1, 1);
        for (low, high) in [(0, 0), (3, 9), (7, 2), (0, u64::MAX), (u64::MAX, u64::MAX)] {
            for _ in 0..100 {
                let drawn = draw.between((low, high));
                assert!(drawn >= low && drawn <= high.max(low), "{low} {high} {drawn}");
                let drawn = draw.octaves((low, high));
                assert!(drawn >= low && drawn <= high.max(low), "{low} {high} {drawn}");
            }
        }
        assert_eq!((draw.below(0), draw.position(1)), (0, 0));
    }

    #[test]
    fn parts_make_the_whole_and_each_is_as_large_as_another() {
        let mut draw = Draw::new(7, 0);
        let mut sums = [0; 4];
        for _ in 0..4_000 {
            let parts = draw.cut(1_000_000, 4);
            assert_eq!(parts.iter().sum::<u64>(), 1_000_000);
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part / 4_000);
        }
        assert!(sums.iter().all(|mean| mean.abs_diff(250_000) < 10_000), "{sums:?}");
    }

    #[test]
    fn each_octave_is_as_likely() {
        let mut draw = Draw::new(3, 0);
        let mut octaves = [0u32; 10];
        for _ in 0..10_000 {
            let drawn = draw.octaves((1_000_000, 1_024_000_000));
            octaves[(drawn / 1_000_000).ilog2().min(9) as usize] += 1;
        }
        assert!(octaves.iter().all(|count| count.abs_diff(1_000) < 150), "{octaves:?}");
    }
}
