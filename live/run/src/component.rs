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
/// towards its WCET. A service's components change together, each at its next release.
pub trait Component: Send {
    /// Before release 0.
    fn start(&mut self) {}

    /// At the first release after the service was paused; jobs are skipped from then on.
    fn pause(&mut self) {}

    /// At the first release after the service was resumed, in front of its job.
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

/// A task that a channel releases, one job for each value, not closer together than the manifest's least gap.
pub trait Receiver<P: Payload>: Component {
    /// One job.
    ///
    /// # Errors
    /// [`Failure`] ends the job; it is traced, and the next value is received as if nothing had happened.
    fn receive(&mut self, job: &mut Job<'_>, value: P) -> Result<(), Failure>;
}
