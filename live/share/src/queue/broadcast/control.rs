// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What decides for a reader of a broadcast: whether the writer respects it, and whether a value waits for it.
//!
//! A task that is paused, stopped or has failed takes nothing. If the writer respected it meanwhile, the queue would be
//! full for all readers. So the party that decides about the task releases the reader, which then takes no part. Later
//! that party lets the reader rejoin, behind all values that were pushed before.

use core::marker::PhantomData;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, LINE_BYTES, Memory};

use super::super::position::Position;
use super::super::qrtwo::Overwrite;
use super::super::ring;
use super::{HEADS, RELEASED, Respected, check, slots_offset};
use crate::places::Places;
use crate::plain::slot_bytes;
use crate::{LayoutError, Plain};

/// The control of reader `which`, from 0: releases it and lets it rejoin. It acts while no operation of the reader runs,
/// and each happens before the other; otherwise the reader undoes what the control did.
///
/// # Errors
///
/// [`LayoutError`], as [`super::reader`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of readers and capacity, or zeros.
pub unsafe fn reader_control<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    capacity: u32,
    which: u32,
) -> Result<ReaderControl<'_>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers, capacity)?;
    if which >= readers {
        return Err(LayoutError::Readers);
    }
    let head = memory.word(HEADS + which as usize * LINE_BYTES);
    Ok(ReaderControl { tail: memory.word(ring::TAIL), head })
}

/// Decides whether the writer respects a reader. Made by [`reader_control`].
#[derive(Debug)]
pub struct ReaderControl<'m> {
    tail: &'m AtomicU64,
    head: &'m AtomicU64,
}

impl ReaderControl<'_> {
    /// Lets the writer go on without the reader: its values no longer wait. Wait-free: 1 store.
    #[inline]
    pub fn release(&mut self) {
        self.head.store(RELEASED, Release); // O1 pop
    }

    /// Lets a released reader go on with the next value that is pushed; does nothing to a reader that takes part. Wait-free:
    /// 2 loads, 1 store.
    ///
    /// While at most `capacity` values wait for it at any time, it gets every value from there on. The writer respects it
    /// from the next time that it looks at the heads, at the latest `capacity` pushes later; until then a reader for which
    /// more wait loses values and counts them.
    #[inline]
    pub fn rejoin(&mut self) {
        if self.head.load(Relaxed) != RELEASED {
            return;
        }
        // Proof: Values that are pushed between this load and the store wait for the reader, as those after it do. By I2 of
        // `ring` the last `capacity` values before the tail are whole, whether the writer respects the reader or not. So
        // while no more than that wait, the reader loses none.
        let tail = ring::believed(self.tail.load(Acquire)); // O2 publish
        self.head.store(tail, Release); // O1 pop
    }
}

impl<T: Plain> ring::Reader<'_, T, Overwrite, Respected<'_>> {
    /// Follows the reader's control, before a pop: a reader that was released has no values, and one that has rejoined
    /// goes on with those that were pushed since. Returns whether the reader takes part. Wait-free: 1 load.
    #[inline]
    pub fn goes_on(&mut self) -> bool {
        // Relaxed: only this end and its control store the word, one after the other.
        let head = self.trace().0.load(Relaxed);
        if head == RELEASED {
            return false;
        }
        if head != self.next() {
            self.go_on_at(head);
        }
        true
    }
}

/// An end that looks whether a value waits for reader `which`, from 0, and takes nothing: for the party that decides
/// when the reader runs.
///
/// # Errors
///
/// [`LayoutError`], as [`super::reader`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of readers and capacity, or zeros.
pub unsafe fn reader_watcher<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    capacity: u32,
    which: u32,
) -> Result<ReaderWatcher<'_, T>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, readers, capacity)?;
    if which >= readers {
        return Err(LayoutError::Readers);
    }
    Ok(ReaderWatcher {
        tail: memory.word(ring::TAIL),
        head: memory.word(HEADS + which as usize * LINE_BYTES),
        values: Places::new(&memory, slots_offset(readers), slot_bytes::<T>(), slots),
        capacity: u64::from(capacity),
        slots,
        of: PhantomData,
    })
}

/// The end that looks. Made by [`reader_watcher`].
pub struct ReaderWatcher<'m, T> {
    tail: &'m AtomicU64,
    head: &'m AtomicU64,
    values: Places<'m, T>,
    capacity: u64,
    slots: usize,
    of: PhantomData<T>,
}

impl<T: Plain> ReaderWatcher<'_, T> {
    /// The number of the oldest value that waits; `None` if none does.
    #[inline]
    fn oldest(&self) -> Option<u64> {
        let head = self.head.load(Relaxed);
        if head == RELEASED {
            return None;
        }
        let tail = self.tail.load(Acquire); // O2 publish
        let waiting = tail.wrapping_sub(head);
        // Values further behind than the capacity may be overwritten: the reader goes on at most `capacity` values behind.
        (waiting > 0).then(|| if waiting > self.capacity { tail.wrapping_sub(self.capacity) } else { head })
    }

    /// Whether no value waits for the reader; none waits for one that was released. Wait-free: 2 loads.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.oldest().is_none()
    }

    /// The first word of the oldest waiting value; `None` if none waits. If the writer overwrites the value meanwhile, which
    /// it does only to a reader that it does not respect, the word is that of a later value. Wait-free: 2 loads, 1 word.
    #[inline]
    pub fn oldest_word(&self) -> Option<u64> {
        let number = self.oldest()?;
        let slot = Position::new(number, self.slots).slot;
        // SAFETY: the slot is below the number of slots (`Position`); only `store` writes slots.
        Some(unsafe { self.values.load_first_word(slot) })
    }
}
