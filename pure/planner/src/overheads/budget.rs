// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What other tasks are charged for a task with an enforced budget: not the execution time that the manifest
//! states, but the time that the dispatcher lets its jobs have.
//!
//! ```text
//! C''  =  max(C, B + max(s + l, S) + y + 2x)
//!
//! B  budget                       how long the job is the chosen one of its core, waking and spinning included
//! s  its longest section          one in which the budget ends runs to its end; demotion comes once it holds nothing
//! l  lock overhead
//! S  its longest non-preemptive stretch, which the dispatcher does not preempt either
//! y  release overhead             from the end of the budget, a timer, to the dispatcher's first instruction
//! x  context switch               to the dispatcher and away from it; the two of each job come as for every task
//! ```
//!
//! **Why that is enough.** Three remedies enforce a budget: `kill-job`, `demote` and `stop-app`. Under the first
//! two, a job that has used up its budget leaves the scheduling rule of its core for the background as soon as it
//! holds nothing (`taut_policy::Background`): after B + y + max(s, S) of the core's time at the latest. From then
//! on it runs only when no job under the rule is ready. Another job waits for it only if the background job has
//! just asked for a resource, and then for one section, at most s: the other job is released either while the
//! background job holds nothing or while it holds that resource. One window in which the core always has work under
//! the rule does not contain both a job within its budget and such a section: while a job is in the background no
//! other job of its task begins, and within such a window the background job runs only for a section at the
//! window's beginning. So a window with n releases of the task contains at most n · C'' of it, as it would with
//! jobs of C'' [JosephPandya86].
//!
//! An application that stops guarantees nothing from then on.
//!
//! **To more urgent tasks** its sections are blocking, in the background as before; under fixed priorities by the
//! same ceilings. Under EDF, a background job that is raised to lock may be past its deadline, so nothing preempts
//! it, whatever its ceiling: its longest section counts there as a stretch S, for all tasks ([`blocks_all`]).
//!
//! **Its own bound** is that of jobs that keep to the budget: the analysis charges them the same, which is more
//! than they take.
//!
//! **Where the budget does not count**: if the task uses a resource that tasks of several cores use. Its waiting
//! then has no bound that is known before the charge is. C is charged instead, as for tasks without a budget.

use taut_analysis::Overflow;
use taut_analysis::overheads::Charges;
use taut_model::{Overrun, RealTime, SchedulingPolicy};
use taut_time::Duration;

use crate::placement::Placement;

/// B, if the dispatcher enforces it: the task runs in no server and has one of the three remedies.
pub(crate) fn enforced(task: &RealTime) -> Option<Duration> {
    let enforces = matches!(task.on_overrun, Overrun::KillJob | Overrun::Demote | Overrun::StopApp);
    task.budget.filter(|_| enforces && task.server.is_none())
}

/// The execution time that a job is charged: C'' if its budget is enforced, else `cost`, which it takes by itself.
/// [`Duration::MAX`] if C'' does not fit in 64 bits: no analysis takes that.
pub(crate) fn charged(task: &RealTime, charges: &Charges, cost: Duration) -> Duration {
    let Some(budget) = enforced(task) else { return cost };
    let section = longest(task).ok_or(Overflow);
    let through = section.and_then(|section| charges.budget(budget, section, task.non_preemptive));
    through.map_or(Duration::MAX, |through| through.max(cost))
}

/// How long the task may keep all others of its core waiting: S, or under EDF a section of a late job.
pub(crate) fn blocks_all(task: &RealTime, scheduler: SchedulingPolicy, charges: &Charges) -> Duration {
    let sinks = scheduler == SchedulingPolicy::Edf && enforced(task).is_some() && !task.sections.is_empty();
    let section = || charges.section(longest(task)?).ok();
    task.non_preemptive.max(if sinks { section().unwrap_or(Duration::MAX) } else { Duration::ZERO })
}

/// The task's longest section, margin included.
fn longest(task: &RealTime) -> Option<Duration> {
    let mut lengths = task.sections.iter().map(|section| task.wcet.with_margin(section.longest));
    lengths.try_fold(Duration::ZERO, |longest, length| Some(longest.max(length?)))
}

/// Whether an enforced budget does not bound what the task's jobs take, because they use a resource that a task on
/// another core uses.
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
