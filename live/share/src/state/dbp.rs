// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! DBP: the value of the right job of the writer, for a whole job; one writer, up to 62 readers, no timing assumption.
//!
//! # Use
//!
//! Control models that run as tasks, where every reader must get the value that it gets in a simulation of the model,
//! however the tasks are preempted: see [`super::flow`], which defines which job a reader reads. If readers need the
//! newest value at the moment of reading, there is no dispatcher: DBP at run time is the protocol of [`super::chen`].
//! If it is known how long jobs last, see [`super::tccp`].
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] ensure it).
//!
//! |                     | dispatcher's | writer's | a reader's                   |
//! |---------------------|--------------|----------|------------------------------|
//! | `activate_…`        | X            | -        | -                            |
//! | writer's `job` and its guard | -   | X        | -                            |
//! | reader's `job` and its guard | -   | -        | X by the same reader, - by others |
//!
//! # Progress
//!
//! All wait-free. W = ⌈size of a value / 8⌉ words, A = readers whose last job the dispatcher has not yet seen
//! complete.
//!
//! | operation            | bound                                                                                 |
//! |----------------------|---------------------------------------------------------------------------------------|
//! | `activate_writer`    | 1 + A loads + 1 store; no store if refused                                            |
//! | `activate_reader`    | 1 load + 2 stores; without the load if the dispatcher has seen the last job complete  |
//! | `holder`             | A loads                                                                               |
//! | writer's `job`       | 1 load                                                                                |
//! | its `write`          | W words                                                                               |
//! | its completion       | 1 store; + 1 in the first job that writes; + 2 W words in a job that did not write    |
//! | reader's `job`       | 2 loads; 1 if there is none                                                           |
//! | its `read`           | 2 loads + W words; without the loads from the second time on; 1 load if `NotYet`; nothing if the writer has never been activated |
//! | its completion       | 1 store                                                                               |
//!
//! # State
//!
//! ```text
//! byte 0              activated: writer's jobs activated << 12 | PREVIOUS << 6 | LATEST (the dispatcher's)
//! byte 128            completed: writer's jobs completed (the writer's)
//! byte 136            first: the first job of the writer that wrote, 0 for none (the writer's)
//! byte 256 + 256 × i  announced: jobs of reader i activated (the dispatcher's)
//! byte 264 + 256 × i  what: the writer's job that reader i's last job reads, 0 for none, << 6 | its buffer (the
//!                     dispatcher's)
//! byte 384 + 256 × i  completed: jobs of reader i completed (the reader's)
//! then                up to 64 buffers, each on cache lines of its own
//! ```
//!
//! A reader *holds* the buffer in `what` while announced ≠ its completed. 52 bits of jobs last 142 years at one job
//! per µs.
//!
//! # Invariants
//!
//! - I1 completed ≤ activated jobs ≤ completed + 1, for the writer and each reader.
//! - I2 When the writer's job k is activated, no reader holds its buffer; if there are readers of higher priority,
//!   the buffer is not that of job k - 1.
//! - I3 From then until the next activation of the writer, each reader that begins to hold the buffer reads job k.
//! - I4 A reader that holds a buffer for job j touches it only while completed ≥ j.
//!
//! # Orderings
//!
//! - O1 assign: Release of the store of `activated` ↔ Acquire of the writer's load.
//! - O2 publish: Release of the writer's store of `completed` ↔ Acquire of the reader's load.
//! - O3 announce: Release of the store of `announced` ↔ Acquire of the reader's load.
//! - O4 leave: Release of the reader's store of its `completed` ↔ Acquire of the dispatcher's loads.
//!
//! # Proof
//!
//! There is one dispatcher (`&mut`), so activations have one order, which gives LATEST and PREVIOUS their meaning. No
//! value is torn: job k writes its buffer after its activation and before it completes. Each reader that held this
//! buffer before has completed (I2), and by O4 and O1 its accesses are over. A reader that begins to hold the buffer
//! while k is not complete is a lower reader of k (I3; a higher one gets k - 1, which by I1 is complete), and waits
//! for completed ≥ k (I4), after which by O2 it sees the words. The dispatcher gives the buffer to the writer again
//! only when no reader holds it (I2). So every job reads the words of the job that the dispatcher announced to it
//! (O3), the same each time.
//!
//! Enough buffers: each reader holds at most one, the new job needs one, and if there are readers of higher priority,
//! the dispatcher keeps the last job's buffer for them: [`Shape::several_processors`]. On one processor under fixed
//! priorities, readers of higher priority are complete when the writer runs, so those that are active all hold the
//! same buffer: [`Shape::one_processor`]. If the tasks are not scheduled like this, the dispatcher returns
//! `NoBuffer`, and no value is lost.
//!
//! # Crash
//!
//! | death of                           | what the others see                         | recovery                           |
//! |------------------------------------|---------------------------------------------|------------------------------------|
//! | dispatcher, before its (last) store | nothing                                    | a new [`dispatcher`] continues there; it does not know the last instant |
//! | dispatcher, after it               | the activation                              | the same                           |
//! | writer, in a job                   | lower readers: `NotYet`; the dispatcher: `Running` | a new [`writer`] gets the same job, as one that has not written |
//! | reader, in a job                   | the dispatcher: `Running`; one buffer stays held, which the buffer count allows for | a new [`reader`] gets the same job, and the same value |
//!
//! A job that completes without writing keeps the value before: the writer copies it over. If a writer dies in a job
//! that has the same buffer as the value before it (possible only without readers of higher priority), that value is
//! lost: there is no value until the next job writes. A hostile process can make any job read any bits, or keep any
//! job from starting; buffer numbers are limited to the number of buffers.
//!
//! # Source
//!
//! [Han14, II-C, Algorithms 3 and 4], of which we know only the description. We differ: one dispatcher makes all
//! activations, so neither compare-exchanges nor the order of PREVIOUS, GetBuf and LATEST matter (in the order of the
//! form at run time, GetBuf first, a reader of higher priority that has loaded PREVIOUS is unprotected on a
//! multiprocessor: `tests/flow/printed.rs`); jobs are numbered, which detects a task that has two at once, and makes
//! completion a word to load instead of an event to wait for; we derive the number of buffers anew, because the
//! text's counts are unreadable.
//!
//! # Checked
//!
//! - `tests/flow/reference.rs`: random periodic task sets on one processor and on several, every value compared with
//!   an interpreter of the synchronous-reactive semantics; all reachable states with up to 3 readers: the buffers
//!   suffice, and one fewer does not
//! - `tests/flow/behaviour.rs`: values, errors, successors, spoilt words; also Miri. `tests/flow/steps.rs`: the bounds
//! - `tests/flow/stress.rs`: a thread for each end, on a payload that shows tearing; also Miri
//! - `tests/flow/deaths.rs`: SIGKILL before every step of every end
//! - `tests/fuzzed.rs`: garbage in each word, at each step of dispatcher, writer and readers
//! - `tests/flow/printed.rs`: the errors above
//!
//! `tests/flow/loom.rs`, payload of 2 words, every second job without a write: one reader: 3 activations of the
//! writer and 2 of a lower reader, or 5 and 2 of a higher one, with jobs that race with the activations, without
//! preemption bound: 1 555 and 6 300 executions; with the writer on a third thread and bound 4: 12 401 and 16 367; a
//! lower and a higher reader with bound 2: 41 575. Weakening any of the eight annotations fails there.
//!
//! Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Releases of O2 and O4
//! forbid what it could do to a copy); AArch64 hardware.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, Memory};

use super::Sample;
use super::flow::{Instants, Layout, Mailbox, READERS_MAX};
pub use super::flow::{NotActivated, NotYet, Shape};
use super::sample;
use crate::places::{Places, uninit};
use crate::plain::fit;
use crate::{LayoutError, Plain};

/// The maximum number of buffers: a set of them is a word.
const BUFFERS_MAX: u32 = 64;
/// The bits of a buffer number.
const BITS: u32 = BUFFERS_MAX.ilog2();

/// Bytes that an object needs; `None` unless there are 1 to 62 readers and 1 to 64 buffers and the size fits in
/// `usize`.
pub const fn bytes<T: Plain>(shape: Shape) -> Option<usize> {
    if shape.buffers > BUFFERS_MAX { None } else { Layout::bytes::<T>(shape) }
}

/// Checks the shape and the memory; returns the number of readers.
fn check<T: Plain>(memory: &Claimed<'_>, shape: Shape) -> Result<u32, LayoutError> {
    let readers = shape.readers().ok_or(LayoutError::Readers)?;
    fit(memory, bytes::<T>(shape).ok_or(LayoutError::Buffers)?)?;
    Ok(readers)
}

/// A dispatcher, a writer and its readers.
pub type Group<'m, T> = (Dispatcher<'m>, Writer<'m, T>, Readers<'m, T>);

/// All ends on one memory.
///
/// # Errors
///
/// [`LayoutError::Readers`]: none, or more than 62; [`LayoutError::Buffers`]: none, or more than 64, or their size
/// does not fit in `usize`; [`LayoutError::TooSmall`].
pub fn group<T: Plain>(memory: Memory<'_>, shape: Shape) -> Result<Group<'_, T>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    let dispatcher = Dispatcher::attach(&memory, shape, readers);
    let writer = Writer::attach(&memory, shape, readers);
    Ok((dispatcher, writer, Readers { memory, shape, readers, next: 0, values: PhantomData }))
}

/// The dispatcher alone. After the death of one, at any step, this call makes its successor; the successor does not
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

/// The writer's end alone. After the death of a writer, at any step, this call makes its successor: it is in the job
/// that the dead writer had begun, as if that job had not written.
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

/// The end of reader `which` alone. After the death of that reader, at any step, this call makes its successor: it is
/// in the job that the dead reader had begun.
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

/// A job of the writer and the buffer of its value.
#[derive(Clone, Copy, Default)]
struct Instance {
    /// The job's number; 0 for none.
    job: u64,
    buffer: u32,
}

/// The buffer number in a word, limited to the buffers of the shape.
fn buffer(word: u64, shape: Shape) -> u32 {
    (word as u32 % BUFFERS_MAX).min(shape.buffers - 1)
}

/// The end that the scheduler calls at each activation, in the order of activations.
pub struct Dispatcher<'m> {
    activated: &'m AtomicU64,
    completed: &'m AtomicU64,
    mailboxes: [Mailbox<'m>; READERS_MAX as usize],
    shape: Shape,
    readers: u32,
    instants: Instants,
    latest: Instance,
    previous: Instance,
    /// The number of activated jobs of each reader.
    announced: [u64; READERS_MAX as usize],
    /// The buffer that each reader's last job holds, as a set.
    holds: [u64; READERS_MAX as usize],
    /// Readers whose last job the dispatcher has not yet seen complete.
    active: u64,
    /// The dispatcher moves between threads, but is not shared.
    apart: PhantomData<Cell<()>>,
}

impl<'m> Dispatcher<'m> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32) -> Self {
        let activated = memory.word(Layout::ACTIVATED);
        let word = activated.load(Relaxed);
        let job = word >> (2 * BITS);
        let mailboxes: [Mailbox<'m>; READERS_MAX as usize] =
            core::array::from_fn(|which| Mailbox::new(memory, (which as u32).min(readers - 1)));
        let announced = mailboxes.map(|mailbox| mailbox.announced.load(Relaxed));
        let holds = mailboxes.map(|mailbox| {
            let what = mailbox.what.load(Relaxed);
            if what >> BITS == 0 { 0 } else { 1 << buffer(what, shape) }
        });
        Self {
            activated,
            completed: memory.word(Layout::COMPLETED),
            mailboxes,
            shape,
            readers,
            instants: Instants::default(),
            latest: Instance { job, buffer: buffer(word, shape) },
            previous: Instance { job: job.saturating_sub(1), buffer: buffer(word >> BITS, shape) },
            announced,
            holds,
            // As if all readers were active: the first activations check.
            active: u64::MAX >> (64 - readers),
            apart: PhantomData,
        }
    }

    /// Activates the writer's next job, at `at_ns`, in ns of any clock that is the same for all tasks; returns the
    /// job's number, from 1. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotActivated`]: `Running`, `NoBuffer`, or `OutOfOrder` after an activation of a reader at the same instant.
    pub fn activate_writer(&mut self, at_ns: u64) -> Result<u64, NotActivated> {
        self.instants.admit_writer(at_ns)?;
        // Relaxed: readers load it themselves. The stores below come after this load, so readers of higher priority
        // find the last job complete.
        if self.completed.load(Relaxed) != self.latest.job {
            return Err(NotActivated::Running);
        }
        let mut used = 0;
        let mut active = self.active;
        while active != 0 {
            let which = active.trailing_zeros() as usize;
            if self.is_running(which) {
                used |= self.holds[which];
            }
            active &= active - 1;
        }
        if self.shape.higher > 0 && self.latest.job > 0 {
            used |= 1 << self.latest.buffer;
        }
        let buffer = used.trailing_ones();
        if buffer >= self.shape.buffers {
            return Err(NotActivated::NoBuffer);
        }
        self.instants.pass(at_ns, false);
        self.previous = self.latest;
        self.latest = Instance { job: self.previous.job + 1, buffer };
        let buffers = u64::from(self.previous.buffer << BITS | buffer);
        self.activated.store(self.latest.job << (2 * BITS) | buffers, Release); // O1 assign
        Ok(self.latest.job)
    }

    /// Activates the next job of reader `which`, at `at_ns` as for the writer; returns the number of the writer's job
    /// whose value it will read, 0 for none. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotActivated`]: `Running`, `OutOfOrder` or `NoSuchReader`.
    pub fn activate_reader(&mut self, which: u32, at_ns: u64) -> Result<u64, NotActivated> {
        if which >= self.readers {
            return Err(NotActivated::NoSuchReader);
        }
        self.instants.admit_reader(at_ns)?;
        let instance = if which < self.shape.lower { self.latest } else { self.previous };
        let which = which as usize;
        if self.active >> which & 1 == 1 && self.is_running(which) {
            return Err(NotActivated::Running);
        }
        self.instants.pass(at_ns, true);
        self.announced[which] = self.announced[which].wrapping_add(1);
        self.holds[which] = if instance.job == 0 { 0 } else { 1 << instance.buffer };
        self.active |= 1 << which;
        let mailbox = &self.mailboxes[which];
        mailbox.what.store(instance.job << BITS | u64::from(instance.buffer), Relaxed);
        mailbox.announced.store(self.announced[which], Release); // O3 announce
        Ok(instance.job)
    }

    /// A reader that holds a buffer in a job that is not complete: after [`NotActivated::NoBuffer`] the caller can
    /// wait for it. Wait-free: at most one load for each reader whose last job the dispatcher has not yet seen
    /// complete.
    pub fn holder(&mut self) -> Option<u32> {
        let mut active = self.active;
        while active != 0 {
            let which = active.trailing_zeros();
            if self.holds[which as usize] != 0 && self.is_running(which as usize) {
                return Some(which);
            }
            active &= active - 1;
        }
        None
    }

    /// Whether the last job of an active reader is not complete. If it is complete, the reader is no longer active.
    fn is_running(&mut self, which: usize) -> bool {
        // O4 leave: the reader's accesses are over.
        let running = self.mailboxes[which].completed.load(Acquire) != self.announced[which];
        if !running {
            self.active &= !(1 << which);
        }
        running
    }
}

/// The end of the task that writes.
pub struct Writer<'m, T> {
    activated: &'m AtomicU64,
    shared_completed: &'m AtomicU64,
    shared_first: &'m AtomicU64,
    places: Places<'m, T>,
    shape: Shape,
    completed: u64,
    /// The first job that wrote; 0 for none.
    first: u64,
    /// The job in whose buffer a value may be unfinished; 0 for none.
    unfinished: u64,
    /// The last job that wrote; 0 for none.
    written: u64,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32) -> Self {
        let shared_completed = memory.word(Layout::COMPLETED);
        let shared_first = memory.word(Layout::FIRST);
        let completed = shared_completed.load(Relaxed);
        let mut first = shared_first.load(Relaxed);
        if first > completed {
            // The last writer died just before its first job was complete.
            first = 0;
            shared_first.store(0, Relaxed);
        }
        let places = Layout::places(memory, shape, readers);
        let activated = memory.word(Layout::ACTIVATED);
        // If this job is not complete, the last writer may have died in it.
        let unfinished = activated.load(Relaxed) >> (2 * BITS);
        let written = 0;
        Self {
            activated,
            shared_completed,
            shared_first,
            places,
            shape,
            completed,
            first,
            unfinished,
            written,
        }
    }

    /// The activated job; `None` if all activated jobs are complete. 1 load.
    #[inline]
    pub fn job(&mut self) -> Option<WriterJob<'_, 'm, T>> {
        let word = self.activated.load(Acquire); // O1 assign
        let job = word >> (2 * BITS);
        if job == self.completed {
            return None;
        }
        let (buffer, previous) =
            (buffer(word, self.shape) as usize, buffer(word >> BITS, self.shape) as usize);
        Some(WriterJob { writer: self, job, buffer, previous })
    }
}

/// A job of the writer. Dropping the guard completes the job: then readers may read its value. A guard that ends with
/// [`WriterJob::go_on`], or is forgotten, leaves the job incomplete, and [`Writer::job`] returns it again.
#[must_use = "dropped at once, the job is complete without having written"]
pub struct WriterJob<'w, 'm, T: Plain> {
    writer: &'w mut Writer<'m, T>,
    job: u64,
    buffer: usize,
    /// The buffer of the previous job's value, unless this job has the same buffer.
    previous: usize,
}

impl<T: Plain> WriterJob<'_, '_, T> {
    /// The job's number, from 1.
    pub fn number(&self) -> u64 {
        self.job
    }

    /// Sets the job's value; the last call counts. W words.
    #[inline]
    pub fn write(&mut self, value: &T) {
        // SAFETY:
        // - the index is below the number of buffers, and a T fits (layout); T is Plain: no padding, aligned to at
        //   most 8;
        // - exclusive: the buffer is this job's, and its readers wait for the job's completion (I2, I4).
        unsafe { self.writer.places.write(self.buffer, value) };
        self.writer.written = self.job;
    }

    /// Lets `fill` set the job's value in place: it finds the last value of this job, or else an older one or zeros.
    /// Steps as [`WriterJob::write`].
    #[inline]
    pub fn write_with<R>(&mut self, fill: impl FnOnce(&mut T) -> R) -> R {
        // If `fill` panics, the job has not written.
        self.writer.written = 0;
        self.writer.unfinished = self.job;
        // SAFETY: as in `write`; only `fill` has the buffer, while this job holds it.
        let result = unsafe { self.writer.places.lend_mut(self.buffer, fill) };
        self.writer.written = self.job;
        result
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
        let writer = &mut *self.writer;
        let mut first = writer.first;
        if writer.written == self.job {
            first = if first == 0 { self.job } else { first };
        } else if first != 0 && self.previous != self.buffer {
            let mut value = MaybeUninit::uninit();
            // SAFETY: both indices are below the number of buffers, and a T fits (layout). Nothing writes the
            // previous job's buffer, because this job has another one; this job's buffer is exclusive, as in `write`.
            // `read_into` fills the used bytes of a value.
            unsafe {
                writer.places.read_into(self.previous, &mut value);
                writer.places.write(self.buffer, value.assume_init_ref());
            }
        } else if writer.unfinished == self.job {
            // The previous value was in this buffer, and is lost.
            first = 0;
        }
        if first != writer.first {
            writer.first = first;
            writer.shared_first.store(first, Relaxed); // O2 publish, below, comes after it.
        }
        writer.completed = self.job;
        writer.shared_completed.store(self.job, Release); // O2 publish
    }
}

/// The end of a task that reads.
pub struct Reader<'m, T> {
    mailbox: Mailbox<'m>,
    writer_completed: &'m AtomicU64,
    first: &'m AtomicU64,
    places: Places<'m, T>,
    shape: Shape,
    completed: u64,
    /// The writer's job whose value this reader read last.
    seen: u64,
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32, which: u32) -> Self {
        let mailbox = Mailbox::new(memory, which);
        Self {
            mailbox,
            writer_completed: memory.word(Layout::COMPLETED),
            first: memory.word(Layout::FIRST),
            places: Layout::places(memory, shape, readers),
            shape,
            completed: mailbox.completed.load(Relaxed),
            seen: 0,
        }
    }

    /// The activated job; `None` if all activated jobs are complete. 2 loads; 1 if there is none.
    #[inline]
    pub fn job(&mut self) -> Option<ReaderJob<'_, 'm, T>> {
        let job = self.mailbox.announced.load(Acquire); // O3 announce
        if job == self.completed {
            return None;
        }
        let what = self.mailbox.what.load(Relaxed);
        let (version, buffer) = (what >> BITS, buffer(what, self.shape) as usize);
        let state = if version == 0 { Value::None } else { Value::Unknown };
        Some(ReaderJob { reader: self, job, version, buffer, state })
    }
}

/// What a reader's job knows about its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// The writer's job may not be complete.
    Unknown,
    /// There is a value.
    There,
    /// No job had written a value.
    None,
}

/// A job of a reader: it reads one value as often as it wants. Dropping the guard completes the job. A guard that
/// ends with [`ReaderJob::go_on`], or is forgotten, leaves the job incomplete, and [`Reader::job`] returns it again.
pub struct ReaderJob<'r, 'm, T> {
    reader: &'r mut Reader<'m, T>,
    job: u64,
    version: u64,
    buffer: usize,
    state: Value,
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

    /// Whether there is a value.
    ///
    /// # Errors
    ///
    /// [`NotYet`].
    #[inline]
    fn look(&mut self) -> Result<bool, NotYet> {
        if self.state == Value::Unknown {
            // O2 publish
            if self.reader.writer_completed.load(Acquire) < self.version {
                return Err(NotYet);
            }
            let first = self.reader.first.load(Relaxed);
            let there = first != 0 && first <= self.version;
            self.state = if there { Value::There } else { Value::None };
        }
        Ok(self.state == Value::There)
    }

    /// Whether the job can read its value, or there is none. A job of lower priority than the writer, on another
    /// processor, waits for this. Wait-free: at most 2 loads.
    #[inline]
    pub fn is_ready(&mut self) -> bool {
        self.look().is_ok()
    }

    /// The job's value: the same each time; `None` if no job had written a value. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotYet`]: the writer's job is not complete.
    #[inline]
    pub fn read(&mut self) -> Result<Option<T>, NotYet> {
        // SAFETY: `copy` fills the used bytes of a value if it returns a number.
        Ok(unsafe { sample(|value| self.copy(value)) }?.map(|sample| sample.value))
    }

    /// [`ReaderJob::read`] into `value`, without a further move; returns the number of the writer's job. If it
    /// returns `None`, `value` is unchanged.
    ///
    /// # Errors
    ///
    /// As [`ReaderJob::read`].
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Result<Option<u64>, NotYet> {
        self.copy(uninit(value))
    }

    /// Copies the job's value; returns the number of the writer's job.
    #[inline(always)]
    fn copy(&mut self, value: &mut MaybeUninit<T>) -> Result<Option<u64>, NotYet> {
        if !self.look()? {
            return Ok(None);
        }
        self.reader.seen = self.version;
        // SAFETY:
        // - the index is below the number of buffers, and a T fits (layout); T is Plain: every bit pattern is a
        //   value;
        // - exclusive against our writer: this job holds the buffer, and the value in it is complete (I3, I4).
        unsafe { self.reader.places.read_into(self.buffer, value) };
        Ok(Some(self.version))
    }

    /// Shows `look` the job's value where it lies, as [`ReaderJob::read`].
    ///
    /// # Errors
    ///
    /// [`NotYet`]: the writer's job is not complete.
    #[inline]
    pub fn read_with<R>(&mut self, look: impl FnOnce(&T) -> R) -> Result<Option<R>, NotYet> {
        if !self.look()? {
            return Ok(None);
        }
        self.reader.seen = self.version;
        // SAFETY: as in `copy`; this job holds the buffer while `look` runs.
        Ok(Some(unsafe { self.reader.places.lend(self.buffer, look) }))
    }

    /// The job's value, unless this reader has already read the value of the same job of the writer, in this job or
    /// an earlier one; then `None`, without a load of a word that others write.
    ///
    /// # Errors
    ///
    /// [`NotYet`]: the writer's job is not complete.
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, NotYet> {
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
    /// As [`ReaderJob::read`].
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, NotYet> {
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
        self.reader.completed = self.job;
        self.reader.mailbox.completed.store(self.job, Release); // O4 leave
    }
}
