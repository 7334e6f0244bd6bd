// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Problems as large as the case studies of [Han14].

use std::time::Instant;

use taut_planner::select::{Equations, best, paper};

use crate::recheck;
use crate::system::injection;

/// 46 objects: the search finds and proves the least in fewer judgements than the published heuristic takes at
/// depth 5.
#[test]
fn fuel_injection() {
    for (seed, load, most) in [(0, 300, 8_000), (3, 450, 20_000)] {
        let system = injection(seed, load);
        let mut problem = system.problem(Equations::Sound);
        let ours = best::search(&mut problem, most, &mut |_| true).unwrap();
        assert!(ours.is_proven() && problem.judged() < most, "{} {ours:?}", problem.judged());
        let (selection, judged) = ours.best.unwrap();
        recheck::check(&system, &selection, &judged, 0);
    }
}

/// Many of them, with the time that each takes: `cargo test --release -- --ignored --nocapture fuel_injections`.
#[test]
#[ignore = "some minutes"]
fn fuel_injections() {
    for seed in 0..12 {
        let load = 300 + seed * 50;
        let system = injection(seed, load);
        let mut problem = system.problem(Equations::Sound);
        let start = Instant::now();
        let ours = best::search(&mut problem, 200_000, &mut |_| start.elapsed().as_millis() < 1_000).unwrap();
        let (time, judgements) = (start.elapsed(), problem.judged());
        let start = Instant::now();
        let published = paper::heuristic(&mut problem, best::DEPTH).unwrap();
        let bytes =
            |found: &Option<(Vec<usize>, taut_planner::select::Judged)>| found.as_ref().map(|(_, j)| j.bytes);
        println!(
            "load {load}: ours {:?}, at least {} in {time:?} and {judgements} judgements; published {:?} in {:?} and {}",
            bytes(&ours.best),
            ours.at_least,
            bytes(&published),
            start.elapsed(),
            problem.judged() - judgements,
        );
        let least = |found| bytes(found).unwrap_or(u64::MAX);
        assert!(least(&ours.best) <= least(&published));
    }
}
