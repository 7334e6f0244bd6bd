// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processor demand, EDF, preemptive, one core; searched by QPA.
//!
//! ```text
//! Equation    h(t) = Σ max(0, ⌊(t + J_i − D_i) / T_i⌋ + 1) · C_i;  all deadlines are kept iff h(t) ≤ t for all t
//! Symbols     [ns] C cost, T period or least time between arrivals, D deadline from the arrival, any length, J jitter
//! Assumes     A1 preemptive, no self-suspension   A2 J is the longest time from arrival to release, and is part of D
//! Verdict     exact for free arrivals, and for a common start without jitter; sufficient otherwise
//! Cost        pseudo-polynomial; limited
//! Source      [Baruah90] the demand; [Spuri96] with jitter; [ZhangBurns09] QPA; the horizon is in `horizon`
//! ```
//!
//! **QPA.** h never falls. So if h(t) < t, then h(s) ≤ h(t) ≤ s for all s from h(t) to t, and the search continues at
//! h(t). If h(t) = t, it continues at the last deadline before t. It ends below the shortest deadline.
//!
//! **It ends.** t falls by at least 1 ns a step. Where that would take too long, [`STEPS_MAX`] and [`TERMS_MAX`] end
//! the search sooner, with an answer that says so.

use taut_model::{ArrivalPattern, SchedulingPolicy, TaskSet};
use taut_time::Duration;

use super::horizon::{Horizon, horizon};
use crate::{Assumption, Overflow, Verdict, Why};

/// Steps after which the search gives up; the search for the horizon has the same limit. Real sets need tens.
pub const STEPS_MAX: u32 = 2_000_000;

/// The same limit for terms of sums, for sets of very many tasks: some seconds.
pub const TERMS_MAX: u64 = 400_000_000;

/// A task as the theorem needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdfTask {
    /// C, more than 0.
    pub cost: Duration,
    /// T: the period, or the least time between arrivals; more than 0.
    pub period: Duration,
    /// D, from the arrival.
    pub deadline: Duration,
    /// J.
    pub jitter: Duration,
}

/// What the search found on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Windows up to this length can be too short; if none of them is, no longer one is.
    pub horizon: Duration,
    /// Windows that the search examined.
    pub steps: u32,
    /// The window that is too short. None if all deadlines are kept, or if U > 1.
    pub short: Option<DemandWindow>,
}

/// A window that is too short: `demand` + `blocking` > `length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemandWindow {
    /// t.
    pub length: Duration,
    /// h(t): the execution that is due within it.
    pub demand: Duration,
    /// b(t): the execution that may come first although it is due later.
    pub blocking: Duration,
    /// The task and the resource of the section that blocks.
    pub blocked_by: Option<(usize, usize)>,
}

/// Whether tasks that share no resources keep their deadlines. `exact`: their arrivals are free, so that in some run
/// all of them arrive at once and then as often as they may.
///
/// # Errors
/// [`Overflow`] if a horizon or the demand of a window does not fit in 64 bits.
pub fn demand(tasks: &[EdfTask], exact: bool) -> Result<Verdict<Demand>, Overflow> {
    if tasks.iter().any(|task| task.period.is_zero()) {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    let rows: Vec<Row> = tasks.iter().map(Row::new).collect();
    Ok(match search(&rows, Duration::ZERO, &[], |_| None)? {
        Found::Fits(found) => Verdict::Schedulable(found),
        Found::Short(found) if exact => Verdict::Unschedulable(found),
        Found::Short(found) => Verdict::NotShown(Why::Passes(found)),
        // No arrivals make up for U > 1.
        Found::Rate => Verdict::Unschedulable(Demand { horizon: Duration::ZERO, steps: 0, short: None }),
        Found::Steps(steps) => Verdict::NotShown(Why::Steps(steps)),
    })
}

/// The same for a core of a set, as if its tasks shared no resources.
///
/// # Errors
/// As for [`demand`].
pub fn core(set: &TaskSet, core: usize) -> Result<Verdict<Demand>, Overflow> {
    if !is_edf(set, core) {
        return Ok(Verdict::NotApplicable(Assumption::Edf));
    }
    let tasks: Vec<EdfTask> = set.on_core(core).map(|at| EdfTask::of(set, at)).collect();
    demand(&tasks, is_exact(set, core))
}

impl EdfTask {
    /// A task of a set.
    pub fn of(set: &TaskSet, at: usize) -> Self {
        let task = &set.tasks()[at];
        Self { cost: set.cost(at), period: task.period, deadline: task.deadline, jitter: task.jitter }
    }
}

/// Whether a core is under EDF or has no tasks.
pub(crate) fn is_edf(set: &TaskSet, core: usize) -> bool {
    set.on_core(core).next().is_none() || set.cores()[core] == SchedulingPolicy::Edf
}

/// Whether in some run all tasks of a core arrive at once and then as often as they may.
fn is_exact(set: &TaskSet, core: usize) -> bool {
    let (mut free, mut together, mut common) = (true, true, None);
    for task in set.on_core(core).map(|at| &set.tasks()[at]) {
        match task.arrivals {
            ArrivalPattern::Phased(offset) => {
                free = false;
                together &= *common.get_or_insert(offset) == offset && task.jitter.is_zero();
            }
            ArrivalPattern::Periodic | ArrivalPattern::Sporadic => together = false,
            ArrivalPattern::Driven => (free, together) = (false, false),
        }
    }
    free || together
}

/// A task in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) cost: u64,
    pub(crate) period: u64,
    /// D − J: from the latest release to the deadline.
    pub(crate) due: u64,
    pub(crate) jitter: u64,
}

/// How a search ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    Fits(Demand),
    Short(Demand),
    Rate,
    Steps(u32),
}

/// What may run first: how long, and the task and the resource of the section.
pub(crate) type Blocking = Option<(u64, usize, usize)>;

impl Row {
    pub(crate) fn new(task: &EdfTask) -> Self {
        Self {
            cost: task.cost.as_ns(),
            period: task.period.as_ns(),
            due: task.deadline.saturating_sub(task.jitter).as_ns(),
            jitter: task.jitter.as_ns(),
        }
    }

    fn demand(&self, window: u64) -> u128 {
        match window.checked_sub(self.due) {
            Some(left) => u128::from(left / self.period + 1) * u128::from(self.cost),
            None => 0,
        }
    }
}

/// Looks for a window with h(t) + b(t) > t. `blocking` is b, which is zero from `at_least` on. h + b must never fall,
/// and must rise only at deadlines and at `rises`.
pub(crate) fn search(
    rows: &[Row],
    at_least: Duration,
    rises: &[u64],
    blocking: impl Fn(u64) -> Blocking,
) -> Result<Found, Overflow> {
    let Some(shortest) = rows.iter().map(|row| row.due).min() else {
        return Ok(Found::Fits(Demand { horizon: Duration::ZERO, steps: 0, short: None }));
    };
    let horizon = match horizon(rows)? {
        Horizon::Before(horizon) => horizon.max(at_least.as_ns()),
        Horizon::Rate => return Ok(Found::Rate),
        Horizon::Steps(steps) => return Ok(Found::Steps(steps)),
    };
    let mut steps = 0;
    let mut terms = 0;
    let last_before = |window: u64| {
        // No job is due in a window shorter than `shortest`.
        let rises = rises.iter().copied().filter(|&rise| shortest <= rise && rise < window);
        rises.max().max(last_before(rows, window))
    };
    let mut next = last_before(horizon);
    let result = |steps, short| Demand { horizon: Duration::from_ns(horizon), steps, short };
    while let Some(window) = next {
        if terms > TERMS_MAX || steps > STEPS_MAX {
            return Ok(Found::Steps(steps));
        }
        terms += rows.len() as u64;
        steps += 1;
        let mut demand = 0u128;
        for row in rows {
            demand = demand.checked_add(row.demand(window)).ok_or(Overflow)?;
        }
        let first = blocking(window);
        let needed = demand + first.map_or(0, |(time, ..)| u128::from(time));
        if needed > u128::from(window) {
            let short = DemandWindow {
                length: Duration::from_ns(window),
                demand: Duration::from_ns(u64::try_from(demand).map_err(|_| Overflow)?),
                blocking: Duration::from_ns(first.map_or(0, |(time, ..)| time)),
                blocked_by: first.map(|(_, task, resource)| (task, resource)),
            };
            return Ok(Found::Short(result(steps, Some(short))));
        }
        let needed = u64::try_from(needed).map_err(|_| Overflow)?;
        if needed <= shortest {
            break;
        }
        next = if needed < window {
            Some(needed)
        } else {
            terms += rows.len() as u64;
            last_before(window)
        };
    }
    Ok(Found::Fits(result(steps, None)))
}

/// The last deadline before `window`, if all tasks are released at 0.
fn last_before(rows: &[Row], window: u64) -> Option<u64> {
    let last = |row: &Row| {
        let left = window.checked_sub(row.due)?.checked_sub(1)?;
        Some(row.due + left / row.period * row.period)
    };
    rows.iter().filter_map(last).max()
}
