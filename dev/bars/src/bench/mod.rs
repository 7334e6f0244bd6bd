// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Comparisons, each printed with its spread.

mod android;
mod bare;
pub(crate) mod cost;
pub(crate) mod ready;
pub(crate) mod release;

use std::process::ExitCode;

use xtask::Tree;

use crate::observed::build;
use crate::row::figure;

/// A bench: its name, and the function that measures and returns the table.
type Bench = (&'static str, fn(&Tree) -> Result<String, String>);

const BENCHES: &[Bench] = &[
    ("release", |tree| {
        build(tree).and_then(|()| release::measure(tree)).map(|rounds| release::table(&rounds))
    }),
    ("ready", |tree| build(tree).and_then(|()| ready::measure(tree)).map(|rounds| ready::table(&rounds))),
    ("android", android::measured),
    ("cost", |tree| cost::measure(tree).map(|rows| cost::table(&rows, &figure))),
];

/// The names of the benches.
pub(crate) fn names() -> Vec<&'static str> {
    BENCHES.iter().map(|(name, _)| *name).collect()
}

/// Runs a bench and prints its table.
pub(crate) fn run(tree: &Tree, name: &str) -> ExitCode {
    let Some((_, bench)) = BENCHES.iter().find(|(known, _)| *known == name) else {
        eprintln!("no bench of that name; there are: {}", names().join(", "));
        return ExitCode::from(2);
    };
    match bench(tree) {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
