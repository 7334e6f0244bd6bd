// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How many jobs of a core may have begun and not be complete. The core needs as many threads.
//!
//! ```text
//! D1  Of two plain tasks of one level, at most one has a job that has begun. So at most as many jobs have begun as
//!     there are levels of plain tasks plus tasks that are not plain.
//! plain  periodic; not admitted, not in a server, without a budget; late jobs are neither ended nor demoted; uses
//!        nothing of several cores; under the original ceiling protocol uses nothing
//! level  under fixed priorities the priority, under EDF the relative deadline
//! ```
//!
//! **Argument.** A plain job never leaves its rule while it lives: it is never suspended or put into the background,
//! and waits at no lock. Let t be the first instant at which a job X of a plain task begins while a job Y of another
//! plain task of the same level has begun. At t the rule has preferred X to Y.
//!
//! *Fixed priorities.* A preempted job goes before all jobs of its rank, and its locks only raise it. So Y stands
//! before X, at its own rank or above, whenever X was released.
//!
//! *EDF.* X holds nothing, so the rule prefers X only if d_X < d_Y: a floor only makes Y's deadline earlier, and a
//! ceiling only keeps X out. The relative deadlines are the same, so a_X < a_Y. Both are releases of the calendar,
//! which the dispatcher reports in order. So X had been released when Y began, at s < t. If the rule knew X at s, it
//! would have preferred X: no floor or ceiling keeps X out and lets Y in, as both are of one level, and X is due
//! earlier. Otherwise X waited behind an earlier job X' of its task, with a_X' < a_X, which was not complete at s. If
//! X' had begun, then Y began at s while X' had begun, and t is not the first such instant. If X' had not begun, the
//! rule would have preferred X' to Y.
//!
//! Why other tasks are not plain: a job that is polled or released by hand arrives by the clock, and a calendar
//! release that is reported late arrived before it. An admitted job is reported after jobs that arrived later. While
//! a job is suspended, demoted, served or waiting, others of its level begin.
//!
//! *Levels that change* do so while their task has no job, so the level of a begun job is the level of its task.
//! [`State::may_have_level`] preserves the bound.

use taut_policy::LocalRule;
use taut_policy::{Attribute, Overrun};

use crate::ready::state::State;
use crate::ready::worker_priorities::WORKERS_MAX;
use crate::task::{Release, TaskSetup};

impl TaskSetup {
    /// Whether its jobs share a thread with those of other plain tasks of its level.
    pub(crate) fn is_plain(&self, rule: LocalRule) -> bool {
        let stays = matches!(self.overrun, Overrun::RunOn | Overrun::SkipNext | Overrun::StopApp);
        matches!(self.release, Release::Periodic { .. })
            && !self.admitted
            && self.server.is_none()
            && self.budget.is_none()
            && stays
            && !self.shares
            && (rule != LocalRule::Original || self.uses.is_empty())
    }
}

impl State {
    /// Whether a task without a job may have the level `to` with the existing threads: D1 with the size of the pool.
    /// 1 step if there is a thread per task; else as many steps as tasks times threads.
    pub(crate) fn may_have_level(&self, task: u32, to: Attribute) -> bool {
        let threads = self.priorities.workers.len();
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
