// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Immediate ceiling: a holder runs at the ceiling from the lock to the unlock.
//!
//! ```text
//! Rule        at a lock the job's priority becomes max(its own now, ceiling); at the unlock what it was before
//! Promise     no lock waits: while one holds a resource, nobody who may ask for it can run
//! Needs       ceilings that are true; unlock in reverse order; no suspension inside a section
//! Cost        lock, unlock O(1); decide as the ready queue
//! Source      [Sha90]; POSIX calls it PTHREAD_PRIO_PROTECT, and under fixed priority it is what SRP [Baker91] comes to
//! ```

use taut_time::Instant;

use super::ranks;
use crate::queue::ReadyQueue;
use crate::ranked::{ByRank, Held, Ranked};
use crate::{Answer, Locking, Misuse, Slot, Store};

/// A resource: its ceiling and who holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImmediateResource {
    ceiling: u64,
    held: Held,
}

impl ImmediateResource {
    /// No resource yet.
    pub const EMPTY: Self = Self { ceiling: u64::MAX, held: Held::FREE };
}

/// Fixed priority with immediate ceilings.
#[derive(Clone, Debug)]
pub struct Immediate<Q, S, R> {
    ranked: Ranked<Q, S>,
    resources: R,
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<ImmediateResource>> Immediate<Q, S, R> {
    /// A task per priority and a resource per ceiling, larger = more urgent.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too few
    /// ranks.
    pub fn new(
        ready: Q,
        slots: S,
        priorities: &[u32],
        mut resources: R,
        ceilings: &[u32],
    ) -> Result<Self, Misuse> {
        let top = ranks(&ready, priorities, ceilings)?;
        let places = resources.as_mut();
        places.fill(ImmediateResource::EMPTY);
        for (at, ceiling) in ceilings.iter().enumerate() {
            places.get_mut(at).ok_or(Misuse::Resource)?.ceiling = u64::from(top - ceiling);
        }
        let bases = priorities.iter().map(|priority| u64::from(top - priority));
        Ok(Self { ranked: Ranked::new(ready, slots, bases)?, resources })
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<ImmediateResource>> ByRank for Immediate<Q, S, R> {
    type Ready = Q;
    type Slots = S;

    fn ranked(&self) -> &Ranked<Q, S> {
        &self.ranked
    }

    fn ranked_mut(&mut self) -> &mut Ranked<Q, S> {
        &mut self.ranked
    }

    fn rank(base: u64, _: Instant) -> u64 {
        base
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<ImmediateResource>> Locking for Immediate<Q, S, R> {
    #[inline]
    fn lock(&mut self, _: Instant, resource: usize) -> Result<Answer, Misuse> {
        let task = self.ranked.runner()?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        self.ranked.take(task, &mut place.held, place.ceiling)
    }

    #[inline]
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        let task = self.ranked.runner()?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        self.ranked.give_back(task, &mut place.held)
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.resources.as_ref().get(resource)?.held.holder()
    }

    fn check_state(&self) -> Result<(), &'static str> {
        self.ranked.check()?;
        for place in self.resources.as_ref() {
            let Some(holder) = place.held.holder() else { continue };
            if self.ranked.slot(holder).rank > place.ceiling {
                return Err("a holder is below the ceiling");
            }
            if self
                .ranked
                .running
                .is_some_and(|task| task != holder && self.ranked.slot(task).rank >= place.ceiling)
            {
                return Err("a task runs that the ceiling should keep out");
            }
        }
        Ok(())
    }
}
