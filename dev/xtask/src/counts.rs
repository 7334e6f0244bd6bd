// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The numbers of executions in a protocol file must be those that loom counts.
//!
//! The rule reads each paragraph that names a loom test (`tests/queues/loom.rs`) and mentions executions. Each number
//! of three digits or more in it must be the execution count of a model that the tests explored completely, as they
//! print it. Shorter numbers may be anything: bounds, writes, reads.

use std::collections::BTreeSet;

use crate::tree::{Finding, Tree};

/// Applies the rule to the sources of a crate; `printed` is the output of its loom tests.
pub(crate) fn check(tree: &Tree, sources: &str, printed: &str) -> Vec<Finding> {
    let counted = counted(printed);
    let ours = tree.files(|path| path.starts_with(sources) && path.ends_with(".rs"));
    ours.iter().flat_map(|path| check_source(path, &tree.read(path), &counted)).collect()
}

/// The counts of completely explored models: `name: all 336 executions, preemption bound None, 1.2s`.
fn counted(printed: &str) -> BTreeSet<u64> {
    let lines = printed.lines().filter_map(|line| line.split(": all ").nth(1)?.split(" executions").next());
    lines.filter_map(|count| count.parse().ok()).collect()
}

fn check_source(path: &str, source: &str, counted: &BTreeSet<u64>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut paragraph = (0, String::new());
    for (at, line) in source.lines().chain([""]).enumerate() {
        let text =
            line.strip_prefix("//! ").or(line.strip_prefix("// ")).filter(|text| !text.starts_with("- "));
        if let Some(text) = text {
            if paragraph.1.is_empty() {
                paragraph.0 = at + 1;
            }
            paragraph.1 += text.trim();
            paragraph.1 += " ";
            continue;
        }
        let (line, text) = std::mem::take(&mut paragraph);
        if names_loom(&text) && text.contains("executions") {
            let wrong =
                figures(&text).into_iter().filter(|figure| !figure.iter().any(|one| counted.contains(one)));
            findings.extend(wrong.map(|figure| {
                Finding::at(
                    path,
                    line,
                    format!("no model has {} executions: run them and copy what they print", figure[0]),
                )
            }));
        }
    }
    findings
}

/// Whether a text names a file of loom tests, in backquotes.
fn names_loom(text: &str) -> bool {
    text.split('`').any(|word| word.starts_with("tests/") && word.contains("loom"))
}

/// The numbers of three digits and more, each with all its readings: `of 2 940` is 2,940, or 940 after a separate 2.
fn figures(text: &str) -> Vec<Vec<u64>> {
    let is_digits = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut figures = Vec::new();
    let mut groups: Vec<&str> = Vec::new();
    let mut close = |groups: &mut Vec<&str>| {
        let readings = (0..groups.len()).map(|from| groups[from..].concat());
        let readings: Vec<u64> =
            readings.filter(|text| text.len() >= 3).filter_map(|text| text.parse().ok()).collect();
        if !readings.is_empty() {
            figures.push(readings);
        }
        groups.clear();
    };
    for word in text.split(' ') {
        let bare = word.trim_end_matches([',', ':', ';', '.']);
        let goes_on = !groups.is_empty() && bare.len() == 3;
        if !is_digits(&bare) || !goes_on {
            close(&mut groups);
        }
        if is_digits(&bare) {
            groups.push(bare);
        }
        if bare.len() < word.len() {
            close(&mut groups);
        }
    }
    close(&mut groups);
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_what_was_counted() {
        let printed = "test a ... ok\nsdrtr: all 336 executions, preemption bound None, 0.1s\nring: all 17373 executions, \
                       preemption bound Some(2), 2s\nslow: STOPPED after 900 executions, preemption bound None, 120s\n";
        let counted = counted(printed);
        assert_eq!(counted, BTreeSet::from([336, 17_373]));
        let head = |text: &str| {
            format!("//! `tests/x/loom.rs`, 3 writes\n//! {text}\n//!\n//! Not covered: 1 000 executions.\n")
        };
        let wrong = |text: &str| check_source("a.rs", &head(text), &counted).len();
        assert_eq!(wrong("× 2 reads: 336 executions; QrtWo of 1 17 373, and 52."), 0);
        assert_eq!(wrong("× 2 reads: 337 executions"), 1);
        assert_eq!(wrong("× 2 reads: 336 executions, with bound 2: 17 374 and 900."), 2);
        // At the end of a file.
        assert_eq!(
            check_source("a.rs", &head("× 2 reads: 337 executions").replace("//!", "//"), &counted).len(),
            1
        );
        // The paragraph names no test, so nothing can repeat this run.
        assert_eq!(check_source("a.rs", "//! A separate run: 12 345 executions.\n", &counted), []);
    }

    #[test]
    fn thousands_are_apart_by_a_space() {
        assert_eq!(
            figures("of 1 17 373, of 2 940: 12 345 678"),
            [vec![17_373, 373], vec![2_940, 940], vec![12_345_678, 345_678, 678]]
        );
        assert!(figures("3 writes × 12").is_empty());
    }
}
