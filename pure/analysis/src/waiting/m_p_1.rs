// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Means of M/P/1: random arrivals (Poisson), one consumer that takes a value, if there is one, every period.
//!
//! ```text
//! Equation    W_q = p / (2 (1 − ρ)) = p a / (2 (a − p))
//! Symbols     [ns] a mean time between arrivals; p the consumer's period; ρ = p / a; W_q mean time to the take
//! Assumes     A1 ρ < 1   A2 arrivals independent   A3 takes are exactly p apart   A4 no limit to the buffer
//! Verdict     a mean: says nothing about any one value
//! Cost        constant
//! Source      M/G/1 with vacations: [Doshi86]; "P" for a periodic consumer is Cheddar's name
//! ```
//!
//! **Why.** It is M/D/1 with service p whose server goes away for p whenever it finds nothing. Such a vacation adds
//! `E[V²] / (2 E[V])` = p / 2 to the wait of [`super::m_d_1`], ρ p / (2 (1 − ρ)). With hardly any arrivals the wait
//! is p / 2: the time to the next look.
//!
//! Cheddar approximates the same queue by M/G/1 with a service time that it fits to measurements. Its formula is not
//! given here, since it needs a number that no description explains.
//!
//! The service time in [`Means`] is zero: a value is gone when it is taken.

use taut_time::Duration;

use super::mean::{Mean, Means, NoMean, settles};

/// The means for values that arrive every `gap` on average, one of which is taken every `period`.
///
/// # Errors
/// [`NoMean`].
pub fn means(gap: Duration, period: Duration) -> Result<Means, NoMean> {
    settles(gap, period, 1)?;
    let (a, p) = (Mean::time(gap), Mean::time(period));
    let waiting = p * a / (Mean::whole(2) * (a - p));
    Ok(Means { utilisation: p / a, ..Means::of(waiting, gap, Duration::ZERO, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number in the queue just after a take, solved numerically. Values that arrive within a period wait half of
    /// it for the take, so on average over time half a period's arrivals come on top.
    #[test]
    fn chain_of_takes() {
        for (gap, period) in [(4_u64, 1_u64), (2, 1), (4, 3), (10, 9)] {
            let rate = period as f64 / gap as f64;
            let most = 600;
            let mut arrivals = vec![(-rate).exp()];
            for k in 1..60_u32 {
                arrivals.push(arrivals[k as usize - 1] * rate / f64::from(k));
            }
            let mut state = vec![0.0_f64; most];
            state[0] = 1.0;
            for _ in 0..4_000 {
                let mut next = vec![0.0_f64; most];
                for (n, p) in state.iter().enumerate().filter(|(_, p)| **p > 1e-16) {
                    for (k, q) in arrivals.iter().enumerate() {
                        next[(n + k).saturating_sub(1).min(most - 1)] += p * q;
                    }
                }
                state = next;
            }
            let behind: f64 = state.iter().zip(0_u32..).map(|(p, n)| p * f64::from(n)).sum();
            let wanted = behind + rate / 2.0;
            let found = means(Duration::from_ns(gap), Duration::from_ns(period)).expect("it settles");
            let staying = found.staying.as_f64();
            assert!((staying - wanted).abs() < 1e-6, "{gap} {period}: {staying} {wanted}");
        }
    }

    #[test]
    fn nearly_empty_and_too_full() {
        let seldom = means(Duration::from_s(1_000_000), Duration::from_ns(10)).expect("it settles");
        assert!((seldom.waiting_ns.as_f64() - 5.0).abs() < 1e-6);
        assert_eq!(means(Duration::from_ns(10), Duration::from_ns(10)), Err(NoMean::Overload));
        assert_eq!(means(Duration::ZERO, Duration::ZERO), Err(NoMean::Zero));
    }
}
