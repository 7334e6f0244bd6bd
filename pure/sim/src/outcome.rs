// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::{Duration, Instant};

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Per task.
    pub tasks: Vec<TaskOutcome>,
    /// How it ended.
    pub end: RunEnd,
    /// The instant of the last event.
    pub last: Instant,
    /// Releases, ends of execution, and similar events that the run took from its calendar.
    pub events: u64,
}

impl Outcome {
    /// Whether a job completed after its deadline, was ended before it was complete, or was dropped.
    pub fn missed(&self) -> bool {
        self.tasks.iter().any(|task| task.missed > 0 || task.dropped > 0 || task.killed > 0)
    }
}

/// What happened to a task. A job that is not complete at the end counts as released only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskOutcome {
    /// Jobs that were released.
    pub released: u64,
    /// Of these, jobs that completed.
    pub completed: u64,
    /// Of these, jobs that completed after their deadlines.
    pub missed: u64,
    /// Jobs that were not released: an earlier one was not complete and the task's limit says so, or too many waited.
    pub dropped: u64,
    /// Jobs that used up their budgets.
    pub exhausted: u64,
    /// Jobs that were ended before they were complete.
    pub killed: u64,
    /// The longest response time from an arrival.
    pub response_max: Duration,
    /// The longest response time from a release.
    pub from_release_max: Duration,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every job is complete.
    Complete,
    /// The run reached its step limit.
    Steps,
    /// A job used up its budget or was late, and its limit stops the application.
    Stopped {
        /// The task.
        task: usize,
    },
    /// Jobs wait for each other. No rule should allow this.
    Stuck,
    /// A task requested a resource that another task holds, which its core's rule should have prevented.
    Broken {
        /// The task.
        task: usize,
        /// The resource.
        resource: usize,
    },
    /// A rule refused an event of a task: a bug in this crate.
    Misuse {
        /// The task.
        task: usize,
    },
}
