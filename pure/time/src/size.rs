// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use alloc::format;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount of memory in whole bytes. In text it carries a unit: `"512B"`, `"4KiB"`, `"60MiB"`, `"1GiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size {
    bytes: u64,
}

impl Size {
    /// Nothing.
    pub const ZERO: Self = Self { bytes: 0 };

    /// From whole bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self { bytes }
    }

    /// In bytes.
    pub const fn as_bytes(self) -> u64 {
        self.bytes
    }

    /// The sum, or `None` on overflow.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.bytes.checked_add(other.bytes) {
            Some(bytes) => Some(Self { bytes }),
            None => None,
        }
    }
}

const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl fmt::Display for Size {
    /// Writes the largest unit in which the size is whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, size) = UNITS
            .into_iter()
            .find(|(_, size)| self.bytes >= *size && self.bytes.is_multiple_of(*size))
            .unwrap_or(("B", 1));
        f.pad(&format!("{}{name}", self.bytes / size))
    }
}

/// Why a text is not a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseSizeError {
    /// The text does not start with a whole number.
    NoNumber,
    /// There is a number and no unit.
    NoUnit,
    /// `K`, `M`, `G`, `kB`, `MB`, `GB`: 1000 or 1024? The field holds the binary unit that was likely meant.
    Ambiguous(&'static str),
    /// The unit is not one of `B KiB MiB GiB`.
    UnknownUnit,
    /// It does not fit in 64 bits of bytes.
    TooLarge,
}

impl fmt::Display for ParseSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber => f.write_str("a size starts with a whole number, as in \"4KiB\""),
            Self::NoUnit => f.write_str("a size needs a unit: B, KiB, MiB or GiB"),
            Self::Ambiguous(unit) => write!(f, "1000 or 1024? Write {unit}"),
            Self::UnknownUnit => f.write_str("unknown unit of size: use B, KiB, MiB or GiB"),
            Self::TooLarge => f.write_str("too large"),
        }
    }
}

impl core::error::Error for ParseSizeError {}

impl FromStr for Size {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, ParseSizeError> {
        let text = text.trim();
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        if number.is_empty() {
            return Err(ParseSizeError::NoNumber);
        }
        let unit = unit.trim();
        let size = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, size)) => *size,
            None => {
                return Err(match unit {
                    "" => ParseSizeError::NoUnit,
                    "K" | "k" | "KB" | "kB" => ParseSizeError::Ambiguous("KiB"),
                    "M" | "MB" => ParseSizeError::Ambiguous("MiB"),
                    "G" | "GB" => ParseSizeError::Ambiguous("GiB"),
                    _ => ParseSizeError::UnknownUnit,
                });
            }
        };
        let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(size));
        Ok(Self { bytes: bytes.ok_or(ParseSizeError::TooLarge)? })
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <alloc::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for (text, bytes) in
            [("0B", 0), ("1B", 1), ("1023B", 1023), ("4KiB", 4096), ("60MiB", 60 << 20), ("3GiB", 3 << 30)]
        {
            assert_eq!(text.parse(), Ok(Size::from_bytes(bytes)));
            assert_eq!(Size::from_bytes(bytes).to_string(), text);
        }
        for (text, error) in [
            ("", ParseSizeError::NoNumber),
            ("1.5MiB", ParseSizeError::UnknownUnit),
            ("64", ParseSizeError::NoUnit),
            ("20M", ParseSizeError::Ambiguous("MiB")),
            ("1TiB", ParseSizeError::UnknownUnit),
            ("99999999999GiB", ParseSizeError::TooLarge),
        ] {
            assert_eq!(text.parse::<Size>(), Err(error), "{text}");
        }
    }
}
