// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How many buffers a run needs at once.
//!
//! The initial value takes a buffer too. At one instant, completions come before beginnings.

use super::record::{Job, Passed};
use super::{Delivery, Flows, Got, SamplingPoint, reads};
use crate::calendar::NEVER;

/// The initial value.
const INITIAL: usize = usize::MAX;

/// In the order in which steps of one instant happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A reader's job completes and gives up the value that it held.
    Leaves(usize),
    /// A job of the writer completes.
    Wrote(usize),
    /// A job of the writer begins: at its activation where the mechanism preserves flows, else when it starts.
    Writes(usize),
    /// A reader's job begins and holds this value.
    Holds(usize),
}

impl Flows {
    /// The largest number of buffers in use at once: buffers that a reader reads or may still read, or that the
    /// writer writes. Known for a state object whose readers sample at their first instruction (DBP), for
    /// flow-preserving DBP, and for TCCP, where it counts the buffers, in turn, from the oldest that is read to the
    /// newest that is written. None for other mechanisms, and if there is no such channel.
    pub fn buffers(&self, channel: usize) -> Option<u64> {
        let of = self.channels.get(channel)?;
        let from = self.jobs(of.writer);
        match of.delivery {
            Delivery::Dbp => Some(self.held(channel, true)),
            Delivery::Newest(SamplingPoint::Start) => Some(self.held(channel, false)),
            Delivery::Tccp { preserving: true, .. } => {
                let in_turn = |reader| self.in_turn(channel, reader, |job| job.release);
                Some(of.readers.iter().map(|reader| in_turn(*reader)).max().unwrap_or(1))
            }
            Delivery::Tccp { preserving: false, .. } => {
                let in_turn = |reader| self.in_turn(channel, reader, |job| job.start);
                let read = of.readers.iter().map(|reader| in_turn(*reader)).max().unwrap_or(1);
                // The newest stays where it is while the next one is written.
                Some(read.max(if from.len() > 1 { 2 } else { 1 }))
            }
            _ => None,
        }
    }

    /// The most values from the one that a reader's job holds to the last one begun before that job completes.
    fn in_turn(&self, channel: usize, reader: usize, begin: impl Fn(&Job) -> u64) -> u64 {
        let of = &self.channels[channel];
        let to = self.jobs(reader);
        let mut begun = Passed::new(self.jobs(of.writer), begin);
        let mut most = 1;
        reads::each(
            self,
            of,
            reader,
            |_| true,
            |at, got| {
                if let (Some(held), true) = (position(got), to[at].complete != NEVER) {
                    most = most.max(begun.by(to[at].complete - 1).saturating_sub(held) as u64);
                }
            },
        );
        most
    }

    fn held(&self, channel: usize, preserving: bool) -> u64 {
        let of = &self.channels[channel];
        let mut steps: Vec<(u64, Step)> = Vec::new();
        for (at, job) in self.jobs(of.writer).iter().enumerate() {
            steps.push((if preserving { job.release } else { job.start }, Step::Writes(at)));
            steps.push((job.complete, Step::Wrote(at)));
        }
        let mut above = false;
        for &reader in &of.readers {
            above |= self.is_above(of.writer, reader);
            let to = self.jobs(reader);
            reads::each(
                self,
                of,
                reader,
                |_| true,
                |at, got| {
                    let held = position(got).unwrap_or(INITIAL);
                    steps.push((if preserving { to[at].release } else { to[at].start }, Step::Holds(held)));
                    steps.push((to[at].complete, Step::Leaves(held)));
                },
            );
        }
        steps.retain(|(time, _)| *time != NEVER);
        steps.sort_unstable();
        let (mut latest, mut previous, mut writing) = (INITIAL, INITIAL, None);
        let mut held: Vec<usize> = Vec::with_capacity(of.readers.len() * 2);
        let mut different: Vec<usize> = Vec::with_capacity(of.readers.len() * 2 + 3);
        let mut most = 1;
        for (_, step) in steps {
            match step {
                Step::Leaves(value) => {
                    let place = held.iter().position(|other| *other == value);
                    if let Some(place) = place {
                        held.swap_remove(place);
                    }
                    continue;
                }
                Step::Holds(value) => held.push(value),
                Step::Writes(value) if preserving => (previous, latest) = (latest, value),
                Step::Wrote(_) if preserving => continue,
                Step::Writes(value) => writing = Some(value),
                Step::Wrote(value) => (latest, writing) = (value, None),
            }
            different.clear();
            different.extend_from_slice(&held);
            different.push(latest);
            different.extend(writing);
            different.extend((preserving && above).then_some(previous));
            different.sort_unstable();
            different.dedup();
            most = most.max(different.len());
        }
        most as u64
    }
}

fn position(got: Got<usize>) -> Option<usize> {
    match got {
        Got::Nothing => None,
        Got::Value(at) | Got::NotYet(at) | Got::Overwritten(at) | Got::Several { first: at, .. } => Some(at),
    }
}
