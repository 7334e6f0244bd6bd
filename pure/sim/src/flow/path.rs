// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Data age and reaction time along a chain of tasks and channels, as observed in a run.
//!
//! Jobs of the first task sample the environment when they arrive; completions of the last task are the outputs. A
//! job's result is as old as the data that the job has read. A job that finds a queue empty writes nothing: its last
//! result stays.

use taut_time::Duration;

use super::{FlowFault, Flows, Got, reads};
use crate::calendar::NEVER;

/// A chain of tasks, each connected to the next by a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The first task: a position in the set.
    pub first: usize,
    /// Each channel, by its position in the list, and the task that reads it.
    pub hops: Vec<(usize, usize)>,
}

/// What a run showed of a chain. A time is none if no data got through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The longest time from the arrival of a sampling job to the last output that uses its sample (last to last).
    pub until_output: Option<Duration>,
    /// The longest time from such an arrival until the next output replaces that output.
    pub until_replaced: Option<Duration>,
    /// The longest time from an event just after a sampling to the first output that reflects it, or something newer
    /// (first to first).
    pub reaction: Option<Duration>,
    /// The same for an event just before a sampling: from a job's arrival to the first output at least as new as its
    /// sample.
    pub reaction_to_arrival: Option<Duration>,
    /// Outputs that use a sample.
    pub outputs: u64,
    /// Reads of values that were not complete or were overwritten. Data that depend on them are not measured.
    pub spoilt: u64,
}

/// The oldest and the newest sample that a value depends on: positions of jobs of the first task.
type Samples = Option<(usize, usize)>;

impl Flows {
    /// Measures along a chain.
    ///
    /// # Errors
    /// [`FlowFault::NoTask`] with the first channel that does not begin at the current task of the chain, or does not
    /// lead to its next one.
    pub fn measure(&self, path: &Path) -> Result<Measured, FlowFault> {
        if path.first >= self.tasks.len() {
            return Err(FlowFault::NoTask { channel: path.hops.first().map_or(0, |hop| hop.0) });
        }
        let mut measured = Measured::default();
        let mut task = path.first;
        let mut samples: Vec<Samples> = (0..self.jobs(task).len()).map(|at| Some((at, at))).collect();
        let mut wrote = vec![true; samples.len()];
        for &(channel, reader) in &path.hops {
            let of = self.channels.get(channel);
            let of = of.filter(|of| of.writer == task && of.readers.contains(&reader));
            let of = of.ok_or(FlowFault::NoTask { channel })?;
            let count = self.jobs(reader).len();
            let mut made: Vec<Samples> = vec![None; count];
            let mut writes = vec![true; count];
            reads::each(
                self,
                of,
                reader,
                |at| wrote[at],
                |at, got| match got {
                    Got::Value(value) => made[at] = samples[value],
                    Got::Several { first, last } => {
                        made[at] = samples[first].zip(samples[last]).map(|(first, last)| (first.0, last.1));
                    }
                    Got::Nothing if matches!(of.delivery, super::Delivery::Queue(_)) => {
                        writes[at] = false;
                        made[at] = at.checked_sub(1).and_then(|before| made[before]);
                    }
                    Got::Nothing => {}
                    Got::NotYet(_) | Got::Overwritten(_) => measured.spoilt += 1,
                },
            );
            (task, samples, wrote) = (reader, made, writes);
        }
        self.output(path.first, task, (&samples, &wrote), &mut measured);
        Ok(measured)
    }

    fn output(&self, first: usize, last: usize, made: (&[Samples], &[bool]), measured: &mut Measured) {
        let (sampled, jobs) = (self.jobs(first), self.jobs(last));
        let longest = |longest: &mut Option<Duration>, from: usize, to: u64| {
            let time = Duration::from_ns(to - sampled[from].arrival);
            *longest = Some(longest.map_or(time, |longest| longest.max(time)));
        };
        // The current output, and the first sample that no output reflects yet.
        let mut there: Samples = None;
        let mut unknown = 0;
        let jobs = jobs.iter().zip(made.0.iter().zip(made.1)).take_while(|(job, _)| job.complete != NEVER);
        for (job, (samples, wrote)) in jobs {
            if !wrote {
                continue;
            }
            if let Some((oldest, _)) = there {
                longest(&mut measured.until_replaced, oldest, job.complete);
            }
            there = *samples;
            let Some((oldest, newest)) = there else { continue };
            measured.outputs += 1;
            longest(&mut measured.until_output, oldest, job.complete);
            if newest >= unknown {
                longest(&mut measured.reaction_to_arrival, unknown, job.complete);
                if let Some(missed) = unknown.max(1).checked_sub(1).filter(|_| newest > 0) {
                    longest(&mut measured.reaction, missed, job.complete);
                }
                unknown = newest + 1;
            }
        }
    }
}
