// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Synchronous flows: the pairs of tasks of which one reads from the other without a delay, and the waits that follow.

use crate::{ChannelId, Flow, Model, PartyId, TaskId, Waits};

/// A writer, and a reader of its value of the same instant: the reader's job starts after the writer's job completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLink {
    /// The channel between them.
    pub channel: ChannelId,
    /// The task that writes.
    pub writer: TaskId,
    /// The task that reads.
    pub reader: TaskId,
}

impl Model {
    /// All pairs in which a task reads without a delay what another task writes in a synchronous flow, in the order of
    /// channels and their readers. The pairs form no cycle.
    pub fn links(&self) -> impl Iterator<Item = FlowLink> + '_ {
        let synchronous = self.channel_ids().filter(|id| self.channel(*id).flow == Flow::Synchronous);
        synchronous.flat_map(move |channel| {
            let of = self.channel(channel);
            let direct = of.readers.iter().zip(&of.delayed).filter(|(_, delayed)| !**delayed);
            direct.filter_map(move |(reader, _)| match (of.writer, *reader) {
                (PartyId::Task(writer), PartyId::Task(reader)) => Some(FlowLink { channel, writer, reader }),
                _ => None,
            })
        })
    }

    /// The same application with these waits, one entry per task; they replace earlier waits.
    #[must_use]
    pub fn waiting(&self, waits: &[Waits]) -> Self {
        let mut waiting = self.clone();
        for (id, waits) in self.task_ids().zip(waits) {
            if let Some(task) = waiting.real_time_mut(PartyId::Task(id)) {
                task.waits = *waits;
            }
        }
        waiting
    }
}
