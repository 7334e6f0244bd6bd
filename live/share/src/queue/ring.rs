// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ring under [`qrtwo`](super::qrtwo) and [`qrtwc`](super::qrtwc): a real-time writer that never waits nor fails.
//!
//! # Use
//!
//! Through one of the two, which say what a full queue does. The writer only stores, and knows nothing of readers;
//! each reader works out alone what was discarded before it came ([`Policy`]), and counts it.
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duties of `writer` and `reader` see to it).
//!
//! |                          | push, its `len` | pop, its `len` of one end | of another end |
//! |--------------------------|-----------------|---------------------------|----------------|
//! | push, its `len`          | X               | -                         | -              |
//! | pop, its `len` of one end | -              | X                         | -              |
//!
//! # Progress
//!
//! W = ⌈size of a value / 8⌉ words, S spare slots, B = values of a batch: as many as fit in 64 bytes, at least 1.
//!
//! | operation       | bound                                                                                  |
//! |-----------------|----------------------------------------------------------------------------------------|
//! | `push`          | wait-free: W words + 1 store + 1 fence (free on x86-64); it loads nothing              |
//! | `push_slice(k)` | wait-free: k × W words + ⌈k / B⌉ × (1 store + 1 fence)                                  |
//! | `pop`, `pop_into` | 2 loads + W words + 2 fences + 1 store; 1 load if nothing waits; without the store if overtaken, and by a follower |
//! | the same, B > 1 | B × W words at most in place of the W, once for up to B values: the others cost the store alone    |
//! | `pop_slice(k)`  | the same with k × W words                                                              |
//! | `pop_within(n)` | n times `pop`                                                                          |
//! | `len`           | 1 load                                                                                 |
//!
//! A pop is overtaken only by a writer that pushed more than B + S values while it copied, never by one that has
//! stopped, wherever that is. So of the two somebody always gets on; a thread that repeats pops waits for no other.
//!
//! # State
//!
//! ```text
//! byte 0    tail: values pushed, ever (the writer's)
//! byte 128  head: values popped or lost, ever (the reader's; loaded by its successor and by the writer's `len` alone)
//! byte 256  n = capacity + 2 B + S slots; value number v stands in slot v mod n. Below 64 bytes they stand close
//!           together, from there on each begins a cache line.
//! ```
//!
//! A reader of values of which B > 1 fit in 64 bytes copies up to B of those that wait at once, into its own memory, and
//! hands them out one by one: so two processors exchange a line of the ring once, and not once per value. Its head in the
//! object counts what it has handed out.
//!
//! Why 2 B + S more: up to B may be in the writer's hands, and B + S more may arrive while a reader copies the oldest.
//! A follower has a head of its own that it tells nobody.
//!
//! # Invariants
//!
//! - I1 The writer touches only slots of values tail ..= tail + B - 1, each once for each number.
//! - I2 Every value of tail - capacity ..= tail - 1, and from 0, stands whole in its slot.
//! - I3 tail never decreases.
//!
//! # Orderings
//!
//! - O1 overwrite: Release fence before the words of a batch ↔ Acquire fence before the reader's second load.
//! - O2 publish: Release of the tail store ↔ Acquire fence behind the reader's first load, and Acquire of a
//!   successor's load.
//!
//! # Proof
//!
//! A reader has seen tail t > b and copies value b, then sees tail t' ≤ b + n - B. By O2 it sees every word of value b,
//! or later ones. A later one in this slot is of value b + n or above, which the writer stored, by I1, behind the fence
//! of a batch that began with a tail of at least b + n - B + 1. Had the reader seen it, then by O1 (that tail was stored
//! before the fence, the word loaded before the reader's) its second load would see that tail or a later one: more than
//! b + n - B. So every word is of value b. A slice is copied from the oldest on, so that the check of its first value
//! holds for all.
//!
//! b is a function of the tail at the first load and of the own head ([`Policy::oldest`]), so a pop takes place, for
//! order and loss, at that load. "Empty" is exact: tail was the head at that instant. The pops that hand out a copied line
//! take place together at the load before its copy, as a slice does: what the writer discards after that load, the reader
//! still hands out, and does not count as lost. So it hands out, behind the policy, at most min(B, capacity) - 1 values;
//! they are as old as its last copy.
//!
//! One word does the work of the two (begun, done) that such rings have: the tail that a batch begins with is "begun"
//! to everybody who counts up to B more. That costs B slots, and saves the writer the transfer of a line.
//!
//! # Crash
//!
//! | who dies, where                  | what the others see | what goes on                                            |
//! |----------------------------------|---------------------|---------------------------------------------------------|
//! | writer, before a tail store      | the values before   | a new writer takes the same numbers and slots           |
//! | writer, after it                 | the new ones too    | a new writer goes on behind them                        |
//! | reader, before its head store    | nothing             | a new reader gets the same value: at least once         |
//! | reader, of a line half handed out | nothing            | a new reader gets the rest of the line, or counts as lost what was discarded of it |
//! | reader, after it                 | nothing             | a new reader goes on behind them, and counts the losses of the time between |
//! | follower, anywhere               | nothing             | it leaves no trace                                      |
//!
//! A hostile writer can make a reader return any bits and count any loss; slots are named modulo n. A reader believes
//! any tail below 2⁶³, also one that went back: as soon as it is true again, the next pop gives what waits. A hostile
//! reader (with write access) can spoil what other readers get and what its successor begins with; the writer loads
//! nothing of it but in `len`, and does not change its steps.
//!
//! # Source
//!
//! The policies, the real-time writer and the reader that finds out afterwards: [Perez Ruiz 2020, Listings 3 and 4];
//! what was wrong with them, and `tests/printed_queues.rs` shows, follows from a head that both sides move, and from
//! words that are looked at one after the other. Here the head is private to each reader, and a pop takes place at its
//! one look at the one word that the writer stores beside values; counters never wrap.
//!
//! # Checked
//!
//! - `tests/behaviour_queues.rs`: values, slices, losses, layout, successors, followers; also Miri
//! - `tests/conformance.rs`: against the policy on a list; `tests/steps_queues.rs`: the bounds above, counted
//! - `tests/printed_queues.rs`: the mistakes of the listings
//! - the other programs over all protocols: `stress`, `loom`, `shuttle`, `steps`, `processes`, `deaths`, `hostile`
//!
//! `tests/loom_queues.rs`, where each value that is popped must be the one after the last and the lost, on payloads
//! of 3 words in slots of a batch of 1: QrtWo of 1 (where the policies are one), 5 pushes × 1 pop without preemption
//! bound: 150 098 executions; QrtWc of 2, 5 × 1: 76 142; 6 × 2 with bound 2: QrtWo of 1 17 373, of 2 13 208, QrtWc of
//! 2 11 697; a follower beside the reader, bound 2: 811; capacity 2 by slices, 7 values in batches of 2 × 1, no
//! bound: 1 541; the same by single pops, which copy lines of 2, 2 pops without bound: 83 819; 3 with bound 2: QrtWo 2 701,
//! QrtWc 2 761. Each of the three fences left out, the Release of O2 weakened, a check that accepts one push more, and
//! a batch of one more than B fail there.
//!
//! Not covered: larger capacities exhaustively; more than one reader exhaustively (a follower is a reader that stores
//! less); load buffering; AArch64 hardware; counters past 2⁶³. The thread sanitizer does not know fences, and every
//! access here is atomic: it can say nothing.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, fence, spin_loop};

use super::position::Position;
use crate::places::{Places, uninit};
use crate::plain::{fit, slot_bytes};
use crate::{LayoutError, Plain};

const TAIL: usize = 0;
const HEAD: usize = LINE_BYTES;
const SLOTS: usize = 2 * LINE_BYTES;

/// B: values of a batch, so many as share 64 bytes.
const fn batch<T: Plain>() -> usize {
    let stride = slot_bytes::<T>();
    if stride == 0 || stride > 64 { 1 } else { 64 / stride }
}

/// Spare slots with which a reader is hardly ever overtaken by a writer that pushes without a pause: 8 KiB of them, but
/// 8 at least and 256 at most. Measured on a Zen 4, where a push of 8 bytes takes 7 ns and a pop under such a writer
/// 150 to 450, as the processors are near or far: with 8 slots it fails 8 to 25 times before it succeeds, with 32 up to
/// twice, with 256 never. At 4 KiB 8 are as good as 256.
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

/// Bytes that a queue of `capacity` values with `spare` slots needs; `None` if that is not a number.
pub const fn bytes<T: Plain>(capacity: u32, spare: u32) -> Option<usize> {
    let Some(slots) = slots::<T>(capacity, spare) else { return None };
    let Some(slots) = slot_bytes::<T>().checked_mul(slots) else { return None };
    let Some(slots) = slots.checked_next_multiple_of(LINE_BYTES) else { return None };
    slots.checked_add(SLOTS)
}

/// The number of slots, if the queue can be built.
fn check<T: Plain>(memory: &Claimed<'_>, capacity: u32, spare: u32) -> Result<usize, LayoutError> {
    let needed = bytes::<T>(capacity, spare).filter(|_| capacity > 0).ok_or(LayoutError::Capacity)?;
    fit(memory, needed)?;
    slots::<T>(capacity, spare).ok_or(LayoutError::Capacity)
}

pub(super) mod sealed {
    /// What a policy may be lies with this crate: the proof of the ring needs `oldest` to be below the tail. Where a reader
    /// leaves its head too: its successor believes it.
    pub trait Sealed {}
}

/// What a full queue does.
pub trait Policy: sealed::Sealed {
    /// Number of the oldest value that waits, for a reader that has taken all below `head`, when more than `capacity`
    /// have been pushed since: at least `tail - capacity`, below `tail`.
    fn oldest(head: u64, tail: u64, capacity: u64) -> u64;
}

/// The counter that a shared word says. An honest one stays below 2⁶³; taking the others for that too, none that is
/// counted on from here wraps, and slot numbers stay in step.
fn believed(counter: u64) -> u64 {
    counter & (u64::MAX >> 1)
}

/// Number of the oldest value that waits behind `head`, and of the first that does not; whatever the tail is.
fn window<P: Policy>(head: u64, tail: u64, capacity: u64) -> (u64, u64) {
    let tail = believed(tail);
    // A tail that went back is of an object that was made anew, or a lie: what there is waits.
    let head = if tail < head { 0 } else { head };
    (if tail - head > capacity { P::oldest(head, tail, capacity) } else { head }, tail)
}

fn waiting<P: Policy>(head: u64, tail: u64, capacity: u64) -> usize {
    let (oldest, tail) = window::<P>(head, tail, capacity);
    (tail - oldest) as usize
}

/// Where a reader leaves its head. The two that there are stand here:
///
/// ```compile_fail,E0277
/// struct Elsewhere;
/// impl taut_share::queue::ring::Trace for Elsewhere {
///     fn leave(&self, _: u64) {}
/// }
/// ```
pub trait Trace: sealed::Sealed {
    /// The head is now `head`.
    fn leave(&self, head: u64);
}

/// In the object, for a successor.
pub struct Published<'m>(&'m AtomicU64);

impl sealed::Sealed for Published<'_> {}

impl Trace for Published<'_> {
    #[inline(always)]
    fn leave(&self, head: u64) {
        // Relaxed: whoever goes on from it comes after this end's last operation; to the writer it is a number.
        self.0.store(head, Relaxed);
    }
}

/// Nowhere.
#[derive(Clone)]
pub struct Unpublished;

impl sealed::Sealed for Unpublished {}

impl Trace for Unpublished {
    #[inline(always)]
    fn leave(&self, _: u64) {}
}

type Ends<'m, T, P> = (Writer<'m, T, P>, Reader<'m, T, P>);

/// All ends but followers, see [`qrtwo::pair`](super::qrtwo::pair).
pub(super) fn pair<T: Plain, P: Policy>(
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
pub(super) unsafe fn writer<T: Plain, P: Policy>(
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
pub(super) unsafe fn reader<T: Plain, P: Policy>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Reader<'_, T, P>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, capacity, spare)?;
    Ok(Reader::attach(&memory, capacity, slots))
}

/// An end that reads along, see [`qrtwo::follower`](super::qrtwo::follower).
///
/// # Safety
///
/// As there.
pub(super) unsafe fn follower<T: Plain, P: Policy>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Reader<'_, T, P, Unpublished>, LayoutError> {
    let memory = memory.claim();
    let slots = check::<T>(&memory, capacity, spare)?;
    let mut follower = Reader::attach(&memory, capacity, slots).follower();
    follower.view.head = Position::new(believed(follower.view.shared_tail.load(Relaxed)), slots);
    Ok(follower)
}

/// A value, and what was lost before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popped<T> {
    /// The value.
    pub value: T,
    /// Values that were discarded between this reader's last one and this one.
    pub lost: u64,
}

/// What [`Reader::pop_slice`] took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoppedSlice {
    /// Values, in the first places of the slice.
    pub count: usize,
    /// Values that were discarded between this reader's last one and the first of these.
    pub lost: u64,
}

/// The writer came round the ring while the value was copied: nothing can be said about the copy. The next attempt
/// begins behind what was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken;

impl fmt::Display for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the writer overwrote the value while it was copied")
    }
}

impl core::error::Error for Overtaken {}

/// The end that pushes. Real-time.
pub struct Writer<'m, T, P> {
    shared_tail: &'m AtomicU64,
    shared_head: &'m AtomicU64,
    slots: Places<'m, T>,
    tail: Position,
    capacity: u32,
    policy: PhantomData<P>,
}

impl<'m, T: Plain, P: Policy> Writer<'m, T, P> {
    fn attach(memory: &Claimed<'m>, capacity: u32, slots: usize) -> Self {
        let shared_tail = memory.word(TAIL);
        // O2 publish: what this writer overwrites, it overwrites behind the tails of those before it.
        let tail = Position::new(believed(shared_tail.load(Acquire)), slots);
        Self {
            shared_tail,
            shared_head: memory.word(HEAD),
            slots: Places::new(memory, SLOTS, slot_bytes::<T>(), slots),
            tail,
            capacity,
            policy: PhantomData,
        }
    }

    /// Appends `value`; if the queue is full, what the policy says makes room. Wait-free: one copy, 1 store, no load.
    #[inline]
    pub fn push(&mut self, value: &T) {
        self.push_batch(core::slice::from_ref(value));
    }

    /// Appends all of `values`, as that many pushes would: of more than the capacity the last ones stay, and the
    /// others are lost. Wait-free: one copy, 1 store for each 64 bytes or for each value if it is larger, no load.
    #[inline]
    pub fn push_slice(&mut self, values: &[T]) {
        for batch in values.chunks(batch::<T>()) {
            self.push_batch(batch);
        }
    }

    #[inline(always)]
    fn push_batch(&mut self, values: &[T]) {
        debug_assert!(values.len() <= batch::<T>());
        fence(Release); // O1 overwrite: the tail that this batch begins with before its words.
        for value in values {
            // SAFETY: the slot is below their number, and a T fits (layout); T is Plain: no padding; slots are never
            // touched otherwise than by `store`, `load` and `load_run`.
            unsafe { self.slots.store(self.tail.slot, value) };
            self.tail.advance();
        }
        self.shared_tail.store(self.tail.counter, Release); // O2 publish: the words before the tail.
    }

    /// Values pushed, ever, also by writers before this one.
    #[inline]
    pub fn pushed(&self) -> u64 {
        self.tail.counter
    }

    /// Values waiting for the reader, by where it was last seen. Exact while it rests; while it pops, anything from 0
    /// to the capacity. What the reader has copied and not handed out counts until this end discards it. Followers do
    /// not count. 1 load, which a push does without.
    #[inline]
    pub fn len(&self) -> usize {
        waiting::<P>(believed(self.shared_head.load(Relaxed)), self.tail.counter, u64::from(self.capacity))
    }

    /// Whether none is waiting, by where the reader was last seen; true stays true until the next push.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values that can wait.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }
}

/// The end that pops. Not real-time.
///
/// With [`Unpublished`] a follower, which sees the same values without taking them from anybody.
pub struct Reader<'m, T, P, H = Published<'m>> {
    view: View<'m, T, P>,
    ahead: Ahead,
    lost: u64,
    trace: H,
}

/// Values that a reader has copied out of the ring together, and hands out one by one.
#[derive(Clone, Copy)]
struct Ahead {
    values: [u64; 8],
    /// Number of the next one among them, and how many there are: below it, or equal.
    next: usize,
    count: usize,
}

impl Ahead {
    const NONE: Self = Self { values: [0; 8], next: 0, count: 0 };

    /// How many are left.
    #[inline(always)]
    fn left(&self) -> usize {
        self.count - self.next
    }

    /// Room for values, as many as a batch.
    #[inline(always)]
    fn room<T: Plain>(&mut self) -> &mut [T] {
        const { assert!(batch::<T>() * size_of::<T>() <= 64 || batch::<T>() == 1) };
        let count = if size_of::<T>() > 64 { 0 } else { batch::<T>() };
        // SAFETY: so many fit into 64 bytes (asserted; one that is larger has no place), aligned to 8 as a T is at most;
        // initialised, with zeros or with values, and any of those bits are a T (Plain).
        unsafe { core::slice::from_raw_parts_mut(self.values.as_mut_ptr().cast(), count) }
    }

    /// The next one.
    ///
    /// # Safety
    ///
    /// There is one left, of this `T`.
    #[inline(always)]
    unsafe fn take<T: Plain>(&mut self, value: &mut MaybeUninit<T>) {
        // SAFETY: below the count, which is at most the room (caller).
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
    /// Where what comes after them stands.
    behind: Position,
    count: usize,
    /// How many were discarded before the first.
    lost: u64,
}

impl<T: Plain, P: Policy> View<'_, T, P> {
    /// Copies the oldest value; `None` if there is none.
    #[inline(always)]
    fn copy_one(&self, value: &mut MaybeUninit<T>) -> Result<Option<Run>, Overtaken> {
        let tail = self.shared_tail.load(Relaxed);
        let waiting = tail.wrapping_sub(self.head.counter);
        if waiting == 0 {
            return Ok(None);
        }
        // A fence, and not the load: of memory that is mapped for reading only, the language allows relaxed loads
        // alone.
        fence(Acquire); // O2 publish
        // A branch, and what it leads to is far away: the slot is then fetched while the tail is still on its way. A
        // slot computed from the tail would wait for it.
        if waiting > self.capacity {
            return self.copy_behind(tail, value);
        }
        self.copy_at(self.head, 0, value).map(Some)
    }

    /// [`View::copy_one`] where values were discarded.
    #[cold]
    #[inline(never)]
    fn copy_behind(&self, tail: u64, value: &mut MaybeUninit<T>) -> Result<Option<Run>, Overtaken> {
        let (at, lost, waiting) = self.skip(tail);
        if waiting == 0 { Ok(None) } else { self.copy_at(at, lost, value).map(Some) }
    }

    #[inline(always)]
    fn copy_at(&self, at: Position, lost: u64, value: &mut MaybeUninit<T>) -> Result<Run, Overtaken> {
        // SAFETY: the slot is below their number, and a T fits (layout); slots are never touched otherwise than by
        // `store`, `load_into` and `load_run`.
        unsafe { self.slots.load_into(at.slot, value) };
        self.check(at)?;
        let mut behind = at;
        behind.advance();
        Ok(Run { behind, count: 1, lost })
    }

    /// Copies as many of the oldest values as are waiting and fit in `values`; `None` if there are none.
    #[inline(always)]
    fn copy_run(&self, values: &mut [T]) -> Result<Option<Run>, Overtaken> {
        let Some((at, lost, count)) = self.oldest(values.len()) else { return Ok(None) };
        let (first, second) = values[..count].split_at_mut(at.until_end(count));
        // SAFETY: as in `copy_at`: the first run ends before the last slot or with it, the second begins at slot 0, and
        // together they are no more than the capacity.
        unsafe {
            self.slots.load_run(at.slot, first);
            if !second.is_empty() {
                self.slots.load_run(0, second);
            }
        }
        self.checked(at, lost, count)
    }

    /// [`View::copy_run`] for as few values as make a line.
    #[inline(always)]
    fn copy_line(&self, values: &mut [T]) -> Result<Option<Run>, Overtaken> {
        let Some((at, lost, count)) = self.oldest(values.len()) else { return Ok(None) };
        if count == values.len() && at.until_end(count) == count {
            // SAFETY: as in `copy_run`, one run. Of a length that the compiler knows.
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

    /// Where the oldest value stands, how many were discarded before it, and how many are there, up to `wanted`; `None`
    /// if there are none.
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

    /// `count` values that were copied from `at` on, if they are whole.
    #[inline(always)]
    fn checked(&self, at: Position, lost: u64, count: usize) -> Result<Option<Run>, Overtaken> {
        self.check(at)?;
        let mut behind = at;
        behind.advance_by(count);
        Ok(Some(Run { behind, count, lost }))
    }

    /// Where the oldest value stands, how many were discarded before it, and how many wait.
    #[cold]
    fn skip(&self, tail: u64) -> (Position, u64, u64) {
        let (oldest, tail) = window::<P>(self.head.counter, tail, self.capacity);
        let lost = oldest.saturating_sub(self.head.counter);
        (Position::new(oldest, self.head.slots), lost, tail - oldest)
    }

    /// Whether values that were copied from `oldest` on are whole.
    #[inline(always)]
    fn check(&self, oldest: Position) -> Result<(), Overtaken> {
        fence(Acquire); // O1 overwrite: the words before the second look at the tail.
        let pushed = self.shared_tail.load(Relaxed).wrapping_sub(oldest.counter);
        if pushed > (self.head.slots - batch::<T>()) as u64 { Err(Overtaken) } else { Ok(()) }
    }
}

impl<T, P> Clone for Reader<'_, T, P, Unpublished> {
    /// One more follower, at the same value.
    fn clone(&self) -> Self {
        Self { view: self.view, ahead: self.ahead, lost: self.lost, trace: Unpublished }
    }
}

impl<'m, T: Plain, P: Policy> Reader<'m, T, P> {
    fn attach(memory: &Claimed<'m>, capacity: u32, slots: usize) -> Self {
        let shared_head = memory.word(HEAD);
        let view = View {
            shared_tail: memory.word(TAIL),
            slots: Places::new(memory, SLOTS, slot_bytes::<T>(), slots),
            // Relaxed: the reader before has ended, and this comes after.
            head: Position::new(believed(shared_head.load(Relaxed)), slots),
            capacity: u64::from(capacity),
            policy: PhantomData,
        };
        Self { view, ahead: Ahead::NONE, lost: 0, trace: Published(shared_head) }
    }
}

impl<'m, T: Plain, P: Policy, H: Trace> Reader<'m, T, P, H> {
    /// An end that begins where this one is, and sees every value on its own account from there on.
    pub fn follower(&self) -> Reader<'m, T, P, Unpublished> {
        Reader { view: self.not_taken(), ahead: Ahead::NONE, lost: 0, trace: Unpublished }
    }

    /// Takes the oldest value; `None` if none is waiting. A large value is moved on its way out; with
    /// [`Reader::pop_into`] it is copied once, to where it is to be.
    ///
    /// Of values of up to 32 bytes the reader copies at once as many as wait and fit in 64 bytes, and hands them out by
    /// this and the next pops, without a look at the ring. So
    ///
    /// - a value may be older than any that waits by now: the writer may have discarded it since this end copied it, up
    ///   to 7 of them, fewer than the capacity. [`Reader::pop_slice`] discards what was copied, and begins with the oldest
    ///   value that waits: its first value is never older than the policy says;
    /// - [`Reader::len`] counts copied values, [`Reader::lost`] does not, whatever the writer does meanwhile;
    /// - if this end dies or is dropped, its successor begins behind the last value that was handed out.
    ///
    /// # Errors
    ///
    /// [`Overtaken`]: nothing was taken.
    #[inline]
    pub fn pop(&mut self) -> Result<Option<Popped<T>>, Overtaken> {
        let mut value = MaybeUninit::uninit();
        let Some(lost) = self.pop_to(&mut value)? else { return Ok(None) };
        // SAFETY: `pop_to` fills every byte; T is Plain: any bytes are one (and these are of one value: proof above).
        Ok(Some(Popped { value: unsafe { value.assume_init() }, lost }))
    }

    /// [`Reader::pop`] into `value`, which saves moving a large one again; the result is the number of values that
    /// were lost before it. If none is waiting it is `None`, and `value` is as it was.
    ///
    /// # Errors
    ///
    /// [`Overtaken`]: nothing was taken, and `value` holds anything.
    #[inline]
    pub fn pop_into(&mut self, value: &mut T) -> Result<Option<u64>, Overtaken> {
        self.pop_to(uninit(value))
    }

    #[inline(always)]
    fn pop_to(&mut self, value: &mut MaybeUninit<T>) -> Result<Option<u64>, Overtaken> {
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

    /// Copies what waits of the oldest value and those behind it, up to a line: how many were discarded before it.
    #[inline(never)]
    fn read_ahead(&mut self) -> Result<Option<u64>, Overtaken> {
        let Some(run) = self.view.copy_line(self.ahead.room::<T>())? else { return Ok(None) };
        (self.ahead.next, self.ahead.count) = (0, run.count);
        self.pass(&run);
        Ok(Some(run.lost))
    }

    /// What was copied is behind this end.
    #[inline(always)]
    fn pass(&mut self, run: &Run) {
        (self.view.head.counter, self.view.head.slot) = (run.behind.counter, run.behind.slot);
        self.lost = self.lost.wrapping_add(run.lost);
    }

    /// Number of the value that is handed out next.
    #[inline(always)]
    fn next(&self) -> u64 {
        self.view.head.counter.wrapping_sub(self.ahead.left() as u64)
    }

    /// The view of one that has copied no more than this end has handed out.
    fn not_taken(&self) -> View<'m, T, P> {
        View { head: Position::new(self.next(), self.view.head.slots), ..self.view }
    }

    /// What was handed out is taken.
    #[inline(always)]
    fn leave(&self) {
        self.trace.leave(self.next());
    }

    /// Takes the oldest value, in up to `attempts` attempts (0 counts as 1) with a pause in between; `None` if none is
    /// waiting.
    ///
    /// # Errors
    ///
    /// [`Overtaken`] each time: nothing was taken.
    #[inline]
    pub fn pop_within(&mut self, attempts: u32) -> Result<Option<Popped<T>>, Overtaken> {
        for _ in 1..attempts {
            if let Ok(popped) = self.pop() {
                return Ok(popped);
            }
            spin_loop();
        }
        self.pop()
    }

    /// Takes as many of the oldest values as are waiting and fit in `values`, all or, on an error, none. The longer
    /// the slice, the longer the copy, and the sooner it is overtaken. What a pop has copied ahead and the writer has
    /// discarded since, is lost.
    ///
    /// # Errors
    ///
    /// [`Overtaken`]: nothing was taken, and `values` hold anything.
    #[inline]
    pub fn pop_slice(&mut self, values: &mut [T]) -> Result<PoppedSlice, Overtaken> {
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

    /// Values that were discarded before this end could take them, as far as it has found out by popping: with those
    /// that it took, all that were pushed since its beginning (a first reader's: since the object's).
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Values waiting at this instant, by the policy, and those that this end has copied and not handed out. Not empty
    /// stays so until the next pop, but how many it is may fall as well as rise, as the writer discards.
    #[inline]
    pub fn len(&self) -> usize {
        let View { shared_tail, head, capacity, .. } = self.view;
        self.ahead.left() + waiting::<P>(head.counter, shared_tail.load(Relaxed), capacity)
    }

    /// Whether none is waiting; false stays false until the next pop.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values that can wait.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.view.capacity as usize
    }
}
