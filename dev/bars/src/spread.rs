// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The spread of several measurements, and the measurement of two sides in turns.

/// The least, the median and the largest of several measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of at least one sample; `None` of no sample, or if one is not finite.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        (min.is_finite() && max.is_finite()).then_some(Self { min, median, max })
    }
}

/// The percentile at `share` (0 to 1) by the nearest-rank method, so always one of the samples. `None` of no samples.
/// Sorts the samples.
pub(crate) fn percentile(samples: &mut [u64], share: f64) -> Option<u64> {
    samples.sort_unstable();
    let rank = (share * samples.len() as f64).ceil() as usize;
    samples.get(rank.clamp(1, samples.len().max(1)) - 1).copied()
}

/// Measures two sides in turns, so that a drift of the machine affects both alike. The two sides begin a round
/// alternately.
///
/// # Errors
/// The first error that a side reports.
pub(crate) fn in_turns<T, U>(
    rounds: usize,
    mut one: impl FnMut() -> Result<T, String>,
    mut other: impl FnMut() -> Result<U, String>,
) -> Result<Vec<(T, U)>, String> {
    let mut pairs = Vec::with_capacity(rounds);
    for round in 0..rounds {
        pairs.push(if round % 2 == 0 {
            let first = one()?;
            (first, other()?)
        } else {
            let first = other()?;
            (one()?, first)
        });
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn middle_of_odd_and_even() {
        let wanted = Spread { min: 1.0, median: 2.0, max: 9.0 };
        assert_eq!(Spread::of(&[9.0, 1.0, 2.0]), Some(wanted));
        assert_eq!(Spread::of(&[1.0, 4.0, 2.0, 9.0]).map(|spread| spread.median), Some(3.0));
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn percentiles_are_samples() {
        let mut samples: Vec<u64> = (1..=1000).rev().collect();
        assert_eq!(percentile(&mut samples, 0.5), Some(500));
        assert_eq!(percentile(&mut samples, 0.999), Some(999));
        assert_eq!(percentile(&mut samples, 1.0), Some(1000));
        assert_eq!(percentile(&mut [7], 0.0), Some(7));
        assert_eq!(percentile(&mut [], 0.5), None);
    }

    #[test]
    fn sides_take_turns() {
        let order = RefCell::new(String::new());
        let side = |name: char| {
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                Ok(name)
            }
        };
        let pairs = in_turns(3, side('a'), side('b')).unwrap();
        assert_eq!(pairs, [('a', 'b'); 3]);
        assert_eq!(*order.borrow(), "abbaab");
        assert_eq!(in_turns(3, side('a'), || Err::<char, _>("no".into())), Err("no".into()));
    }
}
