// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Buffers that a writer writes in turn, and the word that names the newest: the common part of NBW with many buffers
//! and of its relatives. Each protocol says which fences belong around each step, and why.
//!
//! ```text
//! byte 0    latest: number of the newest write << 8 | its buffer; 0 before the first
//! byte 128  buffers, each on cache lines of its own
//! ```

use core::mem::MaybeUninit;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES};

use super::believed;

use crate::places::Places;
use crate::plain::word_bytes;
use crate::{LayoutError, Plain};

/// Bits of `latest` that name a buffer.
const BUFFER: u64 = 0xff;

/// Bytes from one buffer to the next.
const fn stride<T: Plain>() -> usize {
    let used = word_bytes::<T>().next_multiple_of(64);
    if used == 0 { 64 } else { used }
}

/// Bytes of a ring, in whole lines; `None` unless there are 2 to 256 buffers and the size fits in `usize`.
pub(super) const fn bytes<T: Plain>(buffers: u32) -> Option<usize> {
    if buffers < 2 || buffers > 256 {
        return None;
    }
    let Some(all) = stride::<T>().checked_mul(buffers as usize) else { return None };
    let Some(all) = all.checked_next_multiple_of(LINE_BYTES) else { return None };
    all.checked_add(LINE_BYTES)
}

/// A place in the order of writes.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// The value of `latest` when this write is the newest.
    pub(super) word: u64,
    /// Its buffer, below the count: stored beside the word, so that code that has the turn need not compute it.
    buffer: usize,
}

impl Turn {
    /// The number of its write.
    #[inline(always)]
    pub(super) fn version(self) -> u64 {
        self.word >> 8
    }
}

/// The ring itself. Only [`Ring::store`] and [`Ring::load`] touch its buffers.
pub(super) struct Ring<'m, T> {
    pub(super) latest: &'m AtomicU64,
    buffers: Places<'m, T>,
    /// 2 to 256.
    count: usize,
}

impl<T> Clone for Ring<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ring<'_, T> {}

impl<'m, T: Plain> Ring<'m, T> {
    /// The ring at the start of a memory.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Buffers`], [`LayoutError::TooSmall`].
    pub(super) fn new(memory: &Claimed<'m>, buffers: u32) -> Result<Self, LayoutError> {
        crate::plain::fit(memory, bytes::<T>(buffers).ok_or(LayoutError::Buffers)?)?;
        let count = buffers as usize;
        Ok(Self {
            latest: memory.word(0),
            buffers: Places::new(memory, LINE_BYTES, stride::<T>(), count),
            count,
        })
    }

    /// The turn that a word names; a buffer number that is out of range counts as buffer 0.
    #[inline(always)]
    pub(super) fn turn(&self, word: u64) -> Turn {
        let buffer = (word & BUFFER) as usize;
        Turn { word, buffer: if buffer < self.count { buffer } else { 0 } }
    }

    /// The turn of a new writer's first write.
    pub(super) fn next(&self) -> Turn {
        // Relaxed: the last writer has ended before this call.
        self.after(self.turn(believed(self.latest.load(Relaxed))))
    }

    /// The turn after `turn`.
    #[inline(always)]
    pub(super) fn after(&self, turn: Turn) -> Turn {
        let next = turn.buffer + 1;
        let buffer = if next < self.count { next } else { 0 };
        Turn { word: ((turn.word | BUFFER).wrapping_add(1)) | buffer as u64, buffer }
    }

    /// Copies `value` into the buffer of `turn`.
    #[inline(always)]
    pub(super) fn store(&self, turn: Turn, value: &T) {
        // SAFETY: a turn's buffer is below the count (`turn`, `after`), a T fits (`new`); only this function and
        // `load` touch the buffers.
        unsafe { self.buffers.store(turn.buffer, value) };
    }

    /// Copies the buffer of `turn` while the writer may write it: the copy is a `T` only after the protocol's check.
    #[inline(always)]
    pub(super) fn load(&self, turn: Turn, value: &mut MaybeUninit<T>) {
        // SAFETY: as in `store`.
        unsafe { self.buffers.load_into(turn.buffer, value) };
    }

    /// Whether at `now`, a later value of `latest`, the writer may have reused the buffer of `turn`. The write after
    /// `now` may be in progress; the write that reuses this buffer is `count` writes after `turn`. So the buffer is
    /// whole while `now` is at most `count` - 2 writes after `turn`.
    #[inline(always)]
    pub(super) fn overtaken(&self, turn: Turn, now: u64) -> bool {
        now.wrapping_sub(turn.word & !BUFFER) >= (self.count as u64 - 1) << 8
    }
}
