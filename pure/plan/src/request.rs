// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A request: the lanes of a message, and the replies to each of its senders.

use crate::{ChannelPlan, Plan};

/// What comes behind a request's name in the names of the channels of its replies. No name in a manifest has a `_`.
pub(crate) const REPLY: &str = "_reply";

impl Plan {
    /// The channel that carries the replies of a request to a caller, with its position; `None` if there is none.
    pub fn replies(&self, request: &str, caller: &str) -> Option<(usize, &ChannelPlan)> {
        let carries = |channel: &ChannelPlan| {
            channel.answers.as_ref().is_some_and(|reply| reply.request == request)
                && channel.readers.iter().any(|reader| reader.name == caller)
        };
        self.channels.iter().enumerate().find(|(_, channel)| carries(channel))
    }

    /// Whether the receiver of a message answers each value: it is a request.
    pub fn is_request(&self, message: &str) -> bool {
        self.channels
            .iter()
            .any(|channel| channel.answers.as_ref().is_some_and(|reply| reply.request == message))
    }
}

impl ChannelPlan {
    /// How many requests the caller to which these replies go may have open, sent and not answered: half of the places but
    /// one. The others are for replies to requests that it gave up, or that a predecessor sent.
    pub fn open_requests(&self) -> u32 {
        self.capacity.saturating_sub(1) / 2
    }
}
