// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a party does: it requests, checks whether it is its turn, releases, and clears what dead parties left.

use std::sync::atomic::compiler_fence;

use taut_atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, spin_loop};

use super::Object;
use crate::global::{AcquiredState, LOOKS, LockLayoutError, Patience, Set, Stuck};
use crate::life::{Alive, Generation};

const INSIDE: u64 = 1;
pub(super) const CHOOSES: u64 = 2;
const WRECK: u64 = 4;
pub(super) const TICKET_SHIFT: u32 = 3;
/// All of a word but the generation of its writer.
const WHAT: u64 = u64::MAX >> Generation::BITS;
/// The bits of a word that hold the ticket.
pub(super) const TICKET: u64 = WHAT & !(INSIDE | CHOOSES | WRECK);

/// A party of the lock: a core, or a core of one process.
pub struct Party<'m> {
    object: Object<'m>,
    word: &'m AtomicU64,
    which: u32,
    generation: Generation,
    /// The value of the word, unless another party has cleared its wreck.
    written: u64,
    /// The parties that may still go before this one, as far as it has seen.
    before: Set,
    /// The parties that this one has passed, and that have left something to clear.
    wrecks: Set,
    /// The looks since the request.
    looks: u64,
}

impl<'m> Party<'m> {
    pub(super) fn new(object: Object<'m>, which: u32, generation: Generation) -> Self {
        let word = object.word(which);
        let (before, wrecks) = (Set::NONE, Set::NONE);
        Self { object, word, which, generation, written: generation.bits(), before, wrecks, looks: 0 }
    }

    /// Takes the party's slot, and takes over what its last owner left.
    pub(super) fn take_slot(object: Object<'m>, which: u32, alive: &Alive) -> Result<Self, LockLayoutError> {
        let generation = object.slots.take(which, alive)?;
        let mut party = Self::new(object, which, generation);
        party.inherit();
        Ok(party)
    }

    /// The number of the party, from 0.
    pub fn which(&self) -> u32 {
        self.which
    }

    /// Whether the party has the lock.
    #[inline]
    pub fn is_inside(&self) -> bool {
        self.written & INSIDE != 0
    }

    /// Queues the party behind all that requested before. Does nothing if it is queued already, or has the lock.
    #[inline]
    pub fn request(&mut self) {
        if self.written & TICKET != 0 {
            return;
        }
        self.write(CHOOSES); // O1 draw: first.
        // O1 draw
        let number = self.object.tickets.fetch_add(1, AcqRel).wrapping_add(1);
        // In spoiled memory the result could be 0, which is no ticket.
        let ticket = (number << TICKET_SHIFT & TICKET).max(1 << TICKET_SHIFT);
        self.write(ticket);
        self.before = Set::below(self.object.words.count()).without(self.which);
        self.wrecks = Set::NONE;
        self.looks = 0;
    }

    /// Checks once whether it is the party's turn, and if so takes the lock.
    #[inline]
    pub fn granted(&mut self) -> Option<AcquiredState> {
        // Proof: Let p have a smaller ticket than q. All tickets are drawn by exchanges of one word. So by O1, when q
        // looks at p's word, the word says that p chooses, or something later: p's ticket, for which q waits; that p
        // is inside, for which q waits too; or that p has left, or chooses again, or has a later ticket. Of these, q
        // passes p only if p does not choose, and by O2 what p did inside happens before what q does. So p is not
        // inside when q is (I3), whichever came first by the clock. No party waits for a larger ticket, and it waits
        // for a choosing party only until that party has drawn. So parties enter in the order of their tickets, and
        // each waits for one section of each other party at most, because a second ticket of the same party is larger.
        if self.is_inside() {
            return Some(AcquiredState::Clean);
        }
        let ticket = self.written & TICKET;
        if ticket == 0 {
            return None;
        }
        self.looks += 1;
        let also_dead = self.looks.is_multiple_of(LOOKS);
        // A party that does not go before this one does not do so later: each of its later tickets is larger.
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
        // O3 mark: if the party dies from here on, its word says that it was inside. The processor needs no fence:
        // when it is interrupted for the last time, it has done exactly the instructions up to some point.
        compiler_fence(Ordering::SeqCst);
        let wrecks = self.wrecks != Set::NONE || self.written & WRECK != 0;
        Some(if wrecks { self.clear() } else { AcquiredState::Clean })
    }

    /// Whether the party has requested, is not inside, and sees no party that came before it. A party that is just
    /// drawing a ticket may have come before, so this stays true for as long as that draw takes. 1 load for each
    /// party that this one has not passed.
    pub fn is_undecided(&self) -> bool {
        let ticket = self.written & TICKET;
        let came_before = |party| {
            // Relaxed: the result only decides whether to look again.
            let word = self.object.word(party).load(Relaxed);
            word & CHOOSES == 0 && goes_before(word, ticket)
        };
        ticket != 0 && !self.is_inside() && !self.before.iter().any(came_before)
    }

    /// Withdraws the request, unless the party has the lock.
    #[inline]
    pub fn withdraw(&mut self) {
        if !self.is_inside() && self.written & TICKET != 0 {
            self.write(0);
        }
    }

    /// Requests, and checks until the party has the lock. Does nothing if it has the lock already.
    ///
    /// # Errors
    ///
    /// [`Stuck`] when the patience ends.
    #[inline]
    pub fn enter(&mut self, patience: Patience) -> Result<AcquiredState, Stuck> {
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

    /// Releases the lock. Does nothing if the party does not have it.
    #[inline]
    pub fn leave(&mut self) {
        if self.is_inside() {
            self.write(0);
        }
    }

    /// Whether the party that wrote this word is gone, and has written nothing after it.
    #[cold]
    fn is_gone(&self, party: u32, word: u64) -> bool {
        // O3 mark: the word is read again, because the party may have gone on before it died. Relaxed: the check that
        // the party is gone makes all that it did visible.
        self.object.slots.is_gone(party, Generation::of(word))
            && self.object.word(party).load(Relaxed) == word
    }

    /// For the party inside: clears what parties that are gone have left, and reports if one of them was inside.
    #[cold]
    fn clear(&mut self) -> AcquiredState {
        // Proof: A party that is gone (`life`) writes nothing any more. If it had not entered, the others pass it. If
        // it was inside, they pass it too, and the next party that enters finds in the word that it was inside, and
        // reports it. Only that next party can clear the word meanwhile, because it is inside. A successor writes its
        // own generation by an exchange, and keeps the wreck.
        let mut entry = AcquiredState::Clean;
        for party in self.wrecks.with(self.which).iter() {
            let place = self.object.word(party);
            // Its slot may be taken again meanwhile: once, or twice if the new owner dies too.
            for _ in 0..3 {
                // O2 pass: the word is read before the slot is checked. Otherwise a successor's word could be taken
                // for what the dead party left.
                let word = place.load(Acquire);
                if word & WRECK != 0 {
                    entry = AcquiredState::OwnerDied(party);
                    // Relaxed, here and below: a party that enters later has passed our own word, and an exchange
                    // continues the release sequence of this word.
                    place.fetch_and(!WRECK, Relaxed);
                } else if party == self.which
                    || word & WHAT == 0
                    || !self.object.slots.is_gone(party, Generation::of(word))
                {
                    break;
                } else if place.compare_exchange(word, Generation::of(word).bits(), Relaxed, Relaxed).is_ok()
                {
                    if word & INSIDE != 0 {
                        entry = AcquiredState::OwnerDied(party);
                    }
                    break;
                }
            }
        }
        self.written &= !WRECK;
        entry
    }

    /// Writes the party's word, and keeps the wreck that is in it.
    #[inline(always)]
    pub(super) fn write(&mut self, what: u64) {
        let new = self.generation.bits() | what;
        if self.written & WRECK != 0 && self.write_beside(new | WRECK) {
            return;
        }
        self.word.store(new, Release); // O2 pass
        self.written = new;
    }

    /// Writes the party's word if the wreck is still in it.
    #[cold]
    fn write_beside(&mut self, new: u64) -> bool {
        // Relaxed: the party was not inside since it took the word over, and the exchange continues the release
        // sequence of the word.
        let kept = self.word.compare_exchange(self.written, new, Relaxed, Relaxed).is_ok();
        if kept {
            self.written = new;
        }
        kept
    }

    /// Takes over the word of the party's last owner.
    fn inherit(&mut self) {
        // Other parties change the word twice at most: they clear a wreck, and the rest.
        for _ in 0..8 {
            // Relaxed: taking the slot has made visible what the last owner did.
            let old = self.word.load(Relaxed);
            let wreck = if old & (INSIDE | WRECK) == 0 { 0 } else { WRECK };
            self.written = self.generation.bits() | wreck;
            // O2 pass
            if self.word.compare_exchange(old, self.written, Release, Relaxed).is_ok() {
                return;
            }
        }
        // A hostile process spoils the memory: the word means nothing.
        self.write(0);
    }
}

impl Drop for Party<'_> {
    /// Releases, or withdraws, and frees the party's slot. A wreck stays for the next owner.
    fn drop(&mut self) {
        self.leave();
        self.withdraw();
        self.object.slots.leave(self.which, self.generation);
    }
}

/// Whether a party with this ticket must wait for the party that wrote this word.
#[inline(always)]
fn goes_before(word: u64, ticket: u64) -> bool {
    let other = word & TICKET;
    word & CHOOSES != 0 || (other != 0 && other < ticket)
}
