// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The space of wait-free state messages: Figures 9, 10, 14 and 15 (c) of \[Huang02\].

mod drawn;
mod example;
mod readers;
mod space;

use crate::output::Output;
use crate::page::Values;

/// The template of the page.
const PAGE: &str = include_str!("../../pages/huang02.md.in");
/// The seed of the drawn readers.
const SEED: u64 = 1;
/// The number of reader sets at each point.
const SETS: u64 = 1_000;

/// Counts and draws everything, and writes the page and its figures.
pub(crate) fn run(output: &Output) -> Result<(), String> {
    let mut values = Values::default();
    let counts = example::counts().map_err(|_| "a count of buffers overflows")?;
    example::report(&counts, &mut values);
    output.figure("huang02-fig9", &example::figure(&counts))?;
    output.text("huang02-fig9.csv", &example::csv(&counts))?;
    let points = space::points(SETS, SEED).map_err(|_| "a count of buffers overflows")?;
    space::report(&points, &mut values);
    output.figure("huang02-fig14", &drawn::figure(&points))?;
    output.text("huang02-fig14.csv", &space::csv(&points))?;
    values.set("sets", SETS);
    values.set("seed", SEED);
    output.text("huang02.md", &values.fill(PAGE)?)
}
