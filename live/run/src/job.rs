// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use taut_event::{Kind, Record};
use taut_exec::LockError;
use taut_scope::{Exceeded, Scope};
use taut_sys::{clock, thread};
use taut_time::Instant;
use taut_trace::Recorder;

use crate::resource::Resource;

/// Why a job did not do what it should. The job ends; its task goes on with the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It needed more of a scope than there was.
    Scope(Exceeded),
    /// A code of the application's own; shown in the report.
    Code(u32),
    /// A resource was not had.
    Lock(LockError),
    /// It was told to end.
    Killed,
}

impl From<Exceeded> for Failure {
    fn from(exceeded: Exceeded) -> Self {
        Self::Scope(exceeded)
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Killed => Self::Killed,
            error => Self::Lock(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope(exceeded) => exceeded.fmt(f),
            Self::Code(code) => write!(f, "failed with code {code}"),
            Self::Lock(error) => error.fmt(f),
            Self::Killed => f.write_str("told to end"),
        }
    }
}

impl std::error::Error for Failure {}

/// Writes a thread's events: who it is and where they go.
#[derive(Debug)]
pub(crate) struct Scribe {
    recorder: Recorder,
    subject: u16,
}

impl Scribe {
    pub(crate) fn new(recorder: Recorder, subject: u16) -> Self {
        Self { recorder, subject }
    }

    /// Records an event of this thread's task.
    pub(crate) fn own(&mut self, at_ns: u64, kind: Kind, job: u64, value: u64) {
        self.other(at_ns, kind, self.subject, job, value);
    }

    /// Records an event of something else.
    pub(crate) fn other(&mut self, at_ns: u64, kind: Kind, subject: u16, job: u64, value: u64) {
        let cpu = u8::try_from(thread::current_cpu()).unwrap_or(u8::MAX);
        self.recorder.record(Record { at: Instant::from_ns(at_ns), kind, cpu, subject, job, value });
    }
}

/// Who uses a channel: a [`Job`] or a [`crate::Context`]. What it sends and receives is traced as its own.
pub trait Caller: sealed::Caller {}

impl<T: sealed::Caller> Caller for T {}

pub(crate) mod sealed {
    use super::{Resource, Scribe};

    pub trait Caller {
        /// Whether a value that does not fit is lost: a job cannot wait and try again.
        const REAL_TIME: bool;

        #[expect(private_interfaces, reason = "sealed: nobody else implements or calls it")]
        fn scribe(&mut self) -> (&mut Scribe, u64);

        /// Runs `section` while nobody else has the resource. `None` if the caller may not have it.
        #[doc(hidden)]
        fn locked<R>(&mut self, _: &Resource<()>, _: impl FnOnce() -> R) -> Option<R> {
            None
        }
    }
}

/// One instance of a task, from its release to its completion.
#[derive(Debug)]
pub struct Job<'j> {
    /// On a core where a dispatcher decides.
    pub(crate) inner: Option<taut_exec::Job<'j>>,
    pub(crate) number: u64,
    pub(crate) release_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) scope: &'j Scope<'j>,
    pub(crate) scribe: &'j mut Scribe,
}

impl<'j> Job<'j> {
    /// Which job of its task it is, counted from 0; skipped releases count.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When it was released, on the monotonic clock: for a periodic task the nominal instant.
    pub fn release(&self) -> Instant {
        Instant::from_ns(self.release_ns)
    }

    /// Its absolute deadline.
    pub fn deadline(&self) -> Instant {
        Instant::from_ns(self.release_ns.saturating_add(self.deadline_ns))
    }

    /// The time now, on the same clock. One clock read, no system call.
    pub fn now(&self) -> Instant {
        Instant::from_ns(clock::monotonic_ns())
    }

    /// Runs `section` with what a resource of the manifest holds, while no other job has it. Locks end in reverse order by
    /// construction, also when `section` panics: then the value is poisoned, for it may be half changed, and nobody gets it but
    /// by [`Job::recover`].
    ///
    /// *Real-time*: if tasks of one core use it, it waits for nobody, and makes no system call unless another job goes on
    /// meanwhile by the core's rule. If tasks of several cores do, it waits for their sections: it spins, or is suspended,
    /// as the plan says and its bounds count.
    ///
    /// # Errors
    /// [`LockError`]; then nothing has happened, and `section` was not called. [`LockError::Nested`] if it is of several
    /// cores, inside of another section.
    pub fn lock<T: Send, R>(
        &mut self,
        resource: &Resource<T>,
        section: impl FnOnce(&mut T, &mut Job<'_>) -> R,
    ) -> Result<R, LockError> {
        let Self { inner, number, release_ns, deadline_ns, scope, scribe } = self;
        // Without a dispatcher the plan has no resources.
        let inner = inner.as_mut().ok_or(LockError::Foreign)?;
        resource.lock(inner, |value, inner| {
            let (number, release_ns, deadline_ns) = (*number, *release_ns, *deadline_ns);
            let inner = Some(inner.lent());
            section(value, &mut Job { inner, number, release_ns, deadline_ns, scope, scribe })
        })
    }

    /// As [`Job::lock`], also if a job panicked in the middle of a change: `section` is told whether one did. Then any part of
    /// the value may be the old one or the new one; what `section` leaves counts as whole when it returns, and not if it
    /// panics. For what is to be done before the application ends, which it does after a panic.
    ///
    /// *Real-time*: as [`Job::lock`].
    ///
    /// # Errors
    /// As [`Job::lock`], but for [`LockError::Poisoned`].
    pub fn recover<T: Send, R>(
        &mut self,
        resource: &Resource<T>,
        section: impl FnOnce(&mut T, bool, &mut Job<'_>) -> R,
    ) -> Result<R, LockError> {
        let Self { inner, number, release_ns, deadline_ns, scope, scribe } = self;
        // Without a dispatcher the plan has no resources.
        let inner = inner.as_mut().ok_or(LockError::Foreign)?;
        resource.recover(inner, |value, by, inner| {
            let (number, release_ns, deadline_ns) = (*number, *release_ns, *deadline_ns);
            let inner = Some(inner.lent());
            section(value, by.is_some(), &mut Job { inner, number, release_ns, deadline_ns, scope, scribe })
        })
    }

    /// A point at which the job may end early. It should if this is an error: it was late, or has used up its budget, and
    /// its manifest says `on-overrun = "kill-job"`. Every lock is such a point, too.
    ///
    /// *Real-time*: no system call.
    ///
    /// # Errors
    /// [`Failure::Killed`].
    pub fn checkpoint(&mut self) -> Result<(), Failure> {
        let Some(inner) = &mut self.inner else { return Ok(()) };
        inner.checkpoint().map_err(|_| Failure::Killed)
    }

    /// The release scope: empty when the job starts, forgotten when it ends. What is allocated from it cannot
    /// be kept, which the compiler checks:
    ///
    /// ```compile_fail
    /// use taut_run::{Component, Failure, Job, Task};
    /// struct Keeper<'k> { kept: &'k mut [u8] }
    /// impl Component for Keeper<'_> {}
    /// impl Task for Keeper<'_> {
    ///     fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
    ///         self.kept = job.scope().slice(8, 0u8)?;
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// Asking for more than there is fails the job, not others.
    pub fn scope(&self) -> &'j Scope<'j> {
        self.scope
    }
}

impl sealed::Caller for Job<'_> {
    const REAL_TIME: bool = true;

    #[expect(private_interfaces, reason = "sealed: nobody else implements or calls it")]
    fn scribe(&mut self) -> (&mut Scribe, u64) {
        (self.scribe, self.number)
    }

    fn locked<R>(&mut self, resource: &Resource<()>, section: impl FnOnce() -> R) -> Option<R> {
        resource.lock(self.inner.as_mut()?, |(), _| section()).ok()
    }
}
