// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times of a whole core in one sweep, fixed priority, preemptive: for callers that ask very often.
//!
//! ```text
//! Equation    that of [`super::arbitrary`], for all tasks
//! Symbols     [ns] as there
//! Assumes     as there; A5 the tasks are in order of urgency, no two equally urgent
//! Verdict     sufficient; exact where that of [`super::arbitrary`] is
//! Cost        pseudo-polynomial; no allocation up to 10 000 steps, 64-bit numbers, a division only where a task
//!             releases twice in a step
//! Source      [Lehoczky90], [Tindell94]; starting values in the manner of [Davis08]
//! ```
//!
//! **One window for all.** When the window of a task ends at w, all jobs that this task and the tasks above it
//! released before w are served. A job of the next task cannot start before w, so its window is at least w + C long,
//! and what was counted below w stays counted: the sweep continues from there. It restarts where the next task's B is
//! smaller. For every task the sweep keeps when the next job comes, so a step is a comparison and an addition per
//! task.

use taut_model::ArrivalPattern;
use taut_time::Duration;

use super::preemptive;
use super::window::{self, Question};
use crate::{Assumption, Overflow, Verdict, Why};

/// Steps after which the sweep leaves the rest to the test of each task. Real sets need tens.
const STEPS_SWEPT: u32 = 10_000;

/// A task in order of urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepTask {
    /// C.
    pub cost: Duration,
    /// T: the period, or the least time between arrivals.
    pub period: Duration,
    /// D, from the arrival; any length.
    pub deadline: Duration,
    /// J.
    pub jitter: Duration,
    /// B.
    pub blocking: Duration,
}

/// What was found for a task, and what the sweep remembers of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweptResponse {
    /// R, from the arrival.
    pub response: Duration,
    /// When its next job is released, in the current window.
    next: u64,
}

/// Bounds the response times of all tasks, the most urgent first, into `levels`. Stops at the first task that is not
/// shown to keep its deadline, and gives its position; the tasks before it have bounds.
///
/// `levels` grows if it is shorter than `tasks`. Its content does not matter, so a caller can keep it for the next
/// call.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn responses(tasks: &[SweepTask], levels: &mut Vec<SweptResponse>) -> Result<Verdict<usize>, Overflow> {
    if levels.len() < tasks.len() {
        levels.resize(tasks.len(), SweptResponse::default());
    }
    let levels = levels.as_mut_slice();
    let mut steps = 0u32;
    // B + all jobs so far: the window's length, from below.
    let mut load = 0u64;
    let mut blocking = 0u64;
    for (at, task) in tasks.iter().enumerate() {
        let (cost, period, jitter) = (task.cost.as_ns(), task.period.as_ns(), task.jitter.as_ns());
        if period == 0 {
            return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
        }
        let (above, rest) = levels.split_at_mut(at);
        let higher = &tasks[..at];
        // 1. Where the window starts from.
        let mine = task.blocking.as_ns();
        if mine >= blocking {
            load = load.checked_add(mine - blocking).ok_or(Overflow)?;
        } else {
            load = restart(mine, higher, above)?;
        }
        blocking = mine;
        let Some(mut due) = task.deadline.as_ns().checked_sub(jitter) else {
            return Ok(Verdict::NotShown(Why::Passes(at)));
        };
        let mut response = 0;
        let mut before = 0u64;
        loop {
            // 2. Job q.
            load = load.checked_add(cost).ok_or(Overflow)?;
            loop {
                let mut grown = false;
                for (j, level) in higher.iter().zip(above.iter_mut()) {
                    if level.next < load {
                        let gap = load - level.next;
                        let period = j.period.as_ns();
                        let (jobs, time) = if gap <= period {
                            (1, period)
                        } else {
                            let jobs = gap.div_ceil(period);
                            (jobs, jobs.checked_mul(period).ok_or(Overflow)?)
                        };
                        level.next = level.next.checked_add(time).ok_or(Overflow)?;
                        let time = jobs.checked_mul(j.cost.as_ns()).ok_or(Overflow)?;
                        load = load.checked_add(time).ok_or(Overflow)?;
                        grown = true;
                    }
                }
                if load > due {
                    return Ok(Verdict::NotShown(Why::Passes(at)));
                }
                if !grown {
                    break;
                }
                steps += 1;
                if steps >= STEPS_SWEPT {
                    return one_by_one(tasks, at, levels);
                }
            }
            response = response.max(load.checked_add(jitter).ok_or(Overflow)? - before);
            // 3. Whether the next one is in the same window.
            before = before.checked_add(period).ok_or(Overflow)?;
            if load.checked_add(jitter).ok_or(Overflow)? <= before {
                break;
            }
            due = due.saturating_add(period);
            steps += 1;
            if steps >= STEPS_SWEPT {
                return one_by_one(tasks, at, levels);
            }
        }
        rest[0] = SweptResponse { response: Duration::from_ns(response), next: before - jitter };
    }
    Ok(Verdict::Schedulable(tasks.len()))
}

/// A window in which each task releases the jobs that its jitter held back, and nothing more.
fn restart(blocking: u64, higher: &[SweepTask], above: &mut [SweptResponse]) -> Result<u64, Overflow> {
    let mut load = blocking;
    for (j, level) in higher.iter().zip(above) {
        let (period, jitter) = (j.period.as_ns(), j.jitter.as_ns());
        let jobs = jitter / period + 1;
        level.next = jobs.checked_mul(period).ok_or(Overflow)? - jitter;
        let time = jobs.checked_mul(j.cost.as_ns()).ok_or(Overflow)?;
        load = load.checked_add(time).ok_or(Overflow)?;
    }
    Ok(load)
}

/// Analyses each task from `at` on by itself, as [`super::arbitrary`] does: that can detect U > 1, and repeating
/// jobs.
#[cold]
fn one_by_one(
    tasks: &[SweepTask],
    at: usize,
    levels: &mut [SweptResponse],
) -> Result<Verdict<usize>, Overflow> {
    let plain = |t: &SweepTask| preemptive::FpTask {
        cost: t.cost,
        period: t.period,
        jitter: t.jitter,
        arrivals: ArrivalPattern::Periodic,
    };
    let mut higher: Vec<_> = tasks[..at].iter().map(plain).collect();
    for (i, (task, level)) in tasks.iter().zip(levels).enumerate().skip(at) {
        if task.period.is_zero() {
            return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
        }
        let (deadline, blocking) = (task.deadline, task.blocking);
        let question = Question { task: plain(task), deadline, blocking, last: 1, higher: &higher };
        match window::search(&question)?.map(|r| r.from_arrival) {
            Verdict::Schedulable(response) => level.response = response,
            other => return Ok(other.map(|_| i)),
        }
        higher.push(plain(task));
    }
    Ok(Verdict::Schedulable(tasks.len()))
}
