// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of channels that tasks hold: a protocol of `taut-share`, a stamp on every value, and a trace.

use std::fmt;

use taut_event::{Kind, Refusal};
use taut_lock::Listener;
use taut_share::state::ReaderOvertaken;
use taut_sys::clock;
use taut_time::Duration;
use zerocopy::IntoBytes;

use crate::control::State;
use crate::deadline::{NoValue, ReaderDeadline};
use crate::job::EventRecorder;
use crate::locked::Locked;
use crate::message::Delivered;
use crate::payload::{Own, Payload, Stamped};
use crate::queue::{QueueSlot, QueueView, Wakes};
use crate::sources::{Look, SourceStamps, Sources};
use crate::state::{StateSlot, StateView};
use crate::{Caller, Context, OneOf};

/// How long a best-effort sender waits before it tries again to send into a full queue.
const FULL_PAUSE: Duration = Duration::from_ms(1);
/// How long one of a reader's sleeps lasts at most, if nothing ends it.
const LONG: Duration = Duration::from_ms(1_000);

const TOO_MANY: &str = "the job has sent as many values as the manifest allows";

/// Why a value was not sent; returns the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError<P> {
    /// The queue is full.
    Full(P),
    /// The job has sent as many values as the manifest's `sends-per-release` allows.
    TooMany(P),
}

impl<P> SendError<P> {
    /// The value.
    pub fn into_value(self) -> P {
        match self {
            Self::Full(value) | Self::TooMany(value) => value,
        }
    }

    fn map<Q>(self, value: Q) -> SendError<Q> {
        match self {
            Self::Full(_) => SendError::Full(value),
            Self::TooMany(_) => SendError::TooMany(value),
        }
    }
}

impl<P> fmt::Display for SendError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the queue is full",
            Self::TooMany(_) => TOO_MANY,
        })
    }
}

impl<P: fmt::Debug> std::error::Error for SendError<P> {}

/// Why a value was not published; returns the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishError<P> {
    /// The reader was reading at every attempt, or the caller did not get the lock.
    Busy(P),
    /// The job has published as many values as the manifest's `sends-per-release` allows.
    TooMany(P),
}

impl<P> PublishError<P> {
    /// The value.
    pub fn into_value(self) -> P {
        match self {
            Self::Busy(value) | Self::TooMany(value) => value,
        }
    }

    fn map<Q>(self, value: Q) -> PublishError<Q> {
        match self {
            Self::Busy(_) => PublishError::Busy(value),
            Self::TooMany(_) => PublishError::TooMany(value),
        }
    }
}

impl<P> fmt::Display for PublishError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy(_) => "the reader was reading at every attempt",
            Self::TooMany(_) => TOO_MANY,
        })
    }
}

impl<P: fmt::Debug> std::error::Error for PublishError<P> {}

/// The sending end of a queue: values leave in order. One per channel.
pub struct QueueWriter<'p, P: Payload> {
    pub(crate) slot: QueueSlot<'p, P>,
    pub(crate) wakes: Wakes<'p>,
    pub(crate) channel: u16,
    pub(crate) sequence: u64,
    pub(crate) rate: JobRate,
    pub(crate) own: Own<P>,
}

/// How many values the current job has sent, or taken of a message, and how many it may.
pub(crate) struct JobRate {
    job: Option<u64>,
    sent: u32,
    most: u32,
}

impl JobRate {
    pub(crate) fn new(most: u32) -> Self {
        Self { job: None, sent: 0, most }
    }

    /// Counts a value of the current job.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.sent += 1;
    }

    /// Whether the job may transfer another value.
    #[inline]
    pub(crate) fn allows(&mut self, job: u64) -> bool {
        if self.job != Some(job) {
            (self.job, self.sent) = (Some(job), 0);
        }
        self.sent < self.most
    }
}

impl<P: Payload> QueueWriter<'_, P> {
    /// Sends a value. Wait-free: the steps of `push` of the channel's mechanism, one clock read and, for each party that
    /// sleeps until a value comes, one futex wake.
    ///
    /// A queue that drops values when it is full takes every value.
    ///
    /// # Errors
    /// [`SendError`] returns the value: [`SendError::Full`], if the queue rejects values and is full, and
    /// [`SendError::TooMany`] to a job that has sent as many as the manifest allows. The drop of a job's value is
    /// recorded; a best-effort task may try again.
    pub fn send<C: Caller>(&mut self, by: &mut C, value: P) -> Result<(), SendError<P>> {
        self.send_from(by, &value).map_err(|error| error.map(value))
    }

    /// As [`QueueWriter::send`], but copies the value from where it lies: a large value, of more than a kilobyte,
    /// is not moved on its way.
    ///
    /// # Errors
    /// [`SendError`], as [`QueueWriter::send`].
    pub fn send_from<C: Caller>(&mut self, by: &mut C, value: &P) -> Result<(), SendError<()>> {
        let (event_recorder, job) = by.event_recorder();
        let sent_ns = event_recorder.now_ns();
        if C::REAL_TIME && !self.rate.allows(job) {
            event_recorder.other(sent_ns, Kind::TooMany, self.channel, job, 1);
            event_recorder.values().refused(sent_ns, self.channel, Refusal::TooMany);
            return Err(SendError::TooMany(()));
        }
        let replayed = event_recorder.values().answer_send(self.channel);
        let is_in = replayed.map_or_else(
            || self.slot.push(self.own.set(sent_ns, self.sequence + 1, value)),
            |answer| answer.is_ok(),
        );
        if is_in {
            self.sequence += 1;
            self.rate.count();
            event_recorder.other(sent_ns, Kind::Send, self.channel, job, self.sequence);
            event_recorder.values().sent(sent_ns, self.channel, self.sequence, value.as_bytes());
            self.wakes.notify();
            return Ok(());
        }
        if C::REAL_TIME {
            event_recorder.other(sent_ns, Kind::Drop, self.channel, job, 1);
            event_recorder.values().refused(sent_ns, self.channel, Refusal::Full);
        }
        Err(SendError::Full(()))
    }

    /// As [`QueueWriter::send`], of a message that carries several payloads.
    ///
    /// # Errors
    /// [`SendError`], as [`QueueWriter::send`].
    pub fn send_one_of<C: Caller, V: OneOf<Stored = P>>(
        &mut self,
        by: &mut C,
        value: V,
    ) -> Result<(), SendError<V>> {
        self.send_from(by, &value.to_stored()).map_err(|error| error.map(value))
    }

    /// As [`QueueWriter::send`], but a best-effort task that finds the queue full tries again every millisecond, until the
    /// value is sent or the task is to stop ([`Context::stopping`]).
    ///
    /// # Errors
    /// The task is to stop, and the queue is full: returns the value.
    pub fn send_until_stop(&mut self, context: &mut Context<'_>, value: P) -> Result<(), P> {
        while self.send_from(context, &value).is_err() {
            if !context.sleep(FULL_PAUSE) {
                return Err(value);
            }
        }
        Ok(())
    }
}

/// The receiving end of a queue. One for each of its readers.
pub struct QueueReader<'p, P: Payload> {
    pub(crate) view: QueueView<'p, P>,
    pub(crate) listener: Option<Listener<'p>>,
    pub(crate) channel: u16,
    pub(crate) lost: u64,
    /// The task that the queue releases. The runtime looks at the queue while the task has no job, so the end reads in
    /// its jobs alone.
    pub(crate) owner: Option<u16>,
    /// The task, if it is one of several readers that the recording tells apart.
    pub(crate) of_several: Option<u16>,
    /// The service of the task that sends.
    pub(crate) sender: Option<usize>,
    pub(crate) deadline: Option<ReaderDeadline>,
    pub(crate) own: Own<P>,
}

impl<P: Payload> QueueReader<'_, P> {
    /// The oldest value that waits, if there is one. For a real-time task wait-free: the steps of `pop` of QrtR and one
    /// clock read.
    ///
    /// A real-time reader of a broadcast gets every value that is sent while it takes part: not while its service is paused or
    /// stopped, nor after its component has failed. When it takes part again, it begins with the next value.
    ///
    /// If a client writes nonsense into the queue's words, the queue counts as empty. A queue that drops values when it
    /// is full also counts as empty if its writer overtook the reader at each of a thousand attempts. To anybody but the
    /// jobs of the task that the queue releases, it counts as empty.
    pub fn receive(&mut self, by: &mut impl Caller) -> Option<P> {
        self.receive_ref(by).copied()
    }

    /// As [`QueueReader::receive`], but borrows the value from this end's own copy: a large value, of more than a
    /// kilobyte, is not moved on its way.
    pub fn receive_ref(&mut self, by: &mut impl Caller) -> Option<&P> {
        let (event_recorder, _) = by.event_recorder();
        if self.owner.is_some_and(|owner| owner != event_recorder.subject()) {
            return None;
        }
        let replayed =
            event_recorder.values().answer_read(self.channel, self.own.stamped_mut().as_mut_bytes());
        let popped = match replayed {
            Some(answer) => answer.map(|given| given.lost),
            None => self.view.pop(self.own.stamped_mut()),
        };
        let Some(lost) = popped else {
            if event_recorder.values().logs() {
                event_recorder.values().nothing(event_recorder.now_ns(), self.channel);
            }
            return None;
        };
        let stamped = self.own.stamped();
        let now_ns = event_recorder.now_ns();
        let (sent_ns, sequence) = (stamped.sent_ns, stamped.sequence);
        event_recorder.values().received(now_ns, self.channel, sequence, lost, stamped.value_bytes());
        if lost > 0 {
            self.lost = self.lost.saturating_add(lost);
            record_lost(event_recorder, (self.channel, self.of_several), now_ns, lost);
        }
        let at = (now_ns, now_ns.saturating_sub(sent_ns));
        record_received(event_recorder, (self.channel, self.of_several), sequence, at);
        Some(self.own.value())
    }

    /// As [`QueueReader::receive`], but if no value waits, sleeps until one comes, until the application stops, or for at
    /// most `patience`. `None` if there is no value then.
    ///
    /// If the manifest gives the channel `reception = "wait"`, the sender wakes this reader. Otherwise it looks every
    /// millisecond.
    pub fn receive_within(&mut self, context: &mut Context<'_>, patience: Duration) -> Option<P> {
        let end_ns = clock::monotonic_ns().saturating_add(patience.as_ns());
        loop {
            let epoch = self.listener.as_ref().map(Listener::epoch);
            let changes = context.changes();
            if let Some(value) = self.receive(context) {
                return Some(value);
            }
            if context.stopping() || clock::monotonic_ns() >= end_ns {
                return None;
            }
            context.wait(self.listener.as_ref().zip(epoch), changes.as_ref(), end_ns);
        }
    }

    /// By when a best-effort task must get the next value: at most this long after the last one, or after this call; `None`, as at
    /// first: any time.
    pub fn set_deadline(&mut self, deadline: Option<Duration>) {
        self.deadline = deadline.map(|every| ReaderDeadline::new(every, clock::monotonic_ns()));
    }

    /// As [`QueueReader::receive`], but if no value waits, sleeps until one comes or the deadline of this end is over.
    ///
    /// It looks or is woken as by [`QueueReader::receive_within`].
    ///
    /// # Errors
    /// [`NoValue`] says why no value came: [`NoValue::Ended`] if the task is to stop ([`Context::stopping`]) and no value waits.
    pub fn receive_by_deadline(&mut self, context: &mut Context<'_>) -> Result<P, NoValue> {
        loop {
            let end_ns = self.deadline.as_ref().map_or(u64::MAX, ReaderDeadline::at_ns);
            let is_stopping = context.stopping();
            let left = Duration::from_ns(end_ns.saturating_sub(clock::monotonic_ns()));
            let found = self.receive_within(context, left);
            let now_ns = clock::monotonic_ns();
            if let Some(value) = found {
                self.deadline.iter_mut().for_each(|deadline| deadline.came(now_ns));
                return Ok(value);
            }
            if is_stopping {
                return Err(NoValue::Ended);
            }
            if now_ns >= end_ns {
                self.deadline.iter_mut().for_each(|deadline| deadline.missed(now_ns));
                let state =
                    self.sender.map_or(State::Running, |service| context.control().view(service).state());
                return Err(if state == State::Running { NoValue::Overdue } else { NoValue::Paused });
            }
        }
    }

    /// As [`QueueReader::receive`], but if no value waits, sleeps until one comes or the task is to stop
    /// ([`Context::stopping`]). `None` if it is to stop and no value waits: so this receives what was sent before.
    ///
    /// It looks or is woken as by [`QueueReader::receive_within`].
    pub fn receive_until_stop(&mut self, context: &mut Context<'_>) -> Option<P> {
        loop {
            let is_stopping = context.stopping();
            if let Some(value) = self.receive_within(context, LONG) {
                return Some(value);
            }
            if is_stopping {
                return None;
            }
        }
    }

    /// How many values this reader has lost so far: those that the queue dropped before this reader had taken them. It
    /// learns of them with the next value that it takes.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// Records that a value was received at an instant, so long after it was sent; by which task, if the channel has several
/// readers.
pub(crate) fn record_received(
    event_recorder: &mut EventRecorder,
    (channel, by): (u16, Option<u16>),
    sequence: u64,
    (now_ns, latency_ns): (u64, u64),
) {
    match by {
        None => event_recorder.other(now_ns, Kind::Receive, channel, sequence, latency_ns),
        Some(task) => {
            let word = sequence & (u64::MAX >> 16) | u64::from(task) << 48;
            event_recorder.other(now_ns, Kind::ReceivedBy, channel, word, latency_ns);
        }
    }
}

/// Records that a reader has lost values; which task, if the channel has several readers.
pub(crate) fn record_lost(
    event_recorder: &mut EventRecorder,
    (channel, by): (u16, Option<u16>),
    now_ns: u64,
    values: u64,
) {
    match by {
        None => event_recorder.other(now_ns, Kind::Drop, channel, 0, values),
        Some(task) => event_recorder.other(now_ns, Kind::LostBy, channel, task.into(), values),
    }
}

/// The writing end of a state, without or with a lock.
#[expect(clippy::large_enum_variant, reason = "made once, and never moved on a real-time path")]
pub(crate) enum WritingEnd<'p, P: Payload> {
    /// A protocol without a lock.
    Free(StateSlot<'p, P>),
    Locked(Locked<'p, P>),
}

/// The reading end of a state, without or with a lock.
pub(crate) enum ReadingEnd<'p, P: Payload> {
    Free(StateView<'p, P>),
    Locked(Locked<'p, P>),
}

/// The writing end of a state, of which only the newest value counts. One per channel.
pub struct StateWriter<'p, P: Payload> {
    pub(crate) slot: WritingEnd<'p, P>,
    pub(crate) channel: u16,
    pub(crate) sequence: u64,
    pub(crate) rate: JobRate,
    pub(crate) own: Own<P>,
}

impl<P: Payload> StateWriter<'_, P> {
    /// Publishes a value. Wait-free, and always succeeds: the steps of `write` of the channel's mechanism. The
    /// exception is SDrtR with a writer that is not real-time: the writer waits for the reader to leave, for a
    /// bounded number of attempts.
    ///
    /// The writer of a state under a lock may wait for another job; the plan's bounds include this.
    ///
    /// # Errors
    /// [`PublishError`] returns the value: [`PublishError::Busy`] under SDrtR to a writer that is not real-time, and under
    /// a lock to a job that was killed; [`PublishError::TooMany`] to a job that has published as many values as the
    /// manifest allows, on which the number of buffers may rest.
    pub fn publish<C: Caller>(&mut self, by: &mut C, value: P) -> Result<(), PublishError<P>> {
        self.publish_from(by, &value).map_err(|error| error.map(value))
    }

    /// As [`StateWriter::publish`], but copies the value from where it lies: a large value, of more than a
    /// kilobyte, is not moved on its way.
    ///
    /// # Errors
    /// [`PublishError`], as [`StateWriter::publish`].
    pub fn publish_from<C: Caller>(&mut self, by: &mut C, value: &P) -> Result<(), PublishError<()>> {
        let (event_recorder, job) = by.event_recorder();
        let sent_ns = event_recorder.now_ns();
        if C::REAL_TIME && !self.rate.allows(job) {
            event_recorder.other(sent_ns, Kind::TooMany, self.channel, job, 1);
            event_recorder.values().refused(sent_ns, self.channel, Refusal::TooMany);
            return Err(PublishError::TooMany(()));
        }
        let replayed = event_recorder.values().answer_send(self.channel);
        let stamped = self.own.set(sent_ns, self.sequence + 1, value);
        let is_published = match (replayed, &mut self.slot) {
            (Some(answer), _) => answer.is_ok(),
            (None, WritingEnd::Free(slot)) => slot.publish(stamped),
            (None, WritingEnd::Locked(locked)) => locked.put(by, stamped),
        };
        let (event_recorder, job) = by.event_recorder();
        if !is_published {
            event_recorder.other(sent_ns, Kind::Drop, self.channel, job, 1);
            event_recorder.values().refused(sent_ns, self.channel, Refusal::Full);
            return Err(PublishError::Busy(()));
        }
        self.sequence += 1;
        self.rate.count();
        event_recorder.other(sent_ns, Kind::Send, self.channel, job, self.sequence);
        event_recorder.values().sent(sent_ns, self.channel, self.sequence, value.as_bytes());
        Ok(())
    }
}

/// What a reader has of one writer of a state.
pub(crate) struct StateSource<'p, P: Payload> {
    pub(crate) end: ReadingEnd<'p, P>,
    pub(crate) channel: u16,
    /// The writer.
    pub(crate) name: &'p str,
}

/// How a task looks at the sources of a state.
struct Looking<'c, C>(&'c mut C);

impl<'p, C: Caller, P: Payload> Look<StateSource<'p, P>, P> for Looking<'_, C> {
    #[inline]
    fn read(
        &mut self,
        source: &mut StateSource<'p, P>,
        place: &mut Stamped<P>,
    ) -> Result<bool, ReaderOvertaken> {
        match &mut source.end {
            ReadingEnd::Free(slot) => slot.read(place),
            ReadingEnd::Locked(locked) => Ok(locked.get(self.0, place)),
        }
    }

    fn now_ns(&mut self) -> u64 {
        self.0.event_recorder().0.now_ns()
    }
}

/// The reading end of a state, of all its sources.
pub struct StateReader<'p, P: Payload> {
    sources: Sources<StateSource<'p, P>, P>,
    /// The value that was recorded last: when it was sent, its number, and its source. Another client counts anew.
    seen: (u64, u64, usize),
    own: Own<P>,
}

impl<'p, P: Payload> StateReader<'p, P> {
    pub(crate) fn new(sources: Vec<(StateSource<'p, P>, SourceStamps)>) -> Self {
        Self { sources: Sources::new(sources), seen: (0, 0, 0), own: Own::new() }
    }

    /// The newest value; `None` before the first. Wait-free: the steps of `read` of the channel's mechanism.
    ///
    /// A reader without a place of its own also gets `None` if the writer overtook it at every attempt: a reader
    /// that is not real-time after a thousand (SDrtW, or if it looks on), a real-time reader that is safe by time
    /// after three, which cannot happen while deadlines are met. The first read of each value is recorded.
    ///
    /// Of a state with several sources it is the value that was written last, of all that are written when the read begins: one
    /// read of each source, and a clock read for each new value of a client. Of one instant, the source that the manifest names
    /// first counts as the later. It never gets older than it was. What a source wrote last stays when the source has ended.
    ///
    /// That it is the newest holds only for sources that were read. One whose writer overtook a reader without a place at every
    /// attempt, or whose lock the reader did not get, is left out of this read, and may hold a newer value: the reader gets the
    /// newest of the others, or `None` if that would be older than what it had.
    pub fn latest(&mut self, by: &mut impl Caller) -> Option<P> {
        self.latest_ref(by).copied()
    }

    /// As [`StateReader::latest`], but borrows the value from this end's own copy: a large value, of more than a
    /// kilobyte, is not moved on its way.
    pub fn latest_ref(&mut self, by: &mut impl Caller) -> Option<&P> {
        self.read(by).map(|_| self.own.value())
    }

    /// As [`StateReader::latest_ref`], with the task or client that wrote the value.
    pub fn latest_from(&mut self, by: &mut impl Caller) -> Option<Delivered<'_, &P>> {
        let place = self.read(by)?;
        Some(Delivered { value: self.own.value(), sender: self.sources.end(place).name, lost: 0 })
    }

    /// Copies the newest value to the end's own place, and returns the place of its source.
    fn read(&mut self, by: &mut impl Caller) -> Option<usize> {
        let (event_recorder, _) = by.event_recorder();
        // The first source stands for all of them.
        let first = self.sources.end(0).channel;
        let replayed = event_recorder.values().answer_read(first, self.own.stamped_mut().as_mut_bytes());
        let found = match replayed {
            Some(answer) => {
                answer.and_then(|given| self.sources.ends().position(|end| end.channel == given.channel))
            }
            None => self.sources.read(&mut self.own, &mut Looking(by)).ok().flatten(),
        };
        let (event_recorder, _) = by.event_recorder();
        let Some(place) = found else {
            if event_recorder.values().logs() {
                event_recorder.values().nothing(event_recorder.now_ns(), first);
            }
            return None;
        };
        let (channel, stamped) = (self.sources.end(place).channel, self.own.stamped());
        let (sent_ns, sequence) = (stamped.sent_ns, stamped.sequence);
        if !event_recorder.values().is_unrecorded() {
            let now_ns = event_recorder.now_ns();
            event_recorder.values().received(now_ns, channel, sequence, 0, stamped.value_bytes());
        }
        if (sent_ns, sequence, place) != self.seen {
            self.seen = (sent_ns, sequence, place);
            let now_ns = event_recorder.now_ns();
            event_recorder.other(now_ns, Kind::Receive, channel, sequence, now_ns.saturating_sub(sent_ns));
        }
        Some(place)
    }
}
