// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! No text makes the loader panic, lose a place, or report nothing about a model that it did not build.

use proptest::prelude::*;
use taut_manifest::{SourceText, load, render, to_json};

const COCHLEAR: &str = include_str!("../../../apps/cochlear/taut.toml");

/// Checks what must hold for every result, whatever the text.
fn owed(manifest: &str, overlay: Option<&str>) {
    let manifest = SourceText { name: "taut.toml".into(), text: manifest.into() };
    let overlays = overlay.map(|text| SourceText { name: "board.toml".into(), text: text.into() });
    let overlays = overlays.into_iter().collect::<Vec<_>>();
    let loaded = load(&manifest, &overlays);
    let sources = std::iter::once(&manifest).chain(&overlays).collect::<Vec<_>>();
    let errors = loaded.diagnostics.iter().any(|d| d.severity == taut_model::Severity::Error);
    assert_eq!(loaded.model.is_none(), errors);
    for diagnostic in &loaded.diagnostics {
        for span in std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary) {
            assert!(sources[span.file].text.get(span.range.clone()).is_some(), "{diagnostic:?}");
        }
        assert!(taut_manifest::explain(diagnostic.code).is_some(), "{diagnostic:?}");
    }
    let shown = render(&loaded.diagnostics, &sources, true, 80);
    assert_eq!(shown.is_empty(), loaded.diagnostics.is_empty());
    let _ = to_json(&loaded.diagnostics, &sources);
}

#[test]
fn odd_texts() {
    let nested = |open: &str, close: &str, n: usize| format!("a = {}{}", open.repeat(n), close.repeat(n));
    let texts = [
        String::new(),
        "\u{feff}".into(),
        "\u{feff}manifest = 1\r\n[app]\r\nname = \"a\"\r\n".into(),
        "\r".into(),
        "\0".into(),
        "[".into(),
        "[[".into(),
        "\"=[😀".into(),
        "=".into(),
        "manifest = 99999999999999999999999999999999999999999999\n".into(),
        "manifest = 1\n[tasks.a]\npriority = -170141183460469231731687303715884105729\n".into(),
        "manifest = 1\n[tasks.\"\"]\n[tasks.\"a.b\".c]\n\"\" = 1\n".into(),
        "manifest = 1\n[payloads]\n\"µ\" = { fields = { \"é\" = \"u8*99999999999\" } }\n".into(),
        "manifest = 1\ntasks.a.wcet.value.x = 1\ntasks = 3\n[[tasks]]\n[tasks.a]\n".into(),
        nested("[", "]", 5_000),
        nested("{a=", "}", 5_000),
        nested("[", "", 5_000),
        "[a.".repeat(2_000),
        "a.".repeat(5_000),
        "=\n".repeat(1_000),
        "x\n".repeat(1_000),
    ];
    for text in &texts {
        owed(text, None);
        owed(COCHLEAR, Some(text));
        owed(text, Some(COCHLEAR));
    }
}

#[test]
fn line_ends_do_not_matter() {
    for text in [COCHLEAR.replace('\n', "\r\n"), format!("\u{feff}{COCHLEAR}")] {
        let loaded = load(&SourceText { name: "taut.toml".into(), text }, &[]);
        assert!(loaded.model.is_some() && loaded.diagnostics.is_empty());
    }
}

#[test]
fn every_beginning_and_every_missing_line() {
    for end in (0..COCHLEAR.len()).filter(|end| COCHLEAR.is_char_boundary(*end)).step_by(7) {
        owed(&COCHLEAR[..end], None);
    }
    let lines = COCHLEAR.lines().collect::<Vec<_>>();
    for gone in 0..lines.len() {
        let text =
            lines.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| format!("{line}\n"));
        owed(&text.collect::<String>(), None);
    }
}

/// Pieces that occur in manifests, and some that do not.
const PIECES: [&str; 24] = [
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "\n",
    "#",
    "0",
    "-1",
    "\"8ms\"",
    "\"auto\"",
    "[tasks.x]",
    "[[chains]]",
    "manifest",
    "18446744073709551615",
    "\"\"\"",
    "µ",
    "\u{0}",
    "kind = \"state\"",
    "\"99999999999GiB\"",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutations(edits in prop::collection::vec((0..COCHLEAR.len(), 0usize..12, 0..PIECES.len()), 1..6)) {
        let mut text = COCHLEAR.to_owned();
        for (at, length, piece) in edits {
            let start = text.floor_char_boundary(at.min(text.len()));
            let end = text.ceil_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end, PIECES[piece]);
        }
        owed(&text, None);
        owed(COCHLEAR, Some(&text));
    }

    #[test]
    fn any_text(text in "\\PC*") {
        owed(&text, None);
    }

    /// Characters of several bytes among brackets, quotes and separators.
    #[test]
    fn wide_characters(text in "[a\\[\\]{}=\"',.# \nµ€😀]{0,40}") {
        owed(&text, None);
    }

    #[test]
    fn soup(pieces in prop::collection::vec(0..PIECES.len(), 0..40)) {
        owed(&pieces.into_iter().map(|at| PIECES[at]).collect::<String>(), None);
    }
}
