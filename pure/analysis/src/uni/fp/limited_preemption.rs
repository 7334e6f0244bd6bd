// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response time with limited preemption, fixed priority, one core.
//!
//! ```text
//! Equation    s(q) = B + q·C − F + Σ_{j∈hp} (⌊(s(q) + J_j) / T_j⌋ + 1) · C_j,  for each job q of the busy window
//!             R = max_q { s(q) + F − (q − 1)·T + J }
//! Symbols     [ns] s start of the last region, F its length, C cost, B blocking, J jitter, T period
//! Assumes     A1 no self-suspension   A2 0 < F ≤ C, and a job ends with that region
//!             A3 B is the longest region of a less urgent task, see [`super::blocking`]
//! Verdict     exact for free releases if B is attained; else sufficient
//! Cost        pseudo-polynomial; stops at the first value past D
//! Source      [Bril09] all jobs of the window; [Burns94] the equation, for the first job only
//! ```
//!
//! Nothing preempts a job once its last region has begun. The jobs that the region held back can delay the task's own
//! next job, even with D ≤ T, so the first job of a window need not be the slowest. The busy window is that of the
//! task and all tasks above it, and does not end with a job. [`burns94_first_job`] examines the first job only, as
//! the equation was first printed: **unsound**, kept to show the difference.
//!
//! **Floating regions**, whose place in a job is not known, do not shorten the task's own response: use
//! [`super::arbitrary`], with the same B.

use taut_time::Duration;

use super::preemptive::{self, FpTask, Subject};
pub use super::window::WindowResponse;
use super::window::{self, Question};
use crate::{Assumption, Overflow, Verdict, Why};

/// Bounds the response time of a task whose last region, `last` = F, is non-preemptive. Ignores
/// `subject.preemptible`.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn response(
    subject: &Subject,
    last: Duration,
    higher: &[FpTask],
) -> Result<Verdict<WindowResponse>, Overflow> {
    let own = subject.task;
    if own.period.is_zero() || higher.iter().any(|j| j.period.is_zero()) {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if last.is_zero() || last > own.cost {
        return Ok(Verdict::NotApplicable(Assumption::LastRegion));
    }
    let (deadline, blocking) = (subject.deadline, subject.blocking);
    let found = window::search(&Question { task: own, deadline, blocking, last: last.as_ns(), higher })?;
    let exact = preemptive::is_exact(&Subject { preemptible: true, ..*subject }, higher);
    Ok(match found {
        Verdict::NotShown(Why::Passes(late)) if exact => Verdict::Unschedulable(late),
        found => found,
    })
}

/// **Unsound**: R of the first job of the busy window only, as in \[Burns94\]; later jobs may be slower. For
/// comparison, never for a verdict. `None` if there is no such bound up to the deadline.
///
/// # Errors
/// [`Overflow`] as for [`response`].
pub fn burns94_first_job(
    subject: &Subject,
    last: Duration,
    higher: &[FpTask],
) -> Result<Option<Duration>, Overflow> {
    // A task that comes only once has one job in its window.
    let once = FpTask { period: Duration::MAX, ..subject.task };
    let found = response(&Subject { task: once, ..*subject }, last, higher)?;
    Ok(found.bound().map(|r| r.from_arrival))
}
