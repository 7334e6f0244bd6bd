// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::marker::PhantomData;

use taut_time::{Duration, Instant};

use super::ServerRule;
use crate::{Misuse, Scheduler, Store};

/// A server on a core: its budget, and the number of its requests.
#[derive(Clone, Debug)]
pub struct ServerEntry<B> {
    server: B,
    /// Requests that are not complete, the one in service included.
    backlog: u64,
    /// Whether the rule has a job of this server.
    turn: bool,
    /// When the last of its requests was done.
    emptied: Option<Instant>,
}

impl<B> ServerEntry<B> {
    /// A server without requests.
    pub fn new(server: B) -> Self {
        Self { server, backlog: 0, turn: false, emptied: None }
    }

    /// The server's budget.
    pub fn server(&self) -> &B {
        &self.server
    }

    /// How many of its requests are not complete, the one in service included.
    pub fn backlog(&self) -> u64 {
        self.backlog
    }
}

/// What runs on the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A task.
    Task(usize),
    /// The first request of a server.
    Server(usize),
}

/// Servers beside the tasks of a core. In the rule of a core with n tasks, server k is task n + k.
///
/// The driver calls [`Served::decide`] after all events of one instant, and again at [`Served::next`] at the latest. A
/// later call is safe for others: the time by which a server overruns is deducted from its later budget.
///
/// ```
/// use taut_policy::queue::{LinkedList, Node};
/// use taut_policy::server::{Deferrable, ServerEntry, Served, Turn};
/// use taut_policy::{FixedPriority, Scheduler, Slot};
/// use taut_time::{Duration, Instant};
///
/// let at = Instant::from_ns;
/// // Task 0 of priority 1; a server of priority 2, with 2 ns every 5 ns.
/// let rule = FixedPriority::new(LinkedList::new([Node::EMPTY; 2]), [Slot::EMPTY; 2], &[1, 2]).unwrap();
/// let server = Deferrable::new(Duration::from_ns(2), Duration::from_ns(5), at(0)).unwrap();
/// let mut core = Served::new(rule, 1, [ServerEntry::new(server)]);
///
/// core.rule_mut().release(0, at(0)).unwrap();
/// core.request(0, at(1)).unwrap();
/// assert_eq!(core.decide(at(1)), Ok(Some(Turn::Server(0))));
/// assert_eq!(core.next(), Some(at(3)), "when its budget is used up");
/// assert_eq!(core.decide(at(3)), Ok(Some(Turn::Task(0))));
/// assert_eq!(core.next(), Some(at(5)), "when it has a budget again");
/// assert_eq!(core.decide(at(5)), Ok(Some(Turn::Server(0))));
/// core.served(at(6)).unwrap();
/// assert_eq!(core.decide(at(6)), Ok(Some(Turn::Task(0))));
/// ```
#[derive(Clone, Debug)]
pub struct Served<S, B, V> {
    rule: S,
    servers: Servers<B, V>,
}

impl<S: Scheduler, B: ServerRule, V: Store<ServerEntry<B>>> Served<S, B, V> {
    /// Servers on a core whose rule has `tasks` tasks, followed by one task for each server.
    pub fn new(rule: S, tasks: usize, entries: V) -> Self {
        Self { rule, servers: Servers::new(tasks, entries) }
    }

    /// The core's rule.
    pub fn rule(&self) -> &S {
        &self.rule
    }

    /// The core's rule, to report events of tasks to it. The caller asks [`Served::decide`] which task runs, and does
    /// not touch the servers' places in the rule: otherwise the servers' consumption is counted wrongly.
    pub fn rule_mut(&mut self) -> &mut S {
        &mut self.rule
    }

    /// A server, for reading.
    pub fn entry(&self, server: usize) -> Option<&ServerEntry<B>> {
        self.servers.entry(server)
    }

    /// As [`Servers::request`].
    ///
    /// # Errors
    /// As there.
    pub fn request(&mut self, server: usize, now: Instant) -> Result<(), Misuse> {
        self.servers.request(&mut self.rule, server, now)
    }

    /// As [`Servers::served`].
    ///
    /// # Errors
    /// As there.
    pub fn served(&mut self, now: Instant) -> Result<usize, Misuse> {
        self.servers.served(&mut self.rule, now)
    }

    /// As [`Servers::withdraw`].
    ///
    /// # Errors
    /// As there.
    pub fn withdraw(&mut self, server: usize, now: Instant) -> Result<(), Misuse> {
        self.servers.withdraw(&mut self.rule, server, now)
    }

    /// As [`Servers::decide`].
    ///
    /// # Errors
    /// As there.
    pub fn decide(&mut self, now: Instant) -> Result<Option<Turn>, Misuse> {
        self.servers.decide(&mut self.rule, now)
    }

    /// As [`Servers::next`].
    pub fn next(&self) -> Option<Instant> {
        self.servers.next(&self.rule)
    }
}

/// The servers of a core without its rule, for callers that also use the rule for other things.
#[derive(Clone, Debug)]
pub struct Servers<B, V> {
    tasks: usize,
    entries: V,
    kind: PhantomData<B>,
}

impl<B: ServerRule, V: Store<ServerEntry<B>>> Servers<B, V> {
    /// Servers on a core whose rule has `tasks` tasks, followed by one task for each server. Every call must get the
    /// same rule.
    pub fn new(tasks: usize, entries: V) -> Self {
        Self { tasks, entries, kind: PhantomData }
    }

    /// A server, for reading.
    pub fn entry(&self, server: usize) -> Option<&ServerEntry<B>> {
        self.entries.as_ref().get(server)
    }

    /// How many servers there are.
    pub fn count(&self) -> usize {
        self.entries.as_ref().len()
    }

    /// A server gets one more request. Costs a step of the server.
    ///
    /// # Errors
    /// [`Misuse::Task`] if there is no such server.
    pub fn request(&mut self, rule: &mut impl Scheduler, server: usize, now: Instant) -> Result<(), Misuse> {
        if self.entries.as_ref().len() <= server {
            return Err(Misuse::Task);
        }
        self.pass(rule, server, now)?;
        let entry = &mut self.entries.as_mut()[server];
        entry.backlog += 1;
        // A turn whose requests are all gone may still wait for the core: then it counts as if requests had waited
        // all along. So does a request at the instant at which the last one is done: the rest of a backlog whose requests
        // come one by one. Otherwise each of them would postpone the budget that is left.
        if entry.backlog == 1 && !entry.turn && entry.emptied != Some(now) {
            entry.server.wake();
        }
        Ok(())
    }

    /// The running request is done. Returns its server. Costs two steps of the rule and the server.
    ///
    /// # Errors
    /// [`Misuse::State`] if no request runs.
    pub fn served(&mut self, rule: &mut impl Scheduler, now: Instant) -> Result<usize, Misuse> {
        let server = self.running(rule).ok_or(Misuse::State)?;
        self.withdraw(rule, server, now)?;
        Ok(server)
    }

    /// A server has one request less: one that does not run, or that was served without the server's budget. Costs
    /// two steps of the rule and the server.
    ///
    /// # Errors
    /// [`Misuse::Task`] if there is no such server, [`Misuse::State`] if it has no request.
    pub fn withdraw(&mut self, rule: &mut impl Scheduler, server: usize, now: Instant) -> Result<(), Misuse> {
        let entry = self.entries.as_ref().get(server).ok_or(Misuse::Task)?;
        let backlog = entry.backlog.checked_sub(1).ok_or(Misuse::State)?;
        self.pass(rule, server, now)?;
        let entry = &mut self.entries.as_mut()[server];
        entry.backlog = backlog;
        if backlog == 0 {
            entry.emptied = Some(now);
        }
        let is_ready = entry.server.is_ready(backlog > 0);
        if self.running(rule) == Some(server) && !is_ready {
            self.end(rule, server)?;
        }
        Ok(())
    }

    /// Reports that threads unknown to the rule had the core for `others` since time was last reported to the running
    /// server, which is charged for the rest only. It is not known when within that time they ran; the share of the
    /// server counts as the last part. Changes nothing if a task has the core. Costs two steps of the server, and one
    /// of the rule.
    ///
    /// # Errors
    /// The error of the rule, if it lacks a server or the caller has touched a server's place.
    pub fn pass_beside(
        &mut self,
        rule: &mut impl Scheduler,
        others: Duration,
        now: Instant,
    ) -> Result<(), Misuse> {
        let Some(server) = self.running(rule) else { return Ok(()) };
        let entry = self.entries.as_mut().get_mut(server).ok_or(Misuse::Task)?;
        let until = entry.server.now().checked_add(others).map_or(now, |until| until.min(now));
        entry.server.pass(until, false);
        self.pass(rule, server, now)
    }

    /// Decides what runs on the core from now on. Costs a step of each server, and two of the rule for each server
    /// that begins or ends its turn.
    ///
    /// # Errors
    /// The error of the rule, if it lacks a server or the caller has touched a server's place.
    pub fn decide(&mut self, rule: &mut impl Scheduler, now: Instant) -> Result<Option<Turn>, Misuse> {
        for server in 0..self.entries.as_ref().len() {
            self.pass(rule, server, now)?;
            let entry = &mut self.entries.as_mut()[server];
            if !entry.turn && entry.server.is_ready(entry.backlog > 0) {
                rule.release(self.tasks + server, entry.server.arrival())?;
                entry.turn = true;
            }
        }
        // Each iteration that does not return ends a turn.
        loop {
            let Some(chosen) = rule.decide() else { return Ok(None) };
            let Some(server) = chosen.checked_sub(self.tasks) else { return Ok(Some(Turn::Task(chosen))) };
            let entry = self.entries.as_mut().get_mut(server).ok_or(Misuse::Task)?;
            if entry.backlog > 0 && entry.server.is_ready(true) {
                return Ok(Some(Turn::Server(server)));
            }
            entry.server.find_none();
            self.end(rule, server)?;
        }
    }

    /// The instant at which the driver must decide again at the latest, if no event comes before: a budget is used
    /// up, or comes back while the server wants it. Costs O(servers) steps of servers.
    pub fn next(&self, rule: &impl Scheduler) -> Option<Instant> {
        let running = self.running(rule);
        let entries = self.entries.as_ref().iter().enumerate();
        let next = entries.filter_map(|(server, entry)| {
            if running == Some(server) {
                entry.server.now().checked_add(entry.server.left())
            } else if entry.turn {
                None
            } else {
                entry.server.next(entry.backlog > 0)
            }
        });
        next.min()
    }

    /// The first server that has requests, with or without a budget: for a dispatcher that gives an otherwise idle
    /// core to requests. When such a request is done, the dispatcher calls [`Servers::withdraw`]. O(servers).
    pub fn first_in_background(&self) -> Option<usize> {
        self.entries.as_ref().iter().position(|entry| entry.backlog > 0)
    }

    /// Whether the rule has a job of this server.
    pub fn has_turn(&self, server: usize) -> bool {
        self.entry(server).is_some_and(|entry| entry.turn)
    }

    /// The server that has the core.
    pub fn running(&self, rule: &impl Scheduler) -> Option<usize> {
        rule.running()?.checked_sub(self.tasks)
    }

    /// Advances a server to `now`.
    fn pass(&mut self, rule: &mut impl Scheduler, server: usize, now: Instant) -> Result<(), Misuse> {
        let ran = self.running(rule) == Some(server);
        let is_over = self.entries.as_mut()[server].server.pass(now, ran);
        if is_over { self.end(rule, server) } else { Ok(()) }
    }

    /// Ends the turn of the server that has the core.
    fn end(&mut self, rule: &mut impl Scheduler, server: usize) -> Result<(), Misuse> {
        rule.complete()?;
        self.entries.as_mut()[server].turn = false;
        Ok(())
    }
}
