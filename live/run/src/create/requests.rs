// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of requests: each is made of the ends of a lane, or of all, and of those of replies.

use std::sync::Arc;

use taut_lock::EventCount;
use taut_plan::{ChannelKind, ValidPlan};

use super::Create;
use crate::guard::Measure;
use crate::names::{no_such, position as index};
use crate::payload::Own;
use crate::request::{OpenRequests, ReplyQueue, RequestReader, RequestWriter};
use crate::{Error, Payload};

impl<'p> Create<'_, 'p> {
    /// The receiving end of a request that this task answers: `Q` is asked, `R` is replied.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn request_reader<Q: Payload, R: Payload>(
        &mut self,
        request: &str,
    ) -> Result<RequestReader<'p, Q, R>, Error> {
        let _runtime = Measure::begin();
        let all: &'p ValidPlan = self.app.plan;
        if !all.is_request(request) {
            return Err(no_such("request", request));
        }
        let requests = self.lanes_reader::<Q>(request)?;
        let replies = requests.lanes.iter().map(|lane| {
            let (_, plan) = all.replies(request, lane.sender).ok_or_else(|| no_such("request", request))?;
            let (position, plan) = self.end::<R>(&plan.name, ChannelKind::Queue, true)?;
            let slot = self.queue_slot::<R>(position, plan)?;
            let (wakes, channel) = (self.wakes(plan)?, index(position));
            let unanswered = Arc::default();
            self.app.unanswered.push((channel, Arc::clone(&unanswered)));
            Ok(ReplyQueue { slot, wakes, channel, sent: 0, unanswered, own: Own::new() })
        });
        let replies = replies.collect::<Result<_, Error>>()?;
        Ok(RequestReader { requests, replies })
    }

    /// The calling end of a request that this best-effort task calls.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn request_writer<Q: Payload, R: Payload>(
        &mut self,
        request: &str,
    ) -> Result<RequestWriter<'p, Q, R>, Error> {
        let _runtime = Measure::begin();
        let all: &'p ValidPlan = self.app.plan;
        let (me, _) = self.me();
        let (_, replies) = all.replies(request, me).ok_or_else(|| no_such("request", request))?;
        let (position, lane) = self.end::<Q>(request, ChannelKind::Queue, true)?;
        let requests = self.lane_writer::<Q>(position, lane)?;
        let (position, plan) = self.end::<R>(&replies.name, ChannelKind::Queue, false)?;
        let view = self.queue_view(plan)?;
        let reader = self.reader(plan);
        let event_count = reader.map_or(Ok(None), |reader| self.event_count_of(reader, &plan.name))?;
        let listener = event_count.map(EventCount::listener);
        let (channel, open) = (index(position), OpenRequests::new(0, plan.open_requests()));
        Ok(RequestWriter { requests, replies: view, listener, channel, open, own: Own::new() })
    }

    /// Whether it is a request, or one of its parts, whose ends are those of requests.
    pub(super) fn is_of_request(&self, channel: &str) -> bool {
        let plan = self.app.plan;
        let part = plan.channel(channel).map(|at| plan.channels[at].table());
        plan.is_request(part.unwrap_or(channel))
    }
}
