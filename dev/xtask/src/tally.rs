// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Checks, counted by verdict.

use std::fmt;
use std::ops::AddAssign;
use std::process::ExitCode;

/// How many checks passed, failed and could not be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// They said yes.
    pub(crate) passed: u64,
    /// They said no, or crashed.
    pub(crate) failed: u64,
    /// They were not made, and said why.
    pub(crate) skipped: u64,
}

impl Tally {
    /// The sum of the `test result:` lines that Rust's test harness prints, one per test program.
    pub(crate) fn of(text: &str) -> Self {
        let mut sum = Self::default();
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
        sum
    }

    /// Success if nothing failed.
    pub(crate) fn exit(self) -> ExitCode {
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
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
    fn the_closing_line() {
        let mut tally = Tally { passed: 12, failed: 0, skipped: 0 };
        assert_eq!(tally.to_string(), "12 passed, 0 failed");
        tally += Tally { passed: 0, failed: 1, skipped: 2 };
        assert_eq!(tally.to_string(), "12 passed, 1 failed, 2 skipped");
    }
}
