// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How long values wait for an aperiodic task: n of its jobs through its server.
//!
//! ```text
//! Equation    X(n) = T_s + y + f(n·(C + 2x))
//! Symbols     n the job that is in progress when the value is sent, and those up to the one that takes the value:
//!             1 + ⌈K / t⌉;  K how many values are in front, the value itself included;  t how many a job takes;
//!             T_s the server's period: for that long after a value has woken it, the dispatcher does not listen to the
//!             same channel;  y release overhead;  x context switch;  f the server's supply
//! Assumes     A1 the server serves this task alone, under the assumptions of `taut_analysis::uni::server`
//!             A2 each job executes for C at most, takes t values if as many wait, and never suspends
//! Verdict     sufficient
//! Cost        a step of f for each n
//! Source      `taut_analysis::uni::server` for f; the rest is proven here
//! ```
//!
//! **Why that is all.** While the task has a job, its next one is released at the instant at which that job is complete, if a
//! value waits then: what the server owes is a backlog without a gap. While it has none, the dispatcher finds the value
//! when it listens, within T_s. Behind the value nothing counts, and what may overtake it counts in K
//! ([`crate::channels::aperiodic`]).
//!
//! **What others are charged** is the server's budget, as always. The dispatcher wakes for a channel at most once in each
//! T_s, and once more when it listens again; the budget does not pay for these wakes, so the server is charged two context
//! switches for each but one ([`wakes`]).

use taut_analysis::overheads::Charges;
use taut_analysis::uni::server::{ServerBacklog, deferrable, polling, sporadic};
use taut_analysis::{Overflow, Verdict};
use taut_model::{Class, Model, RealTime, Server, ServerPolicy, Task};
use taut_plan::BacklogPlan;
use taut_time::Duration;

use super::serve;
use crate::channels::aperiodic;

/// How long `service` takes through a server whose budget is used up within `used`.
pub(crate) fn of_server(
    server: &Server,
    used: Duration,
    service: Duration,
) -> Result<Verdict<ServerBacklog>, Overflow> {
    let supply = serve::supply(server, used);
    match server.policy {
        ServerPolicy::Polling => polling::backlog(supply, service),
        ServerPolicy::Deferrable => deferrable::backlog(supply, service),
        ServerPolicy::Sporadic => sporadic::backlog(supply, service),
    }
}

/// X(n): from the send of a value to the end of the job that takes it, the last of `jobs`; `None` if it does not fit.
pub(crate) fn within(model: &Model, task: &RealTime, used: Duration, jobs: u64) -> Option<Duration> {
    let server = &model.servers()[task.server?];
    let charges = Charges::of(&model.platform().overheads);
    let service = charges.job(task.cost()?).ok()?.checked_mul(jobs)?;
    let served = of_server(server, used, service).ok()?.bound()?.time;
    server.period().checked_add(charges.released(Duration::ZERO).ok()?)?.checked_add(served)
}

/// How many jobs it takes until a value is handled that has `values` in front of it, itself included.
pub(crate) fn jobs(values: u64, takes: u32) -> u64 {
    1 + values.div_ceil(u64::from(takes.max(1)))
}

/// How often the dispatcher may wake in a period of a server for the channels of its aperiodic task, beyond the one wake that
/// a server is charged; 0 without such a task.
pub(crate) fn wakes(model: &Model, server: usize) -> u64 {
    let triggers = model.real_time().find_map(|(_, _, task)| {
        (task.server == Some(server) && task.arrival.is_aperiodic()).then(|| task.arrival.triggers().len())
    });
    triggers.map_or(0, |count| (2 * count as u64).saturating_sub(1))
}

/// What a plan says of the backlog of the aperiodic task in a server: for a value behind none, one, three and so on, up to
/// what the largest of its channels holds.
pub(crate) fn plan(model: &Model, used: Duration, tasks: &[&Task]) -> Vec<BacklogPlan> {
    let mut plans = Vec::new();
    let [Task { class: Class::RealTime(task), .. }] = tasks else { return plans };
    if !task.arrival.is_aperiodic() {
        return plans;
    }
    let channels = || task.arrival.triggers().iter().map(|id| model.channel(*id));
    let most = channels().map(aperiodic::capacity).max().unwrap_or(1);
    let takes = channels().map(|channel| channel.takes_per_release).min().unwrap_or(1);
    let mut behind = 0_u32;
    loop {
        let within = within(model, task, used, jobs(u64::from(behind) + 1, takes));
        plans.extend(within.map(|within| BacklogPlan { behind, within }));
        if behind + 1 >= most {
            return plans;
        }
        behind = behind.saturating_mul(2).saturating_add(1).min(most - 1);
    }
}
