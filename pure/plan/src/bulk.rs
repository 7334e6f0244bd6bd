// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a plan says of its bulk channels, for people.

use serde::Serialize;
use taut_policy::{ChannelKind, OverflowPolicy};
use taut_time::{Duration, shown};

use crate::Plan;

/// A bulk channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bulk<'p> {
    /// Its name.
    pub name: &'p str,
    /// The task that fills blocks.
    pub sender: &'p str,
    /// The task or the client that reads them.
    pub receiver: &'p str,
    /// Whether it is a client, which maps the blocks read-only.
    pub client: bool,
    /// How many blocks it has.
    pub blocks: u32,
    /// Bytes of a block's content.
    pub block_bytes: u32,
    /// Bytes of all of it, locked and made present before release 0.
    pub bytes: u64,
    /// Whether the sender takes back what waits if it finds no free block.
    pub recalls: bool,
    /// From a send to the end of the job that receives the block; none if nothing bounds it.
    pub delivery: Option<Duration>,
}

impl Plan {
    /// The bulk channels, as the manifest has them.
    pub fn bulk(&self) -> Vec<Bulk<'_>> {
        let bulk = self.channels.iter().filter(|channel| channel.kind == ChannelKind::Bulk);
        bulk.map(|channel| Bulk {
            name: &channel.name,
            sender: &channel.writer.name,
            receiver: channel.readers.first().map_or("", |reader| &reader.name),
            client: channel.readers.iter().any(|reader| reader.client),
            blocks: channel.capacity,
            block_bytes: channel.size,
            bytes: channel.region.size,
            recalls: channel.overflow == OverflowPolicy::Recall,
            delivery: channel.latency,
        })
        .collect()
    }
}

impl Bulk<'_> {
    /// A line about the channel.
    pub fn line(&self) -> String {
        let Self { name, sender, receiver, blocks, .. } = self;
        let size = shown::size(self.block_bytes.into());
        let promised = match (self.delivery, self.recalls) {
            (Some(bound), _) => format!("each received within {}", bound.rounded()),
            (None, true) if self.client => {
                "the client has one at most; the oldest is recalled if none is free".to_owned()
            }
            (None, true) => "the oldest is recalled if none is free".to_owned(),
            (None, false) => {
                "no bound: a party is not real-time, and the sender may find none free".to_owned()
            }
        };
        format!("bulk {name}: {sender} -> {receiver}: {blocks} blocks of {size}, {promised}")
    }
}
