// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ring behind [`qrtwo`](super::qrtwo) and [`qrtwc`](super::qrtwc): its real-time writer never waits and never
//! fails.
//!
//! # Use
//! Use it through one of these two modules; they decide what a full queue does. (The writer of
//! [`broadcast`](super::broadcast) is this one, with readers that it respects.) The writer only stores, and knows
//! nothing of the readers. Each reader computes by itself which values were discarded before it could take them
//! ([`DiscardPolicy`]), and counts them.
//!
//! # Callers
//! `-`: both may run at the same time; `X`: they may not (the types and the safety conditions of `writer` and
//! `reader` ensure it).
//!
//! |                               | the writer's `push`, `len` | `pop`, `len` of the same end | of another end |
//! |-------------------------------|----------------------------|------------------------------|----------------|
//! | the writer's `push`, `len`    | X                          | -                            | -              |
//! | `pop`, `len` of a reading end | -                          | X                            | -              |
//! | `is_empty` of a [`Watcher`]   | -                          | -                            | -              |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words, S spare slots, B = values per batch: as many as fit in 64 bytes, at least 1.
//!
//! | operation       | bound                                                                                  |
//! |-----------------|----------------------------------------------------------------------------------------|
//! | `push`          | wait-free: W words + 1 store + 1 fence (free on x86-64); it loads nothing              |
//! | `push_slice(k)` | wait-free: k × W words + ⌈k / B⌉ × (1 store + 1 fence)                                  |
//! | `pop`, `pop_into` | 2 loads + W words + 2 fences + 1 store; 1 load if the queue is empty; no store if overtaken, and none by a follower |
//! | the same, B > 1 | at most B × W words instead of W, once for up to B values: each of the others costs only the store |
//! | `pop_slice(k)`  | as `pop`, with k × W words                                                             |
//! | `pop_within(n)` | n times `pop`                                                                          |
//! | `len`           | 1 load                                                                                 |
//! | `is_empty` of a watcher | 2 loads                                                                        |
//!
//! A pop is overtaken only if the writer pushes more than B + S values during its copy. A writer that has stopped, at
//! whatever step, overtakes no reader. So one of the two always makes progress, and a thread that repeats pops waits
//! for no other.
//!
//! # Orderings
//! - O1 overwrite: Release fence before the words of a batch ↔ Acquire fence before the reader's second load.
//! - O2 publish: Release of the tail store ↔ Acquire fence after the reader's first load, and Acquire of a
//!   successor's load.
//!
//! # Crash
//! | crash of                      | the other ends see | recovery                                                    |
//! |-------------------------------|--------------------|-------------------------------------------------------------|
//! | writer, before a tail store   | the earlier values | a new writer uses the same numbers and slots                |
//! | writer, after it              | the new values too | a new writer continues after them                           |
//! | reader, before its head store | nothing            | a new reader gets the same value again: at least once       |
//! | reader, after half of a line  | nothing            | a new reader gets the rest; discarded values count as lost  |
//! | reader, after its head store  | nothing            | a new reader continues after it, counting losses in between |
//! | follower, anywhere            | nothing            | not needed: it stores nothing in the object                 |
//!
//! # Source
//! The policies, the real-time writer, and the reader that detects overwriting after its copy are from
//! [Perez Ruiz 2020, Listings 3 and 4]. Their errors, which `tests/queues/printed.rs` shows, have two causes: both
//! sides move the head, and the code loads several words one after the other. Here the head is private to each
//! reader, and a pop linearizes at one load of the tail, the only word that the writer stores beside the values;
//! counters never wrap.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, fence, spin_loop};

use super::position::Position;
use crate::places::{Places, uninit};
use crate::plain::{fit, slot_bytes};
use crate::{LayoutError, Plain};

mod ends;
mod watcher;

pub(super) use ends::ends;
pub use watcher::Watcher;
pub(super) use watcher::watcher;

// # State
//
// ```text
// byte 0    tail: number of values pushed since the start (stored by the writer)
// byte 128  head: number of values popped or lost since the start (stored by the reader; its successor, the
//           writer's `len` and a watcher load it)
// byte 256  n = capacity + 2 B + S slots; slot v mod n holds value number v. Slots below 64 bytes are contiguous;
//           each larger one begins a cache line.
// ```
//
// If B > 1, a reader copies up to B waiting values at once into its own memory, and returns them one by one: so two
// processors exchange a line of the ring once, and not once per value. Its head in the object counts the values that
// it has returned.
//
// Why 2 B + S more slots: the writer may be writing up to B of them, and B + S more values may arrive while a reader
// copies the oldest one. A follower has its own head and does not store it in the object.
//
// # Invariants
//
// - I1 The writer writes only the slots of values tail ..= tail + B - 1, and each slot once per value number.
// - I2 Every value of tail - capacity ..= tail - 1 (from number 0 on) is completely in its slot.
// - I3 tail never decreases.

pub(super) const TAIL: usize = 0;
const HEAD: usize = LINE_BYTES;
const SLOTS: usize = 2 * LINE_BYTES;

/// B: values per batch, as many as fit in 64 bytes, at least 1.
pub(super) const fn batch<T: Plain>() -> usize {
    let stride = slot_bytes::<T>();
    if stride == 0 || stride > 64 { 1 } else { 64 / stride }
}

/// Recommended number of spare slots: 8 KiB of them, but at least 8 and at most 256. With these, a writer that pushes
/// without a pause hardly ever overtakes a reader. Measured on a Zen 4, where a push of 8 bytes takes 7 ns and a pop
/// beside such a writer 150 to 450 ns, depending on the distance between the processors: with 8 slots a pop fails 8
/// to 25 times before it succeeds, with 32 up to twice, with 256 never. For values of 4 KiB, 8 are as good as 256.
pub const fn spare<T: Plain>() -> u32 {
    match 8192usize.checked_div(slot_bytes::<T>()) {
        Some(slots @ 8..=256) => slots as u32,
        Some(257..) => 256,
        _ => 8,
    }
}

const fn slots<T: Plain>(capacity: u32, spare: u32) -> Option<usize> {
    let Some(values) = (capacity as usize).checked_add(spare as usize) else { return None };
    values.checked_add(2 * batch::<T>())
}

/// Bytes that a queue of `capacity` values with `spare` spare slots needs; `None` if that overflows.
pub const fn bytes<T: Plain>(capacity: u32, spare: u32) -> Option<usize> {
    let Some(slots) = slots::<T>(capacity, spare) else { return None };
    let Some(slots) = slot_bytes::<T>().checked_mul(slots) else { return None };
    let Some(slots) = slots.checked_next_multiple_of(LINE_BYTES) else { return None };
    slots.checked_add(SLOTS)
}

/// Checks that the queue can be built on `memory`, and returns its number of slots.
fn check<T: Plain>(memory: &Claimed<'_>, capacity: u32, spare: u32) -> Result<usize, LayoutError> {
    let needed = bytes::<T>(capacity, spare).filter(|_| capacity > 0).ok_or(LayoutError::Capacity)?;
    fit(memory, needed)?;
    slots::<T>(capacity, spare).ok_or(LayoutError::Capacity)
}

pub(super) mod sealed {
    /// Only this crate implements policies: the proof of the ring needs `oldest` to be below the tail. Only this
    /// crate implements traces: a successor trusts the head that a reader has stored.
    pub trait Sealed {}
}

/// What a full queue does.
pub trait DiscardPolicy: sealed::Sealed {
    /// Number of the oldest waiting value, for a reader that has taken all values below `head`, if more than
    /// `capacity` values have been pushed since. The result is at least `tail - capacity` and below `tail`.
    fn oldest(head: u64, tail: u64, capacity: u64) -> u64;
}

/// The counter in a shared word. A correct one is below 2⁶³. This reduces any other one to below 2⁶³, so that a
/// counter that continues from here does not wrap, and slot numbers stay in step with it.
pub(super) fn believed(counter: u64) -> u64 {
    counter & (u64::MAX >> 1)
}

/// Number of the oldest waiting value for a reader at `head`, and the tail, reduced to below 2⁶³. Accepts any tail.
fn window<P: DiscardPolicy>(head: u64, tail: u64, capacity: u64) -> (u64, u64) {
    // A hostile writer can make a reader return any bits and count any loss; slot indices are always taken modulo n. A
    // reader accepts any tail below 2⁶³, even one that went back: once the tail is correct again, the next pop returns
    // what waits. A hostile reader (with write access) can corrupt the values that other readers get and the head that
    // its successor begins with. Only the writer's `len` and a watcher load a word that a reader can write; the writer's
    // steps do not change.
    let tail = believed(tail);
    // A tail that went back belongs to an object that was created anew, or is corrupt: all values below it count as
    // new.
    let head = if tail < head { 0 } else { head };
    (if tail - head > capacity { P::oldest(head, tail, capacity) } else { head }, tail)
}

fn waiting<P: DiscardPolicy>(head: u64, tail: u64, capacity: u64) -> usize {
    let (oldest, tail) = window::<P>(head, tail, capacity);
    (tail - oldest) as usize
}

/// Where a reader stores its head. Only this crate implements it:
///
/// ```compile_fail,E0277
/// struct Elsewhere;
/// impl taut_share::queue::ring::Trace for Elsewhere {
///     fn leave(&self, _: u64) {}
/// }
/// ```
pub trait Trace: sealed::Sealed {
    /// Stores `head` as the new head.
    fn leave(&self, head: u64);
}

/// The reader stores its head in the object, for a successor.
pub struct Published<'m>(&'m AtomicU64);

impl sealed::Sealed for Published<'_> {}

impl Trace for Published<'_> {
    #[inline(always)]
    fn leave(&self, head: u64) {
        // Relaxed: a successor attaches after this end's last operation; the writer uses the head only as a number.
        self.0.store(head, Relaxed);
    }
}

/// The reader stores its head nowhere: it is a follower.
#[derive(Clone)]
pub struct Unpublished;

impl sealed::Sealed for Unpublished {}

impl Trace for Unpublished {
    #[inline(always)]
    fn leave(&self, _: u64) {}
}

type Ends<'m, T, P> = (Writer<'m, T, P>, Reader<'m, T, P>);

/// The writer and the reader, see [`qrtwo::pair`](super::qrtwo::pair).
pub(super) fn pair<T: Plain, P: DiscardPolicy>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Ends<'_, T, P>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, capacity, spare)?;
    Ok((Writer::attach(&memory, capacity, slots), Reader::attach(&memory, capacity, slots)))
}

/// The end that pushes, see [`qrtwo::writer`](super::qrtwo::writer).
///
/// # Safety
///
/// As there.
pub(super) unsafe fn writer<T: Plain, P: DiscardPolicy>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Writer<'_, T, P>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, capacity, spare)?;
    Ok(Writer::attach(&memory, capacity, slots))
}

/// The end that pops, see [`qrtwo::reader`](super::qrtwo::reader).
///
/// # Safety
///
/// As there.
pub(super) unsafe fn reader<T: Plain, P: DiscardPolicy>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Reader<'_, T, P>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, capacity, spare)?;
    Ok(Reader::attach(&memory, capacity, slots))
}

/// A follower, see [`qrtwo::follower`](super::qrtwo::follower).
///
/// # Safety
///
/// As there.
pub(super) unsafe fn follower<T: Plain, P: DiscardPolicy>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Reader<'_, T, P, Unpublished>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, capacity, spare)?;
    let tail = memory.word(TAIL).load(Relaxed);
    Ok(Reader::attach_to(&memory, SLOTS, capacity, slots, tail, Unpublished))
}

/// A value, and what was lost before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popped<T> {
    /// The value.
    pub value: T,
    /// Number of values that were discarded between this reader's last value and this one.
    pub lost: u64,
}

/// What [`Reader::pop_slice`] took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoppedSlice {
    /// Number of values, which are in the first places of the slice.
    pub count: usize,
    /// Number of values that were discarded between this reader's last value and the first of these.
    pub lost: u64,
}

/// The writer went around the ring during the copy and may have overwritten the value; the copy is discarded. The
/// next attempt begins after the discarded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwritten;

impl fmt::Display for Overwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the writer overwrote the value while it was copied")
    }
}

impl core::error::Error for Overwritten {}

/// The end that pushes. Real-time.
pub struct Writer<'m, T, P> {
    shared_tail: &'m AtomicU64,
    shared_head: &'m AtomicU64,
    slots: Places<'m, T>,
    tail: Position,
    capacity: u32,
    policy: PhantomData<P>,
}

impl<'m, T: Plain, P: DiscardPolicy> Writer<'m, T, P> {
    fn attach(memory: &Claimed<'m>, capacity: u32, slots: usize) -> Self {
        Self::attach_to(memory, SLOTS, capacity, slots)
    }

    /// The writer of a ring whose slots begin at byte `from`.
    pub(super) fn attach_to(memory: &Claimed<'m>, from: usize, capacity: u32, slots: usize) -> Self {
        let shared_tail = memory.word(TAIL);
        // O2 publish: this writer overwrites slots only after the tail stores of the writers before it.
        let tail = Position::new(believed(shared_tail.load(Acquire)), slots);
        Self {
            shared_tail,
            shared_head: memory.word(HEAD),
            slots: Places::new(memory, from, slot_bytes::<T>(), slots),
            tail,
            capacity,
            policy: PhantomData,
        }
    }

    /// Appends `value`; if the queue is full, it discards the values that the policy says. Wait-free: one copy, 1
    /// store, no load.
    #[inline]
    pub fn push(&mut self, value: &T) {
        self.push_batch(core::slice::from_ref(value));
    }

    /// Appends all of `values`, as that many pushes would: if there are more than the capacity, the last ones stay
    /// and the others are lost. Wait-free: one copy, 1 store for each 64 bytes (for each value if it is larger), no
    /// load.
    #[inline]
    pub fn push_slice(&mut self, values: &[T]) {
        for batch in values.chunks(batch::<T>()) {
            self.push_batch(batch);
        }
    }

    #[inline(always)]
    fn push_batch(&mut self, values: &[T]) {
        // Proof: Such rings usually have two words, "begun" and "done". Here one word serves as both: a reader takes
        // the tail plus B as "begun". That costs B slots, and saves the writer the transfer of a line.
        debug_assert!(values.len() <= batch::<T>());
        fence(Release); // O1 overwrite: the tail at the start of this batch before its words.
        for value in values {
            // SAFETY: the slot is below the number of slots, and a T fits (layout); T is Plain: no padding; only
            // `store`, `load_into` and `load_run` access slots.
            unsafe { self.slots.store(self.tail.slot, value) };
            self.tail.advance();
        }
        self.shared_tail.store(self.tail.counter, Release); // O2 publish: the words before the tail.
    }

    /// Number of values pushed since the start, including those of the writers before this one.
    #[inline]
    pub fn pushed(&self) -> u64 {
        self.tail.counter
    }

    /// Number of values that wait for the reader, by the head that it stored last. Exact while the reader is idle;
    /// while it pops, anything from 0 to the capacity. Values that the reader has copied and not returned count until
    /// this end discards them. Followers do not count. 1 load, which a push does not need.
    #[inline]
    pub fn len(&self) -> usize {
        waiting::<P>(believed(self.shared_head.load(Relaxed)), self.tail.counter, u64::from(self.capacity))
    }

    /// Whether no value waits, by the head that the reader stored last; true stays true until the next push.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of values that can wait.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }
}

/// The end that pops. Not real-time.
///
/// With [`Unpublished`] it is a follower, one more reader; there may be any number. Each sees every value and discards
/// by this policy independently of the others, and takes no value from another reader: only a reader itself knows what
/// it has taken, and the ring does not change. Followers do not share work; for that, put a queue before each worker.
/// The one [`Published`] reader differs in that it stores its head in the object, so that a successor continues after
/// it.
///
/// An end can move to another thread but cannot be shared between threads, and only followers can be cloned:
///
/// ```
/// # use taut_share::{Line, Memory, queue::qrtwo};
/// fn moved<T: Send>(_: T) {}
/// let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
/// moved((reader.follower().clone(), writer, reader));
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, queue::qrtwo};
/// fn shared<T: Sync>(_: &T) {}
/// let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
/// shared(&writer);
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, queue::qrtwo};
/// fn shared<T: Sync>(_: &T) {}
/// let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
/// shared(&reader.follower());
/// ```
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, queue::qrtwo};
/// let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
/// let second = writer.clone();
/// ```
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, queue::qrtwo};
/// let mut lines = [const { Line::new() }; 4];
/// let (writer, reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
/// let second = reader.clone();
/// ```
pub struct Reader<'m, T, P, H = Published<'m>> {
    view: View<'m, T, P>,
    ahead: Ahead,
    lost: u64,
    trace: H,
}

/// Values that a reader has copied out of the ring at once, and returns one by one.
#[derive(Clone, Copy)]
struct Ahead {
    values: [u64; 8],
    /// Index of the next value to return, and the number of values: `next` ≤ `count`.
    next: usize,
    count: usize,
}

impl Ahead {
    const NONE: Self = Self { values: [0; 8], next: 0, count: 0 };

    /// Number of values that are left.
    #[inline(always)]
    fn left(&self) -> usize {
        self.count - self.next
    }

    /// Room for the values of a batch.
    #[inline(always)]
    fn room<T: Plain>(&mut self) -> &mut [T] {
        const { assert!(batch::<T>() * size_of::<T>() <= 64 || batch::<T>() == 1) };
        let count = if size_of::<T>() > 64 { 0 } else { batch::<T>() };
        // SAFETY: `count` values fit into 64 bytes (asserted; `count` is 0 for a larger T); the array is aligned to
        // 8, and a T to at most 8; it is initialised, with zeros or with values, and any of those bits are a T
        // (Plain).
        unsafe { core::slice::from_raw_parts_mut(self.values.as_mut_ptr().cast(), count) }
    }

    /// Moves the next value into `value`.
    ///
    /// # Safety
    ///
    /// A value of this `T` is left.
    #[inline(always)]
    unsafe fn take<T: Plain>(&mut self, value: &mut MaybeUninit<T>) {
        // SAFETY: `next` is below `count` (caller), which is at most the room.
        unsafe { value.write(self.values.as_ptr().cast::<T>().add(self.next).read()) };
        self.next += 1;
    }
}

/// The ring as a reader sees it.
struct View<'m, T, P> {
    shared_tail: &'m AtomicU64,
    slots: Places<'m, T>,
    /// The oldest value that this reader has not copied.
    head: Position,
    capacity: u64,
    policy: PhantomData<P>,
}

impl<T, P> Clone for View<'_, T, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, P> Copy for View<'_, T, P> {}

/// Values that were copied out of the ring.
struct Run {
    /// Position of the first value after them.
    behind: Position,
    count: usize,
    /// How many values were discarded before the first of them.
    lost: u64,
}

impl<T: Plain, P: DiscardPolicy> View<'_, T, P> {
    /// Copies the oldest value; `None` if there is none.
    #[inline(always)]
    fn copy_one(&self, value: &mut MaybeUninit<T>) -> Result<Option<Run>, Overwritten> {
        // Proof: b, the number of the oldest value, depends only on the tail at the first load and on the reader's own
        // head ([`DiscardPolicy::oldest`]), so that load is the linearization point of a pop, for order and for loss.
        // "Empty" is exact: at that instant the tail equals the head. The pops that return the values of a copied line
        // all linearize at the load before its copy, as a slice does: the reader still returns values that the writer
        // discards after that load, and does not count them as lost. So it returns at most min(B, capacity) - 1 values
        // that the policy has already discarded; they are as old as its last copy.
        let tail = self.shared_tail.load(Relaxed);
        let waiting = tail.wrapping_sub(self.head.counter);
        if waiting == 0 {
            return Ok(None);
        }
        // A fence, not an Acquire load: on memory that is mapped read-only, the language allows only relaxed loads.
        fence(Acquire); // O2 publish
        // A branch to a cold function, so that the processor fetches the slot before the load of the tail completes.
        // A slot index computed from the tail would have to wait for that load.
        if waiting > self.capacity {
            return self.copy_behind(tail, value);
        }
        self.copy_at(self.head, 0, value).map(Some)
    }

    /// [`View::copy_one`] if values were discarded.
    #[cold]
    #[inline(never)]
    fn copy_behind(&self, tail: u64, value: &mut MaybeUninit<T>) -> Result<Option<Run>, Overwritten> {
        let (at, lost, waiting) = self.skip(tail);
        if waiting == 0 { Ok(None) } else { self.copy_at(at, lost, value).map(Some) }
    }

    #[inline(always)]
    fn copy_at(&self, at: Position, lost: u64, value: &mut MaybeUninit<T>) -> Result<Run, Overwritten> {
        // SAFETY: the slot is below the number of slots, and a T fits (layout); only `store`, `load_into` and
        // `load_run` access slots.
        unsafe { self.slots.load_into(at.slot, value) };
        self.check(at)?;
        let mut behind = at;
        behind.advance();
        Ok(Run { behind, count: 1, lost })
    }

    /// Copies as many of the oldest waiting values as fit in `values`; `None` if there are none.
    #[inline(always)]
    fn copy_run(&self, values: &mut [T]) -> Result<Option<Run>, Overwritten> {
        let Some((at, lost, count)) = self.oldest(values.len()) else { return Ok(None) };
        let (first, second) = values[..count].split_at_mut(at.until_end(count));
        // SAFETY: as in `copy_at`: the first run ends at the last slot or before it, the second begins at slot 0, and
        // together they are no more than the capacity.
        unsafe {
            self.slots.load_run(at.slot, first);
            if !second.is_empty() {
                self.slots.load_run(0, second);
            }
        }
        self.checked(at, lost, count)
    }

    /// [`View::copy_run`] for at most one line of values.
    #[inline(always)]
    fn copy_line(&self, values: &mut [T]) -> Result<Option<Run>, Overwritten> {
        let Some((at, lost, count)) = self.oldest(values.len()) else { return Ok(None) };
        if count == values.len() && at.until_end(count) == count {
            // SAFETY: as in `copy_run`, one run. The compiler knows its length.
            unsafe { self.slots.load_run(at.slot, values) };
        } else {
            let mut from = at;
            for value in &mut values[..count] {
                // SAFETY: as in `copy_at`.
                unsafe { self.slots.load_into(from.slot, uninit(value)) };
                from.advance();
            }
        }
        self.checked(at, lost, count)
    }

    /// Position of the oldest value, how many were discarded before it, and how many there are, up to `wanted`;
    /// `None` if there are none.
    #[inline(always)]
    fn oldest(&self, wanted: usize) -> Option<(Position, u64, usize)> {
        let tail = self.shared_tail.load(Relaxed);
        let (mut at, mut lost, mut waiting) = (self.head, 0, tail.wrapping_sub(self.head.counter));
        if waiting == 0 {
            return None;
        }
        fence(Acquire); // O2 publish: as in `copy_one`.
        if waiting > self.capacity {
            (at, lost, waiting) = self.skip(tail);
        }
        let count = wanted.min(waiting as usize);
        if count == 0 { None } else { Some((at, lost, count)) }
    }

    /// The run of `count` values that were copied from `at` on, if the copy is not torn.
    #[inline(always)]
    fn checked(&self, at: Position, lost: u64, count: usize) -> Result<Option<Run>, Overwritten> {
        self.check(at)?;
        let mut behind = at;
        behind.advance_by(count);
        Ok(Some(Run { behind, count, lost }))
    }

    /// Position of the oldest value, how many were discarded before it, and how many wait.
    #[cold]
    fn skip(&self, tail: u64) -> (Position, u64, u64) {
        let (oldest, tail) = window::<P>(self.head.counter, tail, self.capacity);
        let lost = oldest.saturating_sub(self.head.counter);
        (Position::new(oldest, self.head.slots), lost, tail - oldest)
    }

    /// Checks that the writer has not overwritten the values that were copied from `oldest` on.
    #[inline(always)]
    fn check(&self, oldest: Position) -> Result<(), Overwritten> {
        // Proof: Suppose that a reader loads tail t > b, copies value b, and then loads tail t' ≤ b + n - B. By O2
        // each word that it copies is of value b or of a later value. A later value in this slot has number b + n or
        // above; by I1 the writer stored it after the fence of a batch that began with a tail of at least
        // b + n - B + 1. Had the reader loaded such a word, then by O1 (the writer stored that tail before its fence,
        // and the reader loaded the word before its own fence) its second load would return that tail or a later one:
        // more than b + n - B. So every word is of value b. The reader copies a slice from its oldest value on, so
        // that the check of the first value holds for all.
        fence(Acquire); // O1 overwrite: the words before the second load of the tail.
        let pushed = self.shared_tail.load(Relaxed).wrapping_sub(oldest.counter);
        if pushed > (self.head.slots - batch::<T>()) as u64 { Err(Overwritten) } else { Ok(()) }
    }
}

impl<T, P> Clone for Reader<'_, T, P, Unpublished> {
    /// One more follower, at the same value.
    fn clone(&self) -> Self {
        Self { view: self.view, ahead: self.ahead, lost: self.lost, trace: Unpublished }
    }
}

impl<T: Plain, P: DiscardPolicy> Reader<'_, T, P, Unpublished> {
    /// Lets this follower begin with the last `count` values that were pushed: with as many of them as there are, and at most with
    /// as many as the queue holds. Values that this end has taken come again, and nothing counts as lost. One load; the object does not change.
    pub fn rewind(&mut self, count: u32) {
        // I2: the last `capacity` values are in their slots. If the writer overtakes this end before it has copied them, a pop
        // counts what is gone, as of any slow reader.
        let tail = believed(self.view.shared_tail.load(Relaxed));
        let head = tail.saturating_sub(u64::from(count).min(self.view.capacity));
        self.view.head = Position::new(head, self.view.head.slots);
        self.ahead = Ahead::NONE;
    }
}

impl<'m, T: Plain, P: DiscardPolicy> Reader<'m, T, P> {
    fn attach(memory: &Claimed<'m>, capacity: u32, slots: usize) -> Self {
        let shared_head = memory.word(HEAD);
        // Relaxed: the previous reader has ended before this call.
        let head = shared_head.load(Relaxed);
        Self::attach_to(memory, SLOTS, capacity, slots, head, Published(shared_head))
    }
}

impl<'m, T: Plain, P: DiscardPolicy, H: Trace> Reader<'m, T, P, H> {
    /// A reader of a ring whose slots begin at byte `from`, with this head; it stores its head in `trace`.
    pub(super) fn attach_to(
        memory: &Claimed<'m>,
        from: usize,
        capacity: u32,
        slots: usize,
        head: u64,
        trace: H,
    ) -> Self {
        let view = View {
            shared_tail: memory.word(TAIL),
            slots: Places::new(memory, from, slot_bytes::<T>(), slots),
            head: Position::new(believed(head), slots),
            capacity: u64::from(capacity),
            policy: PhantomData,
        };
        Self { view, ahead: Ahead::NONE, lost: 0, trace }
    }
}

impl<'m, T: Plain, P: DiscardPolicy, H: Trace> Reader<'m, T, P, H> {
    /// A follower that begins where this end is, and sees every value from there on, independently of this end.
    pub fn follower(&self) -> Reader<'m, T, P, Unpublished> {
        Reader { view: self.not_taken(), ahead: Ahead::NONE, lost: 0, trace: Unpublished }
    }

    /// Takes the oldest value; `None` if none is waiting. Returning a large value moves it once more;
    /// [`Reader::pop_into`] copies it once, to its destination.
    ///
    /// The reader copies values of up to 32 bytes in groups: as many as wait and fit in 64 bytes. This pop and the
    /// next ones return them, without a load from the ring. So
    ///
    /// - a value may be older than all that wait by now: the writer may have discarded it since this end copied it.
    ///   This concerns at most 7 values, and fewer than the capacity. [`Reader::pop_slice`] drops the copied values,
    ///   and begins with the oldest value that waits: its first value is never older than the policy says;
    /// - [`Reader::len`] counts copied values, [`Reader::lost`] does not, whatever the writer does meanwhile;
    /// - if this end dies or is dropped, its successor begins after the last value that this end returned.
    ///
    /// # Errors
    ///
    /// [`Overwritten`]: nothing was taken.
    #[inline]
    pub fn pop(&mut self) -> Result<Option<Popped<T>>, Overwritten> {
        let mut value = MaybeUninit::uninit();
        let Some(lost) = self.pop_to(&mut value)? else { return Ok(None) };
        // SAFETY: `pop_to` fills what a T uses; T is Plain: any bytes are one (and these are of one value: proof
        // above).
        Ok(Some(Popped { value: unsafe { value.assume_init() }, lost }))
    }

    /// [`Reader::pop`] into `value`, without a second move of a large value. Returns the number of values that were
    /// lost before it; `None` if none is waiting, and then `value` is unchanged.
    ///
    /// # Errors
    ///
    /// [`Overwritten`]: nothing was taken, and `value` holds anything.
    #[inline]
    pub fn pop_into(&mut self, value: &mut T) -> Result<Option<u64>, Overwritten> {
        self.pop_to(uninit(value))
    }

    #[inline(always)]
    fn pop_to(&mut self, value: &mut MaybeUninit<T>) -> Result<Option<u64>, Overwritten> {
        if batch::<T>() == 1 {
            let Some(run) = self.view.copy_one(value)? else { return Ok(None) };
            self.pass(&run);
            self.leave();
            return Ok(Some(run.lost));
        }
        let mut lost = 0;
        if self.ahead.left() == 0 {
            match self.read_ahead()? {
                Some(before) => lost = before,
                None => return Ok(None),
            }
        }
        // SAFETY: one is left, of this T.
        unsafe { self.ahead.take(value) };
        self.leave();
        Ok(Some(lost))
    }

    /// Copies the oldest waiting values, up to a line. Returns how many were discarded before them.
    #[inline(never)]
    fn read_ahead(&mut self) -> Result<Option<u64>, Overwritten> {
        let Some(run) = self.view.copy_line(self.ahead.room::<T>())? else { return Ok(None) };
        (self.ahead.next, self.ahead.count) = (0, run.count);
        self.pass(&run);
        Ok(Some(run.lost))
    }

    /// Moves the head past the copied run, and counts the values lost before it.
    #[inline(always)]
    fn pass(&mut self, run: &Run) {
        (self.view.head.counter, self.view.head.slot) = (run.behind.counter, run.behind.slot);
        self.lost = self.lost.wrapping_add(run.lost);
    }

    /// Where this end stores its head.
    #[inline(always)]
    pub(super) fn trace(&self) -> &H {
        &self.trace
    }

    /// Goes on with the value of this number, and drops what was copied ahead. Nothing in between counts as lost.
    #[cold]
    pub(super) fn go_on_at(&mut self, number: u64) {
        self.view.head = Position::new(believed(number), self.view.head.slots);
        self.ahead = Ahead::NONE;
    }

    /// Number of the value that the next pop returns.
    #[inline(always)]
    pub(super) fn next(&self) -> u64 {
        self.view.head.counter.wrapping_sub(self.ahead.left() as u64)
    }

    /// A view whose head is the next value to return, as if this end had copied nothing ahead.
    fn not_taken(&self) -> View<'m, T, P> {
        View { head: Position::new(self.next(), self.view.head.slots), ..self.view }
    }

    /// Stores the head: all returned values are taken.
    #[inline(always)]
    fn leave(&self) {
        self.trace.leave(self.next());
    }

    /// Takes the oldest value, in up to `attempts` attempts (0 counts as 1) with a pause in between; `None` if none is
    /// waiting.
    ///
    /// # Errors
    ///
    /// [`Overwritten`] if every attempt was overtaken: nothing was taken.
    #[inline]
    pub fn pop_within(&mut self, attempts: u32) -> Result<Option<Popped<T>>, Overwritten> {
        for _ in 1..attempts {
            if let Ok(popped) = self.pop() {
                return Ok(popped);
            }
            spin_loop();
        }
        self.pop()
    }

    /// Takes as many of the oldest waiting values as fit in `values`; on an error, none. The longer the slice, the
    /// longer the copy, and the sooner it is overtaken. Values that an earlier pop copied ahead and the writer has
    /// discarded since are lost.
    ///
    /// # Errors
    ///
    /// [`Overwritten`]: nothing was taken, and `values` hold anything.
    #[inline]
    pub fn pop_slice(&mut self, values: &mut [T]) -> Result<PoppedSlice, Overwritten> {
        if self.ahead.left() > 0 && !values.is_empty() {
            self.view = self.not_taken();
            self.ahead = Ahead::NONE;
        }
        let Some(run) = self.view.copy_run(values)? else {
            return Ok(PoppedSlice { count: 0, lost: 0 });
        };
        self.pass(&run);
        self.leave();
        Ok(PoppedSlice { count: run.count, lost: run.lost })
    }

    /// Number of values that were discarded before this end could take them, as far as its pops have found out.
    /// Together with the values that it took, these are all values pushed since its start (for a first reader: since
    /// the object's start).
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Number of values that wait at this instant, by the policy, and of those that this end has copied and not
    /// returned. If it is not 0, it does not become 0 before the next pop; but it may fall as well as rise, since the
    /// writer discards values.
    #[inline]
    pub fn len(&self) -> usize {
        let View { shared_tail, head, capacity, .. } = self.view;
        self.ahead.left() + waiting::<P>(head.counter, shared_tail.load(Relaxed), capacity)
    }

    /// Whether no value waits; false stays false until the next pop.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of values that can wait.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.view.capacity as usize
    }
}

// # Checked
//
// - `tests/queues/behaviour.rs`: values, slices, losses, layout, successors, followers; also Miri
// - `tests/conformance.rs`: compared with the policy on a list; `tests/queues/steps.rs`: the bounds above, counted
// - `tests/queues/printed.rs`: the errors of the listings
// - the watcher: `tests/queues/behaviour.rs`, `tests/queues/steps.rs`; it copies nothing, and no model explores it
// - the other test programs, which run all protocols: `stress`, `loom`, `shuttle`, `steps`, `processes`, `deaths`,
//   `hostile`
//
// `tests/queues/loom.rs` checks that each popped value follows the last one and the lost ones. Payloads of 3 words,
// batches of 1: QrtWo of 1 (for which both policies are the same), 5 pushes × 1 pop, no preemption bound: 150 098
// executions; QrtWc of 2, 5 × 1: 76 142; 6 × 2 with bound 2: QrtWo of 1 17 373, of 2 13 208, QrtWc of 2 11 697; a
// follower beside the reader, bound 2: 811; capacity 2 by slices, 7 values in batches of 2 × 1, no bound: 1 541; the
// same by single pops, which copy lines of 2, 2 pops without bound: 83 819; 3 with bound 2: QrtWo 2 701, QrtWc 2 761.
// The tests fail if any of the three fences is left out, if the Release of O2 is weakened, if the check accepts one
// push more, and if a batch has one value more than B.
//
// Not covered: larger capacities exhaustively; more than one reader exhaustively (a follower is a reader that stores
// less); load buffering; AArch64 hardware; counters past 2⁶³. The thread sanitizer does not know fences, and every
// access here is atomic, so it cannot find anything.
