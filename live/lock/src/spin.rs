// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A lock that is spun for, first come, first served: for short sections between cores.
//!
//! # Use
//!
//! MSRP, and the short resources of FMLP: who asks is not preempted from then until it lets go, which is the part of
//! whoever calls this (an executor; among ordinary threads nobody, and a holder that is preempted makes all wait). A
//! party is a core, or a core of one process: it asks for itself alone, one request at a time. Where sections are long,
//! or more threads than cores want one: [`queued`](crate::queued).
//!
//! ```
//! use taut_lock::{Entry, Line, Memory, Patience, spin};
//!
//! let mut lines = [const { Line::new() }; spin::bytes(2) / size_of::<Line>()];
//! let mut cores = spin::group(Memory::new(&mut lines), 2)?;
//! let (mut first, mut second) = (cores.next().unwrap(), cores.next().unwrap());
//! assert_eq!(first.enter(Patience::Endless), Ok(Entry::Clean));
//! assert_eq!(second.enter(Patience::Looks(100)).unwrap_err().party, 0);
//! first.leave();
//! assert_eq!(second.enter(Patience::Endless), Ok(Entry::Clean));
//! # Ok::<(), taut_lock::LayoutError>(())
//! ```
//!
//! With what it protects: [`Spin`](crate::Spin).
//!
//! # Callers
//!
//! Each party by itself, all at any time.
//!
//! # Progress
//!
//! N parties.
//!
//! | operation           | bound                                                                                     |
//! |---------------------|-------------------------------------------------------------------------------------------|
//! | `request`           | 2 stores, 1 exchange                                                                      |
//! | `granted`           | N − 1 loads, the first time; later of those that go before; 1 store if it is its turn     |
//! | `is_undecided`      | N − 1 loads                                                                               |
//! | `enter`             | both; waits for at most one section of each other party; then 1 transfer of the line of who let go, and 1 store |
//! | `leave`, `withdraw` | 1 store                                                                                   |
//! | all                 | for the first time after one's predecessor died inside: exchanges instead of stores       |
//!
//! After each party that died: its word is cleared by the next one inside, with 2 exchanges at most; who waits looks at the
//! lives of those before it with every 32nd look. A party that stops between two steps, and lives, is waited for.
//!
//! # State
//!
//! ```text
//! byte 0              the last ticket
//! byte 64             of a value of this process: the party that left it half changed, from 1; 0: it is whole
//! byte 128 · (1 + p)  word of party p: bit 0       it is inside
//!                                      bit 1       it is choosing a ticket
//!                                      bit 2       wreck: one that was this party before died inside
//!                                      bits 3..=55 its ticket; 0: none
//!                                      bits 56..   which one that is this party wrote it
//! byte 8 behind it    its seat: see `life`
//! ```
//!
//! # Invariants
//!
//! - I1 A party's word is written by it alone; but others clear the wreck, and the word of one that is gone.
//! - I2 A ticket is drawn once, after its party was seen choosing by all that draw later.
//! - I3 Who is inside has found each other party without a smaller ticket, and not choosing, after it drew its own.
//! - I4 Who died inside has left that in its word, or in the wreck of its successor, until somebody inside has been told.
//!
//! # Orderings
//!
//! - O1 draw: AcqRel of the exchange that draws a ticket, after the store that says so ↔ AcqRel of the exchange that draws
//!   a later one.
//! - O2 pass: Release of the stores of a party's word, and of the exchange by which a successor takes it over ↔ Acquire of
//!   the loads by which others wait for it, and look at it before they look at its seat.
//!
//! - O3 mark: SeqCst fence of the compiler between the store that says inside and what is done there ↔ the load that looks at
//!   the word of one that is gone.
//!
//! # Proof
//!
//! Let p have a smaller ticket than q. All tickets are drawn by exchanges of one word, so by O1 p's word says that it
//! chooses, or something later, when q looks at it: its ticket, for which q waits; that it is inside, likewise; or that it
//! has left, or chooses again, or has a later ticket. Of these q takes those that do not choose for an answer, and by
//! O2 what p did inside is before what q does. So p is not inside when q is (I3), whoever came first by the clock. Nobody
//! waits for a larger ticket; for one that chooses only until it has drawn. So they enter by their tickets, and each waits
//! for one section of each other party at most, for a second ticket of the same party is larger.
//!
//! Who is gone (`life`) writes nothing any more: one that had not entered is passed; one that was inside is passed too,
//! and whoever enters next finds that in its word, and is told. It alone can clear the word meanwhile, for it is inside; one
//! that becomes that party writes its own mark by an exchange, and keeps the wreck.
//!
//! # Crash
//!
//! | who dies, where                     | what the others see          | what goes on                                     |
//! |-------------------------------------|------------------------------|--------------------------------------------------|
//! | choosing, or waiting                | its word, and that it is gone | they pass it; the next one inside clears the word |
//! | inside, up to the store of `leave`  | the same                     | the same, and that one is told [`Entry::OwnerDied`](crate::Entry::OwnerDied) |
//! | inside, before it has told its caller of another's death | the same  | the next one is told of both, by one name        |
//! | taking the seat of one that died    | the word of that one         | the same                                         |
//!
//! A hostile party can, in its own line, make others wait for as long as their patience is, and be told of a death that was
//! none. On the others' lines, or the tickets, it can let two in. The others stay inside the memory in any case.
//!
//! # Source
//!
//! The bakery of [Lamport 1974], with tickets that are drawn instead of looked for, so that no two are equal and no fence
//! is needed. MSRP is from [Gai 2001].
//!
//! # Checked
//!
//! - here: order, patience, seats; also Miri
//! - `tests/loom_spin.rs`: every execution of 2 and 3 parties, with deaths; without the state of choosing it fails
//! - `tests/shuttle.rs`, `tests/stress.rs`: longer runs, of threads also under the thread sanitizer
//! - `tests/steps.rs`: the bounds above; `tests/deaths.rs`: a death at each step; `tests/hostile.rs`: a process scribbles
//! - `tests/kills.rs`: processes killed at any moment; `tests/conformance.rs`: the order of `taut_policy::Msrp`
//! - `benches/hand_over.rs`: what it costs, beside a word's way to and fro
//!
//! `tests/loom_spin.rs`: 2 parties once each, without preemption bound, 14 812 executions; 2 + 1 times with bound 2, 6 882; 3
//! parties with bound 2, 32 391, where a patience of 1 look ends their spinning; a death at each of four places with a
//! successor, bound 2, 3 551 to 4 757; a successor that asks while the dead one's word is cleared, bound 3, 1 077. Each of the
//! five annotations of O1 and O2, AcqRel by halves, weakened fails there. O3 is for a processor that ends in the middle: the deaths
//! at each step stand for it.
//!
//! Not covered: 2⁵³ tickets; three parties that spin without end in one model.

mod party;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use std::ops::Range;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, Words};

use crate::global::{LayoutError, POISON, lines};
use crate::life::{Alive, Generation, Lives, PartySlots};

pub use party::Party;

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
    object.words().for_each(|word| word.store(0, Relaxed));
    let poison = memory.word(POISON);
    poison.store(0, Relaxed);
    Ok(Parties { object, poison, next: 0 })
}

/// Party `which` of a lock between processes, which nobody else may be: it is free, or whoever was it last is dead.
/// The memory is zero, or has been used for this lock before; `alive` is this process among these `lives`.
///
/// # Errors
///
/// [`LayoutError::Parties`], [`LayoutError::TooSmall`], [`LayoutError::Taken`].
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

#[derive(Clone, Copy)]
struct Object<'m> {
    tickets: &'m AtomicU64,
    words: Words<'m>,
    slots: PartySlots<'m>,
}

impl<'m> Object<'m> {
    /// Of parties that can die, if there are `lives`.
    fn new(memory: &Claimed<'m>, parties: u32, lives: Option<Lives<'m>>) -> Result<Self, LayoutError> {
        let slots = PartySlots::of(memory, parties, lives)?;
        let words = memory.words(LINE_BYTES, LINE_BYTES, parties as usize);
        Ok(Self { tickets: memory.word(0), words, slots })
    }

    fn words(&self) -> impl Iterator<Item = &'m AtomicU64> {
        (0..self.words.count()).filter_map(|party| self.words.get(party))
    }

    #[inline(always)]
    fn word(&self, party: u32) -> &'m AtomicU64 {
        // SAFETY: parties are counted from 0 (`Party::new`, `Set::below`), and there are as many words.
        unsafe { self.words.at(party as usize) }
    }
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
        ((which as usize) < self.object.words.count()).then(|| {
            self.next += 1;
            Party::new(self.object, which, Generation::ONLY)
        })
    }
}
