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
//! A core of its own kind: tasks have no sections here, as a server's requests are not bounded where they could lock.
//! At one instant come what is done, replenishments, releases and requests, and then who runs.

use core::fmt;
use std::collections::VecDeque;

use taut_model::{Scheduler, TaskSet};
use taut_time::Duration;

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

/// A task of the core.
struct Task {
    /// Position in the set.
    at: usize,
    priority: u32,
    cost: u64,
    source: Source,
    /// Arrivals of jobs that are not complete.
    open: VecDeque<u64>,
    /// Of the first of them.
    remaining: u64,
}

struct Run<'a> {
    server: Server,
    requests: &'a [Request],
    /// Requests that have come.
    come: usize,
    /// What the first unserved one still takes.
    remaining: u64,
    budget: Budget,
    tasks: Vec<Task>,
    now: u64,
    random: Random,
    served: Served,
}

enum Budget {
    /// What is left, and when the next period begins.
    Periodic { left: u64, next: u64 },
    /// Parts, each with the time from which its use counts, in order.
    Parts(VecDeque<(u64, u64)>),
}

/// Who runs.
#[derive(Clone, Copy)]
enum Who {
    Server(u64),
    Task(usize),
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
        if server.budget.is_zero() || server.budget > server.period || server.start > server.period {
            return Err(ServerFault::Budget);
        }
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
            tasks.push(Task {
                at,
                priority: task.priority,
                cost,
                source,
                open: VecDeque::new(),
                remaining: 0,
            });
        }
        let budget = match server.kind {
            Kind::Sporadic => Budget::Parts(VecDeque::from([(0, server.budget.as_ns())])),
            Kind::Deferrable => Budget::Periodic { left: server.budget.as_ns(), next: server.start.as_ns() },
            Kind::Polling => Budget::Periodic { left: 0, next: server.start.as_ns() },
        };
        let served = Served {
            requests: Vec::with_capacity(requests.len()),
            tasks: vec![Duration::ZERO; set.tasks().len()],
        };
        Ok(Self { server: *server, requests, come: 0, remaining: 0, budget, tasks, now: 0, random, served })
    }

    /// To the next instant; whether there is more.
    fn step(&mut self, scenario: &Scenario) -> Result<bool, ServerFault> {
        self.arrive(scenario)?;
        let backlog = self.served.requests.len() < self.come;
        let who = self.choose(backlog);
        let to_come = self.requests.get(self.come).map_or(NEVER, |request| request.arrival.as_ns());
        let mut next = self.tasks.iter().map(|task| task.source.release).fold(to_come, u64::min);
        let over = next == NEVER && !backlog && self.tasks.iter().all(|task| task.open.is_empty());
        if over {
            return Ok(false);
        }
        next = match &self.budget {
            Budget::Periodic { next: period, .. } => next.min(*period),
            Budget::Parts(parts) => parts
                .iter()
                .map(|part| part.0)
                .find(|time| *time > self.now)
                .map_or(next, |time| next.min(time)),
        };
        let Some(who) = who else {
            self.now = next;
            return Ok(true);
        };
        let until = match who {
            Who::Server(most) => most.min(self.remaining),
            Who::Task(task) => self.tasks[task].remaining,
        };
        let end = self.now.checked_add(until).ok_or(ServerFault::Overflow)?.min(next);
        let ran = end - self.now;
        self.now = end;
        match who {
            Who::Server(_) => self.serve(ran)?,
            Who::Task(task) => self.execute(task, ran, scenario),
        }
        Ok(true)
    }

    /// Replenishments, releases and requests by now.
    fn arrive(&mut self, scenario: &Scenario) -> Result<(), ServerFault> {
        if let Budget::Periodic { left, next } = &mut self.budget {
            while *next <= self.now {
                *left = self.server.budget.as_ns();
                *next = next.checked_add(self.server.period.as_ns()).ok_or(ServerFault::Overflow)?;
            }
        }
        for task in &mut self.tasks {
            while task.source.release <= self.now {
                task.open.push_back(task.source.arrival);
                if task.open.len() == 1 {
                    task.remaining = execution(task.cost, scenario, &mut self.random);
                }
                task.source.advance(scenario, &mut self.random);
            }
        }
        while let Some(request) = self.requests.get(self.come).filter(|it| it.arrival.as_ns() <= self.now) {
            if self.served.requests.len() == self.come {
                self.remaining = request.cost.as_ns();
                // The server's level becomes busy: no part counts from before that.
                if let Budget::Parts(parts) = &mut self.budget {
                    parts.iter_mut().for_each(|part| part.0 = part.0.max(request.arrival.as_ns()));
                }
            }
            self.come += 1;
        }
        Ok(())
    }

    fn choose(&mut self, backlog: bool) -> Option<Who> {
        let ready = |task: &&(usize, &Task)| !task.1.open.is_empty();
        let tasks = self.tasks.iter().enumerate();
        let task =
            tasks.filter(|task| ready(&task)).max_by_key(|(at, task)| (task.priority, usize::MAX - at));
        let task = task.map(|(at, task)| (at, task.priority));
        let is_first = task.is_none_or(|(_, priority)| priority < self.server.priority);
        if is_first {
            let most = match &mut self.budget {
                Budget::Periodic { left, .. } => {
                    if self.server.kind == Kind::Polling && !backlog {
                        *left = 0;
                    }
                    *left
                }
                Budget::Parts(parts) => {
                    parts.front().filter(|part| part.0 <= self.now).map_or(0, |part| part.1)
                }
            };
            if backlog && most > 0 {
                return Some(Who::Server(most));
            }
        }
        task.map(|(at, _)| Who::Task(at))
    }

    fn serve(&mut self, ran: u64) -> Result<(), ServerFault> {
        match &mut self.budget {
            Budget::Periodic { left, .. } => *left -= ran,
            Budget::Parts(parts) => {
                if let Some((from, amount)) = parts.front_mut() {
                    let back = from.checked_add(self.server.period.as_ns()).ok_or(ServerFault::Overflow)?;
                    *amount -= ran;
                    if *amount == 0 {
                        parts.pop_front();
                    }
                    match parts.back_mut().filter(|part| part.0 == back) {
                        Some(part) => part.1 += ran,
                        None => parts.push_back((back, ran)),
                    }
                }
            }
        }
        self.remaining -= ran;
        if self.remaining == 0 {
            let arrival = self.requests[self.served.requests.len()].arrival.as_ns();
            self.served.requests.push(Duration::from_ns(self.now - arrival));
            let next = self.requests[..self.come].get(self.served.requests.len());
            self.remaining = next.map_or(0, |request| request.cost.as_ns());
        }
        Ok(())
    }

    fn execute(&mut self, task: usize, ran: u64, scenario: &Scenario) {
        let task = &mut self.tasks[task];
        task.remaining -= ran;
        if task.remaining == 0
            && let Some(arrival) = task.open.pop_front()
        {
            let response = &mut self.served.tasks[task.at];
            *response = (*response).max(Duration::from_ns(self.now - arrival));
            task.remaining = execution(task.cost, scenario, &mut self.random);
        }
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
