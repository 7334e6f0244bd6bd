// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Channels between the tasks of a run: which job reads the value of which job, and the consequences.
//!
//! [`Flows`] listens to a run of a [`Simulation`], which knows nothing about channels, and records when each job
//! arrived, was released, started and completed. It derives all else from these four instants afterwards: so one run
//! answers for all mechanisms, and a run without channels costs nothing extra.
//!
//! | question | answered by |
//! |---|---|
//! | which job reads what | [`Flows::reads`] |
//! | whether that is what the synchronous-reactive model reads | [`Flows::agreement`] |
//! | how many buffers are in use at once | [`Flows::buffers`] |
//! | how many values wait in a queue, and how many are lost | [`Flows::fill`] |
//! | how old data are at the end of a chain, and how long the chain takes to react | [`Flows::measure`] |
//!
//! A job reads at its first instruction and writes at its last. At one instant the order is: writes, activations
//! (writers first), first instructions. A reader on another core than its writer does not wait for the writer: where
//! a mechanism would make the reader wait, the read is [`Got::NotYet`].

mod buffers;
mod path;
mod queue;
mod reads;
mod record;
mod reference;

use core::fmt;

use taut_model::TaskSet;
use taut_time::Duration;

pub use path::{Measured, Path};
pub use queue::{Fill, OnFull, Queue};
pub use reads::{Got, JobRead};
pub use reference::{Agreement, ReadDifference};

use crate::{Outcome, RulesFault, Scenario, Simulation, Sink};
use record::{Job, Record};

/// A channel that one task writes and others read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowChannel {
    /// The task that writes, in every job: a position in the set.
    pub writer: usize,
    /// The tasks that read, in every job, each listed once. A queue has one.
    pub readers: Vec<usize>,
    /// Which value gets from the writer to the readers, and when.
    pub delivery: Delivery,
}

/// Which value a job reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The newest complete value: state objects that readers sample themselves, whatever protects them.
    Newest(SamplingPoint),
    /// The value that the synchronous-reactive model reads, kept as long as a job reads it: flow-preserving DBP
    /// [Han14, II-C].
    Dbp,
    /// Buffers used in turn, protected by timing alone: TCCP [Han14, II-B and II-C].
    Tccp {
        /// The number of buffers.
        buffers: u64,
        /// Whether activations fix the indices, as in the model; else a job takes the newest complete value at its
        /// first instruction.
        preserving: bool,
    },
    /// Logical execution time: a job reads at its release, and its value appears when the logical execution time is
    /// over. The value of a late job appears when the job completes.
    Logical(Until),
    /// Every value in order.
    Queue(Queue),
}

/// When a job determines which value is newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingPoint {
    /// At its first instruction.
    Start,
    /// At its release.
    Activation,
}

/// A job's logical execution time, from its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// D, the relative deadline.
    Deadline,
    /// T, the period.
    Period,
}

/// Why channels do not fit a set, or a run did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowFault {
    /// There is no such task.
    NoTask {
        /// The channel: a position in the list.
        channel: usize,
    },
    /// A task reads a channel twice, or reads a channel that it writes.
    Twice {
        /// The channel.
        channel: usize,
    },
    /// A queue does not have exactly one reader, or has no room, or a job sends or takes nothing.
    Queue {
        /// The channel.
        channel: usize,
    },
    /// The channel has no buffer.
    NoBuffer {
        /// The channel.
        channel: usize,
    },
    /// Tasks of equal priority read each other's values without a delay: the model cannot order them.
    Loop,
    /// The simulation has another number of tasks than the set of the channels.
    Tasks,
    /// The run may have more jobs than [`JOBS_MAX`], the most that are recorded.
    TooManyJobs,
    /// The simulation cannot run the set.
    Run(RulesFault),
}

/// The most jobs of all tasks in a recorded run.
pub const JOBS_MAX: u64 = 1 << 23;

impl fmt::Display for FlowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTask { channel } => write!(f, "channel {channel} names a task that does not exist"),
            Self::Twice { channel } => write!(f, "channel {channel} has the same task at two ends"),
            Self::Queue { channel } => {
                write!(
                    f,
                    "channel {channel}: a queue needs one reader, a capacity, and counts of values above zero"
                )
            }
            Self::NoBuffer { channel } => write!(f, "channel {channel} has no buffer"),
            Self::Loop => f.write_str("tasks of equal priority read each other's values without a delay"),
            Self::Tasks => {
                f.write_str("the channels were made for another number of tasks than the simulation has")
            }
            Self::TooManyJobs => write!(f, "more than {JOBS_MAX} jobs may arrive"),
            Self::Run(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for FlowFault {}

/// Channels over the tasks of a set, and the record of the last run.
#[derive(Clone, Debug)]
pub struct Flows {
    tasks: Vec<Task>,
    channels: Vec<FlowChannel>,
    /// The tasks in an order in which each comes after the tasks whose values of the same instant it reads.
    order: Vec<usize>,
    record: Record,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    priority: u32,
    period: Duration,
    deadline: Duration,
}

impl Flows {
    /// Checks that the channels fit the set.
    ///
    /// # Errors
    /// The reason why they do not fit.
    pub fn new(set: &TaskSet, channels: Vec<FlowChannel>) -> Result<Self, FlowFault> {
        let count = set.tasks().len();
        for (channel, of) in channels.iter().enumerate() {
            if of.writer >= count || of.readers.iter().any(|reader| *reader >= count) {
                return Err(FlowFault::NoTask { channel });
            }
            let again = |(at, reader): (usize, &usize)| of.readers[..at].contains(reader);
            if of.readers.contains(&of.writer) || of.readers.iter().enumerate().any(again) {
                return Err(FlowFault::Twice { channel });
            }
            match of.delivery {
                Delivery::Queue(queue) if of.readers.len() != 1 || !queue.is_valid() => {
                    return Err(FlowFault::Queue { channel });
                }
                Delivery::Tccp { buffers: 0, .. } => return Err(FlowFault::NoBuffer { channel }),
                _ => {}
            }
        }
        let of = |task: &taut_model::SetTask| Task {
            priority: task.priority,
            period: task.period,
            deadline: task.deadline,
        };
        let tasks: Vec<_> = set.tasks().iter().map(of).collect();
        let order = reference::order(&tasks, &channels).ok_or(FlowFault::Loop)?;
        Ok(Self { order, record: Record::new(count), tasks, channels })
    }

    /// The channels.
    pub fn channels(&self) -> &[FlowChannel] {
        &self.channels
    }

    /// Runs the simulation, records what the channels need, and passes every event to `sink`. Allocates memory for
    /// all jobs before the run starts.
    ///
    /// # Errors
    /// [`FlowFault::Tasks`], [`FlowFault::TooManyJobs`], [`FlowFault::Run`].
    pub fn run<'s>(
        &mut self,
        simulation: &'s mut Simulation,
        scenario: &Scenario,
        sink: &mut impl Sink,
    ) -> Result<&'s Outcome, FlowFault> {
        if simulation.task_count() != self.tasks.len() {
            return Err(FlowFault::Tasks);
        }
        self.record.reset(&self.tasks, scenario)?;
        simulation.run(scenario, &mut record::Both { record: &mut self.record, sink }).map_err(FlowFault::Run)
    }

    /// What each started job of a reader has read, in order; none if there is no such channel or reader.
    pub fn reads(&self, channel: usize, reader: usize) -> Option<Vec<JobRead>> {
        let of = self.channels.get(channel).filter(|of| of.readers.contains(&reader))?;
        let (from, to) = (self.jobs(of.writer), self.jobs(reader));
        let mut found = Vec::with_capacity(to.len());
        reads::each(
            self,
            of,
            reader,
            |_| true,
            |at, got| {
                let got = got.map(|position| from[position].number);
                found.push(JobRead { job: to[at].number, got });
            },
        );
        Some(found)
    }

    fn jobs(&self, task: usize) -> &[Job] {
        self.record.jobs(task)
    }

    /// Whether a reader is more urgent than its writer: then the model has a unit delay between them.
    fn is_above(&self, writer: usize, reader: usize) -> bool {
        is_above(&self.tasks, writer, reader)
    }
}

fn is_above(tasks: &[Task], writer: usize, reader: usize) -> bool {
    tasks[reader].priority > tasks[writer].priority
}
