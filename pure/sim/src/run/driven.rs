// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A driven run. A driver says when releases and the actions of jobs happen, and when a core receives what another
//! core has done. All decisions that follow (which job runs, and which job is granted what) come from the same code as
//! in any run.
//!
//! Each job has three steps: it executes, does what the driver says, and executes again, for as long as it takes.

use std::collections::VecDeque;

use taut_model::TaskSet;
use taut_policy::Attribute;
use taut_time::{Duration, Instant};

use super::{Arrived, Fixed, Guard, Halt, Moment, RESERVER, Simulation, State};
use crate::calendar::NEVER;
use crate::event::Watched;
use crate::program::{Op, What};
use crate::{Rules, RulesFault, RunEnd, Scenario, Sink, Start};

/// The action of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Request(usize),
    /// Looks whether the task's queued request was granted: the task has the resource by now, or waits.
    CheckGrant(usize),
    /// Requests a reserved global resource, and ends the reservation: the next waiter may have it.
    RequestAndRelease(usize),
    Unlock(usize),
    /// Unlocks a global resource and reserves it: no task may have it before [`Simulation::releases_reservation`] or
    /// [`Act::RequestAndRelease`].
    UnlockAndReserve(usize),
    Complete,
}

/// The jobs on a core: task and job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoreStatus {
    pub(crate) runs: Option<(usize, u64)>,
    /// Ready jobs, in the order of the set.
    pub(crate) ready: Vec<(usize, u64)>,
    /// Suspended jobs, each with its resource.
    pub(crate) waits: Vec<(usize, u64, usize)>,
}

/// Longer than any run.
const AGES: u64 = 1 << 62;
/// All instants of a run are before this one.
pub(crate) const END_OF_TIME: u64 = 1 << 62;

/// A number as an attribute of the same kind.
fn like(was: Attribute, to: u64) -> Option<Attribute> {
    Some(match was {
        Attribute::Priority(_) => Attribute::Priority(u32::try_from(to).ok()?),
        Attribute::Deadline(_) => Attribute::Deadline(Duration::from_ns(to)),
    })
}

impl Simulation {
    /// Sets up a driven run.
    ///
    /// # Errors
    /// The reason why set and rules do not fit together.
    pub(crate) fn driven(set: &TaskSet, rules: &Rules) -> Result<Self, RulesFault> {
        let mut simulation = Self::new(set, rules)?;
        let tasks = simulation.fixed.len();
        let run = Op { what: What::Run, resource: 0, time: AGES };
        simulation.ops = vec![run; tasks * STEPS];
        simulation.open = vec![None; tasks];
        for (at, fixed) in simulation.fixed.iter_mut().enumerate() {
            fixed.begin = u32::try_from(at * STEPS).map_err(|_| RulesFault::TooMany)?;
        }
        simulation.reset(&nothing(), 0);
        let State { sources, on_the_way, beyond, .. } = &mut simulation.state;
        sources.iter_mut().for_each(|source| source.set_next(NEVER));
        *on_the_way = vec![None; tasks];
        *beyond = vec![VecDeque::new(); tasks];
        Ok(simulation)
    }

    /// Sets the arrival of a task's next job that is not delivered yet.
    pub(crate) fn comes_next(&mut self, task: usize, arrival: Option<u64>) {
        self.state.sources[task].set_next(arrival.unwrap_or(NEVER));
    }

    /// Delivers a job to its core.
    ///
    /// # Errors
    /// The refusal of the rule.
    pub(crate) fn release_delivered(
        &mut self,
        now: u64,
        task: usize,
        (job, arrival): (u64, u64),
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let arrived = Arrived { arrival, release: now, job };
        self.at(now, sink, |run, moment| run.arrive(task, arrived, false, moment))
    }

    /// Whether a job executes, so that it can act.
    pub(crate) fn executes(&self, task: usize, job: u64) -> bool {
        let core = self.fixed[task].core as usize;
        let live = &self.state.live[task];
        self.state.current[core] == task as u32
            && live.now.job == job
            && !live.waits
            && self.state.boundary[core] != NEVER
    }

    /// The job that executes on its core acts.
    ///
    /// # Errors
    /// The refusal of the rule, and [`RunEnd::Broken`].
    pub(crate) fn act(&mut self, now: u64, task: usize, act: Act, sink: &mut impl Sink) -> Result<(), Halt> {
        let begin = self.fixed[task].begin;
        let guard = |resource: usize| self.guards.get(resource).copied().ok_or(RunEnd::Misuse { task });
        let (what, resource) = match act {
            Act::Request(resource) | Act::RequestAndRelease(resource) | Act::CheckGrant(resource) => {
                (What::Lock(guard(resource)?), resource)
            }
            Act::Unlock(resource) | Act::UnlockAndReserve(resource) => {
                (What::Unlock(guard(resource)?), resource)
            }
            Act::Complete => (What::End, 0),
        };
        self.ops[begin as usize + 1] = Op { what, resource: resource as u32, time: 0 };
        self.state.live[task].at = begin;
        self.state.is_queued = matches!(act, Act::CheckGrant(_));
        self.state.reserves = match act {
            Act::UnlockAndReserve(resource) | Act::RequestAndRelease(resource) => Some(resource),
            _ => None,
        };
        let done = self.at(now, sink, |run, moment| {
            let core = run.fixed[task].core as usize;
            run.ended(core, moment)?;
            match what {
                What::Lock(guard) => {
                    run.lift(core, task)?;
                    run.lock(core, task, guard, resource, moment)
                }
                _ => Ok(()),
            }
        });
        (self.state.reserves, self.state.is_queued) = (None, false);
        done
    }

    /// Changes a task's level from its next job on: to a priority, or a relative deadline in ns.
    ///
    /// # Errors
    /// The rule refuses this if the task has a job.
    pub(crate) fn set_level(&mut self, task: usize, to: u64) -> Result<(), Halt> {
        let Fixed { core, local, .. } = self.fixed[task];
        let refused = |_| RunEnd::Misuse { task };
        let rule = self.state.cores[core as usize].local_mut();
        let was = rule.level(local as usize).map_err(refused)?;
        let to = like(was, to).ok_or(RunEnd::Misuse { task })?;
        rule.set_level(local as usize, to).map_err(refused)?;
        match to {
            Attribute::Priority(priority) => self.fixed[task].priority = priority,
            Attribute::Deadline(deadline) => self.fixed[task].deadline = deadline.as_ns(),
        }
        Ok(())
    }

    /// Changes the ceiling or floor of a resource that a task uses, from the next lock on.
    ///
    /// # Errors
    /// The rule refuses this if the resource is held.
    pub(crate) fn set_ceiling(&mut self, task: usize, resource: usize, to: u64) -> Result<(), Halt> {
        let refused = |_| RunEnd::Misuse { task };
        let rule = self.state.cores[self.fixed[task].core as usize].local_mut();
        let was = rule.ceiling(resource).map_err(refused)?;
        let to = like(was, to).ok_or(RunEnd::Misuse { task })?;
        rule.set_ceiling(resource, to).map_err(refused)
    }

    /// Reserves a free global resource: no task may have it before [`Simulation::releases_reservation`] or
    /// [`Act::RequestAndRelease`].
    pub(crate) fn keep(&mut self, resource: usize) {
        // It is free, so this is granted.
        let _ = self.state.globals[resource].request(Instant::from_ns(0), RESERVER, 0);
    }

    /// Ends the reservation of a resource: the next waiter may have it.
    ///
    /// # Errors
    /// The refusal of the rule.
    pub(crate) fn releases_reservation(
        &mut self,
        now: u64,
        resource: usize,
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let guard = self.guards.get(resource).copied().ok_or(RunEnd::Misuse { task: 0 })?;
        self.at(now, sink, |run, moment| run.release_reservation((0, RESERVER), resource, guard, moment))
    }

    /// Queues a task's request for a global resource that another task holds. Its core checks for the grant with
    /// [`Act::CheckGrant`].
    pub(crate) fn queue_request(&mut self, now: u64, task: usize, resource: usize) {
        let (party, priority) = (self.party(task), self.fixed[task].priority);
        // If the rule refuses, the task waits for ever when it checks, and no such wait was recorded.
        let _ = self.state.globals[resource].request(Instant::from_ns(now), party, priority);
    }

    /// The task that was granted a global resource and whose core has not received the grant.
    pub(crate) fn on_the_way(&self, resource: usize) -> Option<usize> {
        self.state.on_the_way.iter().position(|place| place.is_some_and(|(_, of, _)| of == resource))
    }

    /// Delivers to a core the grant that one of its jobs waits for. Returns whether there was such a grant.
    ///
    /// # Errors
    /// The refusal of the rule.
    pub(crate) fn deliver(
        &mut self,
        now: u64,
        (task, job): (usize, u64),
        resource: usize,
        sink: &mut impl Sink,
    ) -> Result<bool, Halt> {
        let place = &mut self.state.on_the_way[task];
        let same = self.state.live[task].now.job == job;
        let Some((grant, _, guard)) = place.take_if(|(_, of, _)| *of == resource && same) else {
            return Ok(false);
        };
        self.at(now, sink, |run, moment| run.give(grant, resource, guard, moment))?;
        Ok(true)
    }

    /// Decides which task runs on a core from now on.
    ///
    /// # Errors
    /// The refusal of the rule.
    pub(crate) fn decide(&mut self, now: u64, core: usize, sink: &mut impl Sink) -> Result<(), Halt> {
        self.at(now, sink, |run, moment| run.settle(core, moment))
    }

    /// The jobs on a core, according to the last decision.
    pub(crate) fn status(&self, core: usize) -> CoreStatus {
        let mut status = CoreStatus::default();
        for &task in &self.members[core] {
            let live = &self.state.live[task as usize];
            if !live.active {
                continue;
            }
            let (who, job) = (task as usize, live.now.job);
            let op = self.op(who);
            match op.what {
                _ if self.state.current[core] == task => status.runs = Some((who, job)),
                What::Lock(_) => status.waits.push((who, job, op.resource as usize)),
                _ => status.ready.push((who, job)),
            }
        }
        status
    }

    pub(super) fn at<S: Sink, T>(
        &mut self,
        now: u64,
        sink: &mut S,
        act: impl FnOnce(&mut Self, &mut Moment<'_, Watched<'_, S>>) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let scenario = nothing();
        let result = act(self, &mut Moment { now, scenario: &scenario, sink: &mut Watched(sink) });
        // The driver knows which core has to decide.
        self.state.touched.fill(0);
        result
    }

    /// The guard of a resource.
    pub(crate) fn guard(&self, resource: usize) -> Option<Guard> {
        self.guards.get(resource).copied()
    }
}

/// The number of steps of a job.
const STEPS: usize = 3;

/// A scenario in which nothing arrives by itself.
fn nothing() -> Scenario {
    Scenario { start: Start::Synchronous, ..Scenario::worst(Duration::ZERO) }
}
