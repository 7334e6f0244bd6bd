// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Parses quantities.

use std::ops::Range;

use taut_model::{ParseSizeError, Size, codes};
use taut_time::{Duration, ParseDurationError};

use crate::fault::Faults;

/// A time in ns.
pub(crate) fn time(text: &str, at: &Range<usize>, faults: &mut Faults<'_>) -> Option<u64> {
    match text.parse::<Duration>() {
        Ok(time) => Some(time.as_ns()),
        Err(why) => {
            let help = match why {
                ParseDurationError::NoUnit => {
                    format!("write \"{}ms\" if milliseconds are meant", text.trim())
                }
                _ => "as in \"250us\", \"8ms\" or \"1.5s\"".into(),
            };
            let message = format!("\"{}\" is not a duration", text.escape_debug());
            faults.add(codes::BAD_DURATION, at, message, why.to_string(), Some(help))
        }
    }
}

/// A size in bytes, at most 2³².
pub(crate) fn size(text: &str, at: &Range<usize>, faults: &mut Faults<'_>) -> Option<u64> {
    let size = text.parse::<Size>().and_then(|size| {
        if size.as_bytes() <= 1 << 32 { Ok(size.as_bytes()) } else { Err(ParseSizeError::TooLarge) }
    });
    match size {
        Ok(bytes) => Some(bytes),
        Err(why) => {
            let message = format!("\"{}\" is not a size", text.escape_debug());
            faults.add(
                codes::BAD_SIZE,
                at,
                message,
                why.to_string(),
                Some("as in \"64B\" or \"1KiB\"".into()),
            )
        }
    }
}

/// A percentage in millionths of the whole, at most 100 %.
pub(crate) fn percent(text: &str) -> Result<u64, &'static str> {
    let number = text.trim().strip_suffix('%').ok_or("the sign `%` is missing")?.trim_end();
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) {
        return Err("not a number");
    }
    if decimals.len() > 4 {
        return Err("four decimals at most");
    }
    let whole = whole.parse::<u64>().ok().filter(|whole| *whole <= 100).ok_or("at most 100%")?;
    let decimals = format!("{decimals:0<4}").parse::<u64>().map_err(|_| "not a number")?;
    match whole * 10_000 + decimals {
        millionths @ ..=1_000_000 => Ok(millionths),
        _ => Err("at most 100%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        for (text, millionths) in [("0%", 0), ("40%", 400_000), (" 12.5 %", 125_000), ("100%", 1_000_000)] {
            assert_eq!(percent(text), Ok(millionths), "{text}");
        }
        for text in
            ["", "%", "40", "-5%", "1.%", ".5%", "100.1%", "101%", "1.00001%", "999999999999999999999%"]
        {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
