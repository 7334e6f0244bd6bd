// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What jobs lock: of one core or of several, as the plan says.

use std::any::Any;
use std::fmt;

use taut_exec::{Global, LockError, SetupError, TaskId, TaskSetup};

/// A resource of the manifest, as its users have it: see [`crate::Create::resource`]. A handle; clones are of the same one.
///
/// Whether jobs raise a ceiling, spin or sleep for it is the plan's; for the code it is [`crate::Job::lock`].
pub struct Resource<T>(Kind<T>);

enum Kind<T> {
    /// Of tasks of one core.
    Local(taut_exec::Resource<T>),
    /// Of tasks of several.
    Global(Global<'static, T>),
}

impl<T> Clone for Resource<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Kind::Local(local) => Kind::Local(local.clone()),
            Kind::Global(global) => Kind::Global(global.clone()),
        })
    }
}

impl<T> fmt::Debug for Resource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Local(local) => local.fmt(f),
            Kind::Global(global) => global.fmt(f),
        }
    }
}

impl<T> From<taut_exec::Resource<T>> for Resource<T> {
    fn from(local: taut_exec::Resource<T>) -> Self {
        Self(Kind::Local(local))
    }
}

impl<T> From<Global<'static, T>> for Resource<T> {
    fn from(global: Global<'static, T>) -> Self {
        Self(Kind::Global(global))
    }
}

impl<T: Send> Resource<T> {
    /// Locks it for a job.
    pub(crate) fn lock<R>(
        &self,
        job: &mut taut_exec::Job<'_>,
        section: impl FnOnce(&mut T, &mut taut_exec::Job<'_>) -> R,
    ) -> Result<R, LockError> {
        match &self.0 {
            Kind::Local(local) => job.lock(local, section),
            Kind::Global(global) => job.lock_global(global, section),
        }
    }
}

impl<T: Send> Resource<T> {
    /// Locks it for a job, also if it is poisoned.
    pub(crate) fn recover<R>(
        &self,
        job: &mut taut_exec::Job<'_>,
        section: impl FnOnce(&mut T, Option<u32>, &mut taut_exec::Job<'_>) -> R,
    ) -> Result<R, LockError> {
        match &self.0 {
            Kind::Local(local) => job.recover(local, section),
            Kind::Global(global) => job.recover_global(global, section),
        }
    }
}

/// A resource whatever it holds, as cores are set up with it.
pub(crate) trait Guard {
    /// A task of its core that uses it, if it is of one core.
    fn listed(&self, task: TaskSetup) -> TaskSetup;
    /// Makes a task a party of it, if it is of several.
    fn joined(&self, setup: &mut taut_exec::Setup<'_>, task: TaskId) -> Result<(), SetupError>;
    /// The [`Resource`] itself.
    fn any(&self) -> &dyn Any;
}

impl<T: Send + 'static> Guard for Resource<T> {
    fn listed(&self, task: TaskSetup) -> TaskSetup {
        match &self.0 {
            Kind::Local(local) => task.uses(local),
            Kind::Global(_) => task,
        }
    }

    fn joined(&self, setup: &mut taut_exec::Setup<'_>, task: TaskId) -> Result<(), SetupError> {
        match &self.0 {
            Kind::Local(_) => Ok(()),
            Kind::Global(global) => setup.uses_global(task, global),
        }
    }

    fn any(&self) -> &dyn Any {
        self
    }
}
