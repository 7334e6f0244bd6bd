// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

/// Something wrong with an input, said to the person who wrote it.
///
/// One primary place (the guilty value), any number of second places (what conflicts with it), notes that say
/// how it was found, and one help that says what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Stable; a page explains each.
    pub code: Code,
    /// Whether it stops us.
    pub severity: Severity,
    /// One line, lower case, no full stop; names in backticks.
    pub message: String,
    /// The guilty value.
    pub primary: Label,
    /// What conflicts with it.
    pub secondary: Vec<Label>,
    /// How it was found: the test, the sum.
    pub notes: Vec<String>,
    /// What would be right.
    pub help: Option<String>,
}

/// A place and what to say there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// What, in a few words.
    pub text: String,
}

/// A place in a manifest: the dotted path of a key, `tasks.recording.wcet.value`, list items by position,
/// `chains.0.path.2`. The key's value is meant; [`Place::key`] means the key itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    path: String,
    key: bool,
}

/// Whether a fault stops us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is built.
    Error,
    /// Something is built; someone should look.
    Warning,
}

/// A stable number for a kind of fault, shown as `TAUT0201`. Hundreds group them: 01 text and quantities, 02
/// timing, 03 names and structure, 04 channels, 05 platform and memory, 06 plan, 07 segments and boot, 08
/// privileges and machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TAUT{:04}", self.0)
    }
}

impl Place {
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

    /// Whether the key itself is meant.
    pub fn is_key(&self) -> bool {
        self.key
    }
}

impl Fault {
    /// An error at a place.
    pub fn error(code: Code, message: impl Into<String>, place: Place, text: impl Into<String>) -> Self {
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

    /// With a second place.
    #[must_use]
    pub fn also(mut self, place: Place, text: impl Into<String>) -> Self {
        self.secondary.push(Label { place, text: text.into() });
        self
    }

    /// With a note.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// With a help.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}
