// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Named steps: all run in order, each prints a line, and a closing line counts the verdicts.

use std::fs;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::command::{Command, Output};
use crate::tally::{Tally, Word, left_out};
use crate::tree::{Finding, Tree};

/// Lines of a failed step's output that are printed; its log has all lines.
const TAIL: usize = 60;

/// The result of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The number of checks by verdict.
    pub(crate) tally: Tally,
    /// Why the step skipped or failed a check, in one line; may be empty.
    pub(crate) note: String,
    /// The whole output.
    pub(crate) log: String,
}

impl Outcome {
    /// One check that passed.
    pub(crate) fn passed() -> Self {
        Self { tally: Tally { passed: 1, ..Tally::default() }, ..Self::default() }
    }

    /// One check that failed.
    pub(crate) fn failed(note: impl Into<String>, log: impl Into<String>) -> Self {
        Self { tally: Tally { failed: 1, ..Tally::default() }, note: note.into(), log: log.into() }
    }

    /// One check that could not run, and why.
    pub(crate) fn skipped(note: impl Into<String>) -> Self {
        Self { tally: Tally { skipped: 1, ..Tally::default() }, note: note.into(), log: String::new() }
    }

    /// One check: a command, which passes if it ends with code 0.
    pub(crate) fn of(output: Output) -> Self {
        if output.success() {
            Self { log: output.text, ..Self::passed() }
        } else {
            Self::failed(output.reason(), output.text)
        }
    }

    /// Runs a command that runs Rust tests, and counts the verdict of each test.
    pub(crate) fn of_tests(command: Command) -> Self {
        Self::tested(command.showing_output().run())
    }

    fn tested(output: Output) -> Self {
        let mut tally = Tally::of(&output.text);
        let mut note = String::new();
        if !output.success() && tally.failed == 0 {
            tally.failed = 1;
            note = output.reason();
        } else if tally.passed + tally.failed + tally.skipped == 0 {
            tally.failed = 1;
            note = "no test ran".into();
        }
        Self { tally, note, log: output.text }
    }

    /// A rule: it passes without findings, else each finding is a failure.
    pub(crate) fn of_findings(findings: &[Finding]) -> Self {
        if findings.is_empty() {
            return Self::passed();
        }
        let log = findings.iter().map(|finding| format!("{finding}\n")).collect();
        let tally = Tally { failed: findings.len() as u64, ..Tally::default() };
        Self { tally, note: String::new(), log }
    }
}

/// A name and the work to do.
pub(crate) struct Step {
    name: String,
    work: Box<dyn Fn(&Tree) -> Outcome>,
}

impl Step {
    /// A step that calls a function.
    pub(crate) fn new(name: impl Into<String>, work: impl Fn(&Tree) -> Outcome + 'static) -> Self {
        Self { name: name.into(), work: Box::new(work) }
    }

    /// A step that runs a command, which passes if it ends with code 0.
    pub(crate) fn command(name: impl Into<String>, command: Command) -> Self {
        Self::new(name, move |tree| Outcome::of(command.clone().dir(tree.root()).run()))
    }

    /// A step that runs a command of Rust tests.
    pub(crate) fn tests(name: impl Into<String>, command: Command) -> Self {
        Self::new(name, move |tree| Outcome::of_tests(command.clone().dir(tree.root())))
    }
}

/// Runs all steps, also after a failure, and prints a line per step. Full logs go to `target/ci/`.
pub(crate) fn run(tree: &Tree, steps: &[Step]) -> Tally {
    let width = steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
    let logs = tree.target().join("ci");
    let _ = fs::create_dir_all(&logs);
    let mut total = Tally::default();
    for (number, step) in steps.iter().enumerate() {
        let terminal = std::io::stdout().is_terminal();
        if terminal {
            print!("      {:width$} ...", step.name);
            let _ = std::io::stdout().flush();
        }
        let begin = Instant::now();
        let outcome = (step.work)(tree);
        let line = line(&step.name, width, &outcome, begin.elapsed());
        println!("{}{line}", if terminal { "\r" } else { "" });
        let log = logs.join(format!("{:02}-{}.log", number + 1, step.name.replace([' ', '/'], "-")));
        let _ = fs::write(&log, &outcome.log);
        for line in skips(&outcome.log) {
            println!("      | {line}");
        }
        if outcome.tally.failed > 0 {
            print_tail(&outcome.log, &log.display().to_string());
        }
        total += outcome.tally;
    }
    total
}

fn line(name: &str, width: usize, outcome: &Outcome, elapsed: Duration) -> String {
    let Tally { passed, failed, skipped } = outcome.tally;
    let verdict = match (failed, passed, skipped) {
        (1.., ..) => "FAIL",
        (0, 0, 1..) => "skip",
        _ => "ok",
    };
    let mut counts = format!("{passed} passed");
    for (count, word) in [(failed, "failed"), (skipped, "skipped")] {
        if count > 0 {
            counts += &format!(", {count} {word}");
        }
    }
    let note = if outcome.note.is_empty() { String::new() } else { format!("  ({})", outcome.note) };
    format!("{verdict:>4}  {name:width$} {:>7.1} s  {counts}{note}", elapsed.as_secs_f64())
}

/// One line per reason why tests were skipped or ignored, with the names of these tests.
fn skips(log: &str) -> Vec<String> {
    let skipped = left_out(log).into_iter().filter(|skip| skip.word == Word::Skipped);
    let ignored = log.lines().filter_map(|line| {
        let (test, why) = line.strip_prefix("test ")?.split_once(" ... ignored, ")?;
        Some((why.to_owned(), test.to_owned()))
    });
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for (why, test) in skipped.map(|skip| (skip.why, skip.test)).chain(ignored) {
        match lines.iter_mut().find(|(known, _)| *known == why) {
            Some((_, tests)) if tests.contains(&test) => {}
            Some((_, tests)) => tests.push(test),
            None => lines.push((why, vec![test])),
        }
    }
    lines.into_iter().map(|(why, tests)| format!("skipped: {why}: {}", tests.join(", "))).collect()
}

fn print_tail(log: &str, path: &str) {
    let lines: Vec<_> = log.lines().collect();
    let failed = failed_tests(&lines);
    let shown = if failed.is_empty() { &lines[lines.len().saturating_sub(TAIL)..] } else { &failed };
    if shown.len() < lines.len() {
        println!("      | ... {} more lines are in {path}", lines.len() - shown.len());
    }
    for line in shown {
        println!("      | {line}");
    }
}

/// The output of each failed test, or its end if it is long. The harness shows the output of passed tests below
/// `successes:`. The output of failed tests stands between the first `failures:` of a test program and its second
/// `failures:`, which begins their list.
fn failed_tests<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    let mut shown = Vec::new();
    let mut rest = lines;
    while let Some(begin) = rest.iter().position(|line| *line == "failures:") {
        let text = &rest[begin + 1..];
        let ends = |line: &&str| *line == "failures:" || line.starts_with("test result: ");
        let end = text.iter().position(ends).unwrap_or(text.len());
        let mut sections = &text[..end];
        while let Some(head) = sections.iter().position(|line| is_head(line)) {
            let said = &sections[head + 1..];
            let said = &said[..said.iter().position(|line| is_head(line)).unwrap_or(said.len())];
            shown.push(sections[head]);
            shown.extend_from_slice(&said[said.len().saturating_sub(TAIL)..]);
            sections = &sections[head + 1 + said.len()..];
        }
        rest = &text[(end + 1).min(text.len())..];
    }
    shown
}

/// Whether this line begins the output of a test.
fn is_head(line: &str) -> bool {
    line.starts_with("---- ") && line.ends_with(" stdout ----")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::End;

    fn output(end: End, text: &str) -> Output {
        Output { end, text: text.into(), stdout: String::new(), elapsed: Duration::from_secs(1) }
    }

    #[test]
    fn tests_that_do_not_compile_fail_once() {
        let outcome = Outcome::tested(output(End::Code(101), "error[E0308]: mismatched types\n"));
        assert_eq!(outcome.tally, Tally { passed: 0, failed: 1, skipped: 0 });
        assert_eq!(outcome.note, "ended with code 101");
    }

    #[test]
    fn a_reason_for_ignored_tests_is_printed_once() {
        let log = "test a ... ignored, forks\ntest b ... ok\ntest c ... ignored, forks\ntest a ... ignored, forks\n";
        assert_eq!(skips(log), ["skipped: forks: a, c"]);
    }

    #[test]
    fn a_test_step_that_tests_nothing_fails() {
        let text = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let outcome = Outcome::tested(output(End::Code(0), text));
        assert_eq!(outcome.tally.failed, 1);
        assert_eq!(outcome.note, "no test ran");
    }

    #[test]
    fn a_crash_after_passed_tests_is_a_failure() {
        let text = "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let outcome = Outcome::tested(output(End::Signal, text));
        assert_eq!(outcome.tally, Tally { passed: 4, failed: 1, skipped: 0 });
    }

    #[test]
    fn the_output_of_failed_tests_is_found() {
        let text = "test a ... ok\n\nsuccesses:\n\n---- a stdout ----\nfine\n\nsuccesses:\n    a\n\nfailures:\n\n---- b stdout ----\n\
                    first\n\n---- c stdout ----\nsecond\n\n\nfailures:\n    b\n    c\n\ntest result: FAILED. 1 passed; 2 failed;\n\
                    Running more\nsuccesses:\n\n---- f stdout ----\nfine\n\nfailures:\n\n---- d stdout ----\nthird\n";
        let lines: Vec<_> = text.lines().collect();
        let expected = [
            "---- b stdout ----",
            "first",
            "",
            "---- c stdout ----",
            "second",
            "",
            "",
            "---- d stdout ----",
            "third",
        ];
        assert_eq!(failed_tests(&lines), expected);
        let long = format!("failures:\n---- e stdout ----\n{}failures:", "line\n".repeat(TAIL + 9));
        assert_eq!(failed_tests(&long.lines().collect::<Vec<_>>()).len(), 1 + TAIL);
        assert_eq!(failed_tests(&["error[E0308]: mismatched types"]), [""; 0]);
    }

    #[test]
    fn skip_reasons_are_listed_with_their_tests() {
        let said = |test: &str, why: &str| format!("---- {test} stdout ----\nskipped: {why}\n\n");
        let log =
            ["successes:\n\n".into(), said("a", "no root"), said("b", "no python"), said("c", "no root")];
        assert_eq!(skips(&log.concat()), ["skipped: no root: a, c", "skipped: no python: b"]);
        let all = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let outcome = Outcome::tested(output(End::Code(0), &(log.concat() + all)));
        assert_eq!(
            outcome.tally,
            Tally { passed: 0, failed: 0, skipped: 3 },
            "that none could run is no failure"
        );
    }

    #[test]
    fn each_finding_counts() {
        let findings = [Finding::at("a.rs", 3, "x"), Finding::at("b.rs", 0, "y")];
        let outcome = Outcome::of_findings(&findings);
        assert_eq!(outcome.tally.failed, 2);
        assert_eq!(outcome.log, "a.rs:3: x\nb.rs: y\n");
        assert_eq!(Outcome::of_findings(&[]).tally.passed, 1);
    }

    #[test]
    fn a_line_says_it_all() {
        let skipped = Outcome::skipped("no network");
        let text = line("miri", 6, &skipped, Duration::from_millis(1250));
        assert_eq!(text, "skip  miri       1.2 s  0 passed, 1 skipped  (no network)");
    }
}
