// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bars of recorded values: what `record = true` adds to a job's sends and receives, as `live/run/benches/recorded.rs`
//! measures them beside the same without it, in one run.

use xtask::{Command, Tree};

use crate::row::{Held, Row};

/// The operations, in words, and what each may cost with `record = true`, in the time that it takes without.
const OPERATIONS: [(&str, &str, f64); 4] = [
    ("send", "send to a queue", 2.0),
    ("receive", "receive from a queue", 2.0),
    ("publish", "publish to a state", 2.0),
    ("latest", "read of a state", 5.0),
];

/// A row for each operation.
pub(super) fn measure(tree: &Tree) -> Vec<Row> {
    let run = Command::line("cargo bench --quiet --locked -p taut-run --bench recorded -- ends")
        .dir(tree.root())
        .run();
    let said = if run.success() { Ok(run.text) } else { Err(format!("{}: {}", run.reason(), run.text)) };
    rows(&said)
}

fn rows(said: &Result<String, String>) -> Vec<Row> {
    let row = |(operation, words, goal): (&str, &str, f64)| {
        let ratios = said.as_ref().map_err(Clone::clone).and_then(|said| ratios(said, operation));
        Row::at_most(format!("{words}, recorded / not recorded, 64 B"), goal, "x", Held::Median, ratios)
    };
    OPERATIONS.into_iter().map(row).collect()
}

/// What an operation takes with recording over what it takes without, in each round.
///
/// # Errors
/// If the threads were not real-time, records were lost, or a line has another form.
fn ratios(said: &str, operation: &str) -> Result<Vec<f64>, String> {
    for needed in ["threads: SCHED_FIFO", "records lost: 0"] {
        if !said.lines().any(|line| line == needed) {
            return Err(format!("it does not say `{needed}`: {said}"));
        }
    }
    let head = format!("{operation}: plain ");
    let of = |line: &str| {
        let (plain, recorded) = line.split_once(" recorded ")?;
        let (plain, recorded) = (plain.parse::<f64>().ok()?, recorded.parse::<f64>().ok()?);
        (plain > 0.0 && recorded > 0.0).then(|| recorded / plain)
    };
    let lines = said.lines().filter_map(|line| line.strip_prefix(&head));
    let ratios: Result<Vec<f64>, String> =
        lines.map(|line| of(line).ok_or_else(|| format!("it says `{head}{line}`"))).collect();
    ratios.and_then(|ratios| {
        if ratios.is_empty() { Err(format!("it has no round of `{operation}`: {said}")) } else { Ok(ratios) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "threads: SCHED_FIFO\nrecords lost: 0\n";

    /// Rounds in which recording costs `percent` of what the operation costs without.
    fn said(percent: f64) -> String {
        let lines = OPERATIONS.map(|(operation, ..)| {
            (0..5)
                .map(|_| format!("{operation}: plain 50.0 recorded {:.1}\n", percent / 2.0))
                .collect::<String>()
        });
        HEAD.to_owned() + &lines.concat()
    }

    #[test]
    fn the_figures_fill_every_bar() {
        let met = |percent| rows(&Ok(said(percent))).iter().filter(|row| row.met()).count();
        assert_eq!(met(100.0), OPERATIONS.len());
        for (_, _, goal) in OPERATIONS {
            let above = OPERATIONS.iter().filter(|(.., other)| *other > goal).count();
            assert_eq!(met(goal * 100.0 + 1.0), above);
        }
        assert_eq!(ratios(&said(150.0), "latest"), Ok(vec![1.5; 5]));
    }

    #[test]
    fn a_run_that_lacks_something_meets_nothing() {
        assert!(rows(&Err("no".to_owned())).iter().all(|row| !row.met()));
        let good = said(100.0);
        for (what, with) in [
            ("SCHED_FIFO", "SCHED_OTHER"),
            ("lost: 0", "lost: 3"),
            ("send: plain 50.0", "send: plain 0.0"),
            ("send: plain 50.0", "send: plain much"),
            ("send: plain", "sends: plain"),
        ] {
            assert!(ratios(&good.replace(what, with), "send").is_err(), "{what} {with}");
        }
    }
}
