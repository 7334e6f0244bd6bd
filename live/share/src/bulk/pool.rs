// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The layout of a pool of blocks: its words, what they mean, and checked block numbers.

use taut_atomic::{AtomicU64, Claimed, LentPlace, LentPlaceMut, StridedWords};

use crate::places::Places;
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

/// Largest number of blocks of a pool: each side keeps its own blocks as the bits of one word.
pub const BLOCKS_MAX: u32 = 64;

/// Bytes that a pool of `blocks` blocks needs; `None` if it cannot have that many, or if that overflows.
pub const fn bytes<T: Plain>(blocks: u32) -> Option<usize> {
    if blocks == 0 || blocks > BLOCKS_MAX {
        return None;
    }
    let Some(all) = block_bytes::<T>().checked_mul(blocks as usize) else { return None };
    all.checked_add(3 * words_bytes(blocks))
}

const fn block_bytes<T: Plain>() -> usize {
    line_bytes(word_bytes::<T>())
}

/// Bytes of one word for each block, in whole lines.
const fn words_bytes(blocks: u32) -> usize {
    line_bytes(8 * blocks as usize)
}

/// The owner of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The sender: the block is in its stock or lent to its user. Zero means this.
    Sender = 0,
    /// On the way: the side that exchanges this for itself takes the block.
    Sent = 1,
    /// The receiver.
    Receiver = 2,
}

impl Owner {
    /// A block's word: the number of its last sending, and its owner now.
    #[inline(always)]
    pub(super) const fn word(self, number: u64) -> u64 {
        number << 8 | self as u64
    }

    /// Number and owner in a block's word; no owner if no end can have written the word.
    #[inline(always)]
    pub(super) const fn of(word: u64) -> (u64, Option<Self>) {
        let owner = match word & 0xFF {
            0 => Some(Self::Sender),
            1 => Some(Self::Sent),
            2 => Some(Self::Receiver),
            _ => None,
        };
        (word >> 8, owner)
    }
}

/// The number of a block of this pool. Holding one proves that it is below the number of blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Block(u8);

impl Block {
    /// The first block, which every pool has.
    pub(super) const FIRST: Self = Self(0);

    /// Its number.
    #[inline(always)]
    pub(super) const fn index(self) -> u32 {
        self.0 as u32
    }

    /// A word in the order of sending: the number of a sending, and the block that it sent.
    #[inline(always)]
    pub(super) const fn word(self, number: u64) -> u64 {
        number << 8 | self.0 as u64
    }
}

/// A set of blocks, as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Blocks(u64);

impl Blocks {
    pub(super) const NONE: Self = Self(0);

    #[inline(always)]
    pub(super) const fn has(self, block: Block) -> bool {
        self.0 >> block.0 & 1 == 1
    }

    #[inline(always)]
    pub(super) const fn with(self, block: Block) -> Self {
        Self(self.0 | 1 << block.0)
    }

    #[inline(always)]
    pub(super) const fn without(self, block: Block) -> Self {
        Self(self.0 & !(1 << block.0))
    }

    /// How many they are.
    #[inline(always)]
    pub(super) const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The blocks of this set that are in neither of the two.
    #[inline(always)]
    pub(super) const fn outside(self, first: Self, second: Self) -> Self {
        Self(self.0 & !(first.0 | second.0))
    }
}

impl Iterator for Blocks {
    type Item = Block;

    #[inline(always)]
    fn next(&mut self) -> Option<Block> {
        let first = Block(self.0.trailing_zeros() as u8);
        (self.0 != 0).then(|| {
            *self = self.without(first);
            first
        })
    }
}

/// The words and blocks of a pool, as both ends see them.
pub(super) struct Pool<'m, T> {
    order: StridedWords<'m>,
    owners: StridedWords<'m>,
    stamps: StridedWords<'m>,
    blocks: Places<'m, T>,
    count: u8,
}

impl<T> Clone for Pool<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pool<'_, T> {}

impl<'m, T: Plain> Pool<'m, T> {
    pub(super) fn new(memory: &Claimed<'m>, blocks: u32) -> Result<Self, LayoutError> {
        fit(memory, bytes::<T>(blocks).ok_or(LayoutError::Capacity)?)?;
        let (words, count) = (words_bytes(blocks), blocks as usize);
        let stamps = 2 * words + block_bytes::<T>() * count;
        Ok(Self {
            order: memory.words(0, 8, count),
            owners: memory.words(words, 8, count),
            stamps: memory.words(stamps, 8, count),
            blocks: Places::new(memory, 2 * words, block_bytes::<T>(), count),
            count: blocks as u8,
        })
    }

    /// Number of blocks.
    #[inline(always)]
    pub(super) fn count(&self) -> u64 {
        u64::from(self.count)
    }

    /// All blocks.
    #[inline(always)]
    pub(super) fn all(&self) -> Blocks {
        Blocks(u64::MAX >> (64 - self.count()))
    }

    /// Number and block in a word of the order; no block if no end can have written the word.
    #[inline(always)]
    pub(super) fn sending(&self, word: u64) -> (u64, Option<Block>) {
        let block = word as u8;
        (word >> 8, (block < self.count).then_some(Block(block)))
    }

    /// The index of sending `number` in the order.
    #[inline(always)]
    pub(super) fn place(&self, number: u64) -> usize {
        (number % self.count()) as usize
    }

    /// The word for sending `number` in the order, and for all numbers that differ from it by a multiple of the
    /// count.
    #[inline(always)]
    pub(super) fn order(&self, number: u64) -> &'m AtomicU64 {
        // SAFETY: a remainder of the count is below it.
        unsafe { self.order.get(self.place(number)).unwrap_unchecked() }
    }

    /// The word that names the owner of `block`.
    #[inline(always)]
    pub(super) fn owner(&self, block: Block) -> &'m AtomicU64 {
        // SAFETY: a block is below the count (type).
        unsafe { self.owners.get(usize::from(block.0)).unwrap_unchecked() }
    }

    /// The stamp of `block`'s last sending.
    #[inline(always)]
    pub(super) fn stamp(&self, block: Block) -> &'m AtomicU64 {
        // SAFETY: a block is below the count (type).
        unsafe { self.stamps.get(usize::from(block.0)).unwrap_unchecked() }
    }

    /// Lends `block` for reading.
    ///
    /// # Safety
    ///
    /// Nobody writes the block until the result is dropped.
    #[inline(always)]
    pub(super) unsafe fn lend(&self, block: Block) -> LentPlace<'m, T> {
        // SAFETY: a block is below the count (type); exclusive against writes (caller).
        unsafe { self.blocks.lend_place(usize::from(block.0)) }
    }

    /// Lends `block` for writing.
    ///
    /// # Safety
    ///
    /// Nobody else accesses the block until the result is dropped.
    #[inline(always)]
    pub(super) unsafe fn lend_mut(&self, block: Block) -> LentPlaceMut<'m, T> {
        // SAFETY: a block is below the count (type); exclusive (caller).
        unsafe { self.blocks.lend_place_mut(usize::from(block.0)) }
    }
}
