// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Immediate ceiling: a holder runs at the resource's ceiling from the lock to the unlock.
//!
//! ```text
//! Rule        at a lock the job's priority becomes max(current priority, ceiling); at the unlock, its previous value
//! Guarantee   no lock waits: while a task holds a resource, no other user of the resource can run
//! Needs       ceilings that are true; unlock in reverse order; no suspension inside a section
//! Cost        lock, unlock O(1); decide as the ready queue
//! Source      [Sha90]; POSIX calls it PTHREAD_PRIO_PROTECT, and under fixed priority it is what SRP [Baker91] comes to
//! ```

use taut_time::Instant;

use super::ranks;
use crate::queue::ReadyQueue;
use crate::ranked::{ByRank, Ranked};
use crate::{LocalAnswer, LocalResource, Locking, Misuse, Slot, Store};

/// Fixed priority with immediate ceilings.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Immediate<Q, S, R> {
    pub(crate) ranked: Ranked<Q, S, R>,
    /// The priority that has rank 0.
    pub(crate) top: u32,
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> Immediate<Q, S, R> {
    /// A task per priority and a resource per ceiling, larger = more urgent.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too
    /// few ranks.
    pub fn new(
        ready: Q,
        slots: S,
        priorities: &[u32],
        resources: R,
        ceilings: &[u32],
    ) -> Result<Self, Misuse> {
        let top = ranks(&ready, priorities, ceilings)?;
        let bases = priorities.iter().map(|priority| u64::from(top - priority));
        let limits = ceilings.iter().map(|ceiling| u64::from(top - ceiling));
        Ok(Self { ranked: Ranked::new(ready, slots, bases, resources, limits)?, top })
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> ByRank for Immediate<Q, S, R> {
    type Ready = Q;
    type Slots = S;
    type Resources = R;

    fn ranked(&self) -> &Ranked<Q, S, R> {
        &self.ranked
    }

    fn ranked_mut(&mut self) -> &mut Ranked<Q, S, R> {
        &mut self.ranked
    }

    fn rank(base: u64, _: Instant) -> u64 {
        base
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> Locking for Immediate<Q, S, R> {
    #[inline]
    fn lock(&mut self, _: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
        self.ranked.sections.lock(resource, Some)
    }

    #[inline]
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        self.ranked.sections.unlock(resource)
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.ranked.sections.holder(resource)
    }

    fn check_state(&self) -> Result<(), &'static str> {
        self.ranked.check()?;
        for place in self.ranked.sections.held() {
            let Some(holder) = place.holder() else { continue };
            if self.ranked.rank(holder) > place.limit {
                return Err("a holder is below the ceiling");
            }
            if self
                .ranked
                .running()
                .is_some_and(|task| task != holder && self.ranked.rank(task) >= place.limit)
            {
                return Err("a task runs although its priority does not exceed the ceiling");
            }
        }
        Ok(())
    }
}
