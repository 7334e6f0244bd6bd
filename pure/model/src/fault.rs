// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

/// A fault of an input, described for its author.
///
/// It has one primary place (the faulty value), any number of secondary places (what conflicts with it), notes on how
/// it was found, and one help text with what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The stable code; a page explains each.
    pub code: Code,
    /// Whether it prevents a result.
    pub severity: Severity,
    /// One line, lower case, no full stop; names in backticks.
    pub message: String,
    /// The faulty value.
    pub primary: Label,
    /// What conflicts with it.
    pub secondary: Vec<Label>,
    /// How it was found: the test, the sum.
    pub notes: Vec<String>,
    /// What would be right.
    pub help: Option<String>,
}

/// A place and a text about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub place: KeyPath,
    /// The text, in a few words.
    pub text: String,
}

/// A place in a manifest: the dotted path of a key, `tasks.recording.wcet.value`; list items by position,
/// `chains.0.path.2`. It means the key's value; [`KeyPath::key`] means the key itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath {
    path: String,
    key: bool,
}

/// Whether a fault prevents a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is built.
    Error,
    /// There is a result, but the author should look at it.
    Warning,
}

/// A stable number for a kind of fault, shown as `TAUT0201`. Hundreds group them: 01 text and quantities, 02 timing,
/// 03 names and structure, 04 channels, 05 platform and memory, 06 plan, 07 segments and boot, 08 privileges and
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TAUT{:04}", self.0)
    }
}

impl KeyPath {
    /// The value at a path.
    pub fn value(path: impl Into<String>) -> Self {
        Self { path: path.into(), key: false }
    }

    /// The key at a path.
    pub fn key(path: impl Into<String>) -> Self {
        Self { path: path.into(), key: true }
    }

    /// The dotted path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the place is the key itself.
    pub fn is_key(&self) -> bool {
        self.key
    }
}

impl Fault {
    /// An error at a place.
    pub fn error(code: Code, message: impl Into<String>, place: KeyPath, text: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            primary: Label { place, text: text.into() },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Adds a secondary place.
    #[must_use]
    pub fn also(mut self, place: KeyPath, text: impl Into<String>) -> Self {
        self.secondary.push(Label { place, text: text.into() });
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds a help text.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}
