// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Multiprocessor priority ceiling protocol: tasks suspend for a global resource, by priority.
//!
//! ```text
//! Rule        a task that asks while another holds the resource suspends; the most urgent waiter is next, FIFO among
//!             equals; a holder is boosted above every task, to the ceiling that the resource has on its core
//! Symbols     ceiling on a core: the largest priority among the users on other cores
//! Needs       global sections neither inside others nor around others
//! Cost        request O(waiters); release O(1)
//! Source      [Rajkumar90]; [Lakshmanan09] with suspension; local resources by the ceiling protocol
//! ```

use taut_time::Instant;

use crate::fifo::Waiter;
use crate::{Global, GlobalAnswer, Grant, LockParty, Misuse, Store};

/// A global resource for which tasks suspend by priority.
#[derive(Clone, Debug)]
pub struct Mpcp<S, C> {
    /// The waiters; the next one is last.
    waiting: S,
    len: usize,
    /// The ceiling on each core.
    ceilings: C,
    holder: Option<LockParty>,
}

impl<S: Store<Waiter>, C: Store<u32>> Mpcp<S, C> {
    /// A free resource. It needs as many places as tasks use it, less one; a ceiling per core, larger = more urgent.
    pub fn new(places: S, ceilings: C) -> Self {
        Self { waiting: places, len: 0, ceilings, holder: None }
    }

    fn grant(&mut self, party: LockParty) -> Grant {
        self.holder = Some(party);
        let ceiling = self.ceilings.as_ref().get(party.core).copied().unwrap_or(0);
        Grant { party, rank: u64::from(u32::MAX - ceiling) }
    }
}

impl<S: Store<Waiter>, C: Store<u32>> Global for Mpcp<S, C> {
    const SPINS: bool = false;

    fn request(&mut self, _: Instant, party: LockParty, priority: u32) -> Result<GlobalAnswer, Misuse> {
        match self.holder {
            None => return Ok(GlobalAnswer::Granted(self.grant(party))),
            Some(holder) if holder == party => return Err(Misuse::Again),
            Some(_) => {}
        }
        let waiting = self.waiting.as_mut();
        if self.len == waiting.len() {
            return Err(Misuse::Resource);
        }
        let number = u64::from(priority);
        // Equal waiters that came earlier, and more urgent ones, stay behind it in the slice.
        let mut at = self.len;
        while at > 0 && waiting[at - 1].number >= number {
            waiting[at] = waiting[at - 1];
            at -= 1;
        }
        waiting[at] = Waiter { party, number };
        self.len += 1;
        Ok(GlobalAnswer::Waits)
    }

    fn release(&mut self, party: LockParty) -> Result<Option<Grant>, Misuse> {
        if self.holder != Some(party) {
            return Err(Misuse::NotHolder);
        }
        self.holder = None;
        if self.len == 0 {
            return Ok(None);
        }
        self.len -= 1;
        let next = self.waiting.as_ref()[self.len].party;
        Ok(Some(self.grant(next)))
    }

    fn pass(&mut self, party: LockParty, to: LockParty) -> Result<(), Misuse> {
        if self.holder != Some(party) {
            return Err(Misuse::NotHolder);
        }
        self.holder = Some(to);
        Ok(())
    }

    fn holder(&self) -> Option<LockParty> {
        self.holder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_priority_then_first_come() {
        let party = |core, task| LockParty { core, task };
        let now = Instant::from_ns(0);
        let mut resource = Mpcp::new([Waiter::EMPTY; 4], [7, 8]);
        let granted =
            |core, task, ceiling: u32| Grant { party: party(core, task), rank: (u32::MAX - ceiling).into() };
        assert_eq!(resource.request(now, party(0, 0), 1), Ok(GlobalAnswer::Granted(granted(0, 0, 7))));
        for (who, priority) in [(party(1, 0), 5), (party(1, 1), 9), (party(0, 1), 5), (party(1, 2), 3)] {
            assert_eq!(resource.request(now, who, priority), Ok(GlobalAnswer::Waits));
        }
        assert_eq!(resource.request(now, party(0, 3), 3), Err(Misuse::Resource));
        let mut holder = party(0, 0);
        for (core, task, ceiling) in [(1, 1, 8), (1, 0, 8), (0, 1, 7), (1, 2, 8)] {
            assert_eq!(resource.release(holder), Ok(Some(granted(core, task, ceiling))));
            holder = party(core, task);
        }
        assert_eq!(resource.release(holder), Ok(None));
    }

    #[test]
    fn what_is_passed_is_granted_to_nobody() {
        let party = |core, task| LockParty { core, task };
        let now = Instant::from_ns(0);
        let mut resource = Mpcp::new([Waiter::EMPTY; 2], [7, 8]);
        let granted =
            |core, task, ceiling: u32| Grant { party: party(core, task), rank: (u32::MAX - ceiling).into() };
        assert_eq!(resource.pass(party(0, 0), party(1, 0)), Err(Misuse::NotHolder));
        assert_eq!(resource.request(now, party(0, 0), 1), Ok(GlobalAnswer::Granted(granted(0, 0, 7))));
        assert_eq!(resource.request(now, party(1, 0), 5), Ok(GlobalAnswer::Waits));
        assert_eq!(resource.pass(party(0, 0), party(9, 9)), Ok(()));
        assert_eq!(resource.holder(), Some(party(9, 9)));
        // The task that passed the resource on may ask again, and is the more urgent of the two.
        assert_eq!(resource.request(now, party(0, 0), 6), Ok(GlobalAnswer::Waits));
        assert_eq!(resource.release(party(9, 9)), Ok(Some(granted(0, 0, 7))));
        assert_eq!(resource.release(party(0, 0)), Ok(Some(granted(1, 0, 8))));
    }
}
