// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An end that looks whether a block waits, and takes none.

use taut_atomic::Memory;
use taut_atomic::Ordering::{Acquire, Relaxed};

use super::pool::{Block, Owner, Pool};
use crate::{LayoutError, Plain};

/// The end that looks. Made by [`watcher`].
pub struct Watcher<'m, T> {
    pool: Pool<'m, T>,
}

/// An end that looks whether a block waits, while sender and receiver work: it loads words and no content. There may be
/// any number of them.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T` and number of blocks, or zeros.
pub unsafe fn watcher<T: Plain>(memory: Memory<'_>, blocks: u32) -> Result<Watcher<'_, T>, LayoutError> {
    Ok(Watcher { pool: Pool::new(&memory.claim(), blocks)? })
}

impl<T: Plain> Watcher<'_, T> {
    /// Whether no block waits. If a block is sent, received or recalled meanwhile, the answer is that of before or of after.
    /// Wait-free: N loads, and 1 for each block on the way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting().next().is_none()
    }

    /// The number and the stamp of the oldest block that waits; `None` if none does. If that block is taken and sent again
    /// meanwhile, the stamp may be that of the later sending. Wait-free: N + 1 loads, and 1 for each block on the way.
    #[inline]
    pub fn oldest(&self) -> Option<(u64, u64)> {
        // The sender writes this stamp again only after the block was received or recalled.
        let (number, block) = self.waiting().min_by_key(|(number, _)| *number)?;
        Some((number, self.pool.stamp(block).load(Relaxed)))
    }

    /// The blocks on the way, each with the number of its sending.
    fn waiting(&self) -> impl Iterator<Item = (u64, Block)> {
        // Proof: A block waits from the store into the order on, as the receiver sees it: a sender between its two stores has
        // not sent yet.
        self.pool.all().filter_map(|block| {
            let (number, owner) = Owner::of(self.pool.owner(block).load(Relaxed));
            let is_sent =
                owner == Some(Owner::Sent) && self.pool.order(number).load(Acquire) == block.word(number); // O1 send
            is_sent.then_some((number, block))
        })
    }
}
