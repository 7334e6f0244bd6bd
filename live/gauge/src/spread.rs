// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

/// Samples in ns, in ascending order; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    samples: Vec<u64>,
}

impl Samples {
    /// Sorts the samples; `None` if there is none.
    pub fn of(mut samples: Vec<u64>) -> Option<Self> {
        samples.sort_unstable();
        (!samples.is_empty()).then_some(Self { samples })
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.samples.len()
    }

    /// The least sample, in ns, that at least `permille` thousandths of the samples do not exceed; 1000 gives the
    /// greatest sample.
    pub fn quantile(&self, permille: u32) -> u64 {
        let rank = (self.samples.len() as u128 * u128::from(permille.min(1_000))).div_ceil(1_000);
        self.samples[(rank as usize).max(1) - 1]
    }

    /// The middle sample, in ns.
    pub fn median(&self) -> u64 {
        self.quantile(500)
    }

    /// The greatest sample, in ns.
    pub fn max(&self) -> u64 {
        self.quantile(1_000)
    }

    /// How many samples exceed `ns`.
    pub fn above(&self, ns: u64) -> usize {
        self.samples.len() - self.samples.partition_point(|sample| *sample <= ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        assert_eq!(Samples::of(vec![]), None);
        let spread = Samples::of((1..=1_000).rev().collect()).unwrap();
        assert_eq!((spread.quantile(0), spread.quantile(1), spread.median()), (1, 1, 500));
        assert_eq!((spread.quantile(999), spread.max(), spread.quantile(5_000)), (999, 1_000, 1_000));
        assert_eq!((spread.above(999), spread.above(0), spread.above(1_000)), (1, 1_000, 0));
        let one = Samples::of(vec![7]).unwrap();
        assert_eq!((one.count(), one.median(), one.quantile(1), one.max()), (1, 7, 7, 7));
        // The rank is rounded up, never down.
        let three = Samples::of(vec![10, 20, 30]).unwrap();
        assert_eq!((three.quantile(334), three.quantile(667), three.quantile(333)), (20, 30, 10));
    }
}
