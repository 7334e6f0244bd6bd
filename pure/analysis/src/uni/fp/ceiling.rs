// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Blocking by local critical sections under a ceiling protocol, fixed priority, one core.
//!
//! ```text
//! Equation    B_i = max { w_lq : π_l < π_i ≤ ceiling(q) },  ceiling(q) = max { π_k : k uses q }
//! Symbols     [ns] B blocking, w_lq longest section of task l on resource q; π priority, larger = more urgent
//! Assumes     A1 the protocol is the priority ceiling protocol, immediate ceilings, or the stack resource policy
//!             A2 all users of q are on one core   A3 no self-suspension: a job is blocked once
//! Verdict     sufficient; a supremum: the section must have begun before the release
//! Cost        tasks · requests
//! Source      [Sha90] theorem 12; [Baker91] for the stack resource policy
//! ```
//!
//! It does not matter whether the task uses q itself: a section blocks every task above its own up to the ceiling.
//!
//! **Nested sections.** A section counts with the sections inside it, and a section inside another also counts by
//! itself, under its own resource's ceiling. So a task above the outer ceiling waits for the inner section only: it
//! preempts the rest of the outer one, and the protocol lets it lock what it needs.
//!
//! Resources that several cores use are left out: the analyses of their protocols cover them.

use taut_model::TaskSet;
use taut_time::Duration;

/// Which section blocks, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockingSection {
    /// The task that holds the resource, and the resource: positions in the set. `None` if nothing blocks.
    pub of: Option<(usize, usize)>,
    /// B.
    pub time: Duration,
}

/// The ceilings of a set's local resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceilings {
    of: Vec<Option<u32>>,
}

impl Ceilings {
    /// The ceilings of all resources of a set.
    pub fn of(set: &TaskSet) -> Self {
        let mut users: Vec<Option<(usize, u32)>> = vec![None; set.resources().len()];
        let mut local = vec![true; set.resources().len()];
        for (at, task) in set.tasks().iter().enumerate() {
            for request in set.requests(at) {
                let (core, highest) = users[request.resource].unwrap_or((task.core, task.priority));
                local[request.resource] &= core == task.core;
                users[request.resource] = Some((core, highest.max(task.priority)));
            }
        }
        let of = users.iter().zip(local).map(|(user, local)| user.filter(|_| local).map(|(_, p)| p));
        Self { of: of.collect() }
    }

    /// The priority of the most urgent user; `None` for a resource that no task uses, or tasks on several cores.
    pub fn ceiling(&self, resource: usize) -> Option<u32> {
        self.of.get(resource).copied().flatten()
    }

    /// B of a task of the same set: the longest section that blocks it; the first of equally long ones.
    pub fn blocking(&self, set: &TaskSet, task: usize) -> BlockingSection {
        let (core, priority) = (set.tasks()[task].core, set.tasks()[task].priority);
        let mut longest = BlockingSection::default();
        for lower in set.on_core(core).filter(|&l| set.tasks()[l].priority < priority) {
            for request in set.requests(lower) {
                let keeps_out = self.ceiling(request.resource).is_some_and(|ceiling| ceiling >= priority);
                if keeps_out && request.length > longest.time {
                    longest = BlockingSection { of: Some((lower, request.resource)), time: request.length };
                }
            }
        }
        longest
    }
}
