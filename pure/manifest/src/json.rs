// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde_json::{Value, json};
use taut_model::{Severity, codes};

use crate::diagnostic::Span;
use crate::{Diagnostic, SourceText};

/// The version of the JSON that [`to_json`] returns.
pub const SCHEMA_VERSION: u32 = 1;

/// The diagnostics as JSON: `{ "schema_version": 1, "diagnostics": [{ code, severity, message, … }] }`. Lines and
/// columns count from 1, columns in characters; offsets are bytes.
pub fn to_json(diagnostics: &[Diagnostic], sources: &[&SourceText]) -> Value {
    let lines = sources.iter().map(|source| Lines::new(&source.text)).collect::<Vec<_>>();
    let span = |span: &Span| {
        let (line, column) = lines.get(span.file).map_or((1, 1), |lines| lines.position(span.range.start));
        let (end_line, end_column) =
            lines.get(span.file).map_or((1, 1), |lines| lines.position(span.range.end));
        json!({
            "file": sources.get(span.file).map(|source| &source.name),
            "start": span.range.start,
            "end": span.range.end,
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
            "label": span.text,
        })
    };
    let list = diagnostics.iter().map(|diagnostic| {
        json!({
            "code": diagnostic.code.to_string(),
            "title": codes::title(diagnostic.code),
            "severity": match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "message": diagnostic.message,
            "primary": span(&diagnostic.primary),
            "secondary": diagnostic.secondary.iter().map(span).collect::<Vec<_>>(),
            "notes": diagnostic.notes,
            "help": diagnostic.help,
        })
    });
    json!({ "schema_version": SCHEMA_VERSION, "diagnostics": list.collect::<Vec<_>>() })
}

/// Where the lines of a text start.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Line and column of a byte, from 1.
    fn position(&self, at: usize) -> (usize, usize) {
        let at = self.text.floor_char_boundary(at);
        let line = self.starts.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).map_or(0, |line| self.starts[line]);
        (line, self.text[start..at].chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let lines = Lines::new("aµb\nc\n");
        assert_eq!(lines.position(0), (1, 1));
        assert_eq!(lines.position(3), (1, 3));
        assert_eq!(lines.position(5), (2, 1));
        assert_eq!(lines.position(7), (3, 1));
        assert_eq!(lines.position(99), (3, 1));
        assert_eq!(Lines::new("").position(0), (1, 1));
    }
}
