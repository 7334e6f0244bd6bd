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

/// Ranks of priorities and of ceilings, counted from the largest of both.
fn ranks<Q: ReadyQueue>(ready: &Q, priorities: &[u32], ceilings: &[u32]) -> Result<u32, Misuse> {
    let all = || priorities.iter().chain(ceilings).copied();
    let top = all().max().unwrap_or(0);
    let fits = all().all(|priority| u64::from(top - priority) < ready.ranks());
    if fits { Ok(top) } else { Err(Misuse::Rank) }
}
