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
//! **Why locks still exclude.** At any instant, a held resource has the ceiling that it had at its lock (C2). A user
//! with a job has the level that it had at the job's release (C3), and a user without a job has some level. By C1
//! neither is above the ceiling. So the rule guarantees here what it guarantees with constant ceilings: see
//! `taut_policy::Attribute`.
//!
//! **Why a change needs no new decision.** The last decision was made from the levels of ready tasks and the ceilings
//! of held resources, and none of these changes.
//!
//! **Deadline floors.** A user that is reported later arrives at a ≥ N (see [`crate::rule`]). It is due at a + D with
//! the D that it has then, and D ≥ F by C1. F is the floor at the lock, by C2.
//!
//! **Records.** A change is recorded before anything that follows from it, so a replay makes it at the same place.

use std::fmt;

use taut_event::Kind;
use taut_policy::{Attribute, Locking, Misuse};
use taut_sys::clock;

use crate::exec::Exec;
use crate::job::Job;
use crate::resource::Resource;
use crate::shared::Shared;
use crate::state::State;
use crate::task::TaskId;
use crate::worker_priorities::NONE;

/// Why an attribute was neither read nor changed. The call had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The task or resource is of no core of this executor; if a job asks, it is of another core than the job's.
    Foreign,
    /// A deadline was given where the core's rule schedules by priorities, or the other way round; or the deadline is
    /// 0.
    Kind,
    /// The task has a job, or a release that waits.
    Active {
        /// Its position on its core.
        task: u32,
    },
    /// A job holds the resource.
    Held {
        /// Its position on its core.
        resource: u32,
        /// The holder: the task's position on its core.
        task: u32,
    },
    /// The ceiling or floor of a resource would be less urgent than the level of a task that lists it.
    Ceiling {
        /// Its position on its core.
        resource: u32,
        /// The task's.
        task: u32,
    },
    /// The task's priority counts among the users of a resource of several cores.
    Global {
        /// Its position on its core.
        task: u32,
    },
    /// With one more level too many jobs could have begun at once: the core has 90 threads, and more tasks.
    Levels {
        /// Its position on its core.
        task: u32,
    },
    /// The task runs in a server, and so has no level of its own.
    Served {
        /// Its position on its core.
        task: u32,
    },
    /// The core has stopped.
    Stopped,
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("it belongs to another core or executor: use one of this one"),
            Self::Kind => f.write_str(
                "no such attribute: fixed priorities go by priorities, EDF by relative deadlines of more than 0",
            ),
            Self::Active { task } => {
                write!(f, "task {task} has a job: pause it, and try again when that is complete")
            }
            Self::Held { resource, task } => {
                write!(f, "task {task} holds resource {resource}: try again when it has given it back")
            }
            Self::Ceiling { resource, task } => write!(
                f,
                "the ceiling of resource {resource} would be below task {task}, which uses it: raise the ceiling first"
            ),
            Self::Global { task } => write!(
                f,
                "task {task} uses a resource of several cores, where others count with its priority: keep it"
            ),
            Self::Levels { task } => write!(
                f,
                "task {task} would be at a level of its own, for which its core has no thread: give it one that another has"
            ),
            Self::Served { task } => write!(f, "task {task} runs in a server, and has no level of its own"),
            Self::Stopped => f.write_str("the core has stopped"),
        }
    }
}

impl std::error::Error for ChangeError {}

/// A question to a core. Tasks and resources are given by their positions there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Level(u32),
    SetLevel(u32, Attribute),
    Ceiling(u32),
    SetCeiling(u32, Attribute),
    Pause(u32, bool),
}

impl Question {
    /// The task that this resumes.
    pub(crate) fn resumed(self) -> Option<u32> {
        if let Self::Pause(task, false) = self { Some(task) } else { None }
    }
}

/// The attribute as it is, or was set to; `None` for a pause.
pub(crate) type Answer = Result<Option<Attribute>, ChangeError>;

/// The attribute of an answer that has one.
fn read(answer: Answer) -> Result<Attribute, ChangeError> {
    answer?.ok_or(ChangeError::Stopped)
}

impl Shared {
    /// Answers, inside the state. As many steps as there are tasks or resources.
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
        let word = self.words * task as usize + resource as usize / 64;
        self.listed.get(word).is_some_and(|word| word & 1 << (resource % 64) != 0)
    }

    fn task_here(&self, task: TaskId) -> Result<u32, ChangeError> {
        if task.brand == self.brand { Ok(task.task) } else { Err(ChangeError::Foreign) }
    }

    fn resource_here<T>(&self, resource: &Resource<T>) -> Result<u32, ChangeError> {
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

impl Job<'_> {
    /// The level of a task of this core: its priority, or under EDF the relative deadline that is its preemption
    /// level.
    ///
    /// *Real-time*: as a lock, for this and the next three. A change looks at each task, or resource, of the core.
    /// Where there are more tasks than 90, a change of a level also compares each task with up to 90 others.
    ///
    /// # Errors
    /// [`ChangeError::Foreign`], [`ChangeError::Served`].
    pub fn level(&mut self, task: TaskId) -> Result<Attribute, ChangeError> {
        let task = self.shared.task_here(task)?;
        read(self.ask(Question::Level(task)))
    }

    /// Changes a task's level, from its next job on. Allowed only while the task has no job, so never for the job's
    /// own task.
    ///
    /// # Errors
    /// [`ChangeError`].
    pub fn set_level(&mut self, task: TaskId, to: Attribute) -> Result<(), ChangeError> {
        let task = self.shared.task_here(task)?;
        self.ask(Question::SetLevel(task, to)).map(drop)
    }

    /// A resource's ceiling, or floor.
    ///
    /// # Errors
    /// [`ChangeError::Foreign`].
    pub fn ceiling<T>(&mut self, resource: &Resource<T>) -> Result<Attribute, ChangeError> {
        let resource = self.shared.resource_here(resource)?;
        read(self.ask(Question::Ceiling(resource)))
    }

    /// Changes a resource's ceiling, or floor, from the next lock on. Allowed only while no job holds the resource.
    ///
    /// # Errors
    /// [`ChangeError`].
    pub fn set_ceiling<T>(&mut self, resource: &Resource<T>, to: Attribute) -> Result<(), ChangeError> {
        let resource = self.shared.resource_here(resource)?;
        self.ask(Question::SetCeiling(resource, to)).map(drop)
    }

    fn ask(&mut self, question: Question) -> Answer {
        let mut inside = self.shared.enter(self.worker, self.task);
        let answer = self.shared.answer(inside.state(), question);
        inside.leave();
        answer
    }
}

/// For threads outside the executor. Each call waits until the core's dispatcher has answered.
impl Exec<'_> {
    /// A task's level: see [`Job::level`].
    ///
    /// # Errors
    /// [`ChangeError::Foreign`], [`ChangeError::Served`], [`ChangeError::Stopped`].
    pub fn level(&self, task: TaskId) -> Result<Attribute, ChangeError> {
        read(self.ask(task.brand, Question::Level(task.task)))
    }

    /// Changes a task's level: see [`Job::set_level`]. A paused task has no job after a while.
    ///
    /// # Errors
    /// [`ChangeError`].
    pub fn set_level(&self, task: TaskId, to: Attribute) -> Result<(), ChangeError> {
        self.ask(task.brand, Question::SetLevel(task.task, to)).map(drop)
    }

    /// A resource's ceiling, or floor.
    ///
    /// # Errors
    /// [`ChangeError::Foreign`], [`ChangeError::Stopped`].
    pub fn ceiling<T>(&self, resource: &Resource<T>) -> Result<Attribute, ChangeError> {
        read(self.ask(resource.brand, Question::Ceiling(resource.index())))
    }

    /// Changes a resource's ceiling, or floor: see [`Job::set_ceiling`].
    ///
    /// # Errors
    /// [`ChangeError`].
    pub fn set_ceiling<T>(&self, resource: &Resource<T>, to: Attribute) -> Result<(), ChangeError> {
        self.ask(resource.brand, Question::SetCeiling(resource.index(), to)).map(drop)
    }

    /// Drops a task's releases until [`Exec::resume`]: once this returns, no job of the task is released. Its period
    /// and phase go on: dropped releases are numbered, counted and recorded as skipped, and are no overruns. The
    /// task's current job, and the releases that wait behind it, are not affected. The dispatcher does not poll the
    /// task's work meanwhile, so nothing that the work would find is lost.
    ///
    /// # Errors
    /// [`ChangeError::Foreign`], [`ChangeError::Stopped`].
    pub fn pause(&self, task: TaskId) -> Result<(), ChangeError> {
        self.ask(task.brand, Question::Pause(task.task, true)).map(drop)
    }

    /// Releases the task's jobs again; a periodic task's from the next nominal instant that the core's dispatcher has
    /// not yet reported.
    ///
    /// # Errors
    /// [`ChangeError::Foreign`], [`ChangeError::Stopped`].
    pub fn resume(&self, task: TaskId) -> Result<(), ChangeError> {
        self.ask(task.brand, Question::Pause(task.task, false)).map(drop)
    }

    fn ask(&self, brand: u64, question: Question) -> Answer {
        let core = self.cores.iter().find(|core| core.brand == brand).ok_or(ChangeError::Foreign)?;
        core.requests.requester().ask(question, || core.call()).unwrap_or(Err(ChangeError::Stopped))
    }
}
