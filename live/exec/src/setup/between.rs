// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources that jobs of several processes use, and that outlive each of them.

use std::fmt;
use std::ops::Range;

use taut_lock::life::{Alive, Lives};
use taut_lock::{LockLayoutError, Memory, Plain, SharedValue};
use taut_policy::GlobalRule;

use crate::locks::global::{GlobalResource, Parties, Value};
use crate::setup::Setup;

/// The role of this process among those that use a resource.
#[derive(Clone)]
pub struct Between<'m> {
    /// Parties of all processes together: the same number for each of them, at most [`taut_lock::PARTIES_LIMIT`].
    pub parties: u32,
    /// The parties of this process, which no other process has. One per core of this process that uses the resource
    /// if waiters spin ([`GlobalRule::waiting`]), else one per task that uses it.
    pub slots: Range<u32>,
    /// The largest priority among the users in other processes: a ceiling includes it. The priorities of all processes
    /// are on one scale.
    pub priority_elsewhere: u32,
    /// The liveness of all processes that use the resource.
    pub lives: Lives<'m>,
    /// The liveness of this process, among these.
    pub alive: &'m Alive,
}

impl fmt::Debug for Between<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parties, slots, priority_elsewhere, .. } = self;
        let mut to = f.debug_struct("Between");
        to.field("parties", parties).field("slots", slots).field("priority_elsewhere", priority_elsewhere);
        to.finish_non_exhaustive()
    }
}

impl Setup<'_> {
    /// A resource that tasks of several processes share, each process with its own executor. It lies in memory that
    /// all of them map: [`taut_lock::shared_bytes`] for this value and number of parties. The value is in that
    /// memory, zeros at first.
    ///
    /// *When a process is killed*, at any step of any of its jobs, the others go on. N is the number of parties;
    /// times count from when the kernel has ended all threads of the process.
    ///
    /// | the process was | a spinning job | a sleeping job |
    /// |---|---|---|
    /// | waiting, asking | passes the dead party within 32 looks | is not held up: the release passes the dead party |
    /// | holding, also boosted | gets it within 32 looks | gets it, or is next, within [`taut_lock::queued::TICK_NS`] |
    /// | releasing, next | the same | the same |
    ///
    /// A look is N − 1 loads; for each party that died, 3 loads, 2 exchanges, and one call that makes all processors
    /// take an interrupt. A job that asks after the holder died, with no other job asking, gets the lock after 40 · N
    /// steps spinning, and 6 · N + 32 asleep; `tests/deaths.rs`, with 3 parties, saw 50 and 28. Waits for the
    /// sections of others come on top, as the protocols' analyses count them.
    ///
    /// The next holder learns of the death, and so does each one after it until a job repairs the value: see
    /// [`Job::recover_global`](crate::Job::recover_global).
    ///
    /// *Needs*: no CPU is used by cores of two of the processes, because a job that spins there would keep out the
    /// job that it waits for. [`Setup::run`] refuses a strict core whose CPU another strict core has, among all that
    /// have a place in `between.lives` ([`SetupError::CpuElsewhere`](crate::SetupError::CpuElsewhere)), until that
    /// core's executor stops, or its process dies. Loose cores are not pinned, and may share a CPU. A job that waits
    /// asleep looks once in each tick. That counts as interference on its core, at a priority above its jobs.
    ///
    /// # Errors
    /// [`LockLayoutError`] if there is no room, or if one of the `slots` belongs to a live process.
    ///
    /// # Safety
    /// The memory holds such a lock and value, of this protocol, number of parties and `T`, or zeros. All processes
    /// that can write there keep to it. `between.alive` is of `between.lives`.
    pub unsafe fn global_between<'m, T: Plain>(
        &mut self,
        protocol: GlobalRule,
        memory: Memory<'m>,
        between: Between<'m>,
    ) -> Result<GlobalResource<'m, T>, LockLayoutError> {
        let Between { parties, slots, priority_elsewhere, lives, alive } = between;
        let first_slot = slots.start;
        let (lock, place) = SharedValue::cut(memory, parties)?;
        let parties = Parties::slots(protocol.waiting(), lock, parties, slots, (lives, alive))?;
        let number = self.next_resource();
        let value = Value::Between { place, first_slot, priority_elsewhere, lives, alive };
        Ok(GlobalResource::made(protocol, parties, number, value, None))
    }
}
