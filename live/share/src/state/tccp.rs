// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! TCCP: the value of the right job of the writer, protected by time alone; one writer, up to 62 readers.
//!
//! # Use
//! As [`super::dbp`], if it is known how long readers' jobs last. Then the writer uses the buffers in turn, overwrites
//! a buffer without checking its readers, and an activation costs the same for any number of readers. A job that lasts
//! longer gets `Overrun`.
//!
//! The form at run time, [`newest`], has no dispatcher: its readers get the newest value at the moment of reading.
//! Readers of the other form can read in this way too. [`super::nbw_temporal`] is the same protocol with one word of
//! the writer instead of two.
//!
//! # Callers
//! As [`super::flow`]; `Publisher::write` counts as the writer's `job`, `read_newest…` as a reader's `job`.
//!
//! # Progress
//! All wait-free. W = ⌈size of a value / 8⌉ words.
//!
//! | operation           | bound                                                                               |
//! |---------------------|-------------------------------------------------------------------------------------|
//! | `activate_writer`   | 1 load + 1 store; no store if refused                                               |
//! | `activate_reader`   | 1 load + 2 stores                                                                   |
//! | `overtaken`         | 2 loads for each reader                                                             |
//! | writer's `job`      | 1 load + 1 fence (free on x86-64); no fence if there is none                        |
//! | its `write`         | W words                                                                             |
//! | its completion      | 1 store; + 1 in the first job that writes; + 2 W words in a job that did not write  |
//! | reader's `job`      | 2 loads; 1 if there is none                                                         |
//! | its `read`          | 3 loads + W words + 1 fence; 1 load from the second time on; 1 load if `NotYet`; nothing if the writer has never been activated |
//! | its completion      | 1 store                                                                             |
//! | `Publisher::write`  | 2 stores + W words + 1 fence; + 1 store the first time                              |
//! | `read_newest`       | 3 loads + W words + 1 fence; 1 load before the first job is complete, 2 if no job wrote |
//! | `read_newest_if_newer` | the same; 1 load when there is nothing newer                                     |
//!
//! # Orderings
//! - O1 begin: Release fence after the writer's load of `activated` ↔ Acquire fence between the reader's words and
//!   its last load.
//! - Publish, announce and leave are those of [`super::flow`], whose code this protocol uses.
//!
//! # Crash
//! As [`super::flow`].
//!
//! A job that completes without writing keeps the previous value: the writer copies that value into the job's buffer.
//! If a writer dies in a job that has the same buffer as the previous value (possible only with one buffer), that value
//! is lost: there is no value until the next job writes. A hostile process can make any job read any bits, or keep any
//! job from starting; buffer numbers are taken modulo the number of buffers.
//!
//! # Source
//! The temporal concurrency control protocol as in [Han14, II-B and II-C], after [Kopetz 1993]. We differ: the check,
//! without which a broken timing assumption yields a torn value; relaxed atomic words, because a plain copy that races
//! is undefined behaviour; the number of buffers, because the text's formula is unreadable: by the proof in [`buffers`]
//! for values fixed at activation, and N + 1 by [Huang 2002] for values at the moment of reading. The mechanism is that
//! of `nbw_temporal`, where one word says both which write has begun and which is complete, at the price of one more
//! buffer. Here the dispatcher's word says which job has begun, and another thread than the writer stores it;
//! [`Publisher`] keeps this word too, so that readers are the same.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, Memory, fence};

use super::flow::{Activation, Layout, ReaderJobs, Value, WriterJobs};
pub use super::flow::{NotActivated, Shape};
use super::sample;
pub use super::{ReaderOvertaken, Sample};
use crate::places::{Places, uninit};
use crate::plain::fit;
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0              activated: writer's jobs activated (the dispatcher's)
// byte 128            completed: writer's jobs completed (the writer's)
// byte 136            first: the first job of the writer that wrote, 0 for none (the writer's)
// byte 256 + 256 × i  announced: jobs of reader i activated (the dispatcher's)
// byte 264 + 256 × i  what: the writer's job that reader i's last job reads, 0 for none (the dispatcher's)
// byte 384 + 256 × i  completed: jobs of reader i completed (the reader's)
// then                n buffers, each on cache lines of its own; job k writes buffer k mod n
// ```
//
// # Invariants
//
// - I1 as in [`super::flow`].
// - I2 While activated < k + n, and once completed ≥ k, buffer k mod n has the value of job k.

/// The number of buffers, in the [`Shape`], for readers whose jobs read the value that their activation fixes. Take
/// the largest over all readers.
///
/// `longest_ns`: the longest time from a reader's activation to the end of its job, not 0. `between_ns`: the shortest
/// time between two activations of the writer. `higher`: whether the reader has a higher priority than the writer.
/// `None` if one of the two times is 0, or the result does not fit in `u32`.
pub const fn buffers(longest_ns: u64, between_ns: u64, higher: bool) -> Option<u32> {
    // Proof: while a reader's job lasts, at most L, the writer is activated at most ⌈L / T⌉ times. So
    // activated ≤ k + ⌈L / T⌉ at the end of the job, or k + 1 + ⌈L / T⌉ for a reader of higher priority. If jobs last
    // longer, their reads return `Overrun`, and never a torn value.
    if longest_ns == 0 || between_ns == 0 {
        return None;
    }
    more(longest_ns.div_ceil(between_ns), if higher { 2 } else { 1 })
}

/// The number of buffers for [`Reader::read_newest`]; if readers do both, take the larger of this number and
/// [`buffers`].
///
/// `longest_ns`: the longest time that one such read takes. `deadline_ns`: the longest time from an activation of the
/// writer to the end of its job. `between_ns`: the shortest time between two activations of the writer. `None` if
/// `between_ns` is 0, the sum of the other two overflows, or the result does not fit in `u32`.
pub const fn newest_buffers(longest_ns: u64, deadline_ns: u64, between_ns: u64) -> Option<u32> {
    // Proof: jobs of the writer from N = max(2, ⌈(R + D) / T⌉) periods can overlap a read that lasts R, if each job
    // completes within D. If jobs last longer, their reads return `Overrun`, and never a torn value.
    let Some(window) = longest_ns.checked_add(deadline_ns) else { return None };
    if between_ns == 0 {
        return None;
    }
    let overlapping = window.div_ceil(between_ns);
    more(if overlapping < 2 { 2 } else { overlapping }, 1)
}

const fn more(number: u64, by: u64) -> Option<u32> {
    match number.checked_add(by) {
        Some(sum) if sum <= u32::MAX as u64 => Some(sum as u32),
        _ => None,
    }
}

/// Bytes that an object needs; `None` unless there are 1 to 62 readers and at least one buffer, and the size fits in
/// `usize`.
pub const fn bytes<T: Plain>(shape: Shape) -> Option<usize> {
    Layout::bytes::<T>(shape)
}

/// Checks the shape and the memory; returns the number of readers.
fn check<T: Plain>(memory: &Claimed<'_>, shape: Shape) -> Result<u32, LayoutError> {
    let readers = shape.readers().ok_or(LayoutError::Readers)?;
    fit(memory, bytes::<T>(shape).ok_or(LayoutError::Buffers)?)?;
    Ok(readers)
}

/// A dispatcher, a writer and its readers.
///
/// There is one end of each kind and number. It is not shared:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::tccp::{self, Shape}};
/// # let shape = Shape { lower: 1, higher: 1, buffers: 4 };
/// # let mut lines = [const { Line::new() }; 8];
/// # let (_, _, mut readers) = tccp::group::<u64>(Memory::new(&mut lines), shape).unwrap();
/// let another = readers.next().unwrap().clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::tccp::{self, Shape}};
/// fn shared<T: Sync>(_: &T) {}
/// # let shape = Shape { lower: 1, higher: 1, buffers: 4 };
/// # let mut lines = [const { Line::new() }; 8];
/// # let (_, writer, _) = tccp::group::<u64>(Memory::new(&mut lines), shape).unwrap();
/// shared(&writer);
/// ```
pub type Group<'m, T> = (Dispatcher<'m>, Writer<'m, T>, Readers<'m, T>);

/// All ends on one memory.
///
/// # Errors
///
/// [`LayoutError::Readers`]: none, or more than 62; [`LayoutError::Buffers`]: none, or their size does not fit in
/// `usize`; [`LayoutError::TooSmall`].
pub fn group<T: Plain>(memory: Memory<'_>, shape: Shape) -> Result<Group<'_, T>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    let dispatcher = Dispatcher::attach(&memory, shape, readers);
    let writer = Writer::attach(&memory, shape, readers);
    Ok((dispatcher, writer, Readers { memory, shape, readers, next: 0, values: PhantomData }))
}

/// The form at run time: a writer that activates itself at each write, and readers that read the newest value.
///
/// # Errors
///
/// As [`group`].
pub fn newest<T: Plain>(
    memory: Memory<'_>,
    shape: Shape,
) -> Result<(Publisher<'_, T>, Readers<'_, T>), LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    let writer = Writer::attach(&memory, shape, readers);
    Ok((Publisher { writer }, Readers { memory, shape, readers, next: 0, values: PhantomData }))
}

/// The writer's end of the form at run time, alone. After the death of a publisher, at any step, this call makes its
/// successor.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T` and shape, or zeros. No other publisher, writer or dispatcher of it is
/// alive: the last one has ended, and its end happens before this call.
pub unsafe fn publisher<T: Plain>(memory: Memory<'_>, shape: Shape) -> Result<Publisher<'_, T>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    Ok(Publisher { writer: Writer::attach(&memory, shape, readers) })
}

/// The dispatcher alone. After the death of a dispatcher, at any step, this call makes its successor, which does not
/// know the instant of the last activation.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T` and shape, or zeros. No other dispatcher of it is alive: the last one
/// has ended, and its end happens before this call.
pub unsafe fn dispatcher<T: Plain>(memory: Memory<'_>, shape: Shape) -> Result<Dispatcher<'_>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    Ok(Dispatcher::attach(&memory, shape, readers))
}

/// The writer's end alone. After the death of a writer, at any step, this call makes its successor. The successor is in
/// the job that the dead writer had begun, as if that job had not written.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// The memory holds this object for this `T` and shape, or zeros. No other writer of it is alive: the last one has
/// ended, and its end happens before this call.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>, shape: Shape) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    Ok(Writer::attach(&memory, shape, readers))
}

/// The end of reader `which` alone. After the death of that reader, at any step, this call makes its successor. The
/// successor is in the job that the dead reader had begun.
///
/// # Errors
///
/// As [`group`]; [`LayoutError::Readers`] if there is no reader `which`.
///
/// # Safety
///
/// The memory holds this object for this `T` and shape, or zeros. No other reader of this number is alive: the last
/// one has ended, and its end happens before this call.
pub unsafe fn reader<T: Plain>(
    memory: Memory<'_>,
    shape: Shape,
    which: u32,
) -> Result<Reader<'_, T>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    if which < readers {
        Ok(Reader::attach(&memory, shape, readers, which))
    } else {
        Err(LayoutError::Readers)
    }
}

/// The readers of a group; the iterator yields each once, in the order of their numbers.
pub struct Readers<'m, T> {
    memory: Claimed<'m>,
    shape: Shape,
    readers: u32,
    next: u32,
    values: PhantomData<Cell<T>>,
}

impl<'m, T: Plain> Iterator for Readers<'m, T> {
    type Item = Reader<'m, T>;

    fn next(&mut self) -> Option<Self::Item> {
        let which = (self.next < self.readers).then_some(self.next)?;
        self.next += 1;
        Some(Reader::attach(&self.memory, self.shape, self.readers, which))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.readers - self.next) as usize;
        (left, Some(left))
    }
}

impl<T: Plain> ExactSizeIterator for Readers<'_, T> {}

/// Why a value was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRead {
    /// The job of the writer whose value this job reads is not complete. A reader on another processor waits for that
    /// job.
    NotYet,
    /// The value may have been overwritten: the job lasts longer, or the writer is activated more often, than the
    /// number of buffers allows for. The value is lost.
    Overrun,
}

impl fmt::Display for NotRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet => f.write_str("the writer's job is not complete"),
            Self::Overrun => ReaderOvertaken.fmt(f),
        }
    }
}

impl core::error::Error for NotRead {}

/// The end that the scheduler calls at each activation, in the order of activations.
pub struct Dispatcher<'m> {
    activated: &'m AtomicU64,
    activation: Activation<'m>,
    buffers: u64,
    /// The number of activated jobs of the writer.
    job: u64,
}

impl<'m> Dispatcher<'m> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32) -> Self {
        let activated = memory.word(Layout::ACTIVATED);
        // Relaxed: the last dispatcher has ended before this call.
        let job = activated.load(Relaxed);
        let activation = Activation::attach(memory, shape, readers);
        Self { activated, activation, buffers: u64::from(shape.buffers), job }
    }

    /// Activates the writer's next job, at `at_ns`, in ns of any clock that is the same for all tasks; returns the
    /// job's number, from 1. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotActivated`]: `Running`, or `OutOfOrder` after an activation of a reader at the same instant.
    pub fn activate_writer(&mut self, at_ns: u64) -> Result<u64, NotActivated> {
        self.activation.admit_writer(at_ns, self.job)?;
        self.activation.pass_writer(at_ns);
        self.job = self.job.wrapping_add(1);
        // Relaxed: the writer's fence gives the order that the readers' check needs.
        self.activated.store(self.job, Relaxed);
        Ok(self.job)
    }

    /// Activates the next job of reader `which`, at `at_ns` as for the writer; returns the number of the writer's job
    /// whose value it will read, 0 for none. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotActivated`]: `Running`, `OutOfOrder` or `NoSuchReader`.
    pub fn activate_reader(&mut self, which: u32, at_ns: u64) -> Result<u64, NotActivated> {
        self.activation.admit_reader(which, at_ns)?;
        let version = if self.activation.is_lower(which) { self.job } else { self.job.saturating_sub(1) };
        if self.activation.is_running(which as usize) {
            return Err(NotActivated::Running);
        }
        self.activation.announce(which as usize, at_ns, version);
        Ok(version)
    }

    /// A reader whose job is not complete and would get `Overrun` once the writer's next job is activated: the caller
    /// can wait for this reader before it activates the writer. Wait-free: at most 2 loads for each reader.
    pub fn overtaken(&self) -> Option<u32> {
        let next = self.job.wrapping_add(1);
        (0..self.activation.readers()).find(|which| {
            let version = self.activation.what(*which as usize);
            let gone = version != 0 && next.wrapping_sub(version) >= self.buffers;
            gone && self.activation.is_running(*which as usize)
        })
    }
}

/// The end of the task that writes.
pub struct Writer<'m, T> {
    activated: &'m AtomicU64,
    jobs: WriterJobs<'m>,
    places: Places<'m, T>,
    buffers: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32) -> Self {
        let activated = memory.word(Layout::ACTIVATED);
        // Relaxed: the last writer has ended before this call.
        let jobs = WriterJobs::attach(memory, activated.load(Relaxed));
        let places = Layout::places(memory, shape, readers);
        Self { activated, jobs, places, buffers: u64::from(shape.buffers) }
    }

    /// The activated job; `None` if all activated jobs are complete. 1 load, 1 fence.
    #[inline]
    pub fn job(&mut self) -> Option<WriterJob<'_, 'm, T>> {
        let job = self.activated.load(Relaxed);
        if job == self.jobs.completed() {
            return None;
        }
        fence(Release); // O1 begin: the activation before the words.
        let buffer = (job % self.buffers) as usize;
        Some(WriterJob { writer: self, job, buffer })
    }
}

/// A job of the writer. Dropping the guard completes the job: then readers may read its value. A guard that ends with
/// [`WriterJob::go_on`], or is forgotten, leaves the job incomplete, and [`Writer::job`] returns it again.
#[must_use = "dropped at once, the job is complete without having written"]
pub struct WriterJob<'w, 'm, T: Plain> {
    writer: &'w mut Writer<'m, T>,
    job: u64,
    buffer: usize,
}

impl<T: Plain> WriterJob<'_, '_, T> {
    /// The job's number, from 1.
    pub fn number(&self) -> u64 {
        self.job
    }

    /// Sets the job's value; the last call counts. W words.
    #[inline]
    pub fn write(&mut self, value: &T) {
        // SAFETY: the index is below the number of buffers, and a T fits (layout); T is Plain: no padding; only
        // `store` and `load_into` touch the buffers.
        unsafe { self.writer.places.store(self.buffer, value) };
        self.writer.jobs.wrote(self.job);
    }

    /// Ends the guard but not the job: [`Writer::job`] returns the job again, with what it has written. For callers
    /// that cannot keep a guard for as long as the job lasts.
    #[inline]
    pub fn go_on(self) {
        core::mem::forget(self);
    }

    /// Completes the job, as dropping the guard does.
    pub fn complete(self) {}
}

impl<T: Plain> Drop for WriterJob<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        let Writer { jobs, places, buffers, .. } = &mut *self.writer;
        let (buffer, previous) = (self.buffer, (self.job.wrapping_sub(1) % *buffers) as usize);
        jobs.complete(self.job, previous != buffer, || {
            let mut value = MaybeUninit::uninit();
            // SAFETY: both indices are below the number of buffers, and a T fits (layout); only `store` and
            // `load_into` touch the buffers. The latter fills the used bytes of a value, and only this writer stores
            // into a buffer: so it is the value of the previous job.
            unsafe {
                places.load_into(previous, &mut value);
                places.store(buffer, value.assume_init_ref());
            }
        });
    }
}

/// The end that writes in the form at run time: each write is a job that begins and ends with it.
pub struct Publisher<'m, T> {
    writer: Writer<'m, T>,
}

impl<T: Plain> Publisher<'_, T> {
    /// Makes `value` the newest. Wait-free: 2 stores, one copy, 1 fence, no load; 1 store more for the first write.
    #[inline]
    pub fn write(&mut self, value: &T) {
        let writer = &mut self.writer;
        // If the last publisher died in this job, this call does the job again.
        let job = writer.jobs.completed().wrapping_add(1);
        writer.activated.store(job, Relaxed);
        fence(Release); // O1 begin: the activation before the words.
        // SAFETY: the index is below the number of buffers, and a T fits (layout); T is Plain: no padding; only
        // `store` and `load_into` touch the buffers.
        unsafe { writer.places.store((job % writer.buffers) as usize, value) };
        writer.jobs.complete_written(job);
    }
}

/// The end of a task that reads.
pub struct Reader<'m, T> {
    jobs: ReaderJobs<'m>,
    values: Values<'m, T>,
    /// The writer's job whose value this reader read last.
    seen: u64,
}

/// The buffers, and the word that says which are being written, as a reader uses them.
struct Values<'m, T> {
    activated: &'m AtomicU64,
    places: Places<'m, T>,
    buffers: u64,
}

impl<T: Plain> Values<'_, T> {
    /// Copies the value of job `version`, which is complete, unless it may have been overwritten.
    #[inline(always)]
    fn copy(&self, version: u64, value: &mut MaybeUninit<T>) -> Result<(), ReaderOvertaken> {
        // Proof: A job that reads job k copies buffer k mod n after completed ≥ k: by O2 it sees the words of k, or
        // later ones. Suppose it had seen a word of job k + n. That word was stored after the fence that follows the
        // writer's load of activated = k + n, and loaded before the fence that precedes the last load. So by O1 the
        // last load would see activated ≥ k + n, and the read returns `Overrun`. Otherwise the words are those of k.

        // SAFETY: the index is below the number of buffers, and a T fits (layout); only `store` and `load_into` touch
        // the buffers.
        unsafe { self.places.load_into((version % self.buffers) as usize, value) };
        fence(Acquire); // O1 begin: the words before the load of `activated`.
        if self.activated.load(Relaxed).wrapping_sub(version) >= self.buffers {
            return Err(ReaderOvertaken);
        }
        Ok(())
    }
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32, which: u32) -> Self {
        let values = Values {
            activated: memory.word(Layout::ACTIVATED),
            places: Layout::places(memory, shape, readers),
            buffers: u64::from(shape.buffers),
        };
        Self { jobs: ReaderJobs::attach(memory, which), values, seen: 0 }
    }

    /// The activated job; `None` if all activated jobs are complete. 2 loads; 1 if there is none.
    #[inline]
    pub fn job(&mut self) -> Option<ReaderJob<'_, 'm, T>> {
        let (job, version) = self.jobs.activated()?;
        Some(ReaderJob { reader: self, job, version, value: Value::of(version) })
    }

    /// The newest value that is complete now, whichever value this reader's job reads; `None` if there is none.
    /// Wait-free: 3 loads, one copy, 1 fence.
    ///
    /// # Errors
    ///
    /// [`ReaderOvertaken`]: there are too few buffers for the time that the read took.
    #[inline]
    pub fn read_newest(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        let version = self.jobs.writer_completed();
        // SAFETY: `newest` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| self.newest(version, value)) }
    }

    /// The newest value that is complete now, unless this reader has already read it; then `None`, after one load.
    ///
    /// # Errors
    ///
    /// [`ReaderOvertaken`]: there are too few buffers for the time that the read took.
    #[inline]
    pub fn read_newest_if_newer(&mut self) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        let version = self.jobs.writer_completed();
        if version == self.seen {
            return Ok(None);
        }
        // SAFETY: `newest` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| self.newest(version, value)) }
    }

    /// [`Reader::read_newest`] into `value`, without a further move; returns the number of the writer's job. If it
    /// returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`Reader::read_newest`]; `value` may then hold anything.
    #[inline]
    pub fn read_newest_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        let version = self.jobs.writer_completed();
        self.newest(version, uninit(value))
    }

    /// [`Reader::read_newest_if_newer`] into `value`, without a further move; returns the number of the writer's job.
    /// If it returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`Reader::read_newest`]; `value` may then hold anything.
    #[inline]
    pub fn read_newest_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, ReaderOvertaken> {
        let version = self.jobs.writer_completed();
        if version == self.seen { Ok(None) } else { self.newest(version, uninit(value)) }
    }

    /// Copies the value of job `version`; returns that number, or `None` if there is no value.
    #[inline(always)]
    fn newest(&mut self, version: u64, value: &mut MaybeUninit<T>) -> Result<Option<u64>, ReaderOvertaken> {
        if version == 0 || !self.jobs.is_there(version) {
            return Ok(None);
        }
        self.values.copy(version, value)?;
        self.seen = version;
        Ok(Some(version))
    }
}

/// A job of a reader: it reads one value as often as it wants. Dropping the guard completes the job. A guard that
/// ends with [`ReaderJob::go_on`], or is forgotten, leaves the job incomplete, and [`Reader::job`] returns it again.
pub struct ReaderJob<'r, 'm, T> {
    reader: &'r mut Reader<'m, T>,
    job: u64,
    version: u64,
    value: Value,
}

impl<T: Plain> ReaderJob<'_, '_, T> {
    /// The job's number, from 1.
    pub fn number(&self) -> u64 {
        self.job
    }

    /// The number of the writer's job whose value this job reads; 0 if there was none.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether the job can read its value, or there is none. A job of lower priority than the writer, on another
    /// processor, waits for this. Wait-free: at most 2 loads.
    #[inline]
    pub fn is_ready(&mut self) -> bool {
        self.value = self.value.look(&self.reader.jobs, self.version);
        self.value != Value::Unknown
    }

    /// The job's value: the same each time; `None` if no job had written a value. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotRead`]: the writer's job is not complete, or the value may already be overwritten.
    #[inline]
    pub fn read(&mut self) -> Result<Option<T>, NotRead> {
        // SAFETY: `copy` fills the used bytes of a value if it returns a number.
        Ok(unsafe { sample(|value| self.copy(value)) }?.map(|sample| sample.value))
    }

    /// [`ReaderJob::read`] into `value`, without a further move; returns the number of the writer's job. If it
    /// returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`ReaderJob::read`]; `value` may then hold anything.
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Result<Option<u64>, NotRead> {
        self.copy(uninit(value))
    }

    /// Copies the job's value; returns the number of the writer's job.
    #[inline(always)]
    fn copy(&mut self, value: &mut MaybeUninit<T>) -> Result<Option<u64>, NotRead> {
        if !self.is_ready() {
            return Err(NotRead::NotYet);
        }
        if self.value == Value::None {
            return Ok(None);
        }
        self.reader.values.copy(self.version, value).map_err(|ReaderOvertaken| NotRead::Overrun)?;
        self.reader.seen = self.version;
        Ok(Some(self.version))
    }

    /// The job's value, unless this reader has already read the value of the same job of the writer, in this job or
    /// otherwise; then `None`, without a load of a word that others write.
    ///
    /// # Errors
    ///
    /// As [`ReaderJob::read`].
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, NotRead> {
        if self.version == self.reader.seen {
            return Ok(None);
        }
        // SAFETY: `copy` fills the used bytes of a value if it returns a number.
        unsafe { sample(|value| self.copy(value)) }
    }

    /// [`ReaderJob::read_if_newer`] into `value`, without a further move; returns the number of the writer's job. If
    /// it returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`ReaderJob::read`]; `value` may then hold anything.
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, NotRead> {
        if self.version == self.reader.seen { Ok(None) } else { self.copy(uninit(value)) }
    }

    /// Ends the guard but not the job: [`Reader::job`] returns the job again, with the same value. For callers that
    /// cannot keep a guard for as long as the job lasts.
    #[inline]
    pub fn go_on(self) {
        core::mem::forget(self);
    }

    /// Completes the job, as dropping the guard does.
    pub fn complete(self) {}
}

impl<T> Drop for ReaderJob<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        self.reader.jobs.complete(self.job);
    }
}

// # Checked
//
// - `tests/flow/reference.rs`: random periodic task sets on one processor and on several, every value compared with an
//   interpreter of the synchronous-reactive semantics; brute force over arrivals: [`buffers`] suffice and one fewer
//   does not
// - the programs over all protocols, with the newest value: `conformance`, `stress`, `loom`, `shuttle`, `steps`,
//   `processes`, `deaths`
// - `tests/hostile.rs`: a process scribbles at random; `tests/fuzzed.rs`: garbage in each word, at each step, jobs too
// - `tests/flow/behaviour.rs`: values, errors, successors, spoilt words; also Miri. `tests/flow/steps.rs`: the bounds
// - `tests/flow/stress.rs`: a thread for each end, on a payload that shows tearing; also Miri
// - `tests/flow/deaths.rs`: SIGKILL before every step of every end
// - `tests/flow/printed.rs`: one buffer too few, without the check
//
// `tests/flow/loom.rs`, payload of 2 words, every second job without a write: dispatcher, writer and one reader on
// three threads, 2 activations of the writer and 2 of a lower reader with 1 buffer, 3 and 2 of a higher one with 2
// buffers, preemption bound 4: 12 113 and 14 183 executions; the form at run time, 2 writes × 1 read with 1 buffer
// without bound: 117, 3 × 2 with 2 buffers and bound 3: 988. Leaving out any fence, or weakening any annotation, fails
// there, except for the annotations of O4, which only forbid load buffering.
//
// Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Release of O4 forbids
// what it could do to the mailbox); AArch64 hardware; the timing assumptions, for which the caller is responsible.
