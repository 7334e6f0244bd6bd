// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response time with deadlines of any length, fixed priority, preemptive, one core.
//!
//! ```text
//! Equation    w(q) = B + q·C + Σ_{j∈hp} ⌈(w(q) + J_j) / T_j⌉ · C_j,  q = 1, 2, … while w(q) > q·T − J
//!             R = max_q { w(q) − (q − 1)·T + J },  from the release: max_q { w(q) − max(0, (q − 1)·T − J) }
//! Symbols     [ns] w end of job q in the window, R from arrival, C cost, B blocking, J jitter, T period
//! Assumes     A1 no self-suspension   A2 preemptive but for sections that B accounts for
//!             A3 J is the longest time from arrival to release   A4 jobs of a task run in order of arrival
//! Verdict     exact as [`super::preemptive`] is: free releases, B attained, preemptible
//! Cost        pseudo-polynomial; stops at the first value past D
//! Source      [Lehoczky90] the window; [Tindell94] J and B
//! ```
//!
//! With a deadline longer than the period, a job may wait for its predecessor, and the worst job need not be the
//! first of its window: with D > T the equation of [`super::preemptive`] is too small.
//!
//! **It ends.** Whole numbers decide whether U > 1 before anything is iterated. With U ≤ 1, jobs a common multiple of
//! all periods later respond no later, so their number bounds the window even where U = 1 keeps it open for ever.
//! [`super::preemptive::STEPS_MAX`] ends the search where that is too many. The three answers differ:
//! [`crate::Why::Rate`], [`crate::Why::Steps`], and a value past the deadline. [`Duration::MAX`] as the deadline asks
//! for the bound alone.
//!
//! [`Duration::MAX`]: taut_time::Duration::MAX

use super::preemptive::{self, FpTask, Subject};
pub use super::window::WindowResponse;
use super::window::{self, Question};
use crate::{Assumption, Overflow, Verdict, Why};

/// Bounds the response time of a task below `higher`: all other tasks of the core that are at least as urgent.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn response(subject: &Subject, higher: &[FpTask]) -> Result<Verdict<WindowResponse>, Overflow> {
    let own = subject.task;
    if own.period.is_zero() || higher.iter().any(|j| j.period.is_zero()) {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    let (deadline, blocking) = (subject.deadline, subject.blocking);
    let found = window::search(&Question { task: own, deadline, blocking, last: 1, higher })?;
    Ok(match found {
        Verdict::NotShown(Why::Passes(late)) if preemptive::is_exact(subject, higher) => {
            Verdict::Unschedulable(late)
        }
        found => found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_model::ArrivalPattern;

    use taut_time::Duration;

    fn task(c: u64, t: u64, j: u64) -> FpTask {
        let ns = Duration::from_ns;
        FpTask { cost: ns(c), period: ns(t), jitter: ns(j), arrivals: ArrivalPattern::Periodic }
    }

    fn subject(task: FpTask, deadline: u64, blocking: u64) -> Subject {
        Subject {
            task,
            deadline: Duration::from_ns(deadline),
            blocking: Duration::from_ns(blocking),
            blocking_attained: true,
            preemptible: true,
        }
    }

    fn bound(task: FpTask, blocking: u64, higher: &[FpTask]) -> Option<(u64, u64, u64)> {
        let verdict = response(&subject(task, u64::MAX, blocking), higher).expect("it fits");
        verdict.bound().map(|r| (r.from_arrival.as_ns(), r.from_release.as_ns(), r.job))
    }

    #[test]
    fn jitter_counts_from_the_arrival() {
        // Two jobs are released together: the first after a wait of 25.
        assert_eq!(bound(task(4, 20, 25), 0, &[]), Some((29, 8, 1)));
        assert_eq!(bound(task(4, 20, 0), 3, &[task(2, 10, 9)]), Some((11, 11, 1)));
    }

    #[test]
    fn exactly_full_has_a_bound() {
        let higher = [task(1, 3, 0), task(1, 3, 0)];
        assert_eq!(bound(task(1, 3, 0), 0, &higher), Some((3, 3, 1)));
        // The window never ends; the jobs repeat.
        assert_eq!(bound(task(1, 3, 0), 5, &higher).map(|b| b.0), Some(15 + 3 - 6 + 6));
        assert_eq!(bound(task(2, 3, 0), 0, &higher), None);
    }

    #[test]
    fn ways_to_give_up() {
        let full = [task(1, 2, 0)];
        let over = response(&subject(task(2, 3, 0), u64::MAX, 0), &full);
        assert_eq!(over, Ok(Verdict::NotShown(Why::Rate)));
        let late = response(&subject(task(1, 3, 0), 1, 0), &full).expect("it fits");
        assert!(matches!(late, Verdict::Unschedulable(r) if r.from_arrival.as_ns() == 2));
        // Coprime periods near 2³², nearly full: no end in sight.
        let near = [task(4_294_967_290, 4_294_967_291, 4_294_967_290)];
        let slow = response(&subject(task(1, 4_294_967_279, 4_294_967_278), u64::MAX, 4_294_967_000), &near);
        assert!(matches!(slow, Ok(Verdict::NotShown(Why::Steps(_) | Why::Rate)) | Err(Overflow)), "{slow:?}");
        assert_eq!(bound(task(u64::MAX, u64::MAX, 0), 0, &[]), Some((u64::MAX, u64::MAX, 1)));
        assert_eq!(response(&subject(task(u64::MAX, u64::MAX, 0), u64::MAX, 1), &[]), Err(Overflow));
        let zero = response(&subject(task(1, 0, 0), 1, 0), &[]);
        assert_eq!(zero, Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
    }
}
