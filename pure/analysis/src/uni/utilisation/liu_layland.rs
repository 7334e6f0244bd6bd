// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Utilisation bound for rate-monotonic order: a fast test.
//!
//! ```text
//! Equation    U = Σ C_i / T_i ≤ n · (2^(1/n) − 1)
//! Symbols     C cost, T period, n number of tasks
//! Assumes     A1 D = T   A2 the shorter the period, the more urgent   A3 no jitter, blocking or self-suspension
//!             A4 preemptive
//! Verdict     sufficient
//! Cost        a multiplication of big numbers per task, n · 64 bits long
//! Source      [LiuLayland73] theorem 5
//! ```
//!
//! The bound is irrational for n > 1. It is rounded down to 10⁻⁹ in whole numbers, and U, an exact fraction, is
//! compared with that. A table rounded to nearest, 0.828 and 0.780 and so on, accepts sets that it must not. With
//! D < T, use D in place of T: a task that came every D would be harder to serve.

use taut_time::Duration;

use super::{Utilisation, in_rate_order};
use crate::{Assumption, Verdict, Why};

/// 1, in billionths.
const BILLION: u64 = 1_000_000_000;
/// 1 in the powers below.
const ONE: u128 = 1 << 62;

/// Whether U of tasks, as (C, T) with the most urgent first, is at most the bound; gives U in either case.
pub fn test(tasks: &[(Duration, Duration)]) -> Verdict<Utilisation> {
    if !in_rate_order(tasks) {
        return Verdict::NotApplicable(Assumption::RateMonotonic);
    }
    let Some(utilisation) = Utilisation::of(tasks.iter().copied()) else {
        return Verdict::NotApplicable(Assumption::PositivePeriod);
    };
    let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
    if utilisation.at_most_billionths(bound(count)) {
        Verdict::Schedulable(utilisation)
    } else {
        Verdict::NotShown(Why::Passes(utilisation))
    }
}

/// n · (2^(1/n) − 1) in billionths, rounded down; 10⁹ for no tasks.
pub fn bound(n: u32) -> u64 {
    // ln 2, which the bound approaches from above, for more tasks than the powers are exact enough for.
    const LEAST: u64 = 693_147_180;
    if n <= 1 {
        return BILLION;
    }
    if n > 1 << 16 {
        return LEAST;
    }
    // The largest p with (1 + p / (n · 10⁹))ⁿ ≤ 2, the power rounded up.
    let (mut good, mut bad) = (LEAST, BILLION);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let share = (u128::from(middle) << 62).div_ceil(u128::from(n) * u128::from(BILLION));
        if power_up(ONE + share, n) <= 2 * ONE {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// baseⁿ in units of 2⁻⁶², rounded up; base from 1 to 2. Stops above 2.
fn power_up(mut base: u128, mut n: u32) -> u128 {
    let mut power = ONE;
    loop {
        if n & 1 == 1 {
            power = (power * base).div_ceil(ONE);
            if power > 2 * ONE {
                return power;
            }
        }
        n >>= 1;
        if n == 0 {
            return power;
        }
        // Above 2 no further factor can bring the power back.
        base = (base * base).div_ceil(ONE).min(2 * ONE + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of \[LiuLayland73\] and of every book, floored: 0.828, 0.779, 0.756, 0.743, …, 0.693.
    #[test]
    fn liu_layland73_bounds() {
        let thousandths = |n| bound(n) / 1_000_000;
        let all = [1_000, 828, 779, 756, 743, 734, 728, 724, 720, 717];
        assert_eq!((1..=10).map(thousandths).collect::<Vec<_>>(), all);
        assert_eq!(bound(2), 828_427_124);
        assert_eq!(bound(3), 779_763_149);
        assert_eq!((bound(1 << 16), bound(u32::MAX)), (693_150_846, 693_147_180));
        assert!((2..2_000).all(|n| bound(n) <= bound(n - 1)));
    }

    #[test]
    fn at_the_edge() {
        let ns = Duration::from_ns;
        let one = |c: u64| (ns(c), ns(1_000_000_000));
        // 0.828 427 124 and a billionth more.
        assert!(test(&[one(414_213_562), one(414_213_562)]).holds());
        assert!(!test(&[one(414_213_562), one(414_213_563)]).holds());
        assert!(test(&[one(1_000_000_000)]).holds());
        assert!(test(&[]).holds());
        let fast = (ns(1), ns(10));
        assert_eq!(test(&[one(1), fast]), Verdict::NotApplicable(Assumption::RateMonotonic));
        assert_eq!(test(&[(ns(1), ns(0))]), Verdict::NotApplicable(Assumption::PositivePeriod));
    }
}
