// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources that tasks of several cores share.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use taut_lock::life::{Alive, Lives};
use taut_lock::queued::{self, Request};
use taut_lock::{Entry, LayoutError, Memory, Place, spin};

use crate::owned::Lines;
use crate::resource::Cell;

/// How tasks wait for a resource of several cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// They spin in order of request, and nothing preempts who asks or holds. Also FMLP for short sections.
    Msrp,
    /// They leave their cores; the most urgent one is next. Who holds goes before all jobs of its core.
    Mpcp,
    /// They leave their cores; first come, first served. As above for who holds. FMLP for long sections.
    Fmlp,
}

/// Who may ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) brand: u64,
    pub(crate) task: u32,
    pub(crate) priority: u32,
    pub(crate) party: u32,
}

/// The parties of the lock.
pub(crate) enum Parties<'m> {
    /// Of each core: used by the job that is pinned there.
    Spin(Box<[PartyCell<spin::Party<'m>>]>),
    /// Of each task: used by its job.
    Queued(Box<[PartyCell<queued::Party<'m>>]>),
}

/// A party that several jobs use in turns.
///
/// It is handed about as this, never as a borrow: a borrow that is an argument lasts until the function returns, and within
/// the functions that ask and release other jobs of the core run, which borrow the same party (S4 of [`crate::shared`]).
pub(crate) struct PartyCell<P>(UnsafeCell<P>);

impl<P: Asks> PartyCell<P> {
    pub(crate) fn new(party: P) -> Self {
        Self(UnsafeCell::new(party))
    }

    /// Asks for the lock; how the party has it, if at once.
    ///
    /// # Safety
    /// From before the call until it has returned, no other job uses this party: of a lock that is spun for the caller is
    /// pinned, of one that is slept for it is the party's task's job.
    #[inline]
    pub(crate) unsafe fn ask(&self, urgency: u32) -> Option<Entry> {
        // SAFETY: the caller's duty; the borrow ends here.
        unsafe { (*self.0.get()).ask(urgency) }
    }

    /// Waits until the party has the lock.
    ///
    /// # Safety
    /// As [`PartyCell::ask`].
    #[inline]
    pub(crate) unsafe fn have(&self) -> Entry {
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

/// What the handles of a resource share.
pub(crate) struct Inner<'m, T> {
    pub(crate) parties: Parties<'m>,
    users: Box<[OnceLock<User>]>,
    /// Users are added one at a time: what party one is follows from those before it.
    adds: Mutex<()>,
    protocol: Protocol,
    /// How it is recorded.
    pub(crate) number: u32,
    value: Value<'m, T>,
    /// The lock's memory, if it is our own: behind the parties, which go before it.
    _lines: Option<Lines>,
}

/// Where the value is.
pub(crate) enum Value<'m, T> {
    Own(Cell<T>),
    /// In the memory behind the lock.
    Between {
        place: Place<'m, T>,
        /// The lock's number of the first of the parties.
        first_slot: u32,
        /// The largest priority of its users in other processes.
        priority_elsewhere: u32,
        /// Of all processes that use it, and this one among them.
        lives: Lives<'m>,
        alive: &'m Alive,
    },
}

// SAFETY: the value is touched by the job that holds the lock, as in `Resource` and in `Place`; a party through the unsafe
// functions of `PartyCell` alone, whose callers are one job at a time.
unsafe impl<T: Send> Sync for Inner<'_, T> {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl<T: Send> Send for Inner<'_, T> {}

/// Something that tasks of several cores use, one at a time: see [`Job::lock_global`](crate::Job::lock_global). A handle;
/// clones are of the same resource.
pub struct Global<'m, T> {
    pub(crate) inner: Arc<Inner<'m, T>>,
}

impl<T> Clone for Global<'_, T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T> fmt::Debug for Global<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { protocol, number, .. } = &*self.inner;
        f.debug_struct("Global").field("protocol", protocol).field("number", number).finish_non_exhaustive()
    }
}

impl<'m, T: Send> Global<'m, T> {
    pub(crate) fn new(
        protocol: Protocol,
        memory: Memory<'m>,
        parties: u32,
        number: u32,
        value: T,
        lines: Option<Lines>,
    ) -> Result<Self, LayoutError> {
        let made = match protocol {
            Protocol::Msrp => Parties::Spin(spin::group(memory, parties)?.map(PartyCell::new).collect()),
            Protocol::Mpcp | Protocol::Fmlp => {
                Parties::Queued(queued::group(memory, parties)?.map(PartyCell::new).collect())
            }
        };
        Ok(Self::made(protocol, made, number, Value::Own(Cell::new(value)), lines))
    }

    pub(crate) fn made(
        protocol: Protocol,
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
                number,
                value,
                _lines: lines,
            }),
        }
    }

    /// The value, if this is the last handle: no job can have it any more. `None` if it is of several processes.
    pub fn into_value(self) -> Option<T> {
        match Arc::into_inner(self.inner)?.value {
            Value::Own(cell) => Some(cell.into_inner()),
            Value::Between { .. } => None,
        }
    }
}

impl<'m, T> Inner<'m, T> {
    /// Who uses it in several processes, and this one among them; none if it is of one.
    pub(crate) fn others(&self) -> Option<(Lives<'m>, &'m Alive)> {
        if let Value::Between { lives, alive, .. } = self.value { Some((lives, alive)) } else { None }
    }

    /// Lets `work` have the value.
    ///
    /// # Safety
    /// The caller holds the lock, and does not have the value yet.
    #[inline]
    pub(crate) unsafe fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        match &self.value {
            // SAFETY: the caller's first duty, and its second.
            Value::Own(cell) => work(unsafe { &mut *cell.get() }),
            // SAFETY: inside (caller); all processes keep to it, and it is a T (`global_between`).
            Value::Between { place, .. } => unsafe { place.with(work) },
        }
    }

    /// Which party has left the value half changed, if it is not whole. For the holder of the lock, as the next three.
    pub(crate) fn torn_by(&self) -> Option<u32> {
        match &self.value {
            Value::Own(cell) => cell.poison.by(),
            Value::Between { place, .. } => place.torn_by(),
        }
    }

    /// `party` by the lock's number.
    pub(crate) fn tear(&self, party: u32) {
        match &self.value {
            Value::Own(cell) => cell.poison.put(party),
            Value::Between { place, .. } => place.tear(party),
        }
    }

    /// `party` by its position among those of this process.
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

    /// Whether tasks leave their cores while they wait.
    pub(crate) fn suspends(&self) -> bool {
        matches!(self.parties, Parties::Queued(_))
    }

    /// Adds a task: as the party of its core or its own, which nobody else is, for users are added one at a time.
    pub(crate) fn add(&self, brand: u64, task: u32, priority: u32) -> Result<(), LayoutError> {
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
                place.set(User { brand, task, priority, party }).map_err(|_| LayoutError::Parties)
            }
            _ => Err(LayoutError::Parties),
        }
    }

    /// A task, if it may ask. At most [`taut_lock::PARTIES_LIMIT`] steps.
    pub(crate) fn user(&self, brand: u64, task: u32) -> Option<&User> {
        self.all().find(|user| user.brand == brand && user.task == task)
    }

    fn priority_elsewhere(&self) -> u32 {
        if let Value::Between { priority_elsewhere, .. } = self.value { priority_elsewhere } else { 0 }
    }

    /// Where a holder stands among the boosted of its core: smaller runs first. `None`: by when it asks.
    pub(crate) fn rank(&self, user: &User) -> Option<u64> {
        let elsewhere = self.all().filter(|other| other.brand != user.brand);
        let most_urgent = elsewhere.map(|other| other.priority).fold(self.priority_elsewhere(), u32::max);
        (self.protocol != Protocol::Fmlp).then(|| u64::from(u32::MAX - most_urgent))
    }

    /// How urgent it is among those that wait.
    pub(crate) fn urgency(&self, user: &User) -> u32 {
        if self.protocol == Protocol::Mpcp { user.priority } else { 0 }
    }
}

/// A party, as the executor uses it.
pub(crate) trait Asks {
    /// Asks; how it has it, if at once.
    fn ask(&mut self, urgency: u32) -> Option<Entry>;
    /// Waits until it has it: spins, or sleeps.
    fn have(&mut self) -> Entry;
    /// Releases it, and wakes the party that is next.
    fn release(&mut self);
}

impl Asks for spin::Party<'_> {
    fn ask(&mut self, _: u32) -> Option<Entry> {
        self.request();
        // Who asks at the same instant says in a moment whether it was first: so who does not wait is not recorded to.
        loop {
            let entry = self.granted();
            if entry.is_some() || !self.is_undecided() {
                return entry;
            }
            std::hint::spin_loop();
        }
    }

    fn have(&mut self) -> Entry {
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
    fn ask(&mut self, urgency: u32) -> Option<Entry> {
        match self.request(urgency) {
            Request::Granted(entry) => Some(entry),
            Request::Waits => None,
        }
    }

    fn have(&mut self) -> Entry {
        loop {
            // Without an end to the patience it is not refused.
            if let Ok(entry) = self.wait(taut_lock::Patience::Endless) {
                return entry;
            }
        }
    }

    fn release(&mut self) {
        Self::release(self);
    }
}
