// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What an analysis of a whole set gives back.

use taut_time::Duration;

/// Bounds of all tasks of a set, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// One per task.
    pub tasks: Vec<TaskBound>,
    /// Rounds of the outer iteration.
    pub rounds: u32,
}

/// How long a task takes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskBound {
    /// w: from the release to the completion.
    pub from_release: Duration,
    /// R = w + J: from the arrival to the completion.
    pub from_arrival: Duration,
    /// What these numbers are worth.
    pub status: Status,
    /// R in parts.
    pub terms: Terms,
    /// What is largest in each part.
    pub witnesses: Witnesses,
}

/// What a task's numbers are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No job takes longer, and the deadline is kept.
    Proven,
    /// The bound passes the deadline; the number is the first found past it.
    Passes,
    /// The number would be a bound if all others kept their deadlines, or the iteration stopped before it was one.
    Depends,
}

/// R in parts; they sum to it exactly. In ns like all times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// C: its own execution, critical sections included.
    pub own: Duration,
    /// Waiting for resources on its core, busy.
    pub spin: Duration,
    /// Waiting for less urgent tasks of its core.
    pub local_blocking: Duration,
    /// Waiting for resources, suspended.
    pub remote_blocking: Duration,
    /// Waiting for tasks of its core that are as urgent or more; their spinning included.
    pub interference: Duration,
    /// J: from the arrival to the release.
    pub jitter: Duration,
}

/// What is largest in each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// The resource that it spins longest for, over all requests of a job.
    pub spin: Witness,
    /// The task and the resource with the section that blocks longest.
    pub local_blocking: Witness,
    /// The resource that it waits longest for, over all requests of a job; or the task waited for.
    pub remote_blocking: Witness,
    /// The task that interferes longest, all its jobs together.
    pub interference: Witness,
}

/// The largest contribution to a part. Nothing, if the part is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// The task that causes it, if it is one.
    pub task: Option<usize>,
    /// The resource, if it is one.
    pub resource: Option<usize>,
    /// How much it contributes.
    pub time: Duration,
}

impl Witness {
    pub(crate) fn new(ns: u64, task: Option<usize>, resource: Option<usize>) -> Self {
        Self { task, resource, time: Duration::from_ns(ns) }
    }
}

impl Terms {
    /// The sum; `None` if it does not fit, which never is so in a result.
    pub fn sum(&self) -> Option<Duration> {
        let parts = [self.spin, self.local_blocking, self.remote_blocking, self.interference, self.jitter];
        parts.into_iter().try_fold(self.own, Duration::checked_add)
    }
}
