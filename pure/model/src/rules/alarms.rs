// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of alarms that other messages do not have.

use super::channels::Link;
use super::faults::Faults;
use super::messages::at;
use crate::{ChannelDraft, Fault, KeyPath, PartyId, codes};

/// Checks a setter of alarms: it is a task.
pub(super) fn setter(channel: &ChannelDraft, link: &Link, faults: &mut Faults<'_>) {
    if let (Some(PartyId::Client(_)), Some(lane)) = (link.writer, &channel.lane) {
        let message = format!("client `{}` cannot set alarm `{}`", channel.from.join(", "), lane.message);
        let place = at(channel, &format!("from.{}", lane.sender));
        faults.push(
            Fault::error(codes::BAD_ALARM, message, place, "another process")
                .note("setter and receiver of an alarm own its memory in turn, which no other process must write")
                .help("send a message to a task, which sets the alarm"),
        );
    }
}

/// Checks what all setters of alarms have in common.
pub(super) fn whole(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let name = channel.table();
    if channel.capacity.is_none() {
        let message = format!("alarm `{name}` does not say how many may be pending");
        let place = KeyPath::key(format!("channels.{name}"));
        let fault = Fault::error(codes::BAD_ALARM, message, place, "no `capacity`")
            .note("the bound of each alarm follows from how many may be due at once")
            .help("write `capacity = 4`: how many each setter may have set and not yet taken or cancelled");
        faults.push_resting_on(fault, &[&format!("channels.{name}.capacity")]);
    }
    if channel.order.is_some() {
        let message = format!("alarm `{name}` has an order");
        let fault = Fault::error(codes::MISPLACED_KEY, message, at(channel, "order"), "of messages")
            .note("the alarm whose instant is the earliest comes first")
            .help("remove it");
        faults.push_resting_on(fault, &[&format!("channels.{name}.kind")]);
    }
}

/// Refuses the key of alarms on another channel.
pub(super) fn only_alarms(channel: &ChannelDraft, faults: &mut Faults<'_>) {
    let message = format!("{} `{}` says what happens to late alarms", channel.noun(), channel.table());
    let fault =
        Fault::error(codes::MISPLACED_KEY, message, at(channel, "late"), "only alarms have an instant")
            .help("remove it, or write `kind = \"alarm\"`");
    faults.push_resting_on(fault, &[&format!("channels.{}.kind", channel.table())]);
}
