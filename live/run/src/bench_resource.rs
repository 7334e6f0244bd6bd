// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A resource in a bench. A section takes no virtual time and one job runs at a time, so no job ever waits
//! for a resource. Wrong uses of a lock are refused as on a dispatched core.

use std::sync::{Arc, Mutex, TryLockError};

use taut_exec::LockError;
use taut_time::Duration;

/// The job that a bench or a replay runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BenchJob {
    /// The task's position on its core.
    pub(crate) task: u32,
    /// How long the job executed.
    pub(crate) execution: Duration,
    /// Whether the overrun policy has ended it.
    pub(crate) is_killed: bool,
    /// Whether it is inside a section, and if so, whether tasks of several cores use that resource.
    pub(crate) inside: Option<bool>,
}

/// The value that a resource guards. The mutex of the standard library records that a job panicked in a
/// section: it is poisoned then.
pub(crate) struct BenchResource<T> {
    guarded: Arc<Mutex<Guarded<T>>>,
    /// Whether tasks of several cores use it.
    is_global: bool,
}

struct Guarded<T> {
    value: T,
    /// The task whose job was inside last.
    by: u32,
}

impl<T> Clone for BenchResource<T> {
    fn clone(&self) -> Self {
        Self { guarded: Arc::clone(&self.guarded), is_global: self.is_global }
    }
}

impl<T> BenchResource<T> {
    pub(crate) fn new(value: T, is_global: bool) -> Self {
        Self { guarded: Arc::new(Mutex::new(Guarded { value, by: 0 })), is_global }
    }

    /// As [`crate::Job::lock`].
    pub(crate) fn lock<R>(
        &self,
        number: u16,
        job: BenchJob,
        section: impl FnOnce(&mut T, BenchJob) -> R,
    ) -> Result<R, LockError> {
        let inside = self.enter(job)?;
        match self.guarded.try_lock() {
            Ok(mut guarded) => {
                guarded.by = job.task;
                Ok(section(&mut guarded.value, inside))
            }
            Err(TryLockError::Poisoned(torn)) => Err(LockError::Poisoned { by: torn.get_ref().by }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { resource: number.into() }),
        }
    }

    /// As [`crate::Job::recover`].
    pub(crate) fn recover<R>(
        &self,
        number: u16,
        job: BenchJob,
        section: impl FnOnce(&mut T, bool, BenchJob) -> R,
    ) -> Result<R, LockError> {
        let inside = self.enter(job)?;
        let (mut guarded, is_torn) = match self.guarded.try_lock() {
            Ok(guarded) => (guarded, false),
            Err(TryLockError::Poisoned(torn)) => (torn.into_inner(), true),
            Err(TryLockError::WouldBlock) => return Err(LockError::Held { resource: number.into() }),
        };
        guarded.by = job.task;
        let result = section(&mut guarded.value, is_torn, inside);
        self.guarded.clear_poison();
        Ok(result)
    }

    /// The job inside a section of this resource.
    fn enter(&self, job: BenchJob) -> Result<BenchJob, LockError> {
        match job.inside {
            _ if job.is_killed => Err(LockError::Killed),
            Some(other_is_global) if other_is_global || self.is_global => Err(LockError::Nested),
            _ => Ok(BenchJob { inside: Some(self.is_global), ..job }),
        }
    }
}
