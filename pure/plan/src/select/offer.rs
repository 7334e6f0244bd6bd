// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;
use std::sync::Arc;

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;
use taut_time::Duration;

/// A shared object and what can be had for it.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// The resource that it is in the set, whose requests count where an offer has a guard.
    pub resource: usize,
    /// What can be had; 1 to 64. One alone is pinned.
    pub offers: Vec<Offer>,
}

/// A mechanism with its price.
#[derive(Clone, Debug)]
pub struct Offer {
    /// For people.
    pub name: String,
    /// Who waits for whom.
    pub guard: Guard,
    /// What comes to a job of these tasks, positions in the set, each once; besides `held`.
    pub added: Vec<(usize, Duration)>,
    /// By how much each section on the object is longer than in the set, while who waits for it waits: such as waking
    /// the next one up. It comes to the costs of the object's users as well, once per request.
    pub held: Duration,
    /// What it takes.
    pub memory: Memory,
}

/// Bytes of an object.
#[derive(Clone, Debug)]
pub enum Memory {
    /// As many, whatever the timing.
    Fixed(u64),
    /// As many as timing asks for.
    Timed(Buffers),
    /// As many as something else says.
    Asked(Arc<dyn Footprint>),
}

/// Bytes that follow from response times.
pub trait Footprint: fmt::Debug + Send + Sync {
    /// Bytes, from R of each task, by position in the set; `None` if it is not to be had. They never fall, and it is
    /// never to be had where it was not, when a response grows.
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
    /// Who writes: a position in the set.
    pub writer: usize,
    /// Who reads.
    pub readers: Vec<usize>,
    /// How they are counted.
    pub count: Count,
}

/// A count of buffers; a value is used from its reader's arrival to its completion at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// By time alone: [`taut_analysis::wait_free::lifetime`].
    Lifetime,
    /// The least of all: [`taut_analysis::wait_free::smallest`].
    Smallest,
}

/// What lies on a set while any of some offers of an object may still be taken: no more than each of them.
#[derive(Clone, Debug)]
pub(super) struct Meet {
    pub(super) guard: Guard,
    pub(super) held: Duration,
    /// What comes to the costs of tasks, in ns.
    pub(super) added: Vec<(usize, u64)>,
}

impl Meet {
    /// `requests` are those for the object: task and how many a job.
    pub(super) fn of(offer: &Offer, requests: &[(usize, u64)]) -> Self {
        let mut added: Vec<(usize, u64)> =
            offer.added.iter().map(|(task, time)| (*task, time.as_ns())).collect();
        for (task, count) in requests.iter().filter(|_| !offer.held.is_zero()) {
            // What does not fit makes the sum of all not fit.
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

    /// No more than this nor the other.
    pub(super) fn and(mut self, other: &Self) -> Self {
        if self.guard != other.guard {
            self.guard = Guard::Absent;
        }
        self.held = self.held.min(other.held);
        self.added.iter_mut().for_each(|(task, time)| *time = other.adds(*task).min(*time));
        self.added.retain(|(_, time)| *time > 0);
        self
    }

    /// Whether nobody waits for this who does not wait for the other, no section is longer and no job takes longer.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        let waits = self.guard == other.guard || self.guard == Guard::Absent;
        let longer = self.added.iter().any(|(task, time)| *time > other.adds(*task));
        waits && self.held <= other.held && !longer
    }
}
