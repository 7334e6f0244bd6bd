// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The papers' experiments, run anew.
#![forbid(unsafe_code)]
// A tool for people at a terminal: it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod draw;
mod offers;
mod system;

use std::time::Instant;

use clap::Parser;
use taut_plan::select::{Equations, best, exhaustive, paper};

use crate::system::{Scheme, Wish};

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 100)]
    systems: u64,
    #[arg(long, default_value_t = 20)]
    objects: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, default_value_t = 5)]
    depth: usize,
    #[arg(long, default_value_t = 200_000)]
    judgements: u64,
    #[arg(long)]
    exhaustive: bool,
    #[arg(long)]
    printed: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let equations = if arguments.printed { Equations::Printed } else { Equations::Sound };
    let (mut none, mut unproven, mut wrong) = (0, 0, 0);
    let mut gaps = Vec::new();
    let mut times = Vec::new();
    for seed in arguments.seed..arguments.seed + arguments.systems {
        let wish = Wish {
            scheme: [Scheme::Light, Scheme::Medium, Scheme::Heavy][seed as usize % 3],
            load: 450 + seed * 37 % 501,
            objects: Some(arguments.objects),
        };
        let system = system::draw(&wish, seed);
        let mut problem = match offers::problem(&system, equations) {
            Ok(problem) => problem,
            Err(fault) => {
                println!("seed {seed}: {fault}");
                continue;
            }
        };
        let start = Instant::now();
        let before = problem.judged();
        let Ok(answer) = best::search(&mut problem, arguments.judgements, &mut |_| true) else {
            none += 1;
            continue;
        };
        let (took, judged) = (start.elapsed(), problem.judged() - before);
        let start = Instant::now();
        let before = problem.judged();
        let heuristic = paper::heuristic(&mut problem, arguments.depth).unwrap_or(None);
        let (took_paper, judged_paper) = (start.elapsed(), problem.judged() - before);
        let (proven, at_least) = (answer.is_proven(), answer.at_least);
        let Some((_, found)) = answer.best else {
            none += 1;
            continue;
        };
        if arguments.exhaustive {
            let all = exhaustive::search(&mut problem).unwrap_or(None);
            if all.map(|(_, all)| all.bytes) != Some(found.bytes) {
                wrong += 1;
                println!("seed {seed}: not the least")
            }
        }
        let heuristic = heuristic.map_or(u64::MAX, |(_, judged)| judged.bytes);
        if !proven {
            unproven += 1;
            println!(
                "seed {seed} load {}: {} at least {}, paper {heuristic}; {judged} in {took:?}",
                wish.load, found.bytes, at_least
            );
        }
        gaps.push((heuristic as f64 / found.bytes as f64 - 1.0) * 100.0);
        times.push((took.as_secs_f64() * 1e3, judged, took_paper.as_secs_f64() * 1e3, judged_paper));
    }
    gaps.sort_by(f64::total_cmp);
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |p: f64| ((times.len().max(1) - 1) as f64 * p) as usize;
    println!("{} systems, {none} without any, {unproven} not proven, {wrong} wrong", arguments.systems);
    if gaps.is_empty() {
        return;
    }
    println!(
        "paper's gap: 0 in {} %, mean {:.3} %, most {:.1} %, least {:.3} %",
        gaps.iter().filter(|g| **g < 1e-9).count() * 100 / gaps.len(),
        gaps.iter().sum::<f64>() / gaps.len() as f64,
        gaps[gaps.len() - 1],
        gaps[0]
    );
    for p in [0.5, 0.9, 0.95, 1.0] {
        println!("ours p{}: {:?}", p * 100.0, times[at(p)])
    }
    println!("paper mean ms {:.1}", times.iter().map(|t| t.2).sum::<f64>() / times.len() as f64);
}
