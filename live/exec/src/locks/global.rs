// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources that tasks of several cores share.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use taut_lock::life::{Alive, Lives};
use taut_lock::queued::{self, RequestOutcome};
use taut_lock::{AcquiredState, LockLayoutError, Memory, SharedValue, spin};
use taut_policy::{GlobalRule, HolderRank, QueueOrder, Waiting};

use crate::locks::lines::Lines;
use crate::resource::Cell;

/// A task that may request the lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) brand: u64,
    pub(crate) task: u32,
    pub(crate) priority: u32,
    pub(crate) party: u32,
}

/// The parties of the lock.
pub(crate) enum Parties<'m> {
    /// One per core: used by the job that is pinned there.
    Spin(Box<[PartyCell<spin::Party<'m>>]>),
    /// One per task: used by the task's job.
    Queued(Box<[PartyCell<queued::Party<'m>>]>),
}

impl<'m> Parties<'m> {
    /// Bytes of a lock of this many parties.
    pub(crate) fn bytes(waiting: Waiting, parties: u32) -> usize {
        match waiting {
            Waiting::Spinning => spin::bytes(parties),
            Waiting::Suspended => queued::bytes(parties),
        }
    }

    /// All parties of a lock of one process.
    fn group(waiting: Waiting, memory: Memory<'m>, parties: u32) -> Result<Self, LockLayoutError> {
        Ok(match waiting {
            Waiting::Spinning => Self::Spin(spin::group(memory, parties)?.map(PartyCell::new).collect()),
            Waiting::Suspended => Self::Queued(queued::group(memory, parties)?.map(PartyCell::new).collect()),
        })
    }

    /// The parties of one of the processes that use a lock.
    pub(crate) fn slots(
        waiting: Waiting,
        memory: Memory<'m>,
        parties: u32,
        slots: Range<u32>,
        (lives, alive): (Lives<'m>, &'m Alive),
    ) -> Result<Self, LockLayoutError> {
        Ok(match waiting {
            Waiting::Spinning => {
                let made = spin::slots(memory, parties, slots, lives, alive)?;
                Self::Spin(made.map(|party| party.map(PartyCell::new)).collect::<Result<_, _>>()?)
            }
            Waiting::Suspended => {
                let made = queued::slots(memory, parties, slots, lives, alive)?;
                Self::Queued(made.map(|party| party.map(PartyCell::new)).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// A party that several jobs use in turn.
///
/// Functions pass it on as this cell, never as a borrow. A borrow passed as an argument lasts until the function
/// returns. But within the functions that request and release the lock, other jobs of the core run and borrow the same
/// party (S4 of [`crate::shared`]).
pub(crate) struct PartyCell<P>(UnsafeCell<P>);

impl<P: Asks> PartyCell<P> {
    pub(crate) fn new(party: P) -> Self {
        Self(UnsafeCell::new(party))
    }

    /// Requests the lock. Returns how the party got the lock, if it got it at once.
    ///
    /// # Safety
    /// From before the call until it has returned, no other job uses this party. With a spinning lock the caller is
    /// pinned; with a suspending lock the caller is the job of the party's task.
    #[inline]
    pub(crate) unsafe fn ask(&self, urgency: u32) -> Option<AcquiredState> {
        // SAFETY: the caller's duty; the borrow ends here.
        unsafe { (*self.0.get()).ask(urgency) }
    }

    /// Waits until the party has the lock.
    ///
    /// # Safety
    /// As [`PartyCell::ask`].
    #[inline]
    pub(crate) unsafe fn have(&self) -> AcquiredState {
        // SAFETY: the caller's duty; the borrow ends here.
        unsafe { (*self.0.get()).have() }
    }

    /// Releases the lock, and wakes the party that is next.
    ///
    /// # Safety
    /// As [`PartyCell::ask`].
    #[inline]
    pub(crate) unsafe fn release(&self) {
        // SAFETY: the caller's duty; the borrow ends here.
        unsafe { (*self.0.get()).release() }
    }
}

/// The parts of a resource that all its handles share.
pub(crate) struct Inner<'m, T> {
    pub(crate) parties: Parties<'m>,
    users: Box<[OnceLock<User>]>,
    /// Serialises the adding of users: a user's party follows from the users before it.
    adds: Mutex<()>,
    protocol: GlobalRule,
    /// Facts of the protocol, at hand for each request.
    order: QueueOrder,
    holder: HolderRank,
    /// The number by which the resource is recorded.
    pub(crate) number: u32,
    value: Value<'m, T>,
    /// The lock's memory, if it is our own. Declared after the parties, which are dropped before it.
    _lines: Option<Lines>,
}

/// Where the value is.
pub(crate) enum Value<'m, T> {
    Own(Cell<T>),
    /// In the memory behind the lock.
    Between {
        place: SharedValue<'m, T>,
        /// The number that the first party of this process has in the lock.
        first_slot: u32,
        /// The largest priority of the resource's users in other processes.
        priority_elsewhere: u32,
        /// `lives`: the liveness of all processes that use the resource. `alive`: that of this process.
        lives: Lives<'m>,
        alive: &'m Alive,
    },
}

// SAFETY: only the job that holds the lock touches the value, as in `CoreResource` and in `SharedValue`. A party is
// touched only through the unsafe functions of `PartyCell`, whose callers are one job at a time.
unsafe impl<T: Send> Sync for Inner<'_, T> {}
// SAFETY: nothing in it is bound to a thread.
unsafe impl<T: Send> Send for Inner<'_, T> {}

/// A value that tasks of several cores use, one at a time: see [`Job::lock_global`](crate::Job::lock_global). This is
/// a handle; clones refer to the same resource.
pub struct GlobalResource<'m, T> {
    pub(crate) inner: Arc<Inner<'m, T>>,
}

impl<T> Clone for GlobalResource<'_, T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T> fmt::Debug for GlobalResource<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { protocol, number, .. } = &*self.inner;
        f.debug_struct("GlobalResource")
            .field("protocol", protocol)
            .field("number", number)
            .finish_non_exhaustive()
    }
}

impl<'m, T: Send> GlobalResource<'m, T> {
    pub(crate) fn new(
        protocol: GlobalRule,
        memory: Memory<'m>,
        parties: u32,
        number: u32,
        value: T,
        lines: Option<Lines>,
    ) -> Result<Self, LockLayoutError> {
        let made = Parties::group(protocol.waiting(), memory, parties)?;
        Ok(Self::made(protocol, made, number, Value::Own(Cell::new(value)), lines))
    }

    pub(crate) fn made(
        protocol: GlobalRule,
        parties: Parties<'m>,
        number: u32,
        value: Value<'m, T>,
        lines: Option<Lines>,
    ) -> Self {
        let users = (0..taut_lock::PARTIES_LIMIT).map(|_| OnceLock::new()).collect();
        Self {
            inner: Arc::new(Inner {
                parties,
                users,
                adds: Mutex::new(()),
                protocol,
                order: protocol.order(),
                holder: protocol.holder(),
                number,
                value,
                _lines: lines,
            }),
        }
    }

    /// The value, if this is the last handle: no job can use it any more. `None` if several processes share it.
    pub fn into_value(self) -> Option<T> {
        match Arc::into_inner(self.inner)?.value {
            Value::Own(cell) => Some(cell.into_inner()),
            Value::Between { .. } => None,
        }
    }
}

impl<'m, T> Inner<'m, T> {
    /// The liveness of all processes that use the resource, and of this one; `None` if one process uses it alone.
    pub(crate) fn others(&self) -> Option<(Lives<'m>, &'m Alive)> {
        if let Value::Between { lives, alive, .. } = self.value { Some((lives, alive)) } else { None }
    }

    /// Runs `work` with the value.
    ///
    /// # Safety
    /// The caller holds the lock, and does not borrow the value yet.
    #[inline]
    pub(crate) unsafe fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        match &self.value {
            // SAFETY: the caller's first duty, and its second.
            Value::Own(cell) => work(unsafe { &mut *cell.get() }),
            // SAFETY: the caller is inside the lock; all processes keep to it, and the value is a T
            // (`global_between`).
            Value::Between { place, .. } => unsafe { place.with(work) },
        }
    }

    /// The party that left the value half changed; `None` if the value is whole. Only for the holder of the lock, as
    /// are the next three functions.
    pub(crate) fn torn_by(&self) -> Option<u32> {
        match &self.value {
            Value::Own(cell) => cell.poison.by(),
            Value::Between { place, .. } => place.torn_by(),
        }
    }

    /// Marks the value as half changed by `party`, which is the number in the lock.
    pub(crate) fn tear(&self, party: u32) {
        match &self.value {
            Value::Own(cell) => cell.poison.put(party),
            Value::Between { place, .. } => place.tear(party),
        }
    }

    /// As [`Inner::tear`]; `party` is the position among the parties of this process.
    pub(crate) fn tear_own(&self, party: u32) {
        match &self.value {
            Value::Own(cell) => cell.poison.put(party),
            Value::Between { place, first_slot, .. } => place.tear(first_slot + party),
        }
    }

    pub(crate) fn mend(&self) {
        match &self.value {
            Value::Own(cell) => cell.poison.clear(),
            Value::Between { place, .. } => place.mend(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &User> {
        self.users.iter().map_while(OnceLock::get)
    }

    /// Whether jobs are suspended while they wait.
    pub(crate) fn suspends(&self) -> bool {
        matches!(self.parties, Parties::Queued(_))
    }

    /// Adds a task as a user. With a spin lock its party is that of its core, otherwise one of its own. Two users never
    /// get the same new party, because users are added one at a time.
    pub(crate) fn add(&self, brand: u64, task: u32, priority: u32) -> Result<(), LockLayoutError> {
        let _alone = self.adds.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match &self.parties {
            Parties::Spin(parties) => parties.len(),
            Parties::Queued(parties) => parties.len(),
        };
        let same = self.all().find(|user| user.brand == brand && (!self.suspends() || user.task == task));
        let next = self.all().map(|user| user.party + 1).max().unwrap_or(0);
        let party = same.map_or(next, |user| user.party);
        let place = self.users.iter().find(|place| place.get().is_none());
        match place {
            Some(place) if (party as usize) < count => {
                place.set(User { brand, task, priority, party }).map_err(|_| LockLayoutError::Parties)
            }
            _ => Err(LockLayoutError::Parties),
        }
    }

    /// The task's entry, if the task may request the lock. At most [`taut_lock::PARTIES_LIMIT`] steps.
    pub(crate) fn user(&self, brand: u64, task: u32) -> Option<&User> {
        self.all().find(|user| user.brand == brand && user.task == task)
    }

    fn priority_elsewhere(&self) -> u32 {
        if let Value::Between { priority_elsewhere, .. } = self.value { priority_elsewhere } else { 0 }
    }

    /// The rank of a holder among the boosted jobs of its core: the smaller runs first. `None`: the rank is the time
    /// of the request.
    pub(crate) fn rank(&self, user: &User) -> Option<u64> {
        let elsewhere = self.all().filter(|other| other.brand != user.brand);
        let most_urgent = elsewhere.map(|other| other.priority).fold(self.priority_elsewhere(), u32::max);
        match self.holder {
            HolderRank::Ceiling => Some(u64::from(u32::MAX - most_urgent)),
            HolderRank::Request => None,
        }
    }

    /// How urgent the user is among those that wait.
    pub(crate) fn urgency(&self, user: &User) -> u32 {
        match self.order {
            QueueOrder::Priority => user.priority,
            QueueOrder::Request => 0,
        }
    }
}

/// A party, as the executor uses it.
pub(crate) trait Asks {
    /// Requests the lock. Returns how the party got it, if it got it at once.
    fn ask(&mut self, urgency: u32) -> Option<AcquiredState>;
    /// Waits until the party has the lock: spins, or sleeps.
    fn have(&mut self) -> AcquiredState;
    /// Releases the lock, and wakes the party that is next.
    fn release(&mut self);
}

impl Asks for spin::Party<'_> {
    fn ask(&mut self, _: u32) -> Option<AcquiredState> {
        self.request();
        // If another party requests at the same instant, the lock decides within a moment which was first. Waiting for
        // that avoids recording a spin for a party that does not wait.
        loop {
            let entry = self.granted();
            if entry.is_some() || !self.is_undecided() {
                return entry;
            }
            std::hint::spin_loop();
        }
    }

    fn have(&mut self) -> AcquiredState {
        loop {
            if let Some(entry) = self.granted() {
                return entry;
            }
            std::hint::spin_loop();
        }
    }

    fn release(&mut self) {
        self.leave();
    }
}

impl Asks for queued::Party<'_> {
    fn ask(&mut self, urgency: u32) -> Option<AcquiredState> {
        match self.request(urgency) {
            RequestOutcome::Granted(entry) => Some(entry),
            RequestOutcome::Waits => None,
        }
    }

    fn have(&mut self) -> AcquiredState {
        loop {
            // With endless patience the wait is not refused.
            if let Ok(entry) = self.wait(taut_lock::Patience::Endless) {
                return entry;
            }
        }
    }

    fn release(&mut self) {
        Self::release(self);
    }
}
