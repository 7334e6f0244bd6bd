// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The tables, as Markdown.

use std::fmt::Write;

use crate::figures::{median, spread};
use crate::object::{Kind, WORDS};
use crate::run::{Row, Run, suffix};
use crate::trial::Trial;

/// The tables of the whole run.
pub(crate) fn markdown(run: &Run) -> String {
    let mut text = String::from(
        "# Ours beside others\n\n\
         Made by `cargo xtask peers --record`. All in one run, interleaved, two threads pinned to two processors. Times in \
         ns, the timer's own included; medians over rounds. `a / b / c` are p50 / p99 / p99.9; in brackets the least and \
         the largest round; `-`: not measured, or not at the distance that most trials had. Round trips also as multiples of a bare cache line's, measured right before. Ours in bold.\n\n",
    );
    for (name, value) in &run.facts {
        let _ = writeln!(text, "- {name}: {value}");
    }
    for note in &run.notes {
        let _ = writeln!(text, "- note: {note}");
    }
    let distance = if run.near { "near each other" } else { "far from each other" };
    let _ = writeln!(
        text,
        "\nProcessors were {distance} in most trials; absolute times are of those alone, ratios of all."
    );
    for queues in [true, false] {
        for words in WORDS {
            table(&mut text, run, queues, words);
        }
    }
    crowds(&mut text, run);
    across(&mut text, run);
    unchanged(&mut text, run);
    lines(&mut text, run);
    text
}

/// The row of an object in a trial at a size, with one reader and in one process.
fn find<'a>(run: &'a Run, name: &str, trial: Trial, words: usize) -> Option<&'a Row> {
    run.rows.iter().find(|row| {
        let case = &row.case;
        row.name == name && case.trial == trial && case.words == words && case.readers == 1 && !case.across
    })
}

/// Names in the order in which they were measured, ours first.
fn names(run: &Run, wanted: impl Fn(&Row) -> bool) -> Vec<(&'static str, bool)> {
    let mut names: Vec<(&'static str, bool)> = Vec::new();
    for row in run.rows.iter().filter(|row| wanted(row)) {
        if !names.iter().any(|(name, _)| *name == row.name) {
            names.push((row.name, row.ours));
        }
    }
    names
}

fn shown((name, ours): (&str, bool)) -> String {
    if ours { format!("**{name}**") } else { name.to_owned() }
}

/// A number with three digits: a machine reproduces no more.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => "-".into(),
        size if size >= 1e7 => format!("{:.0}M", value / 1e6),
        size if size >= 1e5 => format!("{:.0}k", value / 1e3),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn with_spread(values: &[f64]) -> String {
    spread(values).map_or("-".into(), |[median, least, largest]| {
        format!("{} [{}, {}]", digits(median), digits(least), digits(largest))
    })
}

/// p50 / p99 / p99.9, the spread of p50, and the number of failed attempts and of samples where they matter.
fn percentiles(run: &Run, row: Option<&Row>) -> String {
    let Some(row) = row else { return "-".into() };
    let of = |figure| row.usual(run.near, figure);
    let Some([p50, least, largest]) = spread(&of("p50")) else { return "-".into() };
    let mut text = format!(
        "{} / {} / {} [{}, {}]",
        digits(p50),
        digits(median(&of("p99"))),
        digits(median(&of("p999"))),
        digits(least),
        digits(largest)
    );
    let missed = median(&of("missed"));
    if missed >= 0.005 {
        let _ = write!(text, ", {} attempts failed each", digits(missed));
    }
    if row.usual(run.near, "n").iter().any(|n| *n < 1_000.0) {
        let _ = write!(text, ", n = {:.0}", median(&of("n")));
    }
    text
}

/// One table: all objects of a kind, in all trials at a size.
fn table(text: &mut String, run: &Run, queues: bool, words: usize) {
    let fits = |row: &Row| {
        row.kind.is_queue() == queues && row.case.words == words && row.case.trial != Trial::Unchanged
    };
    let names = names(run, fits);
    if names.is_empty() {
        return;
    }
    let peer = if queues { "rtrb" } else { "triple_buffer" };
    let kind = if queues { "Queues" } else { "The newest value" };
    let _ = writeln!(
        text,
        "\n## {kind}, {} B\n\n\
         | object | in / out, nobody else | in / out, flat out, M/s | out by slices | round trip | over a bare line | over {peer} | write, reader hammers | read, writer hammers |\n\
         |---|---|---|---|---|---|---|---|---|",
        8 * words
    );
    for name in names {
        let row = |trial| find(run, name.0, trial, words);
        let pair = |trial, first: &str, second: &str| {
            row(trial).map_or("-".into(), |row: &Row| {
                let of = |figure| digits(median(&row.usual(run.near, figure)));
                format!("{} / {}", of(first), of(second))
            })
        };
        let trip = row(Trial::Trip);
        let over = trip.zip(find(run, peer, Trial::Trip, words));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            shown(name),
            pair(Trial::Alone, "in", "out"),
            pair(Trial::Flat, "in", "out"),
            pair(Trial::Slices, "in", "out"),
            trip.map_or("-".into(), |row| with_spread(&row.usual(run.near, "trip"))),
            trip.map_or("-".into(), |row| with_spread(&row.over_raw("trip"))),
            over.map_or("-".into(), |(row, peer)| with_spread(&row.over(peer, "trip"))),
            percentiles(run, row(Trial::Write)),
            percentiles(run, row(Trial::Read)),
        );
    }
}

/// Several readers, which one thread drives in turns: every writer finds that many dirty lines.
fn crowds(text: &mut String, run: &Run) {
    let rows: Vec<&Row> = run.rows.iter().filter(|row| row.case.readers > 1).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n## Several readers\n\n\
         Two processors: one thread drives the readers in turns, so a writer meets the lines that each of them left.\n\n\
         | object | trial | p50 / p99 / p99.9 |\n|---|---|---|"
    );
    for row in rows {
        let (name, trial) = (shown((row.name, row.ours)), row.case.trial.word());
        let _ = writeln!(text, "| {name}{} | {trial} | {} |", suffix(&row.case), percentiles(run, Some(row)));
    }
}

/// The far side in a process of its own, beside the same trial in one process.
fn across(text: &mut String, run: &Run) {
    let rows: Vec<&Row> = run.rows.iter().filter(|row| row.case.across).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n## Across processes\n\n\
         | object | trial | across | in one process | across / in one |\n|---|---|---|---|---|"
    );
    for row in rows {
        let inside = find(run, row.name, row.case.trial, row.case.words);
        let trip = row.case.trial == Trial::Trip;
        let figure = if trip { "trip" } else { "p50" };
        let show = |row: Option<&Row>| match row {
            Some(row) if trip => with_spread(&row.usual(run.near, "trip")),
            _ => percentiles(run, row),
        };
        let ratio = inside.map_or("-".into(), |inside| with_spread(&row.over(inside, figure)));
        let name = shown((row.name, row.ours));
        let (trial, bytes) = (row.case.trial.word(), 8 * row.case.words);
        let _ = writeln!(
            text,
            "| {name} {bytes} B | {trial} | {} | {} | {ratio} |",
            show(Some(row)),
            show(inside)
        );
    }
}

/// Reads of a value that no side changes.
fn unchanged(text: &mut String, run: &Run) {
    let rows: Vec<&Row> = run.rows.iter().filter(|row| row.case.trial == Trial::Unchanged).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n## A value that nobody changes\n\n\
         Reads for a newer value, while a second reader, where there may be one, does the same on the other processor. \
         Beside the bare word: a line that moved would cost tens of ns.\n\n| object | ns |\n|---|---|"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} |",
            shown((row.name, row.ours)),
            with_spread(&row.usual(run.near, "look"))
        );
    }
}

/// The cache lines that move, by the protocols.
fn lines(text: &mut String, run: &Run) {
    let _ = writeln!(
        text,
        "\n## Cache lines that move\n\n\
         Of an operation when the other side is busy, by the protocol; L lines of the value; posted: not waited for.\n\n\
         | object | kind | writer | reader |\n|---|---|---|---|"
    );
    for name in names(run, |_| true) {
        let Some(row) = run.rows.iter().find(|row| row.name == name.0) else { continue };
        let kind: Kind = row.kind;
        let _ = writeln!(text, "| {} | {} | {} | {} |", shown(name), kind.word(), row.lines[0], row.lines[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::row;

    #[test]
    fn every_row_is_printed() {
        let write = [("p50", 30.0), ("p99", 40.0), ("p999", 170.0), ("missed", 0.0), ("n", 20_000.0)];
        let mut other = row("across", true, Trial::Trip, &[("trip", 200.0)]);
        other.case.across = true;
        let run = Run {
            rows: vec![
                row("mine", true, Trial::Trip, &[("trip", 120.0)]),
                row("mine", true, Trial::Write, &write),
                row("triple_buffer", false, Trial::Trip, &[("trip", 240.0)]),
                other,
            ],
            notes: vec!["a note".into()],
            facts: vec![("kernel".into(), "6".into())],
            near: true,
        };
        let text = markdown(&run);
        for line in [
            "- kernel: 6",
            "- note: a note",
            "| **mine** | - | - | - | 120 [120, 120] | 0.72 [0.24, 1.20] | 0.50 [0.50, 0.50] | 30.0 / 40.0 / 170 [30.0, 30.0] | - |",
            "| **across** 64 B | trip | 200 [200, 200] | - | - |",
            "| **mine** | state | L posted | L |",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn three_digits() {
        assert_eq!([0.5, 12.345, 123.4, 250_000.0, 2e7].map(digits), ["0.50", "12.3", "123", "250k", "20M"]);
    }
}
