// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processor demand, EDF, local resources under the stack resource policy, release jitter.
//!
//! ```text
//! Equation    h(t) + b(t) ≤ t at every t = D_i − J_i + n · T_i up to max(L, D_max)
//!             b(t) = max over j, q of  [w_jq if t < D_j − J_j]  +  Σ { C_k : λ_k < c_q, t < D_k − J_k, k ≠ j }
//!                    where q has a section of j, t < D_j at its first window, and some i ≠ j with λ_i ≥ c_q has
//!                    D_i − J_i ≤ t
//!             without jitter: b(t) = max { w_jq : D_j > t, q used by some k with D_k ≤ t }
//! Symbols     [ns] h, the horizon L as in `demand`; w_jq longest section of j on q, C cost, T period, D deadline,
//!             J jitter; λ preemption level as a time, shorter is higher; c_q the least λ of q's users
//! Assumes     A1 λ = D, or λ = D − J ([`Levels`])   A2 all resources are local   A3 no self-suspension
//!             A4 C_j ≥ w_jq, which a `TaskSet` guarantees   A5 jobs of a task run in order
//! Verdict     sufficient for b; h(t) > t alone is exact where `demand` is
//! Cost        pseudo-polynomial; limited
//! Source      [Baker91] the policy; [Baruah06] b without jitter; [ZhangBurns09] QPA; b with jitter is ours
//! ```
//!
//! **Why.** A job is released between a and a + J and due at a + D. Let a deadline d be missed. Call jobs due by d
//! *good*, let s be the last instant before d at which no good job was pending, and t = d − s.
//! 1. No other job starts between s and d: a good job is first among those that wait, or has started and is due before
//!    the other. So the other jobs that run were on the stack at s, one per task, released before s and due after d:
//!    D > t.
//! 2. They run only while a section on a q is held that keeps some good i out: λ_i ≥ c_q, and D_i − J_i ≤ t, since i is
//!    good. Take the lowest job of the stack that holds such a q at s, and call its task j. Jobs below it do not run.
//!    It runs until it releases q, for w_jq at most. Jobs above it may run **to their end**, since the ceiling keeps i
//!    out all that time. Each of them started while q was held, so λ_k < c_q.
//! 3. A task with a job on the stack at s has no good job: jobs of a task are due in order. So it adds to the window
//!    either what it ran or its part of h, never both; and its part of h is at least C if D − J ≤ t. What is left to
//!    charge is b.
//!
//! Without jitter, or if all tasks have the same jitter, the sum is empty: λ_k < c_q ≤ λ_i makes
//! D_k − J_k < D_i − J_i ≤ t. It is not empty if J_i > J_k and i is released late, while k runs above q, and yet is
//! due before k. Then no number of *sections* is a bound: k runs as long as it likes. With λ = D − J the sum is
//! always empty, whatever the jitters are, and b is that of \[Baruah06\] with D − J for D. No order of levels lets
//! every late job start: if the ranges from D − J to D of i and k overlap, it is open which of the two is released
//! later and due sooner.
//!
//! **The horizon** of `demand` is not enough: a section blocks windows up to the longest deadline. Beyond it, b = 0.
//!
//! **QPA may jump over h + b**, because it never falls. Let t' < t, and let b(t') be of j, q and a sum over K. At t
//! all of these still count, except j and the tasks of K with t' < D − J ≤ t. For each of these exceptions h has
//! grown by C at least, which by A4 covers what it counted for. b rises at a D_i − J_i only, so not between
//! deadlines.

use taut_model::TaskSet;
use taut_time::Duration;

use super::demand::{self, Demand, EdfTask, Found, Row};
use super::sections::{Member, Section, blocking, by_ceilings, sort};
use crate::{Assumption, Overflow, Verdict, Why};

/// What defines preemption levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// D: as in \[Baker91\].
    Deadline,
    /// D − J, from the latest release to the deadline. With it, jitter costs nothing beyond what it costs without
    /// locks.
    LatestRelease,
}

/// Whether the tasks of a core of a set keep their deadlines, with levels by D.
///
/// # Errors
/// [`Overflow`] if a horizon, the demand of a window or what blocks it does not fit in 64 bits.
pub fn core(set: &TaskSet, core: usize) -> Result<Verdict<Demand>, Overflow> {
    core_by(set, core, Levels::Deadline)
}

/// The same with given levels.
///
/// # Errors
/// As for [`core()`].
pub fn core_by(set: &TaskSet, core: usize, levels: Levels) -> Result<Verdict<Demand>, Overflow> {
    if let Some(assumption) = unmet(set, core) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    let mut sections = by_ceilings(set, &members(set, core, levels), |_| true)?;
    test(set, core, &mut sections)
}

/// The assumption of EDF with local resources that a core does not satisfy.
pub(super) fn unmet(set: &TaskSet, core: usize) -> Option<Assumption> {
    if !demand::is_edf(set, core) {
        return Some(Assumption::Edf);
    }
    let mut elsewhere = vec![false; set.resources().len()];
    for at in (0..set.tasks().len()).filter(|&at| set.tasks()[at].core != core) {
        set.requests(at).iter().for_each(|request| elsewhere[request.resource] = true);
    }
    let global = set.on_core(core).flat_map(|at| set.requests(at)).any(|request| elsewhere[request.resource]);
    global.then_some(Assumption::LocalResources)
}

/// The tasks of a core.
pub(super) fn members(set: &TaskSet, core: usize, levels: Levels) -> Vec<Member> {
    let member = |at: usize| {
        let task = &set.tasks()[at];
        let (deadline, due) = (task.deadline, task.deadline.saturating_sub(task.jitter));
        let level = if levels == Levels::Deadline { deadline } else { due };
        let [level, deadline, due] = [level, deadline, due].map(|time| time.as_ns());
        Member { task: at, cost: set.cost(at).as_ns(), level, deadline, due }
    };
    set.on_core(core).map(member).collect()
}

/// The search, with the sections that block.
pub(super) fn test(
    set: &TaskSet,
    core: usize,
    sections: &mut [Section],
) -> Result<Verdict<Demand>, Overflow> {
    if sections.is_empty() {
        return demand::core(set, core);
    }
    let rows: Vec<Row> = set.on_core(core).map(|at| Row::new(&EdfTask::of(set, at))).collect();
    sort(sections);
    let rises: Vec<u64> = sections.iter().map(|section| section.from).collect();
    let found =
        demand::search(&rows, longest_deadline(set, core), &rises, |window| blocking(sections, window))?;
    match found {
        Found::Fits(found) => Ok(Verdict::Schedulable(found)),
        Found::Steps(steps) => Ok(Verdict::NotShown(Why::Steps(steps))),
        // If the test fails without blocking too, that may be exact.
        found => match (demand::core(set, core)?, found) {
            (Verdict::Unschedulable(found), _) => Ok(Verdict::Unschedulable(found)),
            (_, Found::Short(found)) => Ok(Verdict::NotShown(Why::Passes(found))),
            _ => Ok(Verdict::NotShown(Why::Rate)),
        },
    }
}

pub(crate) fn longest_deadline(set: &TaskSet, core: usize) -> Duration {
    set.on_core(core).map(|at| set.tasks()[at].deadline).max().unwrap_or(Duration::ZERO)
}
