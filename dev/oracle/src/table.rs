// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The table of comparisons.

use std::collections::BTreeMap;
use std::fmt;

/// How far another tool's result can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// It must be equal to ours.
    Equal,
    /// A run reached it: ours must not be less.
    Reached,
    /// It is the same bound by another implementation that nobody has checked: shown, not judged.
    Hint,
}

impl Agreement {
    fn words(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Reached => "not exceeded",
            Self::Hint => "a hint",
        }
    }
}

/// The comparison of one case.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// How many values were compared.
    pub(crate) values: usize,
    /// The values that disagree, in words.
    pub(crate) differ: Vec<String>,
}

impl Compared {
    /// Counts one more value; `reported` describes a disagreement.
    pub(crate) fn take(&mut self, holds: bool, reported: impl FnOnce() -> String) {
        self.values += 1;
        if !holds {
            self.differ.push(reported());
        }
    }

    /// Adds the values of another comparison.
    pub(crate) fn join(&mut self, other: Self) {
        self.values += other.values;
        self.differ.extend(other.differ);
    }
}

/// A row of the table: a tool's analysis in a group of cases, with ours.
#[derive(Debug)]
struct Row {
    ours: &'static str,
    agreement: Agreement,
    cases: usize,
    compared: Compared,
}

/// The table, by group, tool and analysis.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: BTreeMap<[String; 3], Row>,
    /// The results that were not compared: how many, and why.
    left: BTreeMap<[String; 3], (usize, &'static str)>,
    /// Groups that the format does not name, and the number of their cases.
    odd: BTreeMap<String, usize>,
    /// The results that could not be compared although their names are known.
    faults: Vec<String>,
}

impl Table {
    /// Adds a case's comparison.
    pub(crate) fn add(
        &mut self,
        key: [String; 3],
        ours: &'static str,
        agreement: Agreement,
        case: &str,
        compared: Compared,
    ) {
        let row =
            self.rows.entry(key).or_insert(Row { ours, agreement, cases: 0, compared: Compared::default() });
        row.cases += 1;
        let differ = compared.differ.into_iter().map(|reported| format!("{case}: {reported}")).collect();
        row.compared.join(Compared { values: compared.values, differ });
    }

    /// Records that a case's result was not compared.
    pub(crate) fn leave(&mut self, key: [String; 3], why: &'static str) {
        self.left.entry(key).or_insert((0, why)).0 += 1;
    }

    /// Records a case of a group that the format does not name.
    pub(crate) fn odd_group(&mut self, group: &str) {
        *self.odd.entry(group.to_owned()).or_insert(0) += 1;
    }

    /// Records that a result could not be compared although its name is known.
    pub(crate) fn fault(&mut self, reported: String) {
        self.faults.push(reported);
    }

    /// How many results could not be compared.
    pub(crate) fn faults(&self) -> usize {
        self.faults.len()
    }

    /// The number of judged values, and how many of them disagree.
    pub(crate) fn judged(&self) -> (usize, usize) {
        let judged = self.rows.values().filter(|row| row.agreement != Agreement::Hint);
        judged.fold((0, 0), |(values, differ), row| {
            (values + row.compared.values, differ + row.compared.differ.len())
        })
    }
}

/// Disagreements that are printed of a row; the rest are only counted.
const PRINTED_MAX: usize = 5;

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["group", "tool", "analysis", "ours", "must be", "cases", "values", "differ"];
        let mut lines = vec![heads.map(str::to_owned)];
        for ([group, tool, analysis], row) in &self.rows {
            lines.push([
                group.clone(),
                tool.clone(),
                analysis.clone(),
                row.ours.into(),
                row.agreement.words().into(),
                row.cases.to_string(),
                row.compared.values.to_string(),
                row.compared.differ.len().to_string(),
            ]);
        }
        let width = |at: usize| lines.iter().map(|line| line[at].len()).max().unwrap_or(0);
        let widths: [usize; 8] = std::array::from_fn(width);
        for line in &lines {
            for (at, (cell, width)) in line.iter().zip(widths).enumerate() {
                if at < 5 { write!(f, "{cell:<width$}  ")? } else { write!(f, "{cell:>width$}  ")? }
            }
            writeln!(f)?;
        }
        for ([group, tool, analysis], row) in &self.rows {
            for reported in row.compared.differ.iter().take(PRINTED_MAX) {
                writeln!(f, "{group} {tool} {analysis}: {reported}")?;
            }
            if row.compared.differ.len() > PRINTED_MAX {
                writeln!(f, "{group} {tool} {analysis}: {} more", row.compared.differ.len() - PRINTED_MAX)?;
            }
        }
        for ([group, tool, analysis], (count, why)) in &self.left {
            writeln!(f, "not compared: {group} {tool} {analysis}, {count} cases: {why}")?;
        }
        for (group, count) in &self.odd {
            writeln!(
                f,
                "group {group} is not in the format, {count} cases: compared by the names of their results"
            )?;
        }
        for reported in &self.faults {
            writeln!(f, "cannot be compared: {reported}")?;
        }
        let (values, differ) = self.judged();
        writeln!(f, "{values} values compared, {differ} differ")
    }
}
