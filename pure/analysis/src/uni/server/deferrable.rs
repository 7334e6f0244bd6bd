// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Deferrable server: keeps its budget until its period ends, and is replenished in full when the next begins.
//!
//! ```text
//! To others   C = C_s, T = T_s, J = T_s − C_s: ⌈(w + T_s − C_s) / T_s⌉ · C_s
//! Equation    that of [`super`] with first = T_s − C_s + R_s
//! Verdict     sufficient
//! Source      [Strosnider95]; [BernatBurns99] the interference as jitter
//! ```
//!
//! **Why jitter.** A budget used at the end of its period and the next one used at the start of its own follow each
//! other without a gap: two budgets in 2·C_s, which a periodic task cannot use.
//!
//! **Why first.** When a backlog begins, x of the budget is used up, which took x of the period; so the next
//! replenishment is at most T_s − x away, and C_s − x is left until then. If more urgent tasks kept the server from
//! using any of that, they would take the core for longer than T_s − C_s at a stretch, against A1 (R_s ≤ T_s). So
//! within `first`, C_s has been served in any case.

use taut_time::Duration;

use super::{Requests, ServerBacklog, ServerResponse, ServerSupply};
use crate::uni::fp::preemptive::FpTask;
use crate::{Overflow, Verdict};
use taut_model::ArrivalPattern;

/// The server as less urgent tasks see it.
pub fn interference(server: ServerSupply) -> FpTask {
    let jitter = server.period.saturating_sub(server.budget);
    FpTask { cost: server.budget, period: server.period, jitter, arrivals: ArrivalPattern::Driven }
}

/// Bounds how long a request takes.
///
/// # Errors
/// [`Overflow`] if a time does not fit.
pub fn response(server: ServerSupply, requests: Requests) -> Result<Verdict<ServerResponse>, Overflow> {
    let unused = u128::from(server.period.saturating_sub(server.budget).as_ns());
    let response = u128::from(server.response.as_ns());
    let light = u128::from(server.period.as_ns()) + response;
    super::response(server, unused + response, Some(light), requests)
}

/// Bounds how long `service` takes from any instant on at which it waits.
///
/// # Errors
/// [`Overflow`] if a time does not fit.
pub fn backlog(server: ServerSupply, service: Duration) -> Result<Verdict<ServerBacklog>, Overflow> {
    let unused = u128::from(server.period.saturating_sub(server.budget).as_ns());
    super::backlog(server, unused + u128::from(server.response.as_ns()), service)
}
