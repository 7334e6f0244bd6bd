// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Requests: a caller sends a value to a real-time task, and gets one reply, or learns that there is none.
//!
//! Use        a client or an ordinary task asks a real-time task; a real-time task sends a message instead.
//! Callers    one receiver, one end for each caller; the ends share the two queues of that caller alone.
//! Progress   the receiver: wait-free, `next` as [`MessageReader::next`], a reply or the word that there is none by the steps of
//!            `push` of QrtR, a clock read and a futex wake. A caller: `send` and `answer` by the steps of QrtR for each value;
//!            `call_within` waits for the receiver's job, for at most its patience.
//!
//! A request is a message, and for each caller a queue of replies leads back. The stamp of a value has its number: a reply has the
//! number of its request. Both queues are QrtR, so the receiver never waits for a caller, whether that one is slow,
//! dead or hostile.
//!
//! Crash      a caller that dies leaves requests that are answered, and replies that its successor discards; numbers never repeat,
//!            so the successor takes none of them for its own ([`OpenRequests`]). A receiver whose job panics drops its request,
//!            which counts as unanswered.
//! Source     decision 0061; QrtR is [PerezRuiz20].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use taut_event::{Kind, Refusal};
use taut_lock::Listener;
use taut_sys::clock;
use taut_time::Duration;
use zerocopy::IntoBytes;

use crate::endpoint::{QueueWriter, SendError};
use crate::job::EventRecorder;
use crate::job::sealed::SealedCaller;
use crate::message::MessageReader;
use crate::payload::{Own, Payload};
use crate::queue::{QueueSlot, QueueView, Wakes};
use crate::values::TaskValues;
use crate::{Caller, Context, Job};

/// In the number of a reply's stamp: the receiver dropped the request. Numbers of requests stay below; they count from the time
/// (ns) at which a client attached.
const UNANSWERED: u64 = 1 << 63;

/// The number of a request, as its caller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestNumber(pub(crate) u64);

/// What a caller gets for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<R> {
    /// The reply.
    Reply(R),
    /// The receiver took the request and dropped it.
    Unanswered,
}

/// Why a call gave no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError<Q> {
    /// As many requests are open as may be; returns the value.
    Full(Q),
    /// The receiver took the request and dropped it.
    Unanswered,
    /// No reply came in time, or before the caller was to stop. A later one is discarded.
    TimedOut,
    /// The application has ended.
    Ended,
}

impl<Q> fmt::Display for CallError<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "as many requests are open as may be",
            Self::Unanswered => "the receiver dropped the request",
            Self::TimedOut => "no reply came in time",
            Self::Ended => "the application has ended",
        })
    }
}

impl<Q: fmt::Debug> std::error::Error for CallError<Q> {}

/// Which requests of a caller are open: sent and not answered.
///
/// The receiver takes the requests of one caller in the order of sending, and answers one before it takes the next. So replies
/// come in the order of their numbers, and a reply says that all earlier requests are over, too. A caller that waits no longer,
/// or that calls anew, gives all of them up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenRequests {
    /// The number of the newest request, and of the last one that is over.
    last: u64,
    over: u64,
    most: u32,
}

impl OpenRequests {
    /// None is open; the next one's number is the next after `before`. At most `most` may be open.
    pub(crate) fn new(before: u64, most: u32) -> Self {
        Self { last: before, over: before, most }
    }

    /// Whether another request may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.last - self.over < u64::from(self.most)
    }

    /// The next request is sent.
    pub(crate) fn open(&mut self) -> RequestNumber {
        self.last += 1;
        RequestNumber(self.last)
    }

    /// All requests are over: answers that still come are discarded. A receiver that forgets a request would hold its place
    /// for ever otherwise.
    pub(crate) fn give_up(&mut self) {
        self.over = self.last;
    }

    /// What a reply with this number in its stamp answers, and whether it is one; `None` if it answers no open request: one of a
    /// predecessor.
    pub(crate) fn close(&mut self, stamped: u64) -> Option<(RequestNumber, bool)> {
        let number = stamped & !UNANSWERED;
        let is_open = self.over < number && number <= self.last;
        if is_open {
            self.over = number;
        }
        is_open.then_some((RequestNumber(number), stamped & UNANSWERED == 0))
    }
}

/// The queue of replies to one caller, at the receiver.
pub(crate) struct ReplyQueue<'p, R: Payload> {
    pub(crate) slot: QueueSlot<'p, R>,
    pub(crate) wakes: Wakes<'p>,
    pub(crate) channel: u16,
    /// The replies so far.
    pub(crate) sent: u64,
    /// Requests that the job has dropped.
    pub(crate) unanswered: Arc<AtomicU64>,
    pub(crate) own: Own<R>,
}

/// The requests that the jobs of a task drop: a request has no recorder, and a job that panics drops one without a further look,
/// so they are recorded at the end of the job.
#[derive(Default)]
pub(crate) struct UnansweredRequests(Vec<(u16, Arc<AtomicU64>)>);

impl UnansweredRequests {
    /// By the channel of the replies, the counts.
    pub(crate) fn new(counts: Vec<(u16, Arc<AtomicU64>)>) -> Self {
        Self(counts)
    }

    /// Records those of a job that has ended. A load for each caller.
    pub(crate) fn record(&self, event_recorder: &mut EventRecorder, job: u64) {
        for (channel, count) in &self.0 {
            if count.load(Ordering::Relaxed) > 0 {
                let dropped = count.swap(0, Ordering::Relaxed);
                event_recorder.other(event_recorder.now_ns(), Kind::Drop, *channel, job, dropped);
            }
        }
    }
}

/// The receiving end of a request. One per request.
pub struct RequestReader<'p, Q: Payload, R: Payload> {
    pub(crate) requests: MessageReader<'p, Q>,
    /// In the order of the lanes of `requests`.
    pub(crate) replies: Box<[ReplyQueue<'p, R>]>,
}

/// A request that the receiver has taken: to be answered with [`ReceivedRequest::reply`]. If it is dropped, its
/// caller learns that there
/// is no reply.
///
/// It borrows the end, so a job answers a request before it takes the next one, and before it ends.
#[must_use = "a request that is dropped counts as unanswered"]
pub struct ReceivedRequest<'r, 'p, Q: Payload, R: Payload> {
    value: &'r Q,
    caller: &'r str,
    replies: &'r mut ReplyQueue<'p, R>,
    number: u64,
    taken_ns: u64,
    is_over: bool,
}

impl<Q: Payload, R: Payload> fmt::Debug for ReceivedRequest<'_, '_, Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedRequest").field("caller", &self.caller).field("number", &self.number).finish()
    }
}

impl<'p, Q: Payload, R: Payload> RequestReader<'p, Q, R> {
    /// The next request by the order of the channel; `None` if none waits, or if this job has taken as many as the manifest's
    /// `takes-per-release` allows. Wait-free, as [`MessageReader::next`].
    pub fn next(&mut self, job: &mut Job<'_>) -> Option<ReceivedRequest<'_, 'p, Q, R>> {
        // A full lane gives the request back: none is dropped.
        let (at, _) = self.requests.take(job)?;
        let (event_recorder, _) = job.event_recorder();
        let Self { requests, replies } = self;
        let number = requests.own.stamped().sequence & !UNANSWERED;
        // In a replay the recorded run has told the caller.
        let is_over = matches!(event_recorder.values(), TaskValues::Replayed(_));
        Some(ReceivedRequest {
            value: requests.own.value(),
            caller: requests.lanes[at].sender,
            replies: &mut replies[at],
            number,
            taken_ns: event_recorder.now_ns(),
            is_over,
        })
    }
}

impl<Q: Payload, R: Payload> ReceivedRequest<'_, '_, Q, R> {
    /// What is asked.
    pub fn value(&self) -> &Q {
        self.value
    }

    /// The task or client that asks.
    pub fn caller(&self) -> &str {
        self.caller
    }

    /// Answers. Wait-free: the steps of `push` of QrtR, one clock read, and one futex wake if the caller sleeps until
    /// a reply comes.
    ///
    /// # Errors
    /// Returns the reply if the caller's queue has no room, which a caller that keeps to its number of open requests never
    /// causes. The receiver need not care.
    pub fn reply(self, job: &mut Job<'_>, reply: R) -> Result<(), SendError<R>> {
        if self.reply_from(job, &reply) { Ok(()) } else { Err(SendError::Full(reply)) }
    }

    /// As [`ReceivedRequest::reply`], but copies the reply from where it lies: a large one, of more than a kilobyte,
    /// is not moved on its
    /// way. Returns whether it had room.
    pub fn reply_from(mut self, job: &mut Job<'_>, reply: &R) -> bool {
        self.is_over = true;
        let (event_recorder, job) = job.event_recorder();
        let (replies, number, sent_ns) = (&mut *self.replies, self.number, event_recorder.now_ns());
        let replayed = event_recorder.values().answer_send(replies.channel);
        let is_in = match replayed {
            Some(answer) => answer.is_ok(),
            None => replies.slot.push(replies.own.set(sent_ns, number, reply)),
        };
        if is_in {
            event_recorder.other(sent_ns, Kind::Send, replies.channel, job, number);
            replies.sent += 1;
            event_recorder.values().sent(sent_ns, replies.channel, replies.sent, reply.as_bytes());
            replies.wakes.notify();
        } else {
            event_recorder.other(sent_ns, Kind::Drop, replies.channel, job, 1);
            event_recorder.values().refused(sent_ns, replies.channel, Refusal::Full);
        }
        is_in
    }
}

impl<Q: Payload, R: Payload> Drop for ReceivedRequest<'_, '_, Q, R> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let replies = &mut *self.replies;
        // Only jobs of this task count, and what runs them takes the count when each has ended. No data follow it.
        replies.unanswered.fetch_add(1, Ordering::Relaxed);
        let stamped = replies.own.stamped_mut();
        stamped.as_mut_bytes().fill(0);
        (stamped.sent_ns, stamped.sequence) = (self.taken_ns, self.number | UNANSWERED);
        if replies.slot.push(replies.own.stamped()) {
            replies.wakes.notify();
        }
    }
}

/// The calling end of a request, of a best-effort task. One per caller.
pub struct RequestWriter<'p, Q: Payload, R: Payload> {
    pub(crate) requests: QueueWriter<'p, Q>,
    pub(crate) replies: QueueView<'p, R>,
    pub(crate) listener: Option<Listener<'p>>,
    /// That of the replies.
    pub(crate) channel: u16,
    pub(crate) open: OpenRequests,
    pub(crate) own: Own<R>,
}

impl<Q: Payload, R: Payload> RequestWriter<'_, Q, R> {
    /// Sends a request. [`RequestWriter::answer`] gives the answer.
    ///
    /// # Errors
    /// Returns the value if as many requests are open as may be, or wait.
    pub fn send(&mut self, by: &mut impl Caller, value: Q) -> Result<RequestNumber, SendError<Q>> {
        if !self.open.has_room() {
            return Err(SendError::Full(value));
        }
        self.requests.send(by, value)?;
        Ok(self.open.open())
    }

    /// The next answer, with the number of its request; `None` if none has come. Answers come in the order of the requests.
    pub fn answer(&mut self, by: &mut impl Caller) -> Option<(RequestNumber, Answer<R>)> {
        loop {
            self.replies.pop(self.own.stamped_mut())?;
            let (sent_ns, stamped) = (self.own.stamped().sent_ns, self.own.stamped().sequence);
            let Some((number, is_reply)) = self.open.close(stamped) else { continue };
            if !is_reply {
                return Some((number, Answer::Unanswered));
            }
            let (event_recorder, _) = by.event_recorder();
            let now_ns = event_recorder.now_ns();
            let latency_ns = now_ns.saturating_sub(sent_ns);
            event_recorder.other(now_ns, Kind::Receive, self.channel, number.0, latency_ns);
            return Some((number, Answer::Reply(*self.own.value())));
        }
    }

    /// Sends a request, and sleeps until its answer comes, until the task is to stop ([`Context::stopping`]), or for at most
    /// `patience`. Earlier requests are given up: their answers are discarded.
    ///
    /// If the manifest gives the request `reception = "wait"`, the receiver wakes this caller. Otherwise it looks
    /// every millisecond.
    ///
    /// # Errors
    /// [`CallError`].
    pub fn call_within(
        &mut self,
        context: &mut Context<'_>,
        value: Q,
        patience: Duration,
    ) -> Result<R, CallError<Q>> {
        // Earlier requests are over: what came for them makes room.
        while self.answer(context).is_some() {}
        self.open.give_up();
        let asked = self.send(context, value).map_err(|error| CallError::Full(error.into_value()))?;
        let end_ns = clock::monotonic_ns().saturating_add(patience.as_ns());
        loop {
            let epoch = self.listener.as_ref().map(Listener::epoch);
            let changes = context.changes();
            while let Some((number, answer)) = self.answer(context) {
                if number == asked {
                    return answer.into_reply();
                }
            }
            if context.stopping() || clock::monotonic_ns() >= end_ns {
                self.open.give_up();
                return Err(CallError::TimedOut);
            }
            context.wait(self.listener.as_ref().zip(epoch), changes.as_ref(), end_ns);
        }
    }
}

impl<R> Answer<R> {
    /// The reply.
    ///
    /// # Errors
    /// [`CallError::Unanswered`], if there is none.
    pub fn into_reply<Q>(self) -> Result<R, CallError<Q>> {
        match self {
            Self::Reply(reply) => Ok(reply),
            Self::Unanswered => Err(CallError::Unanswered),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_closes_its_request_and_all_before() {
        let mut open = OpenRequests::new(100, 3);
        let numbers = [open.open(), open.open(), open.open()];
        assert_eq!(numbers.map(|number| number.0), [101, 102, 103]);
        assert!(!open.has_room());
        // A predecessor's, and one that was never sent.
        assert_eq!([open.close(100), open.close(7 | UNANSWERED), open.close(104)], [None; 3]);
        assert_eq!(open.close(102 | UNANSWERED), Some((numbers[1], false)));
        assert_eq!(open.close(101), None, "the receiver forgot it, and it is over");
        assert!(open.has_room());
        assert_eq!((open.open().0, open.open().0, open.has_room()), (104, 105, false));
        assert_eq!([open.close(103), open.close(103)], [Some((numbers[2], true)), None]);
        open.give_up();
        assert_eq!((open.close(105), open.has_room(), open.open().0), (None, true, 106));
        assert!(open.close(106).is_some());
    }
}
