// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The resources that jobs lock: of one core or of several, as the plan says.

use std::any::Any;
use std::fmt;

use taut_exec::{GlobalResource, LockError, SetupError, TaskId, TaskSetup};
use taut_sys::interrupt::ThreadSlot;

use crate::bench_resource::BenchResource;
use crate::job::JobDriver;

/// A handle of a resource of the manifest: see [`crate::Create::resource`]. Clones are handles of the same
/// resource.
///
/// The plan says whether jobs raise a ceiling, spin or sleep for it; the code always calls [`crate::Job::lock`].
pub struct Resource<T> {
    kind: Kind<T>,
    /// The number by which records name it.
    number: u16,
}

enum Kind<T> {
    /// For tasks of one core.
    Local(taut_exec::CoreResource<T>),
    /// For tasks of several cores.
    Global(GlobalResource<'static, T>),
    /// For tasks in a bench.
    Bench(BenchResource<T>),
}

impl<T> Clone for Resource<T> {
    fn clone(&self) -> Self {
        let kind = match &self.kind {
            Kind::Local(local) => Kind::Local(local.clone()),
            Kind::Global(global) => Kind::Global(global.clone()),
            Kind::Bench(bench) => Kind::Bench(bench.clone()),
        };
        Self { kind, number: self.number }
    }
}

impl<T> fmt::Debug for Resource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Local(local) => local.fmt(f),
            Kind::Global(global) => global.fmt(f),
            Kind::Bench(_) => f.write_str("BenchResource"),
        }
    }
}

impl<T> Resource<T> {
    /// A resource for tasks of one core.
    pub(crate) fn local(local: taut_exec::CoreResource<T>, number: u16) -> Self {
        Self { kind: Kind::Local(local), number }
    }

    /// A resource for tasks of several cores.
    pub(crate) fn global(global: GlobalResource<'static, T>, number: u16) -> Self {
        Self { kind: Kind::Global(global), number }
    }

    /// A resource for tasks in a bench.
    pub(crate) fn bench(bench: BenchResource<T>, number: u16) -> Self {
        Self { kind: Kind::Bench(bench), number }
    }
}

impl<T: Send> Resource<T> {
    /// Locks the resource for a job.
    pub(crate) fn lock<R>(
        &self,
        driver: &mut JobDriver<'_>,
        section: impl FnOnce(&mut T, JobDriver<'_>) -> R,
    ) -> Result<R, LockError> {
        let job = match (&self.kind, driver) {
            (Kind::Bench(bench), JobDriver::Bench(job)) => {
                return bench.lock(self.number, *job, |value, job| section(value, JobDriver::Bench(job)));
            }
            (_, JobDriver::Dispatcher(job)) => job,
            // Without a dispatcher the plan has no resources.
            _ => return Err(LockError::Foreign),
        };
        self.said(job, |job, thread_slot| {
            let section = |value: &mut T, job: &mut taut_exec::Job<'_>| {
                thread_slot.has(self.number);
                section(value, JobDriver::Dispatcher(job.reborrow()))
            };
            match &self.kind {
                Kind::Local(local) => job.lock(local, section),
                Kind::Global(global) => job.lock_global(global, section),
                Kind::Bench(_) => Err(LockError::Foreign),
            }
        })
    }

    /// Locks the resource for a job, also if it is poisoned, which `section` learns.
    pub(crate) fn recover<R>(
        &self,
        driver: &mut JobDriver<'_>,
        section: impl FnOnce(&mut T, bool, JobDriver<'_>) -> R,
    ) -> Result<R, LockError> {
        let job = match (&self.kind, driver) {
            (Kind::Bench(bench), JobDriver::Bench(job)) => {
                let section = |value: &mut T, is_torn, job| section(value, is_torn, JobDriver::Bench(job));
                return bench.recover(self.number, *job, section);
            }
            (_, JobDriver::Dispatcher(job)) => job,
            // Without a dispatcher the plan has no resources.
            _ => return Err(LockError::Foreign),
        };
        self.said(job, |job, thread_slot| {
            let section = |value: &mut T, torn: Option<u32>, job: &mut taut_exec::Job<'_>| {
                thread_slot.has(self.number);
                section(value, torn.is_some(), JobDriver::Dispatcher(job.reborrow()))
            };
            match &self.kind {
                Kind::Local(local) => job.recover(local, section),
                Kind::Global(global) => job.recover_global(global, section),
                Kind::Bench(_) => Err(LockError::Foreign),
            }
        })
    }

    /// Runs `lock`; meanwhile the thread slot says that the job asks for this resource, for the guardian's report.
    #[inline]
    fn said<R>(
        &self,
        job: &mut taut_exec::Job<'_>,
        lock: impl FnOnce(&mut taut_exec::Job<'_>, &ThreadSlot) -> R,
    ) -> R {
        let thread_slot = job.thread_slot();
        // Dropped by a panic, too.
        let _asks = Asks { thread_slot, before: thread_slot.asks_for(self.number) };
        lock(job, thread_slot)
    }
}

/// States in the thread slot that a job asks for a resource or has it, until this is dropped.
struct Asks<'s> {
    thread_slot: &'s ThreadSlot,
    before: u32,
}

impl Drop for Asks<'_> {
    #[inline]
    fn drop(&mut self) {
        self.thread_slot.resource_as_before(self.before);
    }
}

/// A resource of any type, for the set-up of cores.
pub(crate) trait Guard {
    /// Lists the resource at a task that uses it, if it is one for a single core.
    fn listed(&self, task: TaskSetup) -> TaskSetup;
    /// Makes a task a user of the resource, if it is one for several cores.
    fn joined(&self, setup: &mut taut_exec::Setup<'_>, task: TaskId) -> Result<(), SetupError>;
    /// The [`Resource`] itself.
    fn any(&self) -> &dyn Any;
}

impl<T: Send + 'static> Guard for Resource<T> {
    fn listed(&self, task: TaskSetup) -> TaskSetup {
        match &self.kind {
            Kind::Local(local) => task.uses(local),
            Kind::Global(_) | Kind::Bench(_) => task,
        }
    }

    fn joined(&self, setup: &mut taut_exec::Setup<'_>, task: TaskId) -> Result<(), SetupError> {
        match &self.kind {
            Kind::Local(_) | Kind::Bench(_) => Ok(()),
            Kind::Global(global) => setup.uses_global(task, global),
        }
    }

    fn any(&self) -> &dyn Any {
        self
    }
}
