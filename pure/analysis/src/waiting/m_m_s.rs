// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Means of M/M/s: random arrivals (Poisson), random service times (exponential), s consumers.
//!
//! ```text
//! Equation    B_0 = 1;  B_k = A B_{k−1} / (k + A B_{k−1})                     Erlang B
//!             C = B_c / (1 − ρ (1 − B_c))                                    Erlang C: the share that waits
//!             W_q = C s / (c − A)
//! Symbols     [ns] a mean time between arrivals; s mean service time; c consumers; A = s / a; ρ = A / c
//! Assumes     A1 ρ < 1   A2 arrivals and service times independent, exponential   A3 no limit to the buffer
//! Verdict     a mean: says nothing about any one value
//! Cost        c steps, at most [`SERVERS_MAX`]
//! Source      [Kleinrock75, section 3.5]
//! ```
//!
//! Exact while numbers fit in 128 bits, which is for a few consumers or simple ratios; rounded beyond.

use taut_time::Duration;

use super::mean::{Mean, Means, NoMean, settles};

/// The most servers that the computation supports.
pub const SERVERS_MAX: u32 = 1 << 16;

/// The means for values that arrive every `gap` and take `service` of one of `servers`, on average.
///
/// # Errors
/// [`NoMean`].
pub fn means(gap: Duration, service: Duration, servers: u32) -> Result<Means, NoMean> {
    settles(gap, service, servers.into())?;
    let s = Mean::time(service);
    let spare = Mean::whole(servers.into()) - s / Mean::time(gap);
    let waiting = share_that_waits(gap, service, servers)? * s / spare;
    Ok(Means::of(waiting, gap, service, servers.into()))
}

/// C: the share of values that find all servers busy.
///
/// # Errors
/// [`NoMean`].
pub fn share_that_waits(gap: Duration, service: Duration, servers: u32) -> Result<Mean, NoMean> {
    settles(gap, service, servers.into())?;
    if servers > SERVERS_MAX {
        return Err(NoMean::Servers);
    }
    let load = Mean::time(service) / Mean::time(gap);
    let mut lost = Mean::ONE;
    for k in 1..=servers {
        lost = load * lost / (Mean::whole(k.into()) + load * lost);
    }
    let share = load / Mean::whole(servers.into());
    Ok(lost / (Mean::ONE - share * (Mean::ONE - lost)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::m_m_1;

    fn ns(ns: u64) -> Duration {
        Duration::from_ns(ns)
    }

    #[test]
    fn one_server_is_m_m_1() {
        for (gap, service) in [(4, 3), (10, 1), (7, 6), (1_000_003, 999_983)] {
            assert_eq!(means(ns(gap), ns(service), 1), m_m_1::means(ns(gap), ns(service)));
        }
    }

    /// A = 2, c = 3: C = 4/9, L_q = 8/9.
    #[test]
    fn three_servers() {
        assert_eq!(share_that_waits(ns(5), ns(10), 3), Ok(Mean::whole(4) / Mean::whole(9)));
        let found = means(ns(5), ns(10), 3).expect("it settles");
        assert_eq!(found.waiting, Mean::whole(8) / Mean::whole(9));
        assert_eq!(found.utilisation, Mean::whole(2) / Mean::whole(3));
    }

    /// The balance of flows, state by state.
    #[test]
    fn balance_of_states() {
        for (gap, service, servers) in [(5, 10, 3), (3, 20, 8), (100, 777, 9), (10, 9, 1), (1, 30, 40)] {
            let load = service as f64 / gap as f64;
            let mut weight = 1.0_f64;
            let (mut all, mut waiting) = (0.0, 0.0);
            for n in 0..4_000_u32 {
                all += weight;
                waiting += weight * f64::from(n.saturating_sub(servers));
                weight *= load / f64::from((n + 1).min(servers));
            }
            let found = means(ns(gap), ns(service), servers).expect("it settles").waiting.as_f64();
            let wanted = waiting / all;
            assert!(
                (found - wanted).abs() < 1e-6 * wanted.max(1.0),
                "{gap} {service} {servers}: {found} {wanted}"
            );
        }
    }

    #[test]
    fn no_mean() {
        assert_eq!(means(ns(5), ns(15), 3), Err(NoMean::Overload));
        assert_eq!(means(ns(5), ns(1), 0), Err(NoMean::Zero));
        assert_eq!(means(ns(5), ns(1), u32::MAX), Err(NoMean::Servers));
        // Too long for integers, and still an answer.
        let found = means(ns(999_983), ns(37_000_001), 64).expect("it settles");
        assert!(matches!(found.waiting, Mean::Rounded(value) if value > 0.0 && value < 1.0));
    }
}
