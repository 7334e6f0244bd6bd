// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sizes the replies of a request: there is always room for a caller that keeps to its number of open requests.
//!
//! A caller has at most as many requests open, sent and not answered, as its lane holds: K. Beside these, requests may be
//! answered that it has given up, or that a client sent which was called so before it: as many as the lane holds when the
//! caller last discarded what waited, K, and the one that the receiver had taken then. Each has one reply at most, and no
//! request comes into the lane but those that are open: so at most 2 K + 1 replies wait.

use taut_model::{ChannelId, Model};

use super::flow::{Realisation, realise};
use crate::response::bounds::ResponseBounds;

/// Decides how many replies to one caller can wait.
pub(crate) fn bound(model: &Model, id: ChannelId, bounds: &ResponseBounds, realisation: &mut Realisation) {
    let channel = model.channel(id);
    let Some(reply) = &channel.answers else { return };
    let is_lane = |lane: &ChannelId| {
        let lane = model.channel(*lane);
        lane.is_lane_of(&reply.request) && lane.place() == reply.caller
    };
    let Some(lane) = model.channel_ids().find(is_lane) else { return };
    // The lane reports what is wrong with its own capacity.
    let open = realise(model, lane, bounds, &mut Vec::new()).capacity;
    let caller = channel.readers.first().map_or("", |reader| model.party_name(*reader));
    // A queue holds no more: then fewer are open.
    realisation.capacity = open.saturating_mul(2).saturating_add(1).min(taut_model::CAPACITY_MAX);
    realisation.capacity_reason = Some(format!(
        "at most {open} requests of `{caller}` are open, and as many and one are answered that it gave up or that were sent \
         before it attached"
    ));
}
