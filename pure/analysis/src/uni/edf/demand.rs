// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processor demand, EDF, preemptive, one core; searched by QPA.
//!
//! ```text
//! Equation    h(t) = Σ max(0, ⌊(t + J_i − D_i) / T_i⌋ + 1) · C_i;  all deadlines are kept iff h(t) ≤ t for all t
//! Symbols     [ns] C cost, T period or least time between arrivals, D deadline from the arrival, any length, J jitter
//! Assumes     A1 preemptive, no self-suspension   A2 J is the longest time from arrival to release, and is in D
//! Verdict     exact for free arrivals, and for a common start without jitter; sufficient otherwise
//! Cost        pseudo-polynomial; limited
//! Source      [Baruah90] the demand; [Spuri96] with jitter; [ZhangBurns09] QPA and the horizon
//! ```
//!
//! **Horizon.** A first t with h(t) > t lies before each of these, so the smallest is taken:
//! - L_b, the busy window that starts with all releases at once: the least L > 0 with L = Σ ⌈(L + J) / T⌉ · C. What
//!   is due by t > L_b and released after L_b makes h(t − L_b) > t − L_b, so t is not the first;
//! - if U < 1, max(D − J − T, Σ (T − D + J) · U_i / (1 − U)). Shares are rounded up to 2⁻⁶⁴, which only
//!   makes it longer, and it is left out where they then reach 1;
//! - 0, if D − J ≥ T for all;
//! - the least common multiple of all T and max(D − J − T), after which h repeats itself.
//!
//! With U = 1 the formula with U is none. U itself is compared with 1 exactly.
//!
//! **QPA.** h never falls. So if h(t) < t then h(s) ≤ h(t) ≤ s for all s from h(t) to t, and the search goes on at
//! h(t); if h(t) = t it goes on at the last deadline before t. It ends below the shortest deadline.
//!
//! **It ends.** t falls by 1 ns a step at least; [`STEPS_MAX`] and [`TERMS_MAX`] end it sooner where that would take too long, with an
//! answer of its own.

use taut_model::{Arrivals, TaskSet};
use taut_time::Duration;

use crate::uni::utilisation::Utilisation;
use crate::{Overflow, Verdict, Why};

/// Steps after which the search is given up, and the one for the horizon. Real sets need tens.
pub const STEPS_MAX: u32 = 2_000_000;

/// Terms of sums, likewise, for sets of very many tasks: some seconds.
pub const TERMS_MAX: u64 = 400_000_000;

/// A task as the theorem needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// C, more than 0.
    pub cost: Duration,
    /// T: the period, or the least time between arrivals; more than 0.
    pub period: Duration,
    /// D, from the arrival.
    pub deadline: Duration,
    /// J.
    pub jitter: Duration,
}

/// What was found out about a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Windows up to this length can be too short; all longer ones are long enough if these are.
    pub horizon: Duration,
    /// Windows that were looked at.
    pub steps: u32,
    /// The window that is too short. None if all deadlines are kept, or if U > 1.
    pub short: Option<Window>,
}

/// A window that is too short: `demand` + `blocking` > `length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// t.
    pub length: Duration,
    /// h(t): what must be done within it.
    pub demand: Duration,
    /// b(t): what may be done first although it is due later.
    pub blocking: Duration,
    /// The task and the resource of the section that blocks.
    pub blocked_by: Option<(usize, usize)>,
}

/// Whether tasks that share nothing keep their deadlines. `exact`: their arrivals are free, so that some run has all
/// of them at once and then as often as they may.
///
/// # Errors
/// [`Overflow`] if a horizon or the demand of a window does not fit in 64 bits.
pub fn demand(tasks: &[Task], exact: bool) -> Result<Verdict<Demand>, Overflow> {
    if tasks.iter().any(|task| task.period.is_zero()) {
        return Ok(Verdict::NotApplicable(crate::Assumption::PositivePeriod));
    }
    let rows: Vec<Row> = tasks.iter().map(Row::new).collect();
    Ok(match search(&rows, Duration::ZERO, |_| None)? {
        Found::Fits(found) => Verdict::Schedulable(found),
        Found::Short(found) if exact => Verdict::Unschedulable(found),
        Found::Short(found) => Verdict::NotShown(Why::Passes(found)),
        // No arrivals make up for that.
        Found::Rate => Verdict::Unschedulable(Demand { horizon: Duration::ZERO, steps: 0, short: None }),
        Found::Steps(steps) => Verdict::NotShown(Why::Steps(steps)),
    })
}

/// The same for a core of a set, as if its tasks shared nothing.
///
/// # Errors
/// As for [`demand`].
pub fn core(set: &TaskSet, core: usize) -> Result<Verdict<Demand>, Overflow> {
    let tasks: Vec<Task> = set.on_core(core).map(|at| Task::of(set, at)).collect();
    demand(&tasks, is_exact(set, core))
}

impl Task {
    /// A task of a set.
    pub fn of(set: &TaskSet, at: usize) -> Self {
        let task = &set.tasks()[at];
        Self { cost: set.cost(at), period: task.period, deadline: task.deadline, jitter: task.jitter }
    }
}

/// Whether some run has all tasks of a core at once and then as often as they may.
fn is_exact(set: &TaskSet, core: usize) -> bool {
    let (mut free, mut together, mut common) = (true, true, None);
    for task in set.on_core(core).map(|at| &set.tasks()[at]) {
        match task.arrivals {
            Arrivals::Phased(offset) => {
                free = false;
                together &= *common.get_or_insert(offset) == offset && task.jitter.is_zero();
            }
            Arrivals::Periodic | Arrivals::Sporadic => together = false,
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

/// What may be done first: how long, and whose.
pub(crate) type Blocking = Option<(u64, usize, usize)>;

impl Row {
    fn new(task: &Task) -> Self {
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

/// Looks for a window with h(t) + b(t) > t. `blocking` is b, which is zero from `at_least` on; h + b must never fall.
pub(crate) fn search(
    rows: &[Row],
    at_least: Duration,
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
    let mut next = last_before(rows, horizon);
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
            let short = Window {
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
            last_before(rows, window)
        };
    }
    Ok(Found::Fits(result(steps, None)))
}

/// The last deadline before `window`, all tasks being released at once at 0.
fn last_before(rows: &[Row], window: u64) -> Option<u64> {
    let last = |row: &Row| {
        let left = window.checked_sub(row.due)?.checked_sub(1)?;
        Some(row.due + left / row.period * row.period)
    };
    rows.iter().filter_map(last).max()
}

enum Horizon {
    Before(u64),
    Rate,
    Steps(u32),
}

/// Before which a first window that is too short must lie.
fn horizon(rows: &[Row]) -> Result<Horizon, Overflow> {
    // 1. U, every share rounded up.
    const ONE: u128 = 1 << 64;
    let mut share = 0u128;
    for row in rows {
        let own = (u128::from(row.cost) << 64).div_ceil(row.period.into());
        share = share.saturating_add(own);
    }
    if share > ONE {
        let tasks = rows.iter().map(|row| (Duration::from_ns(row.cost), Duration::from_ns(row.period)));
        if !Utilisation::of(tasks).is_some_and(|utilisation| utilisation.fits()) {
            return Ok(Horizon::Rate);
        }
    }
    // 2. None, if nothing is due before the next comes: then h(t) ≤ U · t.
    if rows.iter().all(|row| row.due >= row.period) {
        return Ok(Horizon::Before(0));
    }
    // 3. The two that are formulas; either may not fit, or not exist.
    let later = rows.iter().map(|row| row.due.saturating_sub(row.period)).max().unwrap_or(0);
    let cap = match (by_share(rows, share).map(|time| time.max(later)), by_repetition(rows, later)) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    // 4. The busy window, until it is longer than those.
    let mut window = rows.iter().try_fold(0u64, |sum, row| sum.checked_add(row.cost)).ok_or(Overflow)?;
    let mut steps = 0u32;
    loop {
        if let Some(cap) = cap.filter(|&cap| window >= cap) {
            return Ok(Horizon::Before(cap));
        }
        if steps > STEPS_MAX || u64::from(steps) * rows.len() as u64 > TERMS_MAX {
            return Ok(cap.map_or(Horizon::Steps(steps), Horizon::Before));
        }
        steps += 1;
        let mut next = 0u128;
        for row in rows {
            let jobs = (u128::from(window) + u128::from(row.jitter)).div_ceil(row.period.into());
            let time = jobs.checked_mul(row.cost.into()).ok_or(Overflow)?;
            next = next.checked_add(time).ok_or(Overflow)?;
        }
        match (u64::try_from(next), cap) {
            (Ok(next), _) if next == window => return Ok(Horizon::Before(window)),
            (Ok(next), _) => window = next,
            (Err(_), Some(cap)) => return Ok(Horizon::Before(cap)),
            (Err(_), None) => return Err(Overflow),
        }
    }
}

/// Σ (T − D + J) · U_i / (1 − U), rounded up; `None` if U may be 1 or it does not fit.
fn by_share(rows: &[Row], share: u128) -> Option<u64> {
    const ONE: u128 = 1 << 64;
    let rest = ONE.checked_sub(share).filter(|&rest| rest > 0)?;
    let (mut more, mut less) = (0u128, 0u128);
    for row in rows {
        let cost = u128::from(row.cost) << 64;
        let (sum, time, own) = match row.period.checked_sub(row.due) {
            Some(time) => (&mut more, time, cost.div_ceil(row.period.into())),
            None => (&mut less, row.due - row.period, cost / u128::from(row.period)),
        };
        *sum = sum.checked_add(own.checked_mul(time.into())?)?;
    }
    u64::try_from(more.saturating_sub(less).div_ceil(rest)).ok()
}

/// One more than the least common multiple of all periods and `later`; `None` if it does not fit.
fn by_repetition(rows: &[Row], later: u64) -> Option<u64> {
    let mut multiple = 1u64;
    for row in rows {
        let (mut a, mut b) = (multiple, row.period);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        multiple = multiple.checked_mul(row.period / a)?;
    }
    multiple.checked_add(later)?.checked_add(1)
}
