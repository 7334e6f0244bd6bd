// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! DBP: the value of the right job of the writer, for a whole job; one writer, up to 62 readers, no timing assumption.
//!
//! # Use
//! Control models that run as tasks, where every reader must get the value that it gets in a simulation of the model,
//! however the tasks are preempted: see [`super::flow`], which defines which job a reader reads. If readers need the
//! newest value at the moment of reading, there is no dispatcher: DBP at run time is the protocol of [`super::chen`].
//! If it is known how long jobs last, see [`super::tccp`].
//!
//! # Callers
//! As [`super::flow`].
//!
//! # Progress
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
//! # Orderings
//! - O1 assign: Release of the store of `activated` ↔ Acquire of the writer's load.
//! - Publish, announce and leave are those of [`super::flow`], whose code this protocol uses.
//!
//! # Crash
//! As [`super::flow`]. A reader that dies in a job keeps one buffer held, which the buffer count allows for.
//!
//! A job that completes without writing keeps the previous value: the writer copies that value into the job's buffer.
//! If a writer dies in a job that has the same buffer as the previous value (possible only without readers of higher
//! priority), that value is lost: there is no value until the next job writes. A hostile process can make any job read
//! any bits, or keep any job from starting; buffer numbers are limited to the number of buffers.
//!
//! # Source
//! [Han14, II-C, Algorithms 3 and 4], of which we know only the description. We differ: one dispatcher makes all
//! activations, so we need no compare-exchanges, and the order of PREVIOUS, GetBuf and LATEST does not matter (in the
//! order of the form at run time, GetBuf first, a reader of higher priority that has loaded PREVIOUS is unprotected on
//! a multiprocessor: `tests/flow/printed.rs`); jobs are numbered, which detects a task that has two jobs at once, and
//! makes completion a word to load instead of an event to wait for; we derive the number of buffers anew, because the
//! text's counts are unreadable.

use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed, Memory};

use super::Sample;
use super::flow::{Activation, Layout, READERS_MAX, ReaderJobs, Value, WriterJobs};
pub use super::flow::{NotActivated, NotYet, Shape};
use super::sample;
use crate::places::{Places, uninit};
use crate::plain::fit;
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0              activated: writer's jobs activated << 12 | PREVIOUS << 6 | LATEST (the dispatcher's)
// byte 128            completed: writer's jobs completed (the writer's)
// byte 136            first: the first job of the writer that wrote, 0 for none (the writer's)
// byte 256 + 256 × i  announced: jobs of reader i activated (the dispatcher's)
// byte 264 + 256 × i  what: the writer's job that reader i's last job reads, 0 for none, << 6 | its buffer (the
//                     dispatcher's)
// byte 384 + 256 × i  completed: jobs of reader i completed (the reader's)
// then                up to 64 buffers, each on cache lines of its own
// ```
//
// A reader *holds* the buffer in `what` while announced ≠ its completed. 52 bits of jobs last 142 years at one job per
// µs.
//
// # Invariants
//
// - I1 as in [`super::flow`].
// - I2 When the writer's job k is activated, no reader holds its buffer; if there are readers of higher priority, the
//   buffer is not that of job k - 1.
// - I3 From then until the next activation of the writer, each reader that begins to hold the buffer reads job k.
// - I4 A reader that holds a buffer for job j touches it only while completed ≥ j.

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
///
/// ```
/// use taut_share::state::dbp::{self, NotYet, Shape};
/// use taut_share::{Line, Memory};
///
/// // A display of lower priority than the sensor's task, and a controller of higher.
/// let shape = Shape::one_processor(1, 1);
/// let mut lines = [const { Line::new() }; 8];
/// let (mut dispatcher, mut sensor, mut readers) = dbp::group::<[f32; 2]>(Memory::new(&mut lines), shape)?;
/// let (mut display, mut controller) = (readers.next().expect("lower"), readers.next().expect("higher"));
///
/// for (at_ns, value) in [(0, [0.5, 1.0]), (1_000_000, [0.6, 1.1])] {
///     dispatcher.activate_writer(at_ns)?;
///     let mut job = sensor.job().expect("activated");
///     job.write(&value);
/// }
/// dispatcher.activate_reader(0, 1_000_000)?;
/// dispatcher.activate_reader(1, 1_000_000)?;
/// let (mut shown, mut controlled) = (display.job().expect("activated"), controller.job().expect("activated"));
/// // The display and the controller keep their values, whatever is activated meanwhile.
/// dispatcher.activate_writer(2_000_000)?;
/// assert_eq!(shown.read(), Ok(Some([0.6, 1.1])));
/// assert_eq!(controlled.read(), Ok(Some([0.5, 1.0])));
/// drop(shown);
///
/// // The sensor's job is not complete: there is nothing to show yet.
/// dispatcher.activate_reader(0, 2_000_000)?;
/// let mut shown = display.job().expect("activated");
/// assert_eq!(shown.read(), Err(NotYet));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// There is one end of each kind and number. It has one job at a time, and is not shared:
///
/// ```compile_fail,E0499
/// # use taut_share::{Line, Memory, state::dbp::{self, Shape}};
/// # let mut lines = [const { Line::new() }; 8];
/// # let (_, mut writer, _) = dbp::group::<u64>(Memory::new(&mut lines), Shape::one_processor(1, 1)).unwrap();
/// let one = writer.job();
/// let another = writer.job();
/// drop(one);
/// ```
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, state::dbp::{self, Shape}};
/// # let mut lines = [const { Line::new() }; 8];
/// # let (dispatcher, _, _) = dbp::group::<u64>(Memory::new(&mut lines), Shape::one_processor(1, 1)).unwrap();
/// let another = dispatcher.clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, state::dbp::{self, Shape}};
/// fn shared<T: Sync>(_: &T) {}
/// # let mut lines = [const { Line::new() }; 8];
/// # let (dispatcher, _, _) = dbp::group::<u64>(Memory::new(&mut lines), Shape::one_processor(1, 1)).unwrap();
/// shared(&dispatcher);
/// ```
/// ```
/// # use taut_share::{Line, Memory, state::dbp::{self, Shape}};
/// fn moved<T: Send>(_: T) {}
/// # let mut lines = [const { Line::new() }; 8];
/// # let (dispatcher, writer, mut readers) =
/// #     dbp::group::<u64>(Memory::new(&mut lines), Shape::one_processor(1, 1)).unwrap();
/// moved(readers.next().unwrap());
/// moved((dispatcher, writer, readers));
/// ```
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
    activation: Activation<'m>,
    shape: Shape,
    latest: Instance,
    previous: Instance,
    /// The buffer that each reader's last job holds, as a set.
    holds: [u64; READERS_MAX as usize],
    /// Readers whose last job the dispatcher has not yet seen complete.
    active: u64,
}

impl<'m> Dispatcher<'m> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32) -> Self {
        let activated = memory.word(Layout::ACTIVATED);
        let word = activated.load(Relaxed);
        let job = word >> (2 * BITS);
        let activation = Activation::attach(memory, shape, readers);
        let holds = core::array::from_fn(|which| {
            let what = activation.what(which);
            if what >> BITS == 0 { 0 } else { 1 << buffer(what, shape) }
        });
        Self {
            activated,
            activation,
            shape,
            latest: Instance { job, buffer: buffer(word, shape) },
            previous: Instance { job: job.saturating_sub(1), buffer: buffer(word >> BITS, shape) },
            holds,
            // As if all readers were active: the first activations check.
            active: u64::MAX >> (64 - readers),
        }
    }

    /// Activates the writer's next job, at `at_ns`, in ns of any clock that is the same for all tasks; returns the
    /// job's number, from 1. Wait-free.
    ///
    /// # Errors
    ///
    /// [`NotActivated`]: `Running`, `NoBuffer`, or `OutOfOrder` after an activation of a reader at the same instant.
    pub fn activate_writer(&mut self, at_ns: u64) -> Result<u64, NotActivated> {
        // Proof: No value is torn: job k writes its buffer after its activation and before it completes. Each reader
        // that held this buffer before has completed (I2), and by O4 and O1 its accesses are over. A reader that
        // begins to hold the buffer while k is not complete is a lower reader of k (I3; a higher one gets k - 1, which
        // by I1 is complete), and waits for completed ≥ k (I4), after which by O2 it sees the words. The dispatcher
        // gives the buffer to the writer again only when no reader holds it (I2). So every job reads the words of the
        // job that the dispatcher announced to it (O3), the same each time.
        self.activation.admit_writer(at_ns, self.latest.job)?;
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
        // Proof: Enough buffers: each reader holds at most one, the new job needs one, and if there are readers of
        // higher priority, the dispatcher keeps the last job's buffer for them: [`Shape::several_processors`]. On one
        // processor under fixed priorities, readers of higher priority are complete when the writer runs, so those
        // that are active all hold the same buffer: [`Shape::one_processor`]. If the tasks are not scheduled like
        // this, the dispatcher returns `NoBuffer`, and no value is lost.
        let buffer = used.trailing_ones();
        if buffer >= self.shape.buffers {
            return Err(NotActivated::NoBuffer);
        }
        self.activation.pass_writer(at_ns);
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
        self.activation.admit_reader(which, at_ns)?;
        let instance = if self.activation.is_lower(which) { self.latest } else { self.previous };
        let which = which as usize;
        if self.active >> which & 1 == 1 && self.is_running(which) {
            return Err(NotActivated::Running);
        }
        self.holds[which] = if instance.job == 0 { 0 } else { 1 << instance.buffer };
        self.active |= 1 << which;
        self.activation.announce(which, at_ns, instance.job << BITS | u64::from(instance.buffer));
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
        let running = self.activation.is_running(which);
        if !running {
            self.active &= !(1 << which);
        }
        running
    }
}

/// The end of the task that writes.
pub struct Writer<'m, T> {
    activated: &'m AtomicU64,
    jobs: WriterJobs<'m>,
    places: Places<'m, T>,
    shape: Shape,
}

impl<'m, T: Plain> Writer<'m, T> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32) -> Self {
        let activated = memory.word(Layout::ACTIVATED);
        // Relaxed: the last writer has ended before this call.
        let jobs = WriterJobs::attach(memory, activated.load(Relaxed) >> (2 * BITS));
        Self { activated, jobs, places: Layout::places(memory, shape, readers), shape }
    }

    /// The activated job; `None` if all activated jobs are complete. 1 load.
    #[inline]
    pub fn job(&mut self) -> Option<WriterJob<'_, 'm, T>> {
        let word = self.activated.load(Acquire); // O1 assign
        let job = word >> (2 * BITS);
        if job == self.jobs.completed() {
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
        self.writer.jobs.wrote(self.job);
    }

    /// Lets `fill` set the job's value in place: it finds the last value of this job, or else an older one or zeros.
    /// Steps as [`WriterJob::write`].
    #[inline]
    pub fn write_with<R>(&mut self, fill: impl FnOnce(&mut T) -> R) -> R {
        // If `fill` panics, the job has not written.
        self.writer.jobs.begins(self.job);
        // SAFETY: as in `write`; only `fill` has the buffer, while this job holds it.
        let result = unsafe { self.writer.places.lend_mut(self.buffer, fill) };
        self.writer.jobs.wrote(self.job);
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
        let Writer { jobs, places, .. } = &mut *self.writer;
        let (buffer, previous) = (self.buffer, self.previous);
        jobs.complete(self.job, previous != buffer, || {
            let mut value = MaybeUninit::uninit();
            // SAFETY: both indices are below the number of buffers, and a T fits (layout). Nothing writes the
            // previous job's buffer, because this job has another one; this job's buffer is exclusive, as in `write`.
            // `read_into` fills the used bytes of a value.
            unsafe {
                places.read_into(previous, &mut value);
                places.write(buffer, value.assume_init_ref());
            }
        });
    }
}

/// The end of a task that reads.
pub struct Reader<'m, T> {
    jobs: ReaderJobs<'m>,
    places: Places<'m, T>,
    shape: Shape,
    /// The writer's job whose value this reader read last.
    seen: u64,
}

impl<'m, T: Plain> Reader<'m, T> {
    fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32, which: u32) -> Self {
        let (jobs, places) = (ReaderJobs::attach(memory, which), Layout::places(memory, shape, readers));
        Self { jobs, places, shape, seen: 0 }
    }

    /// The activated job; `None` if all activated jobs are complete. 2 loads; 1 if there is none.
    #[inline]
    pub fn job(&mut self) -> Option<ReaderJob<'_, 'm, T>> {
        let (job, what) = self.jobs.activated()?;
        let (version, buffer) = (what >> BITS, buffer(what, self.shape) as usize);
        Some(ReaderJob { reader: self, job, version, buffer, value: Value::of(version) })
    }
}

/// A job of a reader: it reads one value as often as it wants. Dropping the guard completes the job. A guard that
/// ends with [`ReaderJob::go_on`], or is forgotten, leaves the job incomplete, and [`Reader::job`] returns it again.
pub struct ReaderJob<'r, 'm, T> {
    reader: &'r mut Reader<'m, T>,
    job: u64,
    version: u64,
    buffer: usize,
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

    /// Whether there is a value.
    ///
    /// # Errors
    ///
    /// [`NotYet`].
    #[inline]
    fn look(&mut self) -> Result<bool, NotYet> {
        self.value = self.value.look(&self.reader.jobs, self.version);
        if self.value == Value::Unknown { Err(NotYet) } else { Ok(self.value == Value::There) }
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
        self.reader.jobs.complete(self.job);
    }
}

// # Checked
//
// - `tests/flow/reference.rs`: random periodic task sets on one processor and on several, every value compared with an
//   interpreter of the synchronous-reactive semantics; all reachable states with up to 3 readers: the buffers suffice,
//   and one fewer does not
// - `tests/flow/behaviour.rs`: values, errors, successors, spoilt words; also Miri. `tests/flow/steps.rs`: the bounds
// - `tests/flow/stress.rs`: a thread for each end, on a payload that shows tearing; also Miri
// - `tests/flow/deaths.rs`: SIGKILL before every step of every end
// - `tests/fuzzed.rs`: garbage in each word, at each step of dispatcher, writer and readers
// - `tests/flow/printed.rs`: the errors above
//
// `tests/flow/loom.rs`, payload of 2 words, every second job without a write: one reader: 3 activations of the writer
// and 2 of a lower reader, or 5 and 2 of a higher one, with jobs that race with the activations, without preemption
// bound: 1 555 and 6 300 executions; with the writer on a third thread and bound 4: 12 401 and 16 367; a lower and a
// higher reader with bound 2: 41 575. Weakening any of the eight annotations fails there.
//
// Not covered: two readers without a bound on preemptions, and more readers; load buffering (the Releases of O2 and O4
// forbid what it could do to a copy); AArch64 hardware.
