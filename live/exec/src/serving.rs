// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The servers of a core, and which job each serves first.
//!
//! To the rule a server is a task, behind those of the core, and a turn of it is a job: see `taut_policy::server`. A job of a
//! task in a server is a request, which runs in the server's place.
//!
//! **Without a budget** a request runs when nothing else of its core wants to: it cannot be stopped where it is without a
//! signal, nobody who was promised something waits for it, and it locks nothing. It uses no budget there. A thread to which it
//! has lent its place ([`crate::lend`]) has it no longer then.

use taut_policy::server::{Any, Deferrable, PARTS, Part, Polling, Seat, Server, Servers, Sporadic, Unfit};
use taut_policy::{Misuse, Scheduler};
use taut_time::{Duration, Instant};

use crate::ladder::NONE;

/// How a server loses its budget and gets it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// Looks for work when its period begins, and gives up what it does not use then.
    Polling,
    /// Keeps its budget until its period ends.
    Deferrable,
    /// Gets back what it used, a period after.
    Sporadic,
}

/// A share of a core: a budget per period, for tasks that promise nothing of how much they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSetup {
    pub(crate) name: String,
    pub(crate) refill: Refill,
    pub(crate) budget: Duration,
    pub(crate) period: Duration,
    pub(crate) priority: u32,
    pub(crate) recorded_as: Option<u16>,
}

impl ServerSetup {
    /// A server at priority 1. Its periods are counted from release 0 on.
    pub fn new(name: &str, refill: Refill, budget: Duration, period: Duration) -> Self {
        Self { name: name.to_owned(), refill, budget, period, priority: 1, recorded_as: None }
    }

    /// Its priority under rules that have such; larger is more urgent. Where deadlines count, its relative one is its
    /// period.
    #[must_use]
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// The subject of its records, in place of its position among the servers of the set-up.
    #[must_use]
    pub fn recorded_as(mut self, subject: u16) -> Self {
        self.recorded_as = Some(subject);
        self
    }

    fn periods(&self) -> Periods {
        Periods { refill: self.refill, budget: self.budget, period: self.period }
    }

    fn seat(&self, start_ns: u64) -> Result<AnySeat, Unfit> {
        let (budget, period, start) = (self.budget, self.period, Instant::from_ns(start_ns));
        Ok(Seat::new(match self.refill {
            Refill::Polling => Any::Polling(Polling::new(budget, period, start)?),
            Refill::Deferrable => Any::Deferrable(Deferrable::new(budget, period, start)?),
            Refill::Sporadic => Any::Sporadic(Sporadic::new(budget, period, places(Part::EMPTY, PARTS))?),
        }))
    }

    /// Whether there is such a server.
    pub(crate) fn is_fit(&self) -> bool {
        self.seat(0).is_ok()
    }
}

fn places<T: Clone>(empty: T, count: usize) -> Box<[T]> {
    vec![empty; count].into()
}

/// A server of a set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId {
    pub(crate) brand: u64,
    /// On its core.
    pub(crate) server: u32,
}

type AnyServer = Any<Box<[Part]>>;
type AnySeat = Seat<AnyServer>;
type AnyServers = Servers<AnyServer, Box<[AnySeat]>>;

/// All servers of a core.
#[derive(Debug)]
pub(crate) struct Serving {
    servers: AnyServers,
    /// Before release 0.
    seats: Box<[AnySeat]>,
    tasks: usize,
    /// Of each server, tasks with a job, in order: a ring from `first`.
    waiting: Box<[Ring]>,
    /// How each is recorded.
    pub(crate) subjects: Box<[u16]>,
    /// Which had a turn before the last decision.
    turns: Box<[bool]>,
    /// Whether it was time to look at one, or others were found to have had the core.
    due: bool,
    /// The latter, since the last decision.
    beside: bool,
    refills: Box<[Periods]>,
}

/// How a server's budget comes back.
#[derive(Clone, Copy, Debug)]
struct Periods {
    refill: Refill,
    budget: Duration,
    period: Duration,
}

impl Periods {
    /// A server whose first period begins then; none if that does not matter to it.
    fn begun(self, start: Instant) -> Option<AnyServer> {
        // They have been made before.
        match self.refill {
            Refill::Polling => Polling::new(self.budget, self.period, start).ok().map(Any::Polling),
            Refill::Deferrable => Deferrable::new(self.budget, self.period, start).ok().map(Any::Deferrable),
            Refill::Sporadic => None,
        }
    }
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

    /// There is a place for every task, and each has one job at most.
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
    /// Servers of a core with so many tasks, before release 0 is known: [`Serving::begin_at`].
    pub(crate) fn new(tasks: usize, setups: &[ServerSetup], subjects: Box<[u16]>) -> Result<Self, Unfit> {
        let seats: Result<Box<[_]>, Unfit> = setups.iter().map(|setup| setup.seat(0)).collect();
        let ring = |_: &ServerSetup| Ring { tasks: places(NONE, tasks), first: 0, count: 0 };
        Ok(Self {
            servers: Servers::new(tasks, Box::default()),
            seats: seats?,
            tasks,
            waiting: setups.iter().map(ring).collect(),
            subjects,
            turns: places(false, setups.len()),
            due: false,
            beside: false,
            refills: setups.iter().map(ServerSetup::periods).collect(),
        })
    }

    /// Periods begin at release 0. Nothing is allocated.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        let mut seats = std::mem::take(&mut self.seats);
        for (seat, refill) in seats.iter_mut().zip(&self.refills) {
            if let Some(begun) = refill.begun(Instant::from_ns(origin_ns)) {
                *seat = Seat::new(begun);
            }
        }
        self.servers = Servers::new(self.tasks, seats);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A job of a task of a server may run.
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

    /// The first job of a server is done, with its budget or without.
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

    /// The server that has the core, whose job runs in its place, and for how long since it was told of time last.
    pub(crate) fn running(&self, rule: &impl Scheduler, now_ns: u64) -> Option<(usize, usize, u64)> {
        let server = self.servers.running(rule)?;
        let since_ns = self.servers.seat(server)?.server().now().as_ns();
        Some((server, self.task(self.tasks + server)?, now_ns.saturating_sub(since_ns)))
    }

    /// Somebody else had the core for so long of that.
    pub(crate) fn pass_beside(
        &mut self,
        rule: &mut impl Scheduler,
        others_ns: u64,
        now_ns: u64,
    ) -> Result<(), Misuse> {
        self.beside = true;
        self.servers.pass_beside(rule, Duration::from_ns(others_ns), Instant::from_ns(now_ns))
    }

    /// Before a decision: which servers have a turn, and whether it is time to look at them.
    pub(crate) fn note_turns(&mut self, rule: &impl Scheduler, now_ns: u64) {
        self.due = std::mem::take(&mut self.beside) || self.next_ns(rule).is_some_and(|next| next <= now_ns);
        for (server, turn) in self.turns.iter_mut().enumerate() {
            *turn = self.servers.has_turn(server);
        }
    }

    /// Begins and ends turns, until the rule runs one who has something to do.
    pub(crate) fn decide(&mut self, rule: &mut impl Scheduler, now_ns: u64) -> Result<(), Misuse> {
        self.servers.decide(rule, Instant::from_ns(now_ns)).map(|_| ())
    }

    /// Servers whose turns began or ended with the last decision, all if it was time to look; how they are recorded, and what
    /// they may use at once.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let changed =
            |(server, before): &(usize, &bool)| self.due || self.servers.has_turn(*server) != **before;
        self.turns.iter().enumerate().filter(changed).map(|(server, _)| {
            let left = self.servers.seat(server).map_or(0, |seat| seat.server().left().as_ns());
            (self.subjects[server], left)
        })
    }

    /// Whose job runs where the rule runs this.
    pub(crate) fn task(&self, chosen: usize) -> Option<usize> {
        match chosen.checked_sub(self.tasks) {
            None => Some(chosen),
            Some(server) => self.waiting[server].first().map(|task| task as usize),
        }
    }

    /// Whose job runs where nothing else does.
    pub(crate) fn spare(&self) -> Option<usize> {
        self.servers.spare().and_then(|server| self.task(self.tasks + server))
    }

    /// When a server has a budget again, if it has none; and its period.
    pub(crate) fn refill(&self, server: u32) -> (Option<u64>, u64) {
        let seat = self.servers.seat(server as usize).map(|seat| seat.server());
        let next = seat.filter(|seat| !seat.is_ready(true)).and_then(|seat| seat.next(true));
        (next.map(Instant::as_ns), self.refills[server as usize].period.as_ns())
    }

    /// Whether others wait behind the first job of a server.
    pub(crate) fn has_others(&self, server: u32) -> bool {
        self.waiting[server as usize].count > 1
    }

    /// When to look again at the latest.
    pub(crate) fn next_ns(&self, rule: &impl Scheduler) -> Option<u64> {
        self.servers.next(rule).map(Instant::as_ns)
    }
}
