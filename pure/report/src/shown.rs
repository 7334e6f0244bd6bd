// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How people are shown quantities, by whatever prints them.
//!
//! One rule: three digits, rounded up, and the largest unit that is reached; below a thousand of the smallest one, exact. What is
//! shown is never less than what is, so a bound still is one, and of two the larger is never shown as the smaller. In a
//! table of one unit, whole ones, rounded up; below ten a decimal. Exact figures are where somebody computes with them: in
//! plans, in JSON, in equations of `explain`, and in what is a manifest again.

/// A length of time.
pub fn time(ns: u64) -> String {
    three(ns, &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")], "ns")
}

/// An amount of memory.
pub fn size(bytes: u64) -> String {
    three(bytes, &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")], "B")
}

/// A length of time in a table of µs; `-` for none.
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

    /// What is shown, in the smallest unit, is never less, and keeps the order.
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
            for _ in 0..50 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                values.push(random >> bits);
            }
        }
        values.sort_unstable();
        let shown: Vec<u128> = values.iter().map(|ns| read(&time(*ns))).collect();
        assert!(values.iter().zip(&shown).all(|(ns, shown)| u128::from(*ns) <= *shown));
        assert!(shown.is_sorted());
        // By less than a hundredth.
        assert!(
            values.iter().zip(&shown).all(|(ns, shown)| *shown <= u128::from(*ns) + u128::from(*ns) / 100)
        );
    }
}
