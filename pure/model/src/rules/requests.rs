// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of requests that messages do not have: callers are not real-time, and there is a payload for replies.

use super::channels::{Link, is_real_time, party_name};
use super::faults::Faults;
use super::messages::at;
use crate::{ChannelDraft, Draft, Fault, KeyPath, PartyId, codes};

pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    for (channel, link) in draft.channels.iter().zip(links) {
        if !channel.request {
            if channel.reply.is_some() {
                misplaced(channel, faults);
            }
            continue;
        }
        if channel.is_first() {
            named(channel, faults);
            if channel.reply.is_none() {
                silent(channel, faults);
            }
        }
        if let Some(caller) = link.writer.filter(|caller| is_real_time(draft, *caller)) {
            urgent(draft, channel, caller, faults);
        }
    }
}

fn misplaced(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let name = channel.table();
    let message = format!("{} `{name}` has a payload for replies", channel.noun());
    let fault =
        Fault::error(codes::MISPLACED_KEY, message, at(channel, "reply"), "only a request is answered")
            .help("remove it, or write `kind = \"request\"`");
    faults.push_resting_on(fault, &[&format!("channels.{name}.kind")]);
}

/// The longest name of a request: with `_reply` it is a name of the segment.
const NAME_MAX: usize = 57;

fn named(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let name = channel.table();
    if name.len() > NAME_MAX {
        let message = format!("the name of request `{name}` has {} characters", name.len());
        let place = KeyPath::key(format!("channels.{name}"));
        let fault = Fault::error(codes::BAD_NAME, message, place, format!("at most {NAME_MAX}"));
        faults.push(fault.note("its replies are a channel of their own, called after it").help("shorten it"));
    }
}

fn silent(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let name = channel.table();
    let message = format!("request `{name}` does not say what a reply is");
    let place = KeyPath::key(format!("channels.{name}"));
    let fault = Fault::error(codes::BAD_REQUEST, message, place, "no `reply`").help(
        "write `reply = \"…\"`, a name of `[payloads]`; or `kind = \"message\"`, which is not answered",
    );
    faults.push_resting_on(fault, &[&format!("channels.{name}.reply")]);
}

/// A real-time task does not call: its job would wait for another task's.
fn urgent(draft: &Draft, channel: &ChannelDraft, caller: PartyId, faults: &mut Faults<'_>) {
    let caller = party_name(draft, caller);
    let message = format!("real-time task `{caller}` calls request `{}`", channel.table());
    let place = at(channel, &format!("from.{}", channel.place().unwrap_or(0)));
    let fault = Fault::error(codes::BAD_REQUEST, message, place, "real-time")
        .also(KeyPath::key(format!("tasks.{caller}")), "has a deadline")
        .note("a caller waits for a reply: the job of a real-time task would wait for one of the receiver")
        .help("send a message, and let the receiver send the answer to a queue that releases the task");
    faults.push_resting_on(fault, &[&format!("tasks.{caller}.class")]);
}
