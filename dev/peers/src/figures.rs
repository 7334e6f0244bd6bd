// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The results of a trial: named figures, and the summary of several rounds.

use std::collections::BTreeMap;

/// Named figures of one trial: times in ns, rates in millions per second.
pub(crate) type Figures = BTreeMap<&'static str, f64>;

/// The value below which `share` (0 to 1) of the samples lie, by nearest rank: always one of the samples; 0 if there
/// are none. Sorts the samples.
pub(crate) fn percentile(samples: &mut [u64], share: f64) -> u64 {
    samples.sort_unstable();
    let rank = (share * samples.len() as f64).ceil() as usize;
    samples.get(rank.clamp(1, samples.len().max(1)) - 1).copied().unwrap_or(0)
}

/// The median, the least and the largest; `None` if there are none.
pub(crate) fn spread(values: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, largest) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    };
    Some([median, least, largest])
}

/// The median; NaN if there are none.
pub(crate) fn median(values: &[f64]) -> f64 {
    spread(values).map_or(f64::NAN, |[median, ..]| median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let mut samples: Vec<u64> = (1..=1000).rev().collect();
        assert_eq!(percentile(&mut samples, 0.5), 500);
        assert_eq!(percentile(&mut samples, 0.999), 999);
        assert_eq!(percentile(&mut [], 0.5), 0);
    }

    #[test]
    fn the_middle_and_the_ends() {
        assert_eq!(spread(&[9.0, 1.0, 2.0]), Some([2.0, 1.0, 9.0]));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 9.0]), Some([3.0, 1.0, 9.0]));
        assert_eq!(spread(&[]), None);
        assert!(median(&[]).is_nan());
    }
}
