// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The longest busy period of a core: how long it can take until no job is pending.
//!
//! ```text
//! Equation    L = B + Σ ⌈(L + J_i) / T_i⌉ · C_i, the least L > 0, over all tasks of the core
//! Symbols     [ns] L length, B kernel blocking, J jitter, C cost, T period or least time between arrivals
//! Assumes     A1 T > 0   A2 the core executes a job whenever one is pending: no job is suspended
//! Verdict     sufficient: no busy period is longer, under any policy that keeps the core busy
//! Cost        pseudo-polynomial; ends after `preemptive::STEPS_MAX` steps
//! Source      [Lehoczky90] the busy period; [Spuri96] under EDF, with jitter
//! ```
//!
//! **What it is for.** A busy period begins when a job is released on a core on which none is pending, and ends when none is
//! pending again. What is executed in it was released in it. Of a task of jitter J, at most ⌈(L + J) / T⌉ jobs are
//! released in a window of length L, so the work of a window of length L fits into it as soon as the equation holds. From
//! any instant, at most L passes until no job is pending: a change of mode waits for that long.

use taut_time::Duration;

use super::fp::preemptive::STEPS_MAX;
use super::utilisation::Utilisation;
use crate::{Assumption, Overflow, Verdict, Why};

/// A task of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// C, with the overheads of a job.
    pub cost: Duration,
    /// T.
    pub period: Duration,
    /// J, with the overheads of a release.
    pub jitter: Duration,
}

/// Bounds the length of every busy period of a core with these tasks; `blocking` is B.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn longest(tasks: &[Load], blocking: Duration) -> Result<Verdict<Duration>, Overflow> {
    if tasks.iter().any(|task| task.period.is_zero()) {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if !Utilisation::fit(tasks.iter().map(|task| (task.cost, task.period))).unwrap_or(false) {
        return Ok(Verdict::NotShown(Why::Rate));
    }
    let demand = |length: Duration| {
        tasks.iter().try_fold(blocking, |sum, task| {
            let reach = length.checked_add(task.jitter).ok_or(Overflow)?;
            // A busy period is never empty, so every task may be released in it at least once.
            let jobs = reach.as_ns().div_ceil(task.period.as_ns()).max(1);
            let work = task.cost.checked_mul(jobs).ok_or(Overflow)?;
            sum.checked_add(work).ok_or(Overflow)
        })
    };
    let mut length = demand(Duration::ZERO)?;
    for _ in 0..STEPS_MAX {
        let next = demand(length)?;
        if next == length {
            return Ok(Verdict::Schedulable(length));
        }
        length = next;
    }
    Ok(Verdict::NotShown(Why::Steps(STEPS_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(cost: u64, period: u64, jitter: u64) -> Load {
        let ns = Duration::from_ns;
        Load { cost: ns(cost), period: ns(period), jitter: ns(jitter) }
    }

    fn ns(tasks: &[Load], blocking: u64) -> Option<u64> {
        let found = longest(tasks, Duration::from_ns(blocking)).expect("fits in 64 bits");
        found.bound().map(|length| length.as_ns())
    }

    /// [Lehoczky90], the example with C = (26, 62) and T = (70, 100): seven jobs of the second task run in one busy
    /// period, which ends at 694.
    #[test]
    fn lehoczky90_busy_period() {
        assert_eq!(ns(&[load(26, 70, 0), load(62, 100, 0)], 0), Some(694));
    }

    #[test]
    fn jitter_and_blocking_lengthen_it() {
        assert_eq!(ns(&[load(3, 10, 0), load(4, 20, 0)], 0), Some(7));
        assert_eq!(ns(&[load(3, 10, 4), load(4, 20, 0)], 0), Some(10), "the second job comes after 6");
        assert_eq!(ns(&[load(3, 10, 0), load(4, 20, 0)], 4), Some(14));
    }

    #[test]
    fn a_core_that_is_full_has_none_if_anything_blocks() {
        assert_eq!(ns(&[load(5, 10, 0), load(5, 10, 0)], 0), Some(10));
        let full = longest(&[load(5, 10, 0), load(5, 10, 0)], Duration::from_ns(1));
        assert_eq!(full, Ok(Verdict::NotShown(Why::Steps(STEPS_MAX))));
        let over = longest(&[load(6, 10, 0), load(5, 10, 0)], Duration::ZERO);
        assert_eq!(over, Ok(Verdict::NotShown(Why::Rate)));
        let zero = longest(&[load(1, 0, 0)], Duration::ZERO);
        assert_eq!(zero, Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
    }

    /// An execution, unit by unit, in which each task is released as early as its jitter allows, and whenever it may, is
    /// busy for exactly as long.
    #[test]
    fn an_execution_attains_it() {
        let tasks = [load(2, 7, 3), load(3, 11, 0), load(1, 5, 6)];
        let bound = ns(&tasks, 2).expect("a bound");
        let (mut pending, mut busy) = (2, 0);
        for now in 0.. {
            if now > 0 && pending == 0 {
                break;
            }
            for task in &tasks {
                let (period, jitter) = (task.period.as_ns(), task.jitter.as_ns());
                // Jobs that arrived before are released together at the beginning.
                let released = |until: u64| (until + jitter) / period + 1;
                let new = if now == 0 { released(0) } else { released(now) - released(now - 1) };
                pending += new * task.cost.as_ns();
            }
            (pending, busy) = (pending - 1, busy + 1);
        }
        assert_eq!(busy, bound, "the worst case is attained");
    }
}
