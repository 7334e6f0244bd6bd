// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How good selections are and how long they take, as JSON: what `cargo xtask bars choose` holds against its bars.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use taut_plan::select::{Equations, Problem, best, paper};

use crate::han14::generators::{Drawn, problem};
use crate::han14::speed::rate;
use crate::surrogate::fuel_injection;

/// Of the published refinement.
const DEPTH: usize = 5;
/// When a search is given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often rows of Figure 15 are timed.
const ROUNDS: u32 = 5;

/// What is asked for.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Wish {
    /// How many random systems of 20 objects
    #[arg(long, default_value_t = 200)]
    systems: u64,
}

/// What came of one selection.
struct Selected {
    /// Ours.
    ms: f64,
    /// Ours above the published one, and above what no selection is below, in percent.
    above_paper: f64,
    gap: f64,
}

/// `None` if no selection keeps the deadlines.
fn select(problem: &mut Problem) -> Result<Option<Selected>, String> {
    let overflow = |_| "times do not fit in 64 bits".to_owned();
    let start = Instant::now();
    let ours = best::search(problem, u64::MAX, &mut |_| start.elapsed() < PATIENCE).map_err(overflow)?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    let published = paper::heuristic(problem, DEPTH).map_err(overflow)?;
    let (at_least, Some((_, ours))) = (ours.at_least, ours.best) else { return Ok(None) };
    let above = |least: u64| 100.0 * (ours.bytes as f64 / least.max(1) as f64 - 1.0);
    // The published one finds nothing where ours does: ours is not above it.
    let above_paper = published.map_or(-100.0, |(_, judged)| above(judged.bytes));
    Ok(Some(Selected { ms, above_paper, gap: above(at_least) }))
}

/// Measures, and prints.
pub(crate) fn run(wish: &Wish) -> Result<(), String> {
    let case = fuel_injection();
    let mut surrogate = Vec::new();
    for load in (500..=950).step_by(50) {
        let system = case.system(load).map_err(|_| "the surrogate is no set")?;
        surrogate.extend(select(&mut problem(&system, Equations::Sound)?)?);
    }
    let generator = Drawn::Fig18.generator(true, Equations::Sound)?;
    let mut twenty = Vec::new();
    for row in 0..wish.systems.min(generator.rows()) {
        let system = generator.system(row).map_err(|why| why.to_string())?;
        let mut problem = generator.problem(row, &system).map_err(|why| why.to_string())?;
        twenty.extend(select(&mut problem)?);
    }
    let generator = Drawn::Fig15.generator(true, Equations::Sound)?;
    let rates = (0..ROUNDS).map(|_| rate(&generator)).collect::<Result<Vec<_>, _>>()?;
    let of = |all: &[Selected], of: fn(&Selected) -> f64| all.iter().map(of).collect::<Vec<_>>();
    let told = json!({
        "surrogate_ms": of(&surrogate, |selected| selected.ms),
        "surrogate_above_depth5_percent": of(&surrogate, |selected| selected.above_paper),
        "twenty_ms": of(&twenty, |selected| selected.ms),
        "above_paper_percent": of(&twenty, |selected| selected.above_paper),
        "gap_percent": of(&twenty, |selected| selected.gap),
        "fig15_rows": generator.rows(),
        "fig15_rows_per_second": rates,
    });
    println!("{told}");
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
        let found = select(&mut problem).expect("small").expect("some selection keeps the deadlines");
        assert!(found.above_paper <= 0.0 && found.gap >= 0.0 && found.ms > 0.0);
    }
}
