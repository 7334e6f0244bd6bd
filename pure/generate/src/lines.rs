// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_manifest::{LoadedManifest, SourceText};
use taut_model::KeyPath;

/// The most characters of a line that a note shows.
const SHOWN: usize = 80;

/// The lines of a manifest and of its overlays, for the messages of the compiler.
pub(crate) struct Lines<'l> {
    loaded: &'l LoadedManifest,
    sources: &'l [SourceText],
}

impl<'l> Lines<'l> {
    pub(crate) fn new(loaded: &'l LoadedManifest, sources: &'l [SourceText]) -> Self {
        Self { loaded, sources }
    }

    /// Notes that show the lines of these keys, each line once: arguments of an attribute, with a comma behind each.
    pub(crate) fn notes(&self, keys: &[String], indent: &str) -> String {
        let mut lines: Vec<String> = Vec::with_capacity(keys.len());
        for line in keys.iter().filter_map(|key| self.line(key)) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.iter().map(|line| format!("{indent}note = {},\n", literal(line))).collect()
    }

    /// The line of a key: `taut.toml:23: from = "control"`.
    fn line(&self, key: &str) -> Option<String> {
        let (file, range) = self.loaded.places.resolve(&KeyPath::key(key));
        let source = self.sources.get(file)?;
        let before = source.text.get(..range.start)?;
        let number = before.matches('\n').count();
        let text = source.text.lines().nth(number)?.trim();
        let shown: String = text.chars().take(SHOWN).collect();
        let cut = if shown.len() < text.len() { "…" } else { "" };
        Some(format!("{}:{}: {shown}{cut}", source.name, number + 1))
    }
}

/// A text as a literal of an attribute in which braces have a meaning.
pub(crate) fn literal(text: &str) -> String {
    format!("{:?}", text.replace('{', "{{").replace('}', "}}"))
}
