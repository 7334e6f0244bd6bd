// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares the test targets of `live/` that a step runs with all test targets there, so that no target is forgotten.

use std::collections::BTreeMap;

use crate::tree::{Finding, Tree};

/// Every library and every integration test below `live/`, as `folder/lib` and `folder/test`, where `folder` is that
/// of the crate, with the path of its file. Cargo finds a test by its place, or its manifest names it.
pub(crate) fn targets(tree: &Tree) -> BTreeMap<String, String> {
    let of = |path: &str| -> Option<String> {
        let parts: Vec<_> = path.split('/').collect();
        match parts[..] {
            ["live", name, "src", "lib.rs"] => Some(format!("{name}/lib")),
            ["live", name, "tests", file] => Some(format!("{name}/{}", file.strip_suffix(".rs")?)),
            _ => None,
        }
    };
    let files = tree.files(|path| path.starts_with("live/"));
    let found = files.iter().filter_map(|path| Some((of(path)?, path.clone())));
    let manifests = files.iter().filter_map(|path| Some((crate_folder(path)?, tree.read(path))));
    let named = manifests.flat_map(|(folder, manifest)| named_tests(folder, &manifest));
    found.chain(named).collect()
}

/// `name` of `live/name/Cargo.toml`.
fn crate_folder(path: &str) -> Option<&str> {
    let name = path.strip_prefix("live/")?.strip_suffix("/Cargo.toml")?;
    (!name.contains('/')).then_some(name)
}

/// The tests that a manifest names together with their paths.
fn named_tests(folder: &str, manifest: &str) -> Vec<(String, String)> {
    let tables = manifest.split("\n[").filter_map(|table| table.strip_prefix("[test]]"));
    let value = |table: &str, key: &str| {
        let line = table.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        line.and_then(|rest| rest.strip_suffix('"')).map(str::to_owned)
    };
    let named = tables.filter_map(|table| Some((value(table, "name")?, value(table, "path")?)));
    named.map(|(name, path)| (format!("{folder}/{name}"), format!("live/{folder}/{path}"))).collect()
}

/// Whether the arguments of `cargo test` select a target: `-p taut-NAME`, and `--lib` or `--test PATTERN`, in which a
/// final `*` matches anything.
pub(crate) fn names(arguments: &str, target: &str) -> bool {
    let Some((folder, test)) = target.split_once('/') else { return false };
    let words: Vec<_> = arguments.split(' ').take_while(|word| *word != "--").collect();
    let after = |flag: &str, fits: &dyn Fn(&str) -> bool| {
        words.windows(2).any(|pair| matches!(*pair, [name, value] if name == flag && fits(value)))
    };
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(begin) => test.starts_with(begin),
        None => test == pattern,
    };
    after("-p", &|package| package.strip_prefix("taut-") == Some(folder))
        && if test == "lib" { words.contains(&"--lib") } else { after("--test", &fits) }
}

/// A finding for each target that is neither run nor left out by name, that is both, or that is left out twice, and
/// for each name without a target.
pub(crate) fn findings(
    targets: &BTreeMap<String, String>,
    run: impl Fn(&str) -> bool,
    left_out: &[(&str, &str)],
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (target, path) in targets {
        let named = left_out.iter().filter(|(name, _)| name == target).count();
        let message = match (run(target), named) {
            (true, 0) | (false, 1) => continue,
            (false, 0) => "is neither run nor listed as left out with a reason",
            (true, _) => "is run, and also listed as left out",
            (false, _) => "is listed as left out twice",
        };
        found.push(Finding::at(path, 0, message));
    }
    for (name, _) in left_out.iter().filter(|(name, _)| !targets.contains_key(*name)) {
        found.push(Finding::at(name, 0, "is listed as left out, but there is no such target"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_targets() {
        let arguments =
            "-p taut-share -p taut-lock --lib --test stress* --test attack -- registry --test between";
        for named in ["share/lib", "lock/lib", "share/stress", "share/stress_flow", "lock/attack"] {
            assert!(names(arguments, named), "{named}");
        }
        for other in ["exec/lib", "share/attacks", "share/behaviour", "share/between", "exec/attack"] {
            assert!(!names(arguments, other), "{other}");
        }
        assert!(!names("-p taut-share --test attack", "share/lib"));
    }

    #[test]
    fn a_manifest_names_tests_in_folders() {
        let manifest = "[package]\nname = \"taut-a\"\n\n[[test]]\nname = \"deaths_bulk\"\n\
                        path = \"tests/bulk/deaths.rs\"\n\n[[test]]\nname = \"here\"\nharness = false\n\n[lints]\n";
        let named = [("a/deaths_bulk", "live/a/tests/bulk/deaths.rs")];
        assert_eq!(named_tests("a", manifest), named.map(|(name, path)| (name.to_owned(), path.to_owned())));
        assert_eq!(crate_folder("live/a/Cargo.toml"), Some("a"));
        assert_eq!(crate_folder("live/a/fuzz/Cargo.toml"), None);
    }

    #[test]
    fn unlisted_targets_are_found() {
        let path = |target: &str| (target.to_owned(), format!("live/{}.rs", target.replace('/', "/tests/")));
        let targets: BTreeMap<_, _> = ["a/lib", "a/run", "a/out", "a/new", "a/both"].map(path).into();
        let run = |target: &str| ["a/lib", "a/run", "a/both"].contains(&target);
        let found = findings(&targets, run, &[("a/out", "why"), ("a/both", "why"), ("a/gone", "why")]);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "live/a/tests/both.rs: is run, and also listed as left out",
                "live/a/tests/new.rs: is neither run nor listed as left out with a reason",
                "a/gone: is listed as left out, but there is no such target",
            ]
        );
    }
}
