// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Means of M/G/1: random arrivals (Poisson), service times of any distribution, one consumer.
//!
//! ```text
//! Equation    W_q = λ E[S²] / (2 (1 − ρ)) = (s² + v) / (2 (a − s))          Pollaczek, Khinchine
//! Symbols     [ns] a = 1 / λ mean time between arrivals; s mean, v [ns²] variance of the service time; ρ = s / a
//! Assumes     A1 ρ < 1   A2 arrivals independent, service times too   A3 no limit to the buffer
//! Verdict     a mean: says nothing about any one value
//! Cost        constant
//! Source      [Kleinrock75, section 5.6]
//! ```

use taut_time::Duration;

use super::mean::{Mean, Means, NoMean, settles};

/// The means for values that arrive every `gap` and take `service` on average, with this variance in square
/// nanoseconds.
///
/// # Errors
/// [`NoMean`].
pub fn means(gap: Duration, service: Duration, variance_ns2: u128) -> Result<Means, NoMean> {
    let s = Mean::time(service);
    of_second_moment(gap, service, s * s + Mean::whole(variance_ns2))
}

/// The same from E\[S²\].
pub(super) fn of_second_moment(gap: Duration, service: Duration, square: Mean) -> Result<Means, NoMean> {
    settles(gap, service, 1)?;
    let spare = Mean::time(gap) - Mean::time(service);
    Ok(Means::of(square / (Mean::whole(2) * spare), gap, service, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::{m_d_1, m_m_1};

    fn ns(ns: u64) -> Duration {
        Duration::from_ns(ns)
    }

    /// Exponential: v = s². Constant: v = 0.
    #[test]
    fn contains_the_others() {
        for (gap, service) in [(4, 3), (9, 2), (1_000_000, 999_000)] {
            let square = u128::from(service * service);
            assert_eq!(means(ns(gap), ns(service), square), m_m_1::means(ns(gap), ns(service)));
            assert_eq!(means(ns(gap), ns(service), 0), m_d_1::means(ns(gap), ns(service)));
        }
    }

    #[test]
    fn extremes() {
        assert_eq!(means(ns(1), ns(1), 0), Err(NoMean::Overload));
        let rounded = means(Duration::MAX, ns(1 << 63), u128::MAX).expect("it settles");
        assert!(matches!(rounded.waiting_ns, Mean::Rounded(value) if value > 1e18));
    }
}
