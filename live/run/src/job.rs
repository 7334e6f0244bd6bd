// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use taut_event::{Kind, Record};
use taut_scope::{Exceeded, Scope};
use taut_sys::{clock, thread};
use taut_time::Instant;
use taut_trace::Recorder;

/// Why a job did not do what it should. The job ends; its task goes on with the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It needed more of a scope than there was.
    Scope(Exceeded),
    /// A code of the application's own; shown in the report.
    Code(u32),
}

impl From<Exceeded> for Failure {
    fn from(exceeded: Exceeded) -> Self {
        Self::Scope(exceeded)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope(exceeded) => exceeded.fmt(f),
            Self::Code(code) => write!(f, "failed with code {code}"),
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
    use super::Scribe;

    pub trait Caller {
        /// Whether a value that does not fit is lost: a job cannot wait and try again.
        const REAL_TIME: bool;

        #[expect(private_interfaces, reason = "sealed: nobody else implements or calls it")]
        fn scribe(&mut self) -> (&mut Scribe, u64);
    }
}

/// One instance of a task, from its release to its completion.
#[derive(Debug)]
pub struct Job<'j> {
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
}
