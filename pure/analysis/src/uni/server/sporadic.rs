// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sporadic server: what is used of the budget comes back T_s after the server began to use it.
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
//! **POSIX.** `SCHED_SPORADIC` as standardised does not keep A4: a job that runs past its budget, and parts that are
//! put together early, let it take more than C_s in T_s, and the bound of those below does not hold; and the number of
//! parts that it keeps (`sched_ss_max_repl`) may be too small, which makes requests wait longer than here. Use these
//! bounds for a server with the corrected rules only \[Stanovich10\].
//!
//! **Why first.** Part i of the budget, c_i, was used up before the backlog began, and the parts after it were used up
//! in between; so its use began, and its T_s counts from, at least c_i + c_{i+1} + … ago. It is back T_s later and used
//! R_s after that. The finer the parts, the closer the last one comes to T_s + R_s, with the C_s before it at a stretch.

use super::{Requests, Response, Server};
use crate::uni::fp::preemptive::{Release, Task};
use crate::{Overflow, Verdict};

/// What less urgent tasks see.
pub fn interference(server: Server) -> Task {
    let jitter = taut_time::Duration::ZERO;
    Task { cost: server.budget, period: server.period, jitter, release: Release::Driven }
}

/// Bounds how long a request takes.
///
/// # Errors
/// [`Overflow`] if a time does not fit.
pub fn response(server: Server, requests: Requests) -> Result<Verdict<Response>, Overflow> {
    let first = u128::from(server.period.as_ns()) + u128::from(server.response.as_ns());
    super::response(server, first, Some(server.period.as_ns().into()), requests)
}
