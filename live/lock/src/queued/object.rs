// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The words of the lock, and the operations on them that do not depend on the calling party.

use taut_atomic::Ordering::{Acquire, Relaxed};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, StridedWords};

use super::word::{Holder, State};
use crate::futexes::Futexes;
use crate::global::{LockLayoutError, Set};
use crate::life::{Lives, PartySlots};

// A hostile party can, with its own line, make others wait while it is handed the lock, as if it used it. With the
// holder word it can let two parties in. In any case the others access nothing outside of the memory, and go on when
// their patience ends.

#[derive(Clone, Copy)]
pub(super) struct Object<'m> {
    pub(super) holder: &'m AtomicU64,
    pub(super) tickets: &'m AtomicU64,
    pub(super) states: StridedWords<'m>,
    pub(super) priorities: StridedWords<'m>,
    pub(super) notifications: StridedWords<'m>,
    pub(super) futexes: Futexes<'m>,
    pub(super) slots: PartySlots<'m>,
}

impl<'m> Object<'m> {
    /// The words of a lock whose parties can die if there are `lives`.
    pub(super) fn new(
        memory: &Claimed<'m>,
        parties: u32,
        lives: Option<Lives<'m>>,
    ) -> Result<Self, LockLayoutError> {
        let slots = PartySlots::of(memory, parties, lives)?;
        let words = |offset| memory.words(LINE_BYTES + offset, LINE_BYTES, parties as usize);
        Ok(Self {
            holder: memory.word(0),
            tickets: memory.word(8),
            states: words(0),
            priorities: words(16),
            notifications: words(24),
            futexes: Futexes::new(words(24), slots.are_mortal()),
            slots,
        })
    }

    pub(super) fn state(&self, party: u32) -> &'m AtomicU64 {
        // SAFETY: parties are numbered from 0 (`group`, `party`, `Set::below`), and there is one of each word for
        // each party.
        unsafe { self.states.at(party as usize) }
    }

    pub(super) fn priority(&self, party: u32) -> &'m AtomicU64 {
        // SAFETY: as in `state`.
        unsafe { self.priorities.at(party as usize) }
    }

    pub(super) fn notification_word(&self, party: u32) -> &'m AtomicU64 {
        // SAFETY: as in `state`.
        unsafe { self.notifications.at(party as usize) }
    }

    pub(super) fn all(&self) -> Set {
        Set::below(self.states.count())
    }

    /// Checks whether the lock has a dead holder. If so, returns `word`, with the holder as torn if it was inside.
    /// The caller loaded `word` before.
    #[cold]
    pub(super) fn died(&self, word: Holder) -> Option<Holder> {
        let party = word.party().filter(|party| self.slots.is_empty(*party))?;
        let state = self.states.get(party as usize)?.load(Acquire); // O4 mark
        Some(if State(state).is_out() { word.torn_by(party) } else { word })
    }

    /// The waiter with the highest priority, and of equals the one that came first, with the state that it
    /// declared. Ignores the parties of `except`.
    pub(super) fn best(&self, except: Set) -> Option<(u32, State)> {
        let mut best: Option<(u32, State, u64)> = None;
        for party in self.all().minus(except).iter() {
            let state = State(self.state(party).load(Acquire)); // O2 wait
            if state.is_out() {
                continue;
            }
            if self.slots.is_gone(party, state.generation()) {
                // If this fails, the party has a new owner by now, which has declared its own state.
                let _ = self.state(party).compare_exchange(
                    state.0,
                    State::out(state.generation()).0,
                    Relaxed,
                    Relaxed,
                );
                continue;
            }
            let priority = self.priority(party).load(Relaxed);
            let goes_first = best.is_none_or(|(_, other, highest)| {
                priority > highest || priority == highest && is_before(state.ticket(), other.ticket())
            });
            if goes_first {
                best = Some((party, state, priority));
            }
        }
        best.map(|(party, state, _)| (party, state))
    }

    /// Makes the best waiter next, and returns it. Waiters that withdraw meanwhile are left out.
    pub(super) fn next(&self) -> Option<u32> {
        let mut withdrew = Set::NONE;
        loop {
            let (party, state) = self.best(withdrew)?;
            let place = self.state(party);
            // Relaxed: it decides only whether the waiter withdraws or is next.
            if state.is_next() || place.compare_exchange(state.0, state.next().0, Relaxed, Relaxed).is_ok() {
                return Some(party);
            }
            withdrew = withdrew.with(party);
        }
    }
}

/// Whether ticket `one` was drawn before `other`. Both are of waiting parties, so they are not far from each other.
fn is_before(one: u64, other: u64) -> bool {
    one.wrapping_sub(other) << (64 - State::TICKET_BITS) >> 63 == 1
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::life::Generation;

    /// Also where the numbers wrap.
    #[test]
    fn tickets_are_in_their_order() {
        let last = State::waits(Generation::ONLY, u64::MAX).ticket();
        for (one, other) in [(0, 1), (7, 9), (last - 1, last), (last, 0), (last, 5)] {
            assert!(is_before(one, other) && !is_before(other, one), "{one} {other}");
        }
        assert!(!is_before(3, 3));
    }
}
