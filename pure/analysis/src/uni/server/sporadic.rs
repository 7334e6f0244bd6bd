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
//! **Why first.** Requests wait from t on, an instant at the start of a backlog or in its middle. The parts of the budget
//! are C_s together, always. Each part that is not there at t was used before t, from an instant τ < t on at which it was
//! there and requests waited, and comes back at τ + T_s < t + T_s. So by t + T_s each part is there or was, at t or later;
//! it is used up within R_s of that, as all parts that are there together are at most C_s (see Supply). By t + T_s + R_s,
//! C_s has been served from t on. As requests still wait, the T_s of a part starts when the part is there, not when it is
//! used: so each part is there again T_s later, and C_s more is served in each further T_s. The finer the parts, the
//! closer the last one comes to T_s + R_s, with the C_s before it at a stretch.

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
