// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The record of a run.

use super::{FlowFault, JOBS_MAX, Task};
use crate::calendar::NEVER;
use crate::{Scenario, SimEvent, SimEventKind, Sink};

/// A released job. An instant that did not come is [`NEVER`]. From job to job each instant only grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Its number within its task, dropped jobs included.
    pub(super) number: u64,
    pub(super) arrival: u64,
    pub(super) release: u64,
    pub(super) start: u64,
    pub(super) complete: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Record {
    tasks: Vec<Jobs>,
}

#[derive(Clone, Debug, Default)]
struct Jobs {
    jobs: Vec<Job>,
    started: usize,
    completed: usize,
}

impl Record {
    pub(super) fn new(tasks: usize) -> Self {
        Self { tasks: vec![Jobs::default(); tasks] }
    }

    pub(super) fn jobs(&self, task: usize) -> &[Job] {
        &self.tasks[task].jobs
    }

    /// Clears the last run, and reserves memory for all jobs that may come.
    pub(super) fn reset(&mut self, tasks: &[Task], scenario: &Scenario) -> Result<(), FlowFault> {
        // Every release is a step, and after the last step all releases of that instant still come.
        let steps = scenario.steps_max.saturating_add(tasks.len() as u64);
        let most = |at: usize, task: &Task| {
            let list = scenario.exactly.iter().find(|(task, _)| *task == at);
            let count = match list {
                Some((_, times)) => times.len() as u64,
                None => scenario.horizon.as_ns().div_ceil(task.period.as_ns()),
            };
            count.min(steps)
        };
        let total = tasks.iter().enumerate().map(|(at, task)| most(at, task)).fold(0, u64::saturating_add);
        if total > JOBS_MAX {
            return Err(FlowFault::TooManyJobs);
        }
        for (at, (own, task)) in self.tasks.iter_mut().zip(tasks).enumerate() {
            own.jobs.clear();
            own.jobs.reserve(most(at, task) as usize);
            (own.started, own.completed) = (0, 0);
        }
        Ok(())
    }

    fn note(&mut self, event: SimEvent) {
        let own = &mut self.tasks[event.task];
        let now = event.at.as_ns();
        match event.kind {
            SimEventKind::Release { arrival } => {
                debug_assert!(own.jobs.len() < own.jobs.capacity(), "memory was taken for all");
                own.jobs.push(Job {
                    number: event.job,
                    arrival: arrival.as_ns(),
                    release: now,
                    start: NEVER,
                    complete: NEVER,
                });
            }
            // Jobs of a task start and complete in order.
            SimEventKind::Start => {
                own.jobs[own.started].start = now;
                own.started += 1;
            }
            SimEventKind::Complete { .. } => {
                own.jobs[own.completed].complete = now;
                own.completed += 1;
            }
            _ => {}
        }
    }
}

/// The record, and the caller's sink.
pub(super) struct Both<'a, S> {
    pub(super) record: &'a mut Record,
    pub(super) sink: &'a mut S,
}

impl<S: Sink> Sink for Both<'_, S> {
    fn event(&mut self, event: SimEvent) {
        self.record.note(event);
        self.sink.event(event);
    }
}

/// Counts the jobs of a task for which a given instant has passed; the queries come in the order of time.
pub(super) struct Passed<'a, F> {
    jobs: &'a [Job],
    instant: F,
    count: usize,
}

impl<'a, F: Fn(&Job) -> u64> Passed<'a, F> {
    pub(super) fn new(jobs: &'a [Job], instant: F) -> Self {
        Self { jobs, instant, count: 0 }
    }

    /// The count at `now`, including what happens at `now`.
    pub(super) fn by(&mut self, now: u64) -> usize {
        while self.jobs.get(self.count).is_some_and(|job| (self.instant)(job) <= now) {
            self.count += 1;
        }
        self.count
    }
}
