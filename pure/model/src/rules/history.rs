// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of values that are kept for clients that attach later: their readers must only look, and the queue must hold them.

use super::channels::Link;
use super::faults::Faults;
use super::messages::at;
use crate::{ChannelDraft, ChannelKind, Draft, Fault, OverflowPolicy, PartyId, codes};

pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    for (channel, link) in draft.channels.iter().zip(links).filter(|(channel, _)| channel.history > 0) {
        match unkept(channel, link) {
            Some(what) => refuse(channel, what, faults),
            None => fits(channel, faults),
        }
    }
}

/// Why no client begins with earlier values, and a way out; `None` if one does.
fn unkept(channel: &ChannelDraft, link: &Link) -> Option<(&'static str, &'static str)> {
    let has_client = link.readers.iter().any(|reader| matches!(reader, PartyId::Client(_)));
    if channel.kind == ChannelKind::State {
        return Some(("a client reads the newest value of a state as soon as it attaches", "remove it"));
    }
    if channel.kind == ChannelKind::Bulk || channel.lane.is_some() {
        return Some(("its one reader is a task, whose end is made before the first value", "remove it"));
    }
    if channel.overflow == OverflowPolicy::Reject && !channel.broadcast {
        let why = "a queue that rejects values keeps those that its reader has not taken, and no others";
        return Some((why, "write `overflow = \"drop-oldest\"`, or make the channel a broadcast"));
    }
    let why = "no client reads it, and the ends of tasks are made before the first value";
    (!has_client).then_some((why, "remove it, or let a client read the channel"))
}

fn refuse(channel: &ChannelDraft, (why, help): (&str, &str), faults: &mut Faults<'_>) {
    let table = channel.table();
    let message = format!("channel `{table}` has a history, and no reader that can begin with it");
    let text = format!("{} earlier values", channel.history);
    let fault = Fault::error(codes::BAD_HISTORY, message, at(channel, "history"), text).note(why).help(help);
    let rests_on = ["kind", "to", "overflow"].map(|key| format!("channels.{table}.{key}"));
    faults.push_resting_on(fault, &rests_on.each_ref().map(String::as_str));
}

/// A queue holds at least its history; if its capacity is left open, the plan sees to it.
fn fits(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let history = channel.history;
    let Some(capacity) = channel.capacity.filter(|capacity| *capacity < i64::from(history)) else { return };
    let message = format!("channel `{}` holds fewer values than a client is to begin with", channel.table());
    let fault =
        Fault::error(codes::BAD_CAPACITY, message, at(channel, "capacity"), format!("holds {capacity}"))
            .also(at(channel, "history"), format!("{history} earlier values"))
            .help(format!("write `capacity = {history}`, or \"auto\""));
    faults.push(fault);
}
