// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A broadcast, for people.

use std::fmt::Write;

use serde::Serialize;
use taut_time::Duration;

use crate::{ChannelPlan, ClassPlan, Plan};

/// A broadcast, and what holds for each of its readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broadcast<'p> {
    /// Its name.
    pub name: &'p str,
    /// The sender.
    pub writer: &'p str,
    /// How many values it holds, each once.
    pub capacity: u32,
    /// Why that many, if the plan chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_reason: Option<&'p str>,
    /// The readers, as the manifest names them.
    pub readers: Vec<BroadcastReader<'p>>,
}

/// A reader of a broadcast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BroadcastReader<'p> {
    /// Its name.
    pub name: &'p str,
    /// Whether it is a real-time task, which gets every value; any other reader loses the oldest ones.
    pub real_time: bool,
    /// How many processes may read at a time under its name: 1 but for some clients.
    pub max_attached: u16,
    /// The most values that wait for it; none if nothing bounds that.
    pub waiting: Option<u32>,
    /// From a send to the end of the job that takes the value; none if nothing bounds it.
    pub latency: Option<Duration>,
}

impl Plan {
    /// The broadcasts, in the order of the manifest.
    pub fn broadcasts(&self) -> Vec<Broadcast<'_>> {
        self.channels.iter().filter(|channel| channel.broadcast).map(|of| self.broadcast(of)).collect()
    }

    /// A broadcast, for people.
    pub(crate) fn broadcast<'p>(&'p self, channel: &'p ChannelPlan) -> Broadcast<'p> {
        let is_real_time = |name: &str| {
            self.task(name).is_some_and(|at| matches!(self.tasks[at].class, ClassPlan::RealTime { .. }))
        };
        let readers = channel.readers.iter().map(|reader| BroadcastReader {
            name: &reader.name,
            real_time: !reader.client && is_real_time(&reader.name),
            max_attached: if reader.client { self.max_attached(&reader.name) } else { 1 },
            waiting: reader.waiting,
            latency: reader.latency,
        });
        Broadcast {
            name: &channel.name,
            writer: &channel.writer.name,
            capacity: channel.capacity,
            capacity_reason: channel.capacity_reason.as_deref(),
            readers: readers.collect(),
        }
    }
}

impl Broadcast<'_> {
    /// A line about the broadcast, and one about each reader.
    pub fn lines(&self) -> Vec<String> {
        let readers = |urgent| self.readers.iter().filter(|reader| reader.real_time == urgent).count();
        let count =
            |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
        let held = count(self.capacity as usize, "value", "values");
        let mut head = format!("broadcast {} from {}: holds {held}, each once", self.name, self.writer);
        if readers(true) > 0 {
            let _ = write!(head, "; {} all", count(readers(true), "reader gets", "readers get"));
        }
        if readers(false) > 0 {
            let _ =
                write!(head, "; {} the oldest", count(readers(false), "reader may lose", "readers may lose"));
        }
        let width = self.readers.iter().map(|reader| reader.name.len()).max().unwrap_or(0);
        let reader = |of: &BroadcastReader<'_>| {
            let waiting = of.waiting.map(|waiting| format!("{waiting} at most wait"));
            let latency = of.latency.map(|latency| format!("received within {}", latency.rounded()));
            let bounds = match (waiting, latency) {
                (Some(waiting), Some(latency)) => format!("{waiting}, {latency}"),
                (Some(waiting), None) => format!("{waiting}, no bound on how long"),
                _ if of.real_time => "no bound; the sender gets a value back if it does not fit".to_owned(),
                _ if of.max_attached > 1 => {
                    format!("not real-time, up to {} processes: each counts what it loses", of.max_attached)
                }
                _ => "not real-time: counts what it loses".to_owned(),
            };
            format!("  {:<width$}  {bounds}", of.name)
        };
        std::iter::once(head).chain(self.readers.iter().map(reader)).collect()
    }
}
