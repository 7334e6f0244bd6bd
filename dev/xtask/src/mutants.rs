// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Mutations of what must not be wrong, by `cargo mutants`: each must be caught by a test, or is kept with a reason.

use std::path::Path;
use std::time::Duration;

use crate::command::{Command, End};
use crate::step::{Outcome, Step};
use crate::tally::Tally;
use crate::toolchain;

/// What is mutated: a name, a package, and files of it.
const AREAS: [(&str, &str, &str); 5] = [
    ("judge", "taut-report", "pure/report/src/judge.rs"),
    ("plan", "taut-plan", "pure/plan/src/**/*.rs"),
    ("segment", "taut-segment", "live/segment/src/**/*.rs"),
    ("lock", "taut-lock", "live/lock/src/**/*.rs"),
    ("boot", "taut-boot", "live/boot/src/**/*.rs"),
];

/// Mutations that survive, each with the reason: `FILE: MUTATION # REASON`, a line each.
const KEPT: &str = "dev/xtask/mutants.kept";
/// The least time of a test run; a mutation that makes it longer than this, and than five times its own time, is caught.
const PATIENCE_S: &str = "120";

/// The names of all areas.
pub(crate) fn names() -> Vec<&'static str> {
    AREAS.iter().map(|(name, ..)| *name).collect()
}

/// A step for each area, or for one alone.
pub(crate) fn steps(only: Option<&str>) -> Vec<Step> {
    let wanted = AREAS.iter().filter(|(name, ..)| only.is_none_or(|only| only == *name));
    wanted.map(|&(name, package, files)| step(name, package, files)).collect()
}

fn step(name: &'static str, package: &'static str, files: &'static str) -> Step {
    Step::new(format!("mutants of {name}"), move |tree| {
        if let Err(why) = toolchain::MUTANTS.ensure() {
            return Outcome::skipped(why);
        }
        let folder = tree.target().join("mutants").join(name);
        let scratch = tree.target().join("mutants/scratch");
        for folder in [&folder, &scratch] {
            if let Err(error) = std::fs::create_dir_all(folder) {
                return Outcome::failed(format!("{}: {error}", folder.display()), "");
            }
        }
        let run = Command::line("cargo mutants --no-shuffle --colors never --minimum-test-timeout")
            .args([PATIENCE_S, "--package", package, "--file", files, "--output"])
            .args([&folder])
            .args(["--", "--locked", "--lib", "--tests"])
            // The copy of the tree goes where there is space.
            .env("TMPDIR", &scratch)
            .limit(Duration::from_secs(12 * 3600))
            .dir(tree.root())
            .run();
        // All are caught; some are not; some made the tests hang.
        if !matches!(run.end, End::Code(0 | 2 | 3)) {
            return Outcome::failed(run.reason(), run.text);
        }
        judged(&folder.join("mutants.out"), files, &tree.read(KEPT))
    })
}

/// What came of a run, by the lists that it leaves.
fn judged(folder: &Path, files: &str, kept: &str) -> Outcome {
    let list = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let caught =
        [list("caught.txt"), list("timeout.txt")].iter().map(|text| text.lines().count() as u64).sum();
    let wrong = wrong(&list("missed.txt"), files, kept);
    let tally = Tally { passed: caught, failed: wrong.len() as u64, skipped: 0 };
    if caught == 0 && wrong.is_empty() {
        return Outcome::failed("not one mutation was tried", "");
    }
    Outcome { tally, note: String::new(), log: wrong.concat() }
}

/// Survivors that nobody has given a reason for, and reasons for what does not survive.
fn wrong(missed: &str, files: &str, kept: &str) -> Vec<String> {
    let survivors: Vec<(&str, String)> = missed.lines().map(|line| (line, nameless(line))).collect();
    let room = files.split('*').next().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut reasons = Vec::new();
    for line in kept.lines().filter(|line| line.starts_with(room)) {
        match line.split_once(" # ") {
            Some((mutation, why)) if !why.trim().is_empty() => reasons.push(mutation.trim()),
            _ => wrong.push(format!("{KEPT}: no reason: {line}\n")),
        }
    }
    for (line, mutation) in &survivors {
        if !reasons.contains(&mutation.as_str()) {
            wrong.push(format!("no test fails: {line}\n"));
        }
    }
    let gone = reasons.iter().filter(|reason| !survivors.iter().any(|(_, mutation)| mutation == *reason));
    wrong.extend(gone.map(|reason| format!("{KEPT}: it is caught: {reason}\n")));
    wrong
}

/// A survivor without its line and column, which change with what stands above.
fn nameless(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(path), Some(_), Some(_), Some(mutation)) => format!("{path}:{mutation}"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    const FILES: &str = "live/lock/src/**/*.rs";
    const MISSED: &str = "live/lock/src/a.rs:12:5: replace f -> bool with true\n";

    #[test]
    fn a_survivor_needs_a_reason() {
        assert_eq!(wrong("", FILES, ""), [""; 0]);
        assert_eq!(wrong(MISSED, FILES, ""), [format!("no test fails: {MISSED}")]);
        let kept = "live/lock/src/a.rs: replace f -> bool with true # f only makes it faster\n";
        assert_eq!(wrong(MISSED, FILES, kept), [""; 0]);
        let elsewhere = MISSED.replace(":12:5:", ":99:1:");
        assert_eq!(wrong(&elsewhere, FILES, kept), [""; 0], "wherever it stands");
        assert_eq!(wrong(&MISSED.replace("true", "false"), FILES, kept).len(), 2);
    }

    #[test]
    fn a_reason_needs_a_survivor() {
        let kept = "live/lock/src/a.rs: replace f -> bool with true # once\n";
        assert_eq!(wrong("", FILES, kept).len(), 1);
        assert_eq!(wrong("", "live/boot/src/**/*.rs", kept), [""; 0], "another area's");
        assert_eq!(
            wrong(MISSED, FILES, "live/lock/src/a.rs: replace f -> bool with true\n").len(),
            2,
            "no reason"
        );
    }

    #[test]
    fn nothing_tried_is_no_pass() {
        let folder = Tree::here().unwrap().target().join("mutants/none");
        assert_eq!(judged(&folder, FILES, "").tally, Tally { passed: 0, failed: 1, skipped: 0 });
    }

    /// Each area is files that there are.
    #[test]
    fn areas_are_there() {
        let tree = Tree::here().unwrap();
        for (name, _, files) in AREAS {
            let room = files.split('*').next().unwrap();
            assert!(!tree.files(|path| path.starts_with(room)).is_empty(), "{name}");
        }
    }
}
