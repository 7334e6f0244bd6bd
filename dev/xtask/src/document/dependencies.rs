// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `docs/dependencies.md` gives a reason for each external crate and for no other, and lists what an application compiles;
//! and sources name each crate that their crate depends on.

use std::collections::BTreeSet;

use crate::absence::source::{Texts, code, lines_with, shipped};
use crate::absence::{Edge, Graph, PEERS};
use crate::command::Command;
use crate::tree::{Finding, Tree, has_extension};

const LIST: &str = "docs/dependencies.md";
const ROOT: &str = "Cargo.toml";
/// The section of the list that names the crates of an application.
const APPLICATION: &str = "## What an application compiles";

/// The rule: the same external crates are declared in the workspace, used by our crates and explained in the list.
/// The peers have a separate workspace, which declares what it uses; the list explains those crates too.
pub(crate) fn check(tree: &Tree) -> Result<Vec<Finding>, String> {
    let graph = Graph::read(tree)?;
    let mut findings = idle(tree, &graph.edges);
    let others = graph.edges.into_iter().filter(|edge| edge.to_folder.is_none());
    let (peers, ours): (Vec<Edge>, Vec<Edge>) = others.partition(|edge| edge.from == PEERS);
    let names = |edges: Vec<Edge>| edges.into_iter().map(|edge| edge.to).collect::<BTreeSet<_>>();
    let (peers, used) = (names(peers), names(ours));
    let list = tree.read(LIST);
    findings.extend(compare(&declared(&tree.read(ROOT)), &used, &peers, &explained(&list)));
    findings.extend(application(&list, &compiled(tree)?));
    Ok(findings)
}

/// The crates that an application compiles: `taut` and all that it depends on, each version as one entry, sorted.
fn compiled(tree: &Tree) -> Result<Vec<String>, String> {
    let ask = Command::line("cargo tree -p taut --edges normal,build --prefix none --locked --format {p}");
    let output = ask.dir(tree.root()).run();
    if !output.success() {
        return Err(format!("cargo tree {}: {}", output.reason(), output.text));
    }
    Ok(packages(&output.stdout))
}

/// The names of the packages in the lines of `cargo tree`: `name v1.2.3`, and what stands behind.
fn packages(lines: &str) -> Vec<String> {
    let versions = lines.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    let versions: BTreeSet<_> = versions.collect();
    versions.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Compares the list's section about applications with the crates that an application compiles.
fn application(list: &str, compiled: &[String]) -> Option<Finding> {
    let section = list.lines().skip_while(|line| *line != APPLICATION).skip(1);
    let section: Vec<_> = section.take_while(|line| !line.starts_with("## ")).collect();
    let text = section.join(" ");
    let mut listed: Vec<_> = text.split('`').skip(1).step_by(2).collect();
    listed.sort_unstable();
    let count = format!("compiles {} crates", compiled.len());
    if listed == compiled && text.contains(&count) {
        return None;
    }
    let line = list.lines().position(|line| line == APPLICATION).map_or(0, |at| at + 1);
    let wanted: Vec<_> = compiled.iter().map(|name| format!("`{name}`")).collect();
    Some(Finding::at(LIST, line, format!("the section must say: {count}: {}", wanted.join(", "))))
}

/// The dependencies that no source names. Only shipped code counts for a shipped dependency; for a development
/// dependency, tests count too.
fn idle(tree: &Tree, edges: &[Edge]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for edge in edges {
        let folder = if edge.development { edge.from.clone() } else { format!("{}/src", edge.from) };
        let sources =
            tree.files(|path| path.starts_with(&format!("{folder}/")) && has_extension(path, &["rs"]));
        let texts = sources.iter().map(|path| tree.read(path));
        if !texts.into_iter().any(|text| names(&text, edge)) {
            let message = format!("depends on `{}`, but none of its sources names that crate", edge.to);
            findings.push(Finding::at(&format!("{}/Cargo.toml", edge.from), 0, message));
        }
    }
    findings
}

/// Whether a source names a crate that it depends on.
fn names(source: &str, edge: &Edge) -> bool {
    let name = edge.to.replace('-', "_");
    let code = if edge.development { code(source, Texts::Blank) } else { shipped(source, Texts::Blank) };
    !lines_with(&code, &name).is_empty()
}

fn compare(
    declared: &BTreeSet<String>,
    used: &BTreeSet<String>,
    peers: &BTreeSet<String>,
    explained: &BTreeSet<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut differ = |these: &BTreeSet<String>, those: &BTreeSet<String>, path: &str, what: &str| {
        findings.extend(these.difference(those).map(|name| Finding::at(path, 0, format!("`{name}` {what}"))));
    };
    differ(declared, used, ROOT, "is declared for the workspace, but no crate uses it");
    differ(used, declared, ROOT, "is used by a crate, but not declared for the workspace");
    let all = used | peers;
    differ(&all, explained, LIST, "has no line with a reason");
    differ(explained, &all, LIST, "has a line, but no crate uses it");
    findings
}

/// The external crates in `[workspace.dependencies]`, which has one crate per line.
fn declared(manifest: &str) -> BTreeSet<String> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[workspace.dependencies]").skip(1);
    let lines = section.take_while(|line| !line.starts_with('['));
    let entries = lines.filter_map(|line| line.split_once('='));
    entries.filter(|(_, value)| !value.contains("path =")).map(|(name, _)| name.trim().to_owned()).collect()
}

/// The crates in the first column of the list's tables, if they have a reason: ``| `name` | reason |``.
fn explained(list: &str) -> BTreeSet<String> {
    let rows = list.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    rows.filter(|(_, reason)| reason.trim_matches(['|', ' ']).len() > 3)
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_named_where_it_is_needed() {
        let edge = |development| Edge {
            from: "pure/plan".into(),
            to: "taut-model".into(),
            to_folder: Some("pure/model".into()),
            development,
        };
        let test = "// taut_model\n#[cfg(test)]\nmod tests { use taut_model::Model; }";
        assert!(names("use taut_model::Model;", &edge(false)));
        assert!(!names(test, &edge(false)), "tests alone need it");
        assert!(names(test, &edge(true)));
        assert!(!names("use taut_models::Model; // taut_model", &edge(true)));
    }

    #[test]
    fn the_list_names_what_an_application_compiles() {
        let lines = "taut v0.1.0 (/x)\nsyn v3.0.9\nserde v1.0.0\nsyn v2.0.1\nserde v1.0.0 (*)\n\n";
        let compiled = packages(lines);
        assert_eq!(compiled, ["serde", "syn", "syn", "taut"]);
        let list = |text: &str| format!("`a`\n{APPLICATION}\n\n{text}\n\n## Other\n`b`\n");
        let right = list("It compiles 4 crates: `taut`;\n`serde`, `syn`, `syn`.");
        assert_eq!(application(&right, &compiled), None);
        for wrong in
            ["compiles 5 crates: `taut`, `serde`, `syn`, `syn`", "compiles 4 crates: `taut`, `serde`, `syn`"]
        {
            let found = application(&list(wrong), &compiled).expect("another list").to_string();
            let wanted = "docs/dependencies.md:2: the section must say: compiles 4 crates: `serde`, `syn`, `syn`, `taut`";
            assert_eq!(found, wanted);
        }
        assert!(application("", &compiled).is_some());
    }

    #[test]
    fn three_lists_agree() {
        let manifest = "[x]\na = \"1\"\n[workspace.dependencies]\nours = { path = \"p\" }\n\nlibc = \"0.2\"\ntoml = { version = \"1\" }\n\n[profile.dev]\nz = 1\n";
        let declared = declared(manifest);
        assert_eq!(declared.iter().collect::<Vec<_>>(), ["libc", "toml"]);
        let explained = explained(
            "| crate | why |\n|---|---|\n| `libc` | calls Linux |\n| `old` | was needed |\n| `toml` | |\n",
        );
        assert_eq!(explained.iter().collect::<Vec<_>>(), ["libc", "old"]);
        let used = ["libc", "toml"].map(str::to_owned).into();
        let peers = ["rtrb"].map(str::to_owned).into();
        let found = compare(&declared, &used, &peers, &explained);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        let wanted = [
            "docs/dependencies.md: `rtrb` has no line with a reason",
            "docs/dependencies.md: `toml` has no line with a reason",
            "docs/dependencies.md: `old` has a line, but no crate uses it",
        ];
        assert_eq!(found, wanted);
        assert_eq!(compare(&declared, &BTreeSet::new(), &BTreeSet::new(), &used).len(), 4);
    }
}
