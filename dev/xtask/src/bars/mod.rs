// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bars: promises in numbers, measured anew on this machine. Each set has a name.

mod calls;
mod choose;
mod execute;
mod first;
mod generated;
mod observed;
mod prove;
mod row;
pub(crate) mod share;
pub(crate) mod spread;

pub(crate) use observed::{Jitter, Observed, build};
pub(crate) use row::{Row, figure};

use std::fs;
use std::process::ExitCode;

use crate::tree::Tree;

/// A set of bars: its name, and how it is measured.
type Set = (&'static str, fn(&Tree) -> Vec<Row>);

const SETS: &[Set] = &[
    ("first", first::measure),
    ("share", share::measure),
    ("prove", prove::measure),
    ("choose", choose::measure),
    ("execute", execute::measure),
];

/// The names of the sets.
pub(crate) fn names() -> Vec<&'static str> {
    SETS.iter().map(|(name, _)| *name).collect()
}

/// Measures a set, prints its table, and writes `target/bars/NAME.json`. Fails if a bar is not met.
pub(crate) fn run(tree: &Tree, name: &str) -> ExitCode {
    let Some((name, measure)) = SETS.iter().find(|(known, _)| *known == name) else {
        eprintln!("no bars of that name; there are: {}", names().join(", "));
        return ExitCode::from(2);
    };
    let rows = measure(tree);
    print!("{}", row::table(&rows));
    let folder = tree.target().join("bars");
    let path = folder.join(format!("{name}.json"));
    let written =
        fs::create_dir_all(&folder).and_then(|()| fs::write(&path, format!("{:#}\n", row::json(&rows))));
    if let Err(error) = written {
        eprintln!("{}: {error}", path.display());
        return ExitCode::from(3);
    }
    println!("written to {}", path.display());
    if rows.iter().all(Row::met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
