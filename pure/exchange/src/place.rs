// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use taut_time::Duration;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Bytes per block. The number of characters before each block is stored, because a line may be as long as its file.
const BLOCK: usize = 1 << 10;

/// Where the lines of a text begin.
pub(crate) struct Lines<'t> {
    text: &'t [u8],
    starts: Vec<usize>,
    /// Characters before each block.
    before: Vec<usize>,
}

/// How many characters begin in these bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut before = vec![0];
        let mut sum = 0;
        for block in text.as_bytes().chunks(BLOCK) {
            sum += characters(block);
            before.push(sum);
        }
        Self { text: text.as_bytes(), starts, before }
    }

    fn characters_before(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        let block = byte / BLOCK;
        self.before[block] + characters(&self.text[block * BLOCK..byte])
    }

    /// The place of a byte; the byte one past the end is allowed.
    pub(crate) fn at(&self, byte: usize) -> TextPosition {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let column = self.characters_before(byte) - self.characters_before(self.starts[line - 1]) + 1;
        let small = |number| u32::try_from(number).unwrap_or(u32::MAX);
        TextPosition { line: small(line), column: small(column) }
    }
}

/// The start of the comment in an exported file that gives its unit.
const NOTE: &str = "taut: a time of 1 is ";

/// The text of the comment with which a file states its unit.
pub(crate) fn note(unit: Duration) -> String {
    format!("{NOTE}{unit}")
}

/// The unit that such a comment states.
pub(crate) fn unit_note(text: &str) -> Option<Duration> {
    let rest = &text[text.find(NOTE)? + NOTE.len()..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    rest[..end].parse().ok().filter(|unit: &Duration| !unit.is_zero())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns() {
        let lines = Lines::new("ab\näö x\n");
        for (byte, line, column) in [(0, 1, 1), (2, 1, 3), (3, 2, 1), (8, 2, 4), (10, 3, 1), (99, 3, 1)] {
            assert_eq!(lines.at(byte), TextPosition { line, column }, "{byte}");
        }
        let long = "xö".repeat(BLOCK);
        let lines = Lines::new(&long);
        for pairs in [0, 1, 341, 342, BLOCK / 2, BLOCK] {
            let column = u32::try_from(2 * pairs + 1).unwrap();
            assert_eq!(lines.at(3 * pairs), TextPosition { line: 1, column }, "{pairs}");
        }
    }

    #[test]
    fn a_unit_is_read_back() {
        let unit = Duration::from_us(10);
        assert_eq!(unit_note(&format!("<!-- {} -->", note(unit))), Some(unit));
        assert_eq!(unit_note("<!-- taut: a time of 1 is 0ns -->"), None);
    }
}
