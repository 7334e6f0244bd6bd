// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::{Duration, Instant};

/// What a run was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Per task.
    pub tasks: Vec<TaskOutcome>,
    /// How it ended.
    pub end: End,
    /// When the last thing happened.
    pub last: Instant,
    /// Releases, ends of execution, and their like: what the run took from its calendar.
    pub events: u64,
}

impl Outcome {
    /// Whether a job was done after its deadline, ended before it was done, or dropped.
    pub fn missed(&self) -> bool {
        self.tasks.iter().any(|task| task.missed > 0 || task.dropped > 0 || task.killed > 0)
    }
}

/// What happened to a task. Jobs that are not complete at the end count as released only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskOutcome {
    /// Jobs that were released.
    pub released: u64,
    /// Of these, complete.
    pub completed: u64,
    /// Of these, after their deadline.
    pub missed: u64,
    /// Jobs that were not released, as an earlier one was not complete, by its limit, or too many.
    pub dropped: u64,
    /// Jobs that used up their budgets.
    pub exhausted: u64,
    /// Jobs that were ended before they were done.
    pub killed: u64,
    /// The longest response time from an arrival.
    pub response_max: Duration,
    /// The longest response time from a release.
    pub from_release_max: Duration,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every job is complete.
    Complete,
    /// The step limit.
    Steps,
    /// A job used up its budget or was late, and its limit says that the application stops.
    Stopped {
        /// The task.
        task: usize,
    },
    /// Jobs wait for each other. No rule should let it come to that.
    Stuck,
    /// A task asked for what another holds, which its core's rule should have ruled out.
    Broken {
        /// The task.
        task: usize,
        /// The resource.
        resource: usize,
    },
    /// A rule refused what happened to a task: a mistake of this crate.
    Misuse {
        /// The task.
        task: usize,
    },
}
