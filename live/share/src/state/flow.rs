// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Flow preservation: the activation of a job fixes what the job reads, not the time at which it runs.
//!
//! # Use
//! A control model computes, at each instant, all blocks that are due, in the order of their dependencies, in no time
//! (the synchronous-reactive semantics, [Han14, I-B and Fig. 1]). Tasks of a real-time system compute the same only
//! if every job reads the value of the *right instance* of its writer, however late the reader or the writer gets the
//! processor, and the value does not change while the job reads it. Which instance that is depends only on the order
//! of **activations**:
//!
//! | reader                       | reads the value of                                           | in the model     |
//! |------------------------------|--------------------------------------------------------------|------------------|
//! | of lower priority than the writer  | the writer's job that was activated last (LATEST)      | direct feedthrough |
//! | of higher priority than the writer | the job before that one (PREVIOUS)                     | a unit delay     |
//!
//! So there are three ends. The **dispatcher** is called at each activation, in their order; this is the one short
//! critical section that the protocols need (`&mut Dispatcher`), and only a task that is being activated waits for
//! it. The **writer** and the **readers** belong to the tasks. A task asks its end for the activated job and gets a
//! guard. With the guard it writes or reads, as often as it wants, in the buffer that the dispatcher assigned; when
//! the task drops the guard, the job is complete. Two protocols share all this, and differ in one point:
//!
//! | protocol        | protects a value from being overwritten by | buffers                        | a job that runs too long |
//! |-----------------|--------------------------------------------|--------------------------------|--------------------------|
//! | [`super::dbp`]  | recording which reader reads which job     | by the number of readers       | keeps its value; its next activation is refused |
//! | [`super::tccp`] | time                                       | by how long readers' jobs last | gets `Overrun`; its next activation is refused |
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duties of each `writer` ensure it).
//!
//! |                                       | dispatcher's | writer's | a reader's                        |
//! |---------------------------------------|--------------|----------|-----------------------------------|
//! | `activate_…`                          | X            | -        | -                                 |
//! | writer's `job` and its guard          | -            | X        | -                                 |
//! | reader's `job` and its guard          | -            | -        | X by the same reader, - by others |
//!
//! # Progress
//! All wait-free; each protocol has its bounds.
//!
//! # Orderings
//! - O2 publish: Release of the writer's store of `completed` ↔ Acquire of the reader's load.
//! - O3 announce: Release of the store of `announced` ↔ Acquire of the reader's load.
//! - O4 leave: Release of the reader's store of its `completed` ↔ Acquire of the dispatcher's loads.
//!
//! O1 orders a buffer's next write, and is each protocol's own.
//!
//! # Crash
//! | death of                           | what the others see                         | recovery                           |
//! |------------------------------------|---------------------------------------------|------------------------------------|
//! | dispatcher, before its (last) store | nothing                                    | a new `dispatcher` continues there; it does not know the last instant |
//! | dispatcher, after it               | the activation                              | the same                           |
//! | writer, in a job                   | lower readers: `NotYet`; the dispatcher: `Running` | a new `writer` gets the same job, as one that has not written |
//! | reader, in a job                   | the dispatcher: `Running`                   | a new `reader` gets the same job, and the same value (`tccp`: or `Overrun`) |
//!
//! # Source
//! [Han14, II-B and II-C], of which we know only the description: see the protocols.
use core::fmt;

use taut_atomic::{AtomicU64, Claimed, LINE_BYTES};

use crate::Plain;
use crate::places::Places;
use crate::plain::word_bytes;

mod activation;
mod jobs;

pub(super) use activation::Activation;
pub(super) use jobs::{ReaderJobs, Value, WriterJobs};

// # Invariants
//
// - I1 completed ≤ activated jobs ≤ completed + 1, for the writer and each reader.

/// The maximum number of readers of one writer: a set of readers, and a set of buffers, fits in a word.
pub const READERS_MAX: u32 = 62;

/// How many readers of each kind a writer has, and how many buffers.
///
/// Readers have numbers: first those of lower priority than the writer, then those of higher priority.
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
    /// more if there are readers of higher priority, however many. The latter are complete before the writer runs, so
    /// all that are active hold the same old value.
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

    /// The number of all readers; `None` if there are none or too many.
    pub(super) const fn readers(self) -> Option<u32> {
        match self.lower.checked_add(self.higher) {
            Some(readers) if readers > 0 && readers <= READERS_MAX => Some(readers),
            _ => None,
        }
    }
}

/// Why a job was not activated. The object is unchanged.
///
/// The protocols assume the following, and the dispatcher checks it at each activation: a task has one job at a time
/// (deadlines are not after periods); the writer's activation comes before those of its readers at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotActivated {
    /// The task's last job is not complete: it has overrun its period.
    Running,
    /// More readers' jobs are unfinished, with more different values, than the number of buffers allows for.
    NoBuffer,
    /// The activation comes too late: an activation at a later instant has been made, or, for the writer, an
    /// activation of a reader at the same instant.
    OutOfOrder,
    /// There is no reader of that number.
    NoSuchReader,
}

impl fmt::Display for NotActivated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "the task's last job is not complete",
            Self::NoBuffer => "more unfinished jobs hold values than the number of buffers allows",
            Self::OutOfOrder => "a later activation has already been made",
            Self::NoSuchReader => "the writer has no reader with that number",
        })
    }
}

impl core::error::Error for NotActivated {}

/// The writer's job whose value this job reads is not complete. A reader on another processor waits for it.
///
/// On one processor under fixed priorities, a reader of lower priority never runs before its value is complete. On
/// several processors it checks whether the writer's job is complete; if not, its read returns `NotYet`. The caller
/// must then wait, or let the completion activate the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotYet;

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the writer's job is not complete")
    }
}

impl core::error::Error for NotYet {}

/// Bytes before the buffers: the dispatcher's line, the writer's, and a mailbox for each reader.
const fn head_bytes(readers: u32) -> usize {
    (2 + 2 * readers as usize) * LINE_BYTES
}

/// Bytes between buffers: the writer's and a reader's value share no cache line.
const fn stride<T>() -> usize {
    word_bytes::<T>().next_multiple_of(64)
}

/// The offsets of the parts of an object of a given shape.
///
/// # State
///
/// ```text
/// byte 0              activated (the dispatcher's)
/// byte 128            completed, first (the writer's)
/// byte 256 + 256 × i  reader i: announced, what (the dispatcher's)
/// byte 384 + 256 × i  reader i: completed (the reader's)
/// then                buffers, each on cache lines of its own
/// ```
pub(super) struct Layout;

impl Layout {
    pub(super) const ACTIVATED: usize = 0;
    const COMPLETED: usize = LINE_BYTES;
    const FIRST: usize = LINE_BYTES + 8;

    /// Bytes of the whole object; `None` if the size does not fit in `usize`, or the shape has no buffers, no readers
    /// or too many readers.
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
struct Mailbox<'m> {
    /// The dispatcher's: the number of the reader's job that was activated last.
    announced: &'m AtomicU64,
    /// The dispatcher's: what that job reads.
    what: &'m AtomicU64,
    /// The reader's: the number of its job that was completed last.
    completed: &'m AtomicU64,
}

impl<'m> Mailbox<'m> {
    fn new(memory: &Claimed<'m>, which: u32) -> Self {
        let at = head_bytes(which);
        Self {
            announced: memory.word(at),
            what: memory.word(at + 8),
            completed: memory.word(at + LINE_BYTES),
        }
    }
}

// # Checked
//
// With each protocol: `tests/flow` runs both, against one interpreter of the semantics (`tests/flow/reference.rs`).
