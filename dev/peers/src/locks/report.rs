// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The results for locks and releases, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::Rounds;
use crate::figures::spread;
use crate::run;
use crate::surroundings::Surroundings;
use crate::table::digits;

/// Facts about the machine and the run.
pub(super) fn facts(surroundings: &Surroundings, rounds: usize, seed: u64) -> Vec<(String, String)> {
    run::facts(surroundings, rounds, seed, &[])
}

/// The trials in the order of the tables: the trial, its heading, the row to compare with, and what a row shows.
const TABLES: [(&str, &str, &str, &str); 5] = [
    ("alone", "Lock and unlock, nobody else", "std mutex", "ns of a pair, or of a look"),
    (
        "handed",
        "Handed across processors",
        "bare futex",
        "ns from the end of a section to the beginning of the next, which waits; as multiples of a bare line there and back",
    ),
    ("release", "From a release to the first instruction", "bare SCHED_FIFO loop", "ns; every 700 us"),
    (
        "preempt",
        "From a wake, or the end of a section, to the first instruction of who runs then",
        "futex wake on one processor",
        "ns, on one processor",
    ),
    (
        "completion",
        "From the end of a job to another one",
        "",
        "ns, on one processor; the timer's look included",
    ),
];

/// All tables.
pub(super) fn markdown(rows: &[Rounds], facts: &[(String, String)]) -> String {
    let mut text = String::from(
        "# Locks and releases, ours beside others'\n\n\
         Made by `cargo xtask peers --locks --record`. All in one run, interleaved, two threads pinned to two processors. Times \
         in ns, medians over rounds; in brackets the least and the largest round. Ratios are of one round. Ours in bold.\n\n",
    );
    for (name, value) in facts {
        let _ = writeln!(text, "- {name}: {value}");
    }
    for row in rows {
        let failed: Vec<&String> = row.rounds.iter().filter_map(|round| round.as_ref().err()).collect();
        if let Some(why) = failed.first() {
            let _ = writeln!(
                text,
                "- note: {}, {}: {} of {} rounds without a figure: {why}",
                row.name,
                row.trial,
                failed.len(),
                row.rounds.len()
            );
        }
    }
    for (trial, heading, beside, what) in TABLES {
        let of_trial: Vec<&Rounds> = rows.iter().filter(|row| row.trial == trial).collect();
        if of_trial.is_empty() {
            continue;
        }
        let peer = of_trial.iter().copied().find(|row| row.name == beside);
        let has = |figure: &str| of_trial.iter().any(|row| !row.each(figure).is_empty());
        // Only columns with values.
        let p99 = has("p99").then_some("p99".to_owned());
        let over_peer = peer.map(|peer| (format!("over {}", peer.name), peer));
        let over_line = (trial == "handed").then_some("over a bare line".to_owned());
        let heads = [
            Some("p50".to_owned()),
            p99.clone(),
            over_peer.as_ref().map(|(head, _)| head.clone()),
            over_line.clone(),
        ];
        let heads: Vec<String> = heads.into_iter().flatten().collect();
        let _ = writeln!(text, "\n## {heading}\n\nIn {what}.\n");
        let _ = writeln!(text, "| | {} |\n|---|{}", heads.join(" | "), "---:|".repeat(heads.len()));
        for row in of_trial {
            let name = if row.ours { format!("**{}**", row.name) } else { row.name.to_owned() };
            let cells = [
                Some(shown(&row.each("ns"))),
                p99.as_ref().map(|_| shown(&row.each("p99"))),
                over_peer.as_ref().map(|(_, peer)| shown(&row.over(peer))),
                over_line.as_ref().map(|_| shown(&row.over_line())),
            ];
            let cells: Vec<String> = cells.into_iter().flatten().collect();
            let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
        }
    }
    text
}

fn shown(values: &[f64]) -> String {
    spread(values).map_or("-".into(), |[median, least, largest]| {
        format!("{} [{}, {}]", digits(median), digits(least), digits(largest))
    })
}

impl Rounds {
    /// A figure of all rounds that have it.
    fn each(&self, figure: &str) -> Vec<f64> {
        self.rounds.iter().flatten().filter_map(|(_, figures)| figures.get(figure).copied()).collect()
    }

    /// This row's time over another's, round by round.
    fn over(&self, other: &Self) -> Vec<f64> {
        let pairs = self.rounds.iter().zip(&other.rounds);
        let both = pairs.filter_map(|(one, other)| Some((one.as_ref().ok()?, other.as_ref().ok()?)));
        both.filter_map(|((_, one), (_, other))| Some(one.get("ns")? / other.get("ns")?)).collect()
    }

    /// This row's time over the round trip of a bare line.
    fn over_line(&self) -> Vec<f64> {
        self.rounds.iter().flatten().filter_map(|(raw, figures)| Some(figures.get("ns")? / raw)).collect()
    }

    fn json(&self) -> Value {
        let round = |round: &Result<(f64, _), String>| {
            round.as_ref().map_or(Value::Null, |(raw, figures): &(f64, crate::figures::Figures)| {
                let mut figures = figures.clone();
                figures.insert("raw", *raw);
                figures.values_mut().for_each(|figure| *figure = (*figure * 1e3).round() / 1e3);
                json!(figures)
            })
        };
        json!({
            "object": self.name,
            "ours": self.ours,
            "trial": self.trial,
            "rounds": self.rounds.iter().map(round).collect::<Vec<_>>(),
            "why": self.rounds.iter().find_map(|round| round.as_ref().err()),
        })
    }
}

/// For programs: every round of every row, one row per line.
pub(super) fn json(rows: &[Rounds], facts: &[(String, String)]) -> String {
    let facts: BTreeMap<_, _> = facts.iter().cloned().collect();
    let rows: Vec<String> = rows.iter().map(|row| row.json().to_string()).collect();
    format!("{{\n\"facts\": {},\n\"rows\": [\n{}\n]\n}}\n", json!(facts), rows.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, trial: &'static str, ns: [f64; 2]) -> Rounds {
        let round = |ns: f64| Ok((100.0, crate::figures::Figures::from([("ns", ns)])));
        Rounds { name, ours: name.starts_with("SRP"), trial, rounds: ns.map(round).to_vec() }
    }

    #[test]
    fn rows_are_printed_with_ratios_of_a_round() {
        let mut rows = vec![
            row("SRP", "alone", [4.0, 6.0]),
            row("std mutex", "alone", [4.0, 3.0]),
            row("ticket", "handed", [200.0, 300.0]),
        ];
        rows[2].rounds.push(Err("it was busy".into()));
        let page = markdown(&rows, &[("cpu".into(), "one".into())]);
        for line in [
            "- cpu: one",
            "- note: ticket, handed: 1 of 3 rounds without a figure: it was busy",
            "| **SRP** | 5.00 [4.00, 6.00] | 1.50 [1.00, 2.00] |",
            "| ticket | 250 [200, 300] | 2.50 [2.00, 3.00] |",
        ] {
            assert!(page.contains(line), "{line} is not in\n{page}");
        }
        let reported: Value = serde_json::from_str(&json(&rows, &[])).expect("JSON");
        assert_eq!(reported["rows"][0]["rounds"][1]["ns"], 6.0);
        assert_eq!(reported["rows"][2]["rounds"][2], Value::Null);
        assert_eq!(reported["rows"][2]["why"], "it was busy");
    }
}
