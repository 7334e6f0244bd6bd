// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_time::Instant;

/// A call that the rules do not allow. The state is as before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// There is no such task, or no place for it.
    Task,
    /// There is no such resource, or no place for who waits for it.
    Resource,
    /// The task is not in a state in which this can happen to it: released twice, completed while it does not run.
    State,
    /// It suspends or completes while it holds a resource.
    Holding,
    /// It does not hold this resource, or took another later.
    NotHolder,
    /// It holds it already.
    Again,
    /// A level below those that the ready queue has.
    Rank,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Task => "no such task, or no place for it",
            Self::Resource => "no such resource, or no place for who waits for it",
            Self::State => "not possible in the state that the task is in",
            Self::Holding => "the task holds a resource",
            Self::NotHolder => "the task does not hold the resource, or took another later",
            Self::Again => "the task holds the resource already",
            Self::Rank => "the ready queue has no such level",
        })
    }
}

/// What came of asking for a local resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The task holds it.
    Granted,
    /// The task waits; when it is next chosen to run, it holds the resource.
    Waits,
    /// Another holds it, although the rule promises that this cannot be: a ceiling that is too low, a release later
    /// than its jitter bound, or a rule that is known to be wrong. Nothing has changed. Who wants to go on must have
    /// a real mutex.
    Broken,
}

/// Who runs on one core.
pub trait Scheduler {
    /// A job of a task may run from now on. Its arrival is what deadlines count from.
    ///
    /// # Errors
    /// [`Misuse::State`] if its last job is not complete.
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse>;

    /// What runs stops until [`Scheduler::resume`]. Gives who it was.
    ///
    /// # Errors
    /// [`Misuse::State`] if nothing runs, [`Misuse::Holding`].
    fn suspend(&mut self) -> Result<usize, Misuse>;

    /// A suspended task may run again.
    ///
    /// # Errors
    /// [`Misuse::State`] if it is not suspended.
    fn resume(&mut self, task: usize) -> Result<(), Misuse>;

    /// The job that runs is done. Gives whose it was.
    ///
    /// # Errors
    /// [`Misuse::State`] if nothing runs, [`Misuse::Holding`].
    fn complete(&mut self) -> Result<usize, Misuse>;

    /// The job of a suspended task is done without running again.
    ///
    /// # Errors
    /// [`Misuse::State`] if it is not suspended.
    fn retire(&mut self, task: usize) -> Result<(), Misuse>;

    /// Who runs from now on. To be asked after every event, or after all events of one instant.
    fn decide(&mut self) -> Option<usize>;

    /// Who runs since the last decision, if it has neither suspended nor completed.
    fn running(&self) -> Option<usize>;
}

/// A scheduler with locks that only tasks of its core use.
pub trait Locking: Scheduler {
    /// What runs asks for a resource. [`Scheduler::decide`] must be asked next. Only [`Dfp`](crate::Dfp) looks at `now`:
    /// its floors count from there.
    ///
    /// # Errors
    /// [`Misuse::State`] if nothing runs, [`Misuse::Resource`], [`Misuse::Again`].
    fn lock(&mut self, now: Instant, resource: usize) -> Result<Answer, Misuse>;

    /// What runs gives back the resource that it took last. [`Scheduler::decide`] must be asked next.
    ///
    /// # Errors
    /// [`Misuse::NotHolder`].
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse>;

    /// Who holds a resource.
    fn holder(&self, resource: usize) -> Option<usize>;

    /// Whether the rule's own invariants hold; a text says which does not. For tests: it looks at everything.
    ///
    /// # Errors
    /// The invariant that is broken.
    fn check_state(&self) -> Result<(), &'static str>;
}

/// A task of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Party {
    /// The core.
    pub core: usize,
    /// The task: its position on that core.
    pub task: usize,
}

/// Who has just been granted a global resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who.
    pub party: Party,
    /// Where it stands among the boosted of its core: smaller runs first. Of no meaning where holders are pinned.
    pub rank: u64,
}

/// What came of asking for a global resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Who asked holds it.
    Granted(Grant),
    /// Who asked waits, as [`Global::SPINS`] says, until a release gives its grant.
    Waits,
}

/// Who holds a resource that several cores share, and who waits for it.
pub trait Global {
    /// Whether who asks is pinned on its core, spins until granted and holds pinned; otherwise it is suspended while
    /// it waits and boosted while it holds.
    const SPINS: bool;

    /// Asks for the resource. `priority` is the task's own, larger = more urgent.
    ///
    /// # Errors
    /// [`Misuse::Again`] if it holds it, [`Misuse::Resource`] if there is no place left to wait.
    fn request(&mut self, now: Instant, party: Party, priority: u32) -> Result<Request, Misuse>;

    /// The holder gives it back; who is granted now, if anyone waits.
    ///
    /// # Errors
    /// [`Misuse::NotHolder`].
    fn release(&mut self, party: Party) -> Result<Option<Grant>, Misuse>;

    /// The holder passes it to `to`, which does not wait for it, whoever does: so that nobody is granted it yet. O(1).
    ///
    /// # Errors
    /// [`Misuse::NotHolder`].
    fn pass(&mut self, party: Party, to: Party) -> Result<(), Misuse>;

    /// Who holds it.
    fn holder(&self) -> Option<Party>;
}
