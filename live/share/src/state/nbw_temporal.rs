// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! NBW with many buffers: newest value; one real-time writer and any number of real-time readers, which timing keeps
//! apart.
//!
//! # Use
//! Measurements and state between real-time tasks whose periods and deadlines are known. Both sides do the least work
//! that is possible, and readers store nothing: their process may map the memory read-only. The price is memory: as
//! many buffers as writes can begin during a read ([`buffers`] computes the number). If a timing assumption fails,
//! the reader pays: it gets [`ReaderOvertaken`]. If some readers are too slow for this, [`super::improved_peterson`]
//! and [`super::emeralds`] put them on the same buffers. If there are no periods to rely on, see [`super::peterson`].
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] ensure it).
//!
//! |                                    | write | read, `read_if_newer`, `version` |
//! |------------------------------------|-------|----------------------------------|
//! | `write`                            | X     | -                                |
//! | `read`, `read_if_newer`, `version` | -     | -                                |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words. All operations are wait-free.
//!
//! | operation       | bound                                                                                 |
//! |-----------------|---------------------------------------------------------------------------------------|
//! | `write`         | 1 store + W words + 1 fence (free on x86-64); it loads nothing                        |
//! | `read`          | 2 loads + W words + 2 fences (free on x86-64); 1 load before the first write          |
//! | `read_if_newer` | `read`; 1 load when there is nothing newer                                            |
//! | `version`       | 1 load                                                                                |
//!
//! `read` does not return [`ReaderOvertaken`] while at most `buffers` - 2 writes end between its first load and its
//! last: [`buffers`] says how many buffers timing needs for this.
//!
//! # Orderings
//! - O1 publish: Release of the store of `latest` ↔ Acquire fence after the reader's first load of it.
//! - O2 reuse: Release fence before the words of a write ↔ Acquire fence between a reader's words and its second load.
//!
//! # Crash
//! | death of                            | what the others see | recovery                                        |
//! |-------------------------------------|---------------------|-------------------------------------------------|
//! | writer, before its store of `latest`| the value before    | a new [`writer`] writes the same buffer, number |
//! | writer, after it                    | the new value       | a new [`writer`] continues after it             |
//! | reader, anywhere                    | nothing             | a reader leaves no trace                        |
//!
//! # Source
//! [Kopetz 1993], with the many buffers of [Huang 2002, section 2.2]. We differ: one buffer more than printed, and a
//! check after the copy, which turns a failed assumption into an error and not into a torn value; one word has both
//! the number of a write and that of its buffer; we add fences; the words are relaxed atomics, because a plain copy
//! that races is undefined behaviour. The printed N, max(2, ⌈(R - (P - D)) / P⌉ + 1), is the same number.

use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{Memory, fence};

use super::ring::{self, Ring, Turn};
use super::sample;
pub use super::{ReaderOvertaken, Sample};
use crate::places::uninit;
use crate::{LayoutError, Plain};

/// The number of buffers with which no read returns [`ReaderOvertaken`]: max(2, ⌈(R + D) / P⌉) + 2, for the longest
/// `read_ns` R, and the writer's relative `deadline_ns` D and `period_ns` P (see [Progress](self#progress)).
///
/// `None` if the period is 0, the sum overflows, or the result is more than 256.
///
/// ```
/// use taut_share::state::nbw_temporal::buffers;
///
/// // A writer that writes every millisecond with a deadline of 700 µs, and a reader that may take 1.4 ms for a copy.
/// assert_eq!(buffers(1_400_000, 700_000, 1_000_000), Some(5));
/// ```
///
/// The object needs this number so that `read` does not return [`ReaderOvertaken`], which it does not while at most
/// `buffers` - 2 writes end between its first load and its last. With
///
/// - R: the longest time from the begin of `read` to its return, including all preemption by others;
/// - D: the writer's relative deadline: a write ends within D from its release;
/// - P: the writer's period: its releases are at least P apart.
///
/// The writes that can overlap a read, including one that is in progress when the read begins, are at most N = max(2,
/// ⌈(R + D) / P⌉), and the object needs N + 2 buffers. The paper's R = P_reader - (C - C_read) holds on one core under
/// fixed priorities or EDF for a task that does not suspend itself and uses its full C; in any other case use the
/// reader's deadline for R.
pub const fn buffers(read_ns: u64, deadline_ns: u64, period_ns: u64) -> Option<u32> {
    let Some(span_ns) = read_ns.checked_add(deadline_ns) else { return None };
    if period_ns == 0 {
        return None;
    }
    let writes = span_ns.div_ceil(period_ns);
    let writes = if writes < 2 { 2 } else { writes };
    if writes > 254 { None } else { Some(writes as u32 + 2) }
}

// # State
//
// ```text
// byte 0    latest: number of the newest write << 8 | its buffer; 0 before the first
// byte 128  buffers, each on cache lines of its own
// ```
//
// Write k + n is the next write into the buffer of write k, where n is the number of buffers.
//
// # Invariants
//
// - I1 The numbers in `latest` grow by one from write to write.
// - I2 While `latest` has number j, only the buffer of write j + 1 is written.

/// Bytes that an object for `T` needs; `None` unless there are 2 to 256 buffers and the size fits in `usize`.
pub const fn bytes<T: Plain>(buffers: u32) -> Option<usize> {
    ring::bytes::<T>(buffers)
}

/// The writer and a reader on one memory, with 2 to 256 buffers; clone the reader for more.
///
/// # Errors
///
/// [`LayoutError::Buffers`], [`LayoutError::TooSmall`].
pub fn pair<T: Plain>(
    memory: Memory<'_>,
    buffers: u32,
) -> Result<(Writer<'_, T>, Reader<'_, T>), LayoutError> {
    let memory = memory.claim();
    let ring = Ring::new(&memory, buffers)?;
    Ok((Writer::attach(ring), Reader::attach(ring)))
}

/// The writer's end alone, for readers that are in other processes or that [`reader`] makes. After the death of a
/// writer, at any step, this call makes its successor.
///
/// # Errors
///
/// As [`pair`].
///
/// # Safety
///
/// The memory holds this object for this `T` and number of buffers, or zeros. No other writer of it is alive: the
/// last one has ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>, buffers: u32) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    Ok(Writer::attach(Ring::new(&memory, buffers)?))
}

/// A reader's end alone; there may be any number. It needs no write access: the memory may be mapped read-only.
///
/// # Errors
///
/// As [`pair`].
///
/// # Safety
///
/// The memory holds this object for this `T` and number of buffers, or zeros.
pub unsafe fn reader<T: Plain>(memory: Memory<'_>, buffers: u32) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    Ok(Reader::attach(Ring::new(&memory, buffers)?))
}

/// The end that writes. Real-time.
///
/// The writer may not be copied, and no end may be shared between threads:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::nbw_temporal};
/// # let mut lines = [const { Line::new() }; 3];
/// let (writer, reader) = nbw_temporal::pair::<u64>(Memory::new(&mut lines), 4).unwrap();
/// let readers_may_be_many = reader.clone();
/// let second = writer.clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::nbw_temporal};
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 3];
/// let (writer, reader) = nbw_temporal::pair::<u64>(Memory::new(&mut lines), 4).unwrap();
/// shared(&reader);
/// ```
pub struct Writer<'m, T> {
    ring: Ring<'m, T>,
    next: Turn,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(ring: Ring<'m, T>) -> Self {
        let next = ring.next();
        Self { ring, next }
    }

    /// Makes `value` the newest. Wait-free: one copy and a store, and no load.
    #[inline]
    pub fn write(&mut self, value: &T) {
        fence(Release); // O2 reuse: the number before this one, before the words.
        self.ring.store(self.next, value);
        self.ring.latest.store(self.next.word, Release); // O1 publish: the words before their number.
        self.next = self.ring.after(self.next);
    }
}

/// An end that reads. Real-time.
pub struct Reader<'m, T> {
    ring: Ring<'m, T>,
    /// The word of the value that this reader returned last.
    seen: u64,
    /// The turn after that value: most likely the next one to be returned.
    next: Turn,
}

impl<T> Clone for Reader<'_, T> {
    /// One more reader, which has seen what this one has seen.
    fn clone(&self) -> Self {
        Self { ring: self.ring, seen: self.seen, next: self.next }
    }
}

impl<'m, T: Plain> Reader<'m, T> {
    pub(super) fn attach(ring: Ring<'m, T>) -> Self {
        Self { ring, seen: 0, next: ring.after(ring.turn(0)) }
    }

    /// The newest value; `None` before the first write. Wait-free: 2 loads and one copy.
    ///
    /// # Errors
    ///
    /// [`ReaderOvertaken`]: more than `buffers` - 2 writes ended during the read. The next read may succeed.
    #[inline]
    pub fn read(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        // SAFETY: `newest` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| self.newest(value)) }
    }

    /// The newest value, if it is not the one that this reader returned last; otherwise `None`, after one load.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`].
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        // SAFETY: `newer` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| self.newer(value)) }
    }

    /// [`Reader::read`] into `value`, without a further move; returns the number of the write. If it returns `None`,
    /// `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`]; `value` may then hold anything.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        self.newest(uninit(value))
    }

    /// [`Reader::read_if_newer`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`]; `value` may then hold anything.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        self.newer(uninit(value))
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        // Relaxed: no read relies on it.
        self.ring.turn(self.ring.latest.load(Relaxed)).version()
    }

    #[inline(always)]
    fn newest(&mut self, value: &mut MaybeUninit<T>) -> Result<Option<u64>, ReaderOvertaken> {
        // Relaxed, and a fence for the order: for memory that is mapped read-only, the language allows only relaxed
        // loads.
        let latest = self.ring.latest.load(Relaxed);
        if latest == 0 { Ok(None) } else { self.copy(latest, value).map(Some) }
    }

    #[inline(always)]
    fn newer(&mut self, value: &mut MaybeUninit<T>) -> Result<Option<u64>, ReaderOvertaken> {
        let latest = self.ring.latest.load(Relaxed);
        if latest == self.seen { Ok(None) } else { self.copy(latest, value).map(Some) }
    }

    /// Copies the value of `latest`; returns the number of its write.
    #[inline(always)]
    fn copy(&mut self, latest: u64, value: &mut MaybeUninit<T>) -> Result<u64, ReaderOvertaken> {
        // Proof: Suppose a reader first loads number k. By O1 it sees in that buffer every word of write k, or of a
        // later write. Suppose it had seen a word of a later write: that is write k + n or a later one (I2). Those
        // words were stored after a fence that follows the store of number k + n - 1 (program order), so by O2 the
        // second load would see that number or a later one. The check accepts only numbers up to k + n - 2. So every
        // word is of write k, which was the newest at the first load.
        //
        // `tests/temporal/printed.rs` shows that accepting one more, k + n - 1, lets a torn value pass: write k + n
        // may then be in progress in this buffer. A second word that says which write has begun, as in the two words
        // of the paper's NBW, would allow N + 1 buffers; it costs the writer a store to a line that every reader
        // loads.
        fence(Acquire); // O1 publish: the number before its words.
        // If the reader knows the buffer before `latest` has arrived, it fetches both at the same time. So in the
        // usual case it computes no address from `latest`.
        let turn = if latest == self.next.word { self.next } else { elsewhere(&self.ring, latest) };
        self.ring.load(turn, value);
        fence(Acquire); // O2 reuse: the words before the second look at the number.
        if self.ring.overtaken(turn, self.ring.latest.load(Relaxed)) {
            return Err(ReaderOvertaken);
        }
        self.seen = turn.word;
        self.next = self.ring.after(turn);
        Ok(turn.version())
    }
}

/// The turn that `latest` names. Not inlined: otherwise the compiler would replace the branch by a conditional move,
/// and the address would then wait for `latest`.
#[cold]
#[inline(never)]
fn elsewhere<T: Plain>(ring: &Ring<'_, T>, latest: u64) -> Turn {
    // A hostile reader can spoil the buffers and `latest` for the other readers, but only with write access; the
    // writer loads nothing, so its steps and its later behaviour do not change. A hostile writer can make a reader
    // return any bits or `ReaderOvertaken`: the number of a buffer is bounded, and the steps are the same.
    ring.turn(latest)
}

crate::ends::ends! {
    write Writer;
    read Reader: ReaderOvertaken = read read_into read_if_newer;
}

// # Checked
//
// - `tests/temporal/behaviour.rs`: values, numbers, layout, successors, lies, a mapping that may not be written; also
//   Miri
// - `tests/temporal/steps.rs`: the bounds above, counted
// - `tests/temporal/printed.rs`: too few buffers, a check that is too lax; writes that come in the middle of a copy
// - the programs over all protocols: `conformance`, `stress`, `loom`, `shuttle`, `steps`, `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/temporal/loom.rs`, payload of 2 words: 2 buffers, 3 writes × 1 read, and 3 buffers, 4 × 1, without preemption
// bound: 453 and 870 executions; 2 buffers, 4 × 2 with bound 5: 23 914; 2 readers one after the other, without bound:
// 220; 5 buffers and 3 writes, where `ReaderOvertaken` must not occur: 40. Leaving out any of the four orderings, or
// weakening it by one step, fails there.
//
// Not covered: exhaustive runs of more buffers; load buffering; AArch64 hardware. The thread sanitizer does not model
// fences, and every access here is atomic, so it has nothing to report.
