// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::Overrun;
use taut_time::Duration;

use crate::resource::CoreResource;
use crate::server::ServerId;

/// When jobs of a task are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Every `period`; the first time `offset` after release 0.
    Periodic {
        /// Greater than 0.
        period: Duration,
        /// From release 0.
        offset: Duration,
    },
    /// When its work finds something to do: see [`Work::poll`](crate::Work::poll), and
    /// [`Setup::listen`](crate::Setup::listen).
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
    pub(crate) reconsidered: bool,
    pub(crate) begins: bool,
}

impl TaskSetup {
    /// A task without resources, at priority 1. Its jobs are due one period after their arrival; jobs of a task that is
    /// polled or released by hand are never due.
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
            reconsidered: false,
            begins: false,
        }
    }

    /// Its priority, under rules with fixed priorities; larger is more urgent.
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

    /// What happens when a job uses up its budget, or a release comes while an earlier job is not complete. A killed
    /// job ends where it checks: at its next lock or [`Job::checkpoint`](crate::Job::checkpoint). If its budget is
    /// used up, it runs until then like a demoted job: when no other job of its core wants to run, as soon as it
    /// holds nothing. Of the releases that wait behind another job, [`TaskSetup::backlog`] limits the number, and the
    /// others are dropped. If an overrun stops the executor, [`Exec::wait`](crate::Exec::wait) reports it.
    #[must_use]
    pub fn overrun(mut self, overrun: Overrun) -> Self {
        self.overrun = overrun;
        self
    }

    /// How many released jobs may wait behind one that is not complete; at least 1, [`BACKLOG_MAX`](crate::BACKLOG_MAX)
    /// by default. The executor drops and counts further releases. The memory of the waiting jobs does not depend on
    /// this limit. Whatever the limit, at most eight releases wait that do not follow one another by the calendar.
    #[must_use]
    pub fn backlog(mut self, jobs: u32) -> Self {
        self.backlog = Some(jobs);
        self
    }

    /// How long each job may have its core, counted from the decision to run it: waking its thread counts, and so does
    /// spinning. The dispatcher checks when the budget is used up.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// The time from its arrival by which each job must have ended. [`taut_sys::interrupt::over_limit`] finds a job
    /// that has not ended by then. The dispatcher does not act on it.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The server in which the task's jobs run, at the server's priority and within its budget. These jobs lock
    /// nothing, have no budget of their own, and are not demoted when they are late.
    #[must_use]
    pub fn served_by(mut self, server: ServerId) -> Self {
        self.server = Some(server);
        self
    }

    /// A resource that its jobs may lock.
    #[must_use]
    pub fn uses<T>(mut self, resource: &CoreResource<T>) -> Self {
        self.uses.push((resource.brand, resource.index()));
        self
    }

    /// The subject of its records. By default its position among all tasks of the set-up.
    #[must_use]
    pub fn recorded_as(mut self, subject: u16) -> Self {
        self.recorded_as = Some(subject);
        self
    }

    /// The task's jobs begin when its work admits them: [`Work::admit`](crate::Work::admit). For tasks with
    /// [`Release::Periodic`].
    #[must_use]
    pub fn admitted(mut self) -> Self {
        self.admitted = true;
        self
    }

    /// Makes this a task that has a job whenever its server has a budget; the job comes after the requests that wait
    /// already. The first job arrives at release 0. The next one arrives when the server has a budget again, or, after
    /// a job that left some of the budget, one period of the server after that job's arrival. For
    /// [`Job::donate`](crate::Job::donate). The task is [`Release::Polled`], and the dispatcher does not ask its work.
    #[must_use]
    pub fn donates(mut self) -> Self {
        self.donates = true;
        self.release = Release::Polled;
        self
    }

    /// The work may change its mind about a release that it has put off: after an event the dispatcher asks it again, and the
    /// instant that it then gives takes the place of the former one. For tasks with [`Release::Polled`].
    #[must_use]
    pub fn reconsidered(mut self) -> Self {
        self.reconsidered = true;
        self
    }

    /// Its first job arrives at release 0, without the work being asked for it. For tasks with [`Release::Polled`].
    #[must_use]
    pub fn begins(mut self) -> Self {
        self.begins = true;
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
    /// Its position on its core.
    pub(crate) task: u32,
    /// Its position among all tasks.
    pub(crate) index: usize,
}

impl TaskId {
    /// Its position among all tasks of the set-up, as in [`ExecOutcome::tasks`](crate::ExecOutcome::tasks).
    pub fn index(self) -> usize {
        self.index
    }
}
