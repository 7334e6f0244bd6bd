// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How many jobs of a core may have begun and not be complete: so many threads it needs.
//!
//! ```text
//! D1  Of two tasks of one level of which each is plain, at most one has a job that has begun. So there are at most as many
//!     begun jobs as levels of plain tasks and tasks that are not.
//! plain  periodic; not admitted, not in a server, without a budget; late jobs are neither ended nor demoted; uses nothing
//!        of several cores; under the original ceiling protocol uses nothing
//! level  under fixed priorities the priority, under EDF the relative deadline
//! ```
//!
//! **Argument.** A plain job never leaves its rule while it lives: it is not suspended, not put into the background, and waits
//! at no lock. Let t be the first instant at which a job X of a plain task begins while Y, of another one of the same level,
//! has begun. At t the rule has preferred X to Y.
//!
//! *Fixed priorities.* A job that is preempted goes before all of its rank, and what it holds only raises it. So at its own
//! rank, or above, Y stands before X, whenever X was released.
//!
//! *EDF.* Preferring X, which holds nothing, asks for d_X < d_Y: a floor only makes Y's deadline earlier, a ceiling only
//! keeps X out. The relative deadlines are the same, so a_X < a_Y. Both releases are the calendar's, which is told in order:
//! X had been released when Y began, at s < t. If the rule knew of X at s, it would have preferred it: no floor or ceiling
//! keeps X out and lets Y in, as both are of one level, and X is due earlier. Else X waited behind an earlier job X' of its task,
//! with a_X' < a_X, which was not complete at s. If X' had begun, Y began at s while it had, and t is not the first instant. If
//! not, the rule would have preferred X' to Y.
//!
//! Why others are not plain: one that is polled or released by hand arrives by the clock, and a release of the calendar that is
//! told late has arrived before it; one that is admitted is told after those that have arrived later; of those that are
//! suspended, demoted, served or wait, others of their level begin meanwhile.
//!
//! *Levels that change* do so while their task has no job, so a begun job's level is its task's. [`State::may_have_level`]
//! keeps the sum.

use taut_policy::{Attribute, Overrun};

use crate::ladder::WORKERS_MAX;
use crate::rule::Rule;
use crate::setup::CoreSetup;
use crate::state::State;
use crate::task::{Release, TaskSetup};

impl TaskSetup {
    /// Whether its jobs share a thread with others of its level.
    pub(crate) fn is_plain(&self, rule: Rule) -> bool {
        let stays = matches!(self.overrun, Overrun::RunOn | Overrun::SkipNext | Overrun::StopApp);
        matches!(self.release, Release::Periodic { .. })
            && !self.admitted
            && self.server.is_none()
            && self.budget.is_none()
            && stays
            && !self.shares
            && (rule != Rule::Original || self.uses.is_empty())
    }
}

impl CoreSetup<'_> {
    /// D1: the most jobs that may have begun at once.
    pub(crate) fn depth(&self) -> usize {
        let (plain, others): (Vec<_>, Vec<_>) = self.tasks.iter().partition(|task| task.is_plain(self.rule));
        let mut levels: Vec<_> = plain.into_iter().map(|task| self.level(task).number()).collect();
        levels.sort_unstable();
        levels.dedup();
        others.len() + levels.len()
    }

    /// Threads of its pool: one for each task, unless these are too many.
    #[cfg(not(test))]
    pub(crate) fn threads(&self) -> usize {
        self.tasks.len().min(WORKERS_MAX)
    }

    /// In tests no more than must be, and fewer where a test asks what happens then.
    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        self.depth() - self.missing
    }
}

impl State {
    /// Whether a task without a job may have a level, as far as there are threads: D1 with as many as the pool has. Where it
    /// has one for each task, 1 step; else as many as tasks times threads.
    pub(crate) fn may_have_level(&self, task: u32, to: Attribute) -> bool {
        let threads = self.ladder.workers.len();
        if self.tasks.len() <= threads {
            return true;
        }
        let (mut levels, mut count, mut others) = ([0; WORKERS_MAX], 0, 0);
        for (at, slot) in self.tasks.iter().enumerate() {
            let level = if at == task as usize { Ok(to) } else { self.rule.local().level(at) };
            let Some(level) = level.ok().filter(|_| slot.plain).map(Attribute::number) else {
                others += 1;
                continue;
            };
            if !levels[..count].contains(&level) {
                if count + others >= threads {
                    return false;
                }
                levels[count] = level;
                count += 1;
            }
        }
        count + others <= threads
    }
}
