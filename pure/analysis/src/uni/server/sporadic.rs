// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sporadic server: used budget is replenished T_s after the server began to use it.
//!
//! ```text
//! To others   a periodic task: C = C_s, T = T_s, J = 0
//! Equation    that of [`super`] with first = T_s + R_s
//! Assumes     A4 the corrected rules: a replenishment is never more than was used, nor earlier than T_s after the
//!             server's level became busy, and each part is replenished on its own, however many there are
//! Verdict     sufficient
//! Source      [Sprunt89] the server; [Stanovich10] the corrections
//! ```
//!
//! **POSIX.** `SCHED_SPORADIC` as standardised does not satisfy A4: a job that runs past its budget, and
//! replenishments that are merged early, let the server take more than C_s in T_s, so the bounds of less urgent tasks
//! do not hold. The number of replenishments that it keeps (`sched_ss_max_repl`) may also be too small, so that
//! requests wait longer than here. Use these bounds only for a server with the corrected rules \[Stanovich10\].
//!
//! **Why first.** Let part i of the budget, c_i, be used up before the backlog began, and the parts after it in
//! between. So the server began to use part i, which is when its T_s starts, at least c_i + c_{i+1} + … before the
//! backlog. The part is replenished T_s later and used up R_s after that. The finer the parts, the closer the last
//! one comes to T_s + R_s, with the C_s before it at a stretch.

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
    super::response(server, first, Some(server.period.as_ns().into()), requests)
}

/// Bounds how long `service` takes from any instant on at which it waits.
///
/// # Errors
/// [`Overflow`] if a time does not fit.
pub fn backlog(server: ServerSupply, service: Duration) -> Result<Verdict<ServerBacklog>, Overflow> {
    let first = u128::from(server.period.as_ns()) + u128::from(server.response.as_ns());
    super::backlog(server, first, service)
}
