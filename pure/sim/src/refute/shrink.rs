// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reduces a run to what matters to its excess.

use taut_model::{ArrivalPattern, TaskSet};
use taut_time::{Duration, Instant};

use super::{Witness, is_legal};
use crate::{Event, Execution, Kind, Scenario, Simulation};

/// The most runs for one witness.
const RUNS_MAX: u64 = 4000;
/// The most events that they may take from their calendars.
const EVENTS_MAX: u64 = 1 << 23;

struct Shrink<'a> {
    set: &'a TaskSet,
    simulation: &'a mut Simulation,
    task: usize,
    claimed: Duration,
    runs: u64,
    events: u64,
}

/// A job of the task: its number, its response, its completion.
type Worst = (u64, Duration, Instant);

/// Leaves out what does not matter. None if the set does not allow the run, or it exceeds no claim. Returns the
/// witness, and the runs and events that this took.
pub(super) fn shrink(
    set: &TaskSet,
    simulation: &mut Simulation,
    found: &Scenario,
    task: usize,
    claimed: Duration,
) -> Option<(Witness, u64, u64)> {
    let mut shrink = Shrink { set, simulation, task, claimed, runs: 0, events: 0 };
    let mut best = found.clone();
    let mut worst = shrink.exceeds(&best)?;
    // 1. Nothing after the worst job's completion, and full execution.
    let mut less = best.clone();
    less.horizon = Duration::from_ns(worst.2.as_ns() + 1);
    for (_, times) in &mut less.exactly {
        times.retain(|time| *time < less.horizon);
    }
    shrink.keep(&mut best, &mut worst, less);
    let less = Scenario { execution: Execution::Full, ..best.clone() };
    shrink.keep(&mut best, &mut worst, less);
    // 2. Without a task, its delays, its places.
    for at in 0..best.exactly.len() {
        let mut less = best.clone();
        less.exactly[at].1.clear();
        if !matches!(set.tasks()[at].arrivals, ArrivalPattern::Phased(_)) {
            shrink.keep(&mut best, &mut worst, less);
        }
        let mut less = best.clone();
        less.delays[at].1.clear();
        shrink.keep(&mut best, &mut worst, less);
        let mut less = best.clone();
        less.placed[at].1.iter_mut().for_each(|place| place.before = Duration::ZERO);
        less.placed[at].1.sort_by_key(|place| place.resource);
        shrink.keep(&mut best, &mut worst, less);
    }
    // 3. Without some arrivals of sporadic tasks: ever smaller parts of the list.
    for at in 0..best.exactly.len() {
        if !set.tasks()[at].arrivals.is_sporadic() {
            continue;
        }
        let mut part = best.exactly[at].1.len().div_ceil(2);
        while part > 0 {
            let mut from = 0;
            while from < best.exactly[at].1.len() {
                let mut less = best.clone();
                let times = &mut less.exactly[at].1;
                let to = (from + part).min(times.len());
                times.drain(from..to);
                let delays = &mut less.delays[at].1;
                delays.drain(from.min(delays.len())..to.min(delays.len()));
                if !shrink.keep(&mut best, &mut worst, less) {
                    from += part;
                }
            }
            part /= 2;
        }
    }
    // 4. Shifted to begin at 0, if no task has a fixed offset.
    let first = best.exactly.iter().filter_map(|(_, times)| times.first()).min().copied();
    let phased = set.tasks().iter().any(|task| matches!(task.arrivals, ArrivalPattern::Phased(_)));
    if let Some(first) = first.filter(|_| !phased) {
        let mut less = best.clone();
        less.exactly
            .iter_mut()
            .flat_map(|(_, times)| times)
            .for_each(|time| *time = time.saturating_sub(first));
        less.horizon = less.horizon.saturating_sub(first);
        shrink.keep(&mut best, &mut worst, less);
    }
    let witness = Witness { task, job: worst.0, claimed, reached: worst.1, scenario: best };
    Some((witness, shrink.runs, shrink.events))
}

impl Shrink<'_> {
    /// Keeps a smaller scenario if it also exceeds the claim, even if by less.
    fn keep(&mut self, best: &mut Scenario, worst: &mut Worst, less: Scenario) -> bool {
        if self.runs >= RUNS_MAX || self.events >= EVENTS_MAX || less == *best {
            return false;
        }
        let found = self.exceeds(&less);
        if let Some(found) = found {
            (*best, *worst) = (less, found);
        }
        found.is_some()
    }

    fn exceeds(&mut self, scenario: &Scenario) -> Option<Worst> {
        let (task, mut worst) = (self.task, None::<Worst>);
        let mut sink = |event: Event| {
            if let Kind::Complete { response } = event.kind
                && event.task == task
                && worst.is_none_or(|(_, longest, _)| response > longest)
            {
                worst = Some((event.job, response, event.at));
            }
        };
        self.runs += 1;
        self.events += self.simulation.run(scenario, &mut sink).ok()?.events;
        let worst = worst.filter(|(_, response, _)| *response > self.claimed)?;
        (is_legal(self.set, scenario) && self.goes_on(scenario, worst.2)).then_some(worst)
    }

    /// Whether periodic tasks that have begun continue until `end`.
    fn goes_on(&self, scenario: &Scenario, end: Instant) -> bool {
        scenario.exactly.iter().all(|(at, times)| {
            let task = &self.set.tasks()[*at];
            let next = match (task.arrivals, times.last()) {
                (ArrivalPattern::Sporadic | ArrivalPattern::Driven, _) | (ArrivalPattern::Periodic, None) => {
                    return true;
                }
                (ArrivalPattern::Phased(offset), None) => offset.as_ns(),
                (_, Some(last)) => last.as_ns().saturating_add(task.period.as_ns()),
            };
            next >= end.as_ns()
        })
    }
}
