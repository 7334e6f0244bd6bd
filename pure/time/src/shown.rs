// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How every output shows quantities to people.
//!
//! One rule: three digits, rounded up, in the largest unit that the value reaches; a value below a thousand of the
//! smallest unit is exact. The shown value is never less than the real one, so a bound stays a bound, and of two
//! values the larger is never shown as the smaller. A table of one unit shows whole units, rounded up, and one decimal
//! below ten. A value that is a lower bound and exceeds a limit is rounded down, since rounding up would claim more
//! than is known. Values for further computation are exact: in plans, in JSON, in manifests, and in proposals for a
//! manifest.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

use crate::Duration;

/// The units of time and their lengths in ns, without the smallest.
const TIMES: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];

/// A length of time.
pub fn time(ns: u64) -> String {
    three(ns, &TIMES, "ns")
}

/// A share in parts per million, in percent with one decimal, rounded up.
pub fn percent(ppm: u64) -> String {
    let tenths = ppm.div_ceil(1_000);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// A time of at least `ns`, to compare with a limit. A time above the limit is rounded down, with more than three
/// digits where three would not show that it is above the limit; any other time is rounded up as usual.
pub fn above(ns: u64, limit_ns: u64) -> String {
    if ns <= limit_ns {
        return time(ns);
    }
    let shown_ns = limit_ns.checked_next_multiple_of(last_digit(limit_ns)).unwrap_or(u64::MAX);
    let down = |digit: u64| ns - ns % digit;
    let mut digit = last_digit(ns);
    if down(digit) > shown_ns {
        return time(down(digit));
    }
    while digit > 1 && down(digit) <= shown_ns {
        digit /= 10;
    }
    Duration::from_ns(down(digit)).to_string()
}

/// The weight in ns of the last of the three digits of a length of time.
fn last_digit(ns: u64) -> u64 {
    TIMES.iter().find(|(size, _)| ns >= *size).map_or(1, |(size, _)| match ns / size {
        0..10 => size / 100,
        10..100 => size / 10,
        _ => *size,
    })
}

/// An amount of memory.
pub fn size(bytes: u64) -> String {
    three(bytes, &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")], "B")
}

/// A length of time for a table in µs; `-` for none.
pub fn micros(ns: Option<u64>) -> String {
    match ns {
        None => "-".to_owned(),
        Some(ns) if ns < 10_000 => {
            let tenths = ns.div_ceil(100);
            format!("{}.{}", tenths / 10, tenths % 10)
        }
        Some(ns) => ns.div_ceil(1_000).to_string(),
    }
}

fn three(value: u64, units: &[(u64, &str)], smallest: &str) -> String {
    let Some((size, unit)) = units.iter().find(|(size, _)| value >= *size) else {
        return format!("{value} {smallest}");
    };
    let hundredths = (u128::from(value) * 100).div_ceil(u128::from(*size));
    match hundredths {
        0..1_000 => format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100),
        1_000..10_000 => {
            let tenths = hundredths.div_ceil(10);
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        _ => format!("{} {unit}", hundredths.div_ceil(100)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_rounded_up() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (1_001, "1.01 µs"),
            (9_991, "10.0 µs"),
            (12_340_001, "12.4 ms"),
            (9_999_999, "10.0 ms"),
            (14_775_673, "14.8 ms"),
            (99_900_001, "100.0 ms"),
            (123_000_000, "123 ms"),
            (123_000_001, "124 ms"),
            (10_000_000_000, "10.0 s"),
            (u64::MAX, "18446744074 s"),
        ] {
            assert_eq!(time(ns), text);
        }
        for (bytes, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.00 KiB"),
            (10_283_136, "9.81 MiB"),
            (1_023 << 20, "1023 MiB"),
            ((1 << 30) + 1, "1.01 GiB"),
            (u64::MAX, "17179869184 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        for (ns, text) in [(901, "1.0"), (9_901, "10.0"), (10_001, "11"), (12_345_001, "12346")] {
            assert_eq!(micros(Some(ns)), text);
        }
        assert_eq!(micros(None), "-");
    }

    #[test]
    fn what_passes_a_limit_reads_as_more() {
        for (ns, limit, text) in [
            (12_349_999, 12_000_000, "12.3 ms"),
            (8_010_001, 8_000_000, "8.01 ms"),
            (15_062_677, 15_000_000, "15.06ms"),
            (8_000_001, 8_000_000, "8000.001us"),
            // Three digits of both would be the same.
            (8_019_999, 8_010_001, "8019.999us"),
            (8_020_000, 8_010_001, "8.02ms"),
            (8_030_000, 8_010_001, "8.03 ms"),
            (1_000_000_001, 999_999_999, "1000000.001us"),
            (7_999_999, 8_000_000, "8.00 ms"),
            (999, 998, "999 ns"),
            (u64::MAX, 1, "18446744073 s"),
            (u64::MAX, u64::MAX - 1, "18446744073709551.615us"),
        ] {
            assert_eq!(above(ns, limit), text, "{ns} above {limit}");
        }
    }

    /// The shown value, in the smallest unit, is never less than the real one, and keeps the order.
    #[test]
    fn nothing_is_shown_as_less() {
        let read = |text: &str| {
            let (number, unit) = text.split_once(' ').unwrap();
            let (_, of) = [("ns", 1u128), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)]
                .into_iter()
                .find(|(name, _)| *name == unit)
                .unwrap();
            let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
            let scale = 10u128.pow(u32::try_from(decimals.len()).unwrap());
            (whole.parse::<u128>().unwrap() * scale + decimals.parse::<u128>().unwrap_or(0)) * of / scale
        };
        let (mut random, mut values) = (1u64, vec![0, u64::MAX]);
        for bits in 1..64 {
            for _ in 0..if cfg!(miri) { 2 } else { 50 } {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                values.push(random >> bits);
            }
        }
        values.sort_unstable();
        let shown: Vec<u128> = values.iter().map(|ns| read(&time(*ns))).collect();
        assert!(values.iter().zip(&shown).all(|(ns, shown)| u128::from(*ns) <= *shown));
        assert!(shown.is_sorted());
        // By at most a hundredth.
        assert!(
            values.iter().zip(&shown).all(|(ns, shown)| *shown <= u128::from(*ns) + u128::from(*ns) / 100)
        );
    }
}
