// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The servers of a core, and which job each serves first.
//!
//! To the rule a server is one more task, numbered after those of the core, and a turn of the server is a job: see
//! `taut_policy::server`. A job of a task in a server is a request, which runs in the server's place.
//!
//! **Without a budget** a request runs when no other job of its core wants to run, in the background. Only a signal could
//! stop it, and it need not stop: it locks nothing, no job with a guarantee waits for it, and it uses no budget. A thread
//! to which the request has donated its place ([`crate::job::donation`]) loses the place.

use taut_policy::server::{ServerEntry, ServerRule, Servers, Unfit};
use taut_policy::{Misuse, Scheduler};
use taut_time::{Duration, Instant};

use crate::server::{AnyServer, AnyServerEntry, Periods, ServerSetup, places};

use crate::ready::worker_priorities::NONE;

type AnyServers = Servers<AnyServer, Box<[AnyServerEntry]>>;

/// All servers of a core.
#[derive(Debug)]
pub(crate) struct Serving {
    servers: AnyServers,
    /// The servers' entries until release 0 is known.
    entries: Box<[AnyServerEntry]>,
    tasks: usize,
    /// Per server, the tasks with a job, in order: a ring buffer that begins at `first`.
    waiting: Box<[Ring]>,
    /// The subject of each server's records.
    pub(crate) subjects: Box<[u16]>,
    /// Which servers had a turn before the last decision.
    turns: Box<[bool]>,
    /// Whether a server was due to be looked at, or others were found to have used the core.
    due: bool,
    /// Whether others were found to have used the core since the last decision.
    beside: bool,
    periods: Box<[Periods]>,
}

#[derive(Debug)]
struct Ring {
    tasks: Box<[u32]>,
    first: usize,
    count: usize,
}

impl Ring {
    fn first(&self) -> Option<u32> {
        (self.count > 0).then(|| self.tasks[self.first])
    }

    /// There is a place for every task, and each task has at most one job.
    fn push(&mut self, task: u32) {
        let at = (self.first + self.count) % self.tasks.len();
        self.tasks[at] = task;
        self.count += 1;
    }

    fn pop(&mut self) {
        self.first = (self.first + 1) % self.tasks.len();
        self.count -= 1;
    }
}

impl Serving {
    /// Servers of a core with this many tasks, before release 0 is known: see [`Serving::begin_at`].
    pub(crate) fn new(tasks: usize, setups: &[ServerSetup], subjects: Box<[u16]>) -> Result<Self, Unfit> {
        let entries: Result<Box<[_]>, Unfit> = setups.iter().map(|setup| setup.entry(0)).collect();
        let ring = |_: &ServerSetup| Ring { tasks: places(NONE, tasks), first: 0, count: 0 };
        Ok(Self {
            servers: Servers::new(tasks, Box::default()),
            entries: entries?,
            tasks,
            waiting: setups.iter().map(ring).collect(),
            subjects,
            turns: places(false, setups.len()),
            due: false,
            beside: false,
            periods: setups.iter().map(ServerSetup::periods).collect(),
        })
    }

    /// Periods begin at release 0. Allocates nothing.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        let mut entries = std::mem::take(&mut self.entries);
        for (entry, periods) in entries.iter_mut().zip(&self.periods) {
            if let Some(begun) = periods.begun(Instant::from_ns(origin_ns)) {
                *entry = ServerEntry::new(begun);
            }
        }
        self.servers = Servers::new(self.tasks, entries);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A job of a task in a server is ready.
    pub(crate) fn request(
        &mut self,
        rule: &mut impl Scheduler,
        server: u32,
        task: u32,
        now_ns: u64,
    ) -> Result<(), Misuse> {
        self.servers.request(rule, server as usize, Instant::from_ns(now_ns))?;
        self.waiting[server as usize].push(task);
        Ok(())
    }

    /// The first job of a server is complete, with the server's budget or without. Returns its task.
    pub(crate) fn served(
        &mut self,
        rule: &mut impl Scheduler,
        server: u32,
        now_ns: u64,
    ) -> Result<u32, Misuse> {
        let task = self.waiting[server as usize].first().ok_or(Misuse::State)?;
        self.servers.withdraw(rule, server as usize, Instant::from_ns(now_ns))?;
        self.waiting[server as usize].pop();
        Ok(task)
    }

    /// The server that has the core, the task whose job runs in its place, and the time since the server was last
    /// advanced, ns.
    pub(crate) fn running(&self, rule: &impl Scheduler, now_ns: u64) -> Option<(usize, usize, u64)> {
        let server = self.servers.running(rule)?;
        let since_ns = self.servers.entry(server)?.server().now().as_ns();
        Some((server, self.task(self.tasks + server)?, now_ns.saturating_sub(since_ns)))
    }

    /// Others had the core for `others_ns` of that time.
    pub(crate) fn pass_beside(
        &mut self,
        rule: &mut impl Scheduler,
        others_ns: u64,
        now_ns: u64,
    ) -> Result<(), Misuse> {
        self.beside = true;
        self.servers.pass_beside(rule, Duration::from_ns(others_ns), Instant::from_ns(now_ns))
    }

    /// Before a decision: keeps which servers have a turn, and whether one is due to be looked at.
    pub(crate) fn note_turns(&mut self, rule: &impl Scheduler, now_ns: u64) {
        self.due = std::mem::take(&mut self.beside) || self.next_ns(rule).is_some_and(|next| next <= now_ns);
        for (server, turn) in self.turns.iter_mut().enumerate() {
            *turn = self.servers.has_turn(server);
        }
    }

    /// Begins and ends turns, until the rule runs a task, or a server with a request.
    pub(crate) fn decide(&mut self, rule: &mut impl Scheduler, now_ns: u64) -> Result<(), Misuse> {
        self.servers.decide(rule, Instant::from_ns(now_ns)).map(|_| ())
    }

    /// Servers whose turns began or ended with the last decision; all servers if one was due. Gives each server's
    /// record subject and what it may use at once, ns.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let changed =
            |(server, before): &(usize, &bool)| self.due || self.servers.has_turn(*server) != **before;
        self.turns.iter().enumerate().filter(changed).map(|(server, _)| {
            let left = self.servers.entry(server).map_or(0, |entry| entry.server().left().as_ns());
            (self.subjects[server], left)
        })
    }

    /// The task whose job runs if the rule chooses `chosen`.
    pub(crate) fn task(&self, chosen: usize) -> Option<usize> {
        match chosen.checked_sub(self.tasks) {
            None => Some(chosen),
            Some(server) => self.waiting[server].first().map(|task| task as usize),
        }
    }

    /// The task whose job runs in the background, if the rule chooses nothing.
    pub(crate) fn spare(&self) -> Option<usize> {
        self.servers.first_in_background().and_then(|server| self.task(self.tasks + server))
    }

    /// When the server has a budget again, if it has none now; and its period. In ns.
    pub(crate) fn refill(&self, server: u32) -> (Option<u64>, u64) {
        let entry = self.servers.entry(server as usize).map(|entry| entry.server());
        let next = entry.filter(|entry| !entry.is_ready(true)).and_then(|entry| entry.next(true));
        (next.map(Instant::as_ns), self.periods[server as usize].period.as_ns())
    }

    /// Whether other jobs wait behind the first job of a server.
    pub(crate) fn has_others(&self, server: u32) -> bool {
        self.waiting[server as usize].count > 1
    }

    /// The latest instant at which to look at the servers again.
    pub(crate) fn next_ns(&self, rule: &impl Scheduler) -> Option<u64> {
        self.servers.next(rule).map(Instant::as_ns)
    }
}
