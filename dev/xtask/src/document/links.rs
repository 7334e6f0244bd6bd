// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Relative links in Markdown lead to an existing file and an existing heading.

use std::path::{Component, Path, PathBuf};

use super::{prose, without_code};
use crate::tree::{Finding, Tree, has_extension};

/// The rule over all Markdown files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in tree.files(|path| has_extension(path, &["md"])) {
        for (line, target) in targets(&tree.read(&path)) {
            if let Some(message) = broken(tree, &path, &target) {
                findings.push(Finding::at(&path, line, message));
            }
        }
    }
    findings
}

/// Link targets, `[text](target)` and `[key]: target`, with their lines.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split([')', ' ']).next().unwrap_or_default();
            found.push((number, target.to_owned()));
        }
        if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            found.push((number, target.trim().to_owned()));
        }
    }
    found
}

fn broken(tree: &Tree, from: &str, target: &str) -> Option<String> {
    let outside = ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme));
    if outside {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { PathBuf::from(from) } else { resolved(from, file)? };
    if !tree.root().join(&path).exists() {
        return Some(format!("`{target}` leads nowhere"));
    }
    let anchor = anchor?;
    let text = tree.read(path.to_str()?);
    let found = prose(&text).filter_map(|(_, line)| heading(line)).any(|slug| slug == anchor);
    (!found).then(|| format!("`{target}`: {} has no such heading", path.display()))
}

/// A path relative to the file it stands in, as a path from the root.
fn resolved(from: &str, file: &str) -> Option<PathBuf> {
    let mut path = Path::new(from).parent()?.to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path)
}

/// The anchor of a heading: in lower case, with hyphens for spaces and without punctuation.
fn heading(line: &str) -> Option<String> {
    let text = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    Some(kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_links_outside_of_code() {
        let text = "a [b](c.md) `[x](y)` ![p](d/e.png \"t\")\n```\n[no](no.md)\n```\n[key]: f.md\n";
        let wanted = [(1, "c.md"), (1, "d/e.png"), (5, "f.md")];
        assert_eq!(targets(text), wanted.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn files_and_headings() {
        let tree = Tree::here().unwrap();
        let xtask = "dev/xtask/Cargo.toml";
        assert_eq!(broken(&tree, xtask, "src/main.rs"), None);
        assert_eq!(broken(&tree, xtask, "../../Cargo.toml"), None);
        assert_eq!(broken(&tree, xtask, "https://example.org/none"), None);
        assert_eq!(broken(&tree, xtask, "none.md").as_deref(), Some("`none.md` leads nowhere"));
        assert!(broken(&tree, xtask, "../../Cargo.toml#none").is_some());
    }

    /// Each way through the code in CONTRIBUTING.md names no file twice; that the files exist is the rule above.
    #[test]
    fn ways_through_the_code_go_one_way() {
        let text = Tree::here().unwrap().read("CONTRIBUTING.md");
        let section = text.split("## Three ways through the code").nth(1).expect("the section");
        let ways: Vec<&str> = section.split("\n**").skip(1).collect();
        assert_eq!(ways.len(), 3);
        for way in ways {
            let mut files: Vec<String> = targets(way).into_iter().map(|(_, target)| target).collect();
            let count = files.len();
            files.sort();
            files.dedup();
            assert!(count >= 9 && files.len() == count, "{way}");
        }
    }

    #[test]
    fn anchors() {
        assert_eq!(heading("## What `xtask` does, in short").as_deref(), Some("what-xtask-does-in-short"));
        assert_eq!(heading("#hash"), None);
    }
}
