// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Aperiodic servers in a run: a core under fixed priorities whose tasks share it with a server of requests.
//!
//! | server | budget | source |
//! |---|---|---|
//! | polling | full when a period begins; given up when the server runs and finds no request | [Lehoczky 1987] |
//! | deferrable | full when a period begins; kept until then | [Lehoczky 1987], [Strosnider 1995] |
//! | sporadic | what is used comes back a period after the server, backlogged, could begin to use it | [Sprunt 1989], with the corrections of [Stanovich 2010] |
//!
//! The rules are those of [`taut_policy::server`], with as many places for parts of a budget as can be needed. A core of its
//! own kind: tasks have no sections here, as a server's requests are not bounded where they could lock. At one instant come
//! what is done, replenishments, releases and requests, and then who runs.

use core::fmt;
use std::collections::VecDeque;

use taut_model::{Scheduler, TaskSet};
use taut_policy::queue::{Heap, HeapSlot};
use taut_policy::server::{Any, Deferrable, Part, Polling, Seat, Served as Policy, Sporadic, Turn};
use taut_policy::{FixedPriority, Misuse, Scheduler as _, Slot};
use taut_time::{Duration, Instant};

use crate::arrivals::Source;
use crate::calendar::NEVER;
use crate::random::Random;
use crate::{Execution, Scenario};

/// How a budget is lost and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Looks for requests once a period.
    Polling,
    /// Keeps its budget until the period ends.
    Deferrable,
    /// Gets back what it used, a period after.
    Sporadic,
}

/// A server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Of which kind.
    pub kind: Kind,
    /// Larger = more urgent, and no task's of the core.
    pub priority: u32,
    /// C_s: how much it serves per period, more than 0.
    pub budget: Duration,
    /// T_s, at least the budget.
    pub period: Duration,
    /// When its first whole period begins, at most a period after the start. Until then a polling one has no budget,
    /// and the others have theirs.
    pub start: Duration,
}

/// Something to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it comes.
    pub arrival: Duration,
    /// How long it takes, more than 0.
    pub cost: Duration,
}

/// Why there is no such run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// There is no such core, or it is not one of fixed priorities.
    Core,
    /// A task of the core has critical sections.
    Sections,
    /// A task has the server's priority.
    Priority,
    /// Not 0 < C_s ≤ T_s, or the start comes after a period.
    Budget,
    /// Requests are not in the order of their arrivals, or one takes no time.
    Requests,
    /// Times do not fit in 64 bits.
    Overflow,
    /// A rule refused what happened: a mistake of this crate.
    Misuse,
}

impl From<Misuse> for ServerFault {
    fn from(_: Misuse) -> Self {
        Self::Misuse
    }
}

impl fmt::Display for ServerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "there is no such core of fixed priorities",
            Self::Sections => "a task of the core has critical sections",
            Self::Priority => "a task has the server's priority",
            Self::Budget => {
                "a budget must be more than 0 and no more than its period, and the start no later than that"
            }
            Self::Requests => "requests must be in order, and take time",
            Self::Overflow => "times that do not fit in 64 bits",
            Self::Misuse => "a rule refused what happened, which is a mistake of this crate",
        })
    }
}

impl core::error::Error for ServerFault {}

/// What a run was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// From each request until it was served, in order; fewer than requests if the step limit came first.
    pub requests: Vec<Duration>,
    /// The longest response time from an arrival, for each task of the set; those on other cores have none.
    pub tasks: Vec<Duration>,
}

/// Runs one core of a set with a server. Releases are those of the scenario; a job's execution is one part.
///
/// # Errors
/// What does not fit together.
pub fn run(
    set: &TaskSet,
    core: usize,
    server: &Server,
    requests: &[Request],
    scenario: &Scenario,
) -> Result<Served, ServerFault> {
    let mut run = Run::new(set, core, server, requests, scenario)?;
    let mut steps = 0;
    while steps < scenario.steps_max && run.step(scenario)? {
        steps += 1;
    }
    Ok(run.served)
}

/// A task of the core, whose position there is that in the list of all.
struct Task {
    /// Position in the set.
    at: usize,
    cost: u64,
    source: Source,
    /// Arrivals of jobs that are not complete.
    open: VecDeque<u64>,
    /// Of the first of them.
    remaining: u64,
}

type Rule = FixedPriority<Heap<Box<[HeapSlot]>>, Box<[Slot]>>;
type AnyServer = Any<Box<[Part]>>;
type Core = Policy<Rule, AnyServer, [Seat<AnyServer>; 1]>;

/// The most urgent first; of two equal ones the lower position, which preempts the other.
fn rule(priorities: &[u32]) -> Result<Rule, Misuse> {
    let mut order: Vec<_> = (0..priorities.len()).collect();
    order.sort_by_key(|at| (priorities[*at], usize::MAX - at));
    let mut levels = vec![0; priorities.len()];
    (0..).zip(order).for_each(|(level, at)| levels[at] = level);
    let ready = Heap::new(vec![HeapSlot::EMPTY; levels.len()].into());
    FixedPriority::new(ready, vec![Slot::EMPTY; levels.len()].into(), &levels)
}

fn policy(server: &Server, requests: usize) -> Result<AnyServer, ServerFault> {
    let Server { budget, period, .. } = *server;
    let start = Instant::from_ns(server.start.as_ns());
    let policy = match server.kind {
        Kind::Polling => Polling::new(budget, period, start).map(Any::Polling),
        Kind::Deferrable => Deferrable::new(budget, period, start).map(Any::Deferrable),
        Kind::Sporadic => {
            // A wait splits at most one part.
            let parts = vec![Part::EMPTY; requests.saturating_add(1)].into();
            Sporadic::new(budget, period, parts).map(Any::Sporadic)
        }
    };
    policy.map_err(|_| ServerFault::Budget)
}

fn release(core: &mut Core, task: usize, arrival: u64) -> Result<(), Misuse> {
    core.rule_mut().release(task, Instant::from_ns(arrival))
}

struct Run<'a> {
    core: Core,
    requests: &'a [Request],
    /// Requests that have come.
    come: usize,
    /// What the first unserved one still takes.
    remaining: u64,
    tasks: Vec<Task>,
    now: u64,
    random: Random,
    served: Served,
}

impl<'a> Run<'a> {
    fn new(
        set: &TaskSet,
        core: usize,
        server: &Server,
        requests: &'a [Request],
        scenario: &Scenario,
    ) -> Result<Self, ServerFault> {
        if set.cores().get(core) != Some(&Scheduler::FixedPriority) {
            return Err(ServerFault::Core);
        }
        if server.start > server.period {
            return Err(ServerFault::Budget);
        }
        let policy = policy(server, requests.len())?;
        let in_order = requests.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival);
        if !in_order || requests.iter().any(|request| request.cost.is_zero()) {
            return Err(ServerFault::Requests);
        }
        let mut random = Random::new(scenario.seed);
        let latest = set.tasks().iter().map(|task| task.jitter.as_ns()).max().unwrap_or(0);
        let mut tasks = Vec::new();
        for (at, task) in set.tasks().iter().enumerate().filter(|(_, task)| task.core == core) {
            if !set.requests(at).is_empty() {
                return Err(ServerFault::Sections);
            }
            if task.priority == server.priority {
                return Err(ServerFault::Priority);
            }
            let source = Source::new(task, at, latest, scenario, &mut random);
            let cost = set.cost(at).as_ns();
            tasks.push(Task { at, cost, source, open: VecDeque::new(), remaining: 0 });
        }
        let of_tasks = tasks.iter().map(|task| set.tasks()[task.at].priority);
        let rule = rule(&of_tasks.chain([server.priority]).collect::<Vec<_>>())?;
        let served = Served {
            requests: Vec::with_capacity(requests.len()),
            tasks: vec![Duration::ZERO; set.tasks().len()],
        };
        let core = Policy::new(rule, tasks.len(), [Seat::new(policy)]);
        Ok(Self { core, requests, come: 0, remaining: 0, tasks, now: 0, random, served })
    }

    /// To the next instant; whether there is more.
    fn step(&mut self, scenario: &Scenario) -> Result<bool, ServerFault> {
        self.arrive(scenario)?;
        let turn = self.core.decide(Instant::from_ns(self.now))?;
        let to_come = self.requests.get(self.come).map_or(NEVER, |request| request.arrival.as_ns());
        let mut next = self.tasks.iter().map(|task| task.source.release).fold(to_come, u64::min);
        let backlog = self.served.requests.len() < self.come;
        if next == NEVER && !backlog && self.tasks.iter().all(|task| task.open.is_empty()) {
            return Ok(false);
        }
        next = self.core.next().map_or(next, |time| next.min(time.as_ns()));
        let until = match turn {
            Some(Turn::Server(_)) => self.remaining,
            Some(Turn::Task(task)) => self.tasks[task].remaining,
            None if next == NEVER => return Err(ServerFault::Overflow),
            None => NEVER,
        };
        let ran = until.min(next - self.now);
        self.now = self.now.checked_add(ran).filter(|now| *now != NEVER).ok_or(ServerFault::Overflow)?;
        match turn {
            Some(Turn::Server(_)) => self.serve(ran)?,
            Some(Turn::Task(task)) => self.execute(task, ran, scenario)?,
            None => {}
        }
        Ok(true)
    }

    /// Releases and requests by now.
    fn arrive(&mut self, scenario: &Scenario) -> Result<(), ServerFault> {
        for (at, task) in self.tasks.iter_mut().enumerate() {
            while task.source.release <= self.now {
                task.open.push_back(task.source.arrival);
                if task.open.len() == 1 {
                    task.remaining = execution(task.cost, scenario, &mut self.random);
                    release(&mut self.core, at, task.source.arrival)?;
                }
                task.source.advance(scenario, &mut self.random);
            }
        }
        while let Some(request) = self.requests.get(self.come).filter(|it| it.arrival.as_ns() <= self.now) {
            if self.served.requests.len() == self.come {
                self.remaining = request.cost.as_ns();
            }
            self.core.request(0, Instant::from_ns(self.now))?;
            self.come += 1;
        }
        Ok(())
    }

    fn serve(&mut self, ran: u64) -> Result<(), ServerFault> {
        self.remaining -= ran;
        if self.remaining == 0 {
            self.core.served(Instant::from_ns(self.now))?;
            let arrival = self.requests[self.served.requests.len()].arrival.as_ns();
            self.served.requests.push(Duration::from_ns(self.now - arrival));
            let next = self.requests[..self.come].get(self.served.requests.len());
            self.remaining = next.map_or(0, |request| request.cost.as_ns());
        }
        Ok(())
    }

    fn execute(&mut self, at: usize, ran: u64, scenario: &Scenario) -> Result<(), ServerFault> {
        let task = &mut self.tasks[at];
        task.remaining -= ran;
        if task.remaining == 0
            && let Some(arrival) = task.open.pop_front()
        {
            let response = &mut self.served.tasks[task.at];
            *response = (*response).max(Duration::from_ns(self.now - arrival));
            task.remaining = execution(task.cost, scenario, &mut self.random);
            self.core.rule_mut().complete()?;
            if let Some(arrival) = task.open.front() {
                release(&mut self.core, at, *arrival)?;
            }
        }
        Ok(())
    }
}

fn execution(cost: u64, scenario: &Scenario, random: &mut Random) -> u64 {
    let part = |percent: u32| ((u128::from(cost) * u128::from(percent.min(100)) / 100) as u64).max(1);
    match scenario.execution {
        Execution::Full => cost,
        Execution::Scaled { percent } => part(percent),
        Execution::Random { least_percent } => {
            let least = part(least_percent);
            least + random.up_to(cost - least)
        }
    }
}
