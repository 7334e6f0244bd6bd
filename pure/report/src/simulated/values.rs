// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Adds the values that jobs of a run exchanged.

use std::collections::BTreeSet;

use taut_sim::flow::{Flows, Got};

use super::Simulated;
use crate::tracks::{Task, Value, Work};

impl Simulated {
    /// Adds the reads that `flows` noted in the run: `names` are those of its channels, each with its position in the
    /// plan. A value leaves where its writer completes, and arrives where its reader starts.
    pub fn values(&mut self, flows: &Flows, names: &[(usize, &str)]) {
        let mut values = Vec::new();
        for (at, (channel, &(position, name))) in flows.channels().iter().zip(names).enumerate() {
            let mut received = BTreeSet::new();
            let value = |at, task, sequence, sent, joined| Value {
                at,
                task,
                channel: position,
                name: name.to_owned(),
                sequence,
                sent,
                joined,
            };
            let (Some(writer), readers) = (self.tasks.get(channel.writer), &channel.readers) else {
                continue;
            };
            let sent = |job: u64| find(&self.tracks.tasks[writer.track], job).is_some();
            for &reader in readers {
                let Some(track) = self.tasks.get(reader).map(|task| task.track) else { continue };
                for read in flows.reads(at, reader).unwrap_or_default() {
                    let Some(work) = find(&self.tracks.tasks[track], read.job) else { continue };
                    let (first, last) = match read.got {
                        Got::Value(job) => (job, job),
                        Got::Several { first, last } => (first, last),
                        Got::Nothing | Got::NotYet(_) | Got::Overwritten(_) => continue,
                    };
                    for job in (first..=last).filter(|&job| sent(job)) {
                        received.insert(job);
                        values.push(value(work.job.start, track, job, false, true));
                    }
                }
            }
            for work in &self.tracks.tasks[writer.track].jobs {
                let job = work.job.number;
                let joined = received.contains(&job);
                values.push(value(work.job.complete, writer.track, job, true, joined));
            }
        }
        values.sort_by_key(|value| (value.at, !value.sent));
        self.tracks.values = values;
    }
}

/// A complete job by its number.
fn find(task: &Task, job: u64) -> Option<&Work> {
    let at = task.jobs.binary_search_by_key(&job, |work| work.job.number).ok()?;
    task.jobs.get(at)
}
