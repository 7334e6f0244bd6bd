// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_analysis::multi::Guard;
use taut_time::Duration;

/// A shared object and what can be had for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// The resource that it is in the set, whose requests count where an offer has a guard.
    pub resource: usize,
    /// What can be had; 1 to 64. One alone is pinned.
    pub offers: Vec<Offer>,
}

/// A mechanism with its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// For people.
    pub name: String,
    /// Who waits for whom.
    pub guard: Guard,
    /// What comes to a job of these tasks, positions in the set, each once.
    pub added: Vec<(usize, Duration)>,
    /// What it takes.
    pub memory: Memory,
}

/// Bytes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// As many, whatever the timing.
    Fixed(u64),
    /// As many as timing asks for.
    Timed(Buffers),
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

impl Offer {
    /// What it adds to a job of a task, in ns.
    pub(super) fn adds(&self, task: usize) -> u64 {
        self.added.iter().find(|(whose, _)| *whose == task).map_or(0, |(_, time)| time.as_ns())
    }
}

/// The least that any of these offers adds, by task, in ns; tasks to which nothing comes are left out.
pub(super) fn least_added<'o>(mut offers: impl Iterator<Item = &'o Offer>) -> Vec<(usize, u64)> {
    let Some(first) = offers.next() else { return Vec::new() };
    let mut least: Vec<(usize, u64)> = first.added.iter().map(|(task, time)| (*task, time.as_ns())).collect();
    for offer in offers {
        least.iter_mut().for_each(|(task, time)| *time = offer.adds(*task).min(*time));
    }
    least.retain(|(_, time)| *time > 0);
    least
}
