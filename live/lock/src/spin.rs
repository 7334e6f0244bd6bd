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
//! - O2 pass: Release of the stores of a party's word, AcqRel of the exchanges that change it for one that is gone ↔ Acquire
//!   of the loads by which others wait for it.
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
//! | inside, up to the store of `leave`  | the same                     | the same, and that one is told [`Entry::OwnerDied`] |
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
//! successor, bound 2, 3 215 to 4 589.
//!
//! Not covered: 2⁵³ tickets; three parties that spin without end in one model.

use std::ops::Range;
use std::sync::atomic::compiler_fence;

use taut_atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, LINE_BYTES, Memory, Words, spin_loop};

use crate::global::{Entry, LOOKS, LayoutError, PARTIES_LIMIT, Patience, Set, Stuck, fit, lines};
use crate::life::{Alive, Lives, Seats, Taking};

const INSIDE: u64 = 1;
const CHOOSES: u64 = 2;
const WRECK: u64 = 4;
const TICKET_SHIFT: u32 = 3;
/// All of a word but who wrote it.
const WHAT: u64 = u64::MAX >> Taking::BITS;
/// A ticket where it stands in a word.
const TICKET: u64 = WHAT & !(INSIDE | CHOOSES | WRECK);

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
    let object = Object::new(&memory, parties, Seats::IMMORTAL)?;
    object.words().for_each(|word| word.store(0, Relaxed));
    Ok(Parties { object, next: 0 })
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
    Object::between(&memory, parties, lives)?.sit(which, alive)
}

/// Several parties of a lock between processes, as [`party`], of one process: those that have this number from the first
/// on, each by itself.
///
/// # Errors
///
/// As [`party`].
pub fn seats<'m>(
    memory: Memory<'m>,
    parties: u32,
    which: Range<u32>,
    lives: Lives<'m>,
    alive: &'m Alive,
) -> Result<impl Iterator<Item = Result<Party<'m>, LayoutError>>, LayoutError> {
    let object = Object::between(&memory, parties, lives)?;
    Ok(which.map(move |which| object.sit(which, alive)))
}

#[derive(Clone, Copy)]
struct Object<'m> {
    tickets: &'m AtomicU64,
    words: Words<'m>,
    seats: Seats<'m>,
}

impl<'m> Object<'m> {
    fn new(memory: &Memory<'m>, parties: u32, seats: Seats<'m>) -> Result<Self, LayoutError> {
        if parties == 0 || parties > PARTIES_LIMIT {
            return Err(LayoutError::Parties);
        }
        fit(memory, bytes(parties))?;
        let words = memory.words(LINE_BYTES, LINE_BYTES, parties as usize);
        Ok(Self { tickets: memory.word(0), words, seats })
    }

    fn between(memory: &Memory<'m>, parties: u32, lives: Lives<'m>) -> Result<Self, LayoutError> {
        Self::new(memory, parties, Seats::behind(memory, bytes(parties), parties, lives)?)
    }

    fn sit(self, which: u32, alive: &Alive) -> Result<Party<'m>, LayoutError> {
        let taking = self.seats.take(which, alive)?;
        let mut party = Party::new(self, which, taking);
        party.inherit();
        Ok(party)
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
    next: u32,
}

impl<'m> Iterator for Parties<'m> {
    type Item = Party<'m>;

    fn next(&mut self) -> Option<Self::Item> {
        let which = self.next;
        ((which as usize) < self.object.words.count()).then(|| {
            self.next += 1;
            Party::new(self.object, which, Taking::ONLY)
        })
    }
}

/// One that asks for the lock: a core, or a core of one process.
pub struct Party<'m> {
    object: Object<'m>,
    word: &'m AtomicU64,
    which: u32,
    taking: Taking,
    /// What the word is if nobody has cleared its wreck.
    written: u64,
    /// Those that may go before it, as far as it has seen.
    before: Set,
    /// Those that it has passed, and that have left something to clear.
    wrecks: Set,
    /// Since it asked.
    looks: u64,
}

impl<'m> Party<'m> {
    fn new(object: Object<'m>, which: u32, taking: Taking) -> Self {
        let word = object.word(which);
        let (before, wrecks) = (Set::NONE, Set::NONE);
        Self { object, word, which, taking, written: taking.bits(), before, wrecks, looks: 0 }
    }

    /// Which one it is, from 0.
    pub fn which(&self) -> u32 {
        self.which
    }

    /// Whether it has the lock.
    #[inline]
    pub fn is_inside(&self) -> bool {
        self.written & INSIDE != 0
    }

    /// Takes its place behind all who asked before. If it has one, or the lock, nothing happens.
    #[inline]
    pub fn request(&mut self) {
        if self.written & TICKET != 0 {
            return;
        }
        self.write(CHOOSES); // O1 draw: first.
        // O1 draw
        let number = self.object.tickets.fetch_add(1, AcqRel).wrapping_add(1);
        // Of spoiled memory it could be none.
        let ticket = (number << TICKET_SHIFT & TICKET).max(1 << TICKET_SHIFT);
        self.write(ticket);
        self.before = Set::below(self.object.words.count()).without(self.which);
        self.wrecks = Set::NONE;
        self.looks = 0;
    }

    /// Looks once whether it is its turn, and if so takes the lock.
    #[inline]
    pub fn granted(&mut self) -> Option<Entry> {
        if self.is_inside() {
            return Some(Entry::Clean);
        }
        let ticket = self.written & TICKET;
        if ticket == 0 {
            return None;
        }
        self.looks += 1;
        let also_dead = self.looks.is_multiple_of(LOOKS);
        // Who does not go before it does not later: each of its tickets is larger.
        for party in self.before.iter() {
            let word = self.object.word(party).load(Acquire); // O2 pass
            if !goes_before(word, ticket) {
                self.before = self.before.without(party);
                if word & WRECK != 0 {
                    self.wrecks = self.wrecks.with(party);
                }
            } else if also_dead && self.is_gone(party, word) {
                self.before = self.before.without(party);
                self.wrecks = self.wrecks.with(party);
            }
        }
        if self.before != Set::NONE {
            return None;
        }
        self.write(ticket | INSIDE);
        // O3 mark: who dies from here on has left that it was inside. The processor needs no fence: what it has done when
        // it is interrupted for the last time, it has done up to some instruction.
        compiler_fence(Ordering::SeqCst);
        let wrecks = self.wrecks != Set::NONE || self.written & WRECK != 0;
        Some(if wrecks { self.clear() } else { Entry::Clean })
    }

    /// Gives its place back, if it has not got the lock.
    #[inline]
    pub fn withdraw(&mut self) {
        if !self.is_inside() && self.written & TICKET != 0 {
            self.write(0);
        }
    }

    /// Asks, and looks until it has the lock. If it has it already, nothing happens.
    ///
    /// # Errors
    ///
    /// [`Stuck`].
    #[inline]
    pub fn enter(&mut self, patience: Patience) -> Result<Entry, Stuck> {
        self.request();
        loop {
            if let Some(entry) = self.granted() {
                return Ok(entry);
            }
            if patience.over(self.looks) {
                self.withdraw();
                return Err(Stuck { party: self.before.iter().next().unwrap_or(self.which) });
            }
            spin_loop();
        }
    }

    /// Lets go. If it has not got the lock, nothing happens.
    #[inline]
    pub fn leave(&mut self) {
        if self.is_inside() {
            self.write(0);
        }
    }

    /// Whether a party is gone that has left this word, and nothing else.
    #[cold]
    fn is_gone(&self, party: u32, word: u64) -> bool {
        // O2 pass, O3 mark: again, for it may have gone on before it died.
        self.object.seats.is_gone(party, Taking::of(word)) && self.object.word(party).load(Acquire) == word
    }

    /// Inside: takes away what those have left that are gone, and says if one of them was inside.
    #[cold]
    fn clear(&mut self) -> Entry {
        let mut entry = Entry::Clean;
        for party in self.wrecks.with(self.which).iter() {
            let place = self.object.word(party);
            // Its seat may be taken again meanwhile, once or, if that dies too, twice.
            for _ in 0..3 {
                let word = place.load(Acquire); // O2 pass
                if word & WRECK != 0 {
                    entry = Entry::OwnerDied(party);
                    place.fetch_and(!WRECK, AcqRel); // O2 pass
                } else if party == self.which
                    || word & WHAT == 0
                    || !self.object.seats.is_gone(party, Taking::of(word))
                {
                    break;
                // O2 pass
                } else if place.compare_exchange(word, Taking::of(word).bits(), AcqRel, Relaxed).is_ok() {
                    if word & INSIDE != 0 {
                        entry = Entry::OwnerDied(party);
                    }
                    break;
                }
            }
        }
        self.written &= !WRECK;
        entry
    }

    /// Writes its word, and keeps the wreck that is in it.
    #[inline(always)]
    fn write(&mut self, what: u64) {
        let new = self.taking.bits() | what;
        if self.written & WRECK != 0 && self.write_beside(new | WRECK) {
            return;
        }
        self.word.store(new, Release); // O2 pass
        self.written = new;
    }

    /// Writes its word if the wreck is still in it.
    #[cold]
    fn write_beside(&mut self, new: u64) -> bool {
        // O2 pass
        let kept = self.word.compare_exchange(self.written, new, AcqRel, Relaxed).is_ok();
        if kept {
            self.written = new;
        }
        kept
    }

    /// Takes over the word of whoever was this party before.
    fn inherit(&mut self) {
        // Others change it twice at most: they clear a wreck, and the rest.
        for _ in 0..8 {
            let old = self.word.load(Acquire); // O2 pass
            let wreck = if old & (INSIDE | WRECK) == 0 { 0 } else { WRECK };
            self.written = self.taking.bits() | wreck;
            // O2 pass
            if self.word.compare_exchange(old, self.written, AcqRel, Relaxed).is_ok() {
                return;
            }
        }
        // Somebody spoils the memory: what is there means nothing.
        self.write(0);
    }
}

impl Drop for Party<'_> {
    /// Lets go, or withdraws, and gets up from its seat. A wreck stays for the next one.
    fn drop(&mut self) {
        self.leave();
        self.withdraw();
        self.object.seats.leave(self.which, self.taking);
    }
}

/// Whether who wrote this word is to be waited for by who has this ticket.
#[inline(always)]
fn goes_before(word: u64, ticket: u64) -> bool {
    let other = word & TICKET;
    word & CHOOSES != 0 || (other != 0 && other < ticket)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use taut_atomic::Line;

    use super::*;

    /// Memory of a lock and of two processes, both of which are this one.
    fn shared(parties: u32) -> (impl Fn() -> Memory<'static>, Lives<'static>) {
        let bytes = bytes(parties);
        let lines = (0..bytes / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>();
        let start = std::ptr::NonNull::from(Box::leak(lines)).cast();
        // SAFETY: leaked, aligned, of that length; used by parties of one lock alone.
        let memory = move || unsafe { Memory::from_raw(start, bytes) };
        let lines = vec![Line::new(), Line::new()].into_boxed_slice();
        (memory, Lives::new(Memory::new(Box::leak(lines)), 2).expect("room"))
    }

    #[test]
    fn one_at_a_time() {
        let mut lines = [const { Line::new() }; 4];
        let mut parties = group(Memory::new(&mut lines), 3).unwrap().collect::<Vec<_>>();
        for round in 0..3 {
            assert_eq!(parties[round].enter(Patience::Endless), Ok(Entry::Clean));
            assert_eq!(parties[round].enter(Patience::Endless), Ok(Entry::Clean), "it has it");
            for other in (0..3).filter(|other| *other != round) {
                let stuck = Stuck { party: round as u32 };
                assert_eq!(parties[other].enter(Patience::Looks(50)), Err(stuck));
                assert_eq!(parties[other].enter(Patience::Until(0)), Err(stuck));
                parties[other].leave();
                assert!(!parties[other].is_inside());
            }
            assert!(parties[round].is_inside());
            parties[round].leave();
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |lines: &mut [Line], parties| group(Memory::new(lines), parties).err();
        let mut lines = [const { Line::new() }; 2];
        assert_eq!(refused(&mut lines, 0), Some(LayoutError::Parties));
        assert_eq!(refused(&mut lines, PARTIES_LIMIT + 1), Some(LayoutError::Parties));
        assert_eq!(refused(&mut lines, 2), Some(LayoutError::TooSmall { needed: 384, given: 256 }));
        let (memory, lives) = shared(2);
        let alive = Alive::claim(lives, 0).unwrap();
        assert_eq!(party(memory(), 2, 2, lives, &alive).err(), Some(LayoutError::Parties));
        let first = party(memory(), 2, 0, lives, &alive).unwrap();
        assert_eq!(party(memory(), 2, 0, lives, &alive).err(), Some(LayoutError::Taken));
        drop(first);
        assert!(party(memory(), 2, 0, lives, &alive).is_ok());
    }

    #[test]
    fn a_death_inside_is_told_once() {
        for successor in [false, true] {
            let (memory, lives) = shared(3);
            let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
            let mut first = party(memory(), 3, 0, lives, &dying).unwrap();
            let mut second = party(memory(), 3, 1, lives, &alive).unwrap();
            let mut third = party(memory(), 3, 2, lives, &alive).unwrap();
            first.enter(Patience::Endless).unwrap();
            assert_eq!(second.enter(Patience::Looks(100)), Err(Stuck { party: 0 }));
            // It dies inside, as far as the others can tell.
            std::mem::forget(first);
            drop(dying);
            let mut heir = successor.then(|| party(memory(), 3, 0, lives, &alive).unwrap());
            assert_eq!(second.enter(Patience::Looks(100)), Ok(Entry::OwnerDied(0)));
            assert_eq!(third.enter(Patience::Looks(100)), Err(Stuck { party: 1 }));
            second.leave();
            assert_eq!(third.enter(Patience::Endless), Ok(Entry::Clean));
            third.leave();
            if let Some(heir) = &mut heir {
                assert_eq!(heir.enter(Patience::Endless), Ok(Entry::Clean));
            }
        }
    }

    #[test]
    fn the_heir_itself_is_told() {
        let (memory, lives) = shared(2);
        let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        let mut first = party(memory(), 2, 0, lives, &dying).unwrap();
        first.enter(Patience::Endless).unwrap();
        std::mem::forget(first);
        drop(dying);
        // One comes and goes without having asked; the next one asks.
        drop(party(memory(), 2, 0, lives, &alive).unwrap());
        let mut heir = party(memory(), 2, 0, lives, &alive).unwrap();
        assert_eq!(heir.enter(Patience::Endless), Ok(Entry::OwnerDied(0)));
        heir.leave();
        assert_eq!(heir.enter(Patience::Endless), Ok(Entry::Clean));
    }
}
