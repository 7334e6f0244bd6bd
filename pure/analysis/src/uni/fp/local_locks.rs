// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times of the tasks of a core that share local resources, fixed priority, preemptive.
//!
//! ```text
//! Equation    that of [`super::arbitrary`], with B of [`super::ceiling`]
//! Symbols     as there
//! Assumes     A1 fixed priority   A2 the priority ceiling protocol, immediate ceilings, or the stack resource policy
//!             A3 no resource of the core is used on another core   A4 no self-suspension
//! Verdict     sufficient; exact for a task that no section blocks, that has no section, and that has no equal
//! Cost        pseudo-polynomial
//! Source      [Sha90], [Audsley93]: blocking as a term of the response time
//! ```
//!
//! No overheads are charged: [`crate::AnalysedCore`] does that.

use taut_model::{SchedulingPolicy, TaskSet};

use super::arbitrary::{self, WindowResponse};
use super::ceiling::{BlockingSection, Ceilings};
use super::preemptive::{FpTask, Subject};
use crate::{Assumption, Overflow, Verdict};

/// What was found for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskResult {
    /// The task: a position in the set.
    pub task: usize,
    /// The section that blocks it, and for how long.
    pub blocking: BlockingSection,
    /// The tasks that interfere: positions in the set, in the order of the response's `jobs`.
    pub higher: Vec<usize>,
    /// Its response time.
    pub verdict: Verdict<WindowResponse>,
}

/// Bounds the response time of each task of a core, in the order of the set. Tasks of equal priority count against
/// each other.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn responses(set: &TaskSet, core: usize) -> Result<Vec<TaskResult>, Overflow> {
    let ceilings = Ceilings::of(set);
    let local = |task: usize| set.requests(task).iter().all(|r| ceilings.ceiling(r.resource).is_some());
    let refused = if set.cores().get(core) != Some(&SchedulingPolicy::FixedPriority) {
        Some(Assumption::FixedPriority)
    } else if set.on_core(core).all(local) {
        None
    } else {
        Some(Assumption::LocalResources)
    };
    set.on_core(core)
        .map(|task| {
            let above = |&j: &usize| j != task && set.tasks()[j].priority >= set.tasks()[task].priority;
            let higher: Vec<usize> = set.on_core(core).filter(above).collect();
            let blocking = ceilings.blocking(set, task);
            let verdict = match refused {
                Some(assumption) => Verdict::NotApplicable(assumption),
                None => ask(set, task, blocking, &higher)?,
            };
            Ok(TaskResult { task, blocking, higher, verdict })
        })
        .collect()
}

fn ask(
    set: &TaskSet,
    task: usize,
    blocking: BlockingSection,
    higher: &[usize],
) -> Result<Verdict<WindowResponse>, Overflow> {
    let plain = |i: usize| FpTask {
        cost: set.cost(i),
        period: set.tasks()[i].period,
        jitter: set.tasks()[i].jitter,
        arrivals: set.tasks()[i].arrivals,
    };
    let more_urgent = |&j: &usize| set.tasks()[j].priority > set.tasks()[task].priority;
    let subject = Subject {
        task: plain(task),
        deadline: set.tasks()[task].deadline,
        blocking: blocking.time,
        // It may be impossible to lock a section just before everything else is at its worst; so may a run in which
        // equally urgent tasks are worst for each other.
        blocking_attained: blocking.of.is_none() && higher.iter().all(more_urgent),
        preemptible: set.requests(task).is_empty(),
    };
    let higher: Vec<FpTask> = higher.iter().map(|&j| plain(j)).collect();
    arbitrary::response(&subject, &higher)
}
