// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Means of M/M/1: random arrivals (Poisson), random service times (exponential), one consumer.
//!
//! ```text
//! Equation    W_q = ρ s / (1 − ρ) = s² / (a − s);  L = ρ / (1 − ρ)
//! Symbols     [ns] a mean time between arrivals, λ = 1 / a; s mean service time; ρ = s / a; W_q mean wait
//! Assumes     A1 ρ < 1   A2 arrivals and service times independent, exponential   A3 no limit to the buffer
//! Verdict     a mean: says nothing about any one value
//! Cost        constant
//! Source      [Kleinrock75, section 3.2]
//! ```

use taut_time::Duration;

use super::mean::{Mean, Means, NoMean, settles};

/// The means for values that arrive every `gap` and take `service`, both on average.
///
/// # Errors
/// [`NoMean`].
pub fn means(gap: Duration, service: Duration) -> Result<Means, NoMean> {
    settles(gap, service, 1)?;
    let (a, s) = (Mean::time(gap), Mean::time(service));
    Ok(Means::of(s * s / (a - s), gap, service, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> Duration {
        Duration::from_ns(ns)
    }

    /// ρ = 3/4: L = 3, L_q = 9/4, W = 12 s / 3.
    #[test]
    fn three_quarters() {
        let found = means(ns(4), ns(3)).expect("it settles");
        assert_eq!(found.staying, Mean::whole(3));
        assert_eq!(found.waiting, Mean::whole(9) / Mean::whole(4));
        assert_eq!(found.staying_ns, Mean::whole(12));
        assert_eq!(found.utilisation, Mean::whole(3) / Mean::whole(4));
    }

    #[test]
    fn no_mean() {
        assert_eq!(means(ns(4), ns(4)), Err(NoMean::Overload));
        assert_eq!(means(ns(0), ns(0)), Err(NoMean::Zero));
        assert_eq!(means(ns(1), Duration::ZERO).map(|found| found.staying), Ok(Mean::whole(0)));
        // As near to full as can be, and still exact.
        let near = means(Duration::MAX, ns(u64::MAX - 1)).expect("it settles");
        assert_eq!(near.staying, Mean::whole(u128::from(u64::MAX) - 1));
    }

    /// The balance of flows, solved step by step for a buffer that is long enough not to matter.
    #[test]
    fn balance_of_states() {
        let (a, s) = (5.0_f64, 3.0);
        let weights: Vec<f64> = (0..400).scan(1.0, |p, _| Some(core::mem::replace(p, *p * s / a))).collect();
        let all: f64 = weights.iter().sum();
        let mean: f64 = weights.iter().zip(0_u32..).map(|(p, n)| p * f64::from(n)).sum::<f64>() / all;
        let found = means(ns(5), ns(3)).expect("it settles").staying.as_f64();
        assert!((found - mean).abs() < 1e-9, "{found} {mean}");
    }
}
