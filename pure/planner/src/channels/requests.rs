// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sizes the replies of a request: there is always room for a caller that keeps to its number of open requests.
//!
//! A caller has at most as many requests open, sent and not answered, as its lane holds: K. Each of them has at most one reply, so
//! at most K replies wait. A client may have died, and a successor come: its predecessor's requests may still be in
//! the lane, at most
//! K, and are answered, too. The successor discards the replies that wait when it comes. So at most K more wait.

use taut_model::{ChannelId, Model, PartyId};

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
    let client = matches!(channel.readers.first(), Some(PartyId::Client(_)));
    // A queue holds no more: a client has half as many open.
    let most = taut_model::CAPACITY_MAX;
    realisation.capacity = if client { open.saturating_mul(2).min(most) } else { open };
    realisation.capacity_reason = Some(if client {
        format!(
            "at most {open} requests of `{caller}` are open, and as many of a client that was called so before it"
        )
    } else {
        format!("at most {open} requests of `{caller}` are open")
    });
}
