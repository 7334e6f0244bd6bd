// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks on a dispatched core, as the [`Work`] of its dispatcher. The dispatcher releases, begins and completes their
//! jobs; the steps of a job's life between that are those of [`crate::lifecycle`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, Ordering};

use taut_exec::Work;
use taut_lock::Listener;
use taut_time::Duration;

use crate::Error;
use crate::body::Body;
use crate::lifecycle::JobContext;

/// A best-effort task's place in its server, which its jobs donate to the task's thread.
pub(crate) struct Donor<'h> {
    pub(crate) task: usize,
    /// Linux's id of the thread, once it is on the server's processor; 0 before, and if it never gets there.
    pub(crate) thread: &'h AtomicI32,
}

impl Work for Donor<'_> {
    fn run(&mut self, job: &mut taut_exec::Job<'_>) {
        job.donate(self.thread.load(Ordering::Acquire));
    }
}

/// A task whose jobs a dispatcher releases.
pub(crate) struct DispatchedTask<'p> {
    pub(crate) task: usize,
    body: Box<dyn Body + 'p>,
    pub(crate) context: JobContext<'p>,
    /// Listeners of the channels that release it, each with whether a notification may come while nothing is
    /// to be done.
    pub(crate) listeners: Vec<(Listener<'p>, bool)>,
    /// Whether a job has run since the dispatcher last asked for one.
    has_run: bool,
    /// Whether the task has no further job.
    over: bool,
    panicked: bool,
}

impl<'p> DispatchedTask<'p> {
    pub(crate) fn new(
        task: usize,
        body: Box<dyn Body + 'p>,
        context: JobContext<'p>,
        listeners: Vec<(Listener<'p>, bool)>,
    ) -> Self {
        Self { task, body, context, listeners, has_run: false, over: false, panicked: false }
    }

    /// Starts the task. On the main thread, before release 0.
    pub(crate) fn start(&mut self) {
        self.body.start();
    }

    /// For how long the dispatcher does not listen to a channel after a notification. `in_vain`: one may come while nothing
    /// is to be done, or more than one in a gap. A client may notify without end, another sender that is not real-time for
    /// each value that fits or drops an older one, and a setter for each alarm that is due before all others.
    pub(crate) fn apart(&self, in_vain: bool) -> Duration {
        if in_vain { Duration::from_ns(self.context.timing.period_ns) } else { Duration::ZERO }
    }

    /// Calls the component's `stop`, unless it has failed or a job has stopped it. On the main thread, after
    /// the executor has ended.
    pub(crate) fn stop(&mut self) {
        if !self.over && !self.panicked && self.context.is_to_be_stopped() {
            self.body.stop();
        }
        self.over = true;
    }

    /// Finishes the task, after [`DispatchedTask::stop`].
    pub(crate) fn end(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        if self.panicked || self.context.has_failed() {
            return Err(Error::panicked());
        }
        self.body.finish()
    }
}

impl Work for &mut DispatchedTask<'_> {
    fn begin(&mut self, origin_ns: u64) {
        self.context.set_next_release(origin_ns.saturating_add(self.context.timing.offset_ns));
    }

    fn poll(&mut self, now_ns: u64) -> Option<u64> {
        if std::mem::take(&mut self.has_run) {
            self.context.note_completion(now_ns);
        }
        if self.over { None } else { self.body.poll(&mut self.context, now_ns) }
    }

    fn admit(&mut self, next: u64, begins: bool) -> bool {
        if self.over {
            self.context.retire();
        }
        self.over || self.context.admit(next, begins)
    }

    fn run(&mut self, job: &mut taut_exec::Job<'_>) {
        if self.over {
            return;
        }
        self.has_run = true;
        let DispatchedTask { body, context, .. } = &mut **self;
        // The steps of a job's life catch panics of a job. A panic of another callback ends the application: the
        // component does not run again, and without it, the running system is not the one that was proven.
        match catch_unwind(AssertUnwindSafe(|| body.run_dispatched(context, job))) {
            Ok(goes_on) => self.over = !goes_on,
            Err(panic) => {
                // Leaked, because dropping the payload of a panic might panic again.
                std::mem::forget(panic);
                (self.over, self.panicked) = (true, true);
                self.context.control.panicked(self.context.timing.task);
            }
        }
    }
}
