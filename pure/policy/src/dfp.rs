// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Deadline floor protocol under EDF: a lock shortens its holder's deadline, and nothing else changes.
//!
//! ```text
//! Rule        at a lock the job's absolute deadline becomes min(its own now, b + floor); at the unlock what it was
//!             before
//! Symbols     floor: the least relative deadline of the resource's users
//!             b: the base, an instant before which no job arrived that this rule is told of after the lock
//! Bases       the clock: b = now − J, where J is the longest time from a job's arrival to the instant at which this
//!             rule is told; the next release: b is the least arrival of those that it has not been told of yet, and J
//!             is 0
//! Promise     no lock waits: whoever may ask for a held resource has no earlier deadline than its holder
//! Needs       floors and b that are true; unlock in reverse order; jobs that never suspend: one that may run again has
//!             a deadline from before the lock, and goes before the floor
//! Cost        lock, unlock O(1); release O(log n); the clock costs a reading of it
//! Source      [Burns12]; [Gutierrez13, Figure 4] for an implementation, without J; the next release is ours
//! ```
//!
//! Why the promise holds. A user of the resource that is told of
//! - *before* the lock was ready when the holder ran, so it is due no sooner than the holder was, and a lock only makes a
//!   holder due sooner;
//! - *after* the lock arrived at b or later, and is due at b + D ≥ b + floor or later, where the holder is due by then.
//!   This goes for all that the resource's users are told of first. What waits behind an earlier job of its task may
//!   have arrived before b, but is told of when that job is complete, which by the same argument does not run.
//!
//! **Both may be due at the same instant**, so among equals the holder must go first: who runs is preempted by strictly
//! earlier deadlines only, and who was preempted goes before its equals.
//!
//! Leaving out J is what breaks with a clock on a real kernel: a release that the timer recognises after a lock, although
//! it was nominally before, is due before the floor, and runs beside the holder. [`Locking::lock`] then answers
//! [`Answer::Broken`]. A J that is true is a bound on the machine's latency, which nobody has. The next release needs none:
//! however late a release is told, it was the next one until then. It must be the least over all tasks of the core; of
//! one whose next arrival is not known, the least that it can be: no later than now.
//!
//! In the worst case DFP and SRP are the same test (processor demand), but not the same schedule: DFP may hold up a job
//! that does not use the resource although its deadline is shorter than the floor.

use taut_time::{Duration, Instant};

use crate::queue::ReadyQueue;
use crate::ranked::{ByRank, Ranked};
use crate::{Answer, LocalResource, Locking, Misuse, Slot, Store};

/// EDF with deadline floors.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Dfp<Q, S, R> {
    pub(crate) ranked: Ranked<Q, S, R>,
    jitter: u64,
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> Dfp<Q, S, R> {
    /// A task per relative deadline, a resource per floor, and J: 0 if `now` of [`Locking::lock`] is the next release
    /// and not a clock's. The queue must take any rank.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too few
    /// ranks.
    pub fn new(
        ready: Q,
        slots: S,
        deadlines: &[Duration],
        resources: R,
        floors: &[Duration],
        jitter: Duration,
    ) -> Result<Self, Misuse> {
        if ready.ranks() < u64::MAX {
            return Err(Misuse::Rank);
        }
        let bases = deadlines.iter().map(|deadline| deadline.as_ns());
        let limits = floors.iter().map(|floor| floor.as_ns());
        Ok(Self { ranked: Ranked::new(ready, slots, bases, resources, limits)?, jitter: jitter.as_ns() })
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> ByRank for Dfp<Q, S, R> {
    type Ready = Q;
    type Slots = S;
    type Resources = R;

    fn ranked(&self) -> &Ranked<Q, S, R> {
        &self.ranked
    }

    fn ranked_mut(&mut self) -> &mut Ranked<Q, S, R> {
        &mut self.ranked
    }

    fn rank(base: u64, arrival: Instant) -> u64 {
        arrival.as_ns().saturating_add(base)
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> Locking for Dfp<Q, S, R> {
    #[inline]
    fn lock(&mut self, now: Instant, resource: usize) -> Result<Answer, Misuse> {
        let (now, jitter) = (now.as_ns(), self.jitter);
        // Rounded down where it does not fit: earlier is safe.
        self.ranked.sections.lock(resource, |floor| Some(now.saturating_add(floor).saturating_sub(jitter)))
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
            if self.ranked.rank(holder) > place.before() {
                return Err("a lock has made a deadline later");
            }
        }
        Ok(())
    }
}
