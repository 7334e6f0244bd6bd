// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every `cargo xtask NAME` in a document is a command, and every command stands in a document.

use crate::tree::{Finding, Tree, has_extension};

/// Applies the rule to all Markdown files; `names` are the names of all commands.
pub(crate) fn check(tree: &Tree, names: &[String]) -> Vec<Finding> {
    let paths = tree.files(|path| has_extension(path, &["md"]));
    let texts: Vec<_> = paths.into_iter().map(|path| (tree.read(&path), path)).collect();
    check_texts(&texts, names)
}

fn check_texts(texts: &[(String, String)], names: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut mentioned = Vec::new();
    for (text, path) in texts {
        for (number, line) in text.lines().enumerate() {
            for (at, words) in line.match_indices("cargo xtask ") {
                let rest = &line[at + words.len()..];
                let name: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
                // A name in capitals is a placeholder: `cargo xtask NAME`.
                if !name.is_empty() && !names.contains(&name) {
                    let message = format!("`cargo xtask {name}` is not a command");
                    findings.push(Finding::at(path, number + 1, message));
                }
                mentioned.push(name);
            }
        }
    }
    let silent = names.iter().filter(|name| !mentioned.contains(name));
    findings.extend(silent.map(|name| {
        Finding::at("CONTRIBUTING.md", 0, format!("no document says what `cargo xtask {name}` is for"))
    }));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let texts =
            [("`cargo xtask ci`\nuse cargo xtask frob here, cargo xtask NAME\n".into(), "A.md".into())];
        let names = ["ci".to_owned(), "soak".to_owned()];
        let found: Vec<_> = check_texts(&texts, &names).iter().map(ToString::to_string).collect();
        let wanted = [
            "A.md:2: `cargo xtask frob` is not a command",
            "CONTRIBUTING.md: no document says what `cargo xtask soak` is for",
        ];
        assert_eq!(found, wanted);
    }
}
