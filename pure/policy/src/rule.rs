// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_time::Instant;

/// A call that the rules do not allow. It has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// There is no such task, or no place for it.
    Task,
    /// There is no such resource, or no place for a waiter.
    Resource,
    /// The task is not in a state that allows the call: it is released twice, or completes while it does not run.
    State,
    /// The task suspends or completes while it holds a resource.
    Holding,
    /// The task does not hold this resource, or has locked another one since.
    NotHolder,
    /// The task already holds the resource.
    Again,
    /// The ready queue has no such level.
    Rank,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Task => "no such task, or no place for it",
            Self::Resource => "no such resource, or no place for another waiter",
            Self::State => "the task's state does not allow this call",
            Self::Holding => "the task holds a resource",
            Self::NotHolder => "the task does not hold the resource, or has locked another one since",
            Self::Again => "the task holds the resource already",
            Self::Rank => "the ready queue has no such level",
        })
    }
}

/// The answer to a request for a local resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalAnswer {
    /// The task holds it.
    Granted,
    /// The task waits; when it next runs, it holds the resource.
    Waits,
    /// Another task holds the resource, although the rule rules this out: a ceiling is too low, a release was later
    /// than its jitter bound, or the rule is known to be wrong. Nothing has changed. A caller that wants to continue
    /// needs a real mutex.
    Broken,
}

/// Decides which task runs on one core.
pub trait Scheduler {
    /// A job of a task becomes ready. Its deadline counts from `arrival`.
    ///
    /// # Errors
    /// [`Misuse::State`] if the task's last job is not complete.
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse>;

    /// The running task stops until [`Scheduler::resume`]. Returns the task.
    ///
    /// # Errors
    /// [`Misuse::State`] if no task runs, [`Misuse::Holding`].
    fn suspend(&mut self) -> Result<usize, Misuse>;

    /// A suspended task becomes ready again.
    ///
    /// # Errors
    /// [`Misuse::State`] if the task is not suspended.
    fn resume(&mut self, task: usize) -> Result<(), Misuse>;

    /// The running job is done. Returns its task.
    ///
    /// # Errors
    /// [`Misuse::State`] if no task runs, [`Misuse::Holding`].
    fn complete(&mut self) -> Result<usize, Misuse>;

    /// The job of a suspended task is done without running again.
    ///
    /// # Errors
    /// [`Misuse::State`] if the task is not suspended.
    fn retire(&mut self, task: usize) -> Result<(), Misuse>;

    /// The task that runs from now on. The caller asks after every event, or after all events of one instant.
    fn decide(&mut self) -> Option<usize>;

    /// The task that runs since the last decision, if it has neither suspended nor completed.
    fn running(&self) -> Option<usize>;
}

/// A scheduler with locks for resources that only tasks of its core use.
pub trait Locking: Scheduler {
    /// The running task asks for a resource. The caller must call [`Scheduler::decide`] next. Only [`Dfp`](crate::Dfp)
    /// uses `now`: its floors count from that instant.
    ///
    /// # Errors
    /// [`Misuse::State`] if no task runs, [`Misuse::Resource`], [`Misuse::Again`].
    fn lock(&mut self, now: Instant, resource: usize) -> Result<LocalAnswer, Misuse>;

    /// The running task releases the resource that it locked last. The caller must call [`Scheduler::decide`] next.
    ///
    /// # Errors
    /// [`Misuse::NotHolder`].
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse>;

    /// The task that holds a resource.
    fn holder(&self, resource: usize) -> Option<usize>;

    /// Checks the rule's own invariants. For tests: the check covers the whole state.
    ///
    /// # Errors
    /// The invariant that is broken, as a text.
    fn check_state(&self) -> Result<(), &'static str>;
}

/// A task of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockParty {
    /// The core.
    pub core: usize,
    /// The task: its position on that core.
    pub task: usize,
}

/// A global resource has been granted to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The new holder.
    pub party: LockParty,
    /// Its rank among the boosted tasks of its core: smaller runs first. Meaningless where holders are pinned.
    pub rank: u64,
}

/// The answer to a request for a global resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalAnswer {
    /// The requesting task holds it.
    Granted(Grant),
    /// The requesting task waits, as [`Global::SPINS`] says, until a release returns its grant.
    Waits,
}

/// The holder and the waiters of a resource that several cores share.
pub trait Global {
    /// If true, a requesting task is pinned on its core, spins until the grant, and stays pinned while it holds the
    /// resource; otherwise it is suspended while it waits and boosted while it holds the resource.
    const SPINS: bool;

    /// Asks for the resource. `priority` is the task's own, larger = more urgent.
    ///
    /// # Errors
    /// [`Misuse::Again`] if the task holds it, [`Misuse::Resource`] if there is no place left to wait.
    fn request(&mut self, now: Instant, party: LockParty, priority: u32) -> Result<GlobalAnswer, Misuse>;

    /// The holder releases the resource. Returns the grant of the next waiter, if there is one.
    ///
    /// # Errors
    /// [`Misuse::NotHolder`].
    fn release(&mut self, party: LockParty) -> Result<Option<Grant>, Misuse>;

    /// The holder passes the resource to `to`, which is not a waiter. The waiters keep waiting; none of them gets the
    /// resource yet. O(1).
    ///
    /// # Errors
    /// [`Misuse::NotHolder`].
    fn pass(&mut self, party: LockParty, to: LockParty) -> Result<(), Misuse>;

    /// The holder.
    fn holder(&self) -> Option<LockParty>;
}
