// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Draws random sets, applies every analysis that is sound for them, and simulates them. No run may exceed a bound,
//! and no run may miss a deadline of an accepted set. A run shows a lower bound, so the campaign can refute an
//! analysis but not prove it.

use std::collections::BTreeMap;
use std::time::{Duration as Wall, Instant};

use taut_model::TaskSet;
use taut_sim::{Execution, Gaps, Jitter, Outcome, Placement, RunEnd, Scenario, Simulation, Start};
use taut_time::Duration;

use crate::claims::{self, Claim, Claimed, Protocol};
use crate::served;

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<'a> {
    /// How many sets to draw.
    pub(crate) sets: u64,
    /// The seed of the first set; each next set has the next seed.
    pub(crate) seed: u64,
    /// When to stop, even before all sets are done.
    pub(crate) limit: Option<Wall>,
    /// An analysis to weaken on purpose: it ignores blocking by less urgent tasks.
    pub(crate) canary: Option<&'a str>,
}

/// The results of one analysis over all sets.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) sets: u64,
    pub(crate) accepted: u64,
    pub(crate) runs: u64,
    pub(crate) values: u64,
    /// Bounds that a run reached to the nanosecond.
    pub(crate) attained: u64,
    pub(crate) exceeded: u64,
}

/// How many failures are printed; the rest are only counted.
const PRINTED_MAX: usize = 20;
/// Random runs of a set under one protocol, besides the four fixed ones.
const RANDOM_RUNS: u64 = 4;

/// Runs the campaign and prints the results. Returns whether no bound was exceeded or, with a canary, whether one
/// was.
pub(crate) fn run(settings: &Settings<'_>) -> Result<bool, String> {
    let begin = Instant::now();
    let mut rows: BTreeMap<&'static str, Row> = BTreeMap::new();
    let mut reported = Vec::new();
    let (mut failures, mut events, mut sets) = (0_usize, 0_u64, 0_u64);
    for seed in (0..settings.sets).map(|at| settings.seed.wrapping_add(at)) {
        let caught = settings.canary.is_some() && failures > 0;
        if caught || settings.limit.is_some_and(|limit| begin.elapsed() >= limit) {
            break;
        }
        sets += 1;
        let failed = one(seed, settings.canary, &mut rows, &mut events)
            .map_err(|why| format!("seed {seed}: {why}"))?;
        failures += failed.len();
        reported.extend(failed.into_iter().take(PRINTED_MAX.saturating_sub(reported.len())));
    }
    println!(
        "{:<30} {:>8} {:>9} {:>9} {:>10} {:>9} {:>9}",
        "analysis", "sets", "accepted", "runs", "responses", "attained", "exceeded"
    );
    for (name, row) in &rows {
        println!(
            "{name:<30} {:>8} {:>9} {:>9} {:>10} {:>9} {:>9}",
            row.sets, row.accepted, row.runs, row.values, row.attained, row.exceeded
        );
    }
    for line in &reported {
        println!("{line}");
    }
    println!(
        "{sets} sets from seed {}, {events} events, {:.1} s: runs contradicted an analysis {failures} times",
        settings.seed,
        begin.elapsed().as_secs_f64()
    );
    Ok(match settings.canary {
        None => failures == 0,
        Some(name) => {
            println!(
                "{name}, weakened on purpose, was {}",
                if failures > 0 { "caught" } else { "NOT caught" }
            );
            failures > 0
        }
    })
}

/// Runs the sets of a seed; describes each failure.
fn one(
    seed: u64,
    canary: Option<&str>,
    rows: &mut BTreeMap<&'static str, Row>,
    events: &mut u64,
) -> Result<Vec<String>, String> {
    let mut failed = Vec::new();
    for Claimed { set, protocols } in claims::of_seed(seed, canary)? {
        for protocol in &protocols {
            runs(&set, protocol, seed, rows, events, &mut failed)?;
        }
    }
    served::one(seed, canary, rows, &mut failed)?;
    Ok(failed)
}

/// The scenarios of a set, each hard on different tasks.
fn scenarios(set: &TaskSet, seed: u64) -> Vec<Scenario> {
    let longest = set.tasks().iter().map(|task| task.period).max().unwrap_or(Duration::from_us(1));
    let horizon = longest.checked_mul(3).unwrap_or(longest);
    let worst = Scenario::worst(horizon);
    let placed = |placement| Scenario { placement, ..worst.clone() };
    let mut all = vec![
        worst.clone(),
        placed(Placement::Back),
        placed(Placement::Even),
        Scenario { start: Start::Synchronous, jitter: Jitter::Full, ..worst.clone() },
    ];
    let random = Scenario::random(horizon, seed);
    for at in 0..RANDOM_RUNS {
        let full = at % 2 == 0;
        all.push(Scenario {
            seed: seed.wrapping_mul(31).wrapping_add(at),
            // Jobs as long and as frequent as allowed, or all at random.
            execution: if full { Execution::Full } else { random.execution },
            gaps: if full { Gaps::Least } else { random.gaps },
            ..random.clone()
        });
    }
    all
}

fn runs(
    set: &TaskSet,
    protocol: &Protocol,
    seed: u64,
    rows: &mut BTreeMap<&'static str, Row>,
    events: &mut u64,
    failed: &mut Vec<String>,
) -> Result<(), String> {
    for claim in &protocol.claims {
        let row = rows.entry(claim.name).or_default();
        row.sets += 1;
        row.accepted += u64::from(claim.accepted);
    }
    if !protocol.says_something() {
        return Ok(());
    }
    let mut simulation = Simulation::new(set, &protocol.rules).map_err(|fault| fault.to_string())?;
    let mut longest = vec![Duration::ZERO; set.tasks().len()];
    let scenarios = scenarios(set, seed);
    for (number, scenario) in scenarios.iter().enumerate() {
        let outcome = simulation.run(scenario, &mut ()).map_err(|fault| fault.to_string())?;
        *events += outcome.events;
        if outcome.end != RunEnd::Complete {
            failed.push(format!("seed {seed}: run {number} under {protocol} ended as {:?}", outcome.end));
            continue;
        }
        for (longest, task) in longest.iter_mut().zip(&outcome.tasks) {
            *longest = (*longest).max(task.response_max);
        }
        for claim in &protocol.claims {
            let row = rows.entry(claim.name).or_default();
            row.runs += 1;
            let before = failed.len();
            compare(claim, outcome, &mut |what| {
                failed.push(format!("seed {seed}: {}: run {number} under {protocol}: {what}", claim.name));
            });
            row.exceeded += (failed.len() - before) as u64;
            row.values += claim.bounds.iter().flatten().count() as u64;
        }
    }
    for claim in &protocol.claims {
        let attained =
            claim.bounds.iter().zip(&longest).filter(|(bound, reached)| **bound == Some(**reached));
        rows.entry(claim.name).or_default().attained += attained.count() as u64;
    }
    Ok(())
}

fn compare(claim: &Claim, outcome: &Outcome, report: &mut impl FnMut(String)) {
    if claim.accepted && outcome.missed() {
        report("a deadline was missed, and the set was accepted".into());
    }
    for (at, (task, bound)) in outcome.tasks.iter().zip(&claim.bounds).enumerate() {
        let reached = task.response_max;
        if let Some(bound) = bound.filter(|bound| reached > *bound) {
            report(format!("task {at} took {} ns, and the bound is {} ns", reached.as_ns(), bound.as_ns()));
        }
    }
}
