// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::Overrun;
use taut_time::Duration;

use crate::resource::Resource;
use crate::serving::ServerId;

/// When jobs of a task are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Every `period`, for the first time `offset` after release 0.
    Periodic {
        /// More than 0.
        period: Duration,
        /// From release 0 on.
        offset: Duration,
    },
    /// When its work finds something to do: see [`Work::poll`](crate::Work::poll), and [`Setup::events`](crate::Setup::bell).
    Polled,
    /// By [`Job::release`](crate::Job::release) and [`Exec::release`](crate::Exec::release).
    ByHand,
}

/// A task of a core.
#[derive(Clone, Debug)]
pub struct TaskSetup {
    pub(crate) name: String,
    pub(crate) priority: u32,
    pub(crate) deadline: Option<Duration>,
    pub(crate) release: Release,
    pub(crate) overrun: Overrun,
    pub(crate) budget: Option<Duration>,
    /// See [`TaskSetup::limit`].
    pub(crate) limit: Option<Duration>,
    pub(crate) server: Option<ServerId>,
    pub(crate) uses: Vec<(u64, u32)>,
    pub(crate) recorded_as: Option<u16>,
    /// Whether it uses a resource of several cores.
    pub(crate) shares: bool,
    pub(crate) admitted: bool,
    pub(crate) donates: bool,
    pub(crate) backlog: Option<u32>,
}

impl TaskSetup {
    /// A task without resources at priority 1, due before its next release; by hand: never late.
    pub fn new(name: &str, release: Release) -> Self {
        let name = name.to_owned();
        let (overrun, uses, recorded_as) = (Overrun::RunOn, Vec::new(), None);
        Self {
            name,
            priority: 1,
            deadline: None,
            release,
            overrun,
            budget: None,
            limit: None,
            server: None,
            uses,
            recorded_as,
            shares: false,
            admitted: false,
            donates: false,
            backlog: None,
        }
    }

    /// Its priority under rules that have such; larger is more urgent.
    #[must_use]
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// Its relative deadline, from the arrival.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// What happens when a job uses up its budget, or is released while the one before it is not complete. A job is ended
    /// where it asks: at its next lock or [`Job::checkpoint`](crate::Job::checkpoint). One whose budget is used up goes on
    /// until then as a demoted one does: when nothing else of its core wants to run, as soon as it holds nothing. Of those
    /// that wait behind another, as many do as [`TaskSetup::backlog`] says, and others are dropped. That a job stops
    /// everything, [`Exec::wait`](crate::Exec::wait) tells.
    #[must_use]
    pub fn overrun(mut self, overrun: Overrun) -> Self {
        self.overrun = overrun;
        self
    }

    /// How many released jobs may wait behind one that is not complete, at least 1; [`BACKLOG_MAX`](crate::BACKLOG_MAX) if nobody
    /// says. Those that are released then are dropped, and counted. The room that waiting jobs take does not depend on it; but of
    /// releases that do not follow one another by the calendar no more than eight wait, whatever is said here.
    #[must_use]
    pub fn backlog(mut self, jobs: u32) -> Self {
        self.backlog = Some(jobs);
        self
    }

    /// How long each job may have its core, from when it is chosen on: waking its thread counts, and spinning. The
    /// dispatcher looks when it is used up.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// By when each job must have ended, from its arrival: [`taut_sys::interrupt::over_limit`] finds one that has not. The
    /// dispatcher does nothing about it.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The server in which its jobs run, at its priority and within its budget. They lock nothing and have no budget of
    /// their own, and late ones are not demoted.
    #[must_use]
    pub fn served_by(mut self, server: ServerId) -> Self {
        self.server = Some(server);
        self
    }

    /// A resource that its jobs may lock.
    #[must_use]
    pub fn uses<T>(mut self, resource: &Resource<T>) -> Self {
        self.uses.push((resource.brand, resource.index()));
        self
    }

    /// The subject of its records, in place of its position among all tasks of the set-up.
    #[must_use]
    pub fn recorded_as(mut self, subject: u16) -> Self {
        self.recorded_as = Some(subject);
        self
    }

    /// Its jobs begin when its work lets them: [`Work::admit`](crate::Work::admit). For tasks with [`Release::Periodic`].
    #[must_use]
    pub fn admitted(mut self) -> Self {
        self.admitted = true;
        self
    }

    /// A task in a server that has a job whenever the server has a budget, but for those who wait before it: the first at
    /// release 0, the next when a budget is there again, or, after one that left some of it, a period of the server after
    /// that. For [`Job::donate`](crate::Job::lend). It is one with [`Release::Polled`], and its work is not asked.
    #[must_use]
    pub fn donates(mut self) -> Self {
        self.donates = true;
        self.release = Release::Polled;
        self
    }

    pub(crate) fn relative(&self) -> Duration {
        self.deadline.unwrap_or(match self.release {
            Release::Periodic { period, .. } => period,
            Release::ByHand | Release::Polled => Duration::MAX,
        })
    }
}

/// A core of a set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreId(pub(crate) usize);

/// A task of a set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskId {
    pub(crate) brand: u64,
    /// On its core.
    pub(crate) task: u32,
    /// Among all.
    pub(crate) index: usize,
}

impl TaskId {
    /// Its position among all tasks of the set-up: of [`Outcome::tasks`](crate::Outcome::tasks).
    pub fn index(self) -> usize {
        self.index
    }
}
