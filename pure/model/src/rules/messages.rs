// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of messages that queues do not have.

use std::collections::HashSet;

use super::alarms;
use super::channels::{Link, is_real_time};
use super::faults::Faults;
use crate::{
    ArrivalDraft, ChannelDraft, ChannelKind, ClassDraft, Draft, Fault, KeyPath, MessageLane, MessageOrder,
    OverflowPolicy, PartyId, Payload, PayloadField, RealTimeDraft, codes, nearest,
};

/// The rules of messages that queues do not have.
pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    let mut seen = HashSet::new();
    for (channel, link) in draft.channels.iter().zip(links) {
        if channel.is_timed() {
            alarms::setter(channel, link, faults);
        } else if channel.late.is_some() {
            alarms::only_alarms(channel, faults);
        }
        match &channel.lane {
            None => {
                only_messages(channel, faults);
                queue(draft, channel, link, faults);
            }
            Some(lane) if seen.insert(lane.message.as_str()) => {
                let senders = draft.channels.iter().filter(|other| other.is_lane_of(&lane.message));
                let senders: Vec<&str> =
                    senders.flat_map(|other| other.from.iter()).map(String::as_str).collect();
                sends(channel, &senders, faults);
                overflow(channel, faults);
                specified(draft, channel, lane, link, faults);
                receiver(draft, channel, link, faults);
                if channel.is_timed() {
                    alarms::whole(channel, faults);
                }
            }
            Some(_) => {}
        }
    }
}

pub(super) fn at(channel: &ChannelDraft, key: &str) -> KeyPath {
    KeyPath::value(format!("channels.{}.{key}", channel.table()))
}

/// Refuses the keys of a message on another channel.
fn only_messages(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let is_source = channel.source.is_some();
    let keys = [
        ("order", channel.order.is_some()),
        ("order-by", channel.order_by.is_some()),
        ("sends-by-sender", !channel.sends_by_sender.is_empty() && !is_source),
    ];
    for (key, _) in keys.into_iter().filter(|(_, written)| *written) {
        let (message, label) = if is_source {
            (format!("state `{}` has `{key}`", channel.table()), "its readers get the newest value")
        } else {
            let message = format!("channel `{}` has `{key}`, but one sender", channel.name);
            (message, "only a message has several senders")
        };
        let fault = Fault::error(codes::MISPLACED_KEY, message, at(channel, key), label)
            .help("remove it, or write `kind = \"message\"`");
        faults.push_resting_on(fault, &[&format!("channels.{}.kind", channel.name)]);
    }
}

/// Checks the names of `sends-by-sender`.
pub(super) fn sends(channel: &ChannelDraft, senders: &[&str], faults: &mut Faults<'_>) {
    for (name, _) in channel.sends_by_sender.iter().filter(|(name, _)| !senders.contains(&name.as_str())) {
        let message = format!("`{name}` does not send {} `{}`", channel.noun(), channel.table());
        let place = KeyPath::key(format!("channels.{}.sends-by-sender.{name}", channel.table()));
        let fault = Fault::error(codes::DANGLING_NAME, message, place, "no sender of it");
        let fault = match nearest(name, senders.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help("name it in `from`, or remove it here"),
        };
        faults.push_resting_on(fault, &[&format!("channels.{}.from", channel.table())]);
    }
}

/// A real-time sender's lane is never full. Any other sender gets its value back, or loses its own oldest one.
fn overflow(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let (message, label, note, help) = match channel.overflow {
        OverflowPolicy::Reject => return,
        _ if channel.is_timed() => (
            format!("alarm `{}` cannot drop waiting values", channel.table()),
            "a lane takes only what fits",
            "a setter gets its value back if all of its alarms are pending",
            "write \"reject\"",
        ),
        _ if channel.request => (
            format!("request `{}` cannot drop what waits", channel.table()),
            "a lane takes only what fits",
            "each caller waits for a reply, and learns at once if its request is not taken",
            "write \"reject\"",
        ),
        OverflowPolicy::DropOldest => return,
        OverflowPolicy::Clear | OverflowPolicy::Recall => (
            format!("message `{}` cannot drop all that waits, and takes nothing back", channel.table()),
            "not of a message",
            "the lanes of real-time senders are never full; any other sender gets its value back, or loses its oldest one",
            "write \"reject\" or \"drop-oldest\"",
        ),
    };
    let fault = Fault::error(codes::BAD_OVERFLOW, message, at(channel, "overflow"), label);
    faults.push(fault.note(note).help(help));
}

/// Checks that a message with a specified order has a field to order by: one whole number of its payload.
fn specified(
    draft: &Draft,
    channel: &ChannelDraft,
    lane: &MessageLane,
    link: &Link,
    faults: &mut Faults<'_>,
) {
    let name = channel.table();
    let order = format!("channels.{name}.order");
    let Some(by) = &lane.by else {
        if lane.order == MessageOrder::Specified {
            let message = format!("message `{name}` does not say by which field it is ordered");
            let fault =
                Fault::error(codes::BAD_ORDER, message, at(channel, "order"), "by a field of its values");
            faults.push(fault.help("add `order-by = \"…\"`, a field of the payload that is a whole number"));
        }
        return;
    };
    if lane.order != MessageOrder::Specified {
        let message = format!("message `{name}` has `order-by`, but is not ordered by what its values say");
        let fault = Fault::error(
            codes::MISPLACED_KEY,
            message,
            at(channel, "order-by"),
            "its order has no use for it",
        );
        faults.push_resting_on(fault.help("remove it, or write `order = \"specified\"`"), &[&order]);
        return;
    }
    let Some(payload) = link.payload.map(|payload| &draft.payloads[payload]) else { return };
    if !payload.one_of.is_empty() {
        if payload.whole_number(by).is_none() {
            faults.push(not_in_all(channel, payload, by));
        }
        return;
    }
    let whole = |field: &&PayloadField| field.len == 1 && field.scalar.is_whole() && !field.name.is_empty();
    if payload.fields.iter().filter(whole).any(|field| field.name == *by) {
        return;
    }
    let message = format!("payload `{}` has no field `{by}` that is one whole number", payload.name);
    let fault = Fault::error(codes::BAD_ORDER, message, at(channel, "order-by"), "what orders the message");
    let names = payload.fields.iter().filter(whole).map(|field| field.name.as_str());
    let fault = match nearest(by, names.clone()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if names.clone().next().is_none() => {
            fault.help("give the payload such a field, as in `{ fields = { urgency = \"u32\" } }`")
        }
        None => fault
            .help(format!("it has {}", names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))),
    };
    let places = [format!("channels.{name}.payload"), format!("payloads.{}", payload.name)];
    faults.push_resting_on(fault, &[&places[0], &places[1]]);
}

/// A message of several payloads whose number that orders it is not at one place in all of them.
fn not_in_all(channel: &ChannelDraft, payload: &Payload, by: &str) -> Fault {
    let message = format!(
        "the payloads of message `{}` do not all have a field `{by}` that is one whole number, of one type at one place",
        channel.table()
    );
    let fault = Fault::error(codes::BAD_ORDER, message, at(channel, "order-by"), "what orders the message");
    let lacks = payload.one_of.iter().find(|one| one.whole_number(by).is_none());
    match lacks {
        Some(lacks) => {
            fault.help(format!("let each payload begin with it; `{}` has no such field", lacks.name))
        }
        None => fault.help("let each payload begin with it"),
    }
}

/// Checks that a message has one receiver, a real-time task that looks at it in bounded time.
fn receiver(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    let name = channel.table();
    let to = format!("channels.{name}.to");
    // Several readers, or none, are refused as those of a queue.
    let [reader] = link.readers.as_slice() else { return };
    if !is_real_time(draft, *reader) {
        let message = format!("{} `{name}` goes to a party that is not real-time", channel.noun());
        let fault = Fault::error(codes::NO_MECHANISM, message, at(channel, "to"), "its receiver");
        let fault = fault.help(if channel.is_timed() {
            "let a real-time task receive it; other tasks look at the clock"
        } else {
            "write a queue for each sender: `kind = \"queue\"`"
        });
        faults.push_resting_on(fault, &[&to]);
        return;
    }
    looks(draft, channel, *reader, faults);
}

/// Refuses a queue between real-time tasks whose reader something else releases: nothing bounds how many values wait in it.
fn queue(draft: &Draft, channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    let from_real_time = link.writer.is_some_and(|writer| is_real_time(draft, writer));
    // Several readers of a queue are refused, or none of them is real-time.
    let [reader] = link.readers.as_slice() else { return };
    let must_look = channel.kind.is_queued() && !channel.broadcast && !super::bulk::may_lose(channel);
    if must_look && from_real_time {
        looks(draft, channel, *reader, faults);
    }
}

/// Checks that something bounds when a real-time reader looks at a channel: its period, or the channel.
pub(super) fn looks(draft: &Draft, channel: &ChannelDraft, reader: PartyId, faults: &mut Faults<'_>) {
    let name = channel.table();
    let [from, to, overflow] = ["from", "to", "overflow"].map(|key| format!("channels.{name}.{key}"));
    let PartyId::Task(id) = reader else { return };
    let task = &draft.tasks[id.index()];
    let ClassDraft::RealTime(RealTimeDraft { arrival, .. }) = &task.class else { return };
    let (triggers, device) = match arrival {
        ArrivalDraft::Periodic { .. } | ArrivalDraft::Clocked(_) => return,
        ArrivalDraft::Sporadic { triggers, device, .. } => (triggers, device.as_deref()),
        ArrivalDraft::Aperiodic { triggers } => (triggers, None),
    };
    if triggers.is_empty() && device.is_none()
        || triggers.iter().any(|trigger| trigger.channel == channel.name)
    {
        return;
    }
    // A trigger that cannot release the task has a fault of its own, and may be this channel's name misspelt.
    let releases = |name: &str| {
        draft
            .channels
            .iter()
            .any(|one| one.name == name && one.kind.is_queued() && one.to.contains(&task.name))
    };
    if !triggers.iter().all(|trigger| releases(&trigger.channel)) {
        return;
    }
    let noun = channel.noun();
    let message = format!("{noun} `{name}`: nothing bounds when `{}` looks at it", task.name);
    let at_arrival = format!("tasks.{}.arrival", task.name);
    let fault = Fault::error(
        codes::NO_DELIVERY,
        message,
        KeyPath::value(at_arrival.as_str()),
        match (device.is_some(), triggers.is_empty()) {
            (true, true) => "a device releases it",
            (true, false) => "a device and other channels release it",
            _ => "other channels release it",
        },
    )
    .also(at(channel, "to"), if channel.broadcast { "its readers" } else { "its receiver" })
    .help(match arrival {
        ArrivalDraft::Aperiodic { .. } => {
            format!("let the {noun} release it, too: add \"{name}\" to `aperiodic`")
        }
        _ => format!("let the {noun} release it, too: add \"{name}\" to `triggers`; or make it periodic"),
    });
    let overflow = (channel.kind == ChannelKind::Bulk).then_some(overflow.as_str());
    let rests_on: Vec<&str> = [from.as_str(), &to, &at_arrival].into_iter().chain(overflow).collect();
    faults.push_resting_on(fault, &rests_on);
}
