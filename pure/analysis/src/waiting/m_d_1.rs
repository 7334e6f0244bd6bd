// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Means of M/D/1: random arrivals (Poisson), a constant service time, one consumer.
//!
//! ```text
//! Equation    W_q = ρ s / (2 (1 − ρ)) = s² / (2 (a − s));  L_q = ρ² / (2 (1 − ρ))
//! Symbols     [ns] a mean time between arrivals; s service time; ρ = s / a; W_q mean wait
//! Assumes     A1 ρ < 1   A2 arrivals independent   A3 no limit to the buffer
//! Verdict     a mean: says nothing about any one value
//! Cost        constant
//! Source      [Kleinrock75, section 5.6]: [`super::m_g_1`] without variance
//! ```
//!
//! A free consumer starts with a value when the value arrives; [`super::m_p_1`] is a consumer that looks
//! periodically.

use taut_time::Duration;

use super::mean::{Means, NoMean};
use super::{m_g_1, mean::Mean};

/// The means for values that arrive every `gap` on average and take exactly `service`.
///
/// # Errors
/// [`NoMean`].
pub fn means(gap: Duration, service: Duration) -> Result<Means, NoMean> {
    m_g_1::of_second_moment(gap, service, Mean::time(service) * Mean::time(service))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::m_m_1;

    #[test]
    fn half_of_m_m_1_waits() {
        for (gap, service) in [(4, 3), (10, 1), (1_000, 999)] {
            let (gap, service) = (Duration::from_ns(gap), Duration::from_ns(service));
            let (constant, random) = (means(gap, service), m_m_1::means(gap, service));
            let twice = constant.map(|found| found.waiting * Mean::whole(2));
            assert_eq!(twice, random.map(|found| found.waiting));
        }
    }

    /// ρ = 1/2: L_q = 1/4.
    #[test]
    fn one_half() {
        let found = means(Duration::from_ns(2), Duration::from_ns(1)).expect("it settles");
        assert_eq!(found.waiting, Mean::ONE / Mean::whole(4));
        assert_eq!(means(Duration::from_ns(2), Duration::from_ns(2)), Err(NoMean::Overload));
    }
}
