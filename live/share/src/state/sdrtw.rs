// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SDrtW: newest value; one real-time writer, many readers that are not.
//!
//! # Use
//! Measurements and state out of a control loop, to displays and loggers. The writer only stores; a read that a write
//! overtakes returns `Retry`. If the reader is the real-time side, see [`super::sdrtr`]. If every value must arrive,
//! see [`crate::queue`].
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] ensure it).
//!
//! |                                                      | write | read, `version` |
//! |------------------------------------------------------|-------|-----------------|
//! | `write`                                              | X     | -               |
//! | `try_read`, `try_read_into`, `read_bounded`, `read_if_newer`, `version` | - | - |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words.
//!
//! | operation         | bound                                                                               |
//! |-------------------|-------------------------------------------------------------------------------------|
//! | `write`           | wait-free: 2 stores + W words + 1 fence (free on x86-64); it loads nothing          |
//! | `try_read`, `try_read_into` | 2 loads + W words + 2 fences; 1 load while a write is in progress or before the first |
//! | `read_bounded(n)` | n times `try_read`                                                                  |
//! | `read_if_newer`   | `try_read`; 1 load when there is nothing newer                                      |
//! | `version`         | 1 load                                                                              |
//!
//! A writer that is fast enough can make readers retry for ever. Never loop on `Retry` in a thread of higher priority
//! than the writer on the same core: the loop keeps the writer from ending its write.
//!
//! # Orderings
//! - O1 begin: Release fence after the odd store ↔ Acquire fence between the reader's words and its second load.
//! - O2 publish: Release of the even store ↔ Acquire fence after the reader's first load.
//!
//! # Crash
//! | death of                      | what the others see                    | recovery                                 |
//! |-------------------------------|----------------------------------------|------------------------------------------|
//! | writer, before its odd store or after its even one | the newest value  | a new [`writer`] continues the count     |
//! | writer, in between            | `Retry` until the next write completes | a new [`writer`] skips the number of the unfinished write |
//! | reader, anywhere              | nothing                                | a reader leaves no trace                 |
//!
//! Readers also work where the memory is mapped read-only.
//!
//! A hostile reader (with write access) can spoil the counter and the slot for the other readers; the writer does not
//! load them, so its steps and its later behaviour do not change. A hostile writer can make a reader return any bits
//! or retry; [`Reader::read_bounded`] ends.
//!
//! # Source
//! NBW [Kopetz 1993] as in [Perez Ruiz 2020, Listing 2]. We differ: we add the fences and orderings, without which a
//! torn value passes the check on weakly ordered machines; the counter has 64 bits, because a torn value also passes
//! the check when the counter wraps (`tests/nonblocking/printed.rs` shows it); an odd first load ends the attempt
//! before the copy; the words are relaxed atomics, because a plain copy that races is undefined behaviour.

use core::fmt;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, Memory, fence, spin_loop};

pub use super::Sample;
use super::{believed, sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0  counter: 2 × complete writes, + 1 while a write is in progress
// byte 8  slot
// ```
//
// # Invariants
//
// - I1 While the counter is even, the slot holds the value of write counter / 2 (zeros for 0).
// - I2 The counter never takes an even value twice (64 bits: 2³¹ writes a second last 136 years).

/// Bytes that an object for `T` needs.
pub const fn bytes<T: Plain>() -> usize {
    line_bytes(8 + word_bytes::<T>())
}

/// The writer and a reader on one memory; clone the reader for more.
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
pub fn pair<T: Plain>(memory: Memory<'_>) -> Result<(Writer<'_, T>, Reader<'_, T>), LayoutError> {
    let memory = memory.claim();
    fit(&memory, bytes::<T>())?;
    Ok((Writer::attach(&memory), Reader::attach(&memory)))
}

/// The writer's end alone, for readers that are in other processes or that [`reader`] makes. After the death of a
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

/// A reader's end alone; there may be any number of readers.
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
///
/// # Safety
///
/// The memory holds this object for this `T`, or zeros.
pub unsafe fn reader<T: Plain>(memory: Memory<'_>) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    fit(&memory, bytes::<T>())?;
    Ok(Reader::attach(&memory))
}

/// A write was in progress, or took place during the copy: the copy may be torn, and has no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry;

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a write took place meanwhile")
    }
}

impl core::error::Error for Retry {}

/// The end that writes. Real-time.
pub struct Writer<'m, T> {
    counter: &'m AtomicU64,
    slot: Places<'m, T>,
    /// The counter between writes; even.
    written: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(memory: &Claimed<'m>) -> Self {
        let counter = memory.word(0);
        // Odd: the last writer died in a write. We skip the number of that write, so that no even value comes twice
        // (I2).
        let written = believed(counter.load(Relaxed).wrapping_add(1) & !1);
        Self { counter, slot: Places::new(memory, 8, word_bytes::<T>(), 1), written }
    }

    /// Makes `value` the newest. Wait-free: 2 stores, one copy, and no load.
    #[inline]
    pub fn write(&mut self, value: &T) {
        self.counter.store(self.written.wrapping_add(1), Relaxed);
        fence(Release); // O1 begin: the odd counter before the words.
        // SAFETY: index 0 of 1 slot, and a T fits (layout); T is Plain: no padding; only `store` and `load_into`
        // touch the slot.
        unsafe { self.slot.store(0, value) };
        self.written = self.written.wrapping_add(2);
        self.counter.store(self.written, Release); // O2 publish: the words before the even counter.
    }
}

/// An end that reads. Not real-time.
pub struct Reader<'m, T> {
    counter: &'m AtomicU64,
    slot: Places<'m, T>,
    /// The counter of the value that this reader returned last.
    seen: u64,
}

impl<T> Clone for Reader<'_, T> {
    /// One more reader, which has seen what this one has seen.
    fn clone(&self) -> Self {
        Self { counter: self.counter, slot: self.slot, seen: self.seen }
    }
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(memory: &Claimed<'m>) -> Self {
        let slot = Places::new(memory, 8, word_bytes::<T>(), 1);
        Self { counter: memory.word(0), slot, seen: 0 }
    }

    /// The newest value; `None` before the first write.
    ///
    /// # Errors
    ///
    /// [`Retry`]: a write took place during the read.
    #[inline]
    pub fn try_read(&mut self) -> Result<Option<Sample<T>>, Retry> {
        let counter = self.counter.load(Relaxed);
        // SAFETY: `fill` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| (counter != 0).then(|| self.fill(counter, value)).transpose()) }
    }

    /// [`Reader::try_read`] into `value`, which saves a further move of a large value; returns the number of the
    /// write. Before the first write it returns `None`, and `value` is unchanged.
    ///
    /// # Errors
    ///
    /// [`Retry`]: a write took place during the read, and `value` may hold anything.
    #[inline]
    pub fn try_read_into(&mut self, value: &mut T) -> Result<Option<u64>, Retry> {
        let counter = self.counter.load(Relaxed);
        if counter == 0 {
            return Ok(None);
        }
        self.fill(counter, uninit(value)).map(Some)
    }

    /// The newest value, in up to `attempts` attempts (0 counts as 1) with a pause between attempts; `None` before
    /// the first write.
    ///
    /// # Errors
    ///
    /// [`Retry`]: a write took place during each attempt.
    #[inline]
    pub fn read_bounded(&mut self, attempts: u32) -> Result<Option<Sample<T>>, Retry> {
        for _ in 1..attempts {
            if let Ok(sample) = self.try_read() {
                return Ok(sample);
            }
            spin_loop();
        }
        self.try_read()
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load.
    ///
    /// # Errors
    ///
    /// [`Retry`]: a write took place during the read.
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, Retry> {
        let counter = self.counter.load(Relaxed);
        let is_newer = counter != self.seen;
        // SAFETY: `fill` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| is_newer.then(|| self.fill(counter, value)).transpose()) }
    }

    /// [`Reader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// [`Retry`]: a write took place during the read, and `value` may hold anything.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, Retry> {
        let counter = self.counter.load(Relaxed);
        if counter == self.seen { Ok(None) } else { self.fill(counter, uninit(value)).map(Some) }
    }

    /// The number of the newest complete write, 0 before the first. It may be out of date when the caller looks at
    /// it.
    #[inline]
    pub fn version(&self) -> u64 {
        // Relaxed: no read relies on it.
        self.counter.load(Relaxed) / 2
    }

    /// Copies the value that belongs to the counter value `counter`; returns the number of its write.
    #[inline(always)]
    fn fill(&mut self, counter: u64, value: &mut MaybeUninit<T>) -> Result<u64, Retry> {
        // Proof: Suppose a reader loads the same even number a first and last. By O2 it sees every word of write a /
        // 2, or of a later write. Suppose it had seen a word of a later write. That word was stored after the fence
        // that follows the odd store, and loaded before the fence that precedes the second load. So by O1 the second
        // load would see that odd value or a later one, and none of these is a (I2). So every word is of write a / 2.
        if counter % 2 == 1 {
            return Err(Retry);
        }
        // A fence, and not an Acquire load: for memory that is mapped read-only, the language allows only relaxed
        // loads.
        fence(Acquire); // O2 publish
        // SAFETY: index 0 of 1 slot, and a T fits (layout); only `store` and `load_into` touch the slot.
        unsafe { self.slot.load_into(0, value) };
        fence(Acquire); // O1 begin: the words before the second look at the counter.
        if self.counter.load(Relaxed) != counter {
            return Err(Retry);
        }
        self.seen = counter;
        Ok(counter / 2)
    }
}

crate::ends::ends! {
    write Writer;
    read Reader: Retry = try_read try_read_into read_if_newer;
}

// # Checked
//
// - `tests/nonblocking/behaviour.rs`: values, errors, layout against the model, successors; also Miri
// - `tests/nonblocking/steps.rs`: the bounds above, counted; `tests/steps.rs`: never more, whatever the memory holds
// - `tests/stress.rs`: threads on a payload that shows tearing; also Miri
// - `tests/processes.rs`, `tests/deaths.rs`: SIGKILL at random moments, and before every step of every operation;
//   `tests/nonblocking/deaths.rs`: exactly what the table above says
// - `tests/hostile.rs`, `tests/nonblocking/hostile.rs`: a process scribbles at random
// - `tests/nonblocking/printed.rs`: the mistakes of the listing
// - `tests/loom.rs`, `tests/shuttle.rs`: the programs of all protocols, which check freshness with a flag; 20 000
//   random runs
//
// `tests/nonblocking/loom.rs`, payload of 2 words: 2 writes × 1 read without preemption bound: 445 executions; 3 × 2
// with bound 3: 8 419; 2 writes, 2 readers with bound 2: 2 948. Leaving out either fence, or weakening the annotation
// of O2's store, fails there.
//
// Not covered: two readers without a bound on preemptions, and more readers; load buffering; AArch64 hardware. The
// thread sanitizer does not model fences, and every access here is atomic, so it has nothing to report.
