// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads `taut.toml` into a model, with diagnostics that carry spans.
//!
//! [`load`] reads a manifest and its overlays and reports all mistakes in one go: invalid TOML, unknown and missing
//! keys, quantities without units, and the faults that [`taut_model::Draft::build`] finds. One table of keys defines
//! the language, and [`schema`] is made from it; the rules are those of the model.
//!
//! ```
//! use taut_manifest::{SourceText, load, render};
//!
//! let text = "manifest = 1\n[app]\nname = \"demo\"\n[platform]\nmemory = \"64\"\n";
//! let source = SourceText { name: "taut.toml".into(), text: text.into() };
//! let loaded = load(&source, &[]);
//! assert!(loaded.model.is_none());
//! assert!(render(&loaded.diagnostics, &[&source], false, 100).contains("error[TAUT0106]"));
//! ```
#![forbid(unsafe_code)]

mod diagnostic;
mod habits;
mod homes;
mod json;
mod keys;
mod lower;
mod overlay;
mod pages;
mod places;
mod quantity;
mod read;
mod reference;
mod render;
mod schema;
mod spec;
mod syntax;
mod tree;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use taut_model::{Code, Fault, Model, Severity};

pub use diagnostic::{Diagnostic, Span};
pub use json::{SCHEMA_VERSION, to_json};
pub use pages::explain;
pub use places::PlaceMap;
pub use reference::reference;
pub use render::render;
pub use schema::schema;

/// A text and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Its path, as shown to people.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The result of loading a manifest.
#[derive(Clone, Debug)]
pub struct LoadedManifest {
    /// The model, unless there was an error.
    pub model: Option<Model>,
    /// Errors and warnings, sorted by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// The place of every key and value.
    pub places: PlaceMap,
}

impl LoadedManifest {
    /// The diagnostics of faults that were found later, sorted by file and place.
    pub fn diagnose(&self, faults: &[Fault]) -> Vec<Diagnostic> {
        let mut found =
            faults.iter().map(|fault| Diagnostic::new(fault.clone(), &self.places)).collect::<Vec<_>>();
        diagnostic::sort(&mut found);
        found
    }
}

/// Reads a manifest with its overlays; a later overlay takes precedence.
///
/// Accepts any text; time and memory grow with its length.
pub fn load(manifest: &SourceText, overlays: &[SourceText]) -> LoadedManifest {
    let rooms = std::iter::repeat_with(OnceCell::new).take(1 + overlays.len()).collect::<Vec<_>>();
    let syntax::Parsed { mut root, mut diagnostics, damaged, mut lost } =
        syntax::parse(0, &manifest.text, &rooms[0]);
    let all_known = damaged.is_empty();
    let mut damaged = damaged.into_iter().map(|start| (0, start)).collect::<BTreeSet<_>>();
    for ((file, overlay), room) in (1..).zip(overlays).zip(&rooms[1..]) {
        let parsed = syntax::parse(file, &overlay.text, room);
        diagnostics.extend(parsed.diagnostics);
        damaged.extend(parsed.damaged.into_iter().map(|start| (file, start)));
        lost |= parsed.lost;
        if !parsed.lost {
            diagnostics.extend(overlay::apply(&mut root, &parsed.root, all_known));
        }
    }
    let places = PlaceMap::new(&root, &manifest.text);
    let mut model = None;
    if !lost {
        let mut reader = read::Reader::new(&damaged);
        let fields = reader.table("", &root, &keys::ROOT);
        let mut faults = reader.faults;
        if let Some(fields) = fields {
            let (built, found) = lower::draft(&fields, reader.faulty).build();
            model = built;
            faults.extend(found);
        }
        diagnostics.extend(faults.into_iter().map(|fault| Diagnostic::new(fault, &places).in_overlay()));
    }
    diagnostic::sort(&mut diagnostics);
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        model = None;
    }
    LoadedManifest { model, diagnostics, places }
}

/// The code of an error as people write it: `TAUT0201`, `taut201` or `201`.
pub fn parse_code(text: &str) -> Option<Code> {
    let text = text.trim();
    let digits = match text.get(..4) {
        Some(prefix) if prefix.eq_ignore_ascii_case("taut") => &text[4..],
        _ => text,
    };
    digits.parse().ok().map(Code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_people_write_them() {
        for text in ["TAUT0201", "taut0201", "taut201", "0201", " 201 "] {
            assert_eq!(parse_code(text), Some(taut_model::codes::DEADLINE_MISSED), "{text}");
        }
        for text in ["", "TAUT", "TAUTx", "-1", "70000", "µµ1"] {
            assert_eq!(parse_code(text), None, "{text}");
        }
        assert!(explain(Code(9999)).is_none());
    }
}
