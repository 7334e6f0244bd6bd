// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Aperiodic servers in a run: a core under fixed priorities whose tasks share it with a server of requests.
//!
//! | server | budget | source |
//! |---|---|---|
//! | polling | full when a period begins; given up when the server runs and finds no request | [Lehoczky 1987] |
//! | deferrable | full when a period begins; kept until it ends | [Lehoczky 1987], [Strosnider 1995] |
//! | sporadic | used budget comes back a period after the backlogged server could begin to use it | [Sprunt 1989], with the corrections of [Stanovich 2010] |
//!
//! The rules are those of [`taut_policy::server`], with as many places for replenishments as a run can need. The tasks
//! of such a core have no sections, because the requests of a server that could lock are not bounded. At one instant
//! the order is: completions, replenishments, releases and requests, and then the decision.

use core::fmt;
use std::collections::VecDeque;

use taut_model::{SchedulingPolicy, TaskSet};
use taut_policy::queue::{Heap, HeapSlot};
use taut_policy::server::{Any, Replenishment, Served as Policy, ServerEntry, ServerPolicy, Turn};
use taut_policy::{FixedPriority, Misuse, Scheduler as _, Slot};
use taut_time::{Duration, Instant};

use crate::arrivals::Source;
use crate::calendar::NEVER;
use crate::random::Random;
use crate::{Execution, Scenario};

/// A server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimServer {
    /// How it loses its budget and gets it back.
    pub policy: ServerPolicy,
    /// Larger = more urgent; no task of the core has the same priority.
    pub priority: u32,
    /// C_s: how much it serves per period, more than 0.
    pub budget: Duration,
    /// T_s, at least the budget.
    pub period: Duration,
    /// When its first whole period begins, at most a period after the start of the run. Before that, a polling server
    /// has no budget, and a server of another policy has its budget.
    pub start: Duration,
}

/// A request to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRequest {
    /// When it arrives.
    pub arrival: Duration,
    /// How long it takes, more than 0.
    pub cost: Duration,
}

/// Why a run is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// There is no such core, or it does not run fixed priorities.
    Core,
    /// A task of the core has critical sections.
    Sections,
    /// A task has the server's priority.
    Priority,
    /// 0 < C_s ≤ T_s does not hold, or the start is more than a period away.
    Budget,
    /// Requests are not in the order of their arrivals, or a request takes no time.
    Requests,
    /// Times do not fit in 64 bits.
    Overflow,
    /// A rule refused an event: a bug in this crate.
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
            Self::Misuse => "a rule refused an event, which is a defect of this crate",
        })
    }
}

impl core::error::Error for ServerFault {}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOutcome {
    /// The response time of each request, in order; the last requests are missing if the step limit came first.
    pub requests: Vec<Duration>,
    /// The longest response time from an arrival, for each task of the set; 0 for tasks of other cores.
    pub tasks: Vec<Duration>,
}

/// Runs one core of a set with a server. Releases are those of the scenario; a job executes in one part.
///
/// # Errors
/// The reason why set, core, server and requests do not fit together.
pub fn run(
    set: &TaskSet,
    core: usize,
    server: &SimServer,
    requests: &[ServerRequest],
    scenario: &Scenario,
) -> Result<ServerOutcome, ServerFault> {
    let mut run = Run::new(set, core, server, requests, scenario)?;
    let mut steps = 0;
    while steps < scenario.steps_max && run.step(scenario)? {
        steps += 1;
    }
    Ok(run.served)
}

/// A task of the core; its position on the core is its position in the list of the core's tasks.
struct Task {
    /// Its position in the set.
    at: usize,
    cost: u64,
    source: Source,
    /// Arrivals of jobs that are not complete.
    open: VecDeque<u64>,
    /// The rest of the first of these jobs, in ns.
    remaining: u64,
}

type Rule = FixedPriority<Heap<Box<[HeapSlot]>>, Box<[Slot]>>;
type AnyServer = Any<Box<[Replenishment]>>;
type Core = Policy<Rule, AnyServer, [ServerEntry<AnyServer>; 1]>;

/// A rule that runs the most urgent task first; of two equally urgent tasks, the one at the lower position first, which
/// preempts the other.
fn rule(priorities: &[u32]) -> Result<Rule, Misuse> {
    let mut order: Vec<_> = (0..priorities.len()).collect();
    order.sort_by_key(|at| (priorities[*at], usize::MAX - at));
    let mut levels = vec![0; priorities.len()];
    (0..).zip(order).for_each(|(level, at)| levels[at] = level);
    let ready = Heap::new(vec![HeapSlot::EMPTY; levels.len()].into());
    FixedPriority::new(ready, vec![Slot::EMPTY; levels.len()].into(), &levels)
}

fn policy(server: &SimServer, requests: usize) -> Result<AnyServer, ServerFault> {
    let SimServer { budget, period, .. } = *server;
    let start = Instant::from_ns(server.start.as_ns());
    // A wait splits at most one replenishment.
    let parts = || vec![Replenishment::EMPTY; requests.saturating_add(1)].into();
    AnyServer::new(server.policy, budget, period, start, parts).map_err(|_| ServerFault::Budget)
}

fn release(core: &mut Core, task: usize, arrival: u64) -> Result<(), Misuse> {
    core.rule_mut().release(task, Instant::from_ns(arrival))
}

struct Run<'a> {
    core: Core,
    requests: &'a [ServerRequest],
    /// How many requests have arrived.
    come: usize,
    /// The rest of the first unserved request, in ns.
    remaining: u64,
    tasks: Vec<Task>,
    now: u64,
    random: Random,
    served: ServerOutcome,
}

impl<'a> Run<'a> {
    fn new(
        set: &TaskSet,
        core: usize,
        server: &SimServer,
        requests: &'a [ServerRequest],
        scenario: &Scenario,
    ) -> Result<Self, ServerFault> {
        if set.cores().get(core) != Some(&SchedulingPolicy::FixedPriority) {
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
        let served = ServerOutcome {
            requests: Vec::with_capacity(requests.len()),
            tasks: vec![Duration::ZERO; set.tasks().len()],
        };
        let core = Policy::new(rule, tasks.len(), [ServerEntry::new(policy)]);
        Ok(Self { core, requests, come: 0, remaining: 0, tasks, now: 0, random, served })
    }

    /// Advances to the next instant; returns whether the run continues.
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

    /// Takes the releases and requests up to now.
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
