// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Pseudo-random numbers from a seed: xoshiro256++ [Blackman 2021], seeded by SplitMix64 [Steele 2014].

/// A generator. Good for simulation, not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut mixed = seed;
        let mut next = || {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = mixed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self { state: [next(), next(), next(), next()] }
    }

    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number from 0 to `last`, each about equally likely: off by at most one part in 2⁶⁴ / (`last` + 1).
    pub(crate) fn up_to(&mut self, last: u64) -> u64 {
        ((u128::from(self.next()) * (u128::from(last) + 1)) >> 64) as u64
    }

    /// A random element, if there is one.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let last = of.len().checked_sub(1)?;
        of.get(self.up_to(last as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first values for the state 1, 2, 3, 4, as the authors' program prints them.
    #[test]
    fn blackman21_reference() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205];
        assert_eq!([(); 5].map(|()| random.next()), expected);
    }

    #[test]
    fn a_range_is_covered() {
        let mut random = Random::new(7);
        let mut seen = [0; 5];
        (0..1000).for_each(|_| seen[random.up_to(4) as usize] += 1);
        assert!(seen.iter().all(|count| (150..250).contains(count)), "{seen:?}");
        assert_eq!(random.up_to(0), 0);
        random.up_to(u64::MAX);
    }
}
