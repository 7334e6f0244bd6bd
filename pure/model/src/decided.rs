// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An application after the plan has chosen the mechanisms of its states.

use taut_time::Duration;

use crate::{
    ChannelId, Class, Flow, LockingProtocol, Mechanism, Model, PartyCounts, PartyId, RealTime, ResourceId,
    Section, Shared, TaskId,
};

/// The plan's choices for an application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// For each channel, the chosen mechanism, if there is one.
    pub mechanisms: Vec<Option<Mechanism>>,
    /// For each resource, the chosen protocol, if there is one.
    pub protocols: Vec<Option<LockingProtocol>>,
}

impl Model {
    /// The same application with mechanisms for its states and protocols for its resources. What the manifest states
    /// takes precedence.
    ///
    /// A state under a lock becomes a resource. Every access to it is a critical section that lasts as long as a copy
    /// of the value; the execution time already includes that time. If a mechanism makes more than one copy per
    /// access, the further copies are added to the costs of its parties.
    ///
    /// `None` if a state is to get a lock and one of its parties is not real-time, runs in a server, states the order
    /// of its segments, or would spend more time in sections than it executes; if an earlier decision already put a
    /// state under a lock; if `decisions` does not have a mechanism entry for every channel; or if numbers do not
    /// fit.
    #[must_use]
    pub fn decided(&self, decisions: &Decisions) -> Option<Self> {
        if !self.guarding.is_empty() || decisions.mechanisms.len() != self.channels.len() {
            return None;
        }
        let mut decided = self.clone();
        decided.protocols.clone_from(&decisions.protocols);
        for id in self.channel_ids() {
            let channel = self.channel(id);
            let Some(mechanism) = channel.mechanism.or(decisions.mechanisms[id.index()]) else { continue };
            decided.channels[id.index()].decided = Some(mechanism);
            let length = self.platform.overheads.copying(self.value_bytes(id)?)?;
            let sends = channel.sends_per_release;
            let accesses = [(channel.writer, sends)];
            let reads = channel.readers.iter().map(|reader| (*reader, channel.takes_per_release));
            let accesses = accesses.into_iter().chain(reads);
            let Some(protocol) = mechanism.locking() else {
                let (writes, reads) = mechanism.copies(u32::try_from(channel.readers.len()).ok()?);
                for (at, (party, count)) in accesses.enumerate() {
                    let copies = if at == 0 { writes } else { reads }.saturating_sub(1);
                    let copies = u64::from(count).checked_mul(copies.into())?;
                    if let Some(task) = decided.real_time_mut(party) {
                        task.copying = task.copying.checked_add(length.checked_mul(copies)?)?;
                    }
                }
                continue;
            };
            let resource = ResourceId(u16::try_from(decided.resources.len()).ok()?);
            let taken = self.resources.iter().any(|resource| resource.name == channel.name);
            let name = if taken { format!("{} (state)", channel.name) } else { channel.name.clone() };
            decided.resources.push(Shared { name, protocol: Some(protocol) });
            decided.guarding.push(id);
            for (party, count) in accesses {
                let task = decided.real_time_mut(party)?;
                let free = task.server.is_none() && task.segments.is_empty();
                task.sections.push(Section { resource, longest: length, count });
                let inside = task.sections.iter().try_fold(Duration::ZERO, |sum, section| {
                    sum.checked_add(section.longest.checked_mul(section.count.into())?)
                });
                if !free || inside? > task.wcet.value {
                    return None;
                }
            }
        }
        Some(decided)
    }

    /// The same application with a mechanism pinned for one channel, as if the manifest stated it; `None` if the
    /// mechanism does not serve the channel's parties.
    #[must_use]
    pub fn with_mechanism(&self, id: ChannelId, mechanism: Mechanism) -> Option<Self> {
        let channel = self.channel(id);
        if !mechanism.serves(channel.kind, &self.parties(id)) {
            return None;
        }
        let mut changed = self.clone();
        changed.channels[id.index()].mechanism = Some(mechanism);
        Some(changed)
    }

    /// The same application with the mechanism of one channel left open.
    #[must_use]
    pub fn with_any(&self, id: ChannelId) -> Self {
        let mut changed = self.clone();
        changed.channels[id.index()].mechanism = None;
        changed
    }

    /// The numbers of a channel's parties.
    pub fn parties(&self, id: ChannelId) -> PartyCounts {
        let channel = self.channel(id);
        let count =
            |of: &dyn Fn(&PartyId) -> bool| channel.readers.iter().filter(|reader| of(reader)).count();
        PartyCounts {
            real_time_writer: self.is_real_time(channel.writer),
            readers: channel.readers.len(),
            real_time_readers: count(&|reader| self.is_real_time(*reader)),
            client_readers: count(&|reader| matches!(reader, PartyId::Client(_))),
            synchronous: channel.flow == Flow::Synchronous,
            overflow: channel.overflow,
            timed: channel.is_timed(),
            broadcast: channel.broadcast,
            lane: channel.lane.is_some(),
        }
    }

    /// The protocol of a resource, by its position: the one in the manifest, otherwise the one that the plan chose.
    pub fn protocol(&self, resource: usize) -> Option<LockingProtocol> {
        let decided = || self.protocols.get(resource).copied().flatten();
        self.resources[resource].protocol.or_else(decided)
    }

    /// Bytes of a channel's value, including the stamp in front of it if it has one there; `None` on overflow.
    pub fn value_bytes(&self, id: ChannelId) -> Option<u32> {
        let channel = self.channel(id);
        self.payloads[channel.payload].size()?.checked_add(channel.kind.stamp_bytes())
    }

    pub(crate) fn real_time_mut(&mut self, party: PartyId) -> Option<&mut RealTime> {
        let PartyId::Task(TaskId(at)) = party else { return None };
        match &mut self.tasks[usize::from(at)].class {
            Class::RealTime(task) => Some(task),
            Class::BestEffort(_) => None,
        }
    }
}
