// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a party does: asks, looks whether it is its turn, lets go; and clears what those who died have left.

use std::sync::atomic::compiler_fence;

use taut_atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, spin_loop};

use super::Object;
use crate::global::{Entry, LOOKS, LayoutError, Patience, Set, Stuck};
use crate::life::{Alive, Generation};

const INSIDE: u64 = 1;
pub(super) const CHOOSES: u64 = 2;
const WRECK: u64 = 4;
pub(super) const TICKET_SHIFT: u32 = 3;
/// All of a word but who wrote it.
const WHAT: u64 = u64::MAX >> Generation::BITS;
/// A ticket where it stands in a word.
pub(super) const TICKET: u64 = WHAT & !(INSIDE | CHOOSES | WRECK);

/// One that asks for the lock: a core, or a core of one process.
pub struct Party<'m> {
    object: Object<'m>,
    word: &'m AtomicU64,
    which: u32,
    generation: Generation,
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
    pub(super) fn new(object: Object<'m>, which: u32, generation: Generation) -> Self {
        let word = object.word(which);
        let (before, wrecks) = (Set::NONE, Set::NONE);
        Self { object, word, which, generation, written: generation.bits(), before, wrecks, looks: 0 }
    }

    /// Sits down, and takes over what is left there.
    pub(super) fn take_slot(object: Object<'m>, which: u32, alive: &Alive) -> Result<Self, LayoutError> {
        let generation = object.slots.take(which, alive)?;
        let mut party = Self::new(object, which, generation);
        party.inherit();
        Ok(party)
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

    /// Whether it has asked, is not inside, and nobody is seen that came before: who is just drawing a ticket may have, and
    /// is so for as long as that takes. A load for each that it has not passed.
    pub fn is_undecided(&self) -> bool {
        let ticket = self.written & TICKET;
        let came_before = |party| {
            // Relaxed: nothing rests on it but whether to look again.
            let word = self.object.word(party).load(Relaxed);
            word & CHOOSES == 0 && goes_before(word, ticket)
        };
        ticket != 0 && !self.is_inside() && !self.before.iter().any(came_before)
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
        // O3 mark: again, for it may have gone on before it died. Relaxed: that it is gone shows all that it did.
        self.object.slots.is_gone(party, Generation::of(word))
            && self.object.word(party).load(Relaxed) == word
    }

    /// Inside: takes away what those have left that are gone, and says if one of them was inside.
    #[cold]
    fn clear(&mut self) -> Entry {
        let mut entry = Entry::Clean;
        for party in self.wrecks.with(self.which).iter() {
            let place = self.object.word(party);
            // Its seat may be taken again meanwhile, once or, if that dies too, twice.
            for _ in 0..3 {
                // O2 pass: before its seat is looked at, or a successor's word would be taken for what the dead one left.
                let word = place.load(Acquire);
                if word & WRECK != 0 {
                    entry = Entry::OwnerDied(party);
                    // Relaxed, here and below: who comes inside later has passed our own word, and what stood in this one
                    // for others to see an exchange keeps.
                    place.fetch_and(!WRECK, Relaxed);
                } else if party == self.which
                    || word & WHAT == 0
                    || !self.object.slots.is_gone(party, Generation::of(word))
                {
                    break;
                } else if place.compare_exchange(word, Generation::of(word).bits(), Relaxed, Relaxed).is_ok()
                {
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
    pub(super) fn write(&mut self, what: u64) {
        let new = self.generation.bits() | what;
        if self.written & WRECK != 0 && self.write_beside(new | WRECK) {
            return;
        }
        self.word.store(new, Release); // O2 pass
        self.written = new;
    }

    /// Writes its word if the wreck is still in it.
    #[cold]
    fn write_beside(&mut self, new: u64) -> bool {
        // Relaxed: it was not inside since it took the word over, and the exchange keeps what that lets others see.
        let kept = self.word.compare_exchange(self.written, new, Relaxed, Relaxed).is_ok();
        if kept {
            self.written = new;
        }
        kept
    }

    /// Takes over the word of whoever was this party before.
    fn inherit(&mut self) {
        // Others change it twice at most: they clear a wreck, and the rest.
        for _ in 0..8 {
            // Relaxed: its seat has shown what the one before did.
            let old = self.word.load(Relaxed);
            let wreck = if old & (INSIDE | WRECK) == 0 { 0 } else { WRECK };
            self.written = self.generation.bits() | wreck;
            // O2 pass
            if self.word.compare_exchange(old, self.written, Release, Relaxed).is_ok() {
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
        self.object.slots.leave(self.which, self.generation);
    }
}

/// Whether who wrote this word is to be waited for by who has this ticket.
#[inline(always)]
fn goes_before(word: u64, ticket: u64) -> bool {
    let other = word & TICKET;
    word & CHOOSES != 0 || (other != 0 && other < ticket)
}
