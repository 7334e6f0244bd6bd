// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks under fixed priority: the priority ceiling protocol, as published and in its immediate form.
//!
//! A resource's **ceiling** is the largest priority of the tasks that use it. Both forms let a job wait for at most
//! one section of a less urgent task and cannot deadlock. Under the immediate form the job waits before it starts,
//! under the original form when it asks for a lock.

mod immediate;
mod original;

pub use immediate::Immediate;
pub use original::Original;

use crate::Misuse;
use crate::queue::ReadyQueue;

/// The priority that has rank 0. If the queue takes any rank, this is the largest representable priority, so that a
/// later change can set any priority; otherwise it is the largest of those given.
fn ranks<Q: ReadyQueue>(ready: &Q, priorities: &[u32], ceilings: &[u32]) -> Result<u32, Misuse> {
    if ready.ranks() > u32::MAX.into() {
        return Ok(u32::MAX);
    }
    let all = || priorities.iter().chain(ceilings).copied();
    let top = all().max().unwrap_or(0);
    let fits = all().all(|priority| u64::from(top - priority) < ready.ranks());
    if fits { Ok(top) } else { Err(Misuse::Rank) }
}
