// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The busy window that [`super::arbitrary`], [`super::limited_preemption`] and [`super::non_preemptive`] share.
//!
//! Job q of the window starts its last region, F long, at the least s with s = B + q·C − F + Σ (⌊(s + J_j)/T_j⌋ + 1)·C_j.
//! In whole nanoseconds that is w = B + q·C − (F − 1) + Σ ⌈(w + J_j)/T_j⌉·C_j with w = s + 1, and the job ends at
//! w + F − 1. F = 1 ns is full preemption, F = C is none.

use taut_time::Duration;

use super::preemptive::{FpTask, STEPS_MAX};
use crate::uni::utilisation::Utilisation;
use crate::{Overflow, Verdict, Why};

/// Bounds on response times, over all jobs of a busy window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowResponse {
    /// From the release to the completion. The job that attains it may differ from `job`.
    pub from_release: Duration,
    /// R: from the arrival to the completion.
    pub from_arrival: Duration,
    /// q: which job of the busy window attains R, from 1.
    pub job: u64,
    /// How many jobs of each more urgent task interfere with it, in the order given:
    /// R = B + q·C + Σ jobs · C_j − (q − 1)·T + J, exactly.
    pub jobs: Vec<u64>,
    /// Steps of the iteration.
    pub steps: u32,
}

/// The input of a search. Periods are more than 0, and 1 ≤ `last` ≤ `task.cost` or `last` = 1.
pub(super) struct Question<'a> {
    pub(super) task: FpTask,
    pub(super) deadline: Duration,
    pub(super) blocking: Duration,
    /// F in nanoseconds.
    pub(super) last: u64,
    pub(super) higher: &'a [FpTask],
}

/// The largest response time of a busy window, or the first one past the deadline; never an exact verdict.
pub(super) fn search(question: &Question<'_>) -> Result<Verdict<WindowResponse>, Overflow> {
    let Question { task, higher, .. } = *question;
    // 1. There is no bound if more arrives than is served.
    if overloaded(higher.iter().chain([&task]).map(|j| (j.cost, j.period))) {
        return Ok(Verdict::NotShown(Why::Rate));
    }
    let (cost, period, jitter) = (task.cost.as_ns(), task.period.as_ns(), task.jitter.as_ns());
    let fold = question.last - 1;
    let once = higher.iter().try_fold(0u64, |sum, j| sum.checked_add(j.cost.as_ns())).ok_or(Overflow)?;
    let most = jobs_that_differ(higher, task);
    let patience = patience(higher.len());
    let mut steps = 0;
    let mut first = question.blocking.as_ns().checked_add(cost).ok_or(Overflow)? - fold.min(cost);
    let mut w = first.checked_add(once).ok_or(Overflow)?;
    let mut length = w;
    let mut best = Best::default();
    for q in 1u64.. {
        // 2. Job q: the least w that solves the equation, starting from the job before.
        let before_it = u128::from(period) * u128::from(q - 1);
        let due = before_it + u128::from(question.deadline.as_ns());
        loop {
            if steps >= patience {
                return Ok(Verdict::NotShown(Why::Steps(steps)));
            }
            steps += 1;
            let next = demand(first, w, higher)?;
            let end = next.checked_add(fold).ok_or(Overflow)?;
            if u128::from(end) + u128::from(jitter) > due {
                best.look(end, before_it, jitter, q, w)?;
                let late = WindowResponse { from_arrival: best.last, ..best.answer(higher, steps, w, q)? };
                return Ok(Verdict::NotShown(Why::Passes(late)));
            }
            if next <= w {
                break;
            }
            w = next;
        }
        let end = w.checked_add(fold).ok_or(Overflow)?;
        best.look(end, before_it, jitter, q, w)?;
        // 3. The next job is in the same window if it arrives before the window ends.
        let arrival = (before_it + u128::from(period)).saturating_sub(u128::from(jitter));
        let closes = if fold == 0 {
            u128::from(w) <= arrival
        } else {
            closes(question, &mut length, arrival, &mut steps)?
        };
        if closes || most.is_some_and(|most| q >= most) {
            return Ok(Verdict::Schedulable(best.answer(higher, steps, best.w, best.q)?));
        }
        first = first.checked_add(cost).ok_or(Overflow)?;
        w = w.checked_add(cost).ok_or(Overflow)?;
    }
    Err(Overflow)
}

/// The worst response so far.
#[derive(Default)]
struct Best {
    from_release: u64,
    from_arrival: u64,
    q: u64,
    w: u64,
    /// R of the job examined last.
    last: Duration,
}

impl Best {
    fn look(&mut self, end: u64, before: u128, jitter: u64, q: u64, w: u64) -> Result<(), Overflow> {
        let arrival = u128::from(end) + u128::from(jitter);
        let response = u64::try_from(arrival.saturating_sub(before)).map_err(|_| Overflow)?;
        // The job is released when the window starts, or after that without jitter.
        let released = u64::try_from(before.saturating_sub(u128::from(jitter))).map_err(|_| Overflow)?;
        self.last = Duration::from_ns(response);
        self.from_release = self.from_release.max(end.saturating_sub(released));
        if response > self.from_arrival {
            (self.from_arrival, self.q, self.w) = (response, q, w);
        }
        Ok(())
    }

    fn answer(&self, higher: &[FpTask], steps: u32, w: u64, job: u64) -> Result<WindowResponse, Overflow> {
        let jobs = higher.iter().map(|j| jobs(w, j)).collect::<Result<_, _>>()?;
        Ok(WindowResponse {
            from_release: Duration::from_ns(self.from_release),
            from_arrival: Duration::from_ns(self.from_arrival),
            job,
            jobs,
            steps,
        })
    }
}

/// `fixed` + Σ ⌈(w + J) / T⌉ · C.
fn demand(fixed: u64, w: u64, tasks: &[FpTask]) -> Result<u64, Overflow> {
    tasks.iter().try_fold(fixed, |sum, j| {
        let time = jobs(w, j)?.checked_mul(j.cost.as_ns()).ok_or(Overflow)?;
        sum.checked_add(time).ok_or(Overflow)
    })
}

/// ⌈(w + J) / T⌉, and at least 1: a busy window is never empty.
fn jobs(w: u64, j: &FpTask) -> Result<u64, Overflow> {
    let reach = w.checked_add(j.jitter.as_ns()).ok_or(Overflow)?;
    Ok(reach.div_ceil(j.period.as_ns()).max(1))
}

/// Whether the window of all jobs that are at least as urgent ends by `arrival`. After a non-preemptive region, the
/// jobs that it held back still keep the core busy, so a job that ends before the next one arrives does not end the
/// window. `length` is a lower bound on the window, and grows. Past the step limit the window is taken to go on.
fn closes(
    question: &Question<'_>,
    length: &mut u64,
    arrival: u128,
    steps: &mut u32,
) -> Result<bool, Overflow> {
    let mut l = *length;
    while u128::from(l) <= arrival && *steps < patience(question.higher.len()) {
        *steps += 1;
        let own = [question.task];
        let next = demand(demand(question.blocking.as_ns(), l, question.higher)?, l, &own)?;
        if next <= l {
            return Ok(true);
        }
        l = next;
        *length = l;
    }
    Ok(false)
}

/// The number of jobs of a window after which R repeats or falls. Let H be a common multiple of all periods: if
/// U ≤ 1, w(q) + H satisfies the equation of job q + H/T as an upper bound, so that job responds no later than job q.
/// The jobs that are released together at the start, after all of their jitter, come first. `None` if H does not fit.
fn jobs_that_differ(higher: &[FpTask], task: FpTask) -> Option<u64> {
    let period = task.period.as_ns();
    let common = common_multiple(higher.iter().map(|j| j.period.as_ns()), period);
    common.and_then(|h| (h / period).checked_add(task.jitter.as_ns() / period)?.checked_add(1))
}

/// The least common multiple of some numbers above 0 and `first`; `None` if it does not fit.
pub(super) fn common_multiple(mut numbers: impl Iterator<Item = u64>, first: u64) -> Option<u64> {
    numbers.try_fold(first, |common, number| {
        let (mut a, mut b) = (common, number);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        (common / a).checked_mul(number)
    })
}

/// Steps after which an iteration over `tasks` tasks gives up: [`STEPS_MAX`], or fewer if each step is long.
pub(super) fn patience(tasks: usize) -> u32 {
    let work = 200_000_000 / u32::try_from(tasks).unwrap_or(u32::MAX).max(1);
    work.clamp(1_000, STEPS_MAX)
}

/// Whether U > 1, exactly, of tasks as (C, T) with T > 0.
pub(super) fn overloaded(tasks: impl Iterator<Item = (Duration, Duration)> + Clone) -> bool {
    // Shares in units of 2⁻⁶⁰, each off by less than one: mostly enough to decide.
    const ONE: u128 = 1 << 60;
    let (mut sum, mut count) = (0u128, 0);
    for (cost, period) in tasks.clone() {
        let share = (u128::from(cost.as_ns()) << 60).checked_div(u128::from(period.as_ns()));
        sum = sum.saturating_add(share.unwrap_or(u128::MAX));
        count += 1;
    }
    if sum > ONE {
        return true;
    }
    sum + count > ONE && Utilisation::of(tasks).is_none_or(|u| !u.fits())
}
