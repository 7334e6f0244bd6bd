// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A core whose tasks also use global resources: bands above a local rule.
//!
//! ```text
//! pinned      one task that spins for a resource or holds it: nothing preempts it
//! boosted     holders of resources whose waiters suspend: by rank, FIFO among equals
//! local       all other tasks, by the local rule, which knows nothing of the bands: for it, a task that was boosted
//!             without waiting keeps running, and a task that waited is suspended until it is no longer boosted
//! ```

use taut_time::Instant;

use crate::queue::ReadyQueue;
use crate::ranked::{NoResources, Ranked, State};
use crate::{LocalAnswer, Locking, Misuse, Scheduler, Slot, Store};

/// A local rule with the bands above it.
#[derive(Clone, Debug)]
pub struct Core<L, Q, S> {
    local: L,
    boosted: Ranked<Q, S, NoResources>,
    pinned: bool,
    /// The running task waited for a resource that it has just released: for the local rule, the task is suspended
    /// until the next decision.
    returns: bool,
    running: Option<usize>,
}

impl<L: Locking, Q: ReadyQueue, S: Store<Slot>> Core<L, Q, S> {
    /// A core with as many tasks as `local` has. The queue must take the ranks of the global rules.
    ///
    /// # Errors
    /// [`Misuse::Task`] if queue or slots have no place for `tasks`.
    pub fn new(local: L, boosted: Q, slots: S, tasks: usize) -> Result<Self, Misuse> {
        let boosted = Ranked::new(boosted, slots, core::iter::repeat_n(0, tasks), [], core::iter::empty())?;
        Ok(Self { local, boosted, pinned: false, returns: false, running: None })
    }

    /// The local rule, for reading.
    pub fn local(&self) -> &L {
        &self.local
    }

    /// The local rule, for locks and unlocks of the running task while it is in no band: neither pinned nor boosted,
    /// now or since the last decision. The core then decides as the local rule does. Only for callers that know that
    /// the task is in no band; all others call the core itself.
    #[inline]
    pub fn local_mut(&mut self) -> &mut L {
        &mut self.local
    }

    /// Whether the running task is pinned.
    pub fn is_pinned(&self) -> bool {
        self.pinned
    }

    /// Whether the running task holds a resource that boosts it.
    #[inline]
    pub fn is_boosted(&self) -> bool {
        self.running.is_some() && self.running == self.boosted.running()
    }

    /// Pins the running task: nothing preempts it from now on, because it asks for a resource whose waiters spin.
    ///
    /// # Errors
    /// [`Misuse::State`] if no task runs, or the running task is pinned or boosted.
    pub fn pin(&mut self) -> Result<usize, Misuse> {
        let task = self.ordinary()?;
        self.pinned = true;
        Ok(task)
    }

    /// The running task may be preempted again: it has released the resource.
    ///
    /// # Errors
    /// [`Misuse::State`] if the task is not pinned.
    pub fn unpin(&mut self) -> Result<(), Misuse> {
        if !self.pinned {
            return Err(Misuse::State);
        }
        self.pinned = false;
        Ok(())
    }

    /// A task has been granted a resource whose waiters suspend: at once, while the task runs, or after it waited.
    ///
    /// # Errors
    /// [`Misuse::State`] if the task neither runs unpinned nor is suspended, or is boosted already.
    pub fn boost(&mut self, task: usize, rank: u64) -> Result<(), Misuse> {
        // If the task does not run, the local rule checks at its resumption that it is suspended.
        if self.running == Some(task) && self.pinned {
            return Err(Misuse::State);
        }
        self.boosted.admit(task, State::Idle, rank)
    }

    /// The running task releases the resource that boosts it. Until the next decision it may only complete.
    ///
    /// # Errors
    /// [`Misuse::State`] if the task is not boosted.
    pub fn unboost(&mut self) -> Result<usize, Misuse> {
        if !self.is_boosted() {
            return Err(Misuse::State);
        }
        let task = self.boosted.leave(State::Idle)?;
        self.returns = self.local.running() != Some(task);
        Ok(task)
    }

    #[cold]
    fn back_to_local(&mut self) {
        self.returns = false;
        // For the local rule, the task is suspended since its request, so the rule cannot refuse this.
        let _ = self.running.map(|task| self.local.resume(task));
    }

    /// The running task, if the local rule chose it.
    #[inline]
    fn ordinary(&self) -> Result<usize, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        if self.pinned || self.returns || self.is_boosted() { Err(Misuse::State) } else { Ok(task) }
    }
}

impl<L: Locking, Q: ReadyQueue, S: Store<Slot>> Scheduler for Core<L, Q, S> {
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse> {
        self.local.release(task, arrival)
    }

    fn suspend(&mut self) -> Result<usize, Misuse> {
        self.ordinary()?;
        let task = self.local.suspend()?;
        self.running = None;
        Ok(task)
    }

    fn resume(&mut self, task: usize) -> Result<(), Misuse> {
        // A boosted task resumes when it is no longer boosted.
        self.boosted.in_state(task, State::Idle)?;
        self.local.resume(task)
    }

    fn complete(&mut self) -> Result<usize, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        if self.pinned || self.is_boosted() {
            return Err(Misuse::Holding);
        }
        if self.returns {
            self.local.retire(task)?;
            self.returns = false;
        } else {
            self.local.complete()?;
        }
        self.running = None;
        Ok(task)
    }

    fn retire(&mut self, task: usize) -> Result<(), Misuse> {
        self.boosted.in_state(task, State::Idle)?;
        self.local.retire(task)
    }

    #[inline]
    fn decide(&mut self) -> Option<usize> {
        if self.returns {
            self.back_to_local();
        }
        if !self.pinned {
            self.running = self.boosted.decide().or_else(|| self.local.decide());
        }
        self.running
    }

    fn running(&self) -> Option<usize> {
        self.running
    }
}

impl<L: Locking, Q: ReadyQueue, S: Store<Slot>> Locking for Core<L, Q, S> {
    #[inline]
    fn lock(&mut self, now: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
        self.ordinary()?;
        let answer = self.local.lock(now, resource)?;
        if answer == LocalAnswer::Waits {
            self.running = None;
        }
        Ok(answer)
    }

    #[inline]
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        self.ordinary()?;
        self.local.unlock(resource)
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.local.holder(resource)
    }

    fn check_state(&self) -> Result<(), &'static str> {
        // A task that is granted a resource meanwhile waits until the pinned task is unpinned.
        if self.pinned {
            return if self.running.is_some() { Ok(()) } else { Err("the core is pinned, but no task runs") };
        }
        self.boosted.check()?;
        if self.boosted.running().is_some() {
            return Ok(());
        }
        if self.running != self.local.running() {
            return Err("the running task is not the one that the local rule chose");
        }
        self.local.check_state()
    }
}
