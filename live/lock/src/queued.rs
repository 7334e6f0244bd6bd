// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A lock that is slept for, by priority, and among equals first come, first served: for long sections between cores.
//!
//! # Use
//!
//! MPCP; with one priority for all, the long resources of FMLP. A party is a task, or any thread: it asks for itself
//! alone, one request at a time. Asking, waiting and letting go are separate steps, so that an executor can do between
//! them what is its own: to raise who waits before it sleeps and who holds to its ceiling, and to ask its core's rule
//! before it goes on. Plain threads do without. For short sections: [`spin`](crate::spin).
//!
//! ```
//! use taut_lock::{Entry, Line, Memory, Patience, queued};
//!
//! let mut lines = [const { Line::new() }; queued::bytes(2) / size_of::<Line>()];
//! let mut tasks = queued::group(Memory::new(&mut lines), 2)?;
//! let (mut first, mut second) = (tasks.next().unwrap(), tasks.next().unwrap());
//! assert_eq!(first.request(3), queued::Request::Granted(Entry::Clean));
//! assert_eq!(second.request(7), queued::Request::Waits);
//! assert_eq!(first.release(), Some(1));
//! assert_eq!(second.wait(Patience::Endless), Ok(Entry::Clean));
//! assert_eq!(second.release(), None);
//! # Ok::<(), taut_lock::LayoutError>(())
//! ```
//!
//! With what it protects: [`Queued`](crate::Queued).
//!
//! # Callers
//!
//! Each party by itself, all at any time.
//!
//! # Progress
//!
//! N parties.
//!
//! | operation  | bound                                                                                              |
//! |------------|----------------------------------------------------------------------------------------------------|
//! | `request`  | 1 load, 1 exchange if it is free; else 3 to 6 exchanges, 2 stores and what `granted` takes          |
//! | `granted`  | 1 load; 1 store more when it is; if nobody has it, or a dead one, what `release` takes more         |
//! | `wait`     | sleeps until granted, or until the patience ends; between processes wakes after each [`TICK_NS`] and looks |
//! | `release`  | 1 load, 1 exchange if nobody waits; else 2 N + 1 loads, 3 or 4 exchanges, and one futex wake if who is next sleeps; again for each that withdraws meanwhile. Between processes 2 loads more for each that waits |
//! | `withdraw` | 1 load, 1 exchange                                                                                  |
//!
//! Who is next waits for no other section than those of more urgent ones, of equals that came before, and of the one that
//! has it: each exchange hands over directly, and none overtakes.
//!
//! After a death of who has it, or is to be handed it: one who waits is there within a [`TICK_NS`], and the time that the
//! kernel takes to end the process.
//!
//! # State
//!
//! ```text
//! byte 0              holder: bits 0..=7   the party that has it, from 1; 0: nobody
//!                             bits 8..=15  the party that died inside, of which nobody has been told, from 1; 0: none
//!                             bit  16      others wait, or may
//!                             bits 17..    number of changes
//! byte 8              the last ticket
//! byte 64             of a value of this process: the party that left it half changed, from 1; 0: it is whole
//! byte 128 · (1 + p)  state of party p: 0 out | 1 waits | 3 is next; bits 2..=55 its ticket; bits 56.. who wrote it
//! byte 8 behind it    its seat: see `life`
//! byte 16             its priority, while it waits
//! byte 24             its gate: bit 0: it sleeps, or is about to; the others: how often it was rung
//! ```
//!
//! # Invariants
//!
//! - I1 The holder's party is changed from nobody or a dead one by an exchange of the whole word, else by itself alone.
//! - I2 Who holds is the only one to make others next; so one that is not next can go without being handed the lock.
//! - I3 Whoever waits has set the bit of others, and counted a change, after it said so: who lets go without a look has found
//!   neither.
//! - I4 A holder that is out is inside; one that still waits has not yet entered.
//!
//! # Orderings
//!
//! - O1 hold: Release of the exchanges by which a holder lets go ↔ Acquire of the loads and exchanges by which the next one
//!   finds itself the holder.
//! - O2 wait: Release of the store that says that a party waits, and of the exchange of the holder that counts it ↔ Acquire of the
//!   loads of who lets go, behind its own exchange or load of the holder.
//! - O3 ring: AcqRel of the exchange of a gate behind that of the holder ↔ AcqRel of who is about to sleep, before it looks
//!   once more.
//! - O4 mark: SeqCst fence of the compiler between the store that says out and what is done inside ↔ Acquire of the load that
//!   looks at the state of a dead holder.
//!
//! # Proof
//!
//! One word says who holds, so there is one (I1). A holder that finds nobody waiting lets go by an exchange that fails if
//! anybody has counted a change since it looked at the word, and it looks at the states after that (I3): so none is
//! left asleep behind a free lock. One that comes when it is free takes it, unless the bit of others says that somebody
//! may have come before: then whoever finds it free takes it on behalf of all, looks for the best, and hands over as if
//! it had held. A bit that is taken away while a party is between setting it and counting was taken away by one that had
//! looked before the party said that it waits: it comes once, and the party sees it in what it counts, and does it again.
//!
//! Handing over: the holder makes the best one next, by an exchange of its state that fails if it withdraws (I2); makes it the
//! holder; and rings. Who waits says that it is about to sleep, looks once more, and sleeps on the gate as it was then; so
//! it has seen the ring, or is rung for (O3).
//!
//! A dead holder: any that waits takes the holder's place by an exchange of the word that it looked at before it found the
//! party dead, so of several one does, and none after another has come back as that party, for that counts a change.
//! Whether the dead one was inside is in its own state (I4).
//!
//! # Crash
//!
//! | who dies, where                       | what the others see          | what goes on                                      |
//! |---------------------------------------|------------------------------|---------------------------------------------------|
//! | asking, waiting                       | that it is gone, if it would be next | the others, as if it had not asked         |
//! | next, or holder and not yet inside    | a dead holder, which waits   | one who waits takes its place and hands over       |
//! | inside, up to the exchange of `release` | a dead holder, which is out | the same; and the next one inside is told [`Entry::OwnerDied`](crate::Entry::OwnerDied) |
//! | having handed over, before it rings   | nothing: the next one sleeps | between processes it looks within a [`TICK_NS`]     |
//! | taking a dead one's place             | a dead holder, which waits   | the next one                                      |
//!
//! A death while giving on what one's predecessor left may be told as if that one had been inside.
//!
//! A hostile party can, by its own line, make others wait while it is handed the lock, as if it used it. By the holder's
//! word it can let two in. The others stay inside of the memory in any case, and go on when their patience ends.
//!
//! # Source
//!
//! MPCP [Rajkumar 1990], suspended [Lakshmanan 2009]; FMLP [Block 2007]. The word with a bit of others is that of futex
//! mutexes [Drepper 2011, section 5]; the gate is the bell of this crate.
//!
//! # Checked
//!
//! - here: order, patience, withdrawal, seats
//! - `tests/loom_queued.rs`: every execution of 2 and 3 parties, asleep too, with deaths; a release that does not heed who
//!   came meanwhile fails
//! - `tests/shuttle.rs`, `tests/stress.rs`: longer runs, of threads also under the thread sanitizer
//! - `tests/steps.rs`: the bounds above; `tests/deaths.rs`: a death at each step; `tests/hostile.rs`: a process scribbles
//! - `tests/kills.rs`: processes killed at any moment; `tests/conformance.rs`: the order of `taut_policy::Mpcp` and `FmlpLong`
//! - `benches/hand_over.rs`: what it costs, beside a futex's wake
//!
//! `tests/loom_queued.rs`, bound 2 and asleep: 2 parties twice each, 12 912 executions; 3 parties, 17 633; a death at each of
//! three places with a successor, 367 to 2 092.
//!
//! Not covered: 2⁴⁷ changes between two steps; sleeping parties that die, in a model, where they look again and again.

mod object;
mod party;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod word;

use std::ops::Range;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::{AtomicU64, Memory};

use crate::global::{LayoutError, POISON, lines};
use crate::life::{Alive, Lives};
use object::Object;

pub use party::{Party, Request, Withdrawn};

/// How long one who waits sleeps at most before it looks whether the holder lives, where that can die.
pub const TICK_NS: u64 = 1_000_000;

/// Bytes that a lock of so many parties needs.
pub const fn bytes(parties: u32) -> usize {
    lines(parties)
}

/// All parties of a lock of this process; what was on the memory is forgotten.
///
/// # Errors
///
/// [`LayoutError::Parties`], [`LayoutError::TooSmall`].
pub fn group(memory: Memory<'_>, parties: u32) -> Result<Parties<'_>, LayoutError> {
    let memory = memory.claim();
    let object = Object::new(&memory, parties, None)?;
    object.holder.store(0, Relaxed);
    (0..parties).for_each(|party| object.state(party).store(0, Relaxed));
    let poison = memory.word(POISON);
    poison.store(0, Relaxed);
    Ok(Parties { object, poison, next: 0 })
}

/// Party `which` of a lock between processes, which nobody else may be: it is free, or whoever was it last is dead; what
/// that one held is given on. The memory is zero, or has been used for this lock before; `alive` is this process among these
/// `lives`.
///
/// # Errors
///
/// [`LayoutError::Parties`], [`LayoutError::TooSmall`]; [`LayoutError::Taken`], also if the lock was just being handed to
/// the one before, and that does not come to an end.
pub fn party<'m>(
    memory: Memory<'m>,
    parties: u32,
    which: u32,
    lives: Lives<'m>,
    alive: &'m Alive,
) -> Result<Party<'m>, LayoutError> {
    let memory = memory.claim();
    Party::take_slot(Object::new(&memory, parties, Some(lives))?, which, alive)
}

/// Several parties of a lock between processes, as [`party`], of one process: those that have this number from the first
/// on, each by itself.
///
/// # Errors
///
/// As [`party`].
pub fn slots<'m>(
    memory: Memory<'m>,
    parties: u32,
    which: Range<u32>,
    lives: Lives<'m>,
    alive: &'m Alive,
) -> Result<impl Iterator<Item = Result<Party<'m>, LayoutError>>, LayoutError> {
    let memory = memory.claim();
    let object = Object::new(&memory, parties, Some(lives))?;
    Ok(which.map(move |which| Party::take_slot(object, which, alive)))
}

/// The parties, each once.
pub struct Parties<'m> {
    object: Object<'m>,
    /// Of the value that they guard.
    #[cfg_attr(any(loom, shuttle), expect(dead_code, reason = "a model guards nothing"))]
    pub(crate) poison: &'m AtomicU64,
    next: u32,
}

impl<'m> Iterator for Parties<'m> {
    type Item = Party<'m>;

    fn next(&mut self) -> Option<Self::Item> {
        let which = self.next;
        ((which as usize) < self.object.states.count()).then(|| {
            self.next += 1;
            Party::only(self.object, which)
        })
    }
}
