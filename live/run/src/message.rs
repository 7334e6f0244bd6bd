// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The receiving end of a message. Each sender has a queue of its own, its lane; the receiver takes the next
//! value of all lanes.
//!
//! A lane is QrtR, so every send and every look at a lane takes a bounded number of steps, whatever the other side does; a
//! client that writes nonsense into its lane spoils its lane alone. Lanes of real-time senders come first under any order,
//! so no other sender delays their values by more than the one value that the receiver has just taken.

use std::cmp::Reverse;

use taut_event::Kind;
use taut_plan::{LanePlan, MessageOrder, WholeNumber};
use taut_share::queue::qrtr;
use zerocopy::IntoBytes;

use crate::endpoint::JobRate;
use crate::job::EventRecorder;
use crate::job::sealed::SealedCaller;
use crate::payload::{Own, Payload, Stamped};
use crate::{Job, OneOf};

/// The queue of one sender.
pub(crate) struct ReadLane<'p, P: Payload> {
    pub(crate) queue: qrtr::Reader<'p, Stamped<P>>,
    pub(crate) channel: u16,
    pub(crate) sender: &'p str,
    /// Whether the sender is a real-time task.
    pub(crate) real_time: bool,
    /// Whether the sender is in this process, so that its stamps can be trusted.
    pub(crate) trusted: bool,
    /// When the receiver saw the oldest value first, of a sender whose stamps it does not trust.
    pub(crate) seen_ns: Option<u64>,
    /// Whether the receiver has taken a value, by its place counted from the oldest one. A place is handed
    /// back once all older values have been taken. One entry for each place of the lane; empty if values are
    /// taken in the order of sending.
    pub(crate) taken: Vec<bool>,
}

/// Which value comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Sender,
    Fifo,
    /// By this number of a value.
    Specified(WholeNumber),
}

impl Order {
    /// The order of a lane; `None` if the plan does not say by which number.
    pub(crate) fn of(lane: &LanePlan, layout: &str) -> Option<Self> {
        Some(match lane.order {
            MessageOrder::Sender => Self::Sender,
            MessageOrder::Fifo => Self::Fifo,
            MessageOrder::Specified => Self::Specified(WholeNumber::in_layout(layout, lane.by.as_ref()?)?),
            // Alarms have an end of their own.
            MessageOrder::Instant => return None,
        })
    }
}

impl<P: Payload> ReadLane<'_, P> {
    /// When the oldest value was sent, or seen; `None` if none waits.
    fn since_ns(&mut self, now_ns: u64) -> Option<u64> {
        if self.trusted {
            let oldest = self.queue.read_chunk(1).ok()?;
            return oldest.iter().next().map(|stamped| stamped.sent_ns);
        }
        // A lane whose words the client has spoiled has no value, and holds up no other lane.
        let waits = self.queue.read_chunk(1).is_ok_and(|oldest| oldest.iter().next().is_some());
        if !waits {
            self.seen_ns = None;
            return None;
        }
        Some(*self.seen_ns.get_or_insert(now_ns))
    }

    /// The place of the most urgent waiting value, with its urgency and the instant at which it was sent; of
    /// equals the one that was sent first. `None` if none waits.
    fn most_urgent(&mut self, by: WholeNumber) -> Option<(i128, u64, usize)> {
        let waiting = self.queue.read_chunk(self.taken.len()).ok()?;
        let mut most: Option<(i128, u64, usize)> = None;
        for (place, (stamped, taken)) in waiting.iter().zip(&self.taken).enumerate() {
            let urgency = by.read(stamped.value_bytes());
            if let Some(urgency) = urgency.filter(|_| !taken)
                && most.is_none_or(|(before, ..)| before < urgency)
            {
                most = Some((urgency, stamped.sent_ns, place));
            }
        }
        most
    }

    /// Takes the value at `place`, and hands back the places of the oldest values that have been taken.
    fn take_at(&mut self, place: usize, to: &mut Stamped<P>) -> bool {
        let Ok(waiting) = self.queue.read_chunk(self.taken.len()) else { return false };
        let Some(value) = waiting.iter().nth(place) else { return false };
        taut_share::copy(value, to);
        self.taken[place] = true;
        let done = self.taken.iter().take_while(|taken| **taken).count();
        waiting.commit(done);
        self.taken.copy_within(done.., 0);
        let rest = self.taken.len() - done;
        self.taken[rest..].fill(false);
        true
    }
}

/// The receiving end of a message. One per message.
pub struct MessageReader<'p, P: Payload> {
    /// In the order of the plan: real-time senders first, the most urgent of them first.
    pub(crate) lanes: Vec<ReadLane<'p, P>>,
    pub(crate) order: Order,
    /// What the current job has taken.
    pub(crate) rate: JobRate,
    /// The receiving task: only its jobs read, because the runtime may look at the lanes while it has none.
    pub(crate) owner: u16,
    /// Values that were none of the message's payloads.
    pub(crate) unknown: u64,
    pub(crate) own: Own<P>,
}

/// A value of a message, or of a state, with its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<'r, V> {
    /// The value: borrowed from the receiving end, or one of several payloads.
    pub value: V,
    /// The task or client that sent it.
    pub sender: &'r str,
}

impl<P: Payload> MessageReader<'_, P> {
    /// The next value by the order of the message. `None` if none waits, if this job has taken as many as the
    /// manifest's `takes-per-release` allows, or if it is a job of another task. So a job may call it until
    /// it gives nothing, as the bounds of the plan suppose.
    ///
    /// Wait-free: at most two loads for each sender, the steps of `pop` of QrtR, and one or two reads of the
    /// clock; under `specified` also a read of each value of a real-time sender that waits.
    ///
    /// The order holds among values that wait when the job looks. Of one sender, values come in the order of sending, but
    /// under `specified`, where those of a sender that is not real-time do. `fifo` goes by the stamps of the senders. The receiver does not believe a client's stamps: for it, a client's
    /// value counts as sent when it has seen it.
    ///
    /// Of a message that carries several payloads, a client may write a value that is none of them. It is dropped, counted
    /// ([`MessageReader::unknown`]) and recorded as lost; it counts as one of those that the job may take, and the next one is
    /// looked for.
    pub fn next(&mut self, job: &mut Job<'_>) -> Option<Delivered<'_, &P>> {
        let at = self.take(job)?;
        Some(Delivered { value: self.own.value(), sender: self.lanes[at].sender })
    }

    /// As [`MessageReader::next`], of a message that carries several payloads.
    pub fn next_one_of<V: OneOf<Stored = P>>(&mut self, job: &mut Job<'_>) -> Option<Delivered<'_, V>> {
        let at = self.take(job)?;
        let value = V::from_stored(self.own.value())?;
        Some(Delivered { value, sender: self.lanes[at].sender })
    }

    /// How many values this end has dropped because they were none of the message's payloads. Only a client can send such.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Takes the next value that is one, and returns its lane.
    fn take(&mut self, job: &mut Job<'_>) -> Option<usize> {
        let (event_recorder, number) = job.event_recorder();
        // Each turn takes a value, and a job takes a bounded number.
        while self.owner == event_recorder.subject() && self.rate.allows(number) {
            let at = self.take_any(event_recorder)?;
            self.rate.count();
            let (channel, stamped) = (self.lanes[at].channel, self.own.stamped());
            let (sent_ns, sequence) = (stamped.sent_ns, stamped.sequence);
            let now_ns = event_recorder.now_ns();
            let is_one = P::WORDS.admits(stamped.value_bytes());
            if is_one {
                let latency_ns = now_ns.saturating_sub(sent_ns);
                event_recorder.other(now_ns, Kind::Receive, channel, sequence, latency_ns);
            } else {
                self.unknown = self.unknown.saturating_add(1);
                event_recorder.other(now_ns, Kind::Drop, channel, 0, 1);
            }
            // What is dropped, too: a replay drops it as the run did.
            event_recorder.values().received(now_ns, channel, sequence, 0, stamped.value_bytes());
            if is_one {
                return Some(at);
            }
        }
        None
    }

    /// Takes the next value by the order of the message, or as a replayed run has it; records if there is none.
    fn take_any(&mut self, event_recorder: &mut EventRecorder) -> Option<usize> {
        // Every lane of a message stands for all of them.
        let first = self.lanes.first().map_or(0, |lane| lane.channel);
        let replayed = event_recorder.values().answer_read(first, self.own.stamped_mut().as_mut_bytes());
        let taken = match (replayed, self.order) {
            (Some(answer), _) => {
                answer.and_then(|given| self.lanes.iter().position(|lane| lane.channel == given.channel))
            }
            (None, Order::Sender) => self.take_first(),
            (None, Order::Fifo) => self.take_oldest(event_recorder.now_ns()),
            (None, Order::Specified(by)) => self.take_most_urgent(by),
        };
        if taken.is_none() && event_recorder.values().logs() {
            event_recorder.values().nothing(event_recorder.now_ns(), first);
        }
        taken
    }

    /// Takes a value of the first lane that has one. A lane whose words a client has spoiled has none.
    fn take_first(&mut self) -> Option<usize> {
        let stamped = self.own.stamped_mut();
        self.lanes.iter_mut().position(|lane| lane.queue.pop_into(stamped) == Ok(true))
    }

    /// Takes the most urgent value of the real-time senders, of equals the one that was sent first; if they
    /// have none, the oldest value of the first other lane that has one.
    fn take_most_urgent(&mut self, by: WholeNumber) -> Option<usize> {
        let mut most: Option<(i128, Reverse<u64>, usize, usize)> = None;
        for (at, lane) in self.lanes.iter_mut().enumerate().take_while(|(_, lane)| lane.real_time) {
            if let Some((urgency, sent_ns, place)) = lane.most_urgent(by) {
                let before = most.map(|(urgency, sent_ns, ..)| (urgency, sent_ns));
                if before < Some((urgency, Reverse(sent_ns))) {
                    most = Some((urgency, Reverse(sent_ns), at, place));
                }
            }
        }
        let stamped = self.own.stamped_mut();
        match most {
            Some((.., at, place)) => self.lanes[at].take_at(place, stamped).then_some(at),
            None => self
                .lanes
                .iter_mut()
                .position(|lane| !lane.real_time && lane.queue.pop_into(stamped) == Ok(true)),
        }
    }

    /// Takes the oldest value of the real-time senders; if they have none, of the others.
    fn take_oldest(&mut self, now_ns: u64) -> Option<usize> {
        // Of equals, the first lane.
        let mut oldest: Option<(bool, u64, usize)> = None;
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(since_ns) = lane.since_ns(now_ns) {
                let this = (!lane.real_time, since_ns, at);
                oldest = Some(oldest.map_or(this, |oldest| oldest.min(this)));
            }
        }
        let (_, _, at) = oldest?;
        self.lanes[at].seen_ns = None;
        (self.lanes[at].queue.pop_into(self.own.stamped_mut()) == Ok(true)).then_some(at)
    }
}
