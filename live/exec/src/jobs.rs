// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::{Budget, Overrun};
use taut_sys::account::Switches;
use taut_time::Duration;

use crate::admission::Admission;
use crate::ladder::NONE;
use crate::limits::LOOKS;
use crate::rule::Rule;
use crate::state::{BACKLOG_MAX, NEVER};
use crate::task::{Release, TaskSetup};

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
    /// Jobs that used up their budget and were not complete.
    pub exhausted: u64,
    /// The longest time from arrival to completion, ns.
    pub response_max_ns: u64,
    /// The longest time from arrival to the instant at which the rule was told, ns.
    pub lateness_max_ns: u64,
    /// How often a job gave its processor up on purpose where it must not: it slept, or waited for something that the
    /// executor does not know. So do jobs that are stopped from outside. Counted where Linux keeps to what the dispatcher
    /// decides ([`Posture::Strict`](crate::Posture::Strict)); otherwise 0.
    pub blocked: u64,
    /// Of those, how often while it held a resource.
    pub blocked_inside: u64,
    /// How often another thread was preferred to a job, the dispatcher included. Counted as `blocked` is.
    pub preempted: u64,
}

impl TaskOutcome {
    pub(crate) fn count(&mut self, switches: Switches) {
        self.blocked += switches.blocked;
        self.preempted += switches.preempted;
    }
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
    /// What its job may have of the core, and has had.
    pub(crate) budget: Budget,
    pub(crate) budget_ns: u64,
    /// The processor time that its thread had used when the job began; [`NEVER`] until it has.
    pub(crate) began_ns: u64,
    /// How often it may be looked what it has used of its budget.
    pub(crate) looks_left: u8,
    /// That it is used up has been told.
    pub(crate) exhausted: bool,
    /// Whether its job goes on below all others, as soon as it holds nothing.
    pub(crate) sinks: bool,
    /// What its job waits for.
    pub(crate) wants: u32,
    /// The server in which it runs; [`NONE`] if it does not.
    pub(crate) server: u32,
    /// Whether it has a job whenever that has a budget.
    pub(crate) lends: bool,
    /// Since when its place is lent.
    pub(crate) lent_ns: u64,
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
    /// Whether no job of it has begun together with one of its level: see [`crate::depth`].
    pub(crate) plain: bool,
}

impl Task {
    pub(crate) fn new(setup: &TaskSetup, rule: Rule) -> Self {
        let (next, active, worker, job) = (0, false, NONE, Arrived::default());
        let (behind, first, waiting) = ([job; BACKLOG_MAX], 0, 0);
        let (wants, killed, outcome) = (NONE, false, TaskOutcome::default());
        let budget = setup.budget.unwrap_or(Duration::MAX);
        let mut admission = Admission::default();
        admission.asked = setup.admitted;
        Self {
            release: setup.release,
            deadline_ns: setup.relative().as_ns(),
            overrun: setup.overrun,
            next,
            active,
            worker,
            job,
            behind,
            first,
            waiting,
            budget: Budget::new(budget),
            budget_ns: budget.as_ns(),
            began_ns: NEVER,
            looks_left: LOOKS,
            exhausted: false,
            sinks: false,
            wants,
            server: setup.server.map_or(NONE, |server| server.server),
            lends: setup.lends,
            lent_ns: 0,
            killed,
            paused: false,
            put_off: false,
            admission,
            across: false,
            away: (NONE, 0),
            outcome,
            plain: setup.is_plain(rule),
        }
    }

    /// Whether its jobs may have only so much of the core.
    pub(crate) fn has_budget(&self) -> bool {
        self.budget_ns != u64::MAX
    }

    /// A job begins that the rule is told of now.
    pub(crate) fn begin(&mut self, arrived: Arrived) {
        (self.job, self.active) = (arrived, true);
        (self.killed, self.exhausted, self.sinks) = (false, false, false);
        (self.began_ns, self.looks_left) = (NEVER, LOOKS);
        self.budget.renew();
    }

    /// Whether its locks need more than the local rule's word.
    pub(crate) fn is_special(&self) -> bool {
        self.killed || self.across || self.sinks
    }
}
