// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Whether a series of execution times is one that a distribution can describe: no trend, and no correlation between
//! successive jobs.
//!
//! Both tests look at no more than [`TESTED`] jobs. Of more jobs they would also find differences and correlations that
//! are too small to matter.

/// The most jobs that a test looks at.
pub(crate) const TESTED: usize = 10_000;
/// How many jobs back the correlation is looked for; even.
const LAGS: usize = 20;

/// The probability of halves that differ by as much as the first and the second half of the series, if all values are
/// of one distribution: Kolmogorov's and Smirnov's test of two samples. Of a long series it takes jobs at equal
/// distances.
pub(crate) fn same_halves(values: &[u64]) -> f64 {
    let apart = values.len().div_ceil(TESTED).max(1);
    let taken: Vec<u64> = values.iter().step_by(apart).copied().collect();
    let (first, second) = taken.split_at(taken.len() / 2);
    let (mut first, mut second) = (first.to_vec(), second.to_vec());
    if first.is_empty() {
        return 1.0;
    }
    first.sort_unstable();
    second.sort_unstable();
    let share =
        |of: &[u64], at_most: u64| of.partition_point(|value| *value <= at_most) as f64 / of.len() as f64;
    let apart =
        first.iter().chain(&second).map(|value| (share(&first, *value) - share(&second, *value)).abs());
    let distance = apart.fold(0.0, f64::max);
    let (n, m) = (first.len() as f64, second.len() as f64);
    let root = (n * m / (n + m)).sqrt();
    beyond_kolmogorov((root + 0.12 + 0.11 / root) * distance)
}

/// The probability that Kolmogorov's statistic exceeds a value.
fn beyond_kolmogorov(value: f64) -> f64 {
    if value < 0.2 {
        // The series below does not converge there; the probability is 1 to more than ten digits.
        return 1.0;
    }
    let term = |j: i32| {
        let sign = if j % 2 == 1 { 1.0 } else { -1.0 };
        sign * (-2.0 * f64::from(j * j) * value * value).exp()
    };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// The probability of correlations as large as those of the series, if successive values are independent: Ljung's and
/// Box's test [Ljung 1978] of ranks, which a heavy tail does not mislead. Of a long series it takes the newest jobs.
pub(crate) fn independent(values: &[u64]) -> f64 {
    let values = &values[values.len().saturating_sub(TESTED)..];
    let ranks = ranks(values);
    let n = ranks.len() as f64;
    let mean = ranks.iter().sum::<f64>() / n;
    let centred: Vec<f64> = ranks.iter().map(|rank| rank - mean).collect();
    let variance: f64 = centred.iter().map(|of| of * of).sum();
    if centred.len() <= LAGS || variance <= 0.0 {
        return 1.0;
    }
    let part = |lag: usize| {
        let sum: f64 = centred.iter().zip(&centred[lag..]).map(|(a, b)| a * b).sum();
        let correlation = sum / variance;
        correlation * correlation / (n - lag as f64)
    };
    beyond_chi_squared(n * (n + 2.0) * (1..=LAGS).map(part).sum::<f64>())
}

/// The ranks of values; equal values share the mean of theirs.
fn ranks(values: &[u64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = |value: &u64| {
        let below = sorted.partition_point(|other| other < value);
        let upto = sorted.partition_point(|other| other <= value);
        (below + upto) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

/// The probability that a χ² variable of [`LAGS`] degrees of freedom exceeds a value.
fn beyond_chi_squared(value: f64) -> f64 {
    let half = value / 2.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in 1..LAGS / 2 {
        term *= half / i as f64;
        sum += term;
    }
    ((-half).exp() * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::draw::Draw;

    /// Percentiles of published tables.
    #[test]
    fn probabilities_are_those_of_tables() {
        for (value, probability) in [(37.566, 0.01), (31.410, 0.05), (8.260, 0.99)] {
            assert!((beyond_chi_squared(value) - probability).abs() < 1e-4, "χ² {value}");
        }
        for (value, probability) in [(1.358, 0.05), (1.628, 0.01), (0.1, 1.0)] {
            assert!((beyond_kolmogorov(value) - probability).abs() < 1e-3, "Kolmogorov {value}");
        }
    }

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[7, 3, 7, 9]), [2.0, 0.5, 2.0, 3.5]);
    }

    /// Of 400 series that are independent and without a trend, a test at 1 % refuses about 4; of those that are not,
    /// all.
    #[test]
    fn a_test_refuses_as_often_as_it_says() {
        let mut draw = Draw::new(9);
        let (mut halves, mut correlated) = (0, 0);
        for _ in 0..400 {
            let plain: Vec<u64> = (0..1_000).map(|_| (draw.uniform() * 1e6) as u64).collect();
            halves += u32::from(same_halves(&plain) < 0.01);
            correlated += u32::from(independent(&plain) < 0.01);
            let trend: Vec<u64> = plain.iter().zip(0u64..).map(|(value, at)| value + 500 * at).collect();
            assert!(same_halves(&trend) < 0.01);
            let smooth: Vec<u64> = plain.windows(2).map(|pair| pair[0] + pair[1]).collect();
            assert!(independent(&smooth) < 0.01);
        }
        // Three standard deviations around 4 are 10 at most.
        assert!(halves <= 10 && correlated <= 10, "{halves} {correlated}");
    }

    #[test]
    fn little_or_nothing_is_no_contradiction() {
        for values in [&[][..], &[5], &[5, 5, 5]] {
            assert_eq!((same_halves(values), independent(values)), (1.0, 1.0), "{values:?}");
        }
    }
}
