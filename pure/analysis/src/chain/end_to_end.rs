// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A chain of tasks and channels: what [`super::reaction`] and [`super::data_age`] look at.
//!
//! The first task samples the outside, the last one's completion is the output. Tasks may be on any cores; what is
//! known of a task is when its jobs arrive and how long they take at most, however that was proven. A job that has
//! nothing to write leaves the value that was there.

use taut_time::Duration;

use crate::queue;

/// A task of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// When its jobs arrive.
    pub arrivals: Arrivals,
    /// T: the period, or the least time between arrivals.
    pub period: Duration,
    /// R: the longest time from an arrival to the completion, release jitter and all waiting included.
    pub response: Duration,
    /// J: the longest time from an arrival to the release, which is when what a job reads is fixed where flows are
    /// preserved; at most R.
    pub jitter: Duration,
}

/// When a task's jobs arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Exactly every T.
    Periodic,
    /// T or more apart: released by a queue, or, as the first of a chain, by the very event that is looked at.
    Sporadic,
}

/// What lies between two tasks of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The latest value.
    State(Reading),
    /// Every value, in order, and never found full.
    Queue {
        /// n: values sent per job.
        sends: u32,
        /// m: values taken per job.
        takes: u32,
        /// Whether the queue releases its reader.
        triggered: bool,
    },
}

/// Which value of a state a job reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The newest while it runs, at any time.
    Newest,
    /// The newest while it runs, on one core with the writer, by fixed priorities, the writer more urgent and never
    /// suspended by itself: whoever starts behind the writer's release reads what that job writes.
    NewestBelowWriter,
    /// That of the writer's job that was activated last at its own activation: a flow is preserved, with direct
    /// feedthrough.
    Preserved,
    /// That of the writer's job before that one: a flow is preserved, with a unit delay.
    PreservedDelayed,
}

/// A channel and the task that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The channel.
    pub channel: Channel,
    /// Its reader.
    pub reader: Task,
}

/// The ends of a queue as [`queue`] wants them.
pub(super) fn ends(
    writer: &Task,
    reader: &Task,
    channel: (u32, u32, bool),
) -> (queue::Writer, queue::Reader) {
    let (sends, takes, triggered) = channel;
    (
        queue::Writer { period: writer.period, response: writer.response, sends },
        queue::Reader { period: reader.period, response: reader.response, takes, triggered },
    )
}
