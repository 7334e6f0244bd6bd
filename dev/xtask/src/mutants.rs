// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Mutation tests of critical code by `cargo mutants`: a test must catch each mutation, or a list must give a reason.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::command::{Command, End};
use crate::step::{Outcome, Step};
use crate::tally::Tally;
use crate::toolchain;

/// The areas that are mutated: a name, a package, and files of the package.
const AREAS: [(&str, &str, &str); 6] = [
    ("judge", "taut-report", "pure/report/src/judge.rs"),
    ("plan", "taut-plan", "pure/plan/src/**/*.rs"),
    ("planner", "taut-planner", "pure/planner/src/**/*.rs"),
    ("segment", "taut-segment", "live/segment/src/**/*.rs"),
    ("lock", "taut-lock", "live/lock/src/**/*.rs"),
    ("boot", "taut-boot", "live/boot/src/**/*.rs"),
];

/// The list of mutations that may survive, one per line: `FILE: MUTATION # REASON`.
const KEPT: &str = "dev/xtask/mutants.kept";
/// The shortest time limit of a test run, in s. A mutation is caught if the tests run longer than this and longer than
/// five times their usual time.
const PATIENCE_S: &str = "120";

/// Modules that are compiled only for loom and shuttle or for tests: a mistake there reaches no program.
const NO_PROGRAM: &str = r"(^| |\()(model|tests)::";

/// The names of all areas.
pub(crate) fn names() -> Vec<&'static str> {
    AREAS.iter().map(|(name, ..)| *name).collect()
}

/// A step for each area, or for `only` one. The steps share the time: an area that ends early leaves its rest to the
/// next ones.
pub(crate) fn steps(only: Option<&str>, minutes: u64) -> Vec<Step> {
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let wanted: Vec<_> = AREAS.iter().filter(|(name, ..)| only.is_none_or(|only| only == *name)).collect();
    let areas = (1..).zip(wanted.iter().rev());
    let mut steps: Vec<Step> =
        areas.map(|(left, &&(name, package, files))| step(name, package, files, (end, left))).collect();
    steps.reverse();
    steps
}

/// The step of one area. The time is over at `end`; `left` areas share it: this one and those after it.
fn step(name: &'static str, package: &'static str, files: &'static str, (end, left): (Instant, u32)) -> Step {
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
        // Remove the lists of an earlier run.
        let lists = folder.join("mutants.out");
        if lists.exists()
            && let Err(error) = std::fs::remove_dir_all(&lists)
        {
            return Outcome::failed(format!("{}: {error}", lists.display()), "");
        }
        // The order is random: mutations that a stopped run leaves out have their turn in another run.
        let run = Command::line("cargo mutants --shuffle --colors never --minimum-test-timeout")
            .args([PATIENCE_S, "--package", package, "--file", files])
            .args(["--exclude", "**/tests.rs", "--exclude", "**/model.rs", "--exclude-re", NO_PROGRAM])
            .args([Path::new("--output"), &folder])
            .args(["--", "--locked", "--lib", "--tests"])
            // The copy of the tree needs a folder with enough space.
            .env("TMPDIR", &scratch)
            .limit(end.saturating_duration_since(Instant::now()) / left)
            .dir(tree.root())
            .run();
        match run.end {
            // 0: all caught; 2: some missed; 3: some made the tests hang; or the time was over.
            End::Code(0 | 2 | 3) | End::TimeOut => {}
            _ => return Outcome::failed(run.reason(), run.text),
        }
        judged(&lists, files, &tree.read(KEPT), run.end == End::TimeOut)
    })
}

/// The result of a run, from the lists in its folder. If the run was `stopped`, the lists may be incomplete.
fn judged(folder: &Path, files: &str, kept: &str, stopped: bool) -> Outcome {
    let list = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let (caught, missed) = (list("caught.txt") + &list("timeout.txt"), list("missed.txt"));
    let lines = |text: &str| text.lines().count() as u64;
    let tried = lines(&caught) + lines(&missed) + lines(&list("unviable.txt"));
    let all = serde_json::from_str::<Vec<serde_json::Value>>(&list("mutants.json"));
    let all = all.map_or(0, |all| all.len() as u64);
    let untried = if stopped { all.saturating_sub(tried).max(1) } else { 0 };
    let wrong = wrong((&caught, &missed), files, kept, stopped);
    let tally = Tally { passed: lines(&caught), failed: wrong.len() as u64, skipped: untried };
    if tried == 0 && wrong.is_empty() && !stopped {
        return Outcome::failed("no mutation was tried", "");
    }
    let note = match (stopped, tried) {
        (false, _) => String::new(),
        (true, 0) => "the time limit passed before a mutation was tried".to_owned(),
        (true, _) => format!("the time limit passed: {untried} of {all} mutations were not tried"),
    };
    Outcome { tally, note, log: wrong.concat() }
}

/// Survivors without a reason, and reasons for mutations that do not survive. If the run was `stopped`, a reason for an
/// untried mutation stays valid.
fn wrong((caught, missed): (&str, &str), files: &str, kept: &str, stopped: bool) -> Vec<String> {
    let nameless = |text: &str| text.lines().map(nameless).collect::<Vec<_>>();
    let (caught, survivors) = (nameless(caught), nameless(missed));
    let room = files.split('*').next().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for line in kept.lines().filter(|line| line.starts_with(room)) {
        match line.split_once(" # ") {
            Some((mutation, why)) if !why.trim().is_empty() => reasons.push(mutation.trim().to_owned()),
            _ => wrong.push(format!("{KEPT}: no reason: {line}\n")),
        }
    }
    for (line, mutation) in missed.lines().zip(&survivors) {
        if !reasons.contains(mutation) {
            wrong.push(format!("no test fails: {line}\n"));
        }
    }
    let gone =
        reasons.iter().filter(|reason| !survivors.contains(reason) && (caught.contains(reason) || !stopped));
    wrong.extend(gone.map(|reason| format!("{KEPT}: a test catches this mutation: {reason}\n")));
    wrong
}

/// A survivor without its line and column, which change with the code above it.
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
        assert_eq!(wrong(("", ""), FILES, "", false), [""; 0]);
        assert_eq!(wrong(("", MISSED), FILES, "", false), [format!("no test fails: {MISSED}")]);
        let kept = "live/lock/src/a.rs: replace f -> bool with true # f only makes it faster\n";
        assert_eq!(wrong(("", MISSED), FILES, kept, false), [""; 0]);
        let elsewhere = MISSED.replace(":12:5:", ":99:1:");
        assert_eq!(wrong(("", &elsewhere), FILES, kept, false), [""; 0], "wherever it stands");
        assert_eq!(wrong(("", &MISSED.replace("true", "false")), FILES, kept, false).len(), 2);
    }

    #[test]
    fn a_reason_needs_a_survivor() {
        let kept = "live/lock/src/a.rs: replace f -> bool with true # once\n";
        assert_eq!(wrong(("", ""), FILES, kept, false).len(), 1);
        assert_eq!(wrong(("", ""), "live/boot/src/**/*.rs", kept, false), [""; 0], "another area's");
        assert_eq!(
            wrong(("", MISSED), FILES, "live/lock/src/a.rs: replace f -> bool with true\n", false).len(),
            2,
            "no reason"
        );
    }

    #[test]
    fn nothing_tried_is_no_pass() {
        let folder = Tree::here().unwrap().target().join("mutants/none");
        assert_eq!(judged(&folder, FILES, "", false).tally, Tally { passed: 0, failed: 1, skipped: 0 });
    }

    /// A stopped run counts the mutations that it did not try, and a reason for one of these stays valid.
    #[test]
    fn untried_mutations_do_not_pass() {
        let folder = Tree::here().unwrap().target().join("mutants/stopped");
        assert_eq!(judged(&folder, FILES, "", true).tally, Tally { passed: 0, failed: 0, skipped: 1 });
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("mutants.json", "[{}, {}, {}, {}, {}, {}]");
        write("caught.txt", &MISSED.replace("true", "false"));
        write("unviable.txt", &MISSED.replace("true", "1"));
        let outcome = judged(&folder, FILES, "live/lock/src/b.rs: delete ! in f # it is so\n", true);
        assert_eq!(outcome.tally, Tally { passed: 1, failed: 0, skipped: 4 }, "{}", outcome.log);
        assert_eq!(outcome.note, "the time limit passed: 4 of 6 mutations were not tried");
        let caught = "live/lock/src/a.rs: replace f -> bool with false # it is so\n";
        assert_eq!(judged(&folder, FILES, caught, true).tally.failed, 1, "it was tried, and is caught");
        write("missed.txt", MISSED);
        assert_eq!(judged(&folder, FILES, "", true).tally, Tally { passed: 1, failed: 1, skipped: 3 });
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The files of each area exist.
    #[test]
    fn areas_are_there() {
        let tree = Tree::here().unwrap();
        for (name, _, files) in AREAS {
            let room = files.split('*').next().unwrap();
            assert!(!tree.files(|path| path.starts_with(room)).is_empty(), "{name}");
        }
    }
}
