// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The fields of the lock's words.

use crate::life::Generation;

/// The holder word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder(pub(super) u64);

/// Other parties wait, or may: a party that releases must look for them.
pub(super) const OTHERS: u64 = 1 << 16;
/// One change, to add to the word.
pub(super) const CHANGE: u64 = 1 << 17;

const TORN_SHIFT: u32 = 8;
const PARTY: u64 = 0xFF;

impl Holder {
    /// The party that holds the lock, if any. From a shared word it may be any number.
    pub(super) const fn party(self) -> Option<u32> {
        ((self.0 & PARTY) as u32).checked_sub(1)
    }

    pub(super) fn is(self, party: u32) -> bool {
        self.party() == Some(party)
    }

    /// The party that died inside and is not reported yet.
    pub(super) const fn torn(self) -> Option<u32> {
        ((self.0 >> TORN_SHIFT & PARTY) as u32).checked_sub(1)
    }

    pub(super) const fn others(self) -> bool {
        self.0 & OTHERS != 0
    }

    /// The word after `party` became the holder, with the change counted.
    pub(super) const fn given_to(self, party: u32) -> Self {
        Self((self.0 & !PARTY | (party as u64 + 1)).wrapping_add(CHANGE))
    }

    /// The word with no holder and no waiters.
    pub(super) const fn free(self) -> Self {
        Self(self.0 & !(PARTY | OTHERS))
    }

    /// The word after this party was found dead inside. An earlier such party stays.
    pub(super) const fn torn_by(self, party: u32) -> Self {
        if self.torn().is_some() { self } else { Self(self.0 | (party as u64 + 1) << TORN_SHIFT) }
    }

    /// What to add to the word to clear the party that died inside.
    pub(super) const fn untorn(self) -> u64 {
        (self.0 & PARTY << TORN_SHIFT).wrapping_neg()
    }
}

/// What to add to the word, whose holder is `from`, so that `to` becomes the holder.
pub(super) const fn hand_over(from: u32, to: u32) -> u64 {
    CHANGE.wrapping_add(to as u64).wrapping_sub(from as u64)
}

/// The state word of a party: whether it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(pub(super) u64);

const WAITS: u64 = 1;
/// The party waits and can no longer withdraw, because it is next.
const NEXT: u64 = 2;
const TICKET_SHIFT: u32 = 2;
const TICKET: u64 = u64::MAX >> (TICKET_SHIFT + Generation::BITS);

impl State {
    pub(super) const TICKET_BITS: u32 = TICKET.count_ones();

    /// The party does not wait.
    pub(super) const fn out(generation: Generation) -> Self {
        Self(generation.bits())
    }

    pub(super) const fn waits(generation: Generation, ticket: u64) -> Self {
        Self(generation.bits() | (ticket & TICKET) << TICKET_SHIFT | WAITS)
    }

    pub(super) const fn generation(self) -> Generation {
        Generation::of(self.0)
    }

    pub(super) const fn is_out(self) -> bool {
        self.0 & (WAITS | NEXT) == 0
    }

    pub(super) const fn is_next(self) -> bool {
        self.0 & NEXT != 0
    }

    /// The same state, but next.
    pub(super) const fn next(self) -> Self {
        Self(self.0 | NEXT)
    }

    pub(super) const fn ticket(self) -> u64 {
        self.0 >> TICKET_SHIFT & TICKET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch() {
        let word = Holder(0).given_to(63).torn_by(5).torn_by(6);
        assert_eq!((word.party(), word.torn(), word.others()), (Some(63), Some(5), false));
        let word = Holder(word.0 | OTHERS);
        let given = Holder(word.0.wrapping_add(hand_over(63, 0)));
        assert_eq!((given.party(), given.torn(), given.others()), (Some(0), Some(5), true));
        assert_eq!(given.0, word.given_to(0).0);
        let back = Holder(given.0.wrapping_add(hand_over(0, 63)));
        assert!(back.is(63) && !back.is(0) && back.0 == word.0 + 2 * CHANGE);
        let reported = Holder(back.0.wrapping_add(back.untorn()));
        assert_eq!((reported.torn(), reported.free().party(), reported.free().others()), (None, None, false));
        assert_eq!(Holder(0).untorn(), 0);
    }

    #[test]
    fn a_state_keeps_its_ticket_and_its_writer() {
        let generation = Generation::of(u64::MAX);
        let waits = State::waits(generation, u64::MAX);
        assert_eq!((waits.generation(), waits.ticket(), waits.is_out()), (generation, TICKET, false));
        assert!(!waits.is_next() && waits.next().is_next() && !waits.next().is_out());
        assert_eq!((waits.next().ticket(), waits.next().generation()), (TICKET, generation));
        assert_eq!(waits.next().next(), waits.next());
        assert!(State::out(generation).is_out());
    }
}
