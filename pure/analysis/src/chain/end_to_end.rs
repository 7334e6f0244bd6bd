// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A chain of tasks and channels: the input of [`super::reaction`] and [`super::data_age`].
//!
//! The first task samples the environment; the completion of the last task is the output. Tasks may be on any cores.
//! A task is described by when its jobs arrive and how long they take at most, however that was proven. A job that
//! has nothing to write leaves the old value in place.

use taut_model::ArrivalPattern;
use taut_time::Duration;

use crate::queue;

/// A task of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainTask {
    /// When its jobs arrive.
    pub arrivals: ArrivalPattern,
    /// T: the period, or the least time between arrivals.
    pub period: Duration,
    /// R: the longest time from an arrival to the completion, release jitter and all waiting included.
    pub response: Duration,
    /// J: the longest time from an arrival to the release; in a preserved flow the release fixes what a job reads. At
    /// most R.
    pub jitter: Duration,
}

/// The channel between two tasks of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainChannel {
    /// The latest value.
    State(Reading),
    /// Every value, in order; the queue is never full.
    Queue {
        /// n: values sent per job.
        sends: u32,
        /// m: values taken per job.
        takes: u32,
        /// Whether the queue releases its reader.
        triggered: bool,
    },
    /// Every value of one sender of a message.
    Message {
        /// From a send to the arrival of the receiver's job that takes the value: [`queue::lanes`].
        wait: Duration,
    },
}

/// Which value of a state a job reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The newest at any time while the job runs.
    Newest,
    /// The newest while the job runs. Reader and writer are on one core with fixed priorities; the writer is more
    /// urgent and never suspends itself. So a job that starts after a release of the writer reads what that writer's
    /// job writes.
    NewestBelowWriter,
    /// The value of the writer's job that was activated last at the reader's own activation: a flow is preserved,
    /// with direct feedthrough.
    Preserved,
    /// The value of the writer's job before that one: a flow is preserved, with a unit delay.
    PreservedDelayed,
}

/// A channel and the task that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The channel.
    pub channel: ChainChannel,
    /// Its reader.
    pub reader: ChainTask,
}

/// The ends of a queue, as types of [`queue`].
pub(super) fn ends(
    writer: &ChainTask,
    reader: &ChainTask,
    channel: (u32, u32, bool),
) -> (queue::SendingTask, queue::TakingTask) {
    let (sends, takes, triggered) = channel;
    (
        queue::SendingTask { period: writer.period, response: writer.response, sends },
        queue::TakingTask { period: reader.period, response: reader.response, takes, triggered },
    )
}
