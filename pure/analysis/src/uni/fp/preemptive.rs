// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response time, fixed priority, preemptive, one core.
//!
//! ```text
//! Equation    w = C + B + Σ_{j∈hp} ⌈(w + J_j) / T_j⌉ · C_j;  R = w + J
//! Symbols     [ns] w from release, R from arrival, C cost, B blocking, J jitter, T period, D deadline
//! Assumes     A1 0 < D ≤ T   A2 no self-suspension   A3 preemptive but for sections that B accounts for
//!             A4 J is the longest time from arrival to release, and D includes it
//! Verdict     exact for free releases, sufficient otherwise; see below
//! Cost        pseudo-polynomial; stops at the first value past D
//! Source      [JosephPandya86] "Finding response times in a real-time system", Computer Journal 29(5)
//!             [Audsley93] "Applying new scheduling theory to static priority pre-emptive scheduling",
//!             Software Engineering Journal 8(5), equations 3 to 6: B and J
//!             [Tindell94] "An extendible approach for analyzing fixed priority hard real-time tasks",
//!             Real-Time Systems 6(2)
//! ```
//!
//! **Two response times.** Tools differ in what they call R: some measure from the release, some from the arrival.
//! Here each has its own name, and the deadline counts from the arrival.
//!
//! **When it is exact.** With A1 the worst job is the first of a busy window in which every more urgent task is
//! released at once, after all of its jitter, and then as often as it may (critical instant). Some run does that if
//! every task's phase is free ([`ArrivalPattern::is_free`]). Tasks with a common start
//! ([`ArrivalPattern::Phased`]) do it if all their offsets and jitters are equal. Otherwise the instant may never
//! come, so a bound past the deadline means "not shown". Ignoring offsets is sound in every case: it only adds
//! runs. B must be attained as well; and a task with a non-preemptive section of its own may finish earlier than
//! the equation says, because nothing interferes within the section: both make the answer "not shown" too. So does
//! an equally urgent task: the equation lets its later jobs interfere, and where equals are served in order of
//! arrival they do not. `higher` has no priorities, so a caller that puts such a task into it sets
//! [`Subject::blocking_attained`] = false. In dense time, B by a section that starts just before the release is a
//! supremum; w, as the least fixed point, is continuous from the left in B, so if the bound is past the deadline,
//! some run is, too.
//!
//! **It ends.** w never falls and grows by at least 1 ns a step, and the first value with R > D ends the search.
//! Where that would take too long, [`STEPS_MAX`] ends it sooner, with an answer that says so. Past D, the result is
//! the equation's value for the window that ends at D: more than D, at most the true value, and made of all jobs
//! that come before the deadline.

use taut_model::ArrivalPattern;
use taut_time::Duration;

use crate::{Assumption, Overflow, Verdict, Why};

/// Iterations after which the search gives up. Real sets need tens.
pub const STEPS_MAX: u32 = 1_000_000;

/// A task as the theorem needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpTask {
    /// C.
    pub cost: Duration,
    /// T: the period, or the least time between arrivals.
    pub period: Duration,
    /// J.
    pub jitter: Duration,
    /// When its jobs arrive.
    pub arrivals: ArrivalPattern,
}

/// The task under analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The task itself.
    pub task: FpTask,
    /// D, from the arrival.
    pub deadline: Duration,
    /// B.
    pub blocking: Duration,
    /// Whether some run attains B while everything else is at its worst. Also false if one of the interfering tasks
    /// is equally urgent.
    pub blocking_attained: bool,
    /// Whether the task is preemptible throughout.
    pub preemptible: bool,
}

/// A bound on the response time of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FpResponse {
    /// w: from the release to the completion.
    pub from_release: Duration,
    /// R = w + J: from the arrival to the completion.
    pub from_arrival: Duration,
    /// How many jobs of each more urgent task interfere, in the order given:
    /// w = C + B + Σ jobs · C_j, exactly.
    pub jobs: Vec<u64>,
    /// Steps of the iteration.
    pub steps: u32,
}

/// Bounds the response time of a task below `higher`: all other tasks of the core that are at least as urgent.
///
/// # Errors
/// [`Overflow`] if the first value past the deadline does not fit in 64 bits.
pub fn response(subject: &Subject, higher: &[FpTask]) -> Result<Verdict<FpResponse>, Overflow> {
    response_from(Duration::ZERO, subject, higher)
}

/// The same, if w is known to be at least `least`: the iteration starts there, and finds the same bound sooner.
///
/// Two such values, if nothing else changes: after a task is added above, the old w plus the C of that task; for
/// the next task in order of urgency, the w of the task before plus the C of the next one, if B does not fall.
///
/// # Errors
/// As for [`response`].
pub fn response_from(
    least: Duration,
    subject: &Subject,
    higher: &[FpTask],
) -> Result<Verdict<FpResponse>, Overflow> {
    let own = subject.task;
    if own.period.is_zero() || higher.iter().any(|j| j.period.is_zero()) {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if subject.deadline.is_zero() || subject.deadline > own.period {
        return Ok(Verdict::NotApplicable(Assumption::ConstrainedDeadline));
    }
    let fixed = u128::from(own.cost.as_ns()) + u128::from(subject.blocking.as_ns());
    let demand = |w: u128| {
        higher.iter().try_fold(fixed, |sum, j| {
            jobs(w, j).checked_mul(u128::from(j.cost.as_ns())).and_then(|time| sum.checked_add(time))
        })
    };
    // 1. The longest window that keeps the deadline; below it the value is the least one that solves the equation.
    let limit = u128::from(subject.deadline.as_ns().saturating_sub(own.jitter.as_ns()));
    // 2. The least demand: every more urgent task is released at least once.
    let once = higher.iter().fold(fixed, |sum, j| sum + u128::from(j.cost.as_ns()));
    let mut w = once.max(u128::from(least.as_ns()));
    let mut steps = 0;
    while w <= limit && own.jitter <= subject.deadline {
        if steps == STEPS_MAX {
            return Ok(Verdict::NotShown(Why::Steps(steps)));
        }
        steps += 1;
        // 3. The equation, until w no longer changes.
        let next = demand(w).ok_or(Overflow)?;
        if next == w {
            let found = answer(w, own, steps, higher, |j| jobs(w, j))?;
            return Ok(Verdict::Schedulable(found));
        }
        w = next;
    }
    // 4. No window up to the limit is long enough. The demand at the limit is more than the limit, and at most the
    // true value; it counts every job that comes before the deadline.
    let past = answer(demand(limit).ok_or(Overflow)?, own, steps, higher, |j| jobs(limit, j))?;
    Ok(verdict_past(subject, higher, past))
}

/// ⌈(w + J) / T⌉, and at least 1: a busy window is never empty. `w` fits in 64 bits.
fn jobs(w: u128, j: &FpTask) -> u128 {
    let reach = w + u128::from(j.jitter.as_ns());
    let count = match u64::try_from(reach) {
        // 64-bit division is several times faster.
        Ok(reach) => u128::from(reach.div_ceil(j.period.as_ns())),
        Err(_) => reach.div_ceil(u128::from(j.period.as_ns())),
    };
    count.max(1)
}

fn answer(
    w: u128,
    own: FpTask,
    steps: u32,
    higher: &[FpTask],
    count: impl Fn(&FpTask) -> u128,
) -> Result<FpResponse, Overflow> {
    let from_release = Duration::from_ns(u64::try_from(w).map_err(|_| Overflow)?);
    let from_arrival = from_release.checked_add(own.jitter).ok_or(Overflow)?;
    let jobs = higher.iter().map(|j| u64::try_from(count(j)).map_err(|_| Overflow));
    Ok(FpResponse { from_release, from_arrival, jobs: jobs.collect::<Result<_, _>>()?, steps })
}

fn verdict_past(subject: &Subject, higher: &[FpTask], past: FpResponse) -> Verdict<FpResponse> {
    if is_exact(subject, higher) {
        Verdict::Unschedulable(past)
    } else {
        Verdict::NotShown(Why::Passes(past))
    }
}

/// Whether some run attains the equation's value.
pub fn is_exact(subject: &Subject, higher: &[FpTask]) -> bool {
    let mut common = None;
    let together = higher.iter().chain([&subject.task]).all(|task| match task.arrivals {
        ArrivalPattern::Periodic | ArrivalPattern::Sporadic => true,
        ArrivalPattern::Driven => false,
        ArrivalPattern::Phased(offset) => {
            *common.get_or_insert((offset, task.jitter)) == (offset, task.jitter)
        }
    });
    together && subject.preemptible && subject.blocking_attained
}
