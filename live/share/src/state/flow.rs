// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Flow preservation: what jobs read is fixed when they are activated, not when they run.
//!
//! A control model computes, at each instant, all blocks that are due, in the order of their dependencies, in no time
//! (the synchronous-reactive semantics, [Han14, I-B and Fig. 1]). Tasks of a real-time system compute the same only
//! if every job reads the value of the *right instance* of its writer, however late either of them gets the
//! processor, and reads that value to its end. Which instance that is depends on the order of **activations** alone:
//!
//! | reader                       | reads the value of                                           | in the model     |
//! |------------------------------|--------------------------------------------------------------|------------------|
//! | of lower priority than the writer  | the writer's job that was activated last (LATEST)      | direct feedthrough |
//! | of higher priority than the writer | the job before that one (PREVIOUS)                     | a unit delay     |
//!
//! So there are three ends. The **dispatcher** is called at each activation, in their order; this is the one short
//! critical section that the protocols need (`&mut Dispatcher`), and nobody waits for it who is not activated. The
//! **writer** and the **readers** belong to the tasks. They ask their end for the job that has been activated and get
//! a guard, by which they write or read where the dispatcher said, as often as they want; when it is dropped, the
//! job is complete.
//!
//! | protocol        | protects a value from being overwritten by | buffers                        | a job that runs too long |
//! |-----------------|--------------------------------------------|--------------------------------|--------------------------|
//! | [`super::dbp`]  | remembering who reads what                 | by the number of readers       | keeps its value; its next activation is refused |
//! | [`super::tccp`] | time                                       | by how long readers' jobs last | is told `Overrun`; the same |
//!
//! Assumed, and checked at each activation: a task has one job at a time (deadlines are not after periods); the
//! writer's activation comes before those of its readers of the same instant. On one processor under fixed
//! priorities, a reader of lower priority never runs before its value is there; on several it looks for the writer's
//! completion, and is told `NotYet`. It is for the caller to wait, or to let the completion activate the reader.
//!
//! ```
//! use taut_share::state::dbp::{self, NotYet, Shape};
//! use taut_share::{Line, Memory};
//!
//! // A display of lower priority than the sensor's task, and a controller of higher.
//! let shape = Shape::one_processor(1, 1);
//! let mut lines = [const { Line::new() }; 8];
//! let (mut dispatcher, mut sensor, mut readers) = dbp::group::<[f32; 2]>(Memory::new(&mut lines), shape)?;
//! let (mut display, mut controller) = (readers.next().expect("lower"), readers.next().expect("higher"));
//!
//! for (at_ns, value) in [(0, [0.5, 1.0]), (1_000_000, [0.6, 1.1])] {
//!     dispatcher.activate_writer(at_ns)?;
//!     let mut job = sensor.job().expect("activated");
//!     job.write(&value);
//! }
//! dispatcher.activate_reader(0, 1_000_000)?;
//! dispatcher.activate_reader(1, 1_000_000)?;
//! let (mut shown, mut controlled) = (display.job().expect("activated"), controller.job().expect("activated"));
//! // Whatever is activated meanwhile.
//! dispatcher.activate_writer(2_000_000)?;
//! assert_eq!(shown.read(), Ok(Some([0.6, 1.1])));
//! assert_eq!(controlled.read(), Ok(Some([0.5, 1.0])));
//! drop(shown);
//!
//! // The sensor's job is not complete: there is nothing to show yet.
//! dispatcher.activate_reader(0, 2_000_000)?;
//! let mut shown = display.job().expect("activated");
//! assert_eq!(shown.read(), Err(NotYet));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An end is one, has one job at a time, and is not shared:
//!
//! ```compile_fail,E0499
//! # use taut_share::{Line, Memory, state::dbp::{self, Shape}};
//! # let mut lines = [const { Line::new() }; 8];
//! # let (_, mut writer, _) = dbp::group::<u64>(Memory::new(&mut lines), Shape::one_processor(1, 1)).unwrap();
//! let one = writer.job();
//! let another = writer.job();
//! drop(one);
//! ```
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::dbp::{self, Shape}};
//! # let mut lines = [const { Line::new() }; 8];
//! # let (dispatcher, _, _) = dbp::group::<u64>(Memory::new(&mut lines), Shape::one_processor(1, 1)).unwrap();
//! let another = dispatcher.clone();
//! ```
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::tccp::{self, Shape}};
//! # let shape = Shape { lower: 1, higher: 1, buffers: 4 };
//! # let mut lines = [const { Line::new() }; 8];
//! # let (_, _, mut readers) = tccp::group::<u64>(Memory::new(&mut lines), shape).unwrap();
//! let another = readers.next().unwrap().clone();
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::dbp::{self, Shape}};
//! fn shared<T: Sync>(_: &T) {}
//! # let mut lines = [const { Line::new() }; 8];
//! # let (dispatcher, _, _) = dbp::group::<u64>(Memory::new(&mut lines), Shape::one_processor(1, 1)).unwrap();
//! shared(&dispatcher);
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::tccp::{self, Shape}};
//! fn shared<T: Sync>(_: &T) {}
//! # let shape = Shape { lower: 1, higher: 1, buffers: 4 };
//! # let mut lines = [const { Line::new() }; 8];
//! # let (_, writer, _) = tccp::group::<u64>(Memory::new(&mut lines), shape).unwrap();
//! shared(&writer);
//! ```
//! ```
//! # use taut_share::{Line, Memory, state::dbp::{self, Shape}};
//! fn moved<T: Send>(_: T) {}
//! # let mut lines = [const { Line::new() }; 8];
//! # let (dispatcher, writer, mut readers) =
//! #     dbp::group::<u64>(Memory::new(&mut lines), Shape::one_processor(1, 1)).unwrap();
//! moved(readers.next().unwrap());
//! moved((dispatcher, writer, readers));
//! ```

use core::fmt;

use taut_atomic::{AtomicU64, Claimed, LINE_BYTES};

use crate::Plain;
use crate::places::Places;
use crate::plain::word_bytes;

/// Most readers of one writer: what is held of them, and of the buffers, fits in a word.
pub const READERS_MAX: u32 = 62;

/// How many readers of which kind a writer has, and its buffers.
///
/// Readers are numbered: first those of lower priority than the writer, then those of higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Readers of lower priority than the writer.
    pub lower: u32,
    /// Readers of higher priority than the writer, which read with a unit delay.
    pub higher: u32,
    /// Buffers for values.
    pub buffers: u32,
}

impl Shape {
    /// For [`super::dbp`], all tasks on one processor under preemptive fixed priorities: `lower` + 1 buffers, and 2
    /// more if there are readers of higher priority, however many. Those are complete before the writer runs, so all
    /// that are active hold the same old value.
    pub const fn one_processor(lower: u32, higher: u32) -> Self {
        let buffers = if higher == 0 { 1 } else { 3 };
        Self { lower, higher, buffers: lower.saturating_add(buffers) }
    }

    /// For [`super::dbp`], tasks on several processors or under any other scheduler: `lower` + 1 buffers, and
    /// `higher` + 1 more if there are readers of higher priority.
    pub const fn several_processors(lower: u32, higher: u32) -> Self {
        let buffers = if higher == 0 { 1 } else { higher.saturating_add(2) };
        Self { lower, higher, buffers: lower.saturating_add(buffers) }
    }

    /// All readers; `None` if they are none or too many.
    pub(super) const fn readers(self) -> Option<u32> {
        match self.lower.checked_add(self.higher) {
            Some(readers) if readers > 0 && readers <= READERS_MAX => Some(readers),
            _ => None,
        }
    }
}

/// Why a job was not activated. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotActivated {
    /// The task's last job is not complete: it has overrun its period.
    Running,
    /// Of the readers' jobs more are unfinished, with more different values, than the buffers were counted for.
    NoBuffer,
    /// It comes too late: an activation of a later instant has been made, or for the writer one of a reader of the
    /// same instant.
    OutOfOrder,
    /// There is no reader of that number.
    NoSuchReader,
}

impl fmt::Display for NotActivated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "the task's last job is not complete",
            Self::NoBuffer => "more unfinished jobs hold values than the buffers were counted for",
            Self::OutOfOrder => "an activation that must come after this one has been made",
            Self::NoSuchReader => "the writer has no reader of that number",
        })
    }
}

impl core::error::Error for NotActivated {}

/// The writer's job whose value this job reads is not complete. A reader on another processor waits for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotYet;

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the writer's job is not complete")
    }
}

impl core::error::Error for NotYet {}

/// The order of activations that preserves the flow.
#[derive(Default)]
pub(super) struct Instants {
    /// The last one, in nanoseconds of any clock.
    last: u64,
    /// Whether a reader was activated there.
    reader: bool,
}

impl Instants {
    /// Whether the writer's activation may come now.
    pub(super) fn admit_writer(&self, at_ns: u64) -> Result<(), NotActivated> {
        let late = at_ns < self.last || (at_ns == self.last && self.reader);
        if late { Err(NotActivated::OutOfOrder) } else { Ok(()) }
    }

    /// Whether a reader's may.
    pub(super) fn admit_reader(&self, at_ns: u64) -> Result<(), NotActivated> {
        if at_ns < self.last { Err(NotActivated::OutOfOrder) } else { Ok(()) }
    }

    /// It came.
    pub(super) fn pass(&mut self, at_ns: u64, reader: bool) {
        self.reader = reader || (self.reader && at_ns == self.last);
        self.last = at_ns;
    }
}

/// Bytes before the buffers: the dispatcher's line, the writer's, and a mailbox for each reader.
const fn head_bytes(readers: u32) -> usize {
    (2 + 2 * readers as usize) * LINE_BYTES
}

/// Bytes between buffers: the writer's and a reader's value share no cache line.
const fn stride<T>() -> usize {
    word_bytes::<T>().next_multiple_of(64)
}

/// Where an object of some shape has its parts.
///
/// ```text
/// byte 0              activated (the dispatcher's)
/// byte 128            completed, first (the writer's)
/// byte 256 + 256 × i  reader i: told, what (the dispatcher's)
/// byte 384 + 256 × i  reader i: completed (the reader's)
/// then                buffers, each on cache lines of its own
/// ```
pub(super) struct Layout;

impl Layout {
    pub(super) const ACTIVATED: usize = 0;
    pub(super) const COMPLETED: usize = LINE_BYTES;
    pub(super) const FIRST: usize = LINE_BYTES + 8;

    /// Bytes of the whole object; `None` if that is not a number, or the shape has no buffers, no or too many readers.
    pub(super) const fn bytes<T: Plain>(shape: Shape) -> Option<usize> {
        if shape.buffers == 0 {
            return None;
        }
        let Some(readers) = shape.readers() else { return None };
        let Some(buffers) = stride::<T>().checked_mul(shape.buffers as usize) else { return None };
        let Some(buffers) = buffers.checked_next_multiple_of(LINE_BYTES) else { return None };
        buffers.checked_add(head_bytes(readers))
    }

    /// The buffers.
    pub(super) fn places<'m, T: Plain>(memory: &Claimed<'m>, shape: Shape, readers: u32) -> Places<'m, T> {
        Places::new(memory, head_bytes(readers), stride::<T>(), shape.buffers as usize)
    }
}

/// The words between the dispatcher and one reader.
#[derive(Clone, Copy)]
pub(super) struct Mailbox<'m> {
    /// The dispatcher's: the number of the reader's job that was activated last.
    pub(super) told: &'m AtomicU64,
    /// The dispatcher's: what that job reads.
    pub(super) what: &'m AtomicU64,
    /// The reader's: the number of its job that was completed last.
    pub(super) completed: &'m AtomicU64,
}

impl<'m> Mailbox<'m> {
    pub(super) fn new(memory: &Claimed<'m>, which: u32) -> Self {
        let at = head_bytes(which);
        Self { told: memory.word(at), what: memory.word(at + 8), completed: memory.word(at + LINE_BYTES) }
    }
}
