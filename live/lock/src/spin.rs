// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A spin lock between cores, first come, first served: for short sections.
//!
//! # Use
//! For MSRP, and for the short resources of FMLP. A party must not be preempted from its request until it releases.
//! The caller ensures that: an executor does; ordinary threads do not, and there a preempted holder makes all
//! others wait. A party is a core, or a core of one process: it requests the lock for itself alone, one request at
//! a time. Where sections are long, or more threads than cores want one lock: [`queued`](crate::queued).
//!
//! Together with the value that it protects: [`Spin`](crate::Spin).
//!
//! # Callers
//! One thread at a time for each party; different parties at any time.
//!
//! # Progress
//! N parties.
//!
//! | operation | bound |
//! |---|---|
//! | `request` | 2 stores, 1 exchange |
//! | `granted` | N − 1 loads, the first time; later 1 for each party that goes before; 1 store if granted |
//! | `enter` | both; waits for at most 1 section of each other party; then 1 transfer of the releaser's line, and 1 store |
//! | `is_undecided` | N − 1 loads |
//! | `leave`, `withdraw` | 1 store |
//! | all | the first time after the party's last owner died inside: exchanges instead of stores |
//!
//! After each death of a party, the next party inside clears its word, with 2 exchanges at most. A waiter checks at
//! every 32nd look whether the parties before it are alive. The others wait for a party that stops between two
//! steps but is alive.
//!
//! # Orderings
//! - O1 draw: AcqRel of the exchange that draws a ticket, after the store that declares it ↔ AcqRel of the exchange
//!   that draws a later one.
//! - O2 pass: Release of the stores of a party's word, and of the exchange by which a successor takes it over ↔
//!   Acquire of the loads by which others wait for it, and by which they read it before they check its slot.
//! - O3 mark: SeqCst fence of the compiler between the store that declares a party inside and what it does there ↔
//!   the load that reads the word of a party that is gone.
//!
//! # Crash
//! | who dies, where | what the others see | what goes on |
//! |---|---|---|
//! | choosing, or waiting | its word, and that it is gone | they pass it; the next inside clears the word |
//! | inside, up to the store of `leave` | the same | the same, and that party gets [`AcquiredState::OwnerDied`](crate::AcquiredState::OwnerDied) |
//! | inside, before it has reported another's death to its caller | the same | the next party reports both, under one number |
//! | taking the slot of a dead party | the word of the dead party | the same |
//!
//! A hostile party that writes only its own line can make others wait for as long as their patience lasts, and make
//! them report a death that did not happen. If it writes the lines of others, or the tickets, it can let two parties
//! in. In any case the others access nothing outside the memory.
//!
//! # Source
//! The bakery of [Lamport 1974], with tickets that are drawn from a counter instead of searched for, so that no two
//! are equal and no fence is needed. MSRP is from [Gai 2001].

mod party;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use std::ops::Range;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, StridedWords};

use crate::global::{LockLayoutError, POISON, lines};
use crate::life::{Alive, Generation, Lives, PartySlots};

pub use party::Party;

// # State
//
// ```text
// byte 0              the last ticket
// byte 64             for a value of this process: the party that left it half changed, plus 1; 0: it is whole
// byte 128 · (1 + p)  word of party p: bit 0       it is inside
//                                      bit 1       it is choosing a ticket
//                                      bit 2       wreck: an earlier owner of the party's slot died inside
//                                      bits 3..=55 its ticket; 0: none
//                                      bits 56..   generation of the owner that wrote the word
// + 8                 its party slot: see `life`
// ```
//
// # Invariants
//
// - I1 Only the party itself writes its word, except that others clear its wreck, and clear the word of a party that is
//   gone.
// - I2 A party draws a ticket once, after the parties that draw later can all see it choosing.
// - I3 After a party that is inside had drawn its own ticket, it found each other party not choosing and without a
//   smaller ticket.
// - I4 The word of a party that died inside says so, or the wreck in its successor's word does, until a party inside
//   has reported it.

/// The bytes that a lock of this number of parties needs.
pub const fn bytes(parties: u32) -> usize {
    lines(parties)
}

/// All parties of a lock of this process. Earlier contents of the memory are forgotten.
///
/// ```
/// use taut_lock::{AcquiredState, Line, Memory, Patience, spin};
///
/// let mut lines = [const { Line::new() }; spin::bytes(2) / size_of::<Line>()];
/// let mut cores = spin::group(Memory::new(&mut lines), 2)?;
/// let (mut first, mut second) = (cores.next().unwrap(), cores.next().unwrap());
/// assert_eq!(first.enter(Patience::Endless), Ok(AcquiredState::Clean));
/// assert_eq!(second.enter(Patience::Looks(100)).unwrap_err().party, 0);
/// first.leave();
/// assert_eq!(second.enter(Patience::Endless), Ok(AcquiredState::Clean));
/// # Ok::<(), taut_lock::LockLayoutError>(())
/// ```
///
/// # Errors
///
/// [`LockLayoutError::Parties`], [`LockLayoutError::TooSmall`].
pub fn group(memory: Memory<'_>, parties: u32) -> Result<Parties<'_>, LockLayoutError> {
    let memory = memory.claim();
    let object = Object::new(&memory, parties, None)?;
    object.words().for_each(|word| word.store(0, Relaxed));
    let poison = memory.word(POISON);
    poison.store(0, Relaxed);
    Ok(Parties { object, poison, next: 0 })
}

/// Party `which` of a lock between processes. The party must be free, or its last owner dead. The memory is zero,
/// or has been used for this lock before; `alive` is this process among these `lives`.
///
/// # Errors
///
/// [`LockLayoutError::Parties`], [`LockLayoutError::TooSmall`], [`LockLayoutError::Taken`].
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

#[derive(Clone, Copy)]
struct Object<'m> {
    tickets: &'m AtomicU64,
    words: StridedWords<'m>,
    slots: PartySlots<'m>,
}

impl<'m> Object<'m> {
    /// The words of a lock whose parties can die if there are `lives`.
    fn new(memory: &Claimed<'m>, parties: u32, lives: Option<Lives<'m>>) -> Result<Self, LockLayoutError> {
        let slots = PartySlots::of(memory, parties, lives)?;
        let words = memory.words(LINE_BYTES, LINE_BYTES, parties as usize);
        Ok(Self { tickets: memory.word(0), words, slots })
    }

    fn words(&self) -> impl Iterator<Item = &'m AtomicU64> {
        (0..self.words.count()).filter_map(|party| self.words.get(party))
    }

    #[inline(always)]
    fn word(&self, party: u32) -> &'m AtomicU64 {
        // SAFETY: parties are numbered from 0 (`Party::new`, `Set::below`), and there is one word for each.
        unsafe { self.words.at(party as usize) }
    }
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
        ((which as usize) < self.object.words.count()).then(|| {
            self.next += 1;
            Party::new(self.object, which, Generation::ONLY)
        })
    }
}

// # Checked
//
// - here: order, patience, slots; also under Miri
// - `tests/loom_spin.rs`: every execution of 2 and 3 parties, with deaths; without the state of choosing it fails
// - `tests/shuttle.rs`, `tests/stress.rs`: longer runs, of threads also under the thread sanitizer
// - `tests/steps.rs`: the bounds above; `tests/deaths.rs`: a death at each step; `tests/hostile.rs`: a process that
//   writes random words
// - `tests/kills.rs`: processes killed at any moment; `tests/conformance.rs`: the order of `taut_policy::Msrp`
// - `benches/hand_over.rs`: the cost, beside the round trip of a word
//
// `tests/loom_spin.rs`: 2 parties once each, without preemption bound, 14 812 executions; 2 + 1 times with bound 2,
// 6 882; 3 parties with bound 2, 32 391, where a patience of 1 look ends their spinning; a death at each of four
// places with a successor, bound 2, 3 551 to 4 757; a successor that requests while the dead party's word is cleared,
// bound 3, 1 077. The tests fail if any of the five annotations of O1 and O2 is weakened, an AcqRel in either half. O3
// matters for a processor that stops in the middle; the deaths at each step stand for that.
//
// Not covered: 2⁵³ tickets; three parties that spin without end in one model.
