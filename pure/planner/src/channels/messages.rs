// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bounds the lanes of a message: in which order the receiver takes from them, how long a value waits, how many wait.

use std::cmp::Reverse;

use taut_analysis::queue::lanes::{self, LaneDelivery};
use taut_analysis::queue::{SendingTask, TakingTask};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{Channel, ChannelId, Class, Fault, KeyPath, MessageOrder, Model, PartyId, codes};

use super::flow;
use crate::response::bounds::ResponseBounds;

/// The lanes of the message to which a lane belongs, in the order in which its receiver takes from them: those of real-time
/// senders first, by priority, then by deadline, then as the manifest names them; then the others as it names them.
///
/// Priorities of different cores are compared as plain numbers. A task in a server and a task under EDF have none,
/// so they come after all tasks that have one, by their deadlines.
pub(crate) fn ranked(model: &Model, message: &str, bounds: &ResponseBounds) -> Vec<ChannelId> {
    let mut lanes: Vec<ChannelId> =
        model.channel_ids().filter(|id| model.channel(*id).is_lane_of(message)).collect();
    lanes.sort_by_key(|id| {
        let PartyId::Task(task) = model.channel(*id).writer else { return (true, Reverse(0), None) };
        let Class::RealTime(real_time) = &model.task(task).class else { return (true, Reverse(0), None) };
        let place = bounds[task.index()].and_then(|bound| bound.place);
        (false, Reverse(place.map_or(0, |(_, priority)| priority)), Some(real_time.deadline))
    });
    lanes
}

/// What is known of a lane.
pub(crate) struct LaneBound {
    /// Its place in the order of taking.
    pub(crate) rank: usize,
    /// How many lanes the message has.
    pub(crate) of: usize,
    /// The sender and the receiver; none if nothing bounds how often the one sends, or when the other looks.
    pub(crate) ends: Option<(SendingTask, TakingTask)>,
    /// The bounds; none without `ends`, or if nothing bounds how often a sender sends whose values may go first.
    pub(crate) delivery: Option<Result<Verdict<LaneDelivery>, Overflow>>,
    /// Whether the bounds rest on proven responses, of a real-time sender and its receiver.
    pub(crate) proven: bool,
}

/// Bounds a lane.
pub(crate) fn bound(model: &Model, id: ChannelId, order: MessageOrder, bounds: &ResponseBounds) -> LaneBound {
    let channel = model.channel(id);
    let lanes = ranked(model, channel.table(), bounds);
    let rank = lanes.iter().position(|lane| *lane == id).unwrap_or(lanes.len());
    let real_time = |lane: &ChannelId| model.is_real_time(model.channel(*lane).writer);
    let (mut ahead, mut peers) = (Vec::new(), Vec::new());
    // Whether later values of its own lane may go first, too.
    let overtaken = real_time(&id) && order == MessageOrder::Specified;
    for (at, lane) in lanes.iter().enumerate().filter(|(_, lane)| **lane != id) {
        match (real_time(&id), real_time(lane), order) {
            (true, true, MessageOrder::Fifo) => peers.push(*lane),
            (true, true, MessageOrder::Specified) => ahead.push(*lane),
            (true, false, _) => {}
            // Of a value from a sender that is not real-time, the receiver knows only when it saw the value: any
            // other may go first.
            (false, _, MessageOrder::Fifo) => ahead.push(*lane),
            _ if at < rank => ahead.push(*lane),
            _ => {}
        }
    }
    let sender = |lane: &ChannelId| flow::writer(model, model.channel(*lane), bounds);
    let own = sender(&id);
    let reader = flow::reader(model, id, bounds);
    let ends = own.zip(reader).map(|((own, _), (reader, _))| (own, reader));
    let all = |lanes: &[ChannelId]| lanes.iter().map(sender).collect::<Option<Vec<_>>>();
    let delivery = ends.zip(all(&ahead).zip(all(&peers))).map(|((own, reader), (ahead, peers))| {
        let only = |all: &[(SendingTask, bool)]| all.iter().map(|(sender, _)| *sender).collect::<Vec<_>>();
        if overtaken {
            lanes::overtaken(&own, &only(&ahead), &reader)
        } else {
            lanes::delivery(&own, &only(&ahead), &only(&peers), &reader)
        }
    });
    let is_proven = |lane: &ChannelId| sender(lane).is_some_and(|(_, proven)| proven);
    let proven = real_time(&id)
        && reader.is_some_and(|(_, proven)| proven)
        && [id].iter().chain(&ahead).chain(&peers).all(is_proven);
    LaneBound { rank, of: lanes.len(), ends, delivery, proven }
}

impl LaneBound {
    /// The bounds, if there are any.
    pub(crate) fn found(&self) -> Option<LaneDelivery> {
        self.delivery.as_ref()?.as_ref().ok()?.bound().copied()
    }

    /// How the capacity follows, in words.
    pub(crate) fn reason(&self, order: MessageOrder) -> String {
        let Some((found, (sender, receiver))) = self.found().zip(self.ends) else { return String::new() };
        let (n, tw, rw) = (sender.sends, sender.period, sender.response.rounded());
        let (m, tr, rr) = (receiver.takes, receiver.period, receiver.response.rounded());
        let front = match (order, self.rank, self.of) {
            (_, _, 1) => "alone in its message".to_owned(),
            (MessageOrder::Sender, 0, _) => "before all other lanes".to_owned(),
            (MessageOrder::Sender, 1, _) => "behind 1 lane".to_owned(),
            (MessageOrder::Sender, rank, _) => format!("behind {rank} lanes"),
            (MessageOrder::Fifo | MessageOrder::Specified | MessageOrder::Instant, _, 2) => {
                "with 1 other lane".to_owned()
            }
            (MessageOrder::Fifo | MessageOrder::Specified | MessageOrder::Instant, _, of) => {
                format!("with {} other lanes", of - 1)
            }
        };
        format!(
            "at most {} wait: {n} sent per {tw} within {rw}, {m} taken per {tr} within {rr}, {front}",
            found.capacity
        )
    }

    /// The fault of a real-time sender's lane without a bound.
    pub(crate) fn fault(&self, model: &Model, channel: &Channel) -> Option<Fault> {
        if self.found().is_some() || !model.is_real_time(channel.writer) {
            return None;
        }
        let (message, sender) = (channel.table(), model.party_name(channel.writer));
        let at = channel.lane.as_ref().map_or(0, |lane| lane.sender);
        let place = KeyPath::value(format!("channels.{message}.from.{at}"));
        let why = match &self.delivery {
            Some(Ok(Verdict::NotShown(Why::Rate))) => "its receiver takes less than is sent".to_owned(),
            Some(Ok(Verdict::NotShown(_))) => {
                "its senders' periods repeat too late, and they use nearly all that the receiver takes"
                    .to_owned()
            }
            Some(Ok(Verdict::NotApplicable(assumption))) => assumption.to_string(),
            Some(Err(overflow)) => overflow.to_string(),
            _ => "nothing bounds when its receiver looks".to_owned(),
        };
        let title = format!("message `{message}`: the delivery from `{sender}` has no bound");
        Some(
            Fault::error(codes::NO_DELIVERY, title, place, why)
                .help("let the receiver run more often, or take more per release: `takes-per-release`"),
        )
    }
}
