// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The end of a bulk channel in a client's process: it reads blocks where they lie, in memory that it cannot write.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;

use taut_lock::Listener;
use taut_plan::Mechanism;
use taut_segment::Role;
use taut_share::bulk::reserved;
use taut_share::{LINE_BYTES, Memory};
use taut_sys::clock;
use taut_time::Duration;

use crate::Payload;
use crate::client_end::{ALIVE_NS, Attachment, EndError, Hold, LOOK_NS};
use crate::pool::{PoolBlock, TakingPool};

impl Attachment {
    /// Makes the receiving end of a bulk channel; one at a time. It begins after the last block that an end of this client
    /// received, with the oldest that waits.
    ///
    /// # Errors
    /// [`EndError`].
    pub fn block_receiver<P: Payload>(&self, channel: &str) -> Result<ClientBlockReceiver<P>, EndError> {
        let entry =
            self.attached().entry_as(channel, Role::Reads, &P::layout()).map_err(EndError::Segment)?;
        let mechanism = || EndError::Mechanism(channel.to_owned());
        let reserves = Mechanism::from_word(&entry.mechanism) == Some(Mechanism::ReservedBulk);
        if !reserves || entry.triggered || entry.value_size as usize != size_of::<P>() {
            return Err(mechanism());
        }
        let hold = Hold::alone(self, entry).ok_or_else(|| EndError::Twice(channel.to_owned()))?;
        let region = self.attached().region(channel).map_err(|_| mechanism())?;
        let line = self.attached().reservation(channel).ok().flatten();
        let line = line.filter(|line| line.len() == LINE_BYTES).ok_or_else(mechanism)?;
        // SAFETY:
        // - `region` and `reservation` checked that the two lie inside mappings, at multiples of 128; the mappings stay where they
        //   are as long as the hold, hence longer than the pool (fields drop in order), and their files are sealed against
        //   shrinking
        // - the application made both for this channel alone; that it could lie is accepted: a client trusts the application
        //   that it attaches to
        // - the region is mapped read-only, and a receiver only loads from it; the line is mapped for writing (`attach`)
        let memory = unsafe {
            let pool = Memory::from_raw(region.cast(), region.len());
            (pool, Memory::from_raw(line.cast(), line.len()))
        };
        // SAFETY:
        // - one connection at a time has this client's name, and keeps it as long as the hold lives; in this process one hold at
        //   a time is alone, and the last one's end and block ended before it
        // - the application's sender keeps to the protocol, as above
        let pool = unsafe { reserved::receiver(memory.0, memory.1, entry.capacity) };
        let pool = TakingPool::OfClient(pool.map_err(|_| mechanism())?);
        let listener = hold.listener().ok_or_else(mechanism)?;
        let last = Cell::new(pool.before());
        Ok(ClientBlockReceiver { pool, listener, last, lost: Cell::new(0), hold })
    }
}

/// The receiving end of a bulk channel in a client's process.
pub struct ClientBlockReceiver<P: Payload> {
    // Before `hold`, whose memory it uses.
    pool: TakingPool<'static, P>,
    listener: Option<Listener<'static>>,
    /// The number of the last block.
    last: Cell<u64>,
    lost: Cell<u64>,
    hold: Hold,
}

impl<P: Payload> fmt::Debug for ClientBlockReceiver<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientBlockReceiver").field(&self.hold.channel()).finish()
    }
}

impl<P: Payload> ClientBlockReceiver<P> {
    /// The oldest block that waits; `None` if none does, or if the application takes blocks back as fast as this call looks for
    /// them. The application does not write the block until the result is dropped.
    #[expect(
        clippy::should_implement_trait,
        reason = "the block borrows the end, which an iterator's item cannot"
    )]
    pub fn next(&mut self) -> Option<ClientBlock<'_, P>> {
        self.pool.reclaim();
        self.take()
    }

    /// As [`ClientBlockReceiver::next`], but if no block waits, sleeps until one comes, until the application has ended, or for at most
    /// `patience`. `None` if there is no block then.
    ///
    /// If the application does not wake this client, it looks every millisecond. It notices within 10 ms that the application has
    /// ended.
    pub fn next_within(&mut self, patience: Duration) -> Option<ClientBlock<'_, P>> {
        self.pool.reclaim();
        let end_ns = clock::monotonic_ns().saturating_add(patience.as_ns());
        loop {
            // The epoch is read before the look, so that no wake is missed.
            let epoch = self.listener.as_ref().map(Listener::epoch);
            if let Some(block) = self.take() {
                return Some(block);
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= end_ns || !self.hold.is_owner_alive() {
                // What was sent last may have come after the look above.
                return self.take();
            }
            match self.listener.as_ref().zip(epoch) {
                Some((listener, epoch)) => {
                    let _ = listener.wait(epoch, Some(end_ns.min(now_ns.saturating_add(ALIVE_NS))));
                }
                None => clock::sleep_until(end_ns.min(now_ns.saturating_add(LOOK_NS))),
            }
        }
    }

    fn take(&self) -> Option<ClientBlock<'_, P>> {
        let block = self.pool.receive()?;
        let missed = block.number().saturating_sub(self.last.replace(block.number())).saturating_sub(1);
        self.lost.set(self.lost.get().saturating_add(missed));
        Some(ClientBlock(block))
    }

    /// How many blocks the application has taken back so far that this end did not get. It learns of them with the next block
    /// that it receives.
    pub fn lost(&self) -> u64 {
        self.lost.get()
    }
}

/// A block lent to a client's code, which reads it where it lies. Dropped, it goes back to the sender.
#[must_use = "dropped, it goes back to the sender"]
pub struct ClientBlock<'r, P: Payload>(PoolBlock<'r, 'static, P>);

impl<P: Payload> ClientBlock<'_, P> {
    /// The number of the block, counted by the sender from 1.
    pub fn number(&self) -> u64 {
        self.0.number()
    }
}

impl<P: Payload> Deref for ClientBlock<'_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.0
    }
}

impl<P: Payload> fmt::Debug for ClientBlock<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientBlock").field(&self.number()).finish()
    }
}
