// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which job reads which value: one pass over the jobs of both tasks.

use taut_time::Duration;

use super::record::{Job, Passed};
use super::{Delivery, FlowChannel, Flows, SamplingPoint, Until, queue};
use crate::calendar::NEVER;

/// What a job has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRead {
    /// The reader's job, numbered as in [`crate::SimEvent::job`].
    pub job: u64,
    /// What it got, with the writer's jobs numbered in the same way.
    pub got: Got<u64>,
}

/// What a read returned. `J` identifies a job of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got<J> {
    /// The initial value; for a queue, that it was empty.
    Nothing,
    /// A value.
    Value(J),
    /// Several values of a queue, in order, from one job's to another's.
    Several {
        /// The oldest.
        first: J,
        /// The newest.
        last: J,
    },
    /// That job's value, which was not complete when the reader started: the reader would have to wait.
    NotYet(J),
    /// That job's value, which another value overwrote before the reader completed.
    Overwritten(J),
}

impl<J> Got<J> {
    pub(super) fn map<K>(self, f: impl Fn(J) -> K) -> Got<K> {
        match self {
            Self::Nothing => Got::Nothing,
            Self::Value(job) => Got::Value(f(job)),
            Self::Several { first, last } => Got::Several { first: f(first), last: f(last) },
            Self::NotYet(job) => Got::NotYet(f(job)),
            Self::Overwritten(job) => Got::Overwritten(f(job)),
        }
    }
}

/// Reports to `found` what each started job of a reader has read, by positions among the released jobs of both tasks.
/// `wrote` says whether a job of the writer sends something; it matters for queues only, as a job that does not write
/// leaves a state unchanged.
pub(super) fn each(
    flows: &Flows,
    channel: &FlowChannel,
    reader: usize,
    wrote: impl Fn(usize) -> bool,
    found: impl FnMut(usize, Got<usize>),
) {
    let (from, to) = (flows.jobs(channel.writer), flows.jobs(reader));
    match channel.delivery {
        Delivery::Newest(sample) => newest(from, to, sample, found),
        Delivery::Dbp => {
            preserving(from, to, flows.is_above(channel.writer, reader), None, found);
        }
        Delivery::Tccp { preserving: true, buffers } => {
            preserving(from, to, flows.is_above(channel.writer, reader), Some(buffers), found);
        }
        Delivery::Tccp { buffers, preserving: false } => complete_at_start(from, to, buffers, found),
        Delivery::Logical(until) => {
            let task = &flows.tasks[channel.writer];
            let lasts = match until {
                Until::Deadline => task.deadline,
                Until::Period => task.period,
            };
            logical(from, to, lasts, found);
        }
        Delivery::Queue(queue) => {
            queue::run(queue, from, to, wrote, found);
        }
    }
}

/// The jobs that have started, with their positions.
fn started(to: &[Job]) -> impl Iterator<Item = (usize, &Job)> {
    to.iter().enumerate().filter(|(_, job)| job.start != NEVER)
}

/// The last of `count` values.
fn last(count: usize) -> Got<usize> {
    count.checked_sub(1).map_or(Got::Nothing, Got::Value)
}

/// The value of the last job that is complete when the reader samples it.
fn newest(from: &[Job], to: &[Job], sample: SamplingPoint, mut found: impl FnMut(usize, Got<usize>)) {
    let mut complete = Passed::new(from, |job| job.complete);
    for (at, job) in started(to) {
        let now = if sample == SamplingPoint::Start { job.start } else { job.release };
        found(at, last(complete.by(now)));
    }
}

/// The value of the last job that is released with the reader or before it: of the one before, with a unit delay.
/// `buffers` is the number of buffers that the writer uses in turn, if a value can be overwritten.
fn preserving(
    from: &[Job],
    to: &[Job],
    has_unit_delay: bool,
    buffers: Option<u64>,
    mut found: impl FnMut(usize, Got<usize>),
) {
    let mut activated = Passed::new(from, |job| job.release);
    for (at, job) in started(to) {
        let got = match last(activated.by(job.release).saturating_sub(has_unit_delay.into())) {
            Got::Value(value) if from[value].complete > job.start => Got::NotYet(value),
            Got::Value(value) => {
                let next = buffers.and_then(|buffers| behind(value, buffers)).and_then(|at| from.get(at));
                match next {
                    Some(next) if next.release < job.complete => Got::Overwritten(value),
                    _ => Got::Value(value),
                }
            }
            other => other,
        };
        found(at, got);
    }
}

/// The value of the last job that is complete when the reader starts, from one of the `buffers` that the writer uses
/// in turn.
fn complete_at_start(from: &[Job], to: &[Job], buffers: u64, mut found: impl FnMut(usize, Got<usize>)) {
    let mut complete = Passed::new(from, |job| job.complete);
    for (at, job) in started(to) {
        let got = match last(complete.by(job.start)) {
            Got::Value(value) => match behind(value, buffers).and_then(|at| from.get(at)) {
                Some(next) if next.start < job.complete => Got::Overwritten(value),
                _ => Got::Value(value),
            },
            other => other,
        };
        found(at, got);
    }
}

/// The value of the last job whose logical execution time is over when the reader is released; a job's lasts so long
/// after its arrival, and until the job is complete.
fn logical(from: &[Job], to: &[Job], lasts: Duration, mut found: impl FnMut(usize, Got<usize>)) {
    let mut visible = Passed::new(from, |job| job.arrival.saturating_add(lasts.as_ns()).max(job.complete));
    for (at, job) in started(to) {
        found(at, last(visible.by(job.release)));
    }
}

/// The job that next writes the same buffer.
fn behind(value: usize, buffers: u64) -> Option<usize> {
    value.checked_add(usize::try_from(buffers).ok()?)
}
