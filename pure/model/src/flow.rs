// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Synchronous flows: who reads whom without a delay, and what an application is with the waits that follow from it.

use taut_time::Duration;

use crate::{ChannelId, Flow, Model, Party, TaskId};

/// A task that reads another one's value of the same instant: its job begins behind that one's completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The channel between them.
    pub channel: ChannelId,
    /// Who writes.
    pub writer: TaskId,
    /// Who reads.
    pub reader: TaskId,
}

/// What synchronous flows make a task wait and take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The longest time from an arrival until what the job reads is there: it begins no sooner.
    pub by: Duration,
    /// The channel for which it can last that long; none without a wait.
    pub of: Option<ChannelId>,
    /// What comes to each job: going to sleep and waking up, and waking others.
    pub switching: Duration,
}

impl Model {
    /// Tasks that read without a delay what others write, where the flow is synchronous; in the order of channels and
    /// their readers. There is no circle of them.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        let synchronous = self.channel_ids().filter(|id| self.channel(*id).flow == Flow::Synchronous);
        synchronous.flat_map(move |channel| {
            let of = self.channel(channel);
            let direct = of.readers.iter().zip(&of.delayed).filter(|(_, delayed)| !**delayed);
            direct.filter_map(move |(reader, _)| match (of.writer, *reader) {
                (Party::Task(writer), Party::Task(reader)) => Some(Link { channel, writer, reader }),
                _ => None,
            })
        })
    }

    /// The same application with what its tasks wait for each other, by task; what it says of that so far is
    /// replaced.
    #[must_use]
    pub fn waiting(&self, waits: &[Waits]) -> Self {
        let mut waiting = self.clone();
        for (id, waits) in self.task_ids().zip(waits) {
            if let Some(task) = waiting.real_time_mut(Party::Task(id)) {
                task.waits = *waits;
            }
        }
        waiting
    }
}
