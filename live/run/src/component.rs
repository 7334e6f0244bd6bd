// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::error::Error;

use crate::{Failure, Job, Payload};

/// What tasks and receivers have in common: a life.
///
/// ```text
/// made ──start──▶ running ──pause──▶ paused      stop: from running or paused, once
///                    ▲                  │        finish: after all threads ended
///                    └──────resume──────┘
/// ```
///
/// All but `finish` run on the component's own thread, at its priority. `start` runs before release 0 and may
/// take its time and allocate; `pause` and `resume` run in place of, or in front of, a job, so they count
/// towards its WCET. Each of a service's components hears of a change by itself: a periodic task at its next release, a
/// receiver at once, in a job that has no value. That one is a job as any other: it is released when the state changes, or at the
/// end of the least gap behind the job before it, and done within the receiver's response time. No value is lost for
/// it: those that come during a pause wait in their channel, and are received behind it, in order.
pub trait Component: Send {
    /// Before release 0.
    fn start(&mut self) {}

    /// When it hears that the service was paused; jobs are skipped from then on, and a receiver's values wait.
    fn pause(&mut self) {}

    /// When it hears that the service was resumed, in front of its next job.
    fn resume(&mut self) {}

    /// After the last job.
    fn stop(&mut self) {}

    /// On the main thread, after all threads ended: the place to write files.
    ///
    /// # Errors
    /// What the application says; told to the person who ran it.
    fn finish(&mut self) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}

/// A periodic task.
pub trait Task: Component {
    /// One job. Must not block, allocate from the heap or wait for a party that is not real-time.
    ///
    /// # Errors
    /// [`Failure`] ends the job; it is traced, and the next is released as if nothing had happened.
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure>;
}

/// A task that a channel releases, one job for each value, not closer together than the manifest's least gap; and one without
/// a value for each change of its service that it hears of.
pub trait Receiver<P: Payload>: Component {
    /// One job.
    ///
    /// # Errors
    /// [`Failure`] ends the job; it is traced, and the next value is received as if nothing had happened.
    fn receive(&mut self, job: &mut Job<'_>, value: P) -> Result<(), Failure>;
}
