// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::{LockParty, Misuse, Store};

/// The holder of a resource and its waiters, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<S> {
    /// A ring buffer.
    places: S,
    first: usize,
    len: usize,
    pub(crate) holder: Option<LockParty>,
}

/// A task that waits for a global resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiter {
    pub(crate) party: LockParty,
    /// For the rule: a priority, or the instant of the request.
    pub(crate) number: u64,
}

impl Waiter {
    /// An empty place.
    pub const EMPTY: Self = Self { party: LockParty { core: 0, task: 0 }, number: 0 };
}

impl<S: Store<Waiter>> Fifo<S> {
    pub(crate) fn new(places: S) -> Self {
        Self { places, first: 0, len: 0, holder: None }
    }

    /// Returns whether the request is granted at once.
    pub(crate) fn request(&mut self, party: LockParty, number: u64) -> Result<bool, Misuse> {
        if self.holder == Some(party) {
            return Err(Misuse::Again);
        }
        if self.holder.is_none() {
            self.holder = Some(party);
            return Ok(true);
        }
        let places = self.places.as_mut();
        if self.len == places.len() {
            return Err(Misuse::Resource);
        }
        let mut at = self.first + self.len;
        if at >= places.len() {
            at -= places.len();
        }
        places[at] = Waiter { party, number };
        self.len += 1;
        Ok(false)
    }

    pub(crate) fn pass(&mut self, party: LockParty, to: LockParty) -> Result<(), Misuse> {
        if self.holder != Some(party) {
            return Err(Misuse::NotHolder);
        }
        self.holder = Some(to);
        Ok(())
    }

    pub(crate) fn release(&mut self, party: LockParty) -> Result<Option<Waiter>, Misuse> {
        if self.holder != Some(party) {
            return Err(Misuse::NotHolder);
        }
        self.holder = None;
        if self.len == 0 {
            return Ok(None);
        }
        let places = self.places.as_ref();
        let next = places[self.first];
        self.first = if self.first + 1 == places.len() { 0 } else { self.first + 1 };
        self.len -= 1;
        self.holder = Some(next.party);
        Ok(Some(next))
    }
}
