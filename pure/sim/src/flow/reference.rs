// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The synchronous-reactive model [Han14, I-B and Fig. 1]: at each instant all blocks that are due compute, in the
//! order of their dependencies, in no time.
//!
//! A block here is a task, due when its jobs are released. A reader of lower priority than its writer depends on it
//! directly; between a writer and a more urgent reader is a unit delay, which runs with the writer: at an instant at
//! which the writer is due, it gives what the writer gave the time before, and keeps that until the writer is due
//! again. The interpreter below knows nothing of buffers and nothing of when jobs run.

use super::{Channel, Flows, Got, Read, Task, is_above, reads};
use crate::calendar::NEVER;

/// What a run read against what the model reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Reads in all.
    pub reads: u64,
    /// Of these, of the same value.
    pub same: u64,
    /// The first that is not.
    pub first: Option<Difference>,
}

impl Agreement {
    /// Whether all are.
    pub fn holds(&self) -> bool {
        self.reads == self.same
    }
}

/// A read of another value than the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What was read.
    pub read: Read,
    /// The writer's job that the model reads; none for what was there before the first.
    pub expected: Option<u64>,
}

impl Flows {
    /// Compares what a reader has read with what the model reads; none if there is no such channel or reader. For
    /// states: a queue is no part of the model.
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
                    let read = Read { job: to[at].number, got: got.map(number) };
                    agreement.first = Some(Difference { read, expected: expected[at].map(number) });
                }
            },
        );
        Some(agreement)
    }

    /// Runs the model, and says which job of `writer` each job of `reader` reads.
    fn interpret(&self, writer: usize, reader: usize) -> Vec<Option<usize>> {
        let above = self.is_above(writer, reader);
        let mut expected = Vec::with_capacity(self.jobs(reader).len());
        let mut due = vec![0; self.tasks.len()];
        // What the writer's block gives, and the delay behind it.
        let (mut output, mut delayed) = (None, None);
        let release = |task: usize, at: usize| self.jobs(task).get(at).map_or(NEVER, |job| job.release);
        loop {
            let now = [writer, reader].map(|task| release(task, due[task])).into_iter().min();
            let now = now.filter(|now| *now != NEVER);
            let Some(now) = now else { return expected };
            // Delays give what they have kept before anything computes.
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

/// Tasks in an order of their direct dependencies; none if there is a loop of them.
pub(super) fn order(tasks: &[Task], channels: &[Channel]) -> Option<Vec<usize>> {
    let edges = || {
        let of = |channel: &Channel| {
            let writer = channel.writer;
            channel.readers.clone().into_iter().map(move |reader| (writer, reader))
        };
        let states =
            channels.iter().filter(|channel| !matches!(channel.mechanism, super::Mechanism::Queue(_)));
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
