// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;
use std::ops::Range;

use taut_model::Code;

/// A fault of a generator file, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorFault {
    /// A stable code, from the manifest's codes.
    pub code: Code,
    /// The guilty part: a range of bytes of the text.
    pub range: Range<usize>,
    /// The line where this part begins, counted from 1.
    pub line: usize,
    /// The column where this part begins, in characters, counted from 1.
    pub column: usize,
    /// One line, lower case, no full stop.
    pub message: String,
    /// The text to show at the place, in a few words.
    pub label: String,
    /// What would be correct.
    pub help: Option<String>,
}

impl fmt::Display for GeneratorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.line, self.column, self.code, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for GeneratorFault {}

/// The faults found so far.
#[derive(Debug)]
pub(crate) struct Faults<'t> {
    text: &'t str,
    found: Vec<GeneratorFault>,
}

impl<'t> Faults<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, found: Vec::new() }
    }

    /// Adds a fault. Always returns `None`, for a caller that must return a value.
    pub(crate) fn add<T>(
        &mut self,
        code: Code,
        range: &Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
        help: Option<String>,
    ) -> Option<T> {
        let start = self.text.floor_char_boundary(range.start.min(self.text.len()));
        let end = self.text.ceil_char_boundary(range.end.min(self.text.len())).max(start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.found.push(GeneratorFault {
            code,
            range: start..end,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
            label: label.into(),
            help,
        });
        None
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All faults, sorted by place.
    pub(crate) fn finish(mut self) -> Vec<GeneratorFault> {
        self.found.sort_by_key(|fault| (fault.range.start, fault.range.end));
        self.found
    }
}
