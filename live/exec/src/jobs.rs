// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::admission::Admission;
use crate::ladder::NONE;
use crate::state::BACKLOG_MAX;
use crate::task::{Overrun, Release};

/// A job that has been released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) number: u64,
    pub(crate) arrival_ns: u64,
}

/// What became of a task's jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskOutcome {
    /// Jobs that were released, those included that wait behind others.
    pub released: u64,
    /// Jobs that are done, killed ones included.
    pub completed: u64,
    /// Jobs that were done after their deadline.
    pub missed: u64,
    /// Releases that were dropped, or skipped by the overrun policy.
    pub skipped: u64,
    /// Jobs that were told to end early.
    pub killed: u64,
    /// The longest time from arrival to completion, ns.
    pub response_max_ns: u64,
    /// The longest time from arrival to the instant at which the rule was told, ns.
    pub lateness_max_ns: u64,
}

/// A task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) release: Release,
    pub(crate) deadline_ns: u64,
    pub(crate) overrun: Overrun,
    /// Which release is next.
    pub(crate) next: u64,
    /// Whether the rule knows of a job of it.
    pub(crate) active: bool,
    /// Who runs it; [`NONE`] until it has begun.
    pub(crate) worker: u32,
    pub(crate) job: Arrived,
    pub(crate) behind: [Arrived; BACKLOG_MAX],
    pub(crate) first: u8,
    pub(crate) waiting: u8,
    /// Of its job, until `since_ns` of the state.
    pub(crate) used_ns: u64,
    /// What its job waits for.
    pub(crate) wants: u32,
    pub(crate) killed: bool,
    /// Its releases are dropped.
    pub(crate) paused: bool,
    /// Whether the calendar has its next release, which is polled.
    pub(crate) put_off: bool,
    pub(crate) admission: Admission,
    /// Whether it spins for or holds what other cores use.
    pub(crate) across: bool,
    /// What it has been suspended for, and where it stands when it has it.
    pub(crate) away: (u32, u64),
    pub(crate) outcome: TaskOutcome,
}

impl Task {
    pub(crate) fn new(release: Release, deadline_ns: u64, overrun: Overrun) -> Self {
        let (next, active, worker, job) = (0, false, NONE, Arrived::default());
        let (behind, first, waiting) = ([job; BACKLOG_MAX], 0, 0);
        let (used_ns, wants, killed, outcome) = (0, NONE, false, TaskOutcome::default());
        Self {
            release,
            deadline_ns,
            overrun,
            next,
            active,
            worker,
            job,
            behind,
            first,
            waiting,
            used_ns,
            wants,
            killed,
            paused: false,
            put_off: false,
            admission: Admission::default(),
            across: false,
            away: (NONE, 0),
            outcome,
        }
    }
}
