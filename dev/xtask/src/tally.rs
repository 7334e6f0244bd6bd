// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Counts of checks, by verdict.

use std::fmt;
use std::ops::AddAssign;
use std::process::ExitCode;

/// How many checks passed, failed and could not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Checks that succeeded.
    pub passed: u64,
    /// Checks that failed or crashed.
    pub failed: u64,
    /// Checks that did not run, or that were incomplete, with a reason.
    pub skipped: u64,
}

impl Tally {
    /// The sum of the `test result:` lines of Rust's test harness, which prints one per test program. A test that
    /// passed but printed that it left something out does not count as passed.
    pub fn of(text: &str) -> Self {
        let mut sum = Self::default();
        let said = left_out(text);
        let skipped = said.iter().filter(|skip| skip.word == Word::Skipped).count() as u64;
        for line in text.lines() {
            let Some((_, counts)) = line.split_once("test result: ") else { continue };
            let Some((_, counts)) = counts.split_once(". ") else { continue };
            for part in counts.split(';') {
                let mut words = part.split_whitespace();
                let Some(count) = words.next().and_then(|word| word.parse::<u64>().ok()) else { continue };
                match words.next() {
                    Some("passed") => sum.passed += count,
                    Some("failed") => sum.failed += count,
                    Some("ignored") => sum.skipped += count,
                    _ => {}
                }
            }
        }
        sum.passed = sum.passed.saturating_sub(said.len() as u64);
        sum.skipped += skipped;
        sum
    }

    /// Success if nothing failed.
    pub(crate) fn exit(self) -> ExitCode {
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Why a passed test tested nothing, or not everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// It lacks something: a privilege, a processor, a tool.
    Skipped,
    /// It is the main function of a process that other tests start, but the harness started it as a test.
    Entry,
}

/// A test that passed but printed that it left something out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// The name of the test.
    pub(crate) test: String,
    /// The kind of omission.
    pub(crate) word: Word,
    /// What the test lacks.
    pub(crate) why: String,
}

/// The beginning of the line in which a test prints that it lacks something.
pub(crate) const SKIPPED: &str = "skipped: ";
/// The beginning of the line that the main function of a process for tests prints if the harness starts it as a test.
pub(crate) const ENTRY: &str = "no test: ";

/// The tests that passed but printed that they left something out. Rust's test harness shows the output of passed tests
/// only with `--show-output`, below `successes:`.
pub(crate) fn left_out(text: &str) -> Vec<LeftOut> {
    let mut found: Vec<LeftOut> = Vec::new();
    let (mut passed, mut test) = (false, None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            test = passed.then_some(name);
        } else if line == "successes:" || line == "failures:" {
            (passed, test) = (line == "successes:", None);
        } else if line.starts_with("test result: ") {
            (passed, test) = (false, None);
        } else if let Some(name) = test {
            let word = |(prefix, word)| line.strip_prefix(prefix).map(|why| (word, why));
            let said = [(SKIPPED, Word::Skipped), (ENTRY, Word::Entry)].into_iter().find_map(word);
            if let Some((word, why)) = said {
                found.push(LeftOut { test: name.to_owned(), word, why: why.to_owned() });
                // One test counts once, however many such lines it prints.
                test = None;
            }
        }
    }
    found
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// The closing line: `N passed, N failed`, and `, N skipped` if any were.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_every_program() {
        let text = "\
running 3 tests
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s
noise: 9 passed
test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
all doctests ran in 0.42s; merged doctests compilation took 0.2s
test result: ok. 10 passed; 0 failed; 4 ignored; 0 measured; 0 filtered out; finished in 0.10s
";
        assert_eq!(Tally::of(text), Tally { passed: 20, failed: 2, skipped: 5 });
    }

    #[test]
    fn tests_that_left_something_out_did_not_pass() {
        let text = "\
running 5 tests
test a ... ok

successes:

---- tests::a stdout ----
drawn: 3
skipped: no second processor
skipped: said twice

---- tests::b stdout ----
nothing was skipped: it said so

---- tests::role stdout ----
no test: for processes that tests start


successes:
    tests::a
    tests::b

failures:

---- tests::c stdout ----
skipped: and failed behind it
test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
skipped: printed by nobody
";
        assert_eq!(Tally::of(text), Tally { passed: 2, failed: 1, skipped: 1 });
        let skip = |test: &str, word, why: &str| LeftOut { test: test.into(), word, why: why.into() };
        assert_eq!(
            left_out(text),
            [
                skip("tests::a", Word::Skipped, "no second processor"),
                skip("tests::role", Word::Entry, "for processes that tests start"),
            ]
        );
    }

    #[test]
    fn the_closing_line() {
        let mut tally = Tally { passed: 12, failed: 0, skipped: 0 };
        assert_eq!(tally.to_string(), "12 passed, 0 failed");
        tally += Tally { passed: 0, failed: 1, skipped: 2 };
        assert_eq!(tally.to_string(), "12 passed, 1 failed, 2 skipped");
    }
}
