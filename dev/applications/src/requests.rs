// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Requests of a drawn application. Each has exactly one outcome: the reply that belongs to it, or word that there is none, which
//! its receiver caused; only a caller that loses its patience has neither.

use std::collections::VecDeque;

use taut_event::Kind;
use taut_event::file::Run;
use taut_plan::{ChannelPlan, Plan};
use taut_run::{Answer, CallError, Context, Create, Error, Job, RequestNumber, RequestReader, RequestWriter};
use taut_time::Duration;

use crate::draw::Draw;
use crate::seen::{Long, Seen, Value};

/// The requests of one caller, as it and the receiver saw them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    asked: u64,
    /// What the caller got: replies, and word that there is none.
    replies: u64,
    unanswered: u64,
    /// Requests for which the caller waits no longer.
    given_up: u64,
    /// What the receiver took, answered and dropped.
    taken: u64,
    answered: u64,
    dropped: u64,
}

impl Calls {
    /// How many the receiver answered, and how many it dropped.
    pub(crate) fn outcomes(&self) -> [u64; 2] {
        [self.answered, self.dropped]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.replies += other.replies;
        self.unanswered += other.unanswered;
        self.given_up += other.given_up;
        self.taken += other.taken;
        self.answered += other.answered;
        self.dropped += other.dropped;
    }
}

/// Whether the receiver answers a request.
fn is_answered(value: &Value) -> bool {
    !value.number.is_multiple_of(5)
}

/// A caller: what it asks, and which of its requests are open.
pub(crate) struct Asks {
    /// The channel of the replies.
    at: usize,
    sender: u32,
    next: u64,
    open: VecDeque<(RequestNumber, Value)>,
    /// How many may be open.
    most: usize,
    /// Whether it ever waited no longer: what it gave up may still lie in its lane.
    has_given_up: bool,
    /// Whether the receiver may panic with a request in hand.
    may_panic: bool,
}

impl Asks {
    /// The task at position `caller`, which calls by the name of the request; `None` if it does not.
    pub(crate) fn new(plan: &Plan, caller: usize, request: &str) -> Option<Self> {
        let (at, replies) = plan.replies(request, &plan.tasks[caller].name)?;
        let most = replies.open_requests() as usize;
        Some(Self {
            at,
            sender: u32::try_from(caller).ok()?,
            next: 1,
            open: VecDeque::with_capacity(most + 1),
            most,
            has_given_up: false,
            may_panic: may_panic(plan, replies),
        })
    }

    /// What it asks next.
    pub(crate) fn value(&self) -> Value {
        Value { urgency: (self.next % 4) as u32, sender: self.sender, number: self.next }
    }

    /// It has sent that, or was refused.
    pub(crate) fn sent(&mut self, number: Option<RequestNumber>, seen: &mut Seen) {
        let (value, open, most) = (self.value(), self.open.len(), self.most);
        let Some(number) = number else {
            if open < most && !self.has_given_up {
                seen.wrong(format!("a request was refused, and {open} of {most} are open"));
            }
            return;
        };
        if open >= most {
            seen.wrong(format!("a request was sent, and {open} of {most} are open"));
        }
        self.next += 1;
        seen.calls[self.at].asked += 1;
        self.open.push_back((number, value));
    }

    /// An answer came.
    pub(crate) fn came(&mut self, (number, answer): (RequestNumber, Answer<Long>), seen: &mut Seen) {
        match self.open.pop_front() {
            Some((oldest, value)) if oldest == number => self.closed(value, answer, seen),
            other => {
                seen.wrong(format!("an answer to {number:?} came, and the oldest request was {other:?}"))
            }
        }
    }

    /// Whether this is how a request can end.
    fn closed(&mut self, value: Value, answer: Answer<Long>, seen: &mut Seen) {
        let is_right = match answer {
            Answer::Reply(reply) => reply == Long::of(value) && is_answered(&value),
            Answer::Unanswered => !is_answered(&value) || self.may_panic,
        };
        if !is_right {
            seen.wrong(format!("{value:?} ended with {answer:?}"));
        }
        let calls = &mut seen.calls[self.at];
        match answer {
            Answer::Reply(_) => calls.replies += 1,
            Answer::Unanswered => calls.unanswered += 1,
        }
    }

    /// It waits for nothing that is open.
    fn give_up(&mut self, seen: &mut Seen) {
        self.has_given_up |= !self.open.is_empty();
        seen.calls[self.at].given_up += self.open.len() as u64;
        self.open.clear();
    }
}

/// The end of a caller that executes.
pub(crate) struct Caller<'p> {
    end: RequestWriter<'p, Value, Long>,
    asks: Asks,
}

impl<'p> Caller<'p> {
    pub(crate) fn new(asks: Asks, request: &str, create: &mut Create<'_, 'p>) -> Result<Self, Error> {
        Ok(Self { end: create.request_writer(request)?, asks })
    }

    /// Looks for answers, and asks: some at once, or one for which it waits.
    pub(crate) fn in_background(&mut self, context: &mut Context<'_>, draw: &mut Draw, seen: &mut Seen) {
        while let Some(answer) = self.end.answer(context) {
            self.asks.came(answer, seen);
        }
        if draw.chance(25) {
            return self.call(context, Duration::from_us(draw.pick(100, 20_000)), seen);
        }
        for _ in 0..draw.pick(0, 3) {
            let number = self.end.send(context, self.asks.value()).ok();
            self.asks.sent(number, seen);
        }
    }

    /// Asks, and waits.
    fn call(&mut self, context: &mut Context<'_>, patience: Duration, seen: &mut Seen) {
        let value = self.asks.value();
        // A call gives up all that is open.
        self.asks.give_up(seen);
        let answer = match self.end.call_within(context, value, patience) {
            Ok(reply) => Some(Answer::Reply(reply)),
            Err(CallError::Unanswered) => Some(Answer::Unanswered),
            Err(CallError::Full(_)) => {
                self.asks.sent(None, seen);
                return;
            }
            Err(CallError::TimedOut | CallError::Ended) => None,
        };
        self.asks.next += 1;
        seen.calls[self.asks.at].asked += 1;
        match answer {
            Some(answer) => self.asks.closed(value, answer, seen),
            None => {
                self.asks.has_given_up = true;
                seen.calls[self.asks.at].given_up += 1;
            }
        }
    }
}

/// The receiver's end.
pub(crate) struct Answers<'p> {
    end: RequestReader<'p, Value, Long>,
    /// The first lane.
    at: usize,
    /// By caller, the channel of the replies to it.
    replies: Vec<(String, usize)>,
    /// Whether a job may panic with a request in hand.
    panics: Option<Draw>,
}

impl<'p> Answers<'p> {
    /// Of the request whose first lane is at this position.
    pub(crate) fn new(plan: &Plan, at: usize, create: &mut Create<'_, 'p>) -> Result<Self, Error> {
        let request = plan.channels[at].table();
        let own = |channel: &ChannelPlan| channel.answers.as_ref().is_some_and(|own| own.request == *request);
        let channels = plan.channels.iter().enumerate().filter(|(_, channel)| own(channel));
        let replies: Vec<_> = channels.map(|(at, channel)| (channel.readers[0].name.clone(), at)).collect();
        let may_panic = replies.iter().any(|(_, at)| may_panic(plan, &plan.channels[*at]));
        let panics = may_panic.then(|| Draw::new(at as u64 ^ 0xfa11));
        Ok(Self { end: create.request_reader(request)?, at, replies, panics })
    }

    /// Takes all that a job may take, and answers most of it.
    pub(crate) fn in_job(&mut self, job: &mut Job<'_>, seen: &mut Seen) {
        while let Some(request) = self.end.next(job) {
            let value = *request.value();
            seen.take(self.at, &value, true, 0);
            let Some((_, at)) = self.replies.iter().find(|(caller, _)| caller == request.caller()) else {
                seen.wrong(format!("{value:?} is of nobody"));
                continue;
            };
            let calls = &mut seen.calls[*at];
            calls.taken += 1;
            if self.panics.as_mut().is_some_and(|draw| draw.chance(2)) {
                calls.dropped += 1;
                // To the runtime this is a panic; unlike `panic!` it prints no message.
                std::panic::resume_unwind(Box::new(()));
            }
            if !is_answered(&value) {
                calls.dropped += 1;
            } else if request.reply(job, Long::of(value)).is_ok() {
                calls.answered += 1;
            } else {
                seen.wrong(format!("the reply to {value:?} found no room"));
            }
        }
    }
}

/// Whether the task that answers belongs to a service that restarts it.
fn may_panic(plan: &Plan, replies: &ChannelPlan) -> bool {
    let receiver = plan.task(&replies.writer.name).and_then(|task| plan.tasks[task].service.as_ref());
    let service = receiver.and_then(|name| plan.services.iter().find(|service| service.name == *name));
    service.is_some_and(|service| service.on_failure.is_some())
}

/// Whether what the run recorded of replies is what receiver and caller saw, and each request that was taken has one outcome.
pub(crate) fn counted(plan: &Plan, at: usize, run: &Run, seen: &Seen) -> Result<(), String> {
    let replies = &plan.channels[at];
    let caller = &replies.readers[0].name;
    let lanes = replies.answers.as_ref().map_or(Vec::new(), |own| plan.lanes(&own.request));
    let Some((lane, _)) = lanes.iter().find(|(_, lane)| lane.writer.name == *caller) else {
        return Err(format!("`{}` answers no lane", replies.name));
    };
    let of = |subject: usize, kind: Kind| {
        run.records.iter().filter(move |of| of.kind == kind && usize::from(of.subject) == subject)
    };
    let count = |subject, kind| of(subject, kind).count() as u64;
    let (asked, taken) = (count(*lane, Kind::Send), count(*lane, Kind::Receive));
    let (answered, received) = (count(at, Kind::Send), count(at, Kind::Receive));
    let dropped: u64 = of(at, Kind::Drop).map(|record| record.value).sum();
    let calls = &seen.calls[at];
    let error = |what: &str| {
        let recorded =
            format!("{asked} asked, {taken} taken, {answered} answered, {dropped} dropped, {received} came");
        Err(format!("`{}`: {what}: {recorded}; {calls:?}", replies.name))
    };
    if (asked, taken, answered) != (calls.asked, calls.taken, calls.answered) {
        return error("caller and receiver saw something else than the run recorded");
    }
    if dropped != calls.dropped || taken != answered + dropped {
        return error("a request was taken, and neither answered nor recorded as dropped");
    }
    // A call discards the answers to requests that were given up.
    if received < calls.replies || received > calls.replies + calls.given_up {
        return error("the caller got something else than the run recorded");
    }
    let (answers, ended) = (answered + dropped, calls.replies + calls.unanswered);
    if ended > answers || answers - ended > u64::from(replies.capacity) + calls.given_up {
        return error("answers are lost, or came twice");
    }
    Ok(())
}
