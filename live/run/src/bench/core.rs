// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A core of a bench: the local rule of the plan and its servers decide which of its tasks runs, as in the simulator and in a
//! dispatcher. Jobs execute for virtual time, hold nothing while they do, and may be preempted.

use std::collections::VecDeque;

use taut_event::Event;
use taut_plan::{ClassPlan, CorePlan, Plan};
use taut_policy::server::{Any, REPLENISHMENTS, Replenishment, ServerEntry, ServerRule as _, Servers};
use taut_policy::{AnyLocal, AnyQueue, Attributes, Background, Scheduler, any_queue};
use taut_time::{Duration, Instant};

use super::{ORIGIN_NS, refused};
use crate::Error;
use crate::names::position;

type AnyServers = Servers<Any<Box<[Replenishment]>>, Vec<ServerEntry<Any<Box<[Replenishment]>>>>>;

/// A core with its ready jobs.
pub(super) struct Core {
    rule: AnyLocal,
    background: Background<AnyQueue>,
    servers: AnyServers,
    /// By server of the core.
    served: Vec<ServedQueue>,
    /// By task of the core: the server of the core in which it runs.
    server_of: Vec<Option<usize>>,
    /// The core's tasks, as positions among those of the bench. To the rule the servers come after them.
    pub(super) tasks: Vec<usize>,
    /// The task that runs, and since when (ns).
    pub(super) running: Option<(usize, u64)>,
}

/// What waits for a server.
struct ServedQueue {
    /// Its position in the plan.
    in_plan: u16,
    /// The tasks of the core that have a job in it, in order.
    jobs: VecDeque<usize>,
}

impl Core {
    /// A core of the plan; `in_plan` are its tasks, by position in the plan.
    pub(super) fn new(plan: &Plan, core: &CorePlan, in_plan: &[usize]) -> Result<Self, Error> {
        let (mut priorities, mut deadlines) = (Vec::new(), Vec::new());
        for &task in in_plan {
            if let ClassPlan::RealTime { priority, deadline, .. } = &plan.tasks[task].class {
                priorities.push(u32::from(*priority));
                deadlines.push(*deadline);
            }
        }
        let servers: Vec<_> =
            plan.servers.iter().enumerate().filter(|(_, server)| server.cpu == core.cpu).collect();
        let mut entries = Vec::with_capacity(servers.len());
        for (_, server) in &servers {
            priorities.push(u32::from(server.priority));
            deadlines.push(server.period);
            let parts = || vec![Replenishment::EMPTY; REPLENISHMENTS].into_boxed_slice();
            let start = Instant::from_ns(ORIGIN_NS);
            let entry = Any::new(server.policy, server.budget, server.period, start, parts);
            let unfit = |why| Error::Bench(format!("server `{}` cannot be made: {why}", server.name));
            entries.push(ServerEntry::new(entry.map_err(unfit)?));
        }
        let server_of = |task: &usize| {
            let name = &plan.tasks[*task].name;
            servers.iter().position(|(_, server)| server.tasks.contains(name))
        };
        let of = Attributes {
            priorities: &priorities,
            deadlines: &deadlines,
            // Sections take no time, so jobs never hold anything when the rule decides.
            ceilings: &[],
            floors: &[],
            jitter: Duration::ZERO,
        };
        Ok(Self {
            rule: AnyLocal::new(plan.local_rule(core), of).map_err(refused)?,
            background: Background::new(any_queue(in_plan.len())),
            servers: Servers::new(in_plan.len(), entries),
            served: servers
                .iter()
                .map(|(at, _)| ServedQueue { in_plan: position(*at), jobs: VecDeque::new() })
                .collect(),
            server_of: in_plan.iter().map(server_of).collect(),
            tasks: Vec::new(),
            running: None,
        })
    }

    /// A job of a task becomes ready.
    pub(super) fn release(&mut self, local: usize, arrival_ns: u64, now_ns: u64) -> Result<(), Error> {
        let Some(server) = self.server_of[local] else {
            return self.rule.release(local, Instant::from_ns(arrival_ns)).map_err(refused);
        };
        self.served[server].jobs.push_back(local);
        self.servers.request(&mut self.rule, server, Instant::from_ns(now_ns)).map_err(refused)
    }

    /// The job of a task, which runs, is over.
    pub(super) fn complete(&mut self, local: usize, now_ns: u64) -> Result<(), Error> {
        self.running = None;
        let Some(server) = self.server_of[local] else {
            return self.background.complete(&mut self.rule).map(drop).map_err(refused);
        };
        // With the server's budget or without.
        self.served[server].jobs.pop_front();
        self.servers.withdraw(&mut self.rule, server, Instant::from_ns(now_ns)).map_err(refused)
    }

    /// The instant at which a server's budget ends or comes back (ns), if the core must decide then; [`u64::MAX`] if not.
    pub(super) fn next_ns(&self) -> u64 {
        self.servers.next(&self.rule).map_or(u64::MAX, Instant::as_ns)
    }

    /// The task that runs from now on, as a position among those of the bench. A job that `sinks` runs below all others, and so
    /// does one whose server has no budget. Adds what a dispatcher records of its servers to `turns`.
    pub(super) fn decide(
        &mut self,
        now_ns: u64,
        sinks: impl Fn(usize) -> bool,
        turns: &mut Vec<Event>,
    ) -> Result<Option<usize>, Error> {
        let Self { rule, background, servers, tasks, .. } = self;
        if self.served.is_empty() {
            let chosen = background.decide_leaving(rule, |local| sinks(tasks[local]));
            return Ok(chosen.map(|local| tasks[local]));
        }
        let is_due = servers.next(rule).is_some_and(|next| next.as_ns() <= now_ns);
        let before: Vec<bool> = (0..servers.count()).map(|server| servers.has_turn(server)).collect();
        let chosen = loop {
            servers.decide(rule, Instant::from_ns(now_ns)).map_err(refused)?;
            let Some(chosen) = background.decide(rule) else {
                break servers
                    .first_in_background()
                    .and_then(|server| self.served[server].jobs.front().copied());
            };
            if let Some(server) = chosen.checked_sub(tasks.len()) {
                break self.served[server].jobs.front().copied();
            }
            let leaves = background.running().is_none() && sinks(tasks[chosen]);
            if !leaves || background.demote(rule).is_err() {
                break Some(chosen);
            }
        };
        for (server, had_turn) in before.into_iter().enumerate() {
            if is_due || servers.has_turn(server) != had_turn {
                let budget = servers.entry(server).map_or(Duration::ZERO, |entry| entry.server().left());
                turns.push(Event::Budget { server: self.served[server].in_plan, budget });
            }
        }
        Ok(chosen.map(|local| tasks[local]))
    }
}
