// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The code of a real-time task, and the drivers of its jobs.
//!
//! A [`TaskKind`] says what distinguishes a periodic task from a receiver: when a job is released, and which
//! code of the component it runs. Each driver runs any kind: that of native cores is a loop; those of
//! dispatched cores, of a bench and of a replay are called for each job. The drivers are compiled for each
//! kind, so that the only indirect call of a job is the dispatcher's.

use std::error::Error;

use taut_event::{Kind, RanCode};

use crate::Component;
use crate::bench_resource::BenchJob;
use crate::control::State;
use crate::guard::heap_uses;
use crate::job::{Failure, Job};
use crate::lifecycle::{JobCode, JobContext, Released, notify};
use crate::native::TaskThread;

/// What a release leads to.
pub(crate) enum Release<C> {
    /// A job that runs the task's code, for this cause.
    Job(C),
    /// A job that runs the component's `reset`: its service has restarted.
    Reset,
    /// A job in which the component follows its service to another state.
    Change(State),
    /// Nothing: the task's service is paused or stopped, or the cause has gone.
    Nothing,
}

/// When jobs of a task are released, and what they run.
pub(crate) trait TaskKind: Send {
    /// What a job is for.
    type Cause;

    /// The application's component.
    fn component(&mut self) -> &mut impl Component;

    /// On a native core: waits for the next release. Returns its instant, and what it leads to; `None` if the
    /// application stops first.
    fn next(&mut self, thread: &mut TaskThread<'_>) -> Option<(u64, Release<Self::Cause>)>;

    /// On a dispatched core and in a bench, for a task that a channel or a device releases: returns the
    /// instant at which its next job is due, if there is a cause for one. A receiver takes the value. Called
    /// only while the task has no job.
    fn poll(&mut self, context: &mut JobContext<'_>, now_ns: u64) -> Option<u64> {
        let _ = (context, now_ns);
        None
    }

    /// On a dispatched core and in a bench: what the release of a job leads to, which arrived at
    /// `arrival_ns`.
    fn released(&mut self, context: &mut JobContext<'_>, arrival_ns: u64) -> Release<Self::Cause>;

    /// In a replay: what the next job is for, whose code begins at `now_ns`.
    fn replayed_cause(&self, now_ns: u64) -> Self::Cause;

    /// Runs the component's code in a job.
    fn run(&mut self, cause: Self::Cause, job: &mut Job<'_>) -> Result<(), Failure>;
}

/// The code of a real-time task of any kind.
pub(crate) trait Body: Send {
    /// Runs before release 0.
    fn start(&mut self);
    /// Where Linux schedules the task, on a thread of its own: runs all jobs, from release 0 to the end.
    fn run_native(&mut self, thread: &mut TaskThread<'_>);
    /// Where a dispatcher or a bench schedules the task: see [`TaskKind::poll`].
    fn poll(&mut self, context: &mut JobContext<'_>, now_ns: u64) -> Option<u64>;
    /// Where a dispatcher schedules the task: runs one job; returns `false` if the task gets no further job.
    fn run_dispatched(&mut self, context: &mut JobContext<'_>, job: &mut taut_exec::Job<'_>) -> bool;
    /// In a bench: runs one job, whose execution ends at `end_ns`; returns `false` if the task gets no further job.
    fn run_in_bench(
        &mut self,
        context: &mut JobContext<'_>,
        job: Released,
        bench: BenchJob,
        end_ns: u64,
    ) -> bool;
    /// In a replay: runs the code that a recorded job ran.
    fn run_replayed(&mut self, context: &mut JobContext<'_>, job: Released, code: RanCode, bench: BenchJob);
    /// Runs after the last job, unless the component has failed or was stopped before. [`Body::run_native`] calls it
    /// itself.
    fn stop(&mut self);
    /// Runs on the main thread, after all real-time threads have ended.
    fn finish(&mut self) -> Result<(), Box<dyn Error>>;
}

impl<K: TaskKind> Body for K {
    fn start(&mut self) {
        self.component().start();
    }

    fn run_native(&mut self, thread: &mut TaskThread<'_>) {
        while let Some((release_ns, release)) = self.next(thread) {
            let goes_on = match release {
                Release::Job(cause) => thread.run_job(release_ns, JobCode::Task, |job| self.run(cause, job)),
                Release::Reset => {
                    thread.run_job(release_ns, JobCode::Reset, |job| self.component().reset(job))
                }
                Release::Change(state) => thread.run_job(release_ns, JobCode::Change, |_| {
                    notify(self.component(), state);
                    Ok(())
                }),
                Release::Nothing => thread.skip(),
            };
            if !goes_on {
                break;
            }
        }
        if thread.context.is_to_be_stopped() {
            self.component().stop();
        }
    }

    fn poll(&mut self, context: &mut JobContext<'_>, now_ns: u64) -> Option<u64> {
        TaskKind::poll(self, context, now_ns)
    }

    fn run_dispatched(&mut self, context: &mut JobContext<'_>, job: &mut taut_exec::Job<'_>) -> bool {
        let before = heap_uses();
        let release = self.released(context, job.arrival().as_ns());
        // A periodic task follows its service here, before a job.
        context.count_heap_since(before);
        match release {
            Release::Job(cause) => context.execute_dispatched(job, JobCode::Task, |job| self.run(cause, job)),
            Release::Reset => {
                context.execute_dispatched(job, JobCode::Reset, |job| self.component().reset(job));
            }
            Release::Change(state) => context.execute_dispatched(job, JobCode::Change, |_| {
                notify(self.component(), state);
                Ok(())
            }),
            Release::Nothing => context.complete_flows(),
        }
        // A task that is over retires from its flows at its next release, because retiring may take a lock.
        !context.is_over()
    }

    fn run_in_bench(
        &mut self,
        context: &mut JobContext<'_>,
        job: Released,
        bench: BenchJob,
        end_ns: u64,
    ) -> bool {
        match self.released(context, job.at_ns) {
            Release::Job(cause) => {
                context.execute_in_bench(job, bench, end_ns, JobCode::Task, |job| self.run(cause, job));
            }
            Release::Reset => context
                .execute_in_bench(job, bench, end_ns, JobCode::Reset, |job| self.component().reset(job)),
            Release::Change(state) => context.execute_in_bench(job, bench, end_ns, JobCode::Change, |_| {
                notify(self.component(), state);
                Ok(())
            }),
            Release::Nothing => {
                context.complete_flows();
                context.record(end_ns, Kind::Complete, job.number, bench.execution.as_ns());
            }
        }
        !context.is_over()
    }

    fn run_replayed(&mut self, context: &mut JobContext<'_>, job: Released, code: RanCode, bench: BenchJob) {
        let change = match code {
            RanCode::Task => {
                let cause = self.replayed_cause(context.now_ns());
                return context.execute_replayed(job, bench, JobCode::Task, |job| self.run(cause, job));
            }
            RanCode::Reset => {
                let reset = |job: &mut Job<'_>| self.component().reset(job);
                return context.execute_replayed(job, bench, JobCode::Reset, reset);
            }
            RanCode::Resume => State::Running,
            RanCode::Pause => State::Paused,
            RanCode::Stop => State::Stopped,
        };
        context.set_followed(change);
        context.execute_replayed(job, bench, JobCode::Change, |_| {
            notify(self.component(), change);
            Ok(())
        });
    }

    fn stop(&mut self) {
        self.component().stop();
    }

    fn finish(&mut self) -> Result<(), Box<dyn Error>> {
        self.component().finish()
    }
}
