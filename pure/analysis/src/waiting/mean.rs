// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;
use core::ops::{Add, Div, Mul, Sub};

use taut_time::Duration;

use crate::wide::{greatest_common_divisor, ns};

/// A mean over a long time, never a bound: a ratio of integers while those fit in 128 bits, then a rounded number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mean {
    /// Exactly this ratio, in lowest terms.
    Exact {
        /// The numerator.
        numerator: u128,
        /// The denominator, not 0.
        denominator: u128,
    },
    /// About this value.
    Rounded(f64),
}

/// The means of a queue that has been running for long. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    /// ρ: the share of time that a server is busy.
    pub utilisation: Mean,
    /// W_q: time that a value waits.
    pub waiting_ns: Mean,
    /// W: time that a value waits and is served.
    pub staying_ns: Mean,
    /// L_q = λ W_q: values that wait.
    pub waiting: Mean,
    /// L = λ W: values that wait or are served.
    pub staying: Mean,
}

/// Why there is no mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMean {
    /// As much arrives as can be served, or more: the queue grows for ever.
    Overload,
    /// The time between arrivals, or the number of servers, is zero.
    Zero,
    /// More servers than the computation supports.
    Servers,
}

impl fmt::Display for NoMean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overload => {
                "requests arrive as fast as they can be served, or faster, so the queue grows for ever"
            }
            Self::Zero => "the time between arrivals is zero, or there is no server",
            Self::Servers => "too many servers",
        })
    }
}

impl core::error::Error for NoMean {}

impl Mean {
    pub(super) const ONE: Self = Self::whole(1);

    pub(super) const fn whole(value: u128) -> Self {
        Self::Exact { numerator: value, denominator: 1 }
    }

    pub(super) fn time(time: Duration) -> Self {
        Self::whole(ns(time))
    }

    /// The nearest number that can be displayed.
    #[allow(clippy::cast_precision_loss, reason = "to be shown")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Exact { numerator, denominator } => numerator as f64 / denominator as f64,
            Self::Rounded(value) => value,
        }
    }

    fn ratio(numerator: Option<u128>, denominator: Option<u128>) -> Option<Self> {
        let (numerator, denominator) = (numerator?, denominator.filter(|below| *below > 0)?);
        let by = greatest_common_divisor(numerator, denominator);
        Some(Self::Exact { numerator: numerator / by, denominator: denominator / by })
    }

    fn with(
        self,
        other: Self,
        exact: impl FnOnce((u128, u128), (u128, u128)) -> Option<Self>,
        rounded: impl FnOnce(f64, f64) -> f64,
    ) -> Self {
        let both = match (self, other) {
            (Self::Exact { numerator: a, denominator: b }, Self::Exact { numerator: c, denominator: d }) => {
                exact((a, b), (c, d))
            }
            _ => None,
        };
        both.unwrap_or_else(|| Self::Rounded(rounded(self.as_f64(), other.as_f64())))
    }
}

impl Add for Mean {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let exact = |(a, b): (u128, u128), (c, d): (u128, u128)| {
            let sum = a.checked_mul(d).and_then(|left| left.checked_add(c.checked_mul(b)?));
            Self::ratio(sum, b.checked_mul(d))
        };
        self.with(other, exact, |a, b| a + b)
    }
}

/// Of a value that is not larger: the callers have checked that.
impl Sub for Mean {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        let exact = |(a, b): (u128, u128), (c, d): (u128, u128)| {
            let difference = a.checked_mul(d).and_then(|left| left.checked_sub(c.checked_mul(b)?));
            Self::ratio(difference, b.checked_mul(d))
        };
        self.with(other, exact, |a, b| a - b)
    }
}

impl Mul for Mean {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let exact = |(a, b): (u128, u128), (c, d): (u128, u128)| {
            // Reduces across first: less overflows.
            let (left, right) = (greatest_common_divisor(a, d).max(1), greatest_common_divisor(c, b).max(1));
            Self::ratio((a / left).checked_mul(c / right), (b / right).checked_mul(d / left))
        };
        self.with(other, exact, |a, b| a * b)
    }
}

/// By a value that is not 0: the callers have checked that.
impl Div for Mean {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let exact = |(a, b): (u128, u128), (c, d): (u128, u128)| {
            let (left, right) = (greatest_common_divisor(a, c).max(1), greatest_common_divisor(b, d).max(1));
            Self::ratio((a / left).checked_mul(d / right), (b / right).checked_mul(c / left))
        };
        self.with(other, exact, |a, b| a / b)
    }
}

/// Two decimal places, for people: `3.14`, or `~3.14` if the value is rounded.
impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact { .. } => write!(f, "{:.2}", self.as_f64()),
            Self::Rounded(value) => write!(f, "~{value:.2}"),
        }
    }
}

impl Means {
    /// All means from W_q, the mean time between arrivals and the mean service time; `servers` at least 1.
    pub(super) fn of(waiting: Mean, gap: Duration, service: Duration, servers: u64) -> Self {
        let (gap, service) = (Mean::time(gap), Mean::time(service));
        let staying = waiting + service;
        Self {
            utilisation: service / gap / Mean::whole(servers.into()),
            waiting_ns: waiting,
            staying_ns: staying,
            waiting: waiting / gap,
            staying: staying / gap,
        }
    }
}

/// Whether a queue settles: the load is less than `servers` can serve.
pub(super) fn settles(gap: Duration, service: Duration, servers: u64) -> Result<(), NoMean> {
    if gap.is_zero() || servers == 0 {
        return Err(NoMean::Zero);
    }
    // Fits: 64 bits times 64.
    if ns(service) >= ns(gap) * u128::from(servers) { Err(NoMean::Overload) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(a: Mean, b: f64) -> bool {
        (a.as_f64() - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    proptest! {
        #[test]
        fn arithmetic(a in 1..1000_u128, b in 1..1000_u128, c in 1..1000_u128, d in 1..1000_u128) {
            let (x, y) = (Mean::whole(a) / Mean::whole(b), Mean::whole(c) / Mean::whole(d));
            let (fx, fy) = (x.as_f64(), y.as_f64());
            prop_assert!(close(x + y, fx + fy) && close(x * y, fx * fy) && close(x / y, fx / fy));
            prop_assert_eq!(x + y - y, x);
            prop_assert_eq!(x * y / y, x);
        }
    }

    #[test]
    fn what_does_not_fit_is_rounded() {
        let large = Mean::whole(u128::MAX);
        assert!(matches!(large * Mean::whole(3), Mean::Rounded(value) if value > 1e39));
        assert_eq!(large / large, Mean::ONE);
        assert_eq!((Mean::whole(1) / Mean::whole(8)).to_string(), "0.12");
        assert_eq!(Mean::Rounded(2.5).to_string(), "~2.50");
    }
}
