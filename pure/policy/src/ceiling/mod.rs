// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks under fixed priority: the priority ceiling protocol, as published and in its immediate form.
//!
//! A resource's **ceiling** is the largest priority of the tasks that use it. Both forms let a job wait for at most one
//! section of a less urgent task and cannot deadlock; the immediate one lets it wait before it starts, the original one
//! when it asks for a lock.

mod immediate;
mod original;

pub use immediate::Immediate;
pub use original::Original;

use crate::Misuse;
use crate::queue::ReadyQueue;

/// The priority from which ranks of priorities and of ceilings count: of a queue that takes any the largest that there is,
/// so that each may be changed to it; else the largest of those given.
fn ranks<Q: ReadyQueue>(ready: &Q, priorities: &[u32], ceilings: &[u32]) -> Result<u32, Misuse> {
    if ready.ranks() > u32::MAX.into() {
        return Ok(u32::MAX);
    }
    let all = || priorities.iter().chain(ceilings).copied();
    let top = all().max().unwrap_or(0);
    let fits = all().all(|priority| u64::from(top - priority) < ready.ranks());
    if fits { Ok(top) } else { Err(Misuse::Rank) }
}
