// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The receiving end of a message. Each sender has a queue of its own, its lane; the receiver takes the next
//! value of all lanes.
//!
//! A lane is QrtR, or QrtWo if its sender drops its oldest values, so every send and every look at a lane takes a
//! bounded number of steps, whatever the other side does; a
//! client that writes nonsense into its lane spoils its lane alone. Lanes of real-time senders come first under any order,
//! so no other sender delays their values by more than the one value that the receiver has just taken.

use std::cmp::Reverse;

use taut_event::Kind;
use taut_plan::{LanePlan, MessageOrder, WholeNumber};
use taut_share::queue::{qrtr, qrtwo};
use zerocopy::IntoBytes;

use crate::endpoint::JobRate;
use crate::job::EventRecorder;
use crate::job::sealed::SealedCaller;
use crate::payload::{Own, Payload, Stamped};
use crate::queue::{URGENT_ATTEMPTS, follow};
use crate::{Job, OneOf};

/// The receiver's end of a lane.
pub(crate) enum LaneQueue<'p, P: Payload> {
    /// Its sender gets back what does not fit.
    Rejecting(qrtr::Reader<'p, Stamped<P>>),
    /// Its sender, which is not real-time, drops its oldest value if it is full.
    Dropping(qrtwo::Reader<'p, Stamped<P>>),
}

impl<P: Payload> LaneQueue<'_, P> {
    /// Takes the oldest value into `value`, and returns how many were dropped before it; `None` if none waits, if a client has
    /// spoiled the queue's words, or if the sender overtook the receiver at each of three attempts.
    #[inline]
    fn pop_into(&mut self, value: &mut Stamped<P>) -> Option<u64> {
        match self {
            Self::Rejecting(queue) => (queue.pop_into(value) == Ok(true)).then_some(0),
            Self::Dropping(queue) => follow(URGENT_ATTEMPTS, || queue.pop_into(value)),
        }
    }

    /// Whether a value waits.
    fn holds_value(&mut self) -> bool {
        match self {
            Self::Rejecting(queue) => queue.read_chunk(1).is_ok_and(|oldest| oldest.iter().next().is_some()),
            Self::Dropping(queue) => !queue.is_empty(),
        }
    }

    /// When the oldest value was sent, by its stamp; `None` if none waits, or if its sender may drop it meanwhile.
    fn oldest_sent_ns(&mut self) -> Option<u64> {
        let Self::Rejecting(queue) = self else { return None };
        queue.read_chunk(1).ok()?.iter().next().map(|stamped| stamped.sent_ns)
    }
}

/// The queue of one sender.
pub(crate) struct ReadLane<'p, P: Payload> {
    pub(crate) queue: LaneQueue<'p, P>,
    pub(crate) channel: u16,
    pub(crate) sender: &'p str,
    /// Whether the sender is a real-time task.
    pub(crate) real_time: bool,
    /// Whether the order goes by the sender's stamps: it is in this process, and drops no value while the receiver looks.
    pub(crate) trusted: bool,
    /// When the receiver saw the oldest value first, of any other sender.
    pub(crate) seen_ns: Option<u64>,
    /// Values of this sender that were dropped since its last value that the receiver got.
    pub(crate) lost: u64,
    /// By place behind the oldest value: whether the receiver has taken that value. Its place is handed back once the oldest
    /// has been taken. As long as the lane, or empty if values are taken in the order of sending.
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
            return self.queue.oldest_sent_ns();
        }
        // A lane whose words the client has spoiled has no value, and holds up no other lane.
        if !self.queue.holds_value() {
            self.seen_ns = None;
            return None;
        }
        Some(*self.seen_ns.get_or_insert(now_ns))
    }

    /// The place of the most urgent waiting value, with its urgency and the instant at which it was sent; of
    /// equals the one that was sent first. `None` if none waits.
    fn most_urgent(&mut self, by: WholeNumber) -> Option<(i128, u64, usize)> {
        // The lane of a real-time sender drops nothing.
        let LaneQueue::Rejecting(queue) = &mut self.queue else { return None };
        let waiting = queue.read_chunk(self.taken.len()).ok()?;
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
        let LaneQueue::Rejecting(queue) = &mut self.queue else { return false };
        let Ok(waiting) = queue.read_chunk(self.taken.len()) else { return false };
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
    /// Values that senders have dropped.
    pub(crate) lost: u64,
    pub(crate) own: Own<P>,
}

/// A value of a message, or of a state, with its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<'r, V> {
    /// The value: borrowed from the receiving end, or one of several payloads.
    pub value: V,
    /// The task or client that sent it.
    pub sender: &'r str,
    /// How many values this sender has dropped since its last value that came: where the manifest says
    /// `overflow = "drop-oldest"`, never of a real-time task, and 0 of a state. What a client does to its lane may
    /// make it any number.
    pub lost: u64,
}

impl<P: Payload> MessageReader<'_, P> {
    /// The next value by the order of the message. `None` if none waits, if this job has taken as many as the
    /// manifest's `takes-per-release` allows, or if it is a job of another task. So a job may call it until
    /// it gives nothing, as the bounds of the plan suppose.
    ///
    /// Wait-free: at most two loads for each sender, the steps of `pop` of QrtR, and one or two reads of the clock; for each
    /// sender that drops its oldest values, at most three attempts at `pop` of QrtWo. Under `specified`, a read of each value of
    /// a real-time sender that waits besides.
    ///
    /// The order holds among values that wait when the job looks. Of one sender, values come in the order of sending, but
    /// under `specified`, where those of a sender that is not real-time do. `fifo` goes by the stamps of the senders.
    /// The receiver does not believe a client's stamps: for it, a client's
    /// value counts as sent when it has seen it, and so does that of a sender that drops its oldest values.
    ///
    /// Of a message that carries several payloads, a client may write a value that is none of them. It is dropped, counted
    /// ([`MessageReader::unknown`]) and recorded as lost; it counts as one of those that the job may take, and the next one is
    /// looked for.
    pub fn next(&mut self, job: &mut Job<'_>) -> Option<Delivered<'_, &P>> {
        let (at, lost) = self.take(job)?;
        Some(Delivered { value: self.own.value(), sender: self.lanes[at].sender, lost })
    }

    /// As [`MessageReader::next`], of a message that carries several payloads.
    pub fn next_one_of<V: OneOf<Stored = P>>(&mut self, job: &mut Job<'_>) -> Option<Delivered<'_, V>> {
        let (at, lost) = self.take(job)?;
        let value = V::from_stored(self.own.value())?;
        Some(Delivered { value, sender: self.lanes[at].sender, lost })
    }

    /// How many values senders have dropped so far, of all that wait for this end: it learns of them with the next value of that
    /// sender.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many values this end has dropped because they were none of the message's payloads. Only a client can send such.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Takes the next value that is one, and returns its lane, and how many values of that lane were dropped before it.
    pub(crate) fn take(&mut self, job: &mut Job<'_>) -> Option<(usize, u64)> {
        let (event_recorder, number) = job.event_recorder();
        // Each turn takes a value, and a job takes a bounded number.
        while self.owner == event_recorder.subject() && self.rate.allows(number) {
            let (at, lost) = self.take_any(event_recorder)?;
            self.rate.count();
            let lane = &mut self.lanes[at];
            let (channel, stamped) = (lane.channel, self.own.stamped());
            let (sent_ns, sequence) = (stamped.sent_ns, stamped.sequence);
            let now_ns = event_recorder.now_ns();
            if lost > 0 {
                lane.lost = lane.lost.saturating_add(lost);
                self.lost = self.lost.saturating_add(lost);
                event_recorder.other(now_ns, Kind::Drop, channel, 0, lost);
            }
            let is_one = P::WORDS.admits(stamped.value_bytes());
            if is_one {
                let latency_ns = now_ns.saturating_sub(sent_ns);
                event_recorder.other(now_ns, Kind::Receive, channel, sequence, latency_ns);
            } else {
                self.unknown = self.unknown.saturating_add(1);
                event_recorder.other(now_ns, Kind::Drop, channel, 0, 1);
            }
            // What is dropped, too: a replay drops it as the run did.
            event_recorder.values().received(now_ns, channel, sequence, lost, stamped.value_bytes());
            if is_one {
                return Some((at, std::mem::take(&mut lane.lost)));
            }
        }
        None
    }

    /// Takes the next value by the order of the message, or as a replayed run has it; records if there is none. Returns its lane,
    /// and how many values of that lane were dropped right before it.
    fn take_any(&mut self, event_recorder: &mut EventRecorder) -> Option<(usize, u64)> {
        // Every lane of a message stands for all of them.
        let first = self.lanes.first().map_or(0, |lane| lane.channel);
        let replayed = event_recorder.values().answer_read(first, self.own.stamped_mut().as_mut_bytes());
        let taken = match (replayed, self.order) {
            (Some(answer), _) => answer.and_then(|given| {
                let at = self.lanes.iter().position(|lane| lane.channel == given.channel)?;
                Some((at, given.lost))
            }),
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
    fn take_first(&mut self) -> Option<(usize, u64)> {
        let stamped = self.own.stamped_mut();
        let mut lanes = self.lanes.iter_mut().enumerate();
        lanes.find_map(|(at, lane)| Some((at, lane.queue.pop_into(stamped)?)))
    }

    /// Takes the value that says that it is the most urgent, of equals the one that was sent first; if no real-time sender has
    /// one, of the first other lane that has.
    fn take_most_urgent(&mut self, by: WholeNumber) -> Option<(usize, u64)> {
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
            Some((.., at, place)) => self.lanes[at].take_at(place, stamped).then_some((at, 0)),
            None => {
                let mut others = self.lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.real_time);
                others.find_map(|(at, lane)| Some((at, lane.queue.pop_into(stamped)?)))
            }
        }
    }

    /// Takes the oldest value: of real-time senders, or if there is none, of the others.
    fn take_oldest(&mut self, now_ns: u64) -> Option<(usize, u64)> {
        // Of equals, the first lane.
        let mut oldest: Option<(bool, u64, usize)> = None;
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(since_ns) = lane.since_ns(now_ns) {
                let this = (!lane.real_time, since_ns, at);
                oldest = Some(oldest.map_or(this, |oldest| oldest.min(this)));
            }
        }
        let (_, _, at) = oldest?;
        let stamped = self.own.stamped_mut();
        if let Some(lost) = self.lanes[at].queue.pop_into(stamped) {
            self.lanes[at].seen_ns = None;
            return Some((at, lost));
        }
        // A client has spoiled its lane, or floods it. The real-time senders have nothing, else theirs had been the oldest.
        let mut others =
            self.lanes.iter_mut().enumerate().filter(|(other, lane)| !lane.real_time && *other != at);
        let taken = others.find_map(|(at, lane)| Some((at, lane.queue.pop_into(stamped)?)));
        taken.inspect(|(at, _)| self.lanes[*at].seen_ns = None)
    }
}
