// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A message as its lanes make it up: for people, and for the runtime.

use std::fmt::Write;

use serde::Serialize;
use taut_policy::{MessageOrder, OverflowPolicy};
use taut_time::Duration;

use crate::{ChannelPlan, ClassPlan, Plan, payloads_of};

/// A message: the lanes of one name, in the order in which its receiver takes from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message<'p> {
    /// Its name.
    pub name: &'p str,
    /// The receiver.
    pub receiver: &'p str,
    /// Which value the receiver takes first.
    pub order: MessageOrder,
    /// The field of the values that decides, if the order is by a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<&'p str>,
    /// The payloads of which each value is one, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub payloads: Vec<&'p str>,
    /// The most values that a job of the receiver takes.
    pub takes: u32,
    /// The receiver's period, or the least time between two of its releases; zero if it is aperiodic.
    pub every: Duration,
    /// The share of what the receiver can take that real-time senders send, in thousandths, rounded up; 0 of alarms, whose
    /// bound does not rest on how often they are set.
    pub used_permille: u64,
    /// Whether the receiver answers each value: it is a request, and its senders are callers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// The senders, the most urgent first.
    pub senders: Vec<MessageSender<'p>>,
}

/// A sender of a message, with its lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MessageSender<'p> {
    /// Its name.
    pub name: &'p str,
    /// Whether it is a real-time task.
    pub real_time: bool,
    /// Whether its own oldest value gives way to one that does not fit.
    pub drops_oldest: bool,
    /// How many values the lane holds.
    pub capacity: u32,
    /// Why that many, if the plan chose.
    pub capacity_reason: Option<&'p str>,
    /// From a send, or from the instant of an alarm, to the end of the job that takes the value, if one does; none if nothing
    /// bounds it.
    pub delivery: Option<Duration>,
}

impl Plan {
    /// The messages, in the order of their first lanes.
    pub fn messages(&self) -> Vec<Message<'_>> {
        let mut found: Vec<Message<'_>> = Vec::new();
        for channel in &self.channels {
            let name = channel.lane.as_ref().map(|lane| lane.message.as_str());
            if let Some(name) = name.filter(|name| found.iter().all(|message| message.name != *name)) {
                found.extend(self.message(name));
            }
        }
        found
    }

    /// The lanes of a message, in the order in which its receiver takes from them; empty if there is no such message.
    pub fn lanes(&self, message: &str) -> Vec<(usize, &ChannelPlan)> {
        let of = |channel: &ChannelPlan| channel.lane.as_ref().is_some_and(|lane| lane.message == message);
        let mut lanes: Vec<_> = self.channels.iter().enumerate().filter(|(_, channel)| of(channel)).collect();
        lanes.sort_by_key(|(_, channel)| channel.lane.as_ref().map(|lane| lane.rank));
        lanes
    }

    /// The message of this name.
    pub fn message(&self, name: &str) -> Option<Message<'_>> {
        let lanes = self.lanes(name);
        let (_, first) = lanes.first()?;
        let (lane, reader) = (first.lane.as_ref()?, first.readers.first()?);
        let every = self.looks_every(&reader.name)?;
        let share = |channel: &ChannelPlan| {
            let period = self.period(&channel.writer.name).filter(|_| !channel.writer.client)?;
            let sent = u128::from(channel.sends_per_release) * u128::from(every.as_ns()) * 1_000_000;
            Some((sent / u128::from(lane.takes).max(1)).div_ceil(u128::from(period.as_ns()).max(1)))
        };
        let sending = lanes.iter().filter(|(_, channel)| !channel.is_timed());
        let used: u128 = sending.filter_map(|(_, channel)| share(channel)).fold(0, u128::saturating_add);
        let senders = lanes.iter().map(|&(_, channel)| MessageSender {
            name: &channel.writer.name,
            real_time: !channel.writer.client && self.period(&channel.writer.name).is_some(),
            drops_oldest: channel.overflow == OverflowPolicy::DropOldest,
            capacity: channel.capacity,
            capacity_reason: channel.capacity_reason.as_deref(),
            delivery: channel.latency,
        });
        Some(Message {
            name: &lane.message,
            receiver: &reader.name,
            order: lane.order,
            by: lane.by.as_deref(),
            payloads: payloads_of(&first.layout).into_iter().map(|(name, _)| name).collect(),
            takes: lane.takes,
            every,
            used_permille: u64::try_from(used.div_ceil(1_000)).unwrap_or(u64::MAX),
            answered: self.is_request(&lane.message),
            senders: senders.collect(),
        })
    }

    /// The most time between two looks of a real-time task, or the least time between two of its releases.
    fn looks_every(&self, task: &str) -> Option<Duration> {
        match &self.tasks[self.task(task)?].class {
            ClassPlan::RealTime { arrival, .. } => Some(arrival.max_gap().unwrap_or(arrival.period())),
            ClassPlan::BestEffort {} => None,
        }
    }

    /// The period of a real-time task, or the least time between two of its releases.
    fn period(&self, task: &str) -> Option<Duration> {
        match &self.tasks[self.task(task)?].class {
            ClassPlan::RealTime { arrival, .. } => Some(arrival.period()),
            ClassPlan::BestEffort {} => None,
        }
    }
}

impl Message<'_> {
    /// A line about the message, and one about each sender.
    pub fn lines(&self) -> Vec<String> {
        let (whole, tenths) = (self.used_permille / 10, self.used_permille % 10);
        let order = match self.order {
            MessageOrder::Sender => "the most urgent sender first".to_owned(),
            MessageOrder::Fifo => "first sent, first taken".to_owned(),
            MessageOrder::Specified => format!("the largest `{}` first", self.by.unwrap_or_default()),
            MessageOrder::Instant => "the earliest instant first".to_owned(),
        };
        let timed = self.order == MessageOrder::Instant;
        let kind = match (timed, self.answered) {
            (true, _) => "alarm",
            (false, true) => "request",
            (false, false) => "message",
        };
        let mut head = format!("{kind} {} -> {}: ", self.name, self.receiver);
        let aperiodic = self.every.is_zero();
        let _ = match aperiodic {
            true => write!(head, "{} taken in a job, {order}", self.takes),
            false => write!(head, "{} taken every {}, {order}", self.takes, self.every),
        };
        // Callers are not real-time, so they use nothing that others rely on.
        if !timed && !aperiodic && !self.answered {
            let _ = write!(head, "; {whole}.{tenths} % used");
        }
        if !self.payloads.is_empty() {
            let _ = write!(head, "; each is one of {}", self.payloads.join(", "));
        }
        let width = self.senders.iter().map(|sender| sender.name.len()).max().unwrap_or(0);
        let sender = |of: &MessageSender<'_>| {
            if self.answered {
                return format!("  {:<width$}  {} open at most, each with a reply", of.name, of.capacity);
            }
            let delivery = match of.delivery {
                Some(bound) if timed => format!("handled within {} of its instant", bound.rounded()),
                Some(bound) if of.drops_oldest => format!("handled within {}, or dropped", bound.rounded()),
                Some(bound) => format!("handled within {}", bound.rounded()),
                None if aperiodic => {
                    "no bound: values that come later may go first, at no stated rate".to_owned()
                }
                None if of.real_time || timed => "NOT PROVEN".to_owned(),
                None => "no bound: not real-time, so after all that are".to_owned(),
            };
            format!("  {:<width$}  holds {}, {delivery}", of.name, of.capacity)
        };
        std::iter::once(head).chain(self.senders.iter().map(sender)).collect()
    }
}
