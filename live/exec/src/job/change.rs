// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How a job reads and changes levels, ceilings and floors: see [`crate::shared::answer`].

use taut_policy::Attribute;

use crate::job::Job;
use crate::question::{Answer, ChangeError, Question, read};
use crate::resource::CoreResource;
use crate::task::TaskId;

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
    pub fn ceiling<T>(&mut self, resource: &CoreResource<T>) -> Result<Attribute, ChangeError> {
        let resource = self.shared.resource_here(resource)?;
        read(self.ask(Question::Ceiling(resource)))
    }

    /// Changes a resource's ceiling, or floor, from the next lock on. Allowed only while no job holds the resource.
    ///
    /// # Errors
    /// [`ChangeError`].
    pub fn set_ceiling<T>(&mut self, resource: &CoreResource<T>, to: Attribute) -> Result<(), ChangeError> {
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
