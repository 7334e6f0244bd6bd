// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of a bulk channel: its sender fills a block in place, its receiver reads it in place, and no value is copied.
//!
//! An end lends one block at a time. Safe code may leak a loan or a received block. Since that borrows the
//! end, nothing uses it once the end is used again: the end then takes the block back, so no block is lost
//! for good.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use taut_event::{Kind, Refusal};
use taut_lock::Listener;
use taut_plan::STAMP_BYTES;
use taut_sys::clock;
use taut_time::Duration;
use zerocopy::IntoBytes;

use crate::endpoint::JobRate;
use crate::job::EventRecorder;
use crate::pool::{LendingPool, PoolBlock, PoolLoan, TakingPool};
use crate::queue::Wakes;
use crate::tap::ChannelTap;
use crate::values::{LentBlock, TaskValues};
use crate::{Caller, Context, Payload};

/// How long a best-effort sender waits before it asks again for a block.
const NO_BLOCK_PAUSE: Duration = Duration::from_ms(1);
/// How long one sleep of a receiver lasts at most, if nothing ends it.
const LONG: Duration = Duration::from_ms(1_000);

/// Why a sender got no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoanRefused {
    /// No block is free: each is with the receiver, or waits and may not be recalled.
    NoBlock,
    /// The job has sent as many blocks as the manifest's `sends-per-release` allows.
    TooMany,
}

impl fmt::Display for LoanRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoBlock => "no block is free",
            Self::TooMany => "the job has sent as many blocks as the manifest allows",
        })
    }
}

impl std::error::Error for LoanRefused {}

/// The sending end of a bulk channel. One per channel.
pub struct BlockSender<'p, P: Payload> {
    pub(crate) end: LendingEnd<'p, P>,
    pub(crate) wakes: Wakes<'p>,
    pub(crate) rate: JobRate,
}

/// What lends blocks to be sent, and records that.
pub(crate) struct LendingEnd<'p, P: Payload> {
    pool: LendingPool<'p, P>,
    channel: u16,
    /// In a bench.
    tap: Option<Arc<ChannelTap>>,
    /// How many blocks were sent, in a replay: there the pool sends none.
    replayed: Cell<u64>,
}

impl<'p, P: Payload> LendingEnd<'p, P> {
    pub(crate) fn new(pool: LendingPool<'p, P>, channel: u16, tap: Option<Arc<ChannelTap>>) -> Self {
        Self { pool, channel, tap, replayed: Cell::new(0) }
    }

    /// A block, and the number of the one that was taken back for it.
    fn lend<C: Caller>(&self, by: &mut C) -> Option<(PoolLoan<'_, 'p, P>, Option<u64>)> {
        let (event_recorder, job) = by.event_recorder();
        let lent = match event_recorder.values().answer_loan(self.channel) {
            // Nobody sends there, so all blocks are here.
            Some(answer) => {
                answer.and_then(|lent| Some((self.pool.loan_block(lent.block.into())?, lent.recalled)))
            }
            None => self.pool.loan().map(|loan| {
                let recalled = loan.recalled();
                (loan, recalled)
            }),
        };
        let is_lost = lent.as_ref().map_or(C::REAL_TIME, |(_, recalled)| recalled.is_some());
        if is_lost {
            event_recorder.other(event_recorder.now_ns(), Kind::Drop, self.channel, job, 1);
        }
        if event_recorder.values().logs() {
            let (now_ns, values) = (event_recorder.now_ns(), event_recorder.values());
            match &lent {
                // A pool has at most 64 blocks.
                Some((loan, recalled)) => values.lent(
                    now_ns,
                    self.channel,
                    LentBlock { block: loan.block() as u8, recalled: *recalled },
                ),
                None => values.refused(now_ns, self.channel, Refusal::Full),
            }
        }
        lent
    }
}

impl<'p, P: Payload> BlockSender<'p, P> {
    /// A block to fill and to send; it holds an older value, or zeros. If the channel recalls (its `overflow`
    /// is `recall`) and no block is free, this takes back the oldest block that waits, and records that: see
    /// [`BlockLoan::recalled`]. Wait-free: at most two loads and an exchange for each block, and at most one
    /// read of the clock.
    ///
    /// # Errors
    /// [`LoanRefused::NoBlock`], which is recorded as a drop if a job asked; [`LoanRefused::TooMany`],
    /// recorded, if the job has sent as many blocks as the manifest allows.
    pub fn loan<C: Caller>(&mut self, by: &mut C) -> Result<BlockLoan<'_, 'p, P>, LoanRefused> {
        let (event_recorder, job) = by.event_recorder();
        if C::REAL_TIME && !self.rate.allows(job) {
            let now_ns = event_recorder.now_ns();
            event_recorder.other(now_ns, Kind::TooMany, self.end.channel, job, 1);
            event_recorder.values().refused(now_ns, self.end.channel, Refusal::TooMany);
            return Err(LoanRefused::TooMany);
        }
        self.end.pool.reclaim();
        let Self { end, wakes, rate } = self;
        let end = &*end;
        let (loan, recalled) = end.lend(by).ok_or(LoanRefused::NoBlock)?;
        Ok(BlockLoan { loan, recalled, end, wakes, rate })
    }

    /// As [`BlockSender::loan`], but a best-effort task that gets no block asks again every millisecond. `None` if the task is
    /// to stop ([`Context::stopping`]).
    pub fn loan_until_stop(&mut self, context: &mut Context<'_>) -> Option<BlockLoan<'_, 'p, P>> {
        self.end.pool.reclaim();
        let Self { end, wakes, rate } = self;
        let end = &*end;
        loop {
            // The loan that is returned is the one that may have cost another block.
            if let Some((loan, recalled)) = end.lend(context) {
                return Some(BlockLoan { loan, recalled, end, wakes, rate });
            }
            if !context.sleep(NO_BLOCK_PAUSE) {
                return None;
            }
        }
    }
}

/// A block lent to the sender's code, which fills it and then sends it. If the loan is dropped, the block
/// goes back to the sender's end.
#[must_use = "dropped, it goes back"]
pub struct BlockLoan<'s, 'p, P: Payload> {
    loan: PoolLoan<'s, 'p, P>,
    recalled: Option<u64>,
    end: &'s LendingEnd<'p, P>,
    wakes: &'s mut Wakes<'p>,
    rate: &'s mut JobRate,
}

impl<P: Payload> BlockLoan<'_, '_, P> {
    /// Sends the block, and returns its number: 1 for the first, and one more for each block after it.
    /// Wait-free: 3 stores, one read of the clock, and for each party that may sleep until a block comes an
    /// exchange and at most one futex wake. If the channel is recorded, it copies the block before.
    pub fn send<C: Caller>(self, by: &mut C) -> u64 {
        let Self { loan, end, wakes, rate, .. } = self;
        let (event_recorder, job) = by.event_recorder();
        let values = event_recorder.values();
        let replayed = values.answer_send(end.channel).map(|_| end.replayed.get() + 1);
        let number = replayed.unwrap_or(loan.number());
        if !matches!(values, TaskValues::Unrecorded) {
            // While it is the sender's. The copy takes a while, which is not on the block's way.
            values.sent(event_recorder.now_ns(), end.channel, number, loan.as_bytes());
        }
        let sent_ns = event_recorder.now_ns();
        if let Some(tap) = &end.tap {
            tap.keep(sent_ns, number, loan.as_bytes());
        }
        match replayed {
            Some(number) => end.replayed.set(number),
            None => _ = loan.send(sent_ns),
        }
        rate.count();
        event_recorder.other(sent_ns, Kind::Send, end.channel, job, number);
        wakes.notify();
        number
    }

    /// The number of the block that was taken back for this loan: the receiver never gets it.
    pub fn recalled(&self) -> Option<u64> {
        self.recalled
    }
}

impl<P: Payload> Deref for BlockLoan<'_, '_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.loan
    }
}

impl<P: Payload> DerefMut for BlockLoan<'_, '_, P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.loan
    }
}

/// The receiving end of a bulk channel. One per channel.
pub struct BlockReceiver<'p, P: Payload> {
    pub(crate) end: TakingEnd<'p, P>,
    pub(crate) listener: Option<Listener<'p>>,
    pub(crate) rate: JobRate,
    /// In a replay: the recorded block with its stamp, aligned as a payload may be.
    pub(crate) replayed: Vec<u64>,
}

/// Takes blocks, and records each.
pub(crate) struct TakingEnd<'p, P: Payload> {
    pool: TakingPool<'p, P>,
    channel: u16,
    /// The receiving task, if it is real-time: it takes blocks in its jobs alone, which are counted.
    owner: Option<u16>,
    /// The number of the last block.
    last: Cell<u64>,
    lost: Cell<u64>,
}

impl<'p, P: Payload> TakingEnd<'p, P> {
    pub(crate) fn new(pool: TakingPool<'p, P>, channel: u16, owner: Option<u16>) -> Self {
        let last = Cell::new(pool.before());
        Self { pool, channel, owner, last, lost: Cell::new(0) }
    }

    fn take(&self, by: &mut impl Caller) -> Option<ReceivedBlock<'_, 'p, P>> {
        let (event_recorder, _) = by.event_recorder();
        if self.owner.is_some_and(|owner| owner != event_recorder.subject()) {
            return None;
        }
        let Some(block) = self.pool.receive() else {
            self.found_none(event_recorder);
            return None;
        };
        self.took(event_recorder, (block.number(), block.stamp()), block.as_bytes());
        Some(ReceivedBlock(Content::Lent(block)))
    }

    /// Records that no block waited.
    #[inline]
    fn found_none(&self, event_recorder: &EventRecorder) {
        if event_recorder.values().logs() {
            event_recorder.values().nothing(event_recorder.now_ns(), self.channel);
        }
    }

    /// Records that the block of this number was received, which was sent at that instant, and counts those before it that were
    /// taken back.
    #[inline]
    fn took(&self, event_recorder: &mut EventRecorder, (number, sent_ns): (u64, u64), value: &[u8]) {
        let now_ns = event_recorder.now_ns();
        let missed = number.saturating_sub(self.last.replace(number)).saturating_sub(1);
        self.lost.set(self.lost.get().saturating_add(missed));
        event_recorder.values().received(now_ns, self.channel, number, missed, value);
        event_recorder.other(now_ns, Kind::Receive, self.channel, number, now_ns.saturating_sub(sent_ns));
    }
}

impl<'p, P: Payload> BlockReceiver<'p, P> {
    /// The oldest block that waits. `None` if none does, if this job has taken as many as the manifest's
    /// `takes-per-release` allows, or if it is a job of another task. So a job may call it until it gives
    /// nothing, as the bounds of the plan suppose. When the result is dropped, the block goes back to the
    /// sender.
    ///
    /// Wait-free: a load, an exchange and one clock read; after recalls at most two loads and two exchanges for each block. Also
    /// `None` if the sender recalls blocks as fast as this call looks for them, and to anybody but the jobs of the channel's
    /// real-time receiver, if it has one.
    pub fn next<C: Caller>(&mut self, by: &mut C) -> Option<ReceivedBlock<'_, 'p, P>> {
        let (event_recorder, job) = by.event_recorder();
        if self.end.owner.is_some() && !self.rate.allows(job) {
            return None;
        }
        if event_recorder.values().is_replayed() {
            return self.next_replayed(event_recorder);
        }
        self.end.pool.reclaim();
        let block = self.end.take(by)?;
        self.rate.count();
        Some(block)
    }

    /// The block that the recorded job got.
    #[cold]
    fn next_replayed(&mut self, event_recorder: &mut EventRecorder) -> Option<ReceivedBlock<'_, 'p, P>> {
        let bytes = STAMP_BYTES as usize + size_of::<P>();
        self.replayed.resize(bytes.div_ceil(8), 0);
        let stamped = &mut self.replayed.as_mut_bytes()[..bytes];
        if event_recorder.values().answer_read(self.end.channel, stamped)?.is_none() {
            self.end.found_none(event_recorder);
            return None;
        }
        let stamp @ [_, number, ..] = self.replayed.as_slice() else { return None };
        let value = &stamp.as_bytes()[STAMP_BYTES as usize..bytes];
        self.end.took(event_recorder, (*number, stamp[0]), value);
        self.rate.count();
        let value = P::ref_from_bytes(value).ok()?;
        Some(ReceivedBlock(Content::Replayed { value, number: *number }))
    }

    /// As [`BlockReceiver::next`], but if no block waits, a best-effort task sleeps until one comes, until the application
    /// stops, or for at most `patience`. `None` if there is no block then.
    ///
    /// If the manifest gives the channel `reception = "wait"`, the sender wakes this receiver. Otherwise it looks every
    /// millisecond.
    pub fn next_within(
        &mut self,
        context: &mut Context<'_>,
        patience: Duration,
    ) -> Option<ReceivedBlock<'_, 'p, P>> {
        self.end.pool.reclaim();
        self.wait(context, patience)
    }

    fn wait(&self, context: &mut Context<'_>, patience: Duration) -> Option<ReceivedBlock<'_, 'p, P>> {
        let end_ns = clock::monotonic_ns().saturating_add(patience.as_ns());
        loop {
            let epoch = self.listener.as_ref().map(Listener::epoch);
            let changes = context.changes();
            if let Some(block) = self.end.take(context) {
                return Some(block);
            }
            if context.stopping() || clock::monotonic_ns() >= end_ns {
                return None;
            }
            context.wait(self.listener.as_ref().zip(epoch), changes.as_ref(), end_ns);
        }
    }

    /// As [`BlockReceiver::next_within`], but waits until a block comes or the task is to stop
    /// ([`Context::stopping`]). `None` if it is to stop and no block waits: so it still receives what was
    /// sent before the stop.
    pub fn next_until_stop(&mut self, context: &mut Context<'_>) -> Option<ReceivedBlock<'_, 'p, P>> {
        self.end.pool.reclaim();
        loop {
            let is_stopping = context.stopping();
            if let Some(block) = self.wait(context, LONG) {
                return Some(block);
            }
            if is_stopping {
                return None;
            }
        }
    }

    /// How many blocks the sender has recalled so far, which this receiver did not get. The receiver learns
    /// of them with the next block that it receives.
    pub fn lost(&self) -> u64 {
        self.end.lost.get()
    }
}

/// A block lent to the receiver's code, which reads it where it lies. Dropped, it goes back to the sender.
#[must_use = "dropped, it goes back to the sender"]
pub struct ReceivedBlock<'r, 'p, P: Payload>(Content<'r, 'p, P>);

/// Where a received block lies.
enum Content<'r, 'p, P: Payload> {
    Lent(PoolBlock<'r, 'p, P>),
    /// In a replay: with the end.
    Replayed {
        value: &'r P,
        number: u64,
    },
}

impl<P: Payload> ReceivedBlock<'_, '_, P> {
    /// The number of the block, as [`BlockLoan::send`] returned it.
    pub fn number(&self) -> u64 {
        match &self.0 {
            Content::Lent(block) => block.number(),
            Content::Replayed { number, .. } => *number,
        }
    }
}

impl<P: Payload> Deref for ReceivedBlock<'_, '_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        match &self.0 {
            Content::Lent(block) => block,
            Content::Replayed { value, .. } => value,
        }
    }
}
