// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The synchronous-reactive model [Han14, I-B and Fig. 1]: at each instant all due blocks compute, in the order of
//! their dependencies, in no time.
//!
//! A block here is a task; it is due when its jobs are released. A reader of lower priority than its writer depends
//! on it directly. Between a writer and a more urgent reader is a unit delay, which runs with the writer: at an
//! instant at which the writer is due, the delay outputs the writer's previous value, and keeps it until the writer
//! is due again. The interpreter below knows nothing about buffers or about when jobs run.

use super::{FlowChannel, Flows, Got, JobRead, Task, is_above, reads};
use crate::calendar::NEVER;

/// The reads of a run, compared with those of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// All reads.
    pub reads: u64,
    /// Reads of the same value as in the model.
    pub same: u64,
    /// The first read of another value.
    pub first: Option<ReadDifference>,
}

impl Agreement {
    /// Whether all reads agree.
    pub fn holds(&self) -> bool {
        self.reads == self.same
    }
}

/// A read of another value than the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadDifference {
    /// The read of the run.
    pub read: JobRead,
    /// The writer's job whose value the model reads; none for the initial value.
    pub expected: Option<u64>,
}

impl Flows {
    /// Compares the reads of a reader with those of the model; none if there is no such channel or reader. For
    /// states: the model has no queues.
    pub fn agreement(&self, channel: usize, reader: usize) -> Option<Agreement> {
        let of = self.channels.get(channel).filter(|of| of.readers.contains(&reader))?;
        let expected = self.interpret(of.writer, reader);
        let (from, to) = (self.jobs(of.writer), self.jobs(reader));
        let mut agreement = Agreement::default();
        reads::each(
            self,
            of,
            reader,
            |_| true,
            |at, got| {
                agreement.reads += 1;
                if got == expected[at].map_or(Got::Nothing, Got::Value) {
                    agreement.same += 1;
                } else if agreement.first.is_none() {
                    let number = |position: usize| from[position].number;
                    let read = JobRead { job: to[at].number, got: got.map(number) };
                    agreement.first = Some(ReadDifference { read, expected: expected[at].map(number) });
                }
            },
        );
        Some(agreement)
    }

    /// Runs the model, and returns which job of `writer` each job of `reader` reads.
    fn interpret(&self, writer: usize, reader: usize) -> Vec<Option<usize>> {
        let above = self.is_above(writer, reader);
        let mut expected = Vec::with_capacity(self.jobs(reader).len());
        let mut due = vec![0; self.tasks.len()];
        // The output of the writer's block, and that of the delay behind it.
        let (mut output, mut delayed) = (None, None);
        let release = |task: usize, at: usize| self.jobs(task).get(at).map_or(NEVER, |job| job.release);
        loop {
            let now = [writer, reader].map(|task| release(task, due[task])).into_iter().min();
            let now = now.filter(|now| *now != NEVER);
            let Some(now) = now else { return expected };
            // Delays output their stored values before any block computes.
            let mut at = due[writer];
            let mut kept = output;
            while release(writer, at) == now {
                delayed = kept;
                kept = Some(at);
                at += 1;
            }
            for &task in self.order.iter().filter(|task| [writer, reader].contains(task)) {
                while release(task, due[task]) == now {
                    if task == writer {
                        output = Some(due[task]);
                    } else {
                        expected.push(if above { delayed } else { output });
                    }
                    due[task] += 1;
                }
            }
        }
    }
}

/// The tasks in an order of their direct dependencies; none if these form a loop.
pub(super) fn order(tasks: &[Task], channels: &[FlowChannel]) -> Option<Vec<usize>> {
    let edges = || {
        let of = |channel: &FlowChannel| {
            let writer = channel.writer;
            channel.readers.clone().into_iter().map(move |reader| (writer, reader))
        };
        let states = channels.iter().filter(|channel| !matches!(channel.delivery, super::Delivery::Queue(_)));
        states.flat_map(of).filter(|(writer, reader)| !is_above(tasks, *writer, *reader))
    };
    let mut needs = vec![0; tasks.len()];
    edges().for_each(|(_, reader)| needs[reader] += 1);
    let mut order: Vec<usize> = (0..tasks.len()).filter(|task| needs[*task] == 0).collect();
    let mut next = 0;
    while let Some(&task) = order.get(next) {
        for (_, reader) in edges().filter(|(writer, _)| *writer == task) {
            needs[reader] -= 1;
            if needs[reader] == 0 {
                order.push(reader);
            }
        }
        next += 1;
    }
    (order.len() == tasks.len()).then_some(order)
}
