// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers in a plan: their bounds, and those of real-time tasks in them.
//!
//! To tasks of lower priority, a server is a task that uses its budget once per period; a deferrable server has a
//! jitter of T − C, which allows two budgets back to back. Like a job, a server is charged two context switches per
//! period; the budget covers the context switches of further requests within it. The proof that a server gets its
//! budget within every period treats it as a task without jitter.
//!
//! A real-time task in a server is alone in it. Its jobs are the server's requests, C + 2x each; J and the release
//! latency come before a request. [`taut_analysis::uni::server`] bounds how the budget serves them. Of an aperiodic task
//! [`backlog`] bounds how long jobs take that wait.

use taut_analysis::overheads::Charges;
use taut_analysis::uni::server::{
    self, Requests, ServerBacklog, ServerResponse, deferrable, polling, sporadic,
};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{Class, Fault, KeyPath, Model, RealTime, ServerPolicy, Task, codes};
use taut_plan::{ServerPlan, TermPlan};
use taut_time::Duration;

use crate::placement::{Placements, Who};
use crate::response::backlog;
use crate::response::proof;
use crate::response::shared::Shared;

/// All servers, in the manifest's order.
pub(crate) fn servers(
    model: &Model,
    placements: &Placements<'_>,
    shared: Option<&Shared>,
) -> Vec<ServerPlan> {
    let mut plans = Vec::with_capacity(model.servers().len());
    for (i, placement) in placements.placements.iter().enumerate() {
        let Who::Server(at) = placement.who else { continue };
        let server = &model.servers()[at];
        let response = budget_used(placements, shared, i);
        let runs_in_it = |class: &Class| match class {
            Class::BestEffort(best_effort) => best_effort.server.as_deref() == Some(&*server.name),
            Class::RealTime(real_time) => real_time.server == Some(at),
        };
        let tasks: Vec<_> = model.tasks().iter().filter(|task| runs_in_it(&task.class)).collect();
        plans.push(ServerPlan {
            name: server.name.clone(),
            policy: server.policy,
            cpu: model.platform().cores[placement.core],
            cpu_reason: placement.core_reason.clone(),
            priority: placement.priority,
            priority_reason: placement.priority_reason.clone(),
            budget: server.budget(),
            period: server.period(),
            response,
            served: response.and_then(|response| served(server, response, &tasks)),
            backlog: response.map_or(Vec::new(), |used| backlog::plan(model, used, &tasks)),
            tasks: tasks.iter().map(|task| task.name.clone()).collect(),
        });
    }
    plans
}

/// How long a request of a whole budget takes if nothing is queued ahead of it, whatever the server served just
/// before: the time until the server has used up its first whole budget, by [`taut_analysis::uni::server`].
fn served(server: &taut_model::Server, response: Duration, tasks: &[&Task]) -> Option<Duration> {
    let first = match server.policy {
        ServerPolicy::Polling | ServerPolicy::Sporadic => server.period(),
        ServerPolicy::Deferrable => server.period().saturating_sub(server.budget()),
    };
    let looked_at = tasks.iter().any(|task| matches!(task.class, Class::BestEffort(_)));
    let before = if looked_at { server.period() } else { Duration::ZERO };
    before.checked_add(first)?.checked_add(response)
}

/// R_s, if it is shown.
fn budget_used(placements: &Placements<'_>, shared: Option<&Shared>, placement: usize) -> Option<Duration> {
    proof::response(placements, shared, placement)
        .filter(|response| *response <= placements.placements[placement].task.arrival.period())
}

/// What the analysis found about a real-time task in a server.
pub(crate) struct Found {
    /// R, if it is shown.
    pub(crate) response: Option<Duration>,
    pub(crate) test: String,
    pub(crate) terms: Vec<TermPlan>,
    /// R_s, for an aperiodic task.
    pub(crate) supply: Option<Duration>,
    /// Why R is not shown, and a bound past the deadline; none if R is shown, or if the server itself is not.
    why: Option<(String, Option<Duration>)>,
}

/// Bounds the response time of a real-time task in a server.
pub(crate) fn response(
    model: &Model,
    placements: &Placements<'_>,
    shared: Option<&Shared>,
    server: usize,
    task: &RealTime,
) -> Found {
    let test =
        "requests to a server with a budget per period (Sprunt et al. 1989; Shin & Lee 2003) (sufficient)";
    let mut found = Found { response: None, test: test.into(), terms: Vec::new(), supply: None, why: None };
    let placement = placements.placements.iter().position(|placement| placement.who == Who::Server(server));
    let Some(used) = placement.and_then(|placement| budget_used(placements, shared, placement)) else {
        return found;
    };
    found.supply = task.arrival.is_aperiodic().then_some(used);
    let asked = ask(model, server, used, task);
    let (time, late, switches) = match asked {
        Ok((Verdict::Schedulable(answer), late, switches)) => (answer.time, late, switches),
        other => {
            let why = match other {
                Ok((Verdict::NotShown(Why::Passes(past)), late, _)) => {
                    let past = past.time.checked_add(late).unwrap_or(Duration::MAX);
                    let bound = past.rounded_above(task.deadline);
                    (format!("{} passed: the bound is at least {bound}", task.deadline), Some(past))
                }
                Ok((Verdict::NotShown(Why::Rate), ..)) => (
                    "requests arrive faster than the server serves \
                     them"
                        .into(),
                    None,
                ),
                Ok((Verdict::NotApplicable(assumption), ..)) => (assumption.to_string(), None),
                Ok((Verdict::NotShown(Why::Steps(n)), ..)) => (format!("given up after {n} steps"), None),
                Ok(_) => ("no bound".into(), None),
                Err(overflow) => (overflow.to_string(), None),
            };
            found.why = Some(why);
            return found;
        }
    };
    let own = task.cost().unwrap_or(time).min(time);
    let switching = switches.min(time.saturating_sub(own));
    let waits = time.saturating_sub(own).saturating_sub(switching);
    let by = format!("server {}", model.servers()[server].name);
    let term = |kind: &str, of: Option<&str>, time| TermPlan {
        kind: kind.into(),
        of: of.map(str::to_owned),
        count: None,
        time,
    };
    found.terms = vec![
        term("own", None, own),
        term("supply", Some(&by), waits),
        term("overhead", Some("context switch"), switching),
        term("jitter", None, task.jitter),
        term("overhead", Some("release"), late.saturating_sub(task.jitter)),
    ];
    found.terms.retain(|term| !term.time.is_zero() || term.kind == "own");
    found.response = time.checked_add(late).filter(|response| *response <= task.deadline);
    found
}

/// The server as the analysis takes it, whose budget is used up within `used`.
pub(crate) fn supply(server: &taut_model::Server, used: Duration) -> server::ServerSupply {
    server::ServerSupply { budget: server.budget(), period: server.period(), response: used }
}

/// The verdict on the response times of a task's jobs from release, how late the release is, and the time that
/// context switches take.
fn ask(
    model: &Model,
    server: usize,
    used: Duration,
    task: &RealTime,
) -> Result<(Verdict<server::ServerResponse>, Duration, Duration), Overflow> {
    let charges = Charges::of(&model.platform().overheads);
    let server = &model.servers()[server];
    let late = charges.released(task.jitter)?;
    let switches = charges.to_and_from()?;
    let cost = charges.job(task.cost().ok_or(Overflow)?)?;
    if task.arrival.is_aperiodic() {
        // From its arrival a job waits for no other one.
        let verdict = backlog::of_server(server, used, cost)?;
        let past = |verdict: ServerBacklog| ServerResponse {
            time: verdict.time,
            request: 1,
            budgets: verdict.budgets,
        };
        return Ok((verdict.map(past), late, switches));
    }
    let period = task.arrival.period();
    let requests = Requests { cost, period, jitter: late, deadline: task.deadline.saturating_sub(late) };
    let supply = supply(server, used);
    let verdict = match server.policy {
        ServerPolicy::Polling => polling::response(supply, requests)?,
        ServerPolicy::Deferrable => deferrable::response(supply, requests)?,
        ServerPolicy::Sporadic => sporadic::response(supply, requests)?,
    };
    Ok((verdict, late, switches))
}

/// Reports a real-time task in a server that is not shown to keep its deadline. A server that is not shown has its
/// own fault.
pub(crate) fn deadline(
    model: &Model,
    server: usize,
    name: &str,
    task: &RealTime,
    found: &Found,
    faults: &mut Vec<Fault>,
) {
    let Some((text, past)) = &found.why else { return };
    let server = &model.servers()[server];
    let place = KeyPath::value(format!("tasks.{name}.deadline"));
    let message = format!("task `{name}` is not shown to keep its deadline in server `{}`", server.name);
    let code = if past.is_some() { codes::DEADLINE_MISSED } else { codes::NOT_SHOWN };
    let cost = task.cost().unwrap_or(Duration::MAX);
    let budget = KeyPath::value(format!("servers.{}.budget", server.name));
    faults.push(
        Fault::error(code, message, place, text.clone())
            .also(
                KeyPath::value(format!("tasks.{name}.wcet.value")),
                format!("takes up to {}", cost.rounded()),
            )
            .also(budget, format!("{} every {}", server.budget(), server.period()))
            .note(format!("test: {}", found.test))
            .help("give the server a larger budget, or a shorter period"),
    );
}
