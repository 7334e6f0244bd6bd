// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the locks between cores and processes have in common.

use std::fmt;

use taut_atomic::{Claimed, LINE_BYTES};

/// The maximum number of parties of a global lock.
pub const PARTIES_LIMIT: u32 = 64;

/// How long to wait for a lock before the wait ends with [`Stuck`], which names a party that the caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as it takes. For memory that no process spoils: a hostile party that writes there can make the wait
    /// endless.
    Endless,
    /// This number of looks at the other parties, each of a few nanoseconds: the same in every run. A party that
    /// sleeps looks once each time it wakes.
    Looks(u64),
    /// Until this instant of CLOCK_MONOTONIC, in nanoseconds. The party reads the clock at every 32nd look, and
    /// when a sleep ends.
    Until(u64),
}

impl Patience {
    /// Whether the patience is over after this number of looks.
    pub(crate) fn over(self, looks: u64) -> bool {
        match self {
            Self::Endless => false,
            Self::Looks(most) => looks >= most,
            Self::Until(deadline) => looks.is_multiple_of(LOOKS) && now() >= deadline,
        }
    }
}

/// One of this number of looks does the expensive checks. In a model every look does, because there is nothing to
/// save.
pub(crate) const LOOKS: u64 = if cfg!(any(loom, shuttle)) { 1 } else { 32 };

#[cfg(not(any(loom, shuttle)))]
pub(crate) fn now() -> u64 {
    taut_sys::clock::monotonic_ns()
}

/// A model has no clock: every deadline has passed.
#[cfg(any(loom, shuttle))]
pub(crate) fn now() -> u64 {
    u64::MAX
}

/// The state in which a party finds the lock that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquiredState {
    /// The last holder released it.
    Clean,
    /// This party died while it held the lock, and no party has got this report before: the value that the lock
    /// protects may be half changed. The lock itself is intact, and the caller holds it.
    OwnerDied(u32),
}

/// The patience is over. The caller does not have the lock, and no longer waits for it, unless the lock says otherwise:
/// [`queued::Party::wait`](crate::queued::Party::wait).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// A party that was before the caller at the last look: it is alive, and holds the lock or is about to.
    pub party: u32,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "party {} of the lock is alive and does not release it", self.party)
    }
}

impl std::error::Error for Stuck {}

/// Why a lock cannot be built there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockLayoutError {
    /// The memory is too short.
    TooSmall {
        /// The bytes that the lock needs.
        needed: usize,
        /// The bytes that the memory has.
        given: usize,
    },
    /// The number of parties is 0 or more than [`PARTIES_LIMIT`], or no party has that number.
    Parties,
    /// The number of processes is 0 or more than [`life::LIMIT`](crate::life::LIMIT), or no place has that number.
    Places,
    /// A living process has that place, or is that party.
    Taken,
}

impl fmt::Display for LockLayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { needed, given } => write!(f, "the object needs {needed} bytes and gets {given}"),
            Self::Parties => write!(f, "a lock has 1 to {PARTIES_LIMIT} parties, counted from 0"),
            Self::Places => {
                write!(f, "there are 1 to {} places for processes, counted from 0", crate::life::LIMIT)
            }
            Self::Taken => f.write_str("a living process already has this place or party"),
        }
    }
}

impl std::error::Error for LockLayoutError {}

/// Checks that the memory is large enough.
pub(crate) fn fit(memory: &Claimed<'_>, needed: usize) -> Result<(), LockLayoutError> {
    let given = memory.bytes();
    if given < needed { Err(LockLayoutError::TooSmall { needed, given }) } else { Ok(()) }
}

/// The byte offset, in the first line of a lock, of the word that says whether the value of the lock is whole. The
/// holder reads that word, so it lies apart from the words that requesting parties change.
pub(crate) const POISON: usize = LINE_BYTES / 2;

/// The bytes of one line for all parties, and one line for each of `many`.
pub(crate) const fn lines(many: u32) -> usize {
    LINE_BYTES * (1 + many as usize)
}

/// A set of parties, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Set(u64);

impl Set {
    pub(crate) const NONE: Self = Self(0);

    /// All parties of a lock that has `count`, which is 1 to [`PARTIES_LIMIT`].
    pub(crate) fn below(count: usize) -> Self {
        Self(u64::MAX >> (64 - count))
    }

    pub(crate) fn with(self, party: u32) -> Self {
        Self(self.0 | 1 << party)
    }

    pub(crate) fn without(self, party: u32) -> Self {
        Self(self.0 & !(1 << party))
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let first = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (first < 64).then_some(first)
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::life::NotClaimed;

    #[test]
    fn a_party_is_in_a_set_once() {
        let set = Set::NONE.with(3).with(63).with(3);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63]);
        assert_eq!(set.without(3).without(3).iter().collect::<Vec<_>>(), [63]);
    }

    #[test]
    fn a_set_of_all_has_each() {
        for count in [1, 5, 63, 64] {
            assert!(Set::below(count).iter().eq(0..count as u32), "{count}");
        }
        let left = Set::below(5).minus(Set::NONE.with(0).with(3).with(9));
        assert_eq!(left.iter().collect::<Vec<_>>(), [1, 2, 4]);
    }

    /// A patience ends after a number of looks, or at an instant that is checked at every 32nd look.
    #[test]
    fn patience_ends() {
        assert!(!Patience::Endless.over(u64::MAX));
        assert_eq!([2, 3, 4].map(|looks| Patience::Looks(3).over(looks)), [false, true, true]);
        let before = now();
        assert!(before > 1, "the clock of this machine runs");
        assert_eq!(
            [31, 32, 33, 64].map(|looks| Patience::Until(before).over(looks)),
            [false, true, false, true]
        );
        let later = Patience::Until(before + 3_600_000_000_000);
        assert_eq!([31, 32, 33, 64].map(|looks| later.over(looks)), [false; 4]);
    }

    #[test]
    fn each_error_says_what_is_wrong() {
        let lives = "party 7 of the lock is alive and does not release it";
        assert_eq!(Stuck { party: 7 }.to_string(), lives);
        let short = LockLayoutError::TooSmall { needed: 512, given: 256 };
        assert_eq!(short.to_string(), "the object needs 512 bytes and gets 256");
        let parties = format!("a lock has 1 to {PARTIES_LIMIT} parties, counted from 0");
        assert_eq!(LockLayoutError::Parties.to_string(), parties);
        assert_eq!(
            LockLayoutError::Places.to_string(),
            "there are 1 to 1024 places for processes, counted from 0"
        );
        assert_eq!(LockLayoutError::Taken.to_string(), "a living process already has this place or party");
        let taken = NotClaimed::Layout(LockLayoutError::Taken);
        assert_eq!(
            taken.to_string(),
            "no place for this process: a living process already has this place or party"
        );
        let system = taut_sys::Error { call: "mmap", errno: 12 };
        assert_eq!(NotClaimed::System(system).to_string(), format!("no place for this process: {system}"));
    }
}
