// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Timed slots: values that wait for an instant; one setter, one taker. The setter can take a value back.
//!
//! # Use
//! Alarms: a lane for each setter, and one taker of all lanes, which keeps the instants in an order of its own. The setter
//! learns at once that no slot is free, and from [`Setter::cancel`] whether the value will be taken. Instants are
//! numbers that only compare.
//!
//! # Callers
//! `-`: both may run at the same time; `X`: they may not (the types and the duties of [`setter`] and [`taker`] ensure it).
//!
//! |                                   | `free`, `set`, `cancel` | `arm`, `narrow`, `collect`, `take_into` |
//! |-----------------------------------|-----------------|------------------------------------------|
//! | `free`, `set`, `cancel`           | X               | -                                        |
//! | `arm`, `narrow`, `collect`, `take_into` | -         | X                                        |
//!
//! # Progress
//! C slots, W = ⌈size of a value / 8⌉ words. Both sides are wait-free.
//!
//! | operation   | bound                                                                                         |
//! |-------------|-----------------------------------------------------------------------------------------------|
//! | `free`      | C loads, as a rule 1                                                                          |
//! | `set`       | W words + 5 stores + 1 fence + 1 load                                                         |
//! | `cancel`    | 1 load + 1 exchange + 2 stores                                                                |
//! | `arm`       | 1 store + 1 fence                                                                             |
//! | `narrow`    | 1 store                                                                                       |
//! | `collect`   | ⌈C / 8⌉ loads + 1 exchange and 4 loads for each slot with news                                |
//! | `take_into` | 1 exchange + 3 loads + W words + 1 store; of a repeated value 2 stores and 1 exchange more    |
//!
//! # Orderings
//! - O1 set: Release of the setter's state store ↔ Acquire of the taker's look and exchange.
//! - O2 free: Release of the taker's state store ↔ Acquire of the setter's search and exchange.
//! - O3 news: Release of the setter's store to a flag ↔ Acquire of the taker's exchange that finds it raised.
//! - O4 sleep: SeqCst fence of the setter, between its flag and its load of the armed instant ↔ SeqCst fence of the taker,
//!   between its store of that instant and its collection.
//!
//! # Crash
//! | crash of                            | the other side sees   | recovery                                              |
//! |-------------------------------------|-----------------------|-------------------------------------------------------|
//! | setter, before the state store      | nothing               | a new [`setter`] uses the same slot                   |
//! | setter, after it                    | the value, or nothing | a new [`setter`] raises all flags                     |
//! | setter, inside `cancel`             | no value              | a new [`setter`] frees the slot                       |
//! | taker, inside `take_into`           | the slot is in use    | a new [`taker`] frees the slot: at most once          |
//! | taker, elsewhere                    | nothing               | the first collection of a new [`taker`] is of all slots |
//!
//! # Source
//! Our own. That the party whose exchange comes first decides is usual; [Yan18, section 3.6.3] has one thread do all of it.

use core::mem::MaybeUninit;

use taut_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, Flags, LINE_BYTES, Memory, StridedWords, fence, flag_bytes};

use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, slot_bytes};
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0    armed: the taker must be woken for a value that is due before this instant (stored by the taker)
// then      C flags: not 0 if there is news of the slot (raised by the setter, claimed by the taker)
// then      C rows of 4 words: state, earliest, latest, period
// then      C places for values
//
// state     bits 0, 1: IDLE, PENDING or TAKEN; bit 2: CANCELLED; above: how often the slot was set
//
//           set             take_into                  take_into, not repeated or cancelled
//   IDLE ----------> PENDING ----------------> TAKEN -------------------------------------> IDLE
//     ^                |  ^                      |
//     '----------------'  '----------------------'
//        cancel              take_into, repeated
// ```
//
// # Invariants
//
// - I1 An IDLE slot belongs to the setter, one that is TAKEN to the taker: only the owner touches its value and stores its
//   instants. Nobody touches the value of a PENDING slot.
// - I2 PENDING ends by an exchange, that of the taker to TAKEN or that of the setter, which adds CANCELLED. The first one
//   decides: after the taker's the setter finds TAKEN, after the setter's the taker's compare fails.
// - I3 The setter alone makes a slot PENDING for the first time, with a number that is above all earlier ones.

const IDLE: u64 = 0;
const PENDING: u64 = 1;
const TAKEN: u64 = 2;
const PHASE: u64 = 3;
const CANCELLED: u64 = 4;
const NUMBER: u32 = 3;

const FLAGS: usize = LINE_BYTES;
const ROW: usize = 4 * size_of::<u64>();

/// The maximum number of slots.
pub const SLOTS_MAX: u32 = 1 << 16;

/// Bytes that `capacity` slots need; `None` if that overflows.
pub const fn bytes<T: Plain>(capacity: u32) -> Option<usize> {
    let Some(values) = slot_bytes::<T>().checked_mul(capacity as usize) else { return None };
    let Some(values) = values.checked_next_multiple_of(LINE_BYTES) else { return None };
    if capacity > SLOTS_MAX {
        return None;
    }
    values.checked_add(values_at(capacity as usize))
}

/// Where the rows begin.
const fn rows_at(capacity: usize) -> usize {
    FLAGS + line_bytes(flag_bytes(capacity))
}

/// Where the values begin.
const fn values_at(capacity: usize) -> usize {
    rows_at(capacity) + line_bytes(ROW * capacity)
}

/// When a value is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// From when on it may be taken.
    pub earliest: u64,
    /// When it is due.
    pub latest: u64,
    /// How much later it is due again; 0 if it is taken once.
    pub period: u64,
}

/// Names a value that was set. No later value of the same lane has this token; one of another lane may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotToken {
    slot: u32,
    number: u64,
}

impl SlotToken {
    /// Of no value: nothing can be cancelled with it.
    pub const NONE: Self = Self { slot: u32::MAX, number: 0 };
}

/// A value was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSet {
    /// Its name, for [`Setter::cancel`].
    pub token: SlotToken,
    /// Whether the taker waits for a later instant, and the caller must wake it.
    pub wakes: bool,
}

/// What became of a value that its setter cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// The taker does not take it any more.
    Prevented,
    /// The taker is taking it. A repeated value is not taken again.
    Underway,
    /// It was over before: taken for the last time, or cancelled; or this setter set no such value.
    Over,
}

/// A slot that holds a value, as the taker saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingSlot {
    number: u64,
    /// When the value is to be taken.
    pub due: Due,
}

impl PendingSlot {
    /// Of no slot: nothing can be taken with it.
    pub const NONE: Self = Self { number: 0, due: Due { earliest: 0, latest: 0, period: 0 } };
}

/// A value was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotTaken {
    /// When it was due.
    pub due: Due,
    /// The slot, if the value is repeated and was not cancelled meanwhile.
    pub again: Option<PendingSlot>,
}

struct Object<'m, T> {
    armed: &'m AtomicU64,
    flags: Flags<'m>,
    states: StridedWords<'m>,
    earliest: StridedWords<'m>,
    latest: StridedWords<'m>,
    period: StridedWords<'m>,
    values: Places<'m, T>,
}

impl<'m, T: Plain> Object<'m, T> {
    fn new(memory: &Claimed<'m>, capacity: u32) -> Result<Self, LayoutError> {
        let needed = bytes::<T>(capacity).filter(|_| capacity > 0).ok_or(LayoutError::Capacity)?;
        fit(memory, needed)?;
        let count = capacity as usize;
        let rows = rows_at(count);
        let words = |at: usize| memory.words(rows + at * size_of::<u64>(), ROW, count);
        Ok(Self {
            armed: memory.word(0),
            // SAFETY: this object uses these bytes for flags only.
            flags: unsafe { memory.flags(FLAGS, count) },
            states: words(0),
            earliest: words(1),
            latest: words(2),
            period: words(3),
            values: Places::new(memory, values_at(count), slot_bytes::<T>(), count),
        })
    }
}

/// Both ends on one memory, of `capacity` slots.
///
/// ```
/// use taut_share::queue::timed_slots::{self, Cancellation, Due};
/// use taut_share::{Line, Memory};
///
/// let mut lines = [const { Line::new() }; 4];
/// let (mut setter, mut taker) = timed_slots::pair::<u64>(Memory::new(&mut lines), 2)?;
/// let at = |instant| Due { earliest: instant, latest: instant, period: 0 };
/// let late = setter.free().expect("two slots").set(at(50), &7);
/// let soon = setter.free().expect("two slots").set(at(20), &8);
/// assert!(setter.free().is_none());
/// assert_eq!(setter.cancel(late.token), Cancellation::Prevented);
///
/// let mut pending = Vec::new();
/// taker.collect(|slot, of| pending.extend(of.map(|of| (slot, of))));
/// assert_eq!(pending.len(), 1);
/// let mut value = 0;
/// let (slot, of) = pending[0];
/// let taken = taker.take_into(slot, of, |_| None, &mut value).expect("not cancelled");
/// assert_eq!((taken.due.latest, value), (20, 8));
/// assert_eq!(setter.cancel(soon.token), Cancellation::Over);
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError`]: too small, or a capacity of 0 or above [`SLOTS_MAX`].
pub fn pair<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
) -> Result<(Setter<'_, T>, Taker<'_, T>), LayoutError> {
    let memory = memory.claim();
    Ok((Setter::attach(Object::new(&memory, capacity)?), Taker::attach(Object::new(&memory, capacity)?)))
}

/// The setter's end alone. After the death of a setter, at any step, this call makes its successor's.
///
/// # Errors
///
/// [`LayoutError`], as [`pair`].
///
/// # Safety
///
/// The memory holds this object for this `T` and capacity, or zeros. No other setter of it exists: the last one has ended,
/// and its end happens before this call. No other process writes the memory.
pub unsafe fn setter<T: Plain>(memory: Memory<'_>, capacity: u32) -> Result<Setter<'_, T>, LayoutError> {
    Ok(Setter::attach(Object::new(&memory.claim(), capacity)?))
}

/// The taker's end alone. After the death of a taker, at any step, this call makes its successor's.
///
/// # Errors
///
/// [`LayoutError`], as [`pair`].
///
/// # Safety
///
/// The memory holds this object for this `T` and capacity, or zeros. No other taker of it exists: the last one has ended,
/// and its end happens before this call. No other process writes the memory.
pub unsafe fn taker<T: Plain>(memory: Memory<'_>, capacity: u32) -> Result<Taker<'_, T>, LayoutError> {
    Ok(Taker::attach(Object::new(&memory.claim(), capacity)?))
}

/// The end that sets values, and takes them back. Real-time.
pub struct Setter<'m, T> {
    object: Object<'m, T>,
    /// Where the search for a free slot begins.
    next: usize,
}

impl<'m, T: Plain> Setter<'m, T> {
    fn attach(object: Object<'m, T>) -> Self {
        for slot in 0..object.states.count() {
            if let (Some(state), Some(flag)) = (object.states.get(slot), object.flags.get(slot)) {
                // O2 free: what the taker did with the slot is over.
                let now = state.load(Acquire);
                if now & (PHASE | CANCELLED) == PENDING | CANCELLED {
                    // The setter before this one was cancelling it, and nobody else can have it (I2).
                    state.store(now & !(PHASE | CANCELLED), Relaxed);
                }
                flag.raise(Release); // O3 news
            }
        }
        Self { object, next: 0 }
    }

    /// Number of slots.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.object.states.count()
    }

    /// A slot that holds no value; `None` if all hold values that were not taken yet. Wait-free: C loads, as a rule 1.
    #[inline]
    pub fn free(&mut self) -> Option<FreeSlot<'_, 'm, T>> {
        let count = self.object.states.count();
        let first = if self.next < count { self.next } else { 0 };
        let found = (first..count).chain(0..first).find_map(|slot| {
            // SAFETY: below the count.
            let state = unsafe { self.object.states.at(slot) }.load(Acquire); // O2 free
            (state & PHASE == IDLE).then_some((slot, state >> NUMBER))
        });
        found.map(|(slot, number)| FreeSlot { setter: self, slot, number: number + 1 })
    }

    /// Sets a value in the free slot `slot`.
    #[inline(always)]
    fn set(&mut self, (slot, number): (usize, u64), due: Due, value: &T) -> SlotSet {
        let object = &self.object;
        // SAFETY: `free` gives a slot below the count.
        let words = unsafe {
            [object.earliest.at(slot), object.latest.at(slot), object.period.at(slot), object.states.at(slot)]
        };
        let [earliest, latest, period, state] = words;
        earliest.store(due.earliest, Relaxed);
        latest.store(due.latest, Relaxed);
        period.store(due.period, Relaxed);
        // SAFETY:
        // - the slot is below the count, and a T fits (layout); T is Plain: no padding, aligned to at most 8;
        // - exclusive: the slot is IDLE, so it is ours (I1), and the taker's last access is over (O2).
        unsafe { object.values.write(slot, value) };
        state.store(number << NUMBER | PENDING, Release); // O1 set
        if let Some(flag) = object.flags.get(slot) {
            flag.raise(Release); // O3 news
        }
        // Proof: Of two fences one comes first. If it is ours, the taker's collection after its fence finds the flag. If it
        // is the taker's, our load finds the instant that the taker stored before it, or one that it stored later: so a
        // taker that sleeps past `latest` is woken, or has collected this slot.
        fence(SeqCst); // O4 sleep
        let wakes = due.latest < object.armed.load(Relaxed);
        self.next = slot + 1;
        SlotSet { token: SlotToken { slot: slot as u32, number }, wakes }
    }

    /// Takes a value back. `token` must be of this lane: that of another lane may name another value here. Wait-free: 1
    /// load, 1 exchange, 2 stores.
    #[inline]
    pub fn cancel(&mut self, token: SlotToken) -> Cancellation {
        let object = &self.object;
        let slot = token.slot as usize;
        let (Some(state), Some(flag)) = (object.states.get(slot), object.flags.get(slot)) else {
            return Cancellation::Over;
        };
        let now = state.load(Relaxed);
        // The number is ours alone (I3): if it is the token's, it stays that until we set the slot again.
        if now >> NUMBER != token.number || now & PHASE == IDLE {
            return Cancellation::Over;
        }
        // Proof: By I2 what this exchange finds says who has the slot. It finds PENDING: no compare of the taker succeeds any
        // more. It finds TAKEN: the taker frees the slot, because its compare for a repetition fails. It finds IDLE: the
        // taker has freed the slot, which is ours.
        let found = state.fetch_or(CANCELLED, AcqRel); // O2 free
        match found & PHASE {
            PENDING => {
                state.store(token.number << NUMBER | IDLE, Relaxed);
                // The taker may forget the instant.
                flag.raise(Release); // O3 news
                Cancellation::Prevented
            }
            TAKEN => Cancellation::Underway,
            _ => {
                state.store(token.number << NUMBER | IDLE, Relaxed);
                Cancellation::Over
            }
        }
    }
}

/// A slot that holds no value. The caller may look at the clock before it sets one: what it sees is then later than the end
/// of the slot's last value.
pub struct FreeSlot<'s, 'm, T> {
    setter: &'s mut Setter<'m, T>,
    slot: usize,
    number: u64,
}

impl<T: Plain> FreeSlot<'_, '_, T> {
    /// Sets a copy of `value` for its instant. Wait-free: one copy, 5 stores, 1 fence, 1 load.
    #[inline]
    pub fn set(self, due: Due, value: &T) -> SlotSet {
        self.setter.set((self.slot, self.number), due, value)
    }
}

/// The end that takes values. Real-time.
pub struct Taker<'m, T> {
    object: Object<'m, T>,
    /// Whether it has collected.
    began: bool,
}

impl<'m, T: Plain> Taker<'m, T> {
    fn attach(object: Object<'m, T>) -> Self {
        for slot in 0..object.states.count() {
            if let Some(state) = object.states.get(slot) {
                // O1 set, and what the setter and the taker before this one did.
                let now = state.load(Acquire);
                if now & PHASE == TAKEN {
                    // The taker before this one had it: the slot is ours (I1).
                    state.store(now & !(PHASE | CANCELLED), Release); // O2 free
                }
            }
        }
        Self { object, began: false }
    }

    /// Number of slots.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.object.states.count()
    }

    /// Asks the setter to wake the caller for each value that it sets from now on. Call it before the collection after
    /// which the caller sleeps. Wait-free: 1 store, 1 fence.
    #[inline]
    pub fn arm(&mut self) {
        self.object.armed.store(u64::MAX, Relaxed);
        fence(SeqCst); // O4 sleep
    }

    /// Asks the setter to wake the caller only for values that are due before `until`; for none if that is 0. Call it after
    /// the collection. Wait-free: 1 store.
    #[inline]
    pub fn narrow(&mut self, until: u64) {
        // A setter that has not seen this store wakes the caller in vain.
        self.object.armed.store(until, Relaxed);
    }

    /// Calls `news` for each slot that was set or cancelled since the last collection: with what it holds, or with `None`
    /// if it holds nothing. The first call is about all slots. Wait-free: ⌈C / 8⌉ loads, and for each slot with news 1
    /// exchange and 4 loads.
    #[inline]
    pub fn collect(&mut self, mut news: impl FnMut(usize, Option<PendingSlot>)) {
        if !core::mem::replace(&mut self.began, true) {
            for slot in 0..self.capacity() {
                let _ = self.object.flags.get(slot).map(|flag| flag.claim(Acquire)); // O3 news
                news(slot, self.look(slot));
            }
            return;
        }
        for block in 0..self.capacity().div_ceil(Flags::BLOCK) {
            let mut raised = self.object.flags.raised(block);
            while raised != 0 {
                let at = raised.trailing_zeros() / 8;
                raised &= !(0xFF << (8 * at));
                let slot = Flags::BLOCK * block + at as usize;
                // O3 news. A change after the look raises the flag again.
                if self.object.flags.get(slot).is_some_and(|flag| flag.claim(Acquire)) {
                    news(slot, self.look(slot));
                }
            }
        }
    }

    #[inline(always)]
    fn look(&self, slot: usize) -> Option<PendingSlot> {
        let object = &self.object;
        let state = object.states.get(slot)?.load(Acquire); // O1 set
        if state & (PHASE | CANCELLED) != PENDING {
            return None;
        }
        // The instants may be those of a later value, if the setter cancels this one and sets the slot again meanwhile. Then
        // this one can no longer be taken, and the flag is raised again.
        let word = |words: &StridedWords<'m>| words.get(slot).map(|word| word.load(Relaxed));
        let due = Due {
            earliest: word(&object.earliest)?,
            latest: word(&object.latest)?,
            period: word(&object.period)?,
        };
        Some(PendingSlot { number: state >> NUMBER, due })
    }

    /// Takes the value that a collection found, into `value`; `None` if it was cancelled, and then `value` is unchanged. Of
    /// a repeated value `again` says when it is due next. Wait-free: 1 exchange, 3 loads, one copy, 1 store; of a repeated
    /// value 2 stores and 1 exchange more, and the steps of `again`.
    #[inline]
    pub fn take_into(
        &mut self,
        slot: usize,
        pending: PendingSlot,
        again: impl FnOnce(Due) -> Option<Due>,
        value: &mut T,
    ) -> Option<SlotTaken> {
        let object = &self.object;
        let state = object.states.get(slot)?;
        let [waiting, taken] = [PENDING, TAKEN].map(|phase| pending.number << NUMBER | phase);
        state.compare_exchange(waiting, taken, Acquire, Relaxed).ok()?; // O1 set
        // SAFETY: `get` has found the slot below the count.
        let words = unsafe { [object.earliest.at(slot), object.latest.at(slot), object.period.at(slot)] };
        let [earliest, latest, period] = words;
        let due = Due {
            earliest: earliest.load(Relaxed),
            latest: latest.load(Relaxed),
            period: period.load(Relaxed),
        };
        let into: &mut MaybeUninit<T> = uninit(value);
        // SAFETY:
        // - the slot is below the count, and a T fits (layout); T is Plain: every bit pattern is one;
        // - exclusive: the slot is TAKEN, so it is ours (I1), and its value is there (O1).
        unsafe { object.values.read_into(slot, into) };
        let next = if due.period > 0 { again(due) } else { None };
        if let Some(next) = next {
            earliest.store(next.earliest, Relaxed);
            latest.store(next.latest, Relaxed);
            // O2 free. It fails if the setter has cancelled the value meanwhile.
            if state.compare_exchange(taken, waiting, Release, Relaxed).is_ok() {
                let due_again = PendingSlot { due: Due { period: due.period, ..next }, ..pending };
                return Some(SlotTaken { due, again: Some(due_again) });
            }
        }
        state.store(pending.number << NUMBER | IDLE, Release); // O2 free
        Some(SlotTaken { due, again: None })
    }
}

// # Checked
//
// Behaviour against a model of one thread, the successor of a dead end, counted steps, layout; loom: set and cancel against
// collect, take and a repetition, and that no taker sleeps past an instant; Miri runs the first and threads. Not covered: a
// hostile process, which no caller lets near this memory.
