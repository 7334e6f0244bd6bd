// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Test and set: newest value behind a spin lock. A baseline to compare the other protocols with.
//!
//! # Use
//! For comparison, and where no thread is real-time, the threads are few, and the memory must be that of one value.
//! *Not for real-time*:
//!
//! - there is no bound on how long other threads hold the lock: they may take it one after another, for ever, and in
//!   any order;
//! - a holder that is preempted makes all others wait; on one core, a spinner of higher priority than the holder
//!   never ends, because the holder does not run;
//! - a holder that dies keeps the lock until its successor attaches.
//!
//! The `try_` forms return [`LockHeld`] after one failed attempt. For every other use there is a protocol in
//! [this folder](super) that does not wait.
//!
//! # Callers
//! Each end may be used at any time; the lock makes operations wait for each other. `X` may not run at the same time
//! (the types and the duties of [`writer`] and [`reader`] ensure it).
//!
//! |                                      | write | read of one number | of another |
//! |--------------------------------------|-------|--------------------|------------|
//! | `write`, `try_write`                 | X     | -                  | -          |
//! | `read`, `try_read`, ...              | -     | X                  | -          |
//!
//! # Progress
//! W = ⌈size of a value / 8⌉ words.
//!
//! | operation                              | bound                                                             |
//! |----------------------------------------|-------------------------------------------------------------------|
//! | `try_write`                            | 1 exchange + W words + 2 stores; 1 exchange when the lock is held |
//! | `try_read`                             | 1 exchange + 1 load + W words + 1 store; 1 exchange when held     |
//! | `write`, `read`, `read_into`           | the same, and loads and exchanges until the lock is free: *no bound* |
//! | `try_read_if_newer`                    | `try_read` and 1 load; 1 load when there is nothing newer         |
//! | `version`                              | 1 load                                                            |
//!
//! # Orderings
//! - O1 hold: Release of the store that frees the lock ↔ Acquire of the exchange that takes it.
//!
//! # Crash
//! | death of               | what the others see                    | recovery                                           |
//! |------------------------|----------------------------------------|----------------------------------------------------|
//! | any end, not holding   | nothing                                | a new end continues                                |
//! | writer, holding        | [`LockHeld`], or they spin for ever    | a new [`writer`] keeps the lock until it has written, since the slot may be half written |
//! | reader, holding        | [`LockHeld`], or they spin for ever    | a new [`reader`] of that number frees the lock     |
//!
//! A process that can write the memory can keep all ends out, or let two in.
//!
//! # Source
//! The lock of [Huang 2002, section 4], "that relies on the atomic Test-And-Set instruction". We differ: waiters spin
//! on loads, so that they do not take the line from the holder; the mark names the holder, so that a successor can
//! recognise its predecessor's mark.

use core::fmt;
use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, spin_loop};

pub use super::Sample;
use super::{believed, whole_sample};
use crate::places::{Places, uninit};
use crate::plain::{fit, line_bytes, word_bytes};
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0    lock: 0 free | 1 held by the writer | 2 + i held by reader i
// byte 128  version: number of the newest write
// byte 136  slot
// ```
//
// # Invariants
//
// - I1 Only an end that has changed the lock from 0 to its own mark touches the slot, or stores the version, until it
//   changes the lock back.
// - I2 While the lock is free the slot holds the value of write `version`, whole.

const FREE: u64 = 0;
const WRITER: u64 = 1;
const READERS: u64 = 2;

/// Bytes that an object for `T` needs, for any number of readers.
pub const fn bytes<T: Plain>() -> usize {
    LINE_BYTES + line_bytes(8 + word_bytes::<T>())
}

/// The writer and at least one reader on one memory.
///
/// # Errors
///
/// [`LayoutError::Readers`], [`LayoutError::TooSmall`].
pub fn group<T: Plain>(
    memory: Memory<'_>,
    readers: u32,
) -> Result<(Writer<'_, T>, Readers<'_, T>), LayoutError> {
    let memory = memory.claim();
    if readers == 0 {
        return Err(LayoutError::Readers);
    }
    let object = Object::new(&memory)?;
    Ok((Writer::attach(object), Readers { object, next: 0, count: readers }))
}

/// The writer's end alone, for readers that are in other processes or that [`reader`] makes. After the death of a
/// writer, this call makes its successor; if the dead writer held the lock, the successor holds it until its first
/// write.
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
    Ok(Writer::attach(Object::new(&memory)?))
}

/// The end of reader `which`, from 0, alone. After the death of that reader, this call makes its successor; if the
/// dead reader held the lock, this call frees it.
///
/// # Errors
///
/// [`LayoutError::TooSmall`].
///
/// # Safety
///
/// The memory holds this object for this `T`, or zeros. No other reader of this number is alive: the last one has
/// ended, and its end happens before this call.
pub unsafe fn reader<T: Plain>(memory: Memory<'_>, which: u32) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    Ok(Reader::attach(Object::new(&memory)?, which))
}

/// Another end holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockHeld;

impl fmt::Display for LockHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lock is held")
    }
}

impl core::error::Error for LockHeld {}

struct Object<'m, T> {
    lock: &'m AtomicU64,
    version: &'m AtomicU64,
    slot: Places<'m, T>,
}

impl<T> Clone for Object<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Object<'_, T> {}

impl<'m, T: Plain> Object<'m, T> {
    fn new(memory: &Claimed<'m>) -> Result<Self, LayoutError> {
        fit(memory, bytes::<T>())?;
        let slot = Places::new(memory, LINE_BYTES + 8, word_bytes::<T>(), 1);
        Ok(Self { lock: memory.word(0), version: memory.word(LINE_BYTES), slot })
    }

    #[inline(always)]
    fn try_hold(&self, mark: u64) -> Result<Held<'m>, LockHeld> {
        // Proof: The exchange succeeds for one end at a time, because it finds 0 and leaves a mark (I1). O1 orders
        // everything that a holder did to the slot before everything that the next holder does.

        // O1 hold (Acquire): all that the last holder did.
        match self.lock.compare_exchange(FREE, mark, Acquire, Relaxed) {
            Ok(_) => Ok(Held(self.lock)),
            Err(_) => Err(LockHeld),
        }
    }

    #[inline(always)]
    fn hold(&self, mark: u64) -> Held<'m> {
        loop {
            if let Ok(held) = self.try_hold(mark) {
                return held;
            }
            // Loads leave the line with its holder.
            while self.lock.load(Relaxed) != FREE {
                spin_loop();
            }
        }
    }
}

/// The lock is ours; dropping this value frees it.
struct Held<'m>(&'m AtomicU64);

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(FREE, Release); // O1 hold: all that we did.
    }
}

/// The end that writes.
pub struct Writer<'m, T> {
    object: Object<'m, T>,
    written: u64,
    /// Whether we hold the lock because the previous writer died while it held it.
    inherited: bool,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(object: Object<'m, T>) -> Self {
        // Relaxed: the last writer has ended before this call, so its mark stays; and only the writer stores the
        // version.
        let inherited = object.lock.load(Relaxed) == WRITER;
        Self { object, written: believed(object.version.load(Relaxed)), inherited }
    }

    /// Makes `value` the newest, unless another end holds the lock.
    ///
    /// # Errors
    ///
    /// [`LockHeld`].
    #[inline]
    pub fn try_write(&mut self, value: &T) -> Result<(), LockHeld> {
        let held = self.heir().map_or_else(|| self.object.try_hold(WRITER), Ok)?;
        self.copy(value, held);
        Ok(())
    }

    /// Makes `value` the newest, as soon as no other end holds the lock; this may never happen.
    #[inline]
    pub fn write(&mut self, value: &T) {
        let held = self.held();
        self.copy(value, held);
    }

    fn held(&mut self) -> Held<'m> {
        self.heir().unwrap_or_else(|| self.object.hold(WRITER))
    }

    /// The lock, if it was inherited; only once.
    fn heir(&mut self) -> Option<Held<'m>> {
        core::mem::take(&mut self.inherited).then(|| Held(self.object.lock))
    }

    #[inline(always)]
    fn copy(&mut self, value: &T, held: Held<'m>) {
        // SAFETY: index 0 of 1 slot, and a T fits (layout); exclusive: the lock is ours (I1).
        unsafe { self.object.slot.write(0, value) };
        self.publish(held);
    }

    #[inline(always)]
    fn publish(&mut self, held: Held<'m>) {
        self.written = self.written.wrapping_add(1);
        self.object.version.store(self.written, Relaxed); // Under the lock.
        drop(held);
    }
}

/// The readers; the iterator yields each once.
pub struct Readers<'m, T> {
    object: Object<'m, T>,
    next: u32,
    count: u32,
}

impl<'m, T: Plain> Iterator for Readers<'m, T> {
    type Item = Reader<'m, T>;

    fn next(&mut self) -> Option<Self::Item> {
        let which = self.next;
        (which < self.count).then(|| {
            self.next += 1;
            Reader::attach(self.object, which)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.count - self.next) as usize;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for Readers<'_, T> {}

impl<T: Plain> FusedIterator for Readers<'_, T> {}

/// An end that reads.
///
/// There is no form in place: no code of the caller runs while an end holds the lock. So a thread that has two ends of
/// one object cannot request the lock through one while it holds it through the other, which would never end; a panic
/// leaves no half-written value; and the lock is held for one copy only. A signal handler is like a thread of higher
/// priority than the thread that it interrupts (see `Use` of the module): it uses the `try_` forms.
///
/// No code of the caller runs under the lock, so none can request it again:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::spinlock};
/// # let mut lines = [const { Line::new() }; 2];
/// let (_writer, mut readers) = spinlock::group::<u64>(Memory::new(&mut lines), 2).unwrap();
/// let (mut first, mut second) = (readers.next().unwrap(), readers.next().unwrap());
/// first.read_with(|_| second.read()); // E0599: no such form
/// ```
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::spinlock};
/// # let mut lines = [const { Line::new() }; 2];
/// let (mut writer, mut readers) = spinlock::group::<u64>(Memory::new(&mut lines), 1).unwrap();
/// let mut reader = readers.next().unwrap();
/// writer.write_with(|_| reader.read()); // E0599: no such form
/// ```
///
/// Neither end may be copied, nor shared between threads:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::spinlock};
/// # let mut lines = [const { Line::new() }; 2];
/// let (writer, mut readers) = spinlock::group::<u64>(Memory::new(&mut lines), 1).unwrap();
/// let second = readers.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::spinlock};
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 2];
/// let (writer, mut readers) = spinlock::group::<u64>(Memory::new(&mut lines), 1).unwrap();
/// shared(&writer);
/// ```
pub struct Reader<'m, T> {
    object: Object<'m, T>,
    mark: u64,
    /// The number of the value that this reader returned last.
    seen: u64,
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(object: Object<'m, T>, which: u32) -> Self {
        let mark = READERS + u64::from(which);
        // O1 hold (Release), for a reader that died: its copying came before its end, and its end before this call.
        // If another end holds the lock, the exchange changes nothing.
        let _ = object.lock.compare_exchange(mark, FREE, Release, Relaxed);
        Self { object, mark, seen: 0 }
    }

    /// The newest value, unless another end holds the lock; `None` before the first write.
    ///
    /// # Errors
    ///
    /// [`LockHeld`].
    #[inline]
    pub fn try_read(&mut self) -> Result<Option<Sample<T>>, LockHeld> {
        let held = self.object.try_hold(self.mark)?;
        // SAFETY: `copy` fills the used bytes of a value if it returns a number.
        Ok(unsafe { whole_sample(|value| self.copy(held, value)) })
    }

    /// The newest value, if it is not the one that this reader returned last, and unless another end holds the lock;
    /// otherwise `None`, after one load.
    ///
    /// # Errors
    ///
    /// [`LockHeld`]: there is a newer value, but another end holds the lock.
    #[inline]
    pub fn try_read_if_newer(&mut self) -> Result<Option<Sample<T>>, LockHeld> {
        if self.version() == self.seen { Ok(None) } else { self.try_read() }
    }

    /// The newest value, as soon as no other end holds the lock; this may never happen. `None` before the first
    /// write.
    #[inline]
    pub fn read(&mut self) -> Option<T> {
        let held = self.object.hold(self.mark);
        // SAFETY: `copy` fills the used bytes of a value if it returns a number.
        unsafe { whole_sample(|value| self.copy(held, value)) }.map(|sample| sample.value)
    }

    /// [`Reader::try_read`] into `value`, without a further move; returns the number of the write. If it returns
    /// `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// [`LockHeld`]; then too `value` is unchanged.
    #[inline]
    pub fn try_read_into(&mut self, value: &mut T) -> Result<Option<u64>, LockHeld> {
        let held = self.object.try_hold(self.mark)?;
        Ok(self.copy(held, uninit(value)))
    }

    /// [`Reader::try_read_if_newer`] into `value`, without a further move; returns the number of the write. If it
    /// returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// [`LockHeld`]; then too `value` is unchanged.
    #[inline]
    pub fn try_read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, LockHeld> {
        if self.version() == self.seen { Ok(None) } else { self.try_read_into(value) }
    }

    /// [`Reader::read`] into `value`, without a further move; returns the number of the write. If it returns `None`,
    /// `value` is unchanged.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Option<u64> {
        let held = self.object.hold(self.mark);
        self.copy(held, uninit(value))
    }

    /// The number of the newest write, 0 before the first. It may be out of date when the caller looks at it.
    #[inline]
    pub fn version(&self) -> u64 {
        // Relaxed: no read relies on it.
        self.object.version.load(Relaxed)
    }

    /// Copies the newest value, under the lock; returns the number of its write.
    #[inline(always)]
    fn copy(&mut self, held: Held<'m>, value: &mut MaybeUninit<T>) -> Option<u64> {
        let version = self.object.version.load(Relaxed); // Under the lock.
        if version == 0 {
            return None;
        }
        // SAFETY: index 0 of 1 slot, and a T fits (layout); exclusive: the lock is ours (I1). T is Plain: any bits
        // are a value, and we fetch all of them before we free the lock.
        unsafe { self.object.slot.read_into(0, value) };
        drop(held);
        self.seen = version;
        Some(version)
    }
}

crate::ends::ends! {
    write Writer: LockHeld = try_write;
    read Reader: LockHeld = try_read try_read_into try_read_if_newer;
}

// # Checked
//
// - `tests/temporal/behaviour.rs`: values, numbers, layout, successors; also Miri
// - `tests/temporal/steps.rs`: the bounds above, counted
// - the programs over all protocols, with the `try_` forms: `conformance`, `stress`, `loom`, `shuttle`, `steps`,
//   `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step
//
// `tests/temporal/loom.rs`, payload of 2 words: 2 attempts to write, 2 and 1 to read by two readers, without
// preemption bound: 11 875 executions; spinning, 2 writes and 2 reads, bound 3: 103. Weakening either end of O1 fails
// there.
//
// Not covered: fairness; there is none.
