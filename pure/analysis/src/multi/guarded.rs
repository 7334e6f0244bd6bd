// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_model::TaskSet;
use taut_time::Duration;

use super::contention::Contention;
use crate::{Assumption, Overflow};

/// What guards a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// Nothing: the resource is wait-free, so its users never wait for one another.
    Absent,
    /// MSRP: a waiter spins. A resource of one core has a ceiling instead.
    Spinning,
    /// MPCP: a waiter suspends. A resource of one core has a ceiling instead.
    Suspending,
}

/// A set for searches: a caller changes the guards of resources and the costs of tasks and analyses the set again and
/// again, without laying it out anew. For [`super::mixed`] and [`super::unsound::mixed_han14`].
#[derive(Clone)]
pub struct GuardedSet {
    pub(crate) contention: Contention,
    ceilings: Vec<Option<u32>>,
    guards: Vec<Guard>,
    /// Per resource, by how much its sections are longer than in the set.
    longer: Vec<u64>,
}

impl core::fmt::Debug for GuardedSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("GuardedSet").field("guards", &self.guards).finish_non_exhaustive()
    }
}

impl GuardedSet {
    /// Lays out a set; every resource is [`Guard::Spinning`]. The inner error names the assumption that does not
    /// hold: fixed priorities, D ≤ T.
    ///
    /// # Errors
    /// [`Overflow`] if times do not fit in 64 bits.
    pub fn new(set: &TaskSet) -> Result<Result<Self, Assumption>, Overflow> {
        Ok(Contention::new(set)?.map(|contention| Self {
            ceilings: contention.ceilings.clone(),
            guards: vec![Guard::Spinning; contention.resources],
            longer: vec![0; contention.resources],
            contention,
        }))
    }

    /// The guard of each resource.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Changes the guard of a resource, given by its position.
    pub fn guard(&mut self, resource: usize, by: Guard) {
        self.guards[resource] = by;
        self.contention.ceilings[resource] = match by {
            Guard::Absent => None,
            Guard::Spinning | Guard::Suspending => self.ceilings[resource],
        };
    }

    /// Makes each section on a resource, given by its position, longer than in the set, by `by` in all. The caller
    /// must change the costs of the resource's users, which include the sections.
    ///
    /// # Errors
    /// [`Overflow`] if a time does not fit in 64 bits; nothing has changed then.
    pub fn lengthen(&mut self, resource: usize, by: Duration) -> Result<(), Overflow> {
        let before = std::mem::replace(&mut self.longer[resource], by.as_ns());
        let done = self.contention.lengthen(resource, before, by.as_ns());
        if done.is_err() {
            self.longer[resource] = before;
        }
        done
    }

    /// Changes C of a task, given by its position. C must include the task's guarded sections.
    pub fn cost(&mut self, task: usize, cost: Duration) {
        self.contention.tasks[task].cost = cost.as_ns();
    }

    /// The priority of the most urgent user of a local resource, whatever guards the resource.
    pub(crate) fn ceiling(&self, resource: usize) -> Option<u32> {
        self.ceilings[resource]
    }

    /// By how much sections on a resource are longer than in the set.
    pub(crate) fn longer(&self, resource: usize) -> u64 {
        self.longer[resource]
    }

    pub(crate) fn is(&self, resource: usize, guard: Guard) -> bool {
        self.guards[resource] == guard
    }

    pub(crate) fn suspending(&self) -> Vec<bool> {
        self.guards.iter().map(|guard| *guard == Guard::Suspending).collect()
    }
}
