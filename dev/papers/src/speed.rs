// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How good selections are and how long they take, as JSON: `cargo xtask bars selection` compares this with its bars.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use taut_planner::select::{Equations, Problem, best, paper};

use crate::han14::generators::{Drawn, problem};
use crate::han14::speed::rate;
use crate::surrogate::fuel_injection;

/// The depth of the published refinement.
const DEPTH: usize = 5;
/// A search that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often rows of Figure 15 are timed.
const ROUNDS: u32 = 5;

/// What is asked for.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Options {
    /// How many random systems of 20 objects
    #[arg(long, default_value_t = 200)]
    systems: u64,
}

/// The result of one system. Every drawn system has a row, whatever the result.
struct Selected {
    /// The time of our search.
    ms: f64,
    /// Whether our search came to its end: then its selection is the least, or there is none.
    ended: bool,
    /// Whether our search, and whether the published heuristic, finds a selection that meets the deadlines.
    found: bool,
    published: bool,
    /// How far our memory is above the published selection's, and above the lower bound, in percent; where there are
    /// both.
    above_paper: Option<f64>,
    gap: Option<f64>,
}

fn select(problem: &mut Problem) -> Result<Selected, String> {
    let overflow = |_| "times do not fit in 64 bits".to_owned();
    let start = Instant::now();
    let ours = best::search(problem, u64::MAX, &mut |_| start.elapsed() < PATIENCE).map_err(overflow)?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let published = paper::heuristic(problem, DEPTH).map_err(overflow)?.map(|(_, judged)| judged.bytes);
    let (ended, at_least) = (ours.is_proven(), ours.at_least);
    let ours = ours.best.map(|(_, judged)| judged.bytes);
    let above = |ours: u64, least: u64| 100.0 * (ours as f64 / least.max(1) as f64 - 1.0);
    Ok(Selected {
        ms,
        ended,
        found: ours.is_some(),
        published: published.is_some(),
        above_paper: ours.zip(published).map(|(ours, published)| above(ours, published)),
        gap: ours.map(|ours| above(ours, at_least)),
    })
}

/// Measures, and prints the results.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let case = fuel_injection();
    let mut surrogate = Vec::new();
    for load in (500..=950).step_by(50) {
        let system = case.system(load).map_err(|_| "the surrogate is no set")?;
        surrogate.push(select(&mut problem(&system, Equations::Sound)?)?);
    }
    let generator = Drawn::Fig18.generator(true, Equations::Sound)?;
    let mut twenty = Vec::new();
    for row in 0..options.systems.min(generator.rows()) {
        let system = generator.system(row).map_err(|why| why.to_string())?;
        let mut problem = generator.problem(row, &system).map_err(|why| why.to_string())?;
        twenty.push(select(&mut problem)?);
    }
    let generator = Drawn::Fig15.generator(true, Equations::Sound)?;
    let rates = (0..ROUNDS).map(|_| rate(&generator)).collect::<Result<Vec<_>, _>>()?;
    let row = |one: &Selected| {
        json!({
            "ms": one.ms,
            "ended": one.ended,
            "found": one.found,
            "published": one.published,
            "above_paper_percent": one.above_paper,
            "gap_percent": one.gap,
        })
    };
    let reported = json!({
        "surrogate": surrogate.iter().map(row).collect::<Vec<_>>(),
        "twenty": twenty.iter().map(row).collect::<Vec<_>>(),
        "fig15_rows": generator.rows(),
        "fig15_rows_per_second": rates,
    });
    println!("{reported}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_never_above_the_published_one() {
        let generator = Drawn::Fig18.generator(false, Equations::Sound).expect("in order");
        let system = generator.system(3).expect("a system");
        let mut problem = generator.problem(3, &system).expect("a problem");
        let found = select(&mut problem).expect("small");
        assert!(found.ended && found.found && found.published && found.ms > 0.0);
        assert!(found.above_paper.is_some_and(|above| above <= 0.0) && found.gap == Some(0.0));
    }
}
