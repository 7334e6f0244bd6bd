// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A suspension-based lock between cores, for long sections: waiters sleep, the most urgent goes first, and equals
//! go first come, first served.
//!
//! # Use
//! For MPCP; with one priority for all, for the long resources of FMLP. A party is a task, or any thread: it requests
//! the lock for itself alone, one request at a time. Request, wait and release are separate steps, so that an executor
//! can do its own work between them: raise the waiter before it sleeps, raise the holder to its ceiling, and ask the
//! rule of its core before the task goes on. Plain threads do none of this. For short sections: [`spin`](crate::spin).
//!
//! Together with the value that it protects: [`Queued`](crate::Queued).
//!
//! # Callers
//! One thread at a time for each party; different parties at any time.
//!
//! # Progress
//! N parties.
//!
//! | operation | bound |
//! |---|---|
//! | `request` | 1 load, 1 exchange if the lock is free; else 3 to 6 exchanges, 2 stores and what `granted` takes |
//! | `granted` | 1 load; 1 store more if granted; if no living party holds the lock, also the steps of `release` |
//! | `wait` | sleeps until granted or out of patience; between processes wakes after each [`TICK_NS`] and checks |
//! | `release` | 1 load, 1 exchange if no party waits; else 2 N + 1 loads, 3 or 4 exchanges, and one futex wake if the next party sleeps; again for each party that withdraws meanwhile. Between processes 2 loads more for each waiter |
//! | `withdraw` | 1 load, 1 exchange |
//!
//! A waiter waits only for the sections of more urgent parties, of equals that came before it, and of the holder: each
//! exchange hands the lock over directly, and no party overtakes.
//!
//! If the holder dies, or the party to which the lock is being handed over, a waiter takes over within one
//! [`TICK_NS`], plus the time that the kernel takes to end the process.
//!
//! # Orderings
//! - O1 hold: Release of the exchanges by which a holder releases ↔ Acquire of the loads and exchanges by which the
//!   next party finds itself the holder.
//! - O2 wait: Release of the store that declares that a party waits, and of the exchange of the holder word that
//!   counts it ↔ Acquire of the loads of the releasing party, after its own exchange or load of the holder word.
//! - O3 ring: AcqRel of the exchange of a notification word after that of the holder word ↔ AcqRel of the exchange
//!   by the party that is about to sleep, before it checks once more.
//! - O4 mark: SeqCst fence of the compiler between the store that declares a party out and what it does inside ↔
//!   Acquire of the load that reads the state of a dead holder.
//!
//! # Crash
//! | who dies, where | what the others see | what goes on |
//! |---|---|---|
//! | requesting, waiting | that it is gone, if it would be next | the others, as if it had not requested |
//! | next, or holder and not yet inside | a dead holder, which waits | a waiter takes its place and hands over |
//! | inside, up to the exchange of `release` | a dead holder, which is out | the same; and the next party inside gets [`AcquiredState::OwnerDied`](crate::AcquiredState::OwnerDied) |
//! | having handed over, before it notifies | nothing: the next party sleeps | between processes that party checks within a [`TICK_NS`] |
//! | taking a dead party's place | a dead holder, which waits | the next waiter |
//!
//! If a successor dies while it hands over the lock of its predecessor, the lock may report this death as if the
//! successor had been inside.
//!
//! # Source
//! MPCP [Rajkumar 1990], suspended [Lakshmanan 2009]; FMLP [Block 2007]. The word with an others bit is that of
//! futex mutexes [Drepper 2011, section 5]; the notification word is the event count of this crate.

mod object;
mod party;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod word;

use std::ops::Range;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::{AtomicU64, Memory};

use crate::global::{LockLayoutError, POISON, lines};
use crate::life::{Alive, Lives};
use object::Object;

pub use party::{Party, RequestOutcome, Withdrawn};

// # State
//
// ```text
// byte 0              holder: bits 0..=7   the party that holds the lock, plus 1; 0: none
//                             bits 8..=15  the party that died inside and is not reported yet, plus 1; 0: none
//                             bit  16      others: other parties wait, or may wait
//                             bits 17..    number of changes
// byte 8              the last ticket
// byte 64             for a value of this process: the party that left it half changed, plus 1; 0: it is whole
// byte 128 · (1 + p)  state of party p: 0 out | 1 waits | 3 is next; bits 2..=55 its ticket; bits 56.. its generation
// + 8                 its party slot: see `life`
// + 16                its priority, while it waits
// + 24                its notification word: bit 0: it sleeps, or is about to; other bits: number of notifications
// ```
//
// # Invariants
//
// - I1 While nobody or a dead party holds the lock, the party in the holder word changes by an exchange of the whole
//   word; otherwise only the holder itself changes it.
// - I2 Only the holder makes another party next; so a party that is not next can withdraw without being handed the
//   lock.
// - I3 A waiter has set the others bit and counted a change after it declared that it waits; a holder that releases
//   without a scan of the states has found neither.
// - I4 A holder whose state is out is inside; a holder that still waits has not yet entered.

/// The longest sleep of a waiter before it checks whether the holder is alive, where holders can die. In
/// nanoseconds.
pub const TICK_NS: u64 = 1_000_000;

/// The bytes that a lock of this number of parties needs.
pub const fn bytes(parties: u32) -> usize {
    lines(parties)
}

/// All parties of a lock of this process. The call ignores the earlier contents of the memory.
///
/// ```
/// use taut_lock::{AcquiredState, Line, Memory, Patience, queued};
///
/// let mut lines = [const { Line::new() }; queued::bytes(2) / size_of::<Line>()];
/// let mut tasks = queued::group(Memory::new(&mut lines), 2)?;
/// let (mut first, mut second) = (tasks.next().unwrap(), tasks.next().unwrap());
/// assert_eq!(first.request(3), queued::RequestOutcome::Granted(AcquiredState::Clean));
/// assert_eq!(second.request(7), queued::RequestOutcome::Waits);
/// assert_eq!(first.release(), Some(1));
/// assert_eq!(second.wait(Patience::Endless), Ok(AcquiredState::Clean));
/// assert_eq!(second.release(), None);
/// # Ok::<(), taut_lock::LockLayoutError>(())
/// ```
///
/// # Errors
///
/// [`LockLayoutError::Parties`], [`LockLayoutError::TooSmall`].
pub fn group(memory: Memory<'_>, parties: u32) -> Result<Parties<'_>, LockLayoutError> {
    let memory = memory.claim();
    let object = Object::new(&memory, parties, None)?;
    object.holder.store(0, Relaxed);
    (0..parties).for_each(|party| object.state(party).store(0, Relaxed));
    let poison = memory.word(POISON);
    poison.store(0, Relaxed);
    Ok(Parties { object, poison, next: 0 })
}

/// Party `which` of a lock between processes. The party must be free, or its last owner dead; if that owner died with
/// the lock, the call hands the lock over. The memory is zero, or has been used for this lock before; `alive` is this
/// process among these `lives`.
///
/// # Errors
///
/// [`LockLayoutError::Parties`], [`LockLayoutError::TooSmall`]; [`LockLayoutError::Taken`], also if the lock was just
/// being handed over to the last owner, and that hand-over does not end.
pub fn party<'m>(
    memory: Memory<'m>,
    parties: u32,
    which: u32,
    lives: Lives<'m>,
    alive: &'m Alive,
) -> Result<Party<'m>, LockLayoutError> {
    let memory = memory.claim();
    Party::take_slot(Object::new(&memory, parties, Some(lives))?, which, alive)
}

/// Several parties of a lock between processes for one process: for each number of the range, what [`party()`]
/// returns.
///
/// # Errors
///
/// As [`party()`].
pub fn slots<'m>(
    memory: Memory<'m>,
    parties: u32,
    which: Range<u32>,
    lives: Lives<'m>,
    alive: &'m Alive,
) -> Result<impl Iterator<Item = Result<Party<'m>, LockLayoutError>>, LockLayoutError> {
    let memory = memory.claim();
    let object = Object::new(&memory, parties, Some(lives))?;
    Ok(which.map(move |which| Party::take_slot(object, which, alive)))
}

/// The parties of a lock, each once.
pub struct Parties<'m> {
    object: Object<'m>,
    /// The poison word of the value that they guard.
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

// # Checked
//
// - here: order, patience, withdrawal, slots
// - `tests/loom_queued.rs`: every execution of 2 and 3 parties, asleep too, with deaths; a release that ignores the
//   parties that came meanwhile fails
// - `tests/shuttle.rs`, `tests/stress.rs`: longer runs, of threads also under the thread sanitizer
// - `tests/steps.rs`: the bounds above; `tests/deaths.rs`: a death at each step; `tests/hostile.rs`: a process that
//   writes random words
// - `tests/kills.rs`: processes killed at any moment; `tests/conformance.rs`: the order of `taut_policy::Mpcp` and
//   `FmlpLong`
// - `benches/hand_over.rs`: the cost, beside that of a futex wake
//
// `tests/loom_queued.rs`, bound 2 and asleep: 2 parties twice each, 12 912 executions; 3 parties, 17 633; a death at
// each of three places with a successor, 367 to 2 092.
//
// Not covered: 2⁴⁷ changes between two steps; sleeping parties that die, in a model, where they check again and again.
