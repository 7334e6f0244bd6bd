// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Flexible multiprocessor locking protocol, long resources: tasks suspend, in order of request.
//!
//! ```text
//! Rule        a task that asks while another holds the resource suspends; first come, first served; a holder is
//!             boosted, and among the boosted tasks of a core the one that asked first runs
//! Needs       global sections neither inside others nor around others: the caller forms groups
//! Cost        O(1)
//! Source      [Block07]; the order among the boosted is that of FMLP+ [Brandenburg11]
//! ```
//!
//! For short resources use [`Msrp`](crate::Msrp): the user decides which resource is short.

use taut_time::Instant;

use crate::fifo::{Fifo, Waiter};
use crate::{Global, GlobalAnswer, Grant, LockParty, Misuse, Store};

/// A global resource for which tasks suspend in order of request.
#[derive(Clone, Debug)]
pub struct FmlpLong<S> {
    fifo: Fifo<S>,
}

impl<S: Store<Waiter>> FmlpLong<S> {
    /// A free resource. It needs as many places as tasks use it, less one.
    pub fn new(places: S) -> Self {
        Self { fifo: Fifo::new(places) }
    }
}

impl<S: Store<Waiter>> Global for FmlpLong<S> {
    const SPINS: bool = false;

    fn request(&mut self, now: Instant, party: LockParty, _: u32) -> Result<GlobalAnswer, Misuse> {
        let granted = self.fifo.request(party, now.as_ns())?;
        Ok(if granted {
            GlobalAnswer::Granted(Grant { party, rank: now.as_ns() })
        } else {
            GlobalAnswer::Waits
        })
    }

    fn release(&mut self, party: LockParty) -> Result<Option<Grant>, Misuse> {
        let next = self.fifo.release(party)?;
        Ok(next.map(|next| Grant { party: next.party, rank: next.number }))
    }

    fn pass(&mut self, party: LockParty, to: LockParty) -> Result<(), Misuse> {
        self.fifo.pass(party, to)
    }

    fn holder(&self) -> Option<LockParty> {
        self.fifo.holder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_come_first_served_and_ranked_by_request() {
        let at = Instant::from_ns;
        let party = |core, task| LockParty { core, task };
        let mut resource = FmlpLong::new([Waiter::EMPTY; 2]);
        let granted = |core, task, rank| Grant { party: party(core, task), rank };
        assert_eq!(resource.request(at(5), party(0, 1), 1), Ok(GlobalAnswer::Granted(granted(0, 1, 5))));
        assert_eq!(resource.request(at(6), party(0, 1), 1), Err(Misuse::Again));
        assert_eq!(resource.request(at(6), party(1, 0), 1), Ok(GlobalAnswer::Waits));
        assert_eq!(resource.request(at(7), party(2, 0), 9), Ok(GlobalAnswer::Waits));
        assert_eq!(resource.request(at(8), party(3, 0), 9), Err(Misuse::Resource), "two places");
        assert_eq!(resource.release(party(1, 0)), Err(Misuse::NotHolder));
        assert_eq!(
            resource.release(party(0, 1)),
            Ok(Some(granted(1, 0, 6))),
            "the priority is of no account"
        );
        assert_eq!(resource.release(party(1, 0)), Ok(Some(granted(2, 0, 7))));
        assert_eq!(resource.release(party(2, 0)), Ok(None));
        assert_eq!(resource.holder(), None);
    }

    #[test]
    fn what_is_passed_is_granted_to_nobody() {
        let at = Instant::from_ns;
        let party = |core, task| LockParty { core, task };
        let mut resource = FmlpLong::new([Waiter::EMPTY; 2]);
        let granted = |core, task, rank| Grant { party: party(core, task), rank };
        assert_eq!(resource.request(at(5), party(0, 1), 1), Ok(GlobalAnswer::Granted(granted(0, 1, 5))));
        assert_eq!(resource.request(at(6), party(1, 0), 1), Ok(GlobalAnswer::Waits));
        assert_eq!(resource.pass(party(1, 0), party(9, 9)), Err(Misuse::NotHolder));
        assert_eq!(resource.pass(party(0, 1), party(9, 9)), Ok(()));
        assert_eq!(resource.request(at(7), party(0, 1), 1), Ok(GlobalAnswer::Waits));
        assert_eq!(resource.release(party(9, 9)), Ok(Some(granted(1, 0, 6))));
        assert_eq!(resource.release(party(1, 0)), Ok(Some(granted(0, 1, 7))));
    }
}
