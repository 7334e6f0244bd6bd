// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers in a driven run: the driver says when a dispatcher looked at them.
//!
//! A server is a task of the set, after all ordinary tasks of its core, without events of its own. The tasks that it
//! serves are tasks of the set that the rule does not know. Requests of a server without a budget run when nothing
//! else on their core is ready.

use std::collections::VecDeque;

use taut_policy::server::{
    Any, REPLENISHMENTS, Replenishment, ServerEntry, ServerPolicy, ServerRule as _, Servers,
};
use taut_policy::{Background, Locking, Misuse};
use taut_time::{Duration, Instant};

use super::Simulation;

/// A server of a recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedServer {
    /// Its position in the set, after all tasks of its core that are not servers.
    pub task: usize,
    /// How it loses its budget and gets it back.
    pub policy: ServerPolicy,
    /// The budget C_s.
    pub budget: Duration,
    /// The period T_s.
    pub period: Duration,
    /// The tasks that it serves: their positions in the set.
    pub serves: Vec<usize>,
}

type AnyServers = Servers<Any<Vec<Replenishment>>, Vec<ServerEntry<Any<Vec<Replenishment>>>>>;

/// The servers of a core.
#[derive(Clone, Debug)]
struct OfCore {
    servers: AnyServers,
    /// The position of the first server on the core.
    tasks: usize,
    /// Per server, the tasks that have a job, in order.
    waiting: Vec<VecDeque<u32>>,
}

/// All servers of a set.
#[derive(Clone, Debug)]
pub(super) struct Serving {
    /// The servers of each core.
    cores: Vec<Option<OfCore>>,
    /// Per task, its server: a position among the servers of its core.
    of: Vec<Option<usize>>,
    /// Per server of the set, its core and its position there.
    places: Vec<(usize, usize)>,
}

impl<L: Locking + Clone> Simulation<L> {
    /// Sets up servers whose periods begin at `start`. Returns whether they fit the set.
    pub(crate) fn serve(&mut self, all: &[RecordedServer], start: Instant) -> bool {
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
            let entries: Result<Vec<_>, _> = here.map(|(served, _)| served.entry(start)).collect();
            let Ok(entries) = entries else { return false };
            of_core.servers = Servers::new(of_core.tasks, entries);
        }
        self.serving = Some(Box::new(serving));
        true
    }

    /// A job becomes ready; none if no server serves its task.
    pub(super) fn request(&mut self, core: usize, task: usize, now: u64) -> Option<Result<(), Misuse>> {
        let serving = self.serving.as_deref_mut()?;
        let server = serving.of[task]?;
        let of_core = serving.cores[core].as_mut()?;
        let rule = &mut self.state.cores[core];
        of_core.waiting[server].push_back(task as u32);
        Some(of_core.servers.request(rule, server, Instant::from_ns(now)))
    }

    /// A job is complete; none if no server serves its task.
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

    /// The task that runs on a core with servers, by the rule, or else in the background; first demotes the tasks
    /// that must leave the rule.
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
                return Ok(of_core.servers.first_in_background().and_then(local));
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

    /// Other threads had a core for `others` of the `passed` ns since its dispatcher last advanced the running server.
    /// The dispatcher may have advanced it without a record; the server had the core until then. If `passed` is 0, the
    /// last record counts.
    pub(crate) fn pass_beside(
        &mut self,
        core: usize,
        (passed, others): (u64, u64),
        now: u64,
    ) -> Result<(), Misuse> {
        let serving = self.serving.as_deref_mut().ok_or(Misuse::State)?;
        let of_core = serving.cores[core].as_mut().ok_or(Misuse::State)?;
        let rule = &mut self.state.cores[core];
        if passed > 0 {
            let advanced = Instant::from_ns(now.saturating_sub(passed));
            of_core.servers.pass_beside(rule, Duration::ZERO, advanced)?;
        }
        of_core.servers.pass_beside(rule, Duration::from_ns(others), Instant::from_ns(now))
    }

    /// The budget that a server may use at a stretch.
    pub(crate) fn left(&self, server: usize) -> Option<Duration> {
        let serving = self.serving.as_ref()?;
        let (core, at) = *serving.places.get(server)?;
        Some(serving.cores[core].as_ref()?.servers.entry(at)?.server().left())
    }
}

/// The position on its core of the task whose job a server serves first.
fn of_core_first(waiting: &[VecDeque<u32>], server: usize, fixed: &[super::Fixed]) -> Option<usize> {
    let task = *waiting.get(server)?.front()?;
    Some(fixed[task as usize].local as usize)
}

impl RecordedServer {
    fn entry(
        &self,
        start: Instant,
    ) -> Result<ServerEntry<Any<Vec<Replenishment>>>, taut_policy::server::Unfit> {
        let parts = || vec![Replenishment::EMPTY; REPLENISHMENTS];
        Ok(ServerEntry::new(Any::new(self.policy, self.budget, self.period, start, parts)?))
    }
}
