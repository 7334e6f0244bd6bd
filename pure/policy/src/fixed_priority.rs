// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Fixed priority, preemptive, no locks.

use taut_time::Instant;

use crate::queue::ReadyQueue;
use crate::ranked::{ByRank, NoResources, Ranked};
use crate::{Misuse, Slot, Store};

/// The most urgent ready task runs; FIFO among equals, and a preempted task goes before its equals, as in SCHED_FIFO.
#[derive(Clone, Debug)]
pub struct FixedPriority<Q, S> {
    ranked: Ranked<Q, S, NoResources>,
}

impl<Q: ReadyQueue, S: Store<Slot>> FixedPriority<Q, S> {
    /// A task per priority, larger = more urgent. The largest priority has rank 0.
    ///
    /// # Errors
    /// [`Misuse::Task`] if queue or slots have no place for all, [`Misuse::Rank`] if the queue has too few ranks.
    pub fn new(ready: Q, slots: S, priorities: &[u32]) -> Result<Self, Misuse> {
        let top = priorities.iter().copied().max().unwrap_or(0);
        let bases = priorities.iter().map(|priority| u64::from(top - priority));
        if bases.clone().any(|rank| rank >= ready.ranks()) {
            return Err(Misuse::Rank);
        }
        Ok(Self { ranked: Ranked::new(ready, slots, bases, [], core::iter::empty())? })
    }
}

impl<Q: ReadyQueue, S: Store<Slot>> ByRank for FixedPriority<Q, S> {
    type Ready = Q;
    type Slots = S;
    type Resources = NoResources;

    fn ranked(&self) -> &Ranked<Q, S, NoResources> {
        &self.ranked
    }

    fn ranked_mut(&mut self) -> &mut Ranked<Q, S, NoResources> {
        &mut self.ranked
    }

    fn rank(base: u64, _: Instant) -> u64 {
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheduler;
    use crate::queue::{Bitmap, Level, Node};

    #[test]
    fn equals_do_not_preempt_and_the_preempted_goes_first() {
        let queue = || Bitmap::new([Level::EMPTY; 100], [Node::EMPTY; 4]);
        let mut core = FixedPriority::new(queue(), [Slot::EMPTY; 4], &[10, 10, 20, 10]).expect("fits");
        let now = Instant::from_ns(0);
        core.release(0, now).expect("idle");
        assert_eq!(core.decide(), Some(0));
        core.release(1, now).expect("idle");
        assert_eq!(core.decide(), Some(0), "an equal one does not preempt");
        core.release(2, now).expect("idle");
        assert_eq!(core.decide(), Some(2));
        core.release(3, now).expect("idle");
        assert_eq!(core.release(3, now), Err(Misuse::State));
        assert_eq!(core.suspend(), Ok(2));
        assert_eq!(core.decide(), Some(0), "before its equals");
        assert_eq!(core.complete(), Ok(0));
        assert_eq!((core.decide(), core.resume(2), core.decide()), (Some(1), Ok(()), Some(2)));
        assert_eq!(FixedPriority::new(queue(), [Slot::EMPTY; 4], &[200, 1]).err(), Some(Misuse::Rank));
    }
}
