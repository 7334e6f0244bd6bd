// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A queue: every value, in order, for one reader.

use std::collections::VecDeque;

use super::record::Job;
use super::{Delivery, Flows, Got};
use crate::calendar::NEVER;

/// A queue's parameters. A job sends when it completes, and takes what is there when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The most values that may wait.
    pub capacity: usize,
    /// Values sent per job.
    pub sends: u32,
    /// Values taken per job at most.
    pub takes: u32,
    /// What happens to a value that finds no room.
    pub full: OnFull,
}

/// What happens when there is no room for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// The new value is lost.
    Refuse,
    /// The oldest value is lost.
    Replace,
}

/// How full a queue was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// The most values that waited at once.
    pub most: usize,
    /// Values that were lost.
    pub lost: u64,
    /// Jobs of the reader that found it empty.
    pub empty: u64,
}

impl Queue {
    pub(super) fn is_valid(self) -> bool {
        self.capacity > 0 && self.sends > 0 && self.takes > 0
    }
}

impl Flows {
    /// How full a queue was; none if the channel is not a queue.
    pub fn fill(&self, channel: usize) -> Option<Fill> {
        let of = self.channels.get(channel)?;
        let Delivery::Queue(queue) = of.delivery else { return None };
        Some(run(queue, self.jobs(of.writer), self.jobs(of.readers[0]), |_| true, |_, _| {}))
    }
}

pub(super) fn run(
    queue: Queue,
    from: &[Job],
    to: &[Job],
    wrote: impl Fn(usize) -> bool,
    mut found: impl FnMut(usize, Got<usize>),
) -> Fill {
    let mut fill = Fill::default();
    let mut waiting = VecDeque::new();
    let mut sent = 0;
    let mut send = |until: u64, waiting: &mut VecDeque<usize>, fill: &mut Fill| {
        while let Some(job) = from.get(sent).filter(|job| job.complete <= until && job.complete != NEVER) {
            debug_assert!(job.release <= job.complete);
            let values = if wrote(sent) { queue.sends } else { 0 };
            for _ in 0..values {
                let is_full = waiting.len() == queue.capacity;
                fill.lost += u64::from(is_full);
                match queue.full {
                    OnFull::Refuse if is_full => continue,
                    OnFull::Replace if is_full => _ = waiting.pop_front(),
                    _ => {}
                }
                waiting.push_back(sent);
            }
            fill.most = fill.most.max(waiting.len());
            sent += 1;
        }
    };
    for (at, job) in to.iter().enumerate().filter(|(_, job)| job.start != NEVER) {
        send(job.start, &mut waiting, &mut fill);
        let taken = waiting.len().min(queue.takes as usize);
        let mut values = waiting.drain(..taken);
        let got = match (values.next(), values.next_back()) {
            (None, _) => Got::Nothing,
            (Some(first), Some(last)) => Got::Several { first, last },
            (Some(only), None) => Got::Value(only),
        };
        fill.empty += u64::from(got == Got::Nothing);
        found(at, got);
    }
    send(NEVER, &mut waiting, &mut fill);
    fill
}
