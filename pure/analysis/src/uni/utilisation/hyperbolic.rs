// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Hyperbolic bound for rate-monotonic order: a fast test, less pessimistic than [`super::liu_layland`].
//!
//! ```text
//! Equation    Π (C_i / T_i + 1) ≤ 2
//! Symbols     C cost, T period
//! Assumes     A1 D = T   A2 the shorter the period, the more urgent   A3 no jitter, blocking or self-suspension
//!             A4 preemptive
//! Verdict     sufficient
//! Cost        a multiplication of big numbers per task, n · 64 bits long
//! Source      [Bini03]
//! ```
//!
//! The products are whole numbers of any length: Π (C_i + T_i) ≤ 2 · Π T_i, exactly. With D < T, use D in place of T:
//! a task that came every D would be harder to serve.

use taut_time::Duration;

use super::{Utilisation, Whole, in_rate_order};
use crate::{Assumption, Verdict, Why};

/// Whether the product over tasks, as (C, T) with the most urgent first, is at most 2; gives U in either case.
pub fn test(tasks: &[(Duration, Duration)]) -> Verdict<Utilisation> {
    if !in_rate_order(tasks) {
        return Verdict::NotApplicable(Assumption::RateMonotonic);
    }
    let Some(utilisation) = Utilisation::of(tasks.iter().copied()) else {
        return Verdict::NotApplicable(Assumption::PositivePeriod);
    };
    let (mut product, mut limit) = (Whole::from(1), Whole::from(2));
    for (cost, period) in tasks {
        product = product.times(cost.as_ns()).plus(&product.times(period.as_ns()));
        limit = limit.times(period.as_ns());
    }
    if product.at_most(&limit) {
        Verdict::Schedulable(utilisation)
    } else {
        Verdict::NotShown(Why::Passes(utilisation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::uni::utilisation::liu_layland;

    fn set(tasks: &[(u64, u64)]) -> Vec<(Duration, Duration)> {
        tasks.iter().map(|&(c, t)| (Duration::from_ns(c), Duration::from_ns(t))).collect()
    }

    #[test]
    fn exact_at_the_edge() {
        // (1/2 + 1) · (1/3 + 1) = 2, exactly, and U = 0.83 is above the other bound.
        let edge = set(&[(1, 2), (1, 3)]);
        assert!(test(&edge).holds());
        assert!(!liu_layland::test(&edge).holds());
        let most = u64::MAX - 1;
        assert!(test(&set(&[(most / 3, most), (most / 2, most)])).holds());
        assert!(!test(&set(&[(most / 3 + 1, most), (most / 2, most)])).holds());
        assert!(test(&[]).holds());
        assert_eq!(test(&set(&[(1, 3), (1, 2)])), Verdict::NotApplicable(Assumption::RateMonotonic));
    }

    /// \[Bini03\]: this bound accepts whatever the older one accepts.
    #[test]
    fn accepts_more() {
        let (mut more, mut draw) = (0, Draw::new(7));
        for _ in 0..2_000 {
            let mut tasks: Vec<(u64, u64)> = (0..4)
                .map(|_| {
                    let period = draw.pick(10, 1_009);
                    (draw.pick(1, period / 3), period)
                })
                .collect();
            tasks.sort_by_key(|t| t.1);
            let tasks = set(&tasks);
            let (new, old) = (test(&tasks).holds(), liu_layland::test(&tasks).holds());
            assert!(new || !old, "{tasks:?}");
            more += u32::from(new && !old);
        }
        assert!(more > 30, "{more}");
    }
}
