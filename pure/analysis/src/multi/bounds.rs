// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The result of an analysis of a whole set.

use taut_time::Duration;

/// Bounds of all tasks of a set, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// One per task.
    pub tasks: Vec<TaskBound>,
    /// Rounds of the outer iteration.
    pub rounds: u32,
}

/// Bounds on the response time of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskBound {
    /// w: from the release to the completion.
    pub from_release: Duration,
    /// R = w + J: from the arrival to the completion.
    pub from_arrival: Duration,
    /// Whether these numbers are proven bounds.
    pub status: Status,
    /// R in terms.
    pub terms: ResponseTerms,
    /// The largest contribution to each term.
    pub witnesses: Contributions,
}

/// Whether a task's numbers are proven bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No job takes longer, and the deadline is kept.
    Proven,
    /// The bound passes the deadline; the number is the first found past it.
    Passes,
    /// The number would be a bound if all other tasks kept their deadlines, or the iteration stopped before it was
    /// one.
    Depends,
}

/// R in terms; they sum to R exactly. In ns like all times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseTerms {
    /// C: its own execution, critical sections included.
    pub own: Duration,
    /// Waiting for resources while spinning on its core.
    pub spin: Duration,
    /// Blocking by less urgent tasks of its core.
    pub local_blocking: Duration,
    /// Waiting for resources while suspended.
    pub remote_blocking: Duration,
    /// Interference by tasks of its core that are at least as urgent, with their spinning.
    pub interference: Duration,
    /// J: from the arrival to the release.
    pub jitter: Duration,
}

/// The largest contribution to each term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contributions {
    /// The resource that it spins longest for, over all requests of a job.
    pub spin: Contribution,
    /// The task and the resource with the section that blocks longest.
    pub local_blocking: Contribution,
    /// The resource that a job waits longest for, over all its requests; or the task that it waits for.
    pub remote_blocking: Contribution,
    /// The task that interferes longest, all its jobs together.
    pub interference: Contribution,
}

/// The largest contribution to a term. Empty if the term is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contribution {
    /// The task that causes it, if a task does.
    pub task: Option<usize>,
    /// The resource that causes it, if a resource does.
    pub resource: Option<usize>,
    /// How much it contributes.
    pub time: Duration,
}

impl Contribution {
    pub(crate) fn new(ns: u64, task: Option<usize>, resource: Option<usize>) -> Self {
        Self { task, resource, time: Duration::from_ns(ns) }
    }
}

impl ResponseTerms {
    /// The sum; `None` if it does not fit, which never happens for a result.
    pub fn sum(&self) -> Option<Duration> {
        let parts = [self.spin, self.local_blocking, self.remote_blocking, self.interference, self.jitter];
        parts.into_iter().try_fold(self.own, Duration::checked_add)
    }
}
