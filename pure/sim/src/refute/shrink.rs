// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reduces a run to what matters to its excess.

use taut_model::{ArrivalPattern, SetTask, TaskSet};
use taut_time::{Duration, Instant};

use super::{Witness, is_legal};
use crate::{Execution, Scenario, SimEvent, SimEventKind, Simulation};

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
    /// The smallest scenario so far that exceeds the claim.
    best: Scenario,
    /// Its worst job.
    worst: Worst,
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
    let (best, worst) = (found.clone(), (0, Duration::ZERO, Instant::from_ns(0)));
    let mut shrink = Shrink { set, simulation, task, claimed, runs: 0, events: 0, best, worst };
    shrink.worst = shrink.exceeds(found)?;
    shrink.end_early();
    for at in 0..shrink.best.exactly.len() {
        shrink.without_a_task(at);
    }
    for at in 0..shrink.best.exactly.len() {
        if set.tasks()[at].arrivals.is_sporadic() {
            shrink.without_arrivals(at);
        }
    }
    shrink.begin_at_zero();
    let Shrink { worst, best, runs, events, .. } = shrink;
    let witness = Witness { task, job: worst.0, claimed, reached: worst.1, scenario: best };
    Some((witness, runs, events))
}

impl Shrink<'_> {
    /// 1. Nothing after the worst job's completion, and full execution.
    fn end_early(&mut self) {
        let mut less = self.best.clone();
        less.horizon = Duration::from_ns(self.worst.2.as_ns() + 1);
        for (_, times) in &mut less.exactly {
            times.retain(|time| *time < less.horizon);
        }
        self.keep(less);
        self.keep(Scenario { execution: Execution::Full, ..self.best.clone() });
    }

    /// 2. Without a task, its delays, its places.
    fn without_a_task(&mut self, at: usize) {
        let mut less = self.best.clone();
        less.exactly[at].1.clear();
        if !matches!(self.set.tasks()[at].arrivals, ArrivalPattern::Phased(_)) {
            self.keep(less);
        }
        let mut less = self.best.clone();
        less.delays[at].1.clear();
        self.keep(less);
        let mut less = self.best.clone();
        less.placed[at].1.iter_mut().for_each(|place| place.before = Duration::ZERO);
        less.placed[at].1.sort_by_key(|place| place.resource);
        self.keep(less);
    }

    /// 3. Without some arrivals of a sporadic task: ever smaller parts of the list.
    fn without_arrivals(&mut self, at: usize) {
        let mut part = self.best.exactly[at].1.len().div_ceil(2);
        while part > 0 {
            let mut from = 0;
            while from < self.best.exactly[at].1.len() {
                let mut less = self.best.clone();
                let times = &mut less.exactly[at].1;
                let to = (from + part).min(times.len());
                times.drain(from..to);
                let delays = &mut less.delays[at].1;
                delays.drain(from.min(delays.len())..to.min(delays.len()));
                if !self.keep(less) {
                    from += part;
                }
            }
            part /= 2;
        }
    }

    /// 4. Shifted to begin at 0, if no task has a fixed offset.
    fn begin_at_zero(&mut self) {
        let first = self.best.exactly.iter().filter_map(|(_, times)| times.first()).min().copied();
        let phased = |task: &SetTask| matches!(task.arrivals, ArrivalPattern::Phased(_));
        let Some(first) = first.filter(|_| !self.set.tasks().iter().any(phased)) else { return };
        let mut less = self.best.clone();
        less.exactly
            .iter_mut()
            .flat_map(|(_, times)| times)
            .for_each(|time| *time = time.saturating_sub(first));
        less.horizon = less.horizon.saturating_sub(first);
        self.keep(less);
    }

    /// Keeps a smaller scenario if it also exceeds the claim, even if by less.
    fn keep(&mut self, less: Scenario) -> bool {
        if self.runs >= RUNS_MAX || self.events >= EVENTS_MAX || less == self.best {
            return false;
        }
        let found = self.exceeds(&less);
        if let Some(found) = found {
            (self.best, self.worst) = (less, found);
        }
        found.is_some()
    }

    fn exceeds(&mut self, scenario: &Scenario) -> Option<Worst> {
        let (task, mut worst) = (self.task, None::<Worst>);
        let mut sink = |event: SimEvent| {
            if let SimEventKind::Complete { response } = event.kind
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
