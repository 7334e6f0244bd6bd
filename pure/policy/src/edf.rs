// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Earliest deadline first, preemptive, no locks.

use taut_time::{Duration, Instant};

use crate::queue::ReadyQueue;
use crate::ranked::{ByRank, NoResources, Ranked};
use crate::{Misuse, Slot, Store};

/// The ready job with the earliest absolute deadline runs; FIFO among equals.
#[derive(Clone, Debug)]
pub struct Edf<Q, S> {
    ranked: Ranked<Q, S, NoResources>,
}

impl<Q: ReadyQueue, S: Store<Slot>> Edf<Q, S> {
    /// A task per relative deadline, which counts from the arrival. A deadline that does not fit into 64 bits counts
    /// as the last instant. The queue must take any rank, so it cannot be a bitmap.
    ///
    /// # Errors
    /// [`Misuse::Task`] if queue or slots have no place for all, [`Misuse::Rank`] if the queue has too few ranks.
    pub fn new(ready: Q, slots: S, deadlines: &[Duration]) -> Result<Self, Misuse> {
        if ready.ranks() < u64::MAX {
            return Err(Misuse::Rank);
        }
        let bases = deadlines.iter().map(|deadline| deadline.as_ns());
        Ok(Self { ranked: Ranked::new(ready, slots, bases, [], core::iter::empty())? })
    }
}

impl<Q: ReadyQueue, S: Store<Slot>> ByRank for Edf<Q, S> {
    type Ready = Q;
    type Slots = S;
    type Resources = NoResources;

    fn ranked(&self) -> &Ranked<Q, S, NoResources> {
        &self.ranked
    }

    fn ranked_mut(&mut self) -> &mut Ranked<Q, S, NoResources> {
        &mut self.ranked
    }

    fn rank(base: u64, arrival: Instant) -> u64 {
        arrival.as_ns().saturating_add(base)
    }
}
