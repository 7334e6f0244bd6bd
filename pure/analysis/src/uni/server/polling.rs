// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Polling server: looks for requests when its period begins, and gives up the rest of its budget when it finds none.
//!
//! ```text
//! To others   a periodic task: C = C_s, T = T_s, J = 0
//! Equation    that of [`super`] with first = T_s + R_s
//! Verdict     sufficient
//! Source      [Lehoczky87]; [Sprunt89]
//! ```
//!
//! **Why first.** A request that arrives just after the server looked waits for the next period, which begins within
//! T_s, and that budget is used up R_s later. A server that looks late because it was delayed only finds more. From an
//! instant in the middle of a backlog the same holds: what is left of the budget then is not counted, the next period
//! begins within T_s and finds requests, and so does each period after it.

use taut_time::Duration;

use super::{Requests, ServerBacklog, ServerResponse, ServerSupply};
use crate::uni::fp::preemptive::FpTask;
use crate::{Overflow, Verdict};
use taut_model::ArrivalPattern;

/// The server as less urgent tasks see it.
pub fn interference(server: ServerSupply) -> FpTask {
    let jitter = Duration::ZERO;
    FpTask { cost: server.budget, period: server.period, jitter, arrivals: ArrivalPattern::Driven }
}

/// Bounds how long a request takes.
///
/// # Errors
/// [`Overflow`] if a time does not fit.
pub fn response(server: ServerSupply, requests: Requests) -> Result<Verdict<ServerResponse>, Overflow> {
    let first = u128::from(server.period.as_ns()) + u128::from(server.response.as_ns());
    super::response(server, first, None, requests)
}

/// Bounds how long `service` takes from any instant on at which it waits.
///
/// # Errors
/// [`Overflow`] if a time does not fit.
pub fn backlog(server: ServerSupply, service: Duration) -> Result<Verdict<ServerBacklog>, Overflow> {
    let first = u128::from(server.period.as_ns()) + u128::from(server.response.as_ns());
    super::backlog(server, first, service)
}
