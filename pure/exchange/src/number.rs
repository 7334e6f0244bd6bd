// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Numbers of other languages, converted exactly to whole nanoseconds.

use taut_time::Duration;

/// A number from 0 on: `digits / 10^places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    places: u32,
}

/// The limit on digits before and after the point, so that products of two numbers do not overflow.
const MOST: u32 = 15;

impl Decimal {
    pub(crate) const ONE: Self = Self { digits: 1, places: 0 };

    /// `12`, `12.50`, `1.2E7`, `1e-3`; at most 15 digits on either side of the point.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let whole = whole.trim_start_matches('0');
        let all = || whole.bytes().chain(fraction.bytes());
        let plain = mantissa.starts_with(|c: char| c.is_ascii_digit()) && all().all(|b| b.is_ascii_digit());
        if !plain || all().count() > MOST as usize || exponent.unsigned_abs() > MOST {
            return None;
        }
        let digits = all().fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
        let places = i32::try_from(fraction.len()).ok()? - exponent;
        match u32::try_from(places) {
            Ok(places) => Some(Self { digits, places }),
            Err(_) => Some(Self {
                digits: digits.checked_mul(10u128.checked_pow(places.unsigned_abs())?)?,
                places: 0,
            }),
        }
    }

    /// The product with `by / under`, rounded up or down; `None` on overflow or if `under` is 0.
    pub(crate) fn scaled(self, by: u64, under: Self, up: bool) -> Option<u64> {
        let product =
            self.digits.checked_mul(u128::from(by))?.checked_mul(10u128.checked_pow(under.places)?)?;
        let divisor = under.digits.checked_mul(10u128.checked_pow(self.places)?)?;
        let result = if up {
            product.checked_add(divisor)?.checked_sub(1)?.checked_div(divisor)
        } else {
            product.checked_div(divisor)
        };
        u64::try_from(result?).ok()
    }

    /// This many units, rounded up or down.
    pub(crate) fn of(self, unit: Duration, up: bool) -> Option<Duration> {
        self.scaled(unit.as_ns(), Self::ONE, up).map(Duration::from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let us = Duration::from_us(1);
        for (text, ns) in [
            ("0", Some(0)),
            ("12", Some(12_000)),
            ("12.50", Some(12_500)),
            ("1.2E7", Some(12_000_000_000)),
            ("5e-3", Some(5)),
            ("0.0001", Some(1)),
            ("007", Some(7_000)),
            ("-1", None),
            ("", None),
            (".", None),
            ("1e99", None),
            ("1e", None),
            ("nan", None),
            ("99999999999999999999", None),
            ("999999999999999e15", None),
        ] {
            assert_eq!(Decimal::parse(text).and_then(|n| n.of(us, true)).map(Duration::as_ns), ns, "{text}");
        }
        let ticks = Decimal::parse("27320001").and_then(|n| n.scaled(1, Decimal::parse("2.0")?, true));
        assert_eq!(ticks, Some(13_660_001));
        assert_eq!(Decimal::parse("1").and_then(|n| n.scaled(1, Decimal::parse("0")?, false)), None);
    }
}
