// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Parses quantities, and explains what is wrong with them.
#![expect(clippy::result_large_err, reason = "a fault is rare, and never in a hot loop")]

use taut_model::{Code, Fault, KeyPath, ParseSizeError, Scalar, Size, codes};
use taut_time::{Duration, ParseDurationError};

/// The largest margin: a hundredfold.
const MARGIN_MAX_PERMILLE: u32 = 100_000;

fn fault(code: Code, text: &str, what: &str, place: KeyPath, label: impl Into<String>) -> Fault {
    Fault::error(code, format!("`{}` is not {what}", text.escape_debug()), place, label)
}

pub(crate) fn duration(text: &str, place: KeyPath) -> Result<Duration, Fault> {
    text.parse().map_err(|error| {
        if text.trim().starts_with('-') {
            let fault = fault(codes::BAD_DURATION, text, "a duration", place, "a duration cannot be negative");
            return fault.help("as in \"250us\", \"8ms\" or \"1.5s\"; an `offset` delays, and nothing comes before release 0");
        }
        let fault = fault(codes::BAD_DURATION, text, "a duration", place, format!("{error}"));
        let text = text.trim();
        // Lower case and a decimal point have only one reading.
        let plain = text.to_lowercase().replace(',', ".");
        if plain != text && plain.parse::<Duration>().is_ok() {
            return fault.help(format!("write \"{plain}\""));
        }
        let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        match error {
            ParseDurationError::NoUnit => {
                fault.help(format!("write \"{number}ms\" if milliseconds are meant"))
            }
            ParseDurationError::UnknownUnit => {
                let unit = match text[number.len()..].trim().to_lowercase().as_str() {
                    "nsec" | "nanos" | "nanoseconds" => "ns",
                    "µs" | "μs" | "u" | "usec" | "micros" | "microseconds" => "us",
                    "msec" | "millis" | "milliseconds" => "ms",
                    "sec" | "secs" | "second" | "seconds" => "s",
                    "mins" | "minute" | "minutes" => "min",
                    "hr" | "hrs" | "hour" | "hours" => "h",
                    "m" => {
                        let help =
                            format!("write \"{number}ms\" for milliseconds, \"{number}min\" for minutes");
                        return fault.help(help);
                    }
                    _ => return fault.help("one number and one unit, as in \"250us\", \"8ms\" or \"1.5s\""),
                };
                fault.help(format!("write \"{number}{unit}\""))
            }
            ParseDurationError::Fraction => fault.help("the smallest unit is 1ns"),
            ParseDurationError::NoNumber => fault.help("as in \"250us\", \"8ms\" or \"1.5s\""),
            ParseDurationError::TooLong => fault.help("the longest duration is 584 years"),
        }
    })
}

/// A number of seconds as a duration, if it is one.
pub(crate) fn of_seconds(seconds: f64) -> Option<Duration> {
    let ns = (seconds * 1e9).round();
    // Whole numbers up to this limit are exact.
    let fits = (1.0..9e15).contains(&ns);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within both, as just seen")]
    fits.then(|| Duration::from_ns(ns as u64))
}

/// `0-3` or `0, 2`: the numbers of a list in the notation of Linux; at most 64.
pub(crate) fn range(text: &str) -> Option<Vec<u16>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u16, u16) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last - first > 64 {
            return None;
        }
        numbers.extend(first..=last);
    }
    (numbers.len() <= 64).then_some(numbers)
}

pub(crate) fn size(text: &str, place: KeyPath) -> Result<Size, Fault> {
    text.parse().map_err(|error| {
        let fault = fault(codes::BAD_SIZE, text, "a size", place, format!("{error}"));
        let number = text.trim().trim_end_matches(|c: char| !c.is_ascii_digit());
        match error {
            ParseSizeError::Ambiguous(unit) => fault.help(format!("write \"{number}{unit}\"")),
            ParseSizeError::NoUnit => fault.help(format!("write \"{number}KiB\" if kibibytes are meant")),
            _ => fault.help("as in \"512B\", \"256KiB\" or \"64MiB\""),
        }
    })
}

/// A percentage with at most one decimal, in thousandths.
pub(crate) fn percent(text: &str, place: KeyPath) -> Result<u32, Fault> {
    let wrong = |label: &str, help: String| {
        Err(fault(codes::BAD_PERCENT, text, "a percentage", place.clone(), label).help(help))
    };
    let trimmed = text.trim();
    let Some(number) = trimmed.strip_suffix('%').map(str::trim_end) else {
        let digits = !trimmed.is_empty() && trimmed.bytes().all(|b| b.is_ascii_digit());
        let help = if digits { format!("write \"{trimmed}%\"") } else { "as in \"20%\"".into() };
        return wrong("the sign `%` is missing", help);
    };
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(tenths) {
        return wrong("not a number", "as in \"20%\" or \"12.5%\"".into());
    }
    if tenths.len() > 1 {
        return wrong("one decimal at most", "round it up".into());
    }
    let permille = whole.parse::<u32>().ok().and_then(|n| n.checked_mul(10));
    let permille = permille.and_then(|n| n.checked_add(tenths.parse().ok()?));
    match permille.filter(|permille| *permille <= MARGIN_MAX_PERMILLE) {
        Some(permille) => Ok(permille),
        None => wrong("at most 10000%", "a margin is the part that is added to the value".into()),
    }
}

/// `u8*176`: a number type and its count, 1 if the text gives none.
pub(crate) fn scalar(text: &str, place: KeyPath) -> Result<(Scalar, u32), Fault> {
    let (name, len) = match text.split_once('*') {
        Some((name, len)) => (name.trim(), Some(len.trim())),
        None => (text.trim(), None),
    };
    let element = element(name, place.clone())?;
    let len = match len {
        None => Some(1),
        Some(len) => len.parse::<u32>().ok().filter(|len| *len > 0),
    };
    match len {
        Some(len) => Ok((element, len)),
        None => Err(fault(codes::BAD_SCALAR, text, "a number type", place, "the count must be 1 or more")
            .help(format!("as in \"{name}*8\""))),
    }
}

/// `u8*16`, `[f32; 6]`, `f32[6]`: a number type and its count, in the notation of other languages.
fn array(text: &str) -> Option<(&'static str, u32)> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    let [one, other] = parts[..] else { return None };
    let (name, len) = if one.starts_with(|c: char| c.is_ascii_digit()) { (other, one) } else { (one, other) };
    let known = Scalar::ALL.iter().find(|(scalar, _)| *scalar == name).map(|(scalar, _)| *scalar);
    Some((known.or_else(|| of_other_languages(name))?, len.parse().ok().filter(|len| *len > 0)?))
}

/// The number type that a word means in other languages.
fn of_other_languages(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let short = match text.strip_suffix("_t").unwrap_or(&text) {
        "byte" | "char" => "u8".to_owned(),
        "short" => "i16".to_owned(),
        "int" => "i32".to_owned(),
        "unsigned" | "uint" => "u32".to_owned(),
        "long" => "i64".to_owned(),
        "single" | "float" => "f32".to_owned(),
        "double" => "f64".to_owned(),
        text => text.replacen("uint", "u", 1).replacen("int", "i", 1).replacen("float", "f", 1),
    };
    Scalar::ALL.iter().find(|(scalar, _)| *scalar == short).map(|(scalar, _)| *scalar)
}

/// `i16`: a number type.
pub(crate) fn element(text: &str, place: KeyPath) -> Result<Scalar, Fault> {
    match Scalar::ALL.iter().find(|(name, _)| *name == text) {
        Some((_, scalar)) => Ok(*scalar),
        None => {
            let names = Scalar::ALL.map(|(name, _)| name);
            let fault = fault(codes::BAD_SCALAR, text, "a number type", place, "unknown");
            Err(match text {
                "bool" => fault.help("write \"u8\": every bit pattern of a payload must be a value"),
                _ => match (array(text), of_other_languages(text)) {
                    (Some((name, len)), _) => fault.help(format!("write `type = \"{name}\", len = {len}`")),
                    (_, Some(name)) => fault.help(format!("did you mean `{name}`?")),
                    _ => fault.help(format!("the number types are {}", names.join(", "))),
                },
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins() {
        let at = || KeyPath::value("");
        for (text, permille) in [("0%", 0), ("20%", 200), ("12.5%", 125), (" 7 % ", 70), ("10000%", 100_000)]
        {
            assert_eq!(percent(text, at()), Ok(permille), "{text}");
        }
        for text in ["", "%", "20", "-5%", "1.25%", "10000.1%", "99999999999%", "1.%", ".5%", "a%", "0.2"] {
            assert_eq!(percent(text, at()).unwrap_err().code, codes::BAD_PERCENT, "{text}");
        }
    }

    #[test]
    fn scalars() {
        let at = || KeyPath::value("");
        assert_eq!(scalar("u8*176", at()), Ok((Scalar::U8, 176)));
        assert_eq!(scalar("f64", at()), Ok((Scalar::F64, 1)));
        assert_eq!(scalar(" i16 * 2 ", at()), Ok((Scalar::I16, 2)));
        for text in ["", "u9", "u8*0", "u8*-1", "u8*", "*3", "u8*4294967296", "u8*2*2"] {
            assert_eq!(scalar(text, at()).unwrap_err().code, codes::BAD_SCALAR, "{text}");
        }
    }
}
