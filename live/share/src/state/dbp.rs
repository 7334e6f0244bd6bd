// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! DBP: the value of the right job of the writer, for a whole job; one writer, up to 62 readers, no timing assumption.
//!
//! # Use
//!
//! Control models run as tasks, where every reader must get what the model's simulation gives it, however the tasks
//! are preempted: see [`super::flow`], which says who reads what. Is the newest value at the moment of reading what is
//! wanted, there is no dispatcher: DBP at run time is the protocol of [`super::chen`]. Is it known how long jobs last:
//! [`super::tccp`].
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duties of [`writer`] see to it).
//!
//! |                     | dispatcher's | writer's | a reader's                   |
//! |---------------------|--------------|----------|------------------------------|
//! | `activate_…`        | X            | -        | -                            |
//! | writer's `job` and its guard | -   | X        | -                            |
//! | reader's `job` and its guard | -   | -        | X by the same one, - by others |
//!
//! # Progress
//!
//! All wait-free. W = ⌈size of a value / 8⌉ words, A = readers whose last job was not yet seen complete.
//!
//! | operation            | bound                                                                                 |
//! |----------------------|---------------------------------------------------------------------------------------|
//! | `activate_writer`    | 1 + A loads + 1 store; no store if refused                                            |
//! | `activate_reader`    | 1 load + 2 stores; without the load if its last job was seen complete                 |
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
//! byte 136            first: the first of them that wrote, 0 for none (the writer's)
//! byte 256 + 256 × i  told: jobs of reader i activated (the dispatcher's)
//! byte 264 + 256 × i  what: the writer's job that the last one reads, 0 for none, << 6 | its buffer (the dispatcher's)
//! byte 384 + 256 × i  completed: jobs of reader i completed (the reader's)
//! then                up to 64 buffers, each on cache lines of its own
//! ```
//!
//! A reader *holds* the buffer in `what` while told ≠ its completed. 52 bits of jobs last 142 years at one each µs.
//!
//! # Invariants
//!
//! - I1 completed ≤ activated jobs ≤ completed + 1, for the writer and each reader.
//! - I2 When the writer's job k is activated, its buffer is held by nobody; if there are readers of higher priority,
//!   it is not that of job k - 1.
//! - I3 From then on to the next activation of the writer, whoever begins to hold it reads job k.
//! - I4 A reader touches the buffer that it holds, for job j, while completed ≥ j alone.
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
//! The dispatcher is one (`&mut`), so activations are in one order, which gives LATEST and PREVIOUS their meaning.
//! Untorn: job k writes its buffer after its activation and before it completes. Who held that buffer before has
//! completed (I2), and by O4 and O1 its accesses are over. Who begins to hold it while k is not complete is a lower
//! reader of k (I3; a higher one is given k - 1, which by I1 is complete), and waits for completed ≥ k (I4), which by
//! O2 has the words behind it. The buffer is given to the writer again only when nobody holds it (I2). So every job
//! reads the words of the job it was told (O3), the same each time.
//!
//! Enough buffers: each reader holds at most one, the new job needs one, and where there are readers of higher
//! priority the last job's is kept for them: [`Shape::several_processors`]. On one processor under fixed priorities,
//! readers of higher priority are complete when the writer runs, so those that are active all hold the same buffer:
//! [`Shape::one_processor`]. If that is not how it is scheduled, the dispatcher says `NoBuffer`, and no value is lost.
//!
//! # Crash
//!
//! | who dies, where                    | what the others see                         | what goes on                       |
//! |------------------------------------|---------------------------------------------|------------------------------------|
//! | dispatcher, before its (last) store | nothing                                    | a new [`dispatcher`] goes on there; it does not know the last instant |
//! | dispatcher, after it               | the activation                              | the same                           |
//! | writer, in a job                   | lower readers: `NotYet`; the dispatcher: `Running` | a new [`writer`] gets the same job, as one that has not written |
//! | reader, in a job                   | the dispatcher: `Running`; one buffer stays held, and is counted for | a new [`reader`] gets the same job, and the same value |
//!
//! A job that completes without writing leaves the value as it was: the writer copies it over. After a death in a job
//! whose buffer was that of the value before it, which is so only without readers of higher priority, that value is
//! lost: there is none until the next job writes. A hostile process can make any job read any bits, or none start;
//! indices are masked by the number of buffers.
//!
//! # Source
//!
//! [Han14, II-C, Algorithms 3 and 4], which we know by their description alone. We differ: activations are
//! made by one dispatcher, so neither compare-exchanges nor the order of PREVIOUS, GetBuf and LATEST matter (in the
//! order of the form at run time, GetBuf first, a reader of higher priority that has loaded PREVIOUS is unprotected on a
//! multiprocessor: `tests/printed_flow.rs`); jobs are numbered, so that a task that has two at once is found, and
//! completion is a word to look at instead of an event to wait for; buffers are counted anew, as the text's counts
//! are unreadable.
//!
//! # Checked
//!
//! - `tests/flow_reference.rs`: random periodic task sets, one processor and several, every value against an
//!   interpreter of the synchronous-reactive semantics; all reachable states with up to 3 readers: no buffer is
//!   missing, and with one fewer one is
//! - `tests/behaviour_flow.rs`: values, errors, successors, spoilt words; also Miri. `tests/steps_flow.rs`: the bounds
//! - `tests/stress_flow.rs`: a thread for each end, on a payload that shows tearing; also Miri
//! - `tests/deaths_flow.rs`: SIGKILL before every step of every end
//! - `tests/fuzzed.rs`: garbage in each word, at each step of dispatcher, writer and readers
//! - `tests/printed_flow.rs`: the mistakes above
//!
//! `tests/loom_flow.rs`, payload of 2 words, every second job without a write: one reader, 3 activations of the writer
//! and 2 of a lower reader, 5 and 2 of a higher one, whose jobs race with them, without preemption bound: 1 555 and
//! 6 300 executions; with the writer on a third thread and bound 4: 12 401 and 16 367; a lower and a higher reader with
//! bound 2: 41 575. Each of the eight annotations weakened fails there.
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

/// Most buffers: their set is a word.
const BUFFERS_MAX: u32 = 64;
/// Bits of the number of a buffer.
const BITS: u32 = BUFFERS_MAX.ilog2();

/// Bytes that an object needs; `None` unless there are 1 to 62 readers and 1 to 64 buffers, and their size is a number.
pub const fn bytes<T: Plain>(shape: Shape) -> Option<usize> {
    if shape.buffers > BUFFERS_MAX { None } else { Layout::bytes::<T>(shape) }
}

/// The number of readers of a shape that fits.
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
/// [`LayoutError::Readers`]: none, or more than 62; [`LayoutError::Buffers`]: none, or more than 64, or their size is not
/// a number; [`LayoutError::TooSmall`].
pub fn group<T: Plain>(memory: Memory<'_>, shape: Shape) -> Result<Group<'_, T>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    let dispatcher = Dispatcher::attach(&memory, shape, readers);
    let writer = Writer::attach(&memory, shape, readers);
    Ok((dispatcher, writer, Readers { memory, shape, readers, next: 0, values: PhantomData }))
}

/// The dispatcher alone. After the death of one, at any step, the next one goes on here; the instant of the last
/// activation is not known to it.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T` and shape, or zeros; no other dispatcher of it lives: the
/// last one has ended, and this call comes after that.
pub unsafe fn dispatcher<T: Plain>(memory: Memory<'_>, shape: Shape) -> Result<Dispatcher<'_>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    Ok(Dispatcher::attach(&memory, shape, readers))
}

/// The writer's end alone. After the death of a writer, at any step, the next one goes on here: in the job that the
/// dead one had begun, as if that had not written.
///
/// # Errors
///
/// As [`group`].
///
/// # Safety
///
/// What stands on the memory is this object for this `T` and shape, or zeros; no other writer of it lives: the last
/// one has ended, and this call comes after that.
pub unsafe fn writer<T: Plain>(memory: Memory<'_>, shape: Shape) -> Result<Writer<'_, T>, LayoutError> {
    let memory = memory.claim();
    let readers = check::<T>(&memory, shape)?;
    Ok(Writer::attach(&memory, shape, readers))
}

/// The end of reader `which` alone. After the death of that reader, at any step, the next one goes on here: in the
/// job that the dead one had begun.
///
/// # Errors
///
/// As [`group`]; [`LayoutError::Readers`] if there is no reader `which`.
///
/// # Safety
///
/// What stands on the memory is this object for this `T` and shape, or zeros; no other reader of this number lives:
/// the last one has ended, and this call comes after that.
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

/// The readers of a group, each once, in the order of their numbers.
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
    /// 0 for none.
    job: u64,
    buffer: u32,
}

/// The number of a buffer in a word, made one that there is.
fn buffer(word: u64, shape: Shape) -> u32 {
    (word as u32 % BUFFERS_MAX).min(shape.buffers - 1)
}

/// The end that is called at each activation, in their order.
pub struct Dispatcher<'m> {
    activated: &'m AtomicU64,
    completed: &'m AtomicU64,
    mailboxes: [Mailbox<'m>; READERS_MAX as usize],
    shape: Shape,
    readers: u32,
    instants: Instants,
    latest: Instance,
    previous: Instance,
    /// Jobs of each reader that were activated.
    announced: [u64; READERS_MAX as usize],
    /// The buffer that each reader's last job holds, as a set.
    holds: [u64; READERS_MAX as usize],
    /// Readers whose last job was not yet seen complete.
    active: u64,
    /// It moves between threads, but is not shared.
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
            // As if all were: the first activations look.
            active: u64::MAX >> (64 - readers),
            apart: PhantomData,
        }
    }

    /// Activates the writer's next job, at `at_ns`, in ns of any clock that is the same for all tasks; gives its
    /// number, from 1. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotActivated`]: `Running`, `NoBuffer`, or `OutOfOrder` after an activation of a reader at the same instant.
    pub fn activate_writer(&mut self, at_ns: u64) -> Result<u64, NotActivated> {
        self.instants.admit_writer(at_ns)?;
        // Relaxed: readers look at it themselves; what is stored below has this look behind it, so that those of
        // higher priority find the last job complete.
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

    /// Activates the next job of reader `which`, at `at_ns` as for the writer; gives the number of the writer's job
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

    /// A reader that holds a buffer in a job that is not complete: one for whom to wait behind
    /// [`NotActivated::NoBuffer`]. Wait-free: at most as many loads as readers' jobs that were not yet seen complete.
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

    /// Whether the last job of an active reader is not complete; else it is active no more.
    fn is_running(&mut self, which: usize) -> bool {
        // O4 leave: its accesses are over.
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
    /// The last job that has written; 0 for none.
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
        // If it is not complete, the last writer may have died in it.
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

    /// The job that has been activated; `None` if all that were are complete. 1 load.
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

/// A job of the writer. Dropping it completes it: then its value may be read. A guard that goes by
/// [`WriterJob::go_on`], or is forgotten, leaves the job as it is, and [`Writer::job`] gives it again.
#[must_use = "dropped at once, the job is complete without having written"]
pub struct WriterJob<'w, 'm, T: Plain> {
    writer: &'w mut Writer<'m, T>,
    job: u64,
    buffer: usize,
    /// Where the value of the job before stands, if that has not been given to this one.
    previous: usize,
}

impl<T: Plain> WriterJob<'_, '_, T> {
    /// Its number, from 1.
    pub fn number(&self) -> u64 {
        self.job
    }

    /// Sets the job's value; the last one counts. W words.
    #[inline]
    pub fn write(&mut self, value: &T) {
        // SAFETY:
        // - the buffer is below their number, and a T fits (layout); T is Plain: no padding, aligned to at most 8;
        // - exclusive: it is this job's, and readers of it wait for its completion (I2, I4).
        unsafe { self.writer.places.write(self.buffer, value) };
        self.writer.written = self.job;
    }

    /// Sets the job's value where it lies: the last one of this job, else an older one or zeros. Step count as
    /// [`WriterJob::write`].
    #[inline]
    pub fn write_with<R>(&mut self, fill: impl FnOnce(&mut T) -> R) -> R {
        // If `fill` panics, the job has not written.
        self.writer.written = 0;
        self.writer.unfinished = self.job;
        // SAFETY: as in `write`; lent to `fill` alone, while this job holds the buffer.
        let result = unsafe { self.writer.places.lend_mut(self.buffer, fill) };
        self.writer.written = self.job;
        result
    }

    /// The guard goes, the job does not: [`Writer::job`] gives it again, with what it has written. For who cannot keep a
    /// guard as long as the job lasts.
    #[inline]
    pub fn go_on(self) {
        core::mem::forget(self);
    }

    /// The job is complete; the same as dropping it.
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
            // SAFETY: both below their number, and a T fits (layout). Nobody writes the previous job's buffer, as this
            // job's is another one; this job's is exclusive, as in `write`. `read_into` fills what a value uses.
            unsafe {
                writer.places.read_into(self.previous, &mut value);
                writer.places.write(self.buffer, value.assume_init_ref());
            }
        } else if writer.unfinished == self.job {
            // The value before stood in this buffer, and is lost.
            first = 0;
        }
        if first != writer.first {
            writer.first = first;
            writer.shared_first.store(first, Relaxed); // O2 publish, below, has it behind it.
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
    /// The writer's job whose value was read last.
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

    /// The job that has been activated; `None` if all that were are complete. 2 loads; 1 if there is none.
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

/// What a reader's job knows of its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// The writer's job may not be complete.
    Unknown,
    /// It is there.
    There,
    /// Nothing had been written.
    None,
}

/// A job of a reader: it reads one value as often as it wants. Dropping it completes it. A guard that goes by
/// [`ReaderJob::go_on`], or is forgotten, leaves the job as it is, and [`Reader::job`] gives it again.
pub struct ReaderJob<'r, 'm, T> {
    reader: &'r mut Reader<'m, T>,
    job: u64,
    version: u64,
    buffer: usize,
    state: Value,
}

impl<T: Plain> ReaderJob<'_, '_, T> {
    /// Its number, from 1.
    pub fn number(&self) -> u64 {
        self.job
    }

    /// The number of the writer's job whose value it reads; 0 if there was none.
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

    /// Whether the value can be read, or there is none: a job of lower priority than the writer, on another
    /// processor, waits for that. Wait-free: at most 2 loads.
    #[inline]
    pub fn is_ready(&mut self) -> bool {
        self.look().is_ok()
    }

    /// The job's value: the same each time; `None` if nothing had been written. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotYet`]: the writer's job is not complete.
    #[inline]
    pub fn read(&mut self) -> Result<Option<T>, NotYet> {
        // SAFETY: `copy` fills what a value uses, if it gives a number.
        Ok(unsafe { sample(|value| self.copy(value)) }?.map(|sample| sample.value))
    }

    /// [`ReaderJob::read`] into `value`, which is not moved again; the result is the number of the writer's job. If it is
    /// `None`, `value` is as it was.
    ///
    /// # Errors
    ///
    /// As [`ReaderJob::read`].
    #[inline]
    pub fn read_into(&mut self, value: &mut T) -> Result<Option<u64>, NotYet> {
        self.copy(uninit(value))
    }

    /// Copies the job's value; its number.
    #[inline(always)]
    fn copy(&mut self, value: &mut MaybeUninit<T>) -> Result<Option<u64>, NotYet> {
        if !self.look()? {
            return Ok(None);
        }
        self.reader.seen = self.version;
        // SAFETY:
        // - the buffer is below their number, and a T fits (layout); T is Plain: every bit pattern is one;
        // - exclusive against our writer: this job holds the buffer, and the value in it is complete (I3, I4).
        unsafe { self.reader.places.read_into(self.buffer, value) };
        Ok(Some(self.version))
    }

    /// The job's value where it lies, as [`ReaderJob::read`].
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
        // SAFETY: as in `copy`; held while `look` runs.
        Ok(Some(unsafe { self.reader.places.lend(self.buffer, look) }))
    }

    /// The job's value if this reader has not read that of the same job of the writer before, in this job or an
    /// earlier one; else `None`, without a look at what others write.
    ///
    /// # Errors
    ///
    /// [`NotYet`]: the writer's job is not complete.
    #[inline]
    pub fn read_if_newer(&mut self) -> Result<Option<Sample<T>>, NotYet> {
        if self.version == self.reader.seen {
            return Ok(None);
        }
        // SAFETY: `copy` fills what a value uses, if it gives a number.
        unsafe { sample(|value| self.copy(value)) }
    }

    /// [`ReaderJob::read_if_newer`] into `value`, which is not moved again; the result is the number of the writer's job.
    /// If it is `None`, `value` is as it was.
    ///
    /// # Errors
    ///
    /// As [`ReaderJob::read`].
    #[inline]
    pub fn read_if_newer_into(&mut self, value: &mut T) -> Result<Option<u64>, NotYet> {
        if self.version == self.reader.seen { Ok(None) } else { self.copy(uninit(value)) }
    }

    /// The guard goes, the job does not: [`Reader::job`] gives it again, with the same value. For who cannot keep a guard
    /// as long as the job lasts.
    #[inline]
    pub fn go_on(self) {
        core::mem::forget(self);
    }

    /// The job is complete; the same as dropping it.
    pub fn complete(self) {}
}

impl<T> Drop for ReaderJob<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        self.reader.completed = self.job;
        self.reader.mailbox.completed.store(self.job, Release); // O4 leave
    }
}
