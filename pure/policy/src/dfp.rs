// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Deadline floor protocol under EDF: a lock shortens its holder's deadline, and nothing else changes.
//!
//! ```text
//! Rule        at a lock the job's absolute deadline becomes min(its own now, now − J + floor); at the unlock what it
//!             was before
//! Symbols     floor: the least relative deadline of the resource's users; J: the longest time from a job's arrival to
//!             the instant at which this rule is told
//! Promise     no lock waits: whoever may ask for a held resource has no earlier deadline than its holder
//! Needs       floors and J that are true; unlock in reverse order; jobs that never suspend: one that may run again has
//!             a deadline from before the lock, and goes before the floor
//! Cost        lock, unlock O(1); release O(log n)
//! Source      [Burns12]; [Gutierrez13, Figure 4] for an implementation, without J
//! ```
//!
//! Why the promise holds: a user that arrives at a is due at a + D, D ≥ floor. It is told of by a + J, so one that is
//! told of after the lock at t arrived no sooner than t − J, and is due no sooner than t − J + floor. **It may be due at
//! the same instant**, so among equals the holder must go first: who runs is preempted by strictly earlier deadlines
//! only, and who was preempted goes before its equals.
//!
//! Leaving out J is what breaks on a real kernel: a release that the timer recognises after a lock, although it was
//! nominally before, is due before the floor, and runs beside the holder. [`Locking::lock`] then answers
//! [`Answer::Broken`].
//!
//! In the worst case DFP and SRP are the same test (processor demand), but not the same schedule: DFP may hold up a job
//! that does not use the resource although its deadline is shorter than the floor.

use taut_time::{Duration, Instant};

use crate::queue::ReadyQueue;
use crate::ranked::{ByRank, Held, Ranked};
use crate::{Answer, Locking, Misuse, Slot, Store};

/// A resource: its floor, and who holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DfpResource {
    floor: u64,
    held: Held,
}

impl DfpResource {
    /// No resource yet.
    pub const EMPTY: Self = Self { floor: u64::MAX, held: Held::FREE };
}

/// EDF with deadline floors.
#[derive(Clone, Debug)]
pub struct Dfp<Q, S, R> {
    ranked: Ranked<Q, S>,
    resources: R,
    jitter: u64,
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<DfpResource>> Dfp<Q, S, R> {
    /// A task per relative deadline, a resource per floor, and J. The queue must take any rank.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too few
    /// ranks.
    pub fn new(
        ready: Q,
        slots: S,
        deadlines: &[Duration],
        mut resources: R,
        floors: &[Duration],
        jitter: Duration,
    ) -> Result<Self, Misuse> {
        if ready.ranks() < u64::MAX {
            return Err(Misuse::Rank);
        }
        let places = resources.as_mut();
        places.fill(DfpResource::EMPTY);
        for (resource, floor) in floors.iter().enumerate() {
            places.get_mut(resource).ok_or(Misuse::Resource)?.floor = floor.as_ns();
        }
        let bases = deadlines.iter().map(|deadline| deadline.as_ns());
        Ok(Self { ranked: Ranked::new(ready, slots, bases)?, resources, jitter: jitter.as_ns() })
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<DfpResource>> ByRank for Dfp<Q, S, R> {
    type Ready = Q;
    type Slots = S;

    fn ranked(&self) -> &Ranked<Q, S> {
        &self.ranked
    }

    fn ranked_mut(&mut self) -> &mut Ranked<Q, S> {
        &mut self.ranked
    }

    fn rank(base: u64, arrival: Instant) -> u64 {
        arrival.as_ns().saturating_add(base)
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<DfpResource>> Locking for Dfp<Q, S, R> {
    fn lock(&mut self, now: Instant, resource: usize) -> Result<Answer, Misuse> {
        let task = self.ranked.runner()?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        // Rounded down where it does not fit: earlier is safe.
        let floor = now.as_ns().saturating_add(place.floor).saturating_sub(self.jitter);
        self.ranked.take(task, &mut place.held, floor)
    }

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
            if self.ranked.slot(holder).rank > place.held.before {
                return Err("a lock has made a deadline later");
            }
        }
        Ok(())
    }
}
