// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Counts findings by fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How often each fault led to each finding.
#[derive(Default)]
pub(crate) struct Matrix {
    /// Counts, by fault and finding.
    cells: BTreeMap<(String, String), u64>,
    /// Why a finding that does not name the fault is right.
    excuses: BTreeMap<(String, String), &'static str>,
    /// Counts of findings that nothing explains.
    unexplained: BTreeMap<(String, String), u64>,
    named: u64,
}

/// The verdict on a trial's finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It names the fault.
    Named,
    /// It does not name the fault, for this good reason.
    Excused(&'static str),
    /// It should have named the fault.
    Unexplained,
}

impl Matrix {
    pub(crate) fn add(&mut self, fault: &str, finding: &str, worth: Worth) {
        let cell = (fault.to_owned(), finding.to_owned());
        *self.cells.entry(cell.clone()).or_default() += 1;
        match worth {
            Worth::Named => self.named += 1,
            Worth::Excused(why) => {
                self.excuses.insert(cell, why);
            }
            Worth::Unexplained => *self.unexplained.entry(cell).or_default() += 1,
        }
    }

    /// The number of trials whose finding nothing explains.
    pub(crate) fn failed(&self) -> u64 {
        self.unexplained.values().sum()
    }

    /// The number of all other trials.
    pub(crate) fn passed(&self) -> u64 {
        self.cells.values().sum::<u64>() - self.failed()
    }

    /// The number of trials whose finding names the fault.
    pub(crate) fn named(&self) -> u64 {
        self.named
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: BTreeSet<&str> = self.cells.keys().map(|(_, finding)| finding.as_str()).collect();
        let rows: BTreeSet<&str> = self.cells.keys().map(|(fault, _)| fault.as_str()).collect();
        let first = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        write!(f, "{:first$}", "drawn \\ found")?;
        for column in &columns {
            write!(f, "  {column}")?;
        }
        writeln!(f)?;
        for row in rows {
            write!(f, "{row:width$}", width = first.max("drawn \\ found".len()))?;
            for column in &columns {
                let cell = (row.to_owned(), (*column).to_owned());
                let mark = if self.unexplained.contains_key(&cell) {
                    "!"
                } else if self.excuses.contains_key(&cell) {
                    "*"
                } else {
                    ""
                };
                let count = self.cells.get(&cell).map_or_else(|| ".".to_owned(), |n| format!("{n}{mark}"));
                write!(f, "  {count:>width$}", width = column.len())?;
            }
            writeln!(f)?;
        }
        for ((fault, finding), why) in &self.excuses {
            writeln!(f, "* {fault} found as {finding}: {why}")?;
        }
        for ((fault, finding), count) in &self.unexplained {
            writeln!(f, "! {fault} found as {finding}, {count} times: nothing explains it")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexplained_findings_fail() {
        let mut matrix = Matrix::default();
        matrix.add("SIGSEGV", "killed-by-11", Worth::Named);
        matrix.add("stopped", "machine", Worth::Excused("a stall looks the same"));
        assert_eq!((matrix.passed(), matrix.failed(), matrix.named()), (2, 0, 1));
        matrix.add("SIGSEGV", "kept", Worth::Unexplained);
        assert_eq!((matrix.passed(), matrix.failed()), (2, 1));
        let shown = matrix.to_string();
        assert!(shown.contains("* stopped found as machine: a stall looks the same"), "{shown}");
        assert!(shown.contains("! SIGSEGV found as kept, 1 times: nothing explains it"), "{shown}");
        let widths: BTreeSet<usize> = shown.lines().take(3).map(str::len).collect();
        assert_eq!(widths.len(), 1, "{shown}");
    }
}
