// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads and changes levels, ceilings and floors while a core is in use, and pauses releases.
//!
//! ```text
//! C1  The ceiling of each resource is at least as urgent as the level of each task that lists it.
//! C2  A ceiling changes only while no job holds the resource, and only to one that keeps C1. So it may be raised,
//!     and lowered as far as the levels of its users allow.
//! C3  A level changes only while the task has no job and no release that waits, and only to one that keeps C1.
//! ```
//!
//! **Why locks still exclude.** At any instant, a held resource has the ceiling that it had at its lock (C2). A
//! user with a job has the level that it had at the job's release (C3), and a user without a job has some level.
//! By C1 neither is above the ceiling. So the rule guarantees here what it guarantees with constant ceilings: see
//! `taut_policy::Attribute`.
//!
//! **Why a change needs no new decision.** The last decision was made from the levels of ready tasks and the
//! ceilings of held resources, and none of these changes.
//!
//! **Deadline floors.** A user that is reported later arrives at a ≥ N (see [`crate::ready::rule`]). It is due at
//! a + D with the D that it has then, and D ≥ F by C1. F is the floor at the lock, by C2.
//!
//! **Records.** A change is recorded before anything that follows from it, so a replay makes it at the same place.

use taut_event::Kind;
use taut_policy::{Attribute, Locking, Misuse};
use taut_sys::clock;

use crate::question::{Answer, ChangeError, Question};
use crate::ready::state::State;
use crate::ready::worker_priorities::NONE;
use crate::resource::CoreResource;
use crate::shared::Shared;
use crate::task::TaskId;

impl Shared {
    /// Answers, inside the state. As many steps as there are tasks or resources, but for a change of a level: see
    /// [`State::may_have_level`].
    #[cold]
    #[inline(never)]
    pub(crate) fn answer(&self, state: &mut State, question: Question) -> Answer {
        match question {
            Question::Level(task) => Self::level(state, task).map(Some),
            Question::Ceiling(resource) => {
                state.rule.local().ceiling(resource as usize).map(Some).map_err(why)
            }
            Question::SetLevel(task, to) => self.set_level(state, task, to).map(|()| Some(to)),
            Question::SetCeiling(resource, to) => self.set_ceiling(state, resource, to).map(|()| Some(to)),
            Question::Pause(task, paused) => {
                state.tasks[task as usize].paused = paused;
                Ok(None)
            }
        }
    }

    fn level(state: &State, task: u32) -> Result<Attribute, ChangeError> {
        if state.tasks[task as usize].server != NONE {
            return Err(ChangeError::Served { task });
        }
        state.rule.local().level(task as usize).map_err(why)
    }

    fn set_level(&self, state: &mut State, task: u32, to: Attribute) -> Result<(), ChangeError> {
        let was = Self::level(state, task)?;
        let slot = &state.tasks[task as usize];
        if slot.active || slot.backlog.count() > 0 {
            return Err(ChangeError::Active { task });
        }
        match to {
            Attribute::Priority(_) if self.shares[task as usize] => return Err(ChangeError::Global { task }),
            Attribute::Deadline(deadline) if deadline.is_zero() => return Err(ChangeError::Kind),
            _ => {}
        }
        if std::mem::discriminant(&was) != std::mem::discriminant(&to) {
            return Err(ChangeError::Kind);
        }
        for resource in (0..self.resources).filter(|resource| self.lists(task, *resource)) {
            let ceiling = state.rule.local().ceiling(resource as usize).map_err(why)?;
            if !ceiling.is_at_least(to) {
                return Err(ChangeError::Ceiling { resource, task });
            }
        }
        if !state.may_have_level(task, to) {
            return Err(ChangeError::Levels { task });
        }
        state.rule.local_mut().set_level(task as usize, to).map_err(why)?;
        let slot = &mut state.tasks[task as usize];
        if let Attribute::Deadline(deadline) = to {
            slot.deadline_ns = deadline.as_ns();
        }
        state.log.job(clock::monotonic_ns(), Kind::Level, task, 0, to.number());
        Ok(())
    }

    fn set_ceiling(&self, state: &mut State, resource: u32, to: Attribute) -> Result<(), ChangeError> {
        if let Some(task) = state.rule.holder(resource as usize) {
            return Err(ChangeError::Held { resource, task: task as u32 });
        }
        let was = state.rule.local().ceiling(resource as usize).map_err(why)?;
        if std::mem::discriminant(&was) != std::mem::discriminant(&to) {
            return Err(ChangeError::Kind);
        }
        for task in (0..state.tasks.len() as u32).filter(|task| self.lists(*task, resource)) {
            let level = Self::level(state, task)?;
            if !to.is_at_least(level) {
                return Err(ChangeError::Ceiling { resource, task });
            }
        }
        state.rule.local_mut().set_ceiling(resource as usize, to).map_err(why)?;
        state.log.ceiling(clock::monotonic_ns(), resource, to.number());
        Ok(())
    }

    fn lists(&self, task: u32, resource: u32) -> bool {
        let word = self.listed_words * task as usize + resource as usize / 64;
        self.listed.get(word).is_some_and(|word| word & 1 << (resource % 64) != 0)
    }

    pub(crate) fn task_here(&self, task: TaskId) -> Result<u32, ChangeError> {
        if task.brand == self.brand { Ok(task.task) } else { Err(ChangeError::Foreign) }
    }

    pub(crate) fn resource_here<T>(&self, resource: &CoreResource<T>) -> Result<u32, ChangeError> {
        if resource.brand == self.brand { Ok(resource.index()) } else { Err(ChangeError::Foreign) }
    }
}

/// The error for a refusal that no earlier check caught.
fn why(misuse: Misuse) -> ChangeError {
    match misuse {
        Misuse::Rank => ChangeError::Kind,
        _ => ChangeError::Foreign,
    }
}
