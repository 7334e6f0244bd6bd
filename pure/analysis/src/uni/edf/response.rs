// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times, EDF, preemptive, one core; jitter, deadlines of any length, and blocking.
//!
//! ```text
//! Equation    L(a) = b(d) + (⌊(a + J_i) / T_i⌋ + 1) · C_i + Σ_{j≠i} min(⌈(L + J_j) / T_j⌉, n_j(d)) · C_j, the least > 0
//!             n_j(d) = max(0, ⌊(d + J_j − D_j) / T_j⌋ + 1);  d = a + D_i
//!             R = max { L(a) − a },  R' = max { L(a) − max(0, a) }
//!             over all a = D_j − J_j + k · T_j − D_i and a = f − D_i from −J_i on, while a < B or d < u
//!             B = least L > 0 with L = Σ ⌈(L + J_j) / T_j⌉ · C_j
//! Symbols     [ns] R, R' response from arrival and from release; C cost, T period or least time between arrivals,
//!             D deadline from the arrival, J jitter; b(d) the longest blocker with f ≤ d < u; in `while`, u is the
//!             largest
//! Assumes     A1 no self-suspension   A2 b(d) bounds what jobs due after d add to a busy period, with d counted from
//!             its start   A3 jobs of a task are released, and run, in order
//! Verdict     exact for free arrivals without blocking, ties counted against the task; sufficient otherwise
//! Cost        pseudo-polynomial; limited
//! Source      [Spuri96], [George96]; b as in `srp` and `dfp`, whose proofs hold also if the window does not end at d
//! ```
//!
//! The job under analysis arrives at a, counted from the start of the busy period in which only jobs due by d run; so
//! a ≥ −J. The bound holds whether or not the job misses d.
//!
//! **Candidates.** Between two candidates no n and no b rises, so L does not, and L(a) − a falls. **The end.** A job
//! that nothing blocks is released in a busy period of all tasks, which is not longer than B; a job that something
//! blocks has d < u. From the longest D on, everything repeats after H, the least common multiple of all T: if
//! nothing blocks, L(a + H) ≤ L(a) + H, for U ≤ 1. So if B exceeds the longest D + H, or does not exist, a below that
//! sum is enough.

use taut_model::{ArrivalPattern, TaskSet};
use taut_time::Duration;

use super::demand::{EdfTask, STEPS_MAX, TERMS_MAX};
use super::dfp::{self, Floors};
use super::horizon::common_multiple;
use super::sections::{Section, by_ceilings};
use super::srp::{self, Levels};
use crate::uni::utilisation::Utilisation;
use crate::{Assumption, Overflow, Verdict, Why};

/// A bound on the response times of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdfResponse {
    /// R' from the release.
    pub from_release: Duration,
    /// R from the arrival.
    pub from_arrival: Duration,
    /// b(d) in the busy period that attains R.
    pub blocking: Duration,
    /// The task and the resource of the section that blocks: positions in the set. None if nothing blocks, or if the
    /// blocker names no section.
    pub blocked_by: Option<(usize, usize)>,
    /// −a: how long before the busy period that attains R the job arrives, at most J. Zero if it arrives within the
    /// period.
    pub before: Duration,
    /// How many arrivals the search examined.
    pub candidates: u32,
}

/// Execution of a job due after d that may precede jobs due by d, in busy periods with `from` ≤ d < `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// Its length.
    pub time: Duration,
    /// f: the least d.
    pub from: Duration,
    /// u: every d is less.
    pub until: Duration,
    /// The task and the resource of the section, if the blocker is one: positions in the set.
    pub of: Option<(usize, usize)>,
}

/// The protocol that guards the local resources of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// The stack resource policy.
    Srp(Levels),
    /// The deadline floor protocol.
    Dfp(Floors),
}

/// The longest blocker at d ≥ 0, with the section that it is, and the next d at which the blocking may be longer.
fn blocking(blockers: &[Blocker], d: i128) -> ((u64, Option<(usize, usize)>), i128) {
    let (mut longest, mut next) = ((0, None), i128::MAX);
    for blocker in blockers {
        let [from, until] = [blocker.from, blocker.until].map(|time| i128::from(time.as_ns()));
        if from > d {
            next = next.min(from);
        } else if d < until && blocker.time.as_ns() > longest.0 {
            longest = (blocker.time.as_ns(), blocker.of);
        }
    }
    (longest, next)
}

/// Bounds the response times of the task at `which`; a value past the deadline is still a bound. `exact`: the
/// arrivals are free.
///
/// # Errors
/// [`Overflow`] if a busy period does not fit in 64 bits.
pub fn response(
    tasks: &[EdfTask],
    which: usize,
    blockers: &[Blocker],
    exact: bool,
) -> Result<Verdict<EdfResponse>, Overflow> {
    let Some(own) = tasks.get(which) else {
        return Ok(Verdict::NotApplicable(Assumption::Listed));
    };
    if tasks.iter().any(|task| task.period.is_zero()) {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    let found = match Periods::of(tasks)? {
        Start::Of(mut periods) => periods.response(which, blockers)?,
        Start::Rate => return Ok(Verdict::NotShown(Why::Rate)),
        Start::Steps(steps) => return Ok(Verdict::NotShown(Why::Steps(steps))),
    };
    Ok(match found {
        Err(steps) => Verdict::NotShown(Why::Steps(steps)),
        Ok(found) if found.from_arrival <= own.deadline => Verdict::Schedulable(found),
        Ok(found) if exact && blockers.is_empty() => Verdict::Unschedulable(found),
        Ok(found) => Verdict::NotShown(Why::Passes(found)),
    })
}

/// Bounds the response times of all tasks of a core, in the set's order.
///
/// # Errors
/// As for [`response`], or if a blocker's time does not fit in 64 bits.
pub fn core(set: &TaskSet, core: usize, locks: Locks) -> Result<Verdict<Vec<EdfResponse>>, Overflow> {
    if let Some(assumption) = srp::unmet(set, core) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    // 1. What blocks. The ends of sections are times from 0 on.
    let sections = match locks {
        Locks::Srp(levels) => by_ceilings(set, &srp::members(set, core, levels), |_| true)?,
        Locks::Dfp(floors) => dfp::sections(set, core, floors),
    };
    let late = |at: usize| set.tasks()[at].jitter > set.tasks()[at].deadline;
    if !sections.is_empty() && set.on_core(core).any(late) {
        return Ok(Verdict::NotApplicable(Assumption::TimeOrder));
    }
    let blockers: Vec<Blocker> = sections.iter().map(Blocker::of).collect();
    // 2. Each task.
    let tasks: Vec<EdfTask> = set.on_core(core).map(|at| EdfTask::of(set, at)).collect();
    let free = set.on_core(core).all(|at| !matches!(set.tasks()[at].arrivals, ArrivalPattern::Phased(_)));
    Ok(match all(&tasks, &blockers)? {
        Verdict::NotShown(Why::Passes(found)) if free && blockers.is_empty() => Verdict::Unschedulable(found),
        found => found,
    })
}

/// The same for a list of tasks, as if the test were not exact.
pub(crate) fn all(tasks: &[EdfTask], blockers: &[Blocker]) -> Result<Verdict<Vec<EdfResponse>>, Overflow> {
    let mut periods = match Periods::of(tasks)? {
        Start::Of(periods) => periods,
        Start::Rate => return Ok(Verdict::NotShown(Why::Rate)),
        Start::Steps(steps) => return Ok(Verdict::NotShown(Why::Steps(steps))),
    };
    let mut all = Vec::with_capacity(tasks.len());
    for which in 0..tasks.len() {
        match periods.response(which, blockers)? {
            Ok(found) => all.push(found),
            Err(steps) => return Ok(Verdict::NotShown(Why::Steps(steps))),
        }
    }
    let holds = all.iter().zip(tasks).all(|(found, task)| found.from_arrival <= task.deadline);
    Ok(if holds { Verdict::Schedulable(all) } else { Verdict::NotShown(Why::Passes(all)) })
}

impl Blocker {
    pub(crate) fn of(section: &Section) -> Self {
        let [time, from, until] = [section.time, section.from, section.until].map(Duration::from_ns);
        Self { time, from, until, of: Some((section.task, section.resource)) }
    }
}

/// A task in ns.
#[derive(Clone, Copy)]
struct Row {
    cost: u64,
    period: u64,
    jitter: u64,
    deadline: u64,
    /// n_j(d), for the d under examination; 0 for the task under analysis, whose jobs are counted separately.
    most: u64,
}

impl Row {
    /// D − J, which may be negative.
    fn due(&self) -> i128 {
        i128::from(self.deadline) - i128::from(self.jitter)
    }

    /// n(d).
    fn due_by(&self, d: i128) -> Result<u64, Overflow> {
        match u64::try_from(d - self.due()) {
            Ok(left) => (left / self.period).checked_add(1).ok_or(Overflow),
            Err(_) if d < self.due() => Ok(0),
            Err(_) => Err(Overflow),
        }
    }
}

/// Busy periods of some tasks.
struct Periods {
    rows: Vec<Row>,
    /// B, or the longest D + H if that is less.
    longest: u64,
}

/// The busy periods, or why there are none.
enum Start {
    Of(Periods),
    /// U > 1.
    Rate,
    /// The search ran out of steps.
    Steps(u32),
}

/// The steps and terms used so far.
struct Patience {
    steps: u32,
    terms: u64,
}

impl Patience {
    /// Counts a sum over `tasks` tasks; returns whether the limits allow it.
    fn allows(&mut self, tasks: usize) -> bool {
        self.steps += 1;
        self.terms += tasks as u64;
        self.steps <= STEPS_MAX && self.terms <= TERMS_MAX
    }
}

impl Periods {
    fn of(tasks: &[EdfTask]) -> Result<Start, Overflow> {
        if !Utilisation::of(tasks.iter().map(|task| (task.cost, task.period))).is_some_and(|u| u.fits()) {
            return Ok(Start::Rate);
        }
        let row = |task: &EdfTask| Row {
            cost: task.cost.as_ns(),
            period: task.period.as_ns(),
            jitter: task.jitter.as_ns(),
            deadline: task.deadline.as_ns(),
            most: u64::MAX,
        };
        let rows: Vec<Row> = tasks.iter().map(row).collect();
        let mut patience = Patience { steps: 0, terms: 0 };
        let longest = rows.iter().try_fold(0u64, |sum, row| sum.checked_add(row.cost)).ok_or(Overflow)?;
        let deadline = rows.iter().map(|row| row.deadline).max().unwrap_or(0);
        let common = common_multiple(rows.iter().map(|row| row.period));
        let cap = common.and_then(|common| common.checked_add(deadline)).unwrap_or(u64::MAX);
        Ok(match settle(longest, cap, 0, &rows, &mut patience)? {
            Some(longest) => Start::Of(Self { rows, longest }),
            None => Start::Steps(patience.steps),
        })
    }

    /// The inner error is the number of steps after which the search gave up.
    fn response(&mut self, which: usize, blockers: &[Blocker]) -> Result<Result<EdfResponse, u32>, Overflow> {
        let own = self.rows[which];
        let until = blockers.iter().map(|blocker| i128::from(blocker.until.as_ns())).max().unwrap_or(0);
        let mut patience = Patience { steps: 0, terms: 0 };
        let (mut from_release, mut from_arrival, mut blocked, mut early) = (0, 0, (0, None), 0);
        let (mut window, mut before, mut candidates) = (0u64, 0, 0u32);
        // 1. From the job that arrives as early as possible.
        let mut d = own.due();
        loop {
            let a = d - i128::from(own.deadline);
            let blocks = !blockers.is_empty() && d < until;
            if a >= i128::from(self.longest) && !blocks {
                break;
            }
            if !patience.allows(self.rows.len() + blockers.len()) {
                return Ok(Err(patience.steps));
            }
            candidates += 1;
            // 2. Which jobs are due by d, what blocks, and the next d at which either may rise.
            let mut next = i128::MAX;
            for row in &mut self.rows {
                row.most = row.due_by(d)?;
                next = next.min(row.due() + i128::from(row.most) * i128::from(row.period));
            }
            let ((blocking, of), rises) = blocking(blockers, d.max(0));
            next = next.min(rises);
            // 3. L(a): starts from the previous L, unless the blocking is shorter than before.
            let own_jobs = self.rows[which].most;
            let fixed = own_jobs.checked_mul(own.cost).and_then(|time| time.checked_add(blocking));
            let fixed = fixed.ok_or(Overflow)?;
            let least = if blocking >= before { window.max(fixed) } else { fixed };
            self.rows[which].most = 0;
            let Some(found) = settle(least.max(1), u64::MAX, fixed, &self.rows, &mut patience)? else {
                return Ok(Err(patience.steps));
            };
            (window, before) = (found, blocking);
            let length = i128::from(window);
            from_release = from_release.max(length - a.max(0));
            if length - a > from_arrival {
                (from_arrival, blocked, early) = (length - a, (blocking, of), (-a).max(0));
            }
            d = next;
        }
        let [from_release, from_arrival, before] =
            [from_release, from_arrival, early].map(|time| u64::try_from(time).map(Duration::from_ns));
        Ok(Ok(EdfResponse {
            from_release: from_release.map_err(|_| Overflow)?,
            from_arrival: from_arrival.map_err(|_| Overflow)?,
            blocking: Duration::from_ns(blocked.0),
            blocked_by: blocked.1,
            before: before.map_err(|_| Overflow)?,
            candidates,
        }))
    }
}

/// The least L ≥ `window` with L = `fixed` + Σ min(⌈(L + J) / T⌉, `most`) · C, or `cap` if that is less; `window`
/// must not be past that L. `None` if the limits are used up.
fn settle(
    mut window: u64,
    cap: u64,
    fixed: u64,
    rows: &[Row],
    patience: &mut Patience,
) -> Result<Option<u64>, Overflow> {
    while window < cap {
        if !patience.allows(rows.len()) {
            return Ok(None);
        }
        let mut next = fixed;
        for row in rows.iter().filter(|row| row.most > 0) {
            let released = match window.checked_add(row.jitter) {
                Some(reach) => reach.div_ceil(row.period),
                None => return Err(Overflow),
            };
            let time = released.min(row.most).checked_mul(row.cost).ok_or(Overflow)?;
            next = next.checked_add(time).ok_or(Overflow)?;
        }
        if next <= window {
            return Ok(Some(window));
        }
        window = next;
    }
    Ok(Some(cap))
}
