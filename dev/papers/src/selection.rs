// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How far the published heuristic is from the least memory, on random systems.

use std::time::Instant;

use clap::Args;
use taut_plan::select::{Equations, best, paper};

use crate::offers;
use crate::system::{self, Scheme};

/// What is asked for.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Wish {
    /// How many systems
    #[arg(long, default_value_t = 100)]
    systems: u64,
    /// Objects of both cores in each
    #[arg(long, default_value_t = 20)]
    objects: usize,
    /// Of the first system; each next one has the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of the published refinement
    #[arg(long, default_value_t = 5)]
    depth: usize,
    /// When ours stops
    #[arg(long, default_value_t = 400_000)]
    judgements: u64,
    /// By the published equations, which prove nothing
    #[arg(long)]
    printed: bool,
}

/// What came of one system.
struct Row {
    /// How much more the heuristic needs, in percent.
    gap: f64,
    proven: bool,
    ours_ms: f64,
    paper_ms: f64,
    judged: u64,
}

pub(crate) fn run(wish: &Wish) -> Result<(), String> {
    let mut rows = Vec::new();
    for seed in wish.seed..wish.seed.saturating_add(wish.systems) {
        rows.extend(row(wish, seed)?);
    }
    let none = wish.systems - rows.len() as u64;
    let unproven = rows.iter().filter(|row| !row.proven).count();
    println!("{} systems; {none} keep their deadlines by no selection; {unproven} not proven", wish.systems);
    if rows.is_empty() {
        return Ok(());
    }
    let share = |from: f64, to: f64| {
        let within = rows.iter().filter(|row| row.gap > from && row.gap <= to).count();
        within as f64 * 100.0 / rows.len() as f64
    };
    let mean = rows.iter().map(|row| row.gap).sum::<f64>() / rows.len() as f64;
    let most = rows.iter().map(|row| row.gap).fold(f64::MIN, f64::max);
    println!(
        "heuristic above ours: 0 in {:.1} %, to 1 % in {:.1}, to 5 in {:.1}, to 10 in {:.1}, more in {:.1}; mean {mean:.2} %, most {most:.1} %",
        share(f64::MIN, 1e-9),
        share(1e-9, 1.0),
        share(1.0, 5.0),
        share(5.0, 10.0),
        share(10.0, f64::MAX)
    );
    rows.sort_by(|a, b| a.ours_ms.total_cmp(&b.ours_ms));
    for percent in [50, 90, 95, 100] {
        let row = &rows[(rows.len() - 1) * percent / 100];
        println!("ours, {percent} %: {:.1} ms, {} judgements", row.ours_ms, row.judged);
    }
    let paper_ms = rows.iter().map(|row| row.paper_ms).sum::<f64>() / rows.len() as f64;
    println!("heuristic, mean: {paper_ms:.1} ms");
    Ok(())
}

/// `None` if no selection keeps all deadlines.
fn row(wish: &Wish, seed: u64) -> Result<Option<Row>, String> {
    let told = |why: &dyn std::fmt::Display| format!("seed {seed}: {why}");
    let schemes = [Scheme::Light, Scheme::Medium, Scheme::Heavy];
    let scheme = schemes[usize::try_from(seed % 3).unwrap_or(0)];
    // 45 to 95 %.
    let system = system::draw(
        &system::Wish { scheme, load: 450 + seed * 37 % 501, objects: Some(wish.objects) },
        seed,
    );
    let equations = if wish.printed { Equations::Printed } else { Equations::Sound };
    let mut problem = offers::problem(&system, equations).map_err(|why| told(&why))?;
    let start = Instant::now();
    let ours = best::search(&mut problem, wish.judgements, &mut |_| true).map_err(|why| told(&why))?;
    let (ours_ms, judged) = (start.elapsed().as_secs_f64() * 1e3, problem.judged());
    let start = Instant::now();
    let published = paper::heuristic(&mut problem, wish.depth).map_err(|why| told(&why))?;
    let paper_ms = start.elapsed().as_secs_f64() * 1e3;
    let proven = ours.is_proven();
    let Some((_, best)) = ours.best else { return Ok(None) };
    let published = published.map_or(f64::INFINITY, |(_, judged)| judged.bytes as f64);
    let gap = (published / best.bytes as f64 - 1.0) * 100.0;
    Ok(Some(Row { gap, proven, ours_ms, paper_ms, judged }))
}
