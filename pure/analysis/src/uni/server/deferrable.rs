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
//! **Why first.** Requests wait from t on, an instant at the start of a backlog or in its middle. At t, u of the period's
//! budget is used up, which took u of the period: so the period ends in L ≤ T_s − u, and c = C_s − u is left until then.
//! The next budget is whole, and used up R_s after the end of the period (see Supply).
//!
//! - The server uses all of c in this period. Of the next budget the last c is served at a stretch in the worst case; so
//!   by L + R_s − c ≤ T_s − u + R_s − c = `first`, C_s has been served from t on.
//! - It uses d < c, and loses the rest. It has budget until the period ends; so that end comes before s + R_s, by which
//!   it would have used c, and in [t, t + L) others execute for L − d ≤ R_s − C_s (S1). By
//!   L + R_s − d ≤ R_s − C_s + R_s, C_s has been served, which is no later than `first` (A1, R_s ≤ T_s).
//!
//! Each further budget is replenished T_s later and used up within R_s, so C_s more is served by T_s after that.

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
