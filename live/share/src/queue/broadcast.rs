// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Broadcast: every value in order to several readers out of one copy; the writer never overtakes a reader.
//!
//! # Use
//! A value that several real-time tasks must all get: a frame for an output and a recorder; channels of kind `broadcast`.
//! The writer copies it once, however many readers there are. A full queue refuses new values: it is full for the slowest
//! reader. A reader that may lose values instead is a [`Follower`], which the writer does not know; it learns how many it
//! lost. A reader that pauses takes no part until it goes on ([`ReaderControl`]). For readers that are all followers,
//! [`super::qrtwo`] is this ring without the heads. With one reader, [`super::qrtr`] is cheaper.
//!
//! # Callers
//! `-`: both may run at the same time; `X`: they may not (the types and the duties of [`writer`] and [`reader`] ensure
//! it).
//!
//! |                                       | the writer's | reader i | reader j, followers |
//! |---------------------------------------|--------------|----------|---------------------|
//! | the writer's `push`, `push_slice`, `len` | X         | -        | -                   |
//! | `pop`, `pop_slice`, `len` of reader i | -            | X        | -                   |
//! | [`release_reader`] i                  | -            | X        | -                   |
//! | control and watcher of reader i       | -            | X        | -                   |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words, R readers, B = values per batch, as in [`ring`]. All sides are wait-free.
//!
//! | operation       | bound                                                                                  |
//! |-----------------|----------------------------------------------------------------------------------------|
//! | `push`          | W words + 1 store + 1 fence (free on x86-64), and R loads if the room that was seen is used up |
//! | `push_slice(k)` | k × W words + ⌈k / B⌉ × (1 store + 1 fence), and R loads if less than k was seen       |
//! | refused         | R loads                                                                                |
//! | `pop`, `pop_slice` | as in [`ring`]: 2 loads + W words + 2 fences + 1 store; a reader is never overtaken |
//! | `len`           | the writer's R loads; a reader's 1 load                                                |
//! | a control's `release`, `rejoin` | 1 store; 2 loads + 1 store, or 1 load if the reader takes part         |
//! | a reader's `goes_on` | 1 load                                                                            |
//! | a watcher's `is_empty`, `oldest_word` | 2 loads, and 1 word; 1 load if the reader is released            |
//!
//! While the slowest reader is at most h values behind, R loads are due at most once in capacity - h pushes.
//!
//! # Orderings
//! - O1 pop: Release of a reader's head store ↔ Acquire of the writer's head loads.
//! - O2 publish: Release of the tail store, in [`ring`] ↔ Acquire of a control's and a watcher's loads.
//!
//! The values themselves, and what followers rely on: O1 and O2 of [`ring`].
//!
//! # Crash
//! | crash of                      | the others see                | recovery                                        |
//! |-------------------------------|-------------------------------|-------------------------------------------------|
//! | writer, anywhere              | as in [`ring`]                | a new [`writer`] continues                      |
//! | reader, before its head store | its value waits; in the end the queue is full | a new [`reader`] of its number gets it again: at least once; or [`release_reader`] |
//! | reader, after it              | the slot is free for its part | a new [`reader`] continues after it             |
//! | follower, anywhere            | nothing                       | not needed                                      |
//!
//! # Source
//! One ring with a head per reader is the ring of Disruptor's gating sequences [Thompson 2011], where a writer waits for
//! the least of them and caches it. We differ: a full ring refuses; a dead reader is released or succeeded; readers that
//! the writer overtakes read the same ring, by [Perez Ruiz 2020, Listing 3] as [`ring`] corrects it.

use core::cell::Cell;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, StridedWords};

pub use super::qrtr::QueueFull;
use super::qrtwo::Overwrite;
use super::ring::{self, Trace};
pub use super::ring::{Overwritten, Popped, PoppedSlice};
use crate::plain::{fit, slot_bytes};
use crate::{LayoutError, Plain};

mod control;

pub use control::{ReaderControl, ReaderWatcher, reader_control, reader_watcher};

// # State
//
// ```text
// byte 0            tail, as in `ring`
// byte 128 × (1+i)  head of reader i: number of values popped since the start (stored by reader i), or RELEASED
// then              n = capacity + 2 B slots, as in `ring`
// ```
//
// The writer keeps `floor`, at most the least head of the readers that it respects.
//
// # Invariants
//
// - I1 The writer pushes only while tail < floor + capacity.
// - I2 floor is at most each head that the writer respected when it last looked, and heads never decrease: so no value
//   from the head of such a reader on is overwritten.

const HEADS: usize = LINE_BYTES;

/// The head of a reader that the writer does not respect. It is further behind any tail than a capacity.
const RELEASED: u64 = 1 << 63;

/// The maximum number of readers that the writer respects.
pub const READERS_MAX: u32 = 250;

const fn slots_offset(readers: u32) -> usize {
    HEADS + readers as usize * LINE_BYTES
}

const fn slots<T: Plain>(capacity: u32) -> Option<usize> {
    (capacity as usize).checked_add(2 * ring::batch::<T>())
}

/// Bytes that a queue of `capacity` values for `readers` readers needs (more than [`READERS_MAX`] count as
/// [`READERS_MAX`]); `None` if that overflows.
pub const fn bytes<T: Plain>(readers: u32, capacity: u32) -> Option<usize> {
    let readers = if readers > READERS_MAX { READERS_MAX } else { readers };
    let Some(slots) = slots::<T>(capacity) else { return None };
    let Some(slots) = slot_bytes::<T>().checked_mul(slots) else { return None };
    let Some(slots) = slots.checked_next_multiple_of(LINE_BYTES) else { return None };
    slots.checked_add(slots_offset(readers))
}

fn check<T: Plain>(memory: &Claimed<'_>, readers: u32, capacity: u32) -> Result<usize, LayoutError> {
    if readers == 0 || readers > READERS_MAX {
        return Err(LayoutError::Readers);
    }
    let needed = bytes::<T>(readers, capacity).filter(|_| capacity > 0).ok_or(LayoutError::Capacity)?;
    fit(memory, needed)?;
    slots::<T>(capacity).ok_or(LayoutError::Capacity)
}

/// The writer and all readers on one memory, for up to `capacity` values.
///
/// ```
/// use taut_share::{Line, Memory, queue::broadcast};
///
/// let mut lines = [const { Line::new() }; 6];
/// let (mut writer, mut readers) = broadcast::group::<u64>(Memory::new(&mut lines), 2, 2)?;
/// let (mut output, mut recorder) = (readers.next().expect("two"), readers.next().expect("two"));
/// let mut display = output.follower();
/// assert_eq!((writer.push(&7), writer.push(&8)), (Ok(()), Ok(())));
/// assert_eq!(output.pop().expect("respected").map(|popped| popped.value), Some(7));
/// assert!(writer.push(&9).is_err(), "the recorder has taken nothing");
/// assert_eq!(recorder.pop().expect("respected").map(|popped| popped.value), Some(7));
/// assert!(writer.push(&9).is_ok());
/// assert_eq!(display.pop().expect("not meanwhile").map(|popped| (popped.value, popped.lost)), Some((8, 1)));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError`]: too small, no readers, or more than [`READERS_MAX`], or a capacity of 0.
pub fn group<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    capacity: u32,
) -> Result<(Writer<'_, T>, Readers<'_, T>), LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, readers, capacity)?;
    let writer = Writer::attach(&memory, readers, capacity, slots);
    Ok((writer, Readers { ring: Ring { memory, readers, capacity, slots }, next: 0, values: PhantomData }))
}

/// The writer's end alone, for readers that are in other processes or that [`reader`] makes. After the death of a
/// writer, at any step, this call makes its successor.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of readers and capacity, or zeros. No other writer of it is alive:
/// the last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    capacity: u32,
) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, readers, capacity)?;
    Ok(Writer::attach(&memory, readers, capacity, slots))
}

/// The end of reader `which`, from 0, alone. After the death of that reader, at any step, this call makes its
/// successor, which may get a value again that the dead one had copied.
///
/// If the reader was released, the new one begins with the next value, and the writer respects it from the next time
/// that it looks at the heads: at the latest `capacity` pushes later. Until then it may lose values; it counts them.
///
/// # Errors
///
/// [`LayoutError`], as [`group`], or [`LayoutError::Readers`] if there is no reader `which`.
///
/// # Safety
///
/// The memory holds this object for this `T`, number of readers and capacity, or zeros. No other reader of this number
/// is alive: the last one has ended, and its end happens before this call.
pub unsafe fn reader<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    capacity: u32,
    which: u32,
) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, readers, capacity)?;
    if which >= readers {
        return Err(LayoutError::Readers);
    }
    Ok(Ring { memory, readers, capacity, slots }.reader(which))
}

/// Lets the writer go on without reader `which`, which has died: its values no longer wait. A successor ([`reader`])
/// begins with the next value. 1 store.
///
/// # Errors
///
/// [`LayoutError`], as [`reader`].
///
/// # Safety
///
/// As for [`reader`].
pub unsafe fn release_reader<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    capacity: u32,
    which: u32,
) -> Result<(), LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, readers, capacity)?;
    if which >= readers {
        return Err(LayoutError::Readers);
    }
    memory.word(HEADS + which as usize * LINE_BYTES).store(RELEASED, Release); // O1 pop, of the dead reader.
    Ok(())
}

/// An additional reader, for the values that are pushed after this call. The writer does not know it and overtakes it:
/// it loses the oldest values, and counts them. There may be any number. A mapping for reading is enough.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T`, number of readers and capacity, or zeros.
pub unsafe fn follower<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
    capacity: u32,
) -> Result<Follower<'_, T>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, readers, capacity)?;
    let tail = memory.word(ring::TAIL).load(Relaxed);
    Ok(ring::Reader::attach_to(&memory, slots_offset(readers), capacity, slots, tail, ring::Unpublished))
}

/// The numbers of an object, and its memory.
struct Ring<'m> {
    memory: Claimed<'m>,
    readers: u32,
    capacity: u32,
    slots: usize,
}

impl<'m> Ring<'m> {
    /// The end of a reader, whose number is below the number of readers.
    fn reader<T: Plain>(&self, which: u32) -> Reader<'m, T> {
        let shared_head = self.memory.word(HEADS + which as usize * LINE_BYTES);
        // Relaxed: the previous reader has ended before this call, or its release has.
        let mut head = shared_head.load(Relaxed);
        if head == RELEASED {
            head = ring::believed(self.memory.word(ring::TAIL).load(Relaxed));
            // Relaxed: this reader has copied nothing yet.
            shared_head.store(head, Relaxed);
        }
        let from = slots_offset(self.readers);
        ring::Reader::attach_to(&self.memory, from, self.capacity, self.slots, head, Respected(shared_head))
    }
}

/// The reader stores its head in the object, where the writer respects it.
pub struct Respected<'m>(&'m AtomicU64);

impl ring::sealed::Sealed for Respected<'_> {}

impl Trace for Respected<'_> {
    #[inline(always)]
    fn leave(&self, head: u64) {
        self.0.store(head, Release); // O1 pop
    }
}

/// An end that pops, and that the writer respects: it gets every value. Real-time.
///
/// Its pops do not fail while all parties keep to the protocol, unless this reader took the place of a released one and the
/// writer does not respect it yet. Any other failure means that another process wrote the memory wrongly. See
/// [`ring::Reader`].
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, queue::broadcast};
/// let mut lines = [const { Line::new() }; 6];
/// let (writer, mut readers) = broadcast::group::<u64>(Memory::new(&mut lines), 2, 2).unwrap();
/// let second = readers.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, queue::broadcast};
/// fn shared<T: Sync>(_: &T) {}
/// let mut lines = [const { Line::new() }; 6];
/// let (writer, mut readers) = broadcast::group::<u64>(Memory::new(&mut lines), 2, 2).unwrap();
/// shared(&readers.next().unwrap());
/// ```
pub type Reader<'m, T> = ring::Reader<'m, T, Overwrite, Respected<'m>>;

/// An additional reader, which the writer overtakes. See [`ring::Reader`].
pub type Follower<'m, T> = ring::Reader<'m, T, Overwrite, ring::Unpublished>;

/// All readers of an object, from number 0 on.
pub struct Readers<'m, T> {
    ring: Ring<'m>,
    next: u32,
    values: PhantomData<Cell<T>>,
}

impl<'m, T: Plain> Iterator for Readers<'m, T> {
    type Item = Reader<'m, T>;

    fn next(&mut self) -> Option<Reader<'m, T>> {
        let which = self.next;
        (which < self.ring.readers).then(|| {
            self.next += 1;
            self.ring.reader(which)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.ring.readers - self.next) as usize;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for Readers<'_, T> {}

impl<T: Plain> FusedIterator for Readers<'_, T> {}

/// The end that pushes. Real-time.
pub struct Writer<'m, T> {
    ring: ring::Writer<'m, T, Overwrite>,
    heads: StridedWords<'m>,
    floor: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(memory: &Claimed<'m>, readers: u32, capacity: u32, slots: usize) -> Self {
        let ring = ring::Writer::attach_to(memory, slots_offset(readers), capacity, slots);
        Self {
            heads: memory.words(HEADS, LINE_BYTES, readers as usize),
            // As if the queue were full: the first push looks at the heads.
            floor: ring.pushed().wrapping_sub(u64::from(capacity)),
            ring,
        }
    }

    /// Appends `value`. Wait-free: one copy, 1 store, and a load for each reader if the room that was seen is used up.
    ///
    /// # Errors
    ///
    /// [`QueueFull`]: as many values as the capacity wait for the slowest reader.
    #[inline]
    pub fn push(&mut self, value: &T) -> Result<(), QueueFull<()>> {
        if self.room(1) == 0 {
            return Err(QueueFull(()));
        }
        self.ring.push(value);
        Ok(())
    }

    /// Appends the first of `values`, as many as there is room for, and returns their number. Wait-free: one copy, 1 store
    /// for each 64 bytes (for each value if it is larger), and a load for each reader if less room was seen.
    #[inline]
    pub fn push_slice(&mut self, values: &[T]) -> usize {
        let count = self.room(values.len());
        self.ring.push_slice(&values[..count]);
        count
    }

    /// For how many of `wanted` values there is room. Looks at the heads if less room was seen.
    #[inline(always)]
    fn room(&mut self, wanted: usize) -> usize {
        // Proof: By I1 a push overwrites a value only if it is below floor, so below the head of each reader that the
        // writer respected when it last looked (I2); by O1 the copies of those values are over. Such a reader is at most
        // capacity values behind, and there are 2 B slots more: neither the window of its pops nor their check finds
        // anything wrong, and it gets every value. "Full" is exact: the writer looks at all heads before it reports it.
        //
        // A head that is further behind than the capacity, or ahead of the tail, belongs to a reader that was released,
        // that has just taken such a one's place, or that lies: the writer does not respect it. Its reader loses values
        // by the policy, counts them, and is respected once its next pop has stored a head that is near enough.
        let (tail, capacity) = (self.ring.pushed(), self.ring.capacity() as u64);
        let mut room = capacity - tail.wrapping_sub(self.floor).min(capacity);
        if room < wanted as u64 {
            let waiting = self.waiting();
            self.floor = tail.wrapping_sub(waiting);
            room = capacity - waiting;
        }
        wanted.min(room as usize)
    }

    /// The largest number of values that wait for a reader that the writer respects.
    #[inline(always)]
    fn waiting(&self) -> u64 {
        let (tail, capacity) = (self.ring.pushed(), self.ring.capacity() as u64);
        let mut most = 0;
        for which in 0..self.heads.count() {
            // SAFETY: below the count.
            let head = unsafe { self.heads.at(which) }.load(Acquire); // O1 pop
            let waiting = tail.wrapping_sub(head);
            if waiting <= capacity {
                most = waiting.max(most);
            }
        }
        most
    }

    /// Number of values that wait for the slowest reader, at most: readers may be taking some. At least
    /// `capacity() - len()` pushes will succeed. A load for each reader.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting() as usize
    }

    /// Whether no value waits for any reader; true stays true until the next push. A load for each reader.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of values that can wait.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Number of values pushed since the start, including those of the writers before this one.
    #[inline]
    pub fn pushed(&self) -> u64 {
        self.ring.pushed()
    }
}

// # Checked
//
// - `tests/messages/behaviour.rs`: several readers and a follower beside lists; slices; a reader that dies, is released and
//   succeeded; heads that lie; also Miri
// - `tests/messages/steps.rs`: the bounds above, counted for 1 to 250 readers
// - controls and watchers: `tests/messages/control.rs`, also Miri
// - with one reader, the test programs that run all queues: `conformance`, `stress`, `loom`, `shuttle`, `steps`,
//   `processes`, `deaths`, `hostile`
//
// `tests/messages/loom.rs`, payload of 5 words, 2 readers in threads of their own, bound 2: capacity 1, 3 pushes ×
// 1 pop each: 1 010 executions; capacity 2, 4 × 1: 5 156. A reader that pops, is released, rejoins and pops beside pushes,
// bound 4: capacity 1, 3 pushes: 15 751; capacity 2, 4 pushes: 50 573.
// The tests fail if the writer pushes one value more, if it counts a head that lies,
// if the successor of a released reader begins at the start, if a reader rejoins before the tail, and if it reads on where
// it was released.
//
// Not covered: more than two readers exhaustively; O1 and O2: they exclude what load buffering could do to a copy, and no
// test fails without them; the rest as in `ring`.
