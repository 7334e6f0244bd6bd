// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A run in which something else says when things happen: releases, what jobs do, and when a core learns what another has
//! done. Everything that follows, who is chosen and who is granted what, is decided by the same code as in any run.
//!
//! Of each job there are three steps: it executes, does what it is told to do, and executes again, for as long as it
//! takes.

use std::collections::VecDeque;

use taut_model::TaskSet;
use taut_policy::Attribute;
use taut_time::{Duration, Instant};

use super::{Arrived, Fixed, Guard, Halt, KEEPER, Moment, Simulation, State};
use crate::calendar::NEVER;
use crate::event::Watched;
use crate::program::{Op, What};
use crate::{End, Fault, Rules, Scenario, Sink, Start};

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Request(usize),
    /// For what it was lined up for: it has it by now, or waits.
    Look(usize),
    /// For a global resource that was kept: now whoever is next may have it.
    RequestAndLetGo(usize),
    Unlock(usize),
    /// Of a global resource: nobody may have it before [`Simulation::lets_go`], or [`Act::RequestAndLetGo`].
    UnlockAndKeep(usize),
    Complete,
}

/// Who is on a core: task and job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) runs: Option<(usize, u64)>,
    /// May run, in the order of the set.
    pub(crate) ready: Vec<(usize, u64)>,
    /// Suspended, and for what.
    pub(crate) waits: Vec<(usize, u64, usize)>,
}

/// Longer than any run.
const AGES: u64 = 1 << 62;
/// Instants of a run are before this.
pub(crate) const END_OF_TIME: u64 = 1 << 62;

/// A number as an attribute of the same kind.
fn like(was: Attribute, to: u64) -> Option<Attribute> {
    Some(match was {
        Attribute::Priority(_) => Attribute::Priority(u32::try_from(to).ok()?),
        Attribute::Deadline(_) => Attribute::Deadline(Duration::from_ns(to)),
    })
}

impl Simulation {
    /// Sets up a run that something else drives.
    ///
    /// # Errors
    /// What does not fit together.
    pub(crate) fn driven(set: &TaskSet, rules: &Rules) -> Result<Self, Fault> {
        let mut simulation = Self::new(set, rules)?;
        let tasks = simulation.fixed.len();
        let run = Op { what: What::Run, resource: 0, time: AGES };
        simulation.ops = vec![run; tasks * STEPS];
        simulation.open = vec![None; tasks];
        for (at, fixed) in simulation.fixed.iter_mut().enumerate() {
            fixed.begin = u32::try_from(at * STEPS).map_err(|_| Fault::TooMany)?;
        }
        simulation.reset(&nothing(), 0);
        let State { sources, on_the_way, beyond, .. } = &mut simulation.state;
        sources.iter_mut().for_each(|source| source.set_next(NEVER));
        *on_the_way = vec![None; tasks];
        *beyond = vec![VecDeque::new(); tasks];
        Ok(simulation)
    }

    /// The arrival of the next job of a task that is not told of yet.
    pub(crate) fn comes_next(&mut self, task: usize, arrival: Option<u64>) {
        self.state.sources[task].set_next(arrival.unwrap_or(NEVER));
    }

    /// A core is told of a job.
    ///
    /// # Errors
    /// What the rule refuses.
    pub(crate) fn told(
        &mut self,
        now: u64,
        task: usize,
        (job, arrival): (u64, u64),
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let arrived = Arrived { arrival, release: now, job };
        self.at(now, sink, |run, moment| run.arrive(task, arrived, false, moment))
    }

    /// Whether a job executes, so that it may do something.
    pub(crate) fn executes(&self, task: usize, job: u64) -> bool {
        let core = self.fixed[task].core as usize;
        let live = &self.state.live[task];
        self.state.current[core] == task as u32
            && live.now.job == job
            && !live.waits
            && self.state.boundary[core] != NEVER
    }

    /// What executes on its core does something.
    ///
    /// # Errors
    /// What the rule refuses, and [`End::Broken`].
    pub(crate) fn act(&mut self, now: u64, task: usize, act: Act, sink: &mut impl Sink) -> Result<(), Halt> {
        let begin = self.fixed[task].begin;
        let guard = |resource: usize| self.guards.get(resource).copied().ok_or(End::Misuse { task });
        let (what, resource) = match act {
            Act::Request(resource) | Act::RequestAndLetGo(resource) | Act::Look(resource) => {
                (What::Lock(guard(resource)?), resource)
            }
            Act::Unlock(resource) | Act::UnlockAndKeep(resource) => {
                (What::Unlock(guard(resource)?), resource)
            }
            Act::Complete => (What::End, 0),
        };
        self.ops[begin as usize + 1] = Op { what, resource: resource as u32, time: 0 };
        self.state.live[task].at = begin;
        self.state.looks = matches!(act, Act::Look(_));
        self.state.keeps = match act {
            Act::UnlockAndKeep(resource) | Act::RequestAndLetGo(resource) => Some(resource),
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
        (self.state.keeps, self.state.looks) = (None, false);
        done
    }

    /// A task's level is another one from its next job on: a priority, or a relative deadline in ns.
    ///
    /// # Errors
    /// What the rule refuses: it has a job.
    pub(crate) fn set_level(&mut self, task: usize, to: u64) -> Result<(), Halt> {
        let Fixed { core, local, .. } = self.fixed[task];
        let refused = |_| End::Misuse { task };
        let rule = self.state.cores[core as usize].local_mut();
        let was = rule.level(local as usize).map_err(refused)?;
        let to = like(was, to).ok_or(End::Misuse { task })?;
        rule.set_level(local as usize, to).map_err(refused)?;
        match to {
            Attribute::Priority(priority) => self.fixed[task].priority = priority,
            Attribute::Deadline(deadline) => self.fixed[task].deadline = deadline.as_ns(),
        }
        Ok(())
    }

    /// The ceiling or floor of a resource that a task uses is another one from the next lock on.
    ///
    /// # Errors
    /// What the rule refuses: it is held.
    pub(crate) fn set_ceiling(&mut self, task: usize, resource: usize, to: u64) -> Result<(), Halt> {
        let refused = |_| End::Misuse { task };
        let rule = self.state.cores[self.fixed[task].core as usize].local_mut();
        let was = rule.ceiling(resource).map_err(refused)?;
        let to = like(was, to).ok_or(End::Misuse { task })?;
        rule.set_ceiling(resource, to).map_err(refused)
    }

    /// Nobody may have a global resource, which is free, before [`Simulation::lets_go`] or [`Act::RequestAndLetGo`].
    pub(crate) fn keep(&mut self, resource: usize) {
        // It is free, so this is granted.
        let _ = self.state.globals[resource].request(Instant::from_ns(0), KEEPER, 0);
    }

    /// Whoever is next may have a resource that was kept.
    ///
    /// # Errors
    /// What the rule refuses.
    pub(crate) fn lets_go(&mut self, now: u64, resource: usize, sink: &mut impl Sink) -> Result<(), Halt> {
        let guard = self.guards.get(resource).copied().ok_or(End::Misuse { task: 0 })?;
        self.at(now, sink, |run, moment| run.let_go((0, KEEPER), resource, guard, moment))
    }

    /// A task asks for a global resource that another one holds. Its core is told by [`Act::Look`].
    pub(crate) fn line_up(&mut self, now: u64, task: usize, resource: usize) {
        let (party, priority) = (self.party(task), self.fixed[task].priority);
        // If the rule refuses, it waits for good when it looks, which was not recorded.
        let _ = self.state.globals[resource].request(Instant::from_ns(now), party, priority);
    }

    /// The task that was granted a global resource and has not been told.
    pub(crate) fn on_the_way(&self, resource: usize) -> Option<usize> {
        self.state.on_the_way.iter().position(|place| place.is_some_and(|(_, of, _)| of == resource))
    }

    /// A core is told that a job of its own was granted what it waits for. Gives whether it was.
    ///
    /// # Errors
    /// What the rule refuses.
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

    /// Who is to run on a core from now on.
    ///
    /// # Errors
    /// What the rule refuses.
    pub(crate) fn decide(&mut self, now: u64, core: usize, sink: &mut impl Sink) -> Result<(), Halt> {
        self.at(now, sink, |run, moment| run.settle(core, moment))
    }

    /// Who is on a core, as the last decision has it.
    pub(crate) fn seat(&self, core: usize) -> Seat {
        let mut seat = Seat::default();
        for &task in &self.members[core] {
            let live = &self.state.live[task as usize];
            if !live.active {
                continue;
            }
            let (who, job) = (task as usize, live.now.job);
            let op = self.op(who);
            match op.what {
                _ if self.state.current[core] == task => seat.runs = Some((who, job)),
                What::Lock(_) => seat.waits.push((who, job, op.resource as usize)),
                _ => seat.ready.push((who, job)),
            }
        }
        seat
    }

    pub(super) fn at<S: Sink, T>(
        &mut self,
        now: u64,
        sink: &mut S,
        act: impl FnOnce(&mut Self, &mut Moment<'_, Watched<'_, S>>) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let scenario = nothing();
        let result = act(self, &mut Moment { now, scenario: &scenario, sink: &mut Watched(sink) });
        // Whoever drives knows which core is to be asked.
        self.state.touched.fill(0);
        result
    }

    /// What a resource is guarded by.
    pub(crate) fn guard(&self, resource: usize) -> Option<Guard> {
        self.guards.get(resource).copied()
    }
}

/// Steps of a job.
const STEPS: usize = 3;

/// Nothing arrives by itself.
fn nothing() -> Scenario {
    Scenario { start: Start::Synchronous, ..Scenario::worst(Duration::ZERO) }
}
