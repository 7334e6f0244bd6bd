// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Multiprocessor stack resource policy: tasks spin for a global resource, in order of request.
//!
//! ```text
//! Rule        a task that asks is pinned on its core, spins while another holds the resource, and stays pinned until
//!             it releases it; first come, first served; local resources by SRP, or the immediate ceiling
//! Guarantee   at most one task per core asks, so at most cores − 1 are before a task
//! Needs       global sections neither inside others nor around others
//! Cost        O(1)
//! Source      [Gai01]; FMLP has the same for short resources [Block07]
//! ```

use taut_time::Instant;

use crate::fifo::{Fifo, Waiter};
use crate::{Global, GlobalAnswer, Grant, LockParty, Misuse, Store};

/// A global resource for which tasks spin.
#[derive(Clone, Debug)]
pub struct Msrp<S> {
    fifo: Fifo<S>,
}

impl<S: Store<Waiter>> Msrp<S> {
    /// A free resource. It needs as many places as cores use it, less one.
    pub fn new(places: S) -> Self {
        Self { fifo: Fifo::new(places) }
    }
}

impl<S: Store<Waiter>> Global for Msrp<S> {
    const SPINS: bool = true;

    fn request(&mut self, _: Instant, party: LockParty, _: u32) -> Result<GlobalAnswer, Misuse> {
        let granted = self.fifo.request(party, 0)?;
        Ok(if granted { GlobalAnswer::Granted(Grant { party, rank: 0 }) } else { GlobalAnswer::Waits })
    }

    fn release(&mut self, party: LockParty) -> Result<Option<Grant>, Misuse> {
        let next = self.fifo.release(party)?;
        Ok(next.map(|next| Grant { party: next.party, rank: 0 }))
    }

    fn pass(&mut self, party: LockParty, to: LockParty) -> Result<(), Misuse> {
        self.fifo.pass(party, to)
    }

    fn holder(&self) -> Option<LockParty> {
        self.fifo.holder
    }
}
