// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources that tasks of several cores share.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::{Arc, OnceLock};

use taut_lock::queued::{self, Request};
use taut_lock::{LayoutError, Memory, spin};

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

/// The parties of the lock, each touched by its owner alone.
pub(crate) enum Parties<'m> {
    /// Of each core: touched by the task that is pinned there.
    Spin(Box<[UnsafeCell<spin::Party<'m>>]>),
    /// Of each task.
    Queued(Box<[UnsafeCell<queued::Party<'m>>]>),
}

/// What the handles of a resource share.
pub(crate) struct Inner<'m, T> {
    pub(crate) parties: Parties<'m>,
    users: Box<[OnceLock<User>]>,
    protocol: Protocol,
    /// How it is recorded.
    pub(crate) number: u32,
    pub(crate) cell: Cell<T>,
    /// The lock's memory, if it is our own: behind the parties, which go before it.
    _lines: Option<Lines>,
}

// SAFETY: the value as in `Resource`: by who holds the lock; a party by its owner, which is one job at a time: of a core
// that which is pinned, from before it asks until after it let go; else the one job that its task has.
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
            Protocol::Msrp => Parties::Spin(spin::group(memory, parties)?.map(UnsafeCell::new).collect()),
            Protocol::Mpcp | Protocol::Fmlp => {
                Parties::Queued(queued::group(memory, parties)?.map(UnsafeCell::new).collect())
            }
        };
        let users = (0..taut_lock::PARTIES_LIMIT).map(|_| OnceLock::new()).collect();
        let cell = Cell::new(value);
        Ok(Self { inner: Arc::new(Inner { parties: made, users, protocol, number, cell, _lines: lines }) })
    }

    /// The value, if this is the last handle: no job can have it any more.
    pub fn into_value(self) -> Option<T> {
        Arc::into_inner(self.inner).map(|inner| inner.cell.into_inner())
    }
}

impl<T> Inner<'_, T> {
    fn all(&self) -> impl Iterator<Item = &User> {
        self.users.iter().map_while(OnceLock::get)
    }

    /// Whether tasks leave their cores while they wait.
    pub(crate) fn suspends(&self) -> bool {
        matches!(self.parties, Parties::Queued(_))
    }

    /// Adds a task.
    pub(crate) fn add(&self, brand: u64, task: u32, priority: u32) -> Result<(), LayoutError> {
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

    /// Where a holder stands among the boosted of its core: smaller runs first. `None`: by when it asks.
    pub(crate) fn rank(&self, user: &User) -> Option<u64> {
        let elsewhere = self.all().filter(|other| other.brand != user.brand);
        let most_urgent = elsewhere.map(|other| other.priority).max().unwrap_or(0);
        (self.protocol != Protocol::Fmlp).then(|| u64::from(u32::MAX - most_urgent))
    }

    /// How urgent it is among those that wait.
    pub(crate) fn urgency(&self, user: &User) -> u32 {
        if self.protocol == Protocol::Mpcp { user.priority } else { 0 }
    }
}

/// A party, as the executor uses it.
pub(crate) trait Asks {
    /// Asks; whether it has it at once.
    fn ask(&mut self, urgency: u32) -> bool;
    /// Waits until it has it: spins, or sleeps.
    fn have(&mut self);
    /// Lets go, and wakes who is next.
    fn let_go(&mut self);
}

impl Asks for spin::Party<'_> {
    fn ask(&mut self, _: u32) -> bool {
        self.request();
        self.granted().is_some()
    }

    fn have(&mut self) {
        while self.granted().is_none() {
            std::hint::spin_loop();
        }
    }

    fn let_go(&mut self) {
        self.leave();
    }
}

impl Asks for queued::Party<'_> {
    fn ask(&mut self, urgency: u32) -> bool {
        matches!(self.request(urgency), Request::Granted(_))
    }

    fn have(&mut self) {
        // Without an end to the patience it is not refused.
        while self.wait(taut_lock::Patience::Endless).is_err() {}
    }

    fn let_go(&mut self) {
        self.release();
    }
}
