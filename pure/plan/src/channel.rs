// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::{ChannelKind, ClientReads, Mechanism, MessageOrder, Way};

use crate::ChannelPlan;

impl ChannelPlan {
    /// Its table in the manifest: its name, or that of the message, the state or the request of which it is a part.
    pub fn table(&self) -> &str {
        match (&self.lane, &self.source, &self.answers) {
            (Some(lane), ..) => &lane.message,
            (None, Some(source), _) => &source.state,
            (None, None, Some(reply)) => &reply.request,
            (None, None, None) => &self.name,
        }
    }

    /// The client that reads the channel and stores in its object how far it has read; none if no reader does, or if
    /// that reader is a task.
    pub fn storing_client(&self) -> Option<&str> {
        let stores = self.mechanism.clients_read() == ClientReads::Storing;
        self.readers.iter().find(|reader| reader.client && stores).map(|reader| reader.name.as_str())
    }

    /// Whether the runtime hands its values over to a task that this channel alone releases. A task takes the
    /// values of a message and the blocks of a bulk channel by itself.
    pub fn hands_over(&self) -> bool {
        self.kind == ChannelKind::Queue && self.lane.is_none()
    }

    /// Whether its values are alarms: each waits for an instant of its own.
    pub fn is_timed(&self) -> bool {
        self.lane.as_ref().is_some_and(|lane| lane.order == MessageOrder::Instant)
    }

    /// The index of the entry of the reader `reader` in the object of a broadcast, from 0; `None` if the writer does not
    /// respect it: then it loses the oldest values.
    pub fn respected(&self, reader: &str) -> Option<u32> {
        self.claim(reader).filter(|_| self.mechanism == Mechanism::Broadcast)
    }

    /// How many readers have an entry of their own in the object.
    pub fn claims(&self) -> u32 {
        if self.mechanism.preserves_flow() {
            return u32::try_from(self.readers.len()).unwrap_or(u32::MAX);
        }
        Way::claims(self.readers.iter().filter_map(|reader| reader.way))
    }

    /// The index of the reader's entry, from 0; `None` if the reader has none.
    pub fn claim(&self, reader: &str) -> Option<u32> {
        let at =
            self.readers.iter().position(|known| known.name == reader && known.way == Some(Way::Claims))?;
        Some(Way::claims(self.readers[..at].iter().filter_map(|reader| reader.way)))
    }

    /// The index of a task among the readers of a synchronous flow, from 0: readers without a delay come first, then
    /// readers with one, each in the manifest's order; `None` if it is no reader.
    pub fn flow_reader(&self, name: &str) -> Option<u32> {
        let of = |delayed: bool| self.readers.iter().filter(move |reader| reader.delayed == delayed);
        let at = of(false).chain(of(true)).position(|reader| reader.name == name)?;
        u32::try_from(at).ok()
    }

    /// How many readers of a synchronous flow read without a delay, and how many with one.
    pub fn flow_readers(&self) -> (u32, u32) {
        let count = |delayed: bool| self.readers.iter().filter(|reader| reader.delayed == delayed).count();
        let [direct, delayed] =
            [false, true].map(|delayed| u32::try_from(count(delayed)).unwrap_or(u32::MAX));
        (direct, delayed)
    }
}
