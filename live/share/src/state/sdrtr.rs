// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SDrtR: newest value; one writer that is not real-time, one real-time reader.
//!
//! # Use
//!
//! Settings, set points, commands into a control loop. The reader always gets the newest value that was published
//! whole; the writer is told `Busy` while the reader copies or looks. Is the writer the real-time side: [`super::sdrtw`].
//! Must every value arrive: [`crate::queue`].
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] and [`reader`] see to it).
//!
//! |                             | publish | read | `release_reader` |
//! |-----------------------------|---------|------|------------------|
//! | `try_publish`, `publish_within` | X   | -    | X                |
//! | `read`, `read_into`, `read_with` | -  | X    | X                |
//!
//! # Progress
//!
//! W = ⌈size of a value / 8⌉ words.
//!
//! | operation           | bound                                                                             |
//! |---------------------|-----------------------------------------------------------------------------------|
//! | `read`, `read_into` | wait-free: 1 exchange + W words + 1 store; without the words when nothing was published |
//! | `read_with`         | the same with what `look` does instead of the words                                |
//! | `try_publish`       | W words + 1 exchange, then it has happened or the reader was inside               |
//! | `publish_within(n)` | W words + 1 to n exchanges                                                        |
//!
//! A reader that reads back to back starves the writer: `Busy` can repeat for ever, the reader never waits. On
//! AArch64 without LSE an exchange is a loop of the processor; build with `+lse` to have the bound.
//!
//! # State
//!
//! ```text
//! byte 0    idx: bit 0 reader inside | bit 1 current slot | bit 2 a value is there   (other bits 0)
//! byte 128  slot 0, whole lines
//!           slot 1, whole lines
//! ```
//!
//! # Invariants
//!
//! - I1 The writer writes only the slot that bit 1 does not name.
//! - I2 While bit 0 is 1, only the reader changes the word: the writer's exchange succeeds only while it is 0.
//! - I3 Between its exchange and its store the reader reads only the slot that bit 1 named at the exchange.
//!
//! # Orderings
//!
//! - O1 publish: Release of the writer's exchange ↔ Acquire of the reader's exchange.
//! - O2 return: Release of the reader's store ↔ Acquire of the writer's exchange, and of the load by which a new
//!   writer begins.
//!
//! # Proof
//!
//! The reader's exchange and the writer's are read-modify-writes of one word, so one comes first. If the reader's:
//! bit 0 is set, the writer's fails until the reader's store (I2), so bit 1 keeps naming the slot that is read, which
//! the writer does not touch (I1, I3), and the store overwrites nothing that anybody else did. If the writer's: the
//! reader's exchange returns the new bit 1, or a later one, and O1 makes the slot's content visible. The slot that
//! the writer writes next is the one that bit 1 left; whoever read it had returned (O2) before the exchange that left
//! it.
//!
//! # Crash
//!
//! | who dies, where                 | what the other side sees           | what goes on                            |
//! |---------------------------------|------------------------------------|-----------------------------------------|
//! | writer, before its exchange     | the previous value                 | a new [`writer`] writes the free slot   |
//! | writer, after its exchange      | the new value                      | a new [`writer`] takes the other slot   |
//! | reader, before its exchange or after its store | nothing             | a new [`reader`] reads the newest value |
//! | reader, in between (bit 0 set)  | `Busy` until it is cleared         | a new [`reader`] clears bit 0, or the owner calls [`Writer::release_reader`] |
//!
//! A hostile writer can make the reader return any bits of the slots, also torn, and nothing else: the slot's
//! number is one masked bit, the steps are the same. A hostile reader can keep the writer `Busy` or make it say
//! `Corrupt`.
//!
//! # Source
//!
//! [Perez Ruiz 2020, Listing 1]. We differ: the printed mask 0xFFFFF000 clears the slot bit too, so that the second
//! write waits for ever (`tests/printed.rs` shows it); the slot is the one that the exchange returned, where the
//! listing loads the index again; the reader returns by a store, where the listing has another exchange, since nobody
//! else can change the word meanwhile; `has_data` is bit 2 of the same word; `Busy` where the listing waits.
//!
//! # Checked
//!
//! - `tests/behaviour.rs`: values, errors, layout against the model, successors; also Miri
//! - `tests/steps_nonblocking.rs`: the bounds above, counted; `tests/steps.rs`: never more, whatever stands in the memory
//! - `tests/stress.rs`: threads on a payload that shows tearing; also Miri and the thread sanitizer
//! - `tests/processes.rs`, `tests/deaths.rs`: SIGKILL at random moments, and before every step of every operation;
//!   `tests/deaths_nonblocking.rs`: exactly what the table above says
//! - `tests/hostile.rs`, `tests/hostile_nonblocking.rs`: a process scribbles at random
//! - `tests/printed.rs`: the mistakes of the listing
//! - `tests/loom.rs`, `tests/shuttle.rs`: what all protocols run, with freshness by a flag; 20 000 random runs
//!
//! `tests/loom_nonblocking.rs`: 3 writes × 3 reads, payload of 2 words, no preemption bound: 336 executions; 2 writes of up
//! to 3 attempts × 2 reads: 52. Each of the four annotations weakened by one step fails there.
//!
//! Not covered: more than 3 writes × 3 reads exhaustively; load buffering (no tool here has it; the Release of O2
//! forbids what it could do to the copy); AArch64 hardware.

use core::fmt;

use taut_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, spin_loop};

use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

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

/// The writer's end alone, where the reader's is in another process or made by [`reader`]. After the death of a
/// writer, at any step, the next one goes on here.
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, or zeros; no other writer of it lives: the last one has
/// ended, and this call comes after that.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    fit(&memory, bytes::<T>())?;
    Ok(Writer::attach(&memory))
}

/// The reader's end alone, where the writer's is in another process or made by [`writer`]. After the death of a
/// reader, at any step, the next one goes on here: the mark of the dead one is cleared.
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T`, or zeros; no other reader of it lives: the last one has
/// ended, and this call comes after that.
pub unsafe fn reader<T: Plain>(memory: Memory<'_>) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    fit(&memory, bytes::<T>())?;
    Ok(Reader::attach(&memory))
}

fn slots<'m, T: Plain>(memory: &Claimed<'m>) -> Places<'m, T> {
    Places::new(memory, LINE_BYTES, line_bytes(word_bytes::<T>()), 2)
}

fn slot(idx: u64) -> usize {
    usize::from(idx & SLOT != 0)
}

/// Why a value was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPublished {
    /// The reader was copying the previous value each time.
    Busy,
    /// Someone who is not a reader of this object has changed its word. It stays so until a new writer attaches.
    Corrupt,
}

impl fmt::Display for NotPublished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "the reader is copying the previous value",
            Self::Corrupt => "the shared word is not as this protocol leaves it",
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
        // O2 return: the last writer's exchange had synchronised with the read that returned the slot we write
        // next; reading it, or what a reader added to it, we do too.
        let current = idx.load(Acquire) & (SLOT | DATA);
        Self { idx, slots: slots(memory), current }
    }

    /// Publishes `value`, or not if the reader is copying at this moment. Then the value lies in the free slot,
    /// where nobody sees it and the next attempt overwrites it.
    ///
    /// # Errors
    ///
    /// [`NotPublished`].
    #[inline]
    pub fn try_publish(&mut self, value: &T) -> Result<(), NotPublished> {
        self.publish_within(value, 1)
    }

    /// Publishes `value`: copies it once and tries up to `attempts` times (0 counts as 1), with a pause in
    /// between, to make it the current one. What was not published lies in the free slot as in
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
        // - exclusive: bit 1 names the other slot (I1) and cannot change but by us (I2); the read of this slot
        //   that came last had returned before our exchange that left it (O2).
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

    /// Clears the mark that a reader left which died while it copied, so that publishing goes on before the next
    /// reader attaches. (The next [`reader`] does it too.)
    ///
    /// # Safety
    ///
    /// No reader of this object lives, and this call comes after its end.
    pub unsafe fn release_reader(&mut self) {
        // O2 return, for the dead: its copying came before its end, and that before this call (caller).
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
        // O2 return, for a reader that died inside: see `Writer::release_reader`. Left set, our first exchange
        // would carry into bit 1.
        idx.fetch_and(!READER_INSIDE, Release);
        Self { idx, slots: slots(memory) }
    }

    /// The newest value; `None` before the first one. Wait-free: 1 exchange, one copy, 1 store.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        let (inside, slot) = self.enter()?;
        // SAFETY:
        // - the slot's number is 0 or 1, whatever the word is, and a T fits (layout);
        // - T is Plain: every bit pattern is one, aligned to at most 8;
        // - exclusive against our writer: bit 0 is set until `inside` is dropped (I2), so it leaves this slot
        //   alone (I1). A hostile process is outside of this program: its bits are a T as any, and all of them are
        //   fetched before the Release there.
        let value = unsafe { self.slots.read(slot) };
        drop(inside);
        Some(value)
    }

    /// [`Reader::read`] into `value`, which saves moving a large one again; whether there was one. If not, `value` is as
    /// it was.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> bool {
        let Some((_inside, slot)) = self.enter() else { return false };
        // SAFETY: as in `read`, until `_inside` is dropped, which is at the end of this function.
        unsafe { self.slots.read_into(slot, uninit(value)) };
        true
    }

    /// The newest value, shown to `look` where it lies; `None` before the first one. The writer is told `Busy` until
    /// `look` returns: a long look, over and over, starves it. Wait-free but for `look`: 1 exchange, 1 store.
    #[inline]
    pub fn read_with<R>(&mut self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let (_inside, slot) = self.enter()?;
        // SAFETY: as in `read`, until `_inside` is dropped, which is when `look` has returned or panicked.
        Some(unsafe { self.slots.lend(slot, look) })
    }

    /// Keeps the writer out, if there is a value; its slot.
    #[inline(always)]
    fn enter(&self) -> Option<(Inside<'m>, usize)> {
        // O1 publish (Acquire): the content of the slot that the result names.
        let idx = self.idx.fetch_add(READER_INSIDE, Acquire);
        let inside = Inside { idx: self.idx, outside: idx & !READER_INSIDE };
        (idx & DATA != 0).then_some((inside, slot(idx)))
    }
}

/// The reader is inside until this is dropped.
struct Inside<'m> {
    idx: &'m AtomicU64,
    /// The word as it was before.
    outside: u64,
}

impl Drop for Inside<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // O2 return (Release): our copying is over before the writer may take this slot. A store, for while bit 0 is
        // set nobody else changes the word (I2).
        self.idx.store(self.outside, Release);
    }
}
