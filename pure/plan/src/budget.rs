// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What others are charged for a task whose budget is enforced: not what somebody says that its jobs take, but what the
//! dispatcher lets them have.
//!
//! ```text
//! C''  =  max(C, B + max(s + l, S) + y + 2x)
//!
//! B  budget                       the time that a job is the chosen one of its core, waking and spinning included
//! s  its longest section          one that the budget ends in goes on to its end: it is demoted where it holds nothing
//! l  lock overhead
//! S  its longest stretch that nothing preempts, the dispatcher neither
//! y  release overhead             from the end of the budget, a timer, to the dispatcher's first instruction
//! x  context switch               to the dispatcher and away from it; the two of every job come as for all
//! ```
//!
//! **Why that is enough.** Remedies that enforce a budget are `kill-job`, `demote` and `stop-app`. A job of the former two
//! that has used up its budget leaves the rule of its core as soon as it holds nothing (`taut_policy::Background`): after
//! B + y + max(s, S) of its core's time at the latest. From then on it runs when nothing in the rule wants to, so others
//! wait for it only where it has just asked for a resource, for one section of s at most: they are released while nothing is
//! held, or while that is. Not for both in one window in which the core is never without work of the rule: while a job is in
//! the background no other of its task begins, and in such a window it does not run but for a section at its beginning. So a
//! window with n releases of the task has n · C'' of it at most, as one with jobs of C'' would have [JosephPandya86].
//! An application that stops promises nothing from then on.
//!
//! **To more urgent tasks** its sections are blocking, in the background as before, under fixed priority by the same
//! ceilings. Under EDF one that is lifted to lock may be past its deadline, so nothing preempts it, whatever its ceiling:
//! its longest section is a stretch S there, for all ([`blocks_all`]).
//!
//! **Its own bound** is of jobs that keep to the budget: they are charged the same, which is more than they take.
//!
//! **Where it is not counted on**: if it uses a resource of several cores, where waiting has no bound that is known before
//! the charge is; then C is charged, as of tasks without a budget.

use taut_model::{Overheads, Overrun, RealTime, Scheduler};
use taut_time::Duration;

use crate::placement::Placement;

/// B, if jobs that use it up are kept from the core.
pub(crate) fn enforced(task: &RealTime) -> Option<Duration> {
    let enforces = matches!(task.on_overrun, Overrun::KillJob | Overrun::Demote | Overrun::StopApp);
    task.budget.filter(|_| enforces && task.server.is_none())
}

/// What a job is charged as, which takes `cost` by itself.
pub(crate) fn charged(task: &RealTime, overheads: &Overheads, cost: Duration) -> Duration {
    let Some(budget) = enforced(task) else { return cost };
    let through = || {
        let section = longest(task)?;
        let locked = if section.is_zero() { section } else { section.checked_add(overheads.lock)? };
        let late = overheads.release.checked_add(overheads.context_switch.checked_mul(2)?)?;
        budget.checked_add(locked.max(task.non_preemptive))?.checked_add(late)
    };
    through().map_or(Duration::MAX, |through| through.max(cost))
}

/// How long it may keep all others of its core waiting: S, or under EDF a section of a late job.
pub(crate) fn blocks_all(task: &RealTime, scheduler: Scheduler, overheads: &Overheads) -> Duration {
    let sinks = scheduler == Scheduler::Edf && enforced(task).is_some() && !task.sections.is_empty();
    let section = || longest(task)?.checked_add(overheads.lock);
    task.non_preemptive.max(if sinks { section().unwrap_or(Duration::MAX) } else { Duration::ZERO })
}

/// Its longest section, margin included.
fn longest(task: &RealTime) -> Option<Duration> {
    let mut lengths = task.sections.iter().map(|section| task.wcet.with_margin(section.longest));
    lengths.try_fold(Duration::ZERO, |longest, length| Some(longest.max(length?)))
}

/// Whether a budget does not say what its task's jobs may take: they use what other cores use.
pub(crate) fn is_not_enough(placements: &[Placement<'_>], at: usize) -> bool {
    let placement = &placements[at];
    let elsewhere = |resource| {
        let uses =
            |other: &&Placement<'_>| other.task.sections.iter().any(|section| section.resource == resource);
        placements.iter().filter(uses).any(|other| other.core != placement.core)
    };
    enforced(placement.task).is_some()
        && placement.task.sections.iter().any(|section| elsewhere(section.resource))
}
