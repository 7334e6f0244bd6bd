// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every key that a source file cites stands in docs/bibliography.md, exactly once.

use std::collections::BTreeSet;

use crate::tree::{Finding, Tree, has_extension};

const LIST: &str = "docs/bibliography.md";

/// The rule over the comments of all sources.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let (known, mut findings) = keys(&tree.read(LIST));
    let ours = |path: &str| has_extension(path, &["rs"]) && !path.starts_with("dev/xtask/");
    for path in tree.files(ours) {
        for (line, key) in citations(&tree.read(&path)) {
            if !known.contains(&key) {
                findings.push(Finding::at(&path, line, format!("cites [{key}], which is not in {LIST}")));
            }
        }
    }
    findings
}

/// The keys of the list, ``| `Key99` | ...``, and a finding for each repeated key.
fn keys(list: &str) -> (BTreeSet<String>, Vec<Finding>) {
    let mut known = BTreeSet::new();
    let mut findings = Vec::new();
    for (number, line) in list.lines().enumerate() {
        let Some((key, _)) = line.strip_prefix("| `").and_then(|rest| rest.split_once('`')) else { continue };
        if !known.insert(key.to_owned()) {
            findings.push(Finding::at(LIST, number + 1, format!("`{key}` is listed twice")));
        }
    }
    (known, findings)
}

/// The keys in brackets in comments, `[Name99]` or `[Name99, Theorem 3]`, with their lines.
fn citations(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in source.lines().enumerate() {
        let comment = line.trim_start();
        if !comment.starts_with("//") {
            continue;
        }
        for part in comment.split('[').skip(1) {
            let key = part.split([']', ',']).next().unwrap_or_default();
            found.extend(canonical(key).map(|key| (number + 1, key)));
        }
    }
    found
}

/// The key for a name and a year: from `Kopetz93` the same, from `Kopetz 1993` too, which rustdoc does not take for a
/// link.
fn canonical(text: &str) -> Option<String> {
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let year = &text[name.len()..];
    let letters = name.chars().all(|c| c.is_alphabetic() || c == ' ');
    let ends = name.ends_with(|c: char| c.is_lowercase() || c == ' ');
    let whole =
        name.starts_with(char::is_uppercase) && letters && ends && (year.len() == 2 || year.len() == 4);
    whole.then(|| format!("{}{}", name.replace(' ', ""), &year[year.len() - 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_keys_and_nothing_else() {
        let source = "\
//! Source [Kopetz93, Fig. 2] and [`AtomicU64`], [AtomicU64], [0, 12], [Plan].
/// As in [Perez Ruiz 2020, Listing 1].
let x = y[Some12]; // [Not99]
";
        let wanted = [(1, "Kopetz93"), (2, "PerezRuiz20")];
        assert_eq!(citations(source), wanted.map(|(line, key)| (line, key.to_owned())));
    }

    #[test]
    fn keys_of_the_list() {
        let (known, twice) =
            keys("| key | title |\n|---|---|\n| `A93` | x |\n| `B94` | y |\n| `A93` | z |\n");
        assert_eq!(known.len(), 2);
        assert_eq!(twice, [Finding::at(LIST, 5, "`A93` is listed twice")]);
    }
}
