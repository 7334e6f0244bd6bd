// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SDrtR: newest value; one writer that is not real-time, one real-time reader.
//!
//! # Use
//! Settings, set points, commands into a control loop. The reader always gets the newest value that was published
//! whole; the writer gets `Busy` while the reader copies or looks. If the writer is the real-time side, see
//! [`super::sdrtw`]. If every value must arrive, see [`crate::queue`].
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`reader`] ensure it).
//!
//! |                             | publish | read | `release_reader` |
//! |-----------------------------|---------|------|------------------|
//! | `try_publish`, `publish_within` | X   | -    | X                |
//! | `read`, `read_into`, `read_with` | -  | X    | X                |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words.
//!
//! | operation           | bound                                                                             |
//! |---------------------|-----------------------------------------------------------------------------------|
//! | `read`, `read_into` | wait-free: 1 exchange + W words + 1 store; without the words if nothing was published |
//! | `read_with`         | the same, with the time of `look` instead of the words                            |
//! | `try_publish`       | W words + 1 exchange; then the value is published, or the reader was inside       |
//! | `publish_within(n)` | W words + 1 to n exchanges                                                        |
//!
//! A reader that reads back to back starves the writer: `Busy` can repeat for ever, but the reader never waits. On
//! AArch64 without LSE the processor runs an exchange as a loop; build with `+lse` to get the bound.
//!
//! # Orderings
//! - O1 publish: Release of the writer's exchange ↔ Acquire of the reader's exchange.
//! - O2 return: Release of the reader's store ↔ Acquire of the writer's exchange, and of a new writer's first load.
//!
//! # Crash
//! | death of                        | what the other side sees           | recovery                                |
//! |---------------------------------|------------------------------------|-----------------------------------------|
//! | writer, before its exchange     | the previous value                 | a new [`writer`] writes the free slot   |
//! | writer, after its exchange      | the new value                      | a new [`writer`] takes the other slot   |
//! | reader, before its exchange or after its store | nothing             | a new [`reader`] reads the newest value |
//! | reader, in between (bit 0 set)  | `Busy` until bit 0 is cleared      | a new [`reader`] clears bit 0, or the owner calls [`Writer::release_reader`] |
//!
//! # Source
//! [Perez Ruiz 2020, Listing 1]. We differ: the printed mask 0xFFFFF000 clears the slot bit too, so that the second
//! write waits for ever (`tests/nonblocking/printed.rs` shows it); the slot is the one that the exchange returned,
//! where the listing loads the index again; the reader returns the slot by a store, where the listing uses another
//! exchange, because only the reader can change the word meanwhile; `has_data` is bit 2 of the same word; the writer
//! returns `Busy` where the listing waits.

use core::fmt;

use taut_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, spin_loop};

use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0    idx: bit 0 reader inside | bit 1 current slot | bit 2 a value is there   (other bits 0)
// byte 128  slot 0, whole lines
//           slot 1, whole lines
// ```
//
// # Invariants
//
// - I1 The writer writes only the slot that bit 1 does not name.
// - I2 While bit 0 is 1, only the reader changes the word: the writer's exchange succeeds only while it is 0.
// - I3 Between its exchange and its store the reader reads only the slot that bit 1 named at the exchange.

const READER_INSIDE: u64 = 1;
const SLOT: u64 = 2;
const DATA: u64 = 4;

/// Bytes that an object for `T` needs.
pub const fn bytes<T: Plain>() -> usize {
    line_bytes(word_bytes::<T>()).saturating_mul(2).saturating_add(LINE_BYTES)
}

/// Both ends on one memory.
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
pub fn pair<T: Plain>(memory: Memory<'_>) -> Result<(Writer<'_, T>, Reader<'_, T>), LayoutError> {
    let memory = memory.claim();
    fit(&memory, bytes::<T>())?;
    Ok((Writer::attach(&memory), Reader::attach(&memory)))
}

/// The writer's end alone, for a reader that is in another process or that [`reader`] makes. After the death of a
/// writer, at any step, this call makes its successor.
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
///
/// # Safety
///
/// The memory holds this object for this `T`, or zeros. No other writer of it is alive: the last one has ended, and
/// its end happens before this call.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    fit(&memory, bytes::<T>())?;
    Ok(Writer::attach(&memory))
}

/// The reader's end alone, for a writer that is in another process or that [`writer`] makes. After the death of a
/// reader, at any step, this call makes its successor and clears the bit that the dead reader left set.
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
///
/// # Safety
///
/// The memory holds this object for this `T`, or zeros. No other reader of it is alive: the last one has ended, and
/// its end happens before this call.
pub unsafe fn reader<T: Plain>(memory: Memory<'_>) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    fit(&memory, bytes::<T>())?;
    Ok(Reader::attach(&memory))
}

fn slots<'m, T: Plain>(memory: &Claimed<'m>) -> Places<'m, T> {
    Places::new(memory, LINE_BYTES, line_bytes(word_bytes::<T>()), 2)
}

fn slot(idx: u64) -> usize {
    // A hostile writer can make the reader return any bits of the slots, also torn ones, and do nothing else: the
    // slot's number is one masked bit, and the steps are the same. A hostile reader can keep the writer `Busy` or make
    // it say `Corrupt`.
    usize::from(idx & SLOT != 0)
}

/// Why a value was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPublished {
    /// The reader was copying or looking at the previous value during each attempt.
    Busy,
    /// Something other than a reader of this object has changed its word. The error persists until a new writer
    /// attaches.
    Corrupt,
}

impl fmt::Display for NotPublished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "the reader is copying the previous value",
            Self::Corrupt => "the shared word has a value that this protocol never writes",
        })
    }
}

impl core::error::Error for NotPublished {}

/// The end that publishes. Not real-time.
pub struct Writer<'m, T> {
    idx: &'m AtomicU64,
    slots: Places<'m, T>,
    /// The word as this writer left it: bits 1 and 2.
    current: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(memory: &Claimed<'m>) -> Self {
        let idx = memory.word(0);
        // O2 return: the last writer's exchange synchronised with the read that returned the slot that we write next.
        // Our load reads the value of that exchange, or of a reader's later change, and so synchronises with that
        // read too.
        let current = idx.load(Acquire) & (SLOT | DATA);
        Self { idx, slots: slots(memory), current }
    }

    /// Publishes `value`, unless the reader is inside at this moment. In that case the value stays in the free slot,
    /// where no reader sees it, and the next attempt overwrites it.
    ///
    /// # Errors
    ///
    /// [`NotPublished`].
    #[inline]
    pub fn try_publish(&mut self, value: &T) -> Result<(), NotPublished> {
        self.publish_within(value, 1)
    }

    /// Publishes `value`: copies it once and tries up to `attempts` times (0 counts as 1), with a pause between
    /// attempts, to make it the current value. A value that is not published stays in the free slot as in
    /// [`Writer::try_publish`].
    ///
    /// # Errors
    ///
    /// [`NotPublished`].
    #[inline]
    pub fn publish_within(&mut self, value: &T, attempts: u32) -> Result<(), NotPublished> {
        let new = DATA | (!self.current & SLOT);
        // SAFETY:
        // - the slot's number is 0 or 1, and a T fits (layout); T is Plain: no padding, aligned to at most 8;
        // - exclusive: bit 1 names the other slot (I1) and only we change it (I2); the last read of this slot had
        //   returned before our exchange that moved bit 1 away from it (O2).
        unsafe { self.slots.write(slot(new), value) };
        let mut left = attempts;
        loop {
            // O1 publish (Release): the slot's content; O2 return (Acquire): the last read of the other slot.
            let Err(found) = self.idx.compare_exchange(self.current, new, AcqRel, Relaxed) else {
                self.current = new;
                return Ok(());
            };
            if found != self.current | READER_INSIDE {
                return Err(NotPublished::Corrupt);
            }
            if left <= 1 {
                return Err(NotPublished::Busy);
            }
            left -= 1;
            spin_loop();
        }
    }

    /// Clears bit 0 after a reader died while it copied, so that the writer can publish before the next reader
    /// attaches. (The next [`reader`] clears it too.)
    ///
    /// # Safety
    ///
    /// No reader of this object is alive, and the end of the last one happens before this call.
    pub unsafe fn release_reader(&mut self) {
        // O2 return, for the dead reader: its copy came before its end, and its end before this call (caller).
        self.idx.fetch_and(!READER_INSIDE, Release);
    }
}

/// The end that reads. Real-time.
pub struct Reader<'m, T> {
    idx: &'m AtomicU64,
    slots: Places<'m, T>,
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(memory: &Claimed<'m>) -> Self {
        let idx = memory.word(0);
        // O2 return, for a reader that died inside: see `Writer::release_reader`. If bit 0 stayed set, our first
        // exchange would carry into bit 1.
        idx.fetch_and(!READER_INSIDE, Release);
        Self { idx, slots: slots(memory) }
    }

    /// The newest value; `None` before the first one. Wait-free: 1 exchange, one copy, 1 store.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        let (inside, slot) = self.enter()?;
        // SAFETY:
        // - the slot's number is 0 or 1, whatever the word is, and a T fits (layout);
        // - T is Plain: every bit pattern is a value, and it is aligned to at most 8;
        // - exclusive against our writer: bit 0 is set until `inside` is dropped (I2), so the writer leaves this slot
        //   alone (I1). A hostile process is outside this program: its bits are a T like any others, and we fetch all
        //   of them before the Release in that drop.
        let value = unsafe { self.slots.read(slot) };
        drop(inside);
        Some(value)
    }

    /// [`Reader::read`] into `value`, which saves a further move of a large value; returns whether there was a value.
    /// If not, `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> bool {
        let Some((_inside, slot)) = self.enter() else { return false };
        // SAFETY: as in `read`, until `_inside` is dropped, at the end of this function.
        unsafe { self.slots.read_into(slot, uninit(value)) };
        true
    }

    /// Shows `look` the newest value where it lies; `None` before the first one. The writer gets `Busy` until `look`
    /// returns: repeated long looks starve the writer. Wait-free except for `look`: 1 exchange, 1 store.
    #[inline]
    pub fn read_with<R>(&mut self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let (_inside, slot) = self.enter()?;
        // SAFETY: as in `read`, until `_inside` is dropped, after `look` has returned or panicked.
        Some(unsafe { self.slots.lend(slot, look) })
    }

    /// Keeps the writer out, if there is a value; returns the value's slot.
    #[inline(always)]
    fn enter(&self) -> Option<(Inside<'m>, usize)> {
        // Proof: The reader's exchange and the writer's exchange are read-modify-writes of one word, so one comes
        // first. If the reader's comes first: bit 0 is set, and the writer's exchange fails until the reader's store
        // (I2). So bit 1 keeps naming the slot that the reader reads, the writer does not touch that slot (I1, I3),
        // and the reader's store overwrites no other change of the word. If the writer's comes first: the reader's
        // exchange returns the new bit 1, or a later one, and O1 makes the slot's content visible. The writer next
        // writes the slot that bit 1 no longer names; each read of that slot had returned (O2) before the exchange
        // that moved bit 1 away from it.

        // O1 publish (Acquire): the content of the slot that the result names.
        let idx = self.idx.fetch_add(READER_INSIDE, Acquire);
        let inside = Inside { idx: self.idx, outside: idx & !READER_INSIDE };
        (idx & DATA != 0).then_some((inside, slot(idx)))
    }
}

/// The reader is inside until this is dropped.
struct Inside<'m> {
    idx: &'m AtomicU64,
    /// The word before the reader entered.
    outside: u64,
}

impl Drop for Inside<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // O2 return (Release): our copy is complete before the writer may take this slot. A store suffices: while bit
        // 0 is set, only the reader changes the word (I2).
        self.idx.store(self.outside, Release);
    }
}

crate::ends::ends! {
    write Writer: NotPublished = try_publish;
}

// # Checked
//
// - `tests/nonblocking/behaviour.rs`: values, errors, layout against the model, successors; also Miri
// - `tests/nonblocking/steps.rs`: the bounds above, counted; `tests/steps.rs`: never more, whatever the memory holds
// - `tests/stress.rs`: threads on a payload that shows tearing; also Miri and the thread sanitizer
// - `tests/processes.rs`, `tests/deaths.rs`: SIGKILL at random moments, and before every step of every operation;
//   `tests/nonblocking/deaths.rs`: exactly what the table above says
// - `tests/hostile.rs`, `tests/nonblocking/hostile.rs`: a process scribbles at random
// - `tests/nonblocking/printed.rs`: the mistakes of the listing
// - `tests/loom.rs`, `tests/shuttle.rs`: the programs of all protocols, which check freshness with a flag; 20 000
//   random runs
//
// `tests/nonblocking/loom.rs`: 3 writes × 3 reads, payload of 2 words, no preemption bound: 336 executions; 2 writes
// of up to 3 attempts × 2 reads: 52. Weakening any of the four annotations by one step fails there.
//
// Not covered: more than 3 writes × 3 reads exhaustively; load buffering (no tool here models it; the Release of O2
// forbids what it could do to the copy); AArch64 hardware.
