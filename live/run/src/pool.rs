// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The two protocols of bulk channels behind one form: between tasks, and from a task to a client.

use std::ops::{Deref, DerefMut};

use taut_share::bulk::{self, reserved};

use crate::Payload;

/// What lends blocks to a sender.
pub(crate) enum LendingPool<'p, P: Payload> {
    /// To a task; `true` if it takes back what waits.
    ToTask(bulk::BlockSender<'p, P>, bool),
    /// To a client: it always takes back what it needs.
    ToClient(Box<reserved::RecallingSender<'p, P>>),
}

impl<'p, P: Payload> LendingPool<'p, P> {
    /// A block, if there is one.
    pub(crate) fn loan(&self) -> Option<PoolLoan<'_, 'p, P>> {
        match self {
            Self::ToTask(pool, true) => pool.loan_or_recall().map(PoolLoan::ToTask),
            Self::ToTask(pool, false) => pool.loan().map(PoolLoan::ToTask),
            Self::ToClient(pool) => pool.loan().map(PoolLoan::ToClient),
        }
    }

    /// A certain block.
    pub(crate) fn loan_block(&self, block: u32) -> Option<PoolLoan<'_, 'p, P>> {
        match self {
            Self::ToTask(pool, _) => pool.loan_block(block).map(PoolLoan::ToTask),
            Self::ToClient(pool) => pool.loan_block(block).map(PoolLoan::ToClient),
        }
    }

    /// Takes back the loan that was leaked.
    pub(crate) fn reclaim(&mut self) {
        match self {
            Self::ToTask(pool, _) => _ = pool.reclaim(),
            Self::ToClient(pool) => _ = pool.reclaim(),
        }
    }
}

/// A block lent to a sender.
pub(crate) enum PoolLoan<'s, 'p, P: Payload> {
    ToTask(bulk::Loan<'s, 'p, P>),
    ToClient(reserved::RecallingLoan<'s, 'p, P>),
}

impl<P: Payload> PoolLoan<'_, '_, P> {
    pub(crate) fn send(self, stamp: u64) -> u64 {
        match self {
            Self::ToTask(loan) => loan.send_stamped(stamp),
            Self::ToClient(loan) => loan.send(stamp),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::ToTask(loan) => loan.number(),
            Self::ToClient(loan) => loan.number(),
        }
    }

    pub(crate) fn block(&self) -> u32 {
        match self {
            Self::ToTask(loan) => loan.block(),
            Self::ToClient(loan) => loan.block(),
        }
    }

    pub(crate) fn recalled(&self) -> Option<u64> {
        match self {
            Self::ToTask(loan) => loan.recalled(),
            Self::ToClient(loan) => loan.recalled(),
        }
    }
}

impl<P: Payload> Deref for PoolLoan<'_, '_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        match self {
            Self::ToTask(loan) => loan,
            Self::ToClient(loan) => loan,
        }
    }
}

impl<P: Payload> DerefMut for PoolLoan<'_, '_, P> {
    fn deref_mut(&mut self) -> &mut P {
        match self {
            Self::ToTask(loan) => loan,
            Self::ToClient(loan) => loan,
        }
    }
}

/// What lends received blocks.
pub(crate) enum TakingPool<'p, P: Payload> {
    OfTask(bulk::BlockReceiver<'p, P>),
    /// Of a client; in the application, of one that a test plays.
    OfClient(reserved::ReservingReceiver<'p, P>),
}

impl<'p, P: Payload> TakingPool<'p, P> {
    /// The oldest block that waits, if there is one.
    pub(crate) fn receive(&self) -> Option<PoolBlock<'_, 'p, P>> {
        match self {
            Self::OfTask(pool) => pool.receive().ok().flatten().map(PoolBlock::OfTask),
            Self::OfClient(pool) => pool.receive().ok().flatten().map(PoolBlock::OfClient),
        }
    }

    /// Gives the block back that was leaked.
    pub(crate) fn reclaim(&mut self) {
        match self {
            Self::OfTask(pool) => _ = pool.reclaim(),
            Self::OfClient(pool) => pool.reclaim(),
        }
    }

    /// The number of the last block that was received before this end was made. A task's end counts all that it missed.
    pub(crate) fn before(&self) -> u64 {
        match self {
            Self::OfTask(_) => 0,
            Self::OfClient(pool) => pool.expected() - 1,
        }
    }
}

/// A received block.
pub(crate) enum PoolBlock<'r, 'p, P: Payload> {
    OfTask(bulk::ReceivedBlock<'r, 'p, P>),
    OfClient(reserved::ReservedBlock<'r, 'p, P>),
}

impl<P: Payload> PoolBlock<'_, '_, P> {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::OfTask(block) => block.number(),
            Self::OfClient(block) => block.number(),
        }
    }

    pub(crate) fn stamp(&self) -> u64 {
        match self {
            Self::OfTask(block) => block.stamp(),
            Self::OfClient(block) => block.stamp(),
        }
    }
}

impl<P: Payload> Deref for PoolBlock<'_, '_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        match self {
            Self::OfTask(block) => block,
            Self::OfClient(block) => block,
        }
    }
}
