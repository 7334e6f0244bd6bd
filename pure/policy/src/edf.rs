// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Earliest deadline first, preemptive, no locks.

use taut_time::{Duration, Instant};

use crate::queue::ReadyQueue;
use crate::ranked::{Ranked, State};
use crate::{Misuse, Scheduler, Slot, Store};

/// The ready job of the earliest absolute deadline runs; FIFO among equals.
#[derive(Clone, Debug)]
pub struct Edf<Q, S> {
    ranked: Ranked<Q, S>,
}

impl<Q: ReadyQueue, S: Store<Slot>> Edf<Q, S> {
    /// A task per relative deadline, which counts from the arrival. Instants past what 64 bits hold count as the last
    /// one. The queue must take any rank, so it is no bitmap.
    ///
    /// # Errors
    /// [`Misuse::Task`] if queue or slots have no place for all, [`Misuse::Rank`] if the queue has too few ranks.
    pub fn new(ready: Q, slots: S, deadlines: &[Duration]) -> Result<Self, Misuse> {
        if ready.ranks() < u64::MAX {
            return Err(Misuse::Rank);
        }
        let bases = deadlines.iter().map(|deadline| deadline.as_ns());
        Ok(Self { ranked: Ranked::new(ready, slots, bases)? })
    }
}

impl<Q: ReadyQueue, S: Store<Slot>> Scheduler for Edf<Q, S> {
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse> {
        let deadline = arrival.as_ns().saturating_add(self.ranked.in_state(task, State::Idle)?.base);
        self.ranked.admit(task, State::Idle, deadline)
    }

    fn suspend(&mut self) -> Result<usize, Misuse> {
        self.ranked.leave(State::Suspended)
    }

    fn resume(&mut self, task: usize) -> Result<(), Misuse> {
        let deadline = self.ranked.in_state(task, State::Suspended)?.rank;
        self.ranked.admit(task, State::Suspended, deadline)
    }

    fn complete(&mut self) -> Result<usize, Misuse> {
        self.ranked.leave(State::Idle)
    }

    fn retire(&mut self, task: usize) -> Result<(), Misuse> {
        self.ranked.retire(task)
    }

    fn decide(&mut self) -> Option<usize> {
        self.ranked.decide()
    }

    fn running(&self) -> Option<usize> {
        self.ranked.running
    }
}
