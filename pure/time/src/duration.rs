// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;
use core::str::FromStr;

use alloc::string::String;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Visitor};

use crate::shown;

/// A length of time in whole nanoseconds, 0 to 2⁶⁴ − 1 (584 years).
///
/// In text it carries a unit, one of `ns us ms s min h`: `"250us"`, `"8ms"`, `"1.5ms"`. [`fmt::Display`] writes the
/// largest unit up to `s` in which the value is exact with at most three decimals, so that reading back gives the
/// same value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    ns: u64,
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { ns: 0 };
    /// The longest time that the type can hold, 2⁶⁴ − 1 ns.
    pub const MAX: Self = Self { ns: u64::MAX };

    /// From whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// From whole microseconds, at most [`Duration::MAX`].
    pub const fn from_us(us: u64) -> Self {
        Self { ns: us.saturating_mul(1_000) }
    }

    /// From whole milliseconds, at most [`Duration::MAX`].
    pub const fn from_ms(ms: u64) -> Self {
        Self { ns: ms.saturating_mul(1_000_000) }
    }

    /// From whole seconds, at most [`Duration::MAX`].
    pub const fn from_s(s: u64) -> Self {
        Self { ns: s.saturating_mul(1_000_000_000) }
    }

    /// In nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// In microseconds, for display and plots; never for a verdict.
    #[expect(clippy::cast_precision_loss, reason = "for display only")]
    pub fn as_us_f64(self) -> f64 {
        self.ns as f64 / 1e3
    }

    /// Whether it is zero.
    pub const fn is_zero(self) -> bool {
        self.ns == 0
    }

    /// The sum, or `None` on overflow.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.ns.checked_add(other.ns) {
            Some(ns) => Some(Self { ns }),
            None => None,
        }
    }

    /// The difference, or `None` if it would be negative.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.ns.checked_sub(other.ns) {
            Some(ns) => Some(Self { ns }),
            None => None,
        }
    }

    /// The difference, or zero if it would be negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_sub(other.ns) }
    }

    /// `count` times as long, or `None` on overflow.
    pub const fn checked_mul(self, count: u64) -> Option<Self> {
        match self.ns.checked_mul(count) {
            Some(ns) => Some(Self { ns }),
            None => None,
        }
    }

    /// How many of `unit` cover the duration: ⌈self / unit⌉. `None` if `unit` is zero.
    pub const fn div_ceil(self, unit: Self) -> Option<u64> {
        if unit.ns == 0 { None } else { Some(self.ns.div_ceil(unit.ns)) }
    }

    /// How many of `unit` fit into the duration: ⌊self / unit⌋. `None` if `unit` is zero.
    pub const fn div_floor(self, unit: Self) -> Option<u64> {
        self.ns.checked_div(unit.ns)
    }
}

impl Duration {
    /// Text for people: three digits, rounded up; see [`shown`].
    pub fn rounded(self) -> String {
        shown::time(self.ns)
    }

    /// Text for people, for a time of at least `self` that exceeds `limit`: three digits, rounded down, or more digits
    /// where three would not show a value above the limit.
    pub fn rounded_above(self, limit: Self) -> String {
        shown::above(self.ns, limit.ns)
    }
}

/// The units that text output uses.
const UNITS: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
/// The further units that input may use.
const LONG_UNITS: [(&str, u64); 2] = [("min", 60_000_000_000), ("h", 3_600_000_000_000)];

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ns == 0 {
            return f.pad("0ns");
        }
        // The largest unit in which at most three decimals are exact.
        for (name, size) in UNITS {
            let step = if size >= 1_000 { size / 1_000 } else { 1 };
            if self.ns >= size && self.ns.is_multiple_of(step) {
                let whole = self.ns / size;
                let thousandths = self.ns % size / step;
                let mut text = Text::new();
                text.write(format_args!("{whole}"))?;
                if thousandths != 0 {
                    let (value, digits) = match thousandths {
                        t if t % 100 == 0 => (t / 100, 1),
                        t if t % 10 == 0 => (t / 10, 2),
                        t => (t, 3),
                    };
                    text.write(format_args!(".{value:0digits$}"))?;
                }
                text.write(format_args!("{name}"))?;
                return f.pad(text.as_str());
            }
        }
        f.pad("0ns")
    }
}

/// A few bytes of text on the stack, so that `Display` honours width and needs no heap.
struct Text {
    bytes: [u8; 32],
    len: usize,
}

impl Text {
    fn new() -> Self {
        Self { bytes: [0; 32], len: 0 }
    }

    fn write(&mut self, args: fmt::Arguments<'_>) -> fmt::Result {
        fmt::Write::write_fmt(self, args)
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let end = self.len + s.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(s.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Why a text is not a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseDurationError {
    /// The text does not start with a number.
    NoNumber,
    /// There is a number and no unit.
    NoUnit,
    /// The unit is not one of `ns us ms s min h`.
    UnknownUnit,
    /// It is not a whole number of nanoseconds.
    Fraction,
    /// It does not fit in 64 bits of nanoseconds.
    TooLong,
}

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoNumber => "a duration starts with a number, as in \"8ms\"",
            Self::NoUnit => "a duration needs a unit: ns, us, ms, s, min or h",
            Self::UnknownUnit => "unknown unit of time: use ns, us, ms, s, min or h",
            Self::Fraction => "not a whole number of nanoseconds",
            Self::TooLong => "too long: at most 18446744073s",
        })
    }
}

impl core::error::Error for ParseDurationError {}

impl FromStr for Duration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, ParseDurationError> {
        let text = text.trim();
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let size = match unit.trim() {
            _ if number.is_empty() => return Err(ParseDurationError::NoNumber),
            "" => return Err(ParseDurationError::NoUnit),
            unit => {
                let mut units = UNITS.iter().chain(&LONG_UNITS);
                units.find(|(name, _)| *name == unit).ok_or(ParseDurationError::UnknownUnit)?.1
            }
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || number.ends_with('.') || fraction.contains('.') {
            return Err(ParseDurationError::NoNumber);
        }
        let mut ns = whole
            .parse::<u64>()
            .ok()
            .and_then(|whole| whole.checked_mul(size))
            .ok_or(ParseDurationError::TooLong)?;
        let mut place = size;
        for digit in fraction.bytes().map(|b| u64::from(b - b'0')) {
            if !place.is_multiple_of(10) && digit != 0 {
                return Err(ParseDurationError::Fraction);
            }
            place /= 10;
            ns = ns.checked_add(digit * place).ok_or(ParseDurationError::TooLong)?;
        }
        Ok(Self { ns })
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Quoted;
        impl Visitor<'_> for Quoted {
            type Value = Duration;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with a unit, as in \"8ms\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Quoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for (text, ns) in [
            ("0ns", 0),
            ("1ns", 1),
            ("999ns", 999),
            ("1.001us", 1_001),
            ("250us", 250_000),
            ("1.5ms", 1_500_000),
            ("8ms", 8_000_000),
            ("8000.001us", 8_000_001),
            ("1s", 1_000_000_000),
            ("1.05s", 1_050_000_000),
            ("90s", 90_000_000_000),
            ("2min", 120_000_000_000),
            ("1.5 min", 90_000_000_000),
            ("0.5h", 1_800_000_000_000),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(text.parse::<Duration>().map(Duration::as_ns), Ok(ns), "{text}");
            let shown = Duration::from_ns(ns).to_string();
            assert_eq!(shown.parse::<Duration>().map(Duration::as_ns), Ok(ns), "{shown}");
        }
        assert_eq!(Duration::from_ns(8_000_001).to_string(), "8000.001us");
        assert_eq!(Duration::from_s(3_600).to_string(), "3600s");
        assert_eq!(format!("[{:>8}]", Duration::from_ms(8)), "[     8ms]");
        assert_eq!(Duration::MAX.to_string().parse(), Ok(Duration::MAX));
    }

    #[test]
    fn bad_text() {
        use ParseDurationError::*;
        for (text, error) in [
            ("", NoNumber),
            ("ms", NoNumber),
            (".5ms", NoNumber),
            ("1.ms", NoNumber),
            ("1.2.3ms", NoNumber),
            ("-1ms", NoNumber),
            ("8", NoUnit),
            ("8 minutes", UnknownUnit),
            ("8m", UnknownUnit),
            ("8H", UnknownUnit),
            ("5124096h", TooLong),
            ("1.5ns", Fraction),
            ("0.0001us", Fraction),
            ("18446744074s", TooLong),
            ("99999999999999999999ns", TooLong),
        ] {
            assert_eq!(text.parse::<Duration>(), Err(error), "{text}");
        }
    }

    #[test]
    fn arithmetic_does_not_wrap() {
        let one = Duration::from_ns(1);
        assert_eq!(Duration::MAX.checked_add(one), None);
        assert_eq!(Duration::ZERO.checked_sub(one), None);
        assert_eq!(Duration::MAX.checked_mul(2), None);
        assert_eq!(one.div_ceil(Duration::ZERO), None);
        assert_eq!(Duration::from_ns(9).div_ceil(Duration::from_ns(4)), Some(3));
        assert_eq!(Duration::from_ns(9).div_floor(Duration::from_ns(4)), Some(2));
        assert_eq!(Duration::from_s(u64::MAX), Duration::MAX);
    }
}
