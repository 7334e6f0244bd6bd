// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares the test targets of `live/` that a step runs with all test targets there, so that no target is forgotten.

use std::collections::BTreeSet;

use crate::tree::{Finding, Tree};

/// Every library and every integration test below `live/`, as `folder/lib` and `folder/test`, where `folder` is that
/// of the crate.
pub(crate) fn targets(tree: &Tree) -> BTreeSet<String> {
    let of = |path: &str| -> Option<String> {
        let parts: Vec<_> = path.split('/').collect();
        match parts[..] {
            ["live", name, "src", "lib.rs"] => Some(format!("{name}/lib")),
            ["live", name, "tests", file] => Some(format!("{name}/{}", file.strip_suffix(".rs")?)),
            _ => None,
        }
    };
    tree.files(|path| of(path).is_some()).iter().filter_map(|path| of(path)).collect()
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
    targets: &BTreeSet<String>,
    run: impl Fn(&str) -> bool,
    left_out: &[(&str, &str)],
) -> Vec<Finding> {
    let path = |target: &str| match target.split_once('/') {
        Some((folder, "lib")) => format!("live/{folder}/src/lib.rs"),
        Some((folder, test)) => format!("live/{folder}/tests/{test}.rs"),
        None => target.to_owned(),
    };
    let mut found = Vec::new();
    for target in targets {
        let named = left_out.iter().filter(|(name, _)| name == target).count();
        let message = match (run(target), named) {
            (true, 0) | (false, 1) => continue,
            (false, 0) => "is neither run nor left out by name, with a reason",
            (true, _) => "is run, and left out by name as well",
            (false, _) => "is left out twice",
        };
        found.push(Finding::at(&path(target), 0, message));
    }
    for (name, _) in left_out.iter().filter(|(name, _)| !targets.contains(*name)) {
        found.push(Finding::at(&path(name), 0, "is left out by name, and there is no such target"));
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
    fn who_is_not_named_is_found() {
        let targets: BTreeSet<_> =
            ["a/lib", "a/run", "a/out", "a/new", "a/both"].map(String::from).into_iter().collect();
        let run = |target: &str| ["a/lib", "a/run", "a/both"].contains(&target);
        let found = findings(&targets, run, &[("a/out", "why"), ("a/both", "why"), ("a/gone", "why")]);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "live/a/tests/both.rs: is run, and left out by name as well",
                "live/a/tests/new.rs: is neither run nor left out by name, with a reason",
                "live/a/tests/gone.rs: is left out by name, and there is no such target",
            ]
        );
    }
}
