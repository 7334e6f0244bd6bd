// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use taut_event::{Kind, Record};
use taut_exec::LockError;
use taut_scope::{Exceeded, Scope};
use taut_sys::clock;
use taut_time::{Duration, Instant};
use taut_trace::Recorder;

use crate::bench_resource::BenchJob;
use crate::clock::RunClock;
use crate::resource::Resource;
use crate::values::TaskValues;

/// Why a job failed. The job ends; its task goes on with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The job needed more of a scope than there was.
    Scope(Exceeded),
    /// A code of the application; the report shows it.
    Code(u32),
    /// The job did not get a resource.
    Lock(LockError),
    /// The job was killed: it was late or had used up its budget.
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
            Self::Killed => f.write_str("the overrun policy requested the end of the job"),
        }
    }
}

impl std::error::Error for Failure {}

/// Records the events of a thread, under its subject.
#[derive(Debug)]
pub(crate) struct EventRecorder {
    recorder: Recorder,
    subject: u16,
    clock: RunClock,
    values: TaskValues,
}

impl EventRecorder {
    pub(crate) fn new(recorder: Recorder, subject: u16) -> Self {
        Self::with_clock(recorder, subject, RunClock::Machine)
    }

    pub(crate) fn with_clock(recorder: Recorder, subject: u16, clock: RunClock) -> Self {
        Self { recorder, subject, clock, values: TaskValues::Unrecorded }
    }

    /// The same, with what becomes of the values of its ends.
    pub(crate) fn with_values(self, values: TaskValues) -> Self {
        Self { values, ..self }
    }

    /// From now on this becomes of the values of its ends; returns what did before.
    pub(crate) fn replace_values(&mut self, values: TaskValues) -> TaskValues {
        std::mem::replace(&mut self.values, values)
    }

    /// What becomes of the values of its ends.
    #[inline]
    pub(crate) fn values(&self) -> &TaskValues {
        &self.values
    }

    /// The time now, on the run's clock (ns).
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The time now, as the code of a task sees it: in a replay what it saw in the recorded run.
    pub(crate) fn read_clock(&self) -> Instant {
        Instant::from_ns(self.values.clock(|| self.clock.read_ns()))
    }

    /// The position of the task.
    pub(crate) fn subject(&self) -> u16 {
        self.subject
    }

    /// Records an event of this thread's task.
    pub(crate) fn own(&mut self, at_ns: u64, kind: Kind, job: u64, value: u64) {
        self.other(at_ns, kind, self.subject, job, value);
    }

    /// Records an event of another subject.
    pub(crate) fn other(&mut self, at_ns: u64, kind: Kind, subject: u16, job: u64, value: u64) {
        let cpu = self.clock.cpu();
        self.recorder.record(Record { at: Instant::from_ns(at_ns), kind, cpu, subject, job, value });
    }
}

/// The user of a channel: a [`Job`] or a [`crate::Context`]. What it sends and receives is recorded as its own.
pub trait Caller: sealed::SealedCaller {}

impl<T: sealed::SealedCaller> Caller for T {}

pub(crate) mod sealed {
    use super::{EventRecorder, Resource};

    pub trait SealedCaller {
        /// Whether a value that does not fit is lost: a job cannot wait and try again.
        const REAL_TIME: bool;

        #[expect(private_interfaces, reason = "sealed: nobody else implements or calls it")]
        fn event_recorder(&mut self) -> (&mut EventRecorder, u64);

        /// Runs `section` while no other caller holds the resource. `None` if this caller does not get it.
        #[doc(hidden)]
        fn locked<R>(&mut self, _: &Resource<()>, _: impl FnOnce() -> R) -> Option<R> {
            None
        }
    }
}

/// What drives a job: see [`crate::body`].
#[derive(Debug)]
pub(crate) enum JobDriver<'j> {
    /// A thread of the task's own, on a core where Linux schedules.
    Thread,
    /// The dispatcher of its core.
    Dispatcher(taut_exec::Job<'j>),
    /// A bench.
    Bench(BenchJob),
}

/// One instance of a task, from its release to its completion.
#[derive(Debug)]
pub struct Job<'j> {
    pub(crate) driver: JobDriver<'j>,
    pub(crate) number: u64,
    pub(crate) release_ns: u64,
    pub(crate) deadline_ns: u64,
    /// The processor time that the job's thread had used when the job began.
    pub(crate) began_ns: u64,
    pub(crate) scope: &'j Scope<'j>,
    pub(crate) event_recorder: &'j mut EventRecorder,
}

impl<'j> Job<'j> {
    /// The number of the job in its task, counted from 0; skipped releases count.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When the job was released, on the monotonic clock: for a periodic task the nominal instant.
    pub fn release(&self) -> Instant {
        Instant::from_ns(self.release_ns)
    }

    /// The absolute deadline.
    pub fn deadline(&self) -> Instant {
        Instant::from_ns(self.release_ns.saturating_add(self.deadline_ns))
    }

    /// The time now, on the same clock. One clock read, no system call.
    ///
    /// In a [bench](crate::bench) the first call gives the instant at which the job's code runs, and each further call a
    /// microsecond more, so that code which waits for an instant comes to it.
    pub fn now(&self) -> Instant {
        self.event_recorder.read_clock()
    }

    /// The processor time that the job has used so far: without the time in which its core ran other threads, but with
    /// the time for which the job spun at a lock. The report says at most what this returns at the
    /// job's end, and some microseconds less of a job that was never preempted.
    ///
    /// *Real-time*: one system call, about half a microsecond.
    pub fn used(&self) -> Duration {
        let EventRecorder { clock: run_clock, values, .. } = &*self.event_recorder;
        let used_ns = || match &self.driver {
            JobDriver::Bench(job) => job.execution.as_ns(),
            _ => clock::thread_cpu_ns().saturating_sub(self.began_ns),
        };
        Duration::from_ns(values.used(|| run_clock.now_ns(), used_ns))
    }

    /// Runs `section` with the value of a resource, while no other job holds the resource. Locks end in reverse
    /// order by construction, also when `section` panics. A panic poisons the value, because it may be half
    /// changed: after that only [`Job::recover`] gets it.
    ///
    /// *Real-time*: if tasks of one core use the resource, the call waits for nobody, and makes no system call
    /// unless another job goes on meanwhile by the core's rule. If tasks of several cores use it, the call waits
    /// for their sections: the job spins or is suspended, as the plan says and its bounds count.
    ///
    /// # Errors
    /// [`LockError`]; then nothing has happened, and `section` was not called. [`LockError::Nested`] if tasks of
    /// several cores use the resource and the job is inside another section.
    pub fn lock<T: Send, R>(
        &mut self,
        resource: &Resource<T>,
        section: impl FnOnce(&mut T, &mut Job<'_>) -> R,
    ) -> Result<R, LockError> {
        let asked = AskedLock::new(self.event_recorder)?;
        let Self { driver, number, release_ns, deadline_ns, began_ns, scope, event_recorder } = self;
        let result = resource.lock(driver, |value, driver| {
            asked.answered(event_recorder, None);
            let (number, release_ns, deadline_ns, began_ns) = (*number, *release_ns, *deadline_ns, *began_ns);
            section(
                value,
                &mut Job { driver, number, release_ns, deadline_ns, began_ns, scope, event_recorder },
            )
        });
        result.inspect_err(|error| asked.answered(self.event_recorder, Some(error)))
    }

    /// As [`Job::lock`], also if a job panicked in the middle of a change: the second argument of `section` says
    /// whether one did. Then any part of the value may be old or new. The value counts as whole when `section`
    /// returns, but not if it panics. For work that must be done before the application ends: a panic ends the
    /// application.
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
        let asked = AskedLock::new(self.event_recorder)?;
        let Self { driver, number, release_ns, deadline_ns, began_ns, scope, event_recorder } = self;
        let result = resource.recover(driver, |value, is_torn, driver| {
            asked.answered(event_recorder, None);
            let (number, release_ns, deadline_ns, began_ns) = (*number, *release_ns, *deadline_ns, *began_ns);
            section(
                value,
                is_torn,
                &mut Job { driver, number, release_ns, deadline_ns, began_ns, scope, event_recorder },
            )
        });
        result.inspect_err(|error| asked.answered(self.event_recorder, Some(error)))
    }

    /// A point at which the job may end early. The job should end if this returns an error: it was late, or has
    /// used up its budget, and its manifest says `on-overrun = "kill-job"`. Every lock is such a point, too.
    ///
    /// *Real-time*: no system call.
    ///
    /// # Errors
    /// [`Failure::Killed`].
    pub fn checkpoint(&mut self) -> Result<(), Failure> {
        let is_killed = match &mut self.driver {
            JobDriver::Thread => false,
            JobDriver::Dispatcher(job) => job.checkpoint().is_err(),
            JobDriver::Bench(job) => job.is_killed,
        };
        let EventRecorder { clock, values, .. } = &*self.event_recorder;
        if values.checkpoint(|| clock.now_ns(), is_killed) { Err(Failure::Killed) } else { Ok(()) }
    }

    /// The release scope: empty when the job starts, forgotten when it ends. A job cannot keep what it allocates
    /// here, which the compiler checks:
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
    /// A request for more than there is fails this job and no other.
    pub fn scope(&self) -> &'j Scope<'j> {
        self.scope
    }
}

/// A job asks for a resource. That is a checkpoint, too, and what it was told there is recorded for a replay of the code:
/// before what the section does.
#[derive(Clone, Copy)]
struct AskedLock {
    is_replayed: bool,
}

impl AskedLock {
    /// In a replay, tells what the job was told in the recorded run.
    ///
    /// # Errors
    /// [`LockError::Killed`], as then.
    #[inline]
    fn new(event_recorder: &EventRecorder) -> Result<Self, LockError> {
        let (values, is_replayed) = (event_recorder.values(), event_recorder.values().is_replayed());
        if is_replayed && values.checkpoint(|| event_recorder.now_ns(), false) {
            return Err(LockError::Killed);
        }
        Ok(Self { is_replayed })
    }

    /// The job has got the resource, or this error.
    #[inline]
    fn answered(self, event_recorder: &EventRecorder, error: Option<&LockError>) {
        if !self.is_replayed {
            let is_killed = error == Some(&LockError::Killed);
            event_recorder.values().checkpoint(|| event_recorder.now_ns(), is_killed);
        }
    }
}

impl sealed::SealedCaller for Job<'_> {
    const REAL_TIME: bool = true;

    #[expect(private_interfaces, reason = "sealed: nobody else implements or calls it")]
    fn event_recorder(&mut self) -> (&mut EventRecorder, u64) {
        (self.event_recorder, self.number)
    }

    fn locked<R>(&mut self, resource: &Resource<()>, section: impl FnOnce() -> R) -> Option<R> {
        resource.lock(&mut self.driver, |(), _| section()).ok()
    }
}
