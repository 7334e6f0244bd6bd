// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The space that wait-free state messages take: Figures 9, 10, 14 and 15 (c) of \[Huang02\].

mod drawn;
mod example;
mod readers;
mod space;

use crate::output::Output;
use crate::page::Values;

/// The page in which the figures stand.
const PAGE: &str = include_str!("../../pages/huang02.md.in");
/// Of the readers that are drawn.
const SEED: u64 = 1;
/// Sets of readers at a point.
const SETS: u64 = 1_000;

/// Counts, draws and writes all of them.
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
