// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `docs/shipping.md` lists exactly the variables of the environment that shipped code names.

use std::collections::BTreeSet;

use crate::absence::source::{Texts, shipped};
use crate::tree::Tree;

const PAGE: &str = "docs/shipping.md";

/// The variables in a text, each behind one of these quotes: `TAUT_OUT` behind a backquote.
fn variables(text: &str, quote: char) -> BTreeSet<String> {
    let quoted = text.split(quote).skip(1).filter(|rest| rest.starts_with("TAUT_"));
    quoted.map(|rest| rest.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect()).collect()
}

#[test]
fn the_page_lists_the_variables_of_shipped_code() {
    let tree = Tree::here().unwrap();
    let is_test = |path: &str| path.split('/').any(|part| part.trim_end_matches(".rs") == "tests");
    let looked_at = |path: &str| {
        let ours = ["pure/", "live/", "edge/", "apps/"].iter().any(|folder| path.starts_with(folder));
        ours && path.contains("/src/") && path.ends_with(".rs") && !is_test(path)
    };
    let texts = tree.files(looked_at).into_iter().map(|path| tree.read(&path));
    let texts = texts.filter(|text| text.contains("\"TAUT_"));
    let named: BTreeSet<String> =
        texts.flat_map(|text| variables(&shipped(&text, Texts::Keep), '"')).collect();
    assert!(named.contains("TAUT_LOCK"), "{named:?}");
    assert_eq!(variables(&tree.read(PAGE), '`'), named);
}

#[test]
fn a_variable_stands_behind_its_quote() {
    let found = |text: &str| variables(text, '"').into_iter().collect::<Vec<_>>();
    assert_eq!(found(r#"env("TAUT_A_B"), TAUT_C, "x TAUT_D", ("TAUT_E", 1)"#), ["TAUT_A_B", "TAUT_E"]);
}
