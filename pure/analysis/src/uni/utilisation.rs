// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Utilisation of a core.
//!
//! ```text
//! Equation    U = Σ C_i / T_i
//! Symbols     C cost, T period, or least time between arrivals
//! Assumes     A1 T > 0
//! Verdict     exact: no schedule at all serves U > 1 for ever; U ≤ 1 alone guarantees nothing under fixed priority
//! Cost        a multiplication of big numbers per task, n · 64 bits long
//! Source      [LiuLayland73] "Scheduling algorithms for multiprogramming in a hard-real-time environment"
//! ```
//!
//! The sum is a fraction of whole numbers of any length. A sum of rounded shares would call a core at exactly 100 %
//! overloaded, or miss one slightly above.

pub mod hyperbolic;
pub mod liu_layland;

use taut_time::Duration;

/// U of some tasks, as an exact fraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utilisation {
    numerator: Whole,
    denominator: Whole,
}

impl Utilisation {
    /// Of tasks given as (C, T). `None` if a T is zero.
    pub fn of(tasks: impl IntoIterator<Item = (Duration, Duration)>) -> Option<Self> {
        let mut sum = Self { numerator: Whole::from(0), denominator: Whole::from(1) };
        for (cost, period) in tasks {
            let (mut c, mut t) = (cost.as_ns(), period.as_ns());
            if t == 0 {
                return None;
            }
            let common = greatest_common_divisor(c, t);
            (c, t) = (c / common, t / common);
            // a/b + c/t = (a·t + b·c) / (b·t)
            let share = sum.denominator.times(c);
            sum.numerator = sum.numerator.times(t).plus(&share);
            sum.denominator = sum.denominator.times(t);
        }
        Some(sum)
    }

    /// Whether U ≤ 1.
    pub fn fits(&self) -> bool {
        self.numerator.at_most(&self.denominator)
    }

    /// Whether U ≤ 1 for tasks given as (C, T), faster: big numbers only where U is close to 1. `None` if a T is
    /// zero.
    pub fn fit(tasks: impl Iterator<Item = (Duration, Duration)> + Clone) -> Option<bool> {
        let mut least = AtLeast::default();
        let mut count = 0;
        for (cost, period) in tasks.clone() {
            least = least.and(cost, period)?;
            count += 1;
        }
        // Rounding took away less than one unit per task.
        match least.0.checked_add(count) {
            Some(most) if most <= AtLeast::ONE => Some(true),
            _ if least.exceeds_one() => Some(false),
            _ => Some(Self::of(tasks)?.fits()),
        }
    }

    /// Whether U ≤ `billionths` · 10⁻⁹.
    fn at_most_billionths(&self, billionths: u64) -> bool {
        self.numerator.times(1_000_000_000).at_most(&self.denominator.times(billionths))
    }

    /// U in parts per million, rounded up; [`u64::MAX`] if it is more.
    pub fn ppm(&self) -> u64 {
        // The least p with numerator · 10⁶ ≤ denominator · p.
        let scaled = self.numerator.times(1_000_000);
        let (mut low, mut high) = (0, u64::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            if scaled.at_most(&self.denominator.times(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// A lower bound of U: each share rounded down to 2⁻³². Cheap enough to keep a sum per core while cores are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AtLeast(u128);

impl AtLeast {
    /// U = 1.
    const ONE: u128 = 1 << 32;

    /// Adds a task. `None` if its T is zero.
    pub fn and(self, cost: Duration, period: Duration) -> Option<Self> {
        let (cost, period) = (cost.as_ns(), period.as_ns());
        let share = match u32::try_from(cost) {
            // 64-bit division is several times faster.
            Ok(_) => u128::from((cost << 32).checked_div(period)?),
            Err(_) => (u128::from(cost) << 32).checked_div(u128::from(period))?,
        };
        Some(Self(self.0.saturating_add(share)))
    }

    /// Whether U > 1 for certain; if false, U may still be above 1.
    pub fn exceeds_one(self) -> bool {
        self.0 > Self::ONE
    }
}

/// Whether the tasks, as (C, T) with the most urgent first, are in rate-monotonic order.
fn in_rate_order(tasks: &[(Duration, Duration)]) -> bool {
    tasks.is_sorted_by_key(|&(_, period)| period)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A whole number of any size, the least significant 64 bits first, without zeros at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Whole(Vec<u64>);

impl From<u64> for Whole {
    fn from(value: u64) -> Self {
        Self(if value == 0 { Vec::new() } else { vec![value] })
    }
}

impl Whole {
    #[expect(clippy::cast_possible_truncation, reason = "low and high halves are taken apart")]
    fn times(&self, factor: u64) -> Self {
        if factor == 0 {
            return Self(Vec::new());
        }
        let mut carry = 0u128;
        let mut parts = Vec::with_capacity(self.0.len() + 1);
        for &part in &self.0 {
            let product = u128::from(part) * u128::from(factor) + carry;
            parts.push(product as u64);
            carry = product >> 64;
        }
        if carry != 0 {
            parts.push(carry as u64);
        }
        Self(parts)
    }

    fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        let mut carry = false;
        let mut parts = Vec::with_capacity(long.0.len() + 1);
        for (at, &part) in long.0.iter().enumerate() {
            let (sum, first) = part.overflowing_add(short.0.get(at).copied().unwrap_or(0));
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            parts.push(sum);
            carry = first || second;
        }
        if carry {
            parts.push(1);
        }
        Self(parts)
    }

    fn at_most(&self, other: &Self) -> bool {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev())).is_le()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tasks: &[(u64, u64)]) -> Utilisation {
        let ns = Duration::from_ns;
        Utilisation::of(tasks.iter().map(|&(c, t)| (ns(c), ns(t)))).expect("T > 0")
    }

    #[test]
    fn exact_at_the_edge() {
        assert!(of(&[(1, 3), (1, 3), (1, 3)]).fits());
        assert_eq!(of(&[(1, 3), (1, 3), (1, 3)]).ppm(), 1_000_000);
        assert_eq!(of(&[(1, 3)]).ppm(), 333_334);
        assert_eq!(of(&[(1, 10)]).ppm(), 100_000);
        assert_eq!(of(&[]).ppm(), 0);
        // 1 ns in 584 years too many: far below what a float could resolve.
        assert!(!of(&[(1, 3), (1, 3), (1, 3), (1, u64::MAX)]).fits());
        assert_eq!(of(&[(1, 3), (1, 3), (1, 3), (1, u64::MAX)]).ppm(), 1_000_001);
        let primes = [4_294_967_291, 4_294_967_279, 4_294_967_231, 4_294_967_197];
        let thirds: Vec<_> = primes.iter().map(|&p| ((p - 1) / 4, p)).collect();
        assert!(of(&thirds).fits());
        assert!(!of(&[&thirds[..], &[(5, 4_294_967_189)]].concat()).fits());
    }

    /// The fast answer is the exact one, above all at the edge.
    #[test]
    fn sooner_is_the_same() {
        let thirds = [(1, 3), (1, 3), (1, 3)];
        let edge = 1 << 32;
        let sets: [&[(u64, u64)]; 10] = [
            &[],
            &thirds,
            &[(1, 3), (1, 3), (1, 3), (1, u64::MAX)],
            &[(1, 3), (1, 3), (333_333_333, 1_000_000_000)],
            &[(edge - 1, edge), (1, edge)],
            &[(edge - 1, edge), (1, edge), (1, u64::MAX)],
            &[(edge, edge)],
            &[(u64::MAX, u64::MAX)],
            &[(u64::MAX, 1); 100],
            &[(0, 7), (5_000_000_000, 20_000_000_000)],
        ];
        for set in sets {
            let tasks = set.iter().map(|&(c, t)| (Duration::from_ns(c), Duration::from_ns(t)));
            assert_eq!(Utilisation::fit(tasks.clone()), Some(of(set).fits()), "{set:?}");
            let least = tasks.fold(AtLeast::default(), |sum, (c, t)| sum.and(c, t).unwrap_or(sum));
            assert!(!(least.exceeds_one() && of(set).fits()), "{set:?}");
        }
        assert_eq!(Utilisation::fit([(Duration::ZERO, Duration::ZERO)].into_iter()), None);
        assert_eq!(AtLeast::default().and(Duration::ZERO, Duration::ZERO), None);
    }

    #[test]
    fn extremes() {
        assert_eq!(of(&[(u64::MAX, 1)]).ppm(), u64::MAX);
        assert!(!of(&[(u64::MAX, 1); 100]).fits());
        assert_eq!(Utilisation::of([(Duration::ZERO, Duration::ZERO)]), None);
    }
}
