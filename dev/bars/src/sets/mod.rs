// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bars: promises in numbers, measured again on this machine. Each set of bars has a name.

mod analysis;
mod app;
mod calls;
mod executor;
mod generated;
mod model;
mod recorded;
mod selection;
pub(crate) mod share;

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::Value;
use xtask::Tree;

use crate::row::{self, Row};

/// A set of bars: its name, and the function that measures it.
type Set = (&'static str, fn(&Tree) -> Vec<Row>);

const SETS: &[Set] = &[
    ("app", app::measure),
    ("share", share::measure),
    ("analysis", analysis::measure),
    ("selection", selection::measure),
    ("executor", executor::measure),
    ("model", model::measure),
];

/// The name for all sets in turn.
const ALL: &str = "all";

/// The names of the sets, and [`ALL`].
pub(crate) fn names() -> Vec<&'static str> {
    SETS.iter().map(|(name, _)| *name).chain([ALL]).collect()
}

/// The result of a set.
struct Measured {
    name: &'static str,
    /// The previous content of `target/bars/NAME.json`; null if there was none.
    before: Value,
    rows: Vec<Row>,
    took: Duration,
}

/// Measures a set or all sets, prints the table, and writes `target/bars/NAME.json` for each set. Fails if a bar is
/// not met.
pub(crate) fn run(tree: &Tree, name: &str) -> ExitCode {
    let wanted: Vec<&Set> = SETS.iter().filter(|(known, _)| [known, ALL].contains(&name)).collect();
    if wanted.is_empty() {
        eprintln!("no bars of that name; there are: {}", names().join(", "));
        return ExitCode::from(2);
    }
    let folder = tree.target().join("bars");
    let mut all = Vec::new();
    for &&(name, measure) in &wanted {
        if wanted.len() > 1 {
            println!("bars {name}");
        }
        let path = folder.join(format!("{name}.json"));
        let before = fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
        let begun = Instant::now();
        let rows = measure(tree);
        let took = begun.elapsed();
        let written =
            fs::create_dir_all(&folder).and_then(|()| fs::write(&path, format!("{:#}\n", row::json(&rows))));
        if let Err(error) = written {
            eprintln!("{}: {error}", path.display());
            return ExitCode::from(3);
        }
        all.push(Measured { name, before: before.unwrap_or_default(), rows, took });
    }
    print!("{}", reported(&all));
    println!("written to {}", folder.display());
    if is_met(&all) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether all bars of all sets are met. A set without a bar is not met: it has no promise to keep.
fn is_met(all: &[Measured]) -> bool {
    !all.is_empty() && all.iter().all(|set| !set.rows.is_empty() && set.rows.iter().all(Row::met))
}

/// A table with the values of the previous run, and a line for each set: how many bars are met, and how long it took.
fn reported(all: &[Measured]) -> String {
    let rows: Vec<(&Row, &Value)> =
        all.iter().flat_map(|set| set.rows.iter().map(|row| (row, &set.before))).collect();
    let mut text = row::table(&rows);
    for set in all {
        let met = set.rows.iter().filter(|row| row.met()).count();
        text += &format!("{}: {met} of {} met, in {}\n", set.name, set.rows.len(), shown(set.took));
    }
    if all.len() > 1 {
        text += &format!("all: in {}\n", shown(all.iter().map(|set| set.took).sum()));
    }
    text
}

fn shown(took: Duration) -> String {
    format!("{} min {} s", took.as_secs() / 60, took.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::row::{ENOUGH, Held};

    fn set(name: &'static str, value: f64, before: Value) -> Measured {
        let rows = vec![Row::at_most(format!("of {name}"), 2.0, "ms", Held::Median, Ok(vec![value; ENOUGH]))];
        Measured { name, before, rows, took: Duration::from_secs(63) }
    }

    #[test]
    fn all_must_be_met() {
        let none = || set("none", 1.0, Value::Null);
        assert!(is_met(&[none(), none()]));
        assert!(!is_met(&[none(), set("late", 3.0, Value::Null)]));
        assert!(!is_met(&[]), "no set");
        assert!(!is_met(&[none(), Measured { rows: Vec::new(), ..none() }]), "a set without a bar");
    }

    #[test]
    fn one_table_with_what_was_before() {
        let before = json!([{ "bar": "of a", "goal": 5.0, "value": 4.0, "unit": "ms", "met": true }]);
        let text = reported(&[set("a", 1.0, before), set("b", 3.0, Value::Null)]);
        let squeezed: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(squeezed[0], "bar goal before goal value before value min / median / max met");
        assert_eq!(squeezed[1], "of a <= 5 ms <= 2 ms 4 ms 1 ms 1 / 1 / 1 yes");
        assert_eq!(squeezed[2], "of b - <= 2 ms - 3 ms 3 / 3 / 3 NO");
        assert_eq!(
            squeezed[3..],
            ["a: 1 of 1 met, in 1 min 3 s", "b: 0 of 1 met, in 1 min 3 s", "all: in 2 min 6 s"]
        );
    }

    #[test]
    fn every_set_has_a_name_of_its_own() {
        let mut names = names();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), count), (SETS.len() + 1, SETS.len() + 1));
    }
}
