// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bounds the alarms of a channel: how late the receiver handles one at the most.

use taut_analysis::queue::alarms;
use taut_model::{ChannelId, Fault, KeyPath, Model, codes};

use super::flow::{self, Realisation};
use super::messages;
use crate::response::bounds::ResponseBounds;

/// The capacity and the delivery of the alarms of one setter. All setters of a receiver's alarms have the same bound.
pub(crate) fn bound(
    model: &Model,
    id: ChannelId,
    bounds: &ResponseBounds,
    realisation: &mut Realisation,
    faults: &mut Vec<Fault>,
) {
    let channel = model.channel(id);
    let lanes = messages::ranked(model, channel.table(), bounds);
    realisation.rank = lanes.iter().position(|lane| *lane == id).unwrap_or(lanes.len());
    realisation.capacity = channel.capacity.unwrap_or(1);
    let slots = lanes.iter().map(|lane| u64::from(model.channel(*lane).capacity.unwrap_or(1))).sum();
    let Some((receiver, proven)) = flow::reader(model, id, bounds) else { return };
    match alarms::delivery(slots, &receiver) {
        Ok(verdict) => realisation.latency = verdict.bound().filter(|_| proven).map(|found| found.latency),
        Err(overflow) => {
            let message = format!("alarm `{}`: its delivery has no bound", channel.table());
            let place = KeyPath::value(format!("channels.{}.capacity", channel.table()));
            let fault = Fault::error(codes::NO_DELIVERY, message, place, overflow.to_string());
            faults.push(
                fault.help("let fewer alarms be pending, or take more per release: `takes-per-release`"),
            );
        }
    }
}
