// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Judges a selection by itself: a set made anew, other analyses if there are some, buffers counted instant by
//! instant, and runs.

use taut_analysis::multi::{Bounds, Guard, GuardedSet, mixed, mpcp_lnr09_sound, msrp_holistic};
use taut_analysis::{Overflow, Verdict};
use taut_model::TaskSet;
use taut_planner::select::{BufferCount, Buffers, Judged, Offer, OfferMemory};
use taut_sim::{GlobalRule, Rules, RunEnd, Scenario, Simulation};

use crate::system::{System, ns};

/// The offer that an object takes.
fn taken<'s>(system: &'s System, selection: &[usize], at: usize) -> &'s Offer {
    &system.objects[at].offers[selection[at]]
}

/// The set of a selection, with requests for guarded objects only, and its guards.
pub(crate) fn guarded(system: &System, selection: &[usize]) -> (TaskSet, GuardedSet) {
    let taken = |at: usize| taken(system, selection, at);
    let mut added = vec![0; system.rows.len()];
    for (task, time) in (0..selection.len()).flat_map(|at| &taken(at).added) {
        added[*task] += time.as_ns();
    }
    let kept = |at: usize| taken(at).guard != Guard::Absent;
    let set = system.set(|at| taken(at).held.as_ns(), kept, &added);
    let mut guarded = GuardedSet::new(&set).unwrap().unwrap();
    (0..selection.len()).filter(|&at| kept(at)).for_each(|at| guarded.guard(at, taken(at).guard));
    (set, guarded)
}

/// The response times of a selection, by a set with requests for guarded objects only; none if it does not keep all
/// deadlines.
pub(crate) fn responses(system: &System, selection: &[usize]) -> Option<Vec<u64>> {
    let taken = |at: usize| taken(system, selection, at);
    let kept = |at: usize| taken(at).guard != Guard::Absent;
    let (set, guarded) = guarded(system, selection);
    let verdict = mixed::response_times(&guarded);
    let held = |verdict: &Result<Verdict<Bounds>, Overflow>| match verdict {
        Ok(Verdict::Schedulable(bounds)) => {
            Some(bounds.tasks.iter().map(|task| task.from_arrival.as_ns()).collect::<Vec<u64>>())
        }
        _ => None,
    };
    let responses = held(&verdict);
    let all = |guard: Guard| (0..selection.len()).all(|at| !kept(at) || taken(at).guard == guard);
    if all(Guard::Spinning) {
        assert_eq!(responses, held(&msrp_holistic::response_times(&set)));
    }
    if all(Guard::Suspending) {
        assert_eq!(responses, held(&mpcp_lnr09_sound::response_times(&set)));
    }
    responses
}

/// What this selection is charged once.
pub(crate) fn charged(system: &System, selection: &[usize]) -> u64 {
    let guarded = |at: &usize| system.objects[*at].offers[selection[*at]].guard != Guard::Absent;
    let paid = system.charges.iter().filter(|(_, objects)| objects.iter().any(guarded));
    paid.map(|(bytes, _)| bytes).sum()
}

/// Bytes of an offer, counted anew.
pub(crate) fn bytes(system: &System, offer: &Offer, responses: &[u64]) -> u64 {
    match &offer.memory {
        OfferMemory::Fixed(bytes) => *bytes,
        OfferMemory::Timed(buffers) => buffers.fixed + buffers.each * count(system, buffers, responses),
        OfferMemory::Asked(_) => unreachable!("not drawn"),
    }
}

/// Arrivals of a task, from any phase, strictly between two instants that are `length` apart.
fn arrivals(period: u64, length: u64) -> u64 {
    // In half nanoseconds: an arrival between two nanoseconds counts as well.
    let (period, length) = (2 * period, 2 * length);
    // For a long period, only from the phase right after the first instant, which is as good as any.
    let phases = if period < 2_000 { 0..period } else { 1..2 };
    phases
        .map(|phase| {
            (0..=length / period).filter(|k| (1..length).contains(&(phase + k * period))).count() as u64
        })
        .max()
        .unwrap_or(0)
}

fn count(system: &System, buffers: &Buffers, responses: &[u64]) -> u64 {
    let writer = (system.rows[buffers.writer].period, responses[buffers.writer]);
    // A write during which a value is used began after R_w before the use, and before the end of the use.
    let by_time = |readers: &[usize]| {
        readers.iter().map(|&reader| 1 + arrivals(writer.0, responses[reader] + writer.1)).max()
    };
    if buffers.count == BufferCount::Lifetime {
        return by_time(&buffers.readers).unwrap_or(1);
    }
    // Deadlines are periods or less, so there is one job at a time. Any of the readers may be counted by time.
    let readers = &buffers.readers;
    let mixed = (0..1usize << readers.len()).map(|fast| {
        let of = |bit: usize| -> Vec<usize> {
            (0..readers.len()).filter(|at| fast >> at & 1 == bit).map(|at| readers[at]).collect()
        };
        of(0).len() as u64 + by_time(&of(1)).unwrap_or(0).max(2)
    });
    mixed.chain(by_time(readers)).min().unwrap()
}

/// All measures of a selection hold, and so do they in `runs` runs.
pub(crate) fn check(system: &System, selection: &[usize], judged: &Judged, runs: u64) {
    let responses = responses(system, selection).expect("keeps its deadlines");
    assert_eq!(responses, judged.responses.iter().map(|response| response.as_ns()).collect::<Vec<_>>());
    let all = (0..selection.len()).map(|at| bytes(system, taken(system, selection, at), &responses));
    assert_eq!(all.sum::<u64>() + charged(system, selection), judged.bytes);
    let parts = || responses.iter().zip(&system.rows).map(|(r, row)| (r * 1_000_000).div_ceil(row.deadline));
    assert_eq!(parts().sum::<u64>(), judged.response_ppm);
    assert_eq!(parts().max(), Some(judged.tightest_ppm));
    run(system, selection, &responses, runs);
}

fn run(system: &System, selection: &[usize], responses: &[u64], runs: u64) {
    let taken = |at: usize| taken(system, selection, at);
    let mut added = vec![0; system.rows.len()];
    for (task, time) in (0..selection.len()).flat_map(|at| &taken(at).added) {
        added[*task] += time.as_ns();
    }
    let set = system.set(|at| taken(at).held.as_ns(), |at| taken(at).guard != Guard::Absent, &added);
    let mut rules = Rules::of(&set, GlobalRule::Msrp);
    for (at, rule) in rules.resources.iter_mut().enumerate() {
        if taken(at).guard == Guard::Suspending {
            *rule = GlobalRule::Mpcp;
        }
    }
    let mut simulation = Simulation::new(&set, &rules).unwrap();
    let horizon = ns(system.rows.iter().map(|row| row.period).max().unwrap() * 4);
    for seed in 0..runs {
        let scenario = if seed == 0 { Scenario::worst(horizon) } else { Scenario::random(horizon, seed) };
        let outcome = simulation.run(&scenario, &mut ()).unwrap();
        assert_eq!(outcome.end, RunEnd::Complete);
        for (task, bound) in outcome.tasks.iter().zip(responses) {
            assert!(task.response_max.as_ns() <= *bound);
        }
    }
}
