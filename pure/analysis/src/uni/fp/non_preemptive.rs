// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response time without preemption, fixed priority, one core; a CAN bus is one.
//!
//! ```text
//! Equation    s(q) = B + (q − 1)·C + Σ_{j∈hp} ⌈(s(q) + J_j + τ) / T_j⌉ · C_j,  for each job q of the busy window
//!             R = max_q { s(q) + C − (q − 1)·T + J }
//! Symbols     [ns] s start, C cost, B longest less urgent job, J jitter, T period, τ = 1 ns, the step of time
//! Assumes     A1 no self-suspension   A2 C > 0
//! Verdict     exact for free releases if B is attained, see [`blocking`]; else sufficient
//! Cost        pseudo-polynomial; stops at the first value past D
//! Source      [Davis07], which corrects the analysis used for CAN since 1994
//! ```
//!
//! The analysis before [Davis 2007] examined only the first job of a window, and called sets schedulable that are
//! not: a job delays its own successor through the more urgent jobs that it held back. This analysis examines every
//! job of the window of the task and all tasks above it.

use taut_time::Duration;

use super::limited_preemption;
use super::preemptive::{FpTask, Subject};
pub use super::window::WindowResponse;
use crate::{Assumption, Overflow, Verdict};

/// Bounds the response time of a task below `higher`. Ignores `subject.preemptible`.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn response(subject: &Subject, higher: &[FpTask]) -> Result<Verdict<WindowResponse>, Overflow> {
    if subject.task.cost.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::LastRegion));
    }
    limited_preemption::response(subject, subject.task.cost, higher)
}

/// B: the longest cost of a less urgent task, of which at least `granule` has run when a more urgent job arrives.
///
/// With the scheduler's step of time as the granule (1 ns here), B is attained in that model of time; zero gives the
/// supremum of continuous time, safe in both.
pub fn blocking(less_urgent: impl IntoIterator<Item = Duration>, granule: Duration) -> Duration {
    let longest = less_urgent.into_iter().max().unwrap_or(Duration::ZERO);
    longest.saturating_sub(granule)
}
