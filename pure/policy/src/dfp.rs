// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Deadline floor protocol under EDF: a lock shortens its holder's deadline, and nothing else changes.
//!
//! ```text
//! Rule        at a lock the job's absolute deadline becomes min(current deadline, b + floor); at the unlock, its
//!             previous value
//! Symbols     floor: the least relative deadline of the resource's users
//!             b: the base, an instant before which no job arrived whose release is reported after the lock
//! Bases       the clock: b = now − J, where J is the longest time from a job's arrival to the report of its release;
//!             the next release: b is the least arrival among the jobs not yet reported, and J is 0
//! Guarantee   no job waits at a lock: no user of a held resource has an earlier deadline than its holder
//! Needs       floors and b that are true; unlock in reverse order; jobs that never suspend: a job that resumes has a
//!             deadline from before the lock, and goes before the floor
//! Cost        lock, unlock O(1); release O(log n); the clock costs a reading of it
//! Source      [Burns12]; [Gutierrez13, Figure 4] for an implementation, without J; the next release is ours
//! ```
//!
//! Why the guarantee holds. A user of the resource whose release is reported
//! - *before* the lock was ready while the holder ran, so its deadline is not earlier than the holder's, and a lock
//!   only makes the holder's deadline earlier;
//! - *after* the lock arrived at b or later, so its deadline is b + D ≥ b + floor or later, and the holder's deadline
//!   is not later than b + floor. This covers users without an earlier pending job. A job that waits behind an earlier
//!   job of its task may have arrived before b, but its release is reported when that earlier job is complete, and by
//!   the same argument that job does not run.
//!
//! **Both may have the same deadline**, so among equals the holder must go first: only a strictly earlier deadline
//! preempts the running task, and a preempted task goes before its equals.
//!
//! Without J, the clock fails on a real kernel: a release that nominally came before a lock, but that the timer
//! recognises after it, has a deadline before the floor and runs beside the holder. [`Locking::lock`] then answers
//! [`LocalAnswer::Broken`]. A true J is a bound on the latency of the machine, and such a bound is not known. The next
//! release needs no bound: however late a release is reported, it was the next one until then. The base must be the
//! least over all tasks of the core; for a task whose next arrival is unknown, the least possible one: no later than
//! now.
//!
//! In the worst case DFP and SRP have the same test (processor demand), but not the same schedule: DFP may delay a
//! job that does not use the resource although its deadline is shorter than the floor.

use taut_time::{Duration, Instant};

use crate::queue::ReadyQueue;
use crate::ranked::{ByRank, Ranked};
use crate::{LocalAnswer, LocalResource, Locking, Misuse, Slot, Store};

/// EDF with deadline floors.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Dfp<Q, S, R> {
    pub(crate) ranked: Ranked<Q, S, R>,
    jitter: u64,
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> Dfp<Q, S, R> {
    /// A task per relative deadline, a resource per floor, and J: 0 if `now` of [`Locking::lock`] is the next release
    /// and not the time of a clock. The queue must take any rank.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too
    /// few ranks.
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
    fn lock(&mut self, now: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
        let (now, jitter) = (now.as_ns(), self.jitter);
        // Saturates downwards: an earlier deadline is safe.
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
                return Err("a lock has postponed a deadline");
            }
        }
        Ok(())
    }
}
