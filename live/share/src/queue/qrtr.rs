// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! QrtR: every value in order; one writer, one real-time reader; a full queue refuses new values.
//!
//! # Use
//! Samples, commands and events into a control loop, or between two real-time tasks if an analysis shows that the
//! queue is large enough: both ends have the same bound. The writer gets its value back if the queue is full. If the
//! newest value is enough, use [`crate::state`].
//!
//! # Callers
//! `-`: both may run at the same time; `X`: they may not (the types and the safety conditions of [`writer`] and
//! [`reader`] ensure it).
//!
//! |                                                  | the writer's | the reader's |
//! |--------------------------------------------------|--------------|--------------|
//! | `push`, `push_from`, `push_slice`, `push_with`, `write_chunk`, its `len` | X | -            |
//! | `pop`, `pop_into`, `pop_slice`, `pop_with`, `read_chunk`, its `len` | -     | X            |
//! | `oldest` of a [`Watcher`]                        | -            | X            |
//! | its `is_empty`                                   | -            | -            |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words. Both sides are wait-free.
//!
//! | operation | bound                                                                                       |
//! |-----------|---------------------------------------------------------------------------------------------|
//! | `pop`     | 1 load + W words + 1 store; no load while values seen earlier wait; 1 load if empty       |
//! | `pop_into` | the same                                                                                   |
//! | `push`, `push_from` | the same; 1 load if full                                                          |
//! | `pop_with`, `push_with` | the same, with the steps of the closure instead of the W words                |
//! | `pop_slice`, `push_slice` | 1 load + k × W words + 1 store for the k values that fit; no load if that many were seen earlier |
//! | `read_chunk`, `write_chunk` | 1 load, or none; `commit` 1 store                                         |
//! | `len`     | 1 load                                                                                      |
//! | `is_empty` of a watcher | 2 loads                                                                       |
//! | `oldest`  | 2 loads, and the steps of the closure                                                       |
//!
//! # Orderings
//! - O1 push: Release of the tail store ↔ Acquire of the reader's tail load.
//! - O2 pop: Release of the head store ↔ Acquire of the writer's head load.
//!
//! A successor of an end loads that end's counter by Acquire in the same way, so that its own Release stores also
//! cover the accesses of its predecessor.
//!
//! # Crash
//! | crash of                      | the other side sees  | recovery                                             |
//! |-------------------------------|----------------------|------------------------------------------------------|
//! | writer, before its tail store | the earlier values   | a new [`writer`] uses the same slot                  |
//! | writer, after it              | the new value too    | a new [`writer`] continues after it                  |
//! | reader, before its head store | the slot is not free | a new [`reader`] gets the value again: at least once |
//! | reader, after it              | the slot is free     | a new [`reader`] continues after it                  |
//!
//! All values of a slice or chunk share one such store: they are published, or their slots are freed, together.
//!
//! # Source
//! [Perez Ruiz 2020, Listing 5]. We differ: counters never wrap, so that every slot is used and n mod capacity is its
//! index; each side keeps its own counter privately, and remembers the other's counter, which only saves loads (as in
//! the crate rtrb). On a full queue the paper's text waits and its listing refuses; we refuse.

use core::fmt;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory};

pub use super::chunk::{ReadChunk, WriteChunk};
use super::position::Position;
use crate::places::{Places, uninit};
use crate::plain::{fit, slot_bytes};
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0    tail: number of values pushed since the start (stored by the writer)
// byte 128  head: number of values popped since the start (stored by the reader)
// byte 256  capacity slots; slot n mod capacity holds value number n. Slots below 64 bytes are contiguous;
//           each larger one begins a cache line.
// ```
//
// Each side keeps its own counter, the slot that it denotes, and the value of the other's counter that it loaded last.
//
// # Invariants
//
// - I1 head ≤ tail ≤ head + capacity.
// - I2 Only the writer touches slots of values tail ..= head + capacity - 1, only the reader those of
//   head ..= tail - 1. By I1 they are different slots.
// - I3 The value that a side last loaded of the other's counter is at most that counter: with it, I2 holds for a
//   smaller range.

const TAIL: usize = 0;
const HEAD: usize = LINE_BYTES;
const SLOTS: usize = 2 * LINE_BYTES;

/// Bytes that a queue of `capacity` values needs; `None` if that overflows.
pub const fn bytes<T: Plain>(capacity: u32) -> Option<usize> {
    let Some(slots) = slot_bytes::<T>().checked_mul(capacity as usize) else { return None };
    let Some(slots) = slots.checked_next_multiple_of(LINE_BYTES) else { return None };
    slots.checked_add(SLOTS)
}

fn check<T: Plain>(memory: &Claimed<'_>, capacity: u32) -> Result<(), LayoutError> {
    let needed = bytes::<T>(capacity).filter(|_| capacity > 0).ok_or(LayoutError::Capacity)?;
    fit(memory, needed)
}

/// Both ends on one memory, for up to `capacity` values.
///
/// # Errors
///
/// [`LayoutError`].
pub fn pair<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
) -> Result<(Writer<'_, T>, Reader<'_, T>), LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, capacity)?;
    Ok((Writer::attach(&memory, capacity), Reader::attach(&memory, capacity)))
}

/// The writer's end alone; the reader's end is in another process or made by [`reader`]. If a writer dies, at any
/// step, this call attaches its successor.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T` and capacity, or zeros. No other writer of it exists: the last one has
/// ended, and this call happens after that.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>, capacity: u32) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, capacity)?;
    Ok(Writer::attach(&memory, capacity))
}

/// The reader's end alone; the writer's end is in another process or made by [`writer`]. If a reader dies, at any
/// step, this call attaches its successor, which may get a value again that the dead one had copied.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T` and capacity, or zeros. No other reader of it exists: the last one has
/// ended, and this call happens after that.
pub unsafe fn reader<T: Plain>(memory: Memory<'_>, capacity: u32) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, capacity)?;
    Ok(Reader::attach(&memory, capacity))
}

/// An end that looks at the oldest value and takes nothing: for whoever decides when the reader runs.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T` and capacity, or zeros. While [`Watcher::oldest`] runs, no operation of a
/// reader runs, and the last one happens before; and no other process writes the memory.
pub unsafe fn watcher<T: Plain>(memory: Memory<'_>, capacity: u32) -> Result<Watcher<'_, T>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, capacity)?;
    Ok(Watcher {
        shared_tail: memory.word(TAIL),
        shared_head: memory.word(HEAD),
        slots: Places::new(&memory, SLOTS, slot_bytes::<T>(), capacity as usize),
        capacity: capacity as usize,
    })
}

/// The queue is full; this returns the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull<T>(pub T);

impl<T> fmt::Display for QueueFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue is full")
    }
}

impl<T: fmt::Debug> core::error::Error for QueueFull<T> {}

/// The shared tail has a value that this protocol cannot produce: the writer is broken or hostile. Nothing was taken.
/// The error lasts until the tail is plausible again or the object is created anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue's tail has a value that this protocol never writes")
    }
}

impl core::error::Error for Corrupt {}

/// The end that pushes.
pub struct Writer<'m, T> {
    shared_tail: &'m AtomicU64,
    shared_head: &'m AtomicU64,
    slots: Places<'m, T>,
    tail: Position,
    /// The head as last loaded; at most capacity below the tail (I3).
    head: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(memory: &Claimed<'m>, capacity: u32) -> Self {
        let shared_tail = memory.word(TAIL);
        // O1 push, of the previous writer.
        let tail = Position::new(shared_tail.load(Acquire), capacity as usize);
        Self {
            shared_tail,
            shared_head: memory.word(HEAD),
            slots: Places::new(memory, SLOTS, slot_bytes::<T>(), capacity as usize),
            // As if the queue were full: the first push loads the head.
            head: tail.counter.wrapping_sub(u64::from(capacity)),
            tail,
        }
    }

    /// Appends `value`. Wait-free: at most 1 load, one copy, 1 store.
    ///
    /// # Errors
    ///
    /// [`QueueFull`], with the value.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), QueueFull<T>> {
        self.push_from(&value).map_err(|_| QueueFull(value))
    }

    /// Appends a copy of `value`: [`Writer::push`] without moving a large value. Wait-free: at most 1 load, one copy,
    /// 1 store.
    ///
    /// # Errors
    ///
    /// [`QueueFull`].
    #[inline]
    pub fn push_from(&mut self, value: &T) -> Result<(), QueueFull<()>> {
        let capacity = self.tail.slots as u64;
        if self.tail.counter.wrapping_sub(self.head) >= capacity {
            let head = self.shared_head.load(Acquire); // O2 pop
            // More than capacity is impossible: such a head is corrupt, and counts as full.
            if self.tail.counter.wrapping_sub(head) >= capacity {
                return Err(QueueFull(()));
            }
            self.head = head;
        }
        // SAFETY:
        // - the slot is below the capacity, and a T fits (layout); T is Plain: no padding, aligned to at most 8;
        // - exclusive: tail < head + capacity, so the slot is ours (I2), and the reader's copy of its earlier value
        //   is over (O2).
        unsafe { self.slots.write(self.tail.slot, value) };
        self.tail.advance();
        self.shared_tail.store(self.tail.counter, Release); // O1 push
        Ok(())
    }

    /// Appends a value that `fill` makes in place; `fill` finds an older value there, or zeros. Wait-free except for
    /// `fill`: at most 1 load and 1 store.
    ///
    /// # Errors
    ///
    /// [`QueueFull`], with `fill`, which was not called.
    #[inline]
    pub fn push_with<R, F: FnOnce(&mut T) -> R>(&mut self, fill: F) -> Result<R, QueueFull<F>> {
        if self.room(1) == 0 {
            return Err(QueueFull(fill));
        }
        // SAFETY: as in `push`, while `fill` runs.
        let result = unsafe { self.slots.lend_mut(self.tail.slot, fill) };
        self.publish(1);
        Ok(result)
    }

    /// Appends the first of `values`, as many as there is room for, all at once, and returns their number. Wait-free:
    /// at most 1 load, one copy, 1 store.
    #[inline]
    pub fn push_slice(&mut self, values: &[T]) -> usize {
        let count = self.room(values.len());
        if count == 0 {
            return 0;
        }
        let (first, second) = values[..count].split_at(self.tail.until_end(count));
        // SAFETY: as in `push`, for each of `count` slots that are ours: the first run ends at the last slot or
        // before it, the second begins at slot 0.
        unsafe {
            self.slots.write_run(self.tail.slot, first);
            if !second.is_empty() {
                self.slots.write_run(0, second);
            }
        }
        self.publish(count);
        count
    }

    /// Up to `count` free slots, for the caller to fill in place. Fewer if the queue has no room for more, none if it
    /// is full. Wait-free: at most 1 load.
    #[inline]
    pub fn write_chunk(&mut self, count: usize) -> WriteChunk<'_, 'm, T> {
        let count = self.room(count);
        let first = self.tail.until_end(count);
        // SAFETY: as in `push_slice`, while the chunk lives, which borrows this end. An empty run touches no slot.
        let (first, second) = unsafe {
            (self.slots.lend_run_mut(self.tail.slot, first), self.slots.lend_run_mut(0, count - first))
        };
        WriteChunk::new(self, first, second)
    }

    /// Number of slots that are ours, up to `wanted`. Loads the head if fewer are known to be ours.
    #[inline(always)]
    fn room(&mut self, wanted: usize) -> usize {
        // Proof: "Empty" and "full" are exact: each side loads the other's counter again before it reports either.
        let capacity = self.tail.slots as u64;
        let mut room = capacity - self.tail.counter.wrapping_sub(self.head);
        if room < wanted as u64 {
            let head = self.shared_head.load(Acquire); // O2 pop
            let waiting = self.tail.counter.wrapping_sub(head);
            // More than capacity is impossible: such a head is corrupt, and the known head stays.
            if waiting <= capacity {
                self.head = head;
                room = capacity - waiting;
            }
        }
        wanted.min(room as usize)
    }

    /// Publishes `count` values, which are in their slots, to the reader.
    #[inline(always)]
    pub(super) fn publish(&mut self, count: usize) {
        // Proof: An operation on several values is several pushes or pops of which only the last makes its store:
        // until then the slots belong to this side, and the other side does not know of the operation.
        self.tail.advance_by(count);
        self.shared_tail.store(self.tail.counter, Release); // O1 push
    }

    /// Number of waiting values, at most: the reader may be taking some. At least `capacity() - len()` pushes will
    /// succeed.
    #[inline]
    pub fn len(&self) -> usize {
        let waiting = self.tail.counter.wrapping_sub(self.shared_head.load(Relaxed));
        usize::try_from(waiting).unwrap_or(usize::MAX).min(self.tail.slots)
    }

    /// Whether no value waits; true stays true until the next push.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of values that can wait.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.tail.slots
    }
}

/// The end that pops. Real-time.
pub struct Reader<'m, T> {
    shared_tail: &'m AtomicU64,
    shared_head: &'m AtomicU64,
    slots: Places<'m, T>,
    head: Position,
    /// The tail as last loaded; at most capacity above the head (I3).
    tail: u64,
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(memory: &Claimed<'m>, capacity: u32) -> Self {
        let shared_head = memory.word(HEAD);
        // O2 pop, of the previous reader.
        let head = Position::new(shared_head.load(Acquire), capacity as usize);
        Self {
            shared_tail: memory.word(TAIL),
            shared_head,
            slots: Places::new(memory, SLOTS, slot_bytes::<T>(), capacity as usize),
            // As if the queue were empty: the first pop loads the tail.
            tail: head.counter,
            head,
        }
    }

    /// Takes the oldest value; `None` if none is waiting. Wait-free: at most 1 load, one copy, 1 store.
    ///
    /// # Errors
    ///
    /// [`Corrupt`]: the tail is impossible; nothing was taken.
    #[inline]
    pub fn pop(&mut self) -> Result<Option<T>, Corrupt> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: `pop_to` fills what a value uses, if it returns that it took one.
        Ok(self.pop_to(&mut value)?.then(|| unsafe { value.assume_init() }))
    }

    /// [`Reader::pop`] into `value`, without a second move of a large value. Returns whether a value was waiting; if
    /// not, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// [`Corrupt`]: the tail is impossible; nothing was taken.
    #[inline]
    pub fn pop_into(&mut self, value: &mut T) -> Result<bool, Corrupt> {
        self.pop_to(uninit(value))
    }

    /// Takes the oldest value, and returns whether one was waiting.
    #[inline(always)]
    fn pop_to(&mut self, value: &mut MaybeUninit<T>) -> Result<bool, Corrupt> {
        // Proof: The reader copies value h only after it has loaded tail > h: by O1 the value is there. The writer
        // writes that slot again only for value h + capacity, and must load head > h before that; by O2 the copy is
        // then over.
        if self.tail == self.head.counter {
            let tail = self.shared_tail.load(Acquire); // O1 push
            if tail == self.head.counter {
                return Ok(false);
            }
            if tail.wrapping_sub(self.head.counter) > self.head.slots as u64 {
                return Err(Corrupt);
            }
            self.tail = tail;
        }
        // SAFETY:
        // - the slot is private and below the capacity, and a T fits (layout);
        // - T is Plain: every bit pattern is one, aligned to at most 8;
        // - exclusive against our writer: head < tail, so the slot is ours (I2), and its value is there (O1). A
        //   hostile process is outside of this program: its bits are a T as any others, and this side reads all of
        //   them before the Release below.
        unsafe { self.slots.read_into(self.head.slot, value) };
        self.head.advance();
        self.shared_head.store(self.head.counter, Release); // O2 pop
        Ok(true)
    }

    /// Takes the oldest value: calls `look` with it in place, and then hands the slot back. `None` if none is
    /// waiting. Wait-free except for `look`: at most 1 load and 1 store.
    ///
    /// # Errors
    ///
    /// [`Corrupt`]: the tail is impossible; nothing was taken.
    #[inline]
    pub fn pop_with<R>(&mut self, look: impl FnOnce(&T) -> R) -> Result<Option<R>, Corrupt> {
        if self.seen(1)? == 0 {
            return Ok(None);
        }
        // SAFETY: as in `pop`, while `look` runs, and its slot is not handed back before.
        let result = unsafe { self.slots.lend(self.head.slot, look) };
        self.hand_back(1);
        Ok(Some(result))
    }

    /// Takes as many of the oldest waiting values as fit in `values`, into its first places, and returns their
    /// number. Wait-free: at most 1 load, one copy, 1 store.
    ///
    /// # Errors
    ///
    /// [`Corrupt`]: the tail is impossible; nothing was taken.
    #[inline]
    pub fn pop_slice(&mut self, values: &mut [T]) -> Result<usize, Corrupt> {
        let count = self.seen(values.len())?;
        if count == 0 {
            return Ok(0);
        }
        let (first, second) = values[..count].split_at_mut(self.head.until_end(count));
        // SAFETY: as in `pop`, for each of `count` slots that are ours: the first run ends at the last slot or before
        // it, the second begins at slot 0.
        unsafe {
            self.slots.read_run(self.head.slot, first);
            if !second.is_empty() {
                self.slots.read_run(0, second);
            }
        }
        self.hand_back(count);
        Ok(count)
    }

    /// Up to `count` of the oldest values, in place. Fewer if fewer wait. Wait-free: at most 1 load.
    ///
    /// # Errors
    ///
    /// [`Corrupt`]: the tail is impossible.
    #[inline]
    pub fn read_chunk(&mut self, count: usize) -> Result<ReadChunk<'_, 'm, T>, Corrupt> {
        let count = self.seen(count)?;
        let first = self.head.until_end(count);
        // SAFETY: as in `pop_slice`, while the chunk lives, which borrows this end: no slot is handed back before. An
        // empty run touches no slot.
        let (first, second) =
            unsafe { (self.slots.lend_run(self.head.slot, first), self.slots.lend_run(0, count - first)) };
        Ok(ReadChunk::new(self, first, second))
    }

    /// The first word of the oldest value, which stays in the queue; `None` if none is waiting. Wait-free: at most 1
    /// load, one word.
    ///
    /// # Errors
    ///
    /// [`Corrupt`]: the tail is impossible.
    #[inline]
    pub(super) fn first_word(&mut self) -> Result<Option<u64>, Corrupt> {
        if self.seen(1)? == 0 {
            return Ok(None);
        }
        // SAFETY: as in `pop`: the slot is ours (I2), and is not handed back before the word is here.
        Ok(Some(unsafe { self.slots.read_first_word(self.head.slot) }))
    }

    /// Number of values that are ours, up to `wanted`. Loads the tail if fewer were seen.
    #[inline(always)]
    fn seen(&mut self, wanted: usize) -> Result<usize, Corrupt> {
        // A hostile writer can make the reader return any bits or report `Corrupt`: the reader reports a tail that is
        // not within capacity of its private head, and nothing changes; only private counters select slots. A hostile
        // reader can keep the queue full; an impossible head counts as full.
        let mut seen = self.tail.wrapping_sub(self.head.counter);
        if seen < wanted as u64 {
            let tail = self.shared_tail.load(Acquire); // O1 push
            seen = tail.wrapping_sub(self.head.counter);
            if seen > self.head.slots as u64 {
                return Err(Corrupt);
            }
            self.tail = tail;
        }
        Ok(wanted.min(seen as usize))
    }

    /// Hands the slots of the `count` oldest values back to the writer.
    #[inline(always)]
    pub(super) fn hand_back(&mut self, count: usize) {
        self.head.advance_by(count);
        self.shared_head.store(self.head.counter, Release); // O2 pop
    }

    /// Number of waiting values, at least: more may be arriving. That many pops will succeed. An impossible tail
    /// counts as 0.
    #[inline]
    pub fn len(&self) -> usize {
        let waiting = self.shared_tail.load(Relaxed).wrapping_sub(self.head.counter);
        usize::try_from(waiting).ok().filter(|waiting| *waiting <= self.head.slots).unwrap_or(0)
    }

    /// Whether no value waits; false stays false until the next pop.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of values that can wait.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.head.slots
    }
}

/// The end that looks. Made by [`watcher`].
pub struct Watcher<'m, T> {
    shared_tail: &'m AtomicU64,
    shared_head: &'m AtomicU64,
    slots: Places<'m, T>,
    capacity: usize,
}

impl<T: Plain> Watcher<'_, T> {
    /// The counter of the oldest waiting value; `None` if none waits, or if the two counters are impossible.
    #[inline]
    fn head(&self) -> Option<u64> {
        // If no reader runs, its last store happens before (the duty of `watcher`).
        let head = self.shared_head.load(Relaxed);
        let tail = self.shared_tail.load(Acquire); // O1 push
        let waiting = tail.wrapping_sub(head);
        (waiting > 0 && waiting <= self.capacity as u64).then_some(head)
    }

    /// Whether no value waits; false stays false until the reader takes one. Wait-free: 2 loads.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head().is_none()
    }

    /// Calls `look` with the oldest waiting value, in place; `None` if none waits, or if the two counters are impossible.
    /// Wait-free except for `look`: 2 loads.
    #[inline]
    pub fn oldest<R>(&mut self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let slot = Position::new(self.head()?, self.capacity).slot;
        // SAFETY:
        // - the slot is below the capacity (`Position`), and a T fits (layout); T is Plain;
        // - exclusive against our writer while `look` runs: head < tail, and no reader advances the head (I2), and the
        //   value is there (O1).
        Some(unsafe { self.slots.lend(slot, look) })
    }
}

// # Checked
//
// - `tests/nonblocking/behaviour.rs`: values, errors, layout against the model, successors; also Miri
// - `tests/nonblocking/steps.rs`: the bounds above, counted; `tests/steps.rs`: never more, whatever the memory holds
// - `tests/stress.rs`: threads, with a payload that shows tearing; also Miri and the thread sanitizer
// - `tests/processes.rs`, `tests/deaths.rs`: SIGKILL at random moments, and before every step of every operation;
//   `tests/nonblocking/deaths.rs`: exactly what the crash table says
// - `tests/hostile.rs`, `tests/nonblocking/hostile.rs`: a process writes random data into the memory
// - `tests/nonblocking/printed.rs`: the slot that the listing wastes
// - `tests/loom.rs`, `tests/shuttle.rs`: the runs of all protocols, which check freshness by a flag; 20 000 random
//   runs
// - the watcher: `tests/queues/behaviour.rs`, also Miri
// - slices and chunks: `tests/queues/behaviour.rs`, also Miri; `tests/queues/steps.rs`; `tests/queues/loom.rs`
//
// `tests/queues/loom.rs`, capacity 3, payload of 2 words, no preemption bound: 3 slices pushed × 2 popped: 313
// executions; 3 chunks and 1 value in place × 2 chunks: 1 073.
//
// `tests/nonblocking/loom.rs`, payload of 2 words: capacity 1 and 2, 4 pushes × 4 pops without preemption bound: 3 068
// and 15 196 executions; capacity 3, 6 × 6 with bound 3: 35 224; what `len` guarantees: 13 386. The tests fail if any
// of the four annotations is weakened.
//
// Not covered: larger capacities exhaustively; load buffering (the Release of O2 excludes what it could do to the
// copy); AArch64 hardware; counters past 2⁶⁴.
