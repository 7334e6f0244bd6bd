// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How other threads read and change levels, ceilings and floors, and pause releases: see [`crate::shared::answer`].

use taut_policy::Attribute;

use crate::question::{Answer, ChangeError, Question, read};
use crate::resource::CoreResource;
use crate::run::exec::Exec;
use crate::task::TaskId;

/// For threads outside the executor. Each call waits until the core's dispatcher has answered.
impl Exec<'_> {
    /// A task's level: see [`Job::level`](crate::Job::level).
    ///
    /// # Errors
    /// [`ChangeError::Foreign`], [`ChangeError::Served`], [`ChangeError::Stopped`].
    pub fn level(&self, task: TaskId) -> Result<Attribute, ChangeError> {
        read(self.ask(task.brand, Question::Level(task.task)))
    }

    /// Changes a task's level: see [`Job::set_level`](crate::Job::set_level). Pause the task before: then it has
    /// no job once those that were released are complete.
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
    pub fn ceiling<T>(&self, resource: &CoreResource<T>) -> Result<Attribute, ChangeError> {
        read(self.ask(resource.brand, Question::Ceiling(resource.index())))
    }

    /// Changes a resource's ceiling, or floor: see [`Job::set_ceiling`](crate::Job::set_ceiling).
    ///
    /// # Errors
    /// [`ChangeError`].
    pub fn set_ceiling<T>(&self, resource: &CoreResource<T>, to: Attribute) -> Result<(), ChangeError> {
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
