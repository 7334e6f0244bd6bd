// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources that jobs of several processes use, and that outlive each of them.

use std::fmt;
use std::ops::Range;

use taut_lock::life::{Alive, Lives};
use taut_lock::{LayoutError, Memory, Place, Plain, queued, spin};

use crate::global::{Global, Parties, PartyCell, Protocol, Value};
use crate::setup::Setup;

/// What a process is among those that use a resource.
#[derive(Clone)]
pub struct Between<'m> {
    /// Parties of all processes together: the same number for each of them, at most [`taut_lock::PARTIES_LIMIT`].
    pub parties: u32,
    /// Those that this process is, and no other one: as many as its cores use the resource, with [`Protocol::Msrp`], or as
    /// its tasks do.
    pub slots: Range<u32>,
    /// The largest priority among the users in other processes: the ceiling of [`Protocol::Mpcp`] counts with it. Priorities
    /// of all processes are on one scale.
    pub priority_elsewhere: u32,
    /// Who lives, of all processes that use it.
    pub lives: Lives<'m>,
    /// That this process does, among these.
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
    /// A resource that tasks of several processes share, each with its own executor, on memory that all of them map:
    /// [`taut_lock::shared_bytes`] for this value and number of parties. The value is in that memory, zeros at first.
    ///
    /// *When a process is killed*, at any step of any of its jobs, the others go on. N parties; times count from when the
    /// kernel has ended all threads of the process.
    ///
    /// | it was | who spins | who sleeps |
    /// |---|---|---|
    /// | waiting, asking | passes it within 32 looks | is not held up: it is passed by who lets go |
    /// | holding, boosted or not | has it within 32 looks | has it, or is next, within a [`taut_lock::queued::TICK_NS`] |
    /// | letting go, next | the same | the same |
    ///
    /// A look is N − 1 loads; for each party that died 3 loads, 2 exchanges, and one call that has all processors take an
    /// interrupt. Who asks when the holder is dead already, and nobody else wants it, has it after 40 · N steps spinning, and
    /// 6 · N + 32 asleep; `tests/deaths.rs`, with 3 parties, saw 50 and 28. Waits for others' sections come on top, as the protocols'
    /// analyses count them.
    ///
    /// The next one is told, and all after it until one repairs the value: see [`Job::recover_global`](crate::Job::recover_global).
    ///
    /// *Needs*: no CPU is used by cores of two of the processes, for who spins there would keep out whom it waits for.
    /// [`Setup::run`] refuses a strict core whose CPU is that of another one's among all that have a place in `between.lives`
    /// ([`SetupError::CpuElsewhere`](crate::SetupError::CpuElsewhere)), until that one stops, or dies. Loose cores are not pinned,
    /// and may be. Who waits asleep looks once in each tick, which counts as interference of its core, at a priority above its
    /// jobs.
    ///
    /// # Errors
    /// [`LayoutError`] if there is no room, or if a seat is that of a process that lives.
    ///
    /// # Safety
    /// What stands on the memory is such a lock and value, of this protocol, number of parties and `T`, or zeros; all processes
    /// that can write there keep to it; and `between.alive` is of `between.lives`.
    pub unsafe fn global_between<'m, T: Plain>(
        &mut self,
        protocol: Protocol,
        memory: Memory<'m>,
        between: Between<'m>,
    ) -> Result<Global<'m, T>, LayoutError> {
        let Between { parties, slots, priority_elsewhere, lives, alive } = between;
        let first_slot = slots.start;
        let (lock, place) = Place::cut(memory, parties)?;
        let parties = match protocol {
            Protocol::Msrp => {
                let made = spin::slots(lock, parties, slots, lives, alive)?;
                Parties::Spin(made.map(|party| party.map(PartyCell::new)).collect::<Result<_, _>>()?)
            }
            Protocol::Mpcp | Protocol::Fmlp => {
                let made = queued::slots(lock, parties, slots, lives, alive)?;
                Parties::Queued(made.map(|party| party.map(PartyCell::new)).collect::<Result<_, _>>()?)
            }
        };
        let number = self.next_resource();
        let value = Value::Between { place, first_slot, priority_elsewhere, lives, alive };
        Ok(Global::made(protocol, parties, number, value, None))
    }
}
