// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::ops::Range;

use taut_model::{Code, Fault, Label, Severity};

use crate::PlaceMap;
use crate::places::Found;

/// A fault with its places in the files, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code; [`crate::explain`] has its page.
    pub code: Code,
    /// Whether it prevents a result.
    pub severity: Severity,
    /// One line, lower case, no full stop.
    pub message: String,
    /// The faulty value.
    pub primary: Span,
    /// What conflicts with it.
    pub secondary: Vec<Span>,
    /// How it was found.
    pub notes: Vec<String>,
    /// What would be right.
    pub help: Option<String>,
}

/// A range of a file and a text about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file: 0 is the manifest, then the overlays in order.
    pub file: usize,
    /// The range in bytes.
    pub range: Range<usize>,
    /// The text, in a few words.
    pub text: String,
}

impl Span {
    /// The text at a place. If the file has nothing there, the text says that the key belongs there.
    fn new(label: &Label, places: &PlaceMap) -> Self {
        let Found { file, range, is_missing } = places.find(&label.place);
        let text = match is_missing && !label.text.ends_with("belongs here") {
            true => format!("`{}` belongs here: {}", label.place.path(), label.text),
            false => label.text.clone(),
        };
        Self { file, range, text }
    }
}

impl Diagnostic {
    /// The diagnostic of a fault, with its places from the map.
    pub(crate) fn new(fault: Fault, places: &PlaceMap) -> Self {
        let primary = Span::new(&fault.primary, places);
        let secondary = fault.secondary.iter().map(|label| Span::new(label, places)).collect();
        Self { primary, secondary, ..Self::at(0, 0..0, fault) }
    }

    /// The diagnostic of a fault at a range of a file, regardless of the fault's own places.
    pub(crate) fn at(file: usize, range: Range<usize>, fault: Fault) -> Self {
        Self {
            code: fault.code,
            severity: fault.severity,
            message: fault.message,
            primary: Span { file, range, text: fault.primary.text },
            secondary: Vec::new(),
            notes: fault.notes,
            help: fault.help,
        }
    }

    /// Puts the place of the overlay's value first: in a conflict with the manifest, which was right before, that
    /// value is the faulty one.
    pub(crate) fn in_overlay(mut self) -> Self {
        if self.primary.file == 0
            && let Some(other) = self.secondary.iter_mut().find(|span| span.file > 0)
        {
            std::mem::swap(&mut self.primary, other);
        }
        self
    }

    /// Adds a secondary place.
    pub(crate) fn also(mut self, file: usize, range: Range<usize>, text: impl Into<String>) -> Self {
        self.secondary.push(Span { file, range, text: text.into() });
        self
    }
}

/// Sorts by file and place.
pub(crate) fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|d| (d.primary.file, d.primary.range.start, d.primary.range.end, d.code));
}
