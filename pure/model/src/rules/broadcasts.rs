// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of broadcasts that queues do not have.

use super::channels::{Link, is_real_time};
use super::faults::Faults;
use super::messages::{at, looks};
use crate::{ChannelDraft, Draft, Fault, OverflowPolicy, PartyId, codes};

pub(super) fn check(draft: &Draft, links: &[Link], faults: &mut Faults<'_>) {
    for (channel, link) in draft.channels.iter().zip(links).filter(|(channel, _)| channel.broadcast) {
        writer(channel, link, faults);
        overflow(channel, faults);
        // A reader that does not look in bounded time would keep the broadcast full, and so new values from all
        // others.
        for reader in link.readers.iter().filter(|reader| is_real_time(draft, **reader)) {
            looks(draft, channel, *reader, faults);
        }
    }
}

/// Checks the writer: it is a task.
fn writer(channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    let Some(PartyId::Client(_)) = link.writer else { return };
    let name = &channel.name;
    let message = format!("client `{}` cannot write broadcast `{name}`", channel.from.join(", "));
    let fault = Fault::error(codes::NO_MECHANISM, message, at(channel, "from"), "another process")
        .note("its readers store in the memory of a broadcast what they have taken, which no other process must write")
        .help("let the client send to a task by a queue, and the task broadcast the values");
    faults.push_resting_on(fault, &[&format!("channels.{name}.kind")]);
}

/// Refuses an overflow policy: each reader's class decides what happens to a value that does not fit.
fn overflow(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    if channel.overflow == OverflowPolicy::Reject {
        return;
    }
    let message = format!("broadcast `{}` cannot drop waiting values for all readers", channel.name);
    let fault =
        Fault::error(codes::BAD_OVERFLOW, message, at(channel, "overflow"), "each reader has its own")
            .note("a real-time reader gets every value; any other loses the oldest ones, and counts them")
            .help("remove it");
    faults.push_resting_on(fault, &[&format!("channels.{}.kind", channel.name)]);
}
