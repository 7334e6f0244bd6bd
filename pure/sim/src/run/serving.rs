// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers in a driven run: whoever drives says when somebody looked at them.
//!
//! A server is a task of the set, behind all others of its core, of which nothing is told; tasks in it are tasks of the set
//! that the rule is not told of. Requests of a server without a budget run when nothing else of their core wants to.

use std::collections::VecDeque;

use taut_policy::server::{Any, Deferrable, PARTS, Part, Polling, Seat, Server as _, Servers, Sporadic};
use taut_policy::{Background, Misuse};
use taut_time::{Duration, Instant};

use super::Simulation;
use crate::server::Kind;

/// A server of a recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its place in the set, behind all tasks of its core that are none.
    pub task: usize,
    /// How its budget comes back.
    pub kind: Kind,
    /// C_s.
    pub budget: Duration,
    /// T_s.
    pub period: Duration,
    /// The tasks in it: their places in the set.
    pub serves: Vec<usize>,
}

type AnyServers = Servers<Any<Vec<Part>>, Vec<Seat<Any<Vec<Part>>>>>;

/// The servers of a core.
#[derive(Clone, Debug)]
struct OfCore {
    servers: AnyServers,
    /// Where the first server is on the core.
    tasks: usize,
    /// Tasks with a job, in order.
    waiting: Vec<VecDeque<u32>>,
}

/// All servers of a set.
#[derive(Clone, Debug)]
pub(super) struct Serving {
    /// Per core.
    cores: Vec<Option<OfCore>>,
    /// Per task, its server: a position among those of the core.
    of: Vec<Option<usize>>,
    /// Per server of the set, its core and its position there.
    places: Vec<(usize, usize)>,
}

impl Simulation {
    /// Servers whose periods begin at `start`. Whether there are such.
    pub(crate) fn serve(&mut self, all: &[Served], start: Instant) -> bool {
        let mut serving = Serving {
            cores: vec![None; self.members.len()],
            of: vec![None; self.tasks.len()],
            places: Vec::new(),
        };
        for served in all {
            let Some(fixed) = self.fixed.get(served.task) else { return false };
            let (core, local) = (fixed.core as usize, fixed.local as usize);
            let count = all
                .iter()
                .filter(|other| self.fixed.get(other.task).is_some_and(|other| other.core as usize == core));
            let Some(tasks) = self.members[core].len().checked_sub(count.count()) else { return false };
            let of_core = serving.cores[core].get_or_insert_with(|| OfCore {
                servers: Servers::new(tasks, Vec::new()),
                tasks,
                waiting: Vec::new(),
            });
            if local != tasks + of_core.waiting.len() {
                return false;
            }
            for task in &served.serves {
                let Some(of) = serving.of.get_mut(*task) else { return false };
                *of = Some(of_core.waiting.len());
            }
            serving.places.push((core, of_core.waiting.len()));
            of_core.waiting.push(VecDeque::new());
        }
        for (core, of_core) in serving.cores.iter_mut().enumerate() {
            let Some(of_core) = of_core else { continue };
            let here = all.iter().zip(&serving.places).filter(|(_, place)| place.0 == core);
            let seats: Result<Vec<_>, _> = here.map(|(served, _)| served.seat(start)).collect();
            let Ok(seats) = seats else { return false };
            of_core.servers = Servers::new(of_core.tasks, seats);
        }
        self.serving = Some(Box::new(serving));
        true
    }

    /// A job of a task may run; whether a server has it.
    pub(super) fn request(&mut self, core: usize, task: usize, now: u64) -> Option<Result<(), Misuse>> {
        let serving = self.serving.as_deref_mut()?;
        let server = serving.of[task]?;
        let of_core = serving.cores[core].as_mut()?;
        let rule = &mut self.state.cores[core];
        of_core.waiting[server].push_back(task as u32);
        Some(of_core.servers.request(rule, server, Instant::from_ns(now)))
    }

    /// A job of a task is done; whether a server had it.
    pub(super) fn finish_served(&mut self, core: usize, task: usize, now: u64) -> Option<Result<(), Misuse>> {
        let serving = self.serving.as_deref_mut()?;
        let server = serving.of[task]?;
        let of_core = serving.cores[core].as_mut()?;
        let rule = &mut self.state.cores[core];
        of_core.waiting[server].pop_front();
        Some(of_core.servers.withdraw(rule, server, Instant::from_ns(now)))
    }

    /// Whether servers run on a core.
    pub(super) fn is_served(&self, core: usize) -> bool {
        self.serving.as_ref().is_some_and(|serving| serving.cores[core].is_some())
    }

    /// Who runs where servers do, and in the background if nobody by the rule; what is to leave the rule leaves first.
    pub(super) fn decide_served<Q: taut_policy::queue::ReadyQueue>(
        &mut self,
        core: usize,
        now: u64,
        background: &mut Background<Q>,
        leaves: impl Fn(u32) -> bool,
    ) -> Result<Option<usize>, Misuse> {
        let rule = &mut self.state.cores[core];
        let Some(of_core) = self.serving.as_mut().and_then(|serving| serving.cores[core].as_mut()) else {
            return Ok(background.decide(rule));
        };
        let local = |server: usize| of_core_first(&of_core.waiting, server, &self.fixed);
        loop {
            of_core.servers.decide(rule, Instant::from_ns(now))?;
            let Some(chosen) = background.decide(rule) else {
                return Ok(of_core.servers.spare().and_then(local));
            };
            if let Some(server) = chosen.checked_sub(of_core.tasks) {
                return Ok(local(server));
            }
            let sinks = background.running().is_none() && leaves(self.members[core][chosen]);
            if !sinks || background.demote(rule).is_err() {
                return Ok(Some(chosen));
            }
        }
    }

    /// Others had a core for so long since the server that has it was told of time last.
    pub(crate) fn pass_beside(&mut self, core: usize, others: u64, now: u64) -> Result<(), Misuse> {
        let serving = self.serving.as_deref_mut().ok_or(Misuse::State)?;
        let of_core = serving.cores[core].as_mut().ok_or(Misuse::State)?;
        let rule = &mut self.state.cores[core];
        of_core.servers.pass_beside(rule, Duration::from_ns(others), Instant::from_ns(now))
    }

    /// What a server may use at once.
    pub(crate) fn left(&self, server: usize) -> Option<Duration> {
        let serving = self.serving.as_ref()?;
        let (core, at) = *serving.places.get(server)?;
        Some(serving.cores[core].as_ref()?.servers.seat(at)?.server().left())
    }
}

/// The place on its core of the task whose job a server serves first.
fn of_core_first(waiting: &[VecDeque<u32>], server: usize, fixed: &[super::Fixed]) -> Option<usize> {
    let task = *waiting.get(server)?.front()?;
    Some(fixed[task as usize].local as usize)
}

impl Served {
    fn seat(&self, start: Instant) -> Result<Seat<Any<Vec<Part>>>, taut_policy::server::Unfit> {
        let (budget, period) = (self.budget, self.period);
        Ok(Seat::new(match self.kind {
            Kind::Polling => Any::Polling(Polling::new(budget, period, start)?),
            Kind::Deferrable => Any::Deferrable(Deferrable::new(budget, period, start)?),
            Kind::Sporadic => Any::Sporadic(Sporadic::new(budget, period, vec![Part::EMPTY; PARTS])?),
        }))
    }
}
