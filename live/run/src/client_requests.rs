// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The calling end of a request in a client's process.

use std::fmt;

use taut_segment::Role;
use taut_sys::clock;
use taut_time::Duration;

use crate::Payload;
use crate::client_end::{Attachment, ClientEnd, EndError};
use crate::request::{Answer, CallError, OpenRequests, RequestNumber};

/// The calling end of a request, of a client. One per request at a time.
pub struct ClientRequests<Q: Payload, R: Payload> {
    requests: ClientEnd<Q>,
    replies: ClientEnd<R>,
    open: OpenRequests,
}

impl<Q: Payload, R: Payload> fmt::Debug for ClientRequests<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientRequests").field(&self.requests).finish()
    }
}

impl Attachment {
    /// Makes the calling end of a request: one at a time. Replies to a predecessor of this client are discarded.
    ///
    /// # Errors
    /// [`EndError`].
    pub fn requests<Q: Payload, R: Payload>(&self, request: &str) -> Result<ClientRequests<Q, R>, EndError> {
        let mut requests = self.end::<Q>(request, Role::Writes)?;
        let mut replies = self.reading_end::<R>(&format!("{request}_reply"), true)?;
        let capacity = replies.capacity();
        for _ in 0..capacity {
            if replies.receive_ref().is_none() {
                break;
            }
        }
        // Later than any number of a predecessor, which counted one for a request from when it attached.
        let before = clock::monotonic_ns();
        requests.count_from(before);
        // The other places are for replies to requests that are given up, or whose sender was a predecessor.
        let open = OpenRequests::new(before, capacity.saturating_sub(1) / 2);
        Ok(ClientRequests { requests, replies, open })
    }
}

impl<Q: Payload, R: Payload> ClientRequests<Q, R> {
    /// Sends a request. [`ClientRequests::answer`] gives the answer.
    ///
    /// # Errors
    /// Returns the value if as many requests are open as may be, or wait.
    pub fn send(&mut self, value: Q) -> Result<RequestNumber, Q> {
        if !self.open.has_room() {
            return Err(value);
        }
        self.requests.publish(value)?;
        Ok(self.open.open())
    }

    /// The next answer, with the number of its request; `None` if none has come. Answers come in the order of the requests.
    pub fn answer(&mut self) -> Option<(RequestNumber, Answer<R>)> {
        self.answer_within(Duration::ZERO)
    }

    /// As [`ClientRequests::answer`], but if none has come, sleeps until one comes, until the application has ended, or for at
    /// most `patience`.
    ///
    /// If the manifest gives the request `reception = "wait"`, the receiver wakes this client. Otherwise it looks every
    /// millisecond.
    pub fn answer_within(&mut self, patience: Duration) -> Option<(RequestNumber, Answer<R>)> {
        let end_ns = clock::monotonic_ns().saturating_add(patience.as_ns());
        loop {
            let left = Duration::from_ns(end_ns.saturating_sub(clock::monotonic_ns()));
            let (stamped, value) = self.replies.receive_within(left)?;
            if let Some((number, is_reply)) = self.open.close(stamped) {
                return Some((number, if is_reply { Answer::Reply(value) } else { Answer::Unanswered }));
            }
        }
    }

    /// Sends a request, and sleeps until its answer comes, until the application has ended, or for at most `patience`. Earlier
    /// requests are given up: their answers are discarded.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn call_within(&mut self, value: Q, patience: Duration) -> Result<R, CallError<Q>> {
        let end_ns = clock::monotonic_ns().saturating_add(patience.as_ns());
        // Earlier requests are over: what came for them makes room.
        while self.answer().is_some() {}
        self.open.give_up();
        let asked = self.send(value).map_err(CallError::Full)?;
        loop {
            let left = Duration::from_ns(end_ns.saturating_sub(clock::monotonic_ns()));
            match self.answer_within(left) {
                Some((number, answer)) if number == asked => return answer.into_reply(),
                Some(_) => {}
                None if self.replies.is_owner_alive() => {
                    self.open.give_up();
                    return Err(CallError::TimedOut);
                }
                None => return Err(CallError::Ended),
            }
        }
    }
}
