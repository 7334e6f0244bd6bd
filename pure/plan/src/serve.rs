// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the plan says of servers.
//!
//! To those below, a server is a task that uses its budget once per period, a deferrable one with jitter of T − C: two
//! budgets back to back. It is charged two context switches per period, as a job; those of further requests within a
//! budget are part of it. That it gets its budget within every period is shown as for a task without jitter.

use taut_model::{Class, Model, ServerPolicy};
use taut_time::Duration;

use crate::ServerPlan;
use crate::seats::{Seats, Who};
use crate::shared::Shared;

/// All servers, in the manifest's order.
pub(crate) fn servers(model: &Model, seats: &Seats<'_>, shared: Option<&Shared>) -> Vec<ServerPlan> {
    let mut plans = Vec::with_capacity(model.servers().len());
    for (i, seat) in seats.seats.iter().enumerate() {
        let Who::Server(at) = seat.who else { continue };
        let server = &model.servers()[at];
        let bound = seats.bound(i).filter(|_| shared.is_none());
        let response = bound.map(|bound| bound.from_arrival).filter(|response| *response <= server.period());
        let runs_in_it = |class: &Class| match class {
            Class::BestEffort(best_effort) => best_effort.server.as_deref() == Some(&*server.name),
            Class::RealTime(_) => false,
        };
        let tasks = model.tasks().iter().filter(|task| runs_in_it(&task.class));
        plans.push(ServerPlan {
            name: server.name.clone(),
            policy: server.policy,
            cpu: model.platform().cores[seat.core],
            cpu_reason: seat.core_reason.clone(),
            priority: seat.priority,
            priority_reason: seat.priority_reason.clone(),
            budget: server.budget(),
            period: server.period(),
            response,
            served: response.and_then(|response| served(server, response)),
            tasks: tasks.map(|task| task.name.clone()).collect(),
        });
    }
    plans
}

/// How long a request of a whole budget takes if nothing waits before it, whatever was served just before: until the
/// first whole budget is used up, by [`taut_analysis::uni::server`].
fn served(server: &taut_model::Server, response: Duration) -> Option<Duration> {
    let first = match server.policy {
        ServerPolicy::Polling | ServerPolicy::Sporadic => server.period(),
        ServerPolicy::Deferrable => server.period().saturating_sub(server.budget()),
    };
    first.checked_add(response)
}
