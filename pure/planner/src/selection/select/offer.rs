// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;
use std::sync::Arc;

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;
use taut_time::Duration;

/// A shared object and its offers.
#[derive(Clone, Debug)]
pub struct ObjectOffers {
    /// Its name.
    pub name: String,
    /// Its resource in the set, whose requests count if an offer has a guard.
    pub resource: usize,
    /// Its offers, 1 to 64. A single offer is pinned.
    pub offers: Vec<Offer>,
}

/// A mechanism with its price.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The name, for people.
    pub name: String,
    /// How jobs wait for one another.
    pub guard: Guard,
    /// What it adds to a job of each of these tasks, by position in the set, each task once; `held` comes on top.
    pub added: Vec<(usize, Duration)>,
    /// How much longer each section on the object is than in the set, as its waiters see it: for example to wake the
    /// next waiter. It is added to the costs of the object's users as well, once per request.
    pub held: Duration,
    /// The memory that it takes.
    pub memory: OfferMemory,
}

/// Bytes of an object.
#[derive(Clone, Debug)]
pub enum OfferMemory {
    /// This many, whatever the timing.
    Fixed(u64),
    /// As many as the response times require.
    Timed(Buffers),
    /// As many as a [`Footprint`] says.
    Asked(Arc<dyn Footprint>),
}

/// Bytes that follow from response times.
pub trait Footprint: fmt::Debug + Send + Sync {
    /// Bytes, from R of each task, by position in the set; `None` if the offer is not available. When a response
    /// grows, the bytes never fall, and an offer that was not available stays so.
    ///
    /// # Errors
    /// [`Overflow`] if they do not fit in 64 bits.
    fn bytes(&self, responses: &[Duration]) -> Result<Option<u64>, Overflow>;
}

/// Buffers whose number depends on response times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Bytes besides buffers.
    pub fixed: u64,
    /// Bytes of a buffer.
    pub each: u64,
    /// The writer, by position in the set.
    pub writer: usize,
    /// The readers, by position in the set.
    pub readers: Vec<usize>,
    /// How the buffers are counted.
    pub count: BufferCount,
}

/// A count of buffers. A reader uses a value from its arrival to its completion at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferCount {
    /// By time alone: [`taut_analysis::wait_free::lifetime`].
    Lifetime,
    /// The least of all: [`taut_analysis::wait_free::smallest`].
    Smallest,
}

/// What a set carries for an object while any of some offers may still be taken: no more than each of them.
#[derive(Clone, Debug)]
pub(super) struct LeastLoad {
    pub(super) guard: Guard,
    pub(super) held: Duration,
    /// What is added to the costs of tasks, in ns.
    pub(super) added: Vec<(usize, u64)>,
}

impl LeastLoad {
    /// `requests` are those for the object: the task, and how many per job.
    pub(super) fn of(offer: &Offer, requests: &[(usize, u64)]) -> Self {
        let mut added: Vec<(usize, u64)> =
            offer.added.iter().map(|(task, time)| (*task, time.as_ns())).collect();
        for (task, count) in requests.iter().filter(|_| !offer.held.is_zero()) {
            // A time that does not fit makes the sum of all not fit.
            let held = count.saturating_mul(offer.held.as_ns());
            match added.iter_mut().find(|(whose, _)| whose == task) {
                Some((_, time)) => *time = time.saturating_add(held),
                None => added.push((*task, held)),
            }
        }
        added.retain(|(_, time)| *time > 0);
        added.sort_unstable();
        Self { guard: offer.guard, held: offer.held, added }
    }

    /// What it adds to a job of a task, in ns.
    fn adds(&self, task: usize) -> u64 {
        self.added.iter().find(|(whose, _)| *whose == task).map_or(0, |(_, time)| *time)
    }

    /// The meet of both: no more than either.
    pub(super) fn and(mut self, other: &Self) -> Self {
        if self.guard != other.guard {
            self.guard = Guard::Absent;
        }
        self.held = self.held.min(other.held);
        self.added.iter_mut().for_each(|(task, time)| *time = other.adds(*task).min(*time));
        self.added.retain(|(_, time)| *time > 0);
        self
    }

    /// Whether this makes no job wait that `other` does not, and makes no section and no job longer than `other`
    /// does.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        let waits = self.guard == other.guard || self.guard == Guard::Absent;
        let longer = self.added.iter().any(|(task, time)| *time > other.adds(*task));
        waits && self.held <= other.held && !longer
    }
}
