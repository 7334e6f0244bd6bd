// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The servers of the campaign: one core with tasks and a server for requests. The server's analysis bounds the
//! response of requests. The server's interference enters the bounds of the tasks below it.

use std::collections::BTreeMap;
use taut_model::ArrivalPattern;

use taut_analysis::uni::fp::arbitrary;
use taut_analysis::uni::fp::preemptive::{self, FpTask, Subject};
use taut_analysis::uni::server::{Requests, ServerResponse, ServerSupply, deferrable, polling, sporadic};
use taut_analysis::{Overflow, Verdict};
use taut_model::{SchedulingPolicy, TaskSet};
use taut_sim::ServerPolicy;
use taut_sim::server::{self, ServerRequest};
use taut_sim::{Execution, Scenario, Start};
use taut_time::Duration;

use crate::campaign::Row;
use crate::draw::{self, Draw, Requirements, Shares};

/// Runs of a set with each server.
const RUNS: u64 = 6;
/// Requests of a run.
const REQUESTS: u64 = 60;

/// The task that a task of lower priority sees in the server's place.
type Seen = fn(ServerSupply) -> FpTask;
type Bound = fn(ServerSupply, Requests) -> Result<Verdict<ServerResponse>, Overflow>;

/// The servers: name, policy, analysis of requests, interference on lower tasks.
const SERVERS: [(&str, ServerPolicy, Bound, Seen); 3] = [
    ("uni::server::polling", ServerPolicy::Polling, polling::response, polling::interference),
    ("uni::server::deferrable", ServerPolicy::Deferrable, deferrable::response, deferrable::interference),
    ("uni::server::sporadic", ServerPolicy::Sporadic, sporadic::response, sporadic::interference),
];

const CORE: Requirements = Requirements {
    cores: 1,
    tasks: 5,
    tasks_least: 1,
    octaves: 7,
    load: (10, 70),
    shares: Shares::Nothing,
    global: 0,
    local: (0, 0),
    uses: 0,
    placed: false,
    phased: false,
};

/// Draws, analyses and runs one set with each server. A weakened analysis counts the server as if it needed no time.
pub(crate) fn one(
    seed: u64,
    canary: Option<&str>,
    rows: &mut BTreeMap<&'static str, Row>,
    failed: &mut Vec<String>,
) -> Result<(), String> {
    let mut draw = Draw::new(!seed);
    let Some(Drawn { set, priority, asked, server: parameters }) = Drawn::from(&mut draw)? else {
        return Ok(());
    };
    let ServerSupply { budget, period, .. } = parameters;
    for (name, policy, bound, interference) in SERVERS {
        let reported = |overflow: Overflow| overflow.to_string();
        let requests = bound(parameters, asked).map_err(reported)?.bound().map(|found| found.time);
        let seen = if canary == Some(name) { Vec::new() } else { vec![interference(parameters)] };
        let bounds = of_tasks(&set, priority, &seen).map_err(reported)?;
        let start = Duration::from_us(draw.pick(0, period.as_ns() / 1000));
        let server = server::SimServer { policy, priority, budget, period, start };
        let row = rows.entry(name).or_default();
        row.sets += 1;
        row.accepted += u64::from(requests.is_some());
        let mut longest = vec![Duration::ZERO; bounds.len() + 1];
        for number in 0..RUNS {
            let (scenario, arrivals) =
                (scenario(&mut draw, &set, number), arrivals(&mut draw, &asked, number));
            let served =
                server::run(&set, 0, &server, &arrivals, &scenario).map_err(|fault| fault.to_string())?;
            row.runs += 1;
            let slowest = served.requests.iter().max().copied().unwrap_or(Duration::ZERO);
            let reached = served.tasks.iter().copied().chain([slowest]);
            for (at, (reached, bound)) in reached.zip(bounds.iter().chain([&requests])).enumerate() {
                let Some(bound) = *bound else { continue };
                row.values += 1;
                longest[at] = longest[at].max(reached);
                if reached > bound {
                    row.exceeded += 1;
                    let who = if at < bounds.len() { format!("task {at}") } else { "a request".into() };
                    failed.push(format!(
                        "seed {seed}: {name}: run {number} of {server:?} for {asked:?}: {who} took {} ns, and the bound is {} ns",
                        reached.as_ns(),
                        bound.as_ns()
                    ));
                }
            }
        }
        let attained = longest.iter().zip(bounds.iter().chain([&requests]));
        row.attained += attained.filter(|(reached, bound)| **bound == Some(**reached)).count() as u64;
    }
    Ok(())
}

/// A set, a server beside it, and the requests that it serves.
struct Drawn {
    set: TaskSet,
    /// The server's; no task has it.
    priority: u32,
    asked: Requests,
    server: ServerSupply,
}

impl Drawn {
    /// Draws one; `None` if no bound is shown for the response time of the server's budget.
    fn from(draw: &mut Draw) -> Result<Option<Self>, String> {
        // 1. Tasks get even priorities, the server an odd one.
        let (mut tasks, resources) = draw::tasks(draw, &CORE);
        tasks.iter_mut().for_each(|task| task.priority *= 2);
        let set = draw::set(1, SchedulingPolicy::FixedPriority, &tasks, resources)?;
        let us = Duration::from_us;
        let priority = 2 * draw.pick(0, tasks.len() as u64) as u32 + 1;
        let period = draw.pick(500, 20_000);
        let budget = (period * draw.pick(3, 40) / 100).max(1);
        // 2. Draw the requests: about as much as the server can serve, or less.
        let most = if draw.chance(50) { budget } else { 3 * budget };
        let cost = draw.pick(1, most);
        let apart = (cost * period / budget + 1) * draw.pick(100, 300) / 100;
        let jitter = if draw.chance(50) { draw.pick(0, 3 * apart) } else { 0 };
        let asked =
            Requests { cost: us(cost), period: us(apart), jitter: us(jitter), deadline: Duration::MAX };
        // 3. The response time of the budget, analysed as a task's.
        let own = FpTask {
            cost: us(budget),
            period: us(period),
            jitter: Duration::ZERO,
            arrivals: ArrivalPattern::Driven,
        };
        let subject = subject(own, us(period));
        let found = preemptive::response(&subject, &above(&set, priority));
        let found = found.map_err(|overflow| overflow.to_string())?;
        let Some(response) = found.bound().map(|response| response.from_release) else { return Ok(None) };
        let server = ServerSupply { budget: us(budget), period: us(period), response };
        Ok(Some(Self { set, priority, asked, server }))
    }
}

fn subject(task: FpTask, deadline: Duration) -> Subject {
    Subject { task, deadline, blocking: Duration::ZERO, blocking_attained: true, preemptible: true }
}

fn task(set: &TaskSet, at: usize) -> FpTask {
    let task = &set.tasks()[at];
    FpTask { cost: set.cost(at), period: task.period, jitter: task.jitter, arrivals: ArrivalPattern::Driven }
}

/// The tasks that are more urgent than a level.
fn above(set: &TaskSet, level: u32) -> Vec<FpTask> {
    let is_above = |at: &usize| set.tasks()[*at].priority > level;
    (0..set.tasks().len()).filter(is_above).map(|at| task(set, at)).collect()
}

/// The response times of all tasks. A task below the server also suffers the interference `seen`.
fn of_tasks(set: &TaskSet, server: u32, seen: &[FpTask]) -> Result<Vec<Option<Duration>>, Overflow> {
    let of_task = |at: usize| {
        let own = &set.tasks()[at];
        let others = (0..set.tasks().len())
            .filter(|&other| other != at && set.tasks()[other].priority >= own.priority)
            .map(|other| task(set, other));
        let server = seen.iter().filter(|_| own.priority < server).copied();
        let higher: Vec<FpTask> = others.chain(server).collect();
        let found = arbitrary::response(&subject(task(set, at), own.deadline), &higher)?;
        Ok(found.bound().map(|response| response.from_arrival))
    };
    (0..set.tasks().len()).map(of_task).collect()
}

/// The worst case that is known for tasks, or a random one.
fn scenario(draw: &mut Draw, set: &TaskSet, number: u64) -> Scenario {
    let longest = set.tasks().iter().map(|task| task.period).max().unwrap_or(Duration::from_us(1));
    let horizon = longest.checked_mul(3).unwrap_or(longest);
    match number % 3 {
        0 => Scenario::worst(horizon),
        1 => Scenario { start: Start::Random, seed: draw.next(), ..Scenario::worst(horizon) },
        _ => Scenario { execution: Execution::Full, ..Scenario::random(horizon, draw.next()) },
    }
}

/// Requests as dense as allowed, or less dense; as many at once as the jitter allows, or not.
fn arrivals(draw: &mut Draw, asked: &Requests, number: u64) -> Vec<ServerRequest> {
    let [cost, period, jitter] = [asked.cost, asked.period, asked.jitter].map(|time| time.as_ns() / 1000);
    let start = draw.pick(0, 20_000);
    let mut nominal = start;
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let late = match number % 2 {
            // The first requests are delayed until the last one that jitter lets arrive with them.
            0 => (start + jitter).saturating_sub(nominal),
            _ => draw.pick(0, jitter),
        };
        times.push(nominal + late);
        nominal += period + if number > 3 { draw.pick(0, period) } else { 0 };
    }
    times.sort_unstable();
    let cost_of = |draw: &mut Draw| if number > 2 { draw.pick(1, cost) } else { cost };
    let request =
        |at: u64| ServerRequest { arrival: Duration::from_us(at), cost: Duration::from_us(cost_of(draw)) };
    times.into_iter().map(request).collect()
}
