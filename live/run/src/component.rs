// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::error::Error;

use crate::{Failure, Job, Payload};

/// What tasks and receivers have in common: their life cycle.
///
/// ```text
/// made ──start──▶ running ──pause──▶ paused      stop: from running or paused, once
///                    ▲                  │        finish: after all threads ended
///                    └──────resume──────┘        reset: after a restart, in place of a job
/// ```
///
/// All methods but `finish` run on the component's own thread, at its priority; on a dispatched core, `start` and
/// possibly `stop` run on the main thread. `start` runs before release 0 and may take its time and allocate.
/// `pause` and `resume` run in place of, or in front of, a job, so they count towards its WCET. Each component of a
/// service learns of a change by itself: a periodic task at its next release, a receiver at once, in a job without
/// a value. That job is like any other: it is released when the state changes, or when the minimum inter-arrival
/// time since the job before it is over, and it completes within the receiver's response time. The change loses no
/// value: values that come during a pause wait in their channel, and the receiver gets them afterwards, in order.
pub trait Component: Send {
    /// Runs before release 0.
    fn start(&mut self) {}

    /// Runs when the component learns that its service was paused. From then on jobs are skipped, and a receiver's
    /// values wait.
    fn pause(&mut self) {}

    /// Runs when the component learns that its service was resumed, before its next job.
    fn resume(&mut self) {}

    /// Runs in place of the component's next job after its service has restarted, because a job of one of the
    /// service's components panicked: see `on-failure` in the manifest. It brings the component into the state from
    /// which its jobs can continue: the job that panicked may have left it in the middle of a change, and may have
    /// poisoned a resource ([`Job::recover`]). Counts towards the WCET as `pause` and `resume` do. Until it has returned
    /// `Ok`, no other code of a component that has failed runs. If it panics or returns an error, that is a further
    /// failure.
    ///
    /// # Errors
    /// [`Failure`] if the component cannot continue.
    fn reset(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let _ = job;
        Ok(())
    }

    /// Runs after the last job, unless the component has failed and was not reset.
    fn stop(&mut self) {}

    /// Runs on the main thread, after all real-time threads have ended, unless the component has failed and was not
    /// reset: the place to write files.
    ///
    /// # Errors
    /// The application's own; reported to the person who ran it.
    fn finish(&mut self) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}

/// A periodic task; or a task that channels release, several queues or a message, and that takes their values by itself.
/// While a value waits in one of them, a job is released, not closer to the one before it than the manifest's minimum
/// inter-arrival time. A job takes from each what the manifest allows, or until nothing waits there: the bounds of the
/// plan rest on this. The task also has one job for each change of its service that it learns of, which calls
/// [`Component::pause`] or [`Component::resume`] alone.
pub trait Task: Component {
    /// One job. It must not block, allocate from the heap or wait for a party that is not real-time.
    ///
    /// # Errors
    /// [`Failure`] ends the job; the runtime records it, and the next job is released as if nothing had happened.
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure>;
}

/// A task that one queue releases: one job for each value, not closer together than the manifest's minimum
/// inter-arrival time, and one job without a value for each change of its service that it learns of.
pub trait Receiver<P: Payload>: Component {
    /// One job for a value.
    ///
    /// # Errors
    /// [`Failure`] ends the job; the runtime records it, and the next value is received as if nothing had happened.
    fn receive(&mut self, job: &mut Job<'_>, value: P) -> Result<(), Failure>;
}
