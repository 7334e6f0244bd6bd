// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of channels that tasks hold: a protocol of `taut-share`, a stamp on every value, and a trace.

use std::fmt;

use taut_event::Kind;
use taut_lock::Notifier;
use taut_share::queue::qrtr;
use taut_sys::clock;

use crate::Caller;
use crate::locked::Locked;
use crate::payload::{Own, Payload, Stamped};
use crate::state::{StateSlot, StateView};

/// A value that did not fit, returned to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<P>(pub P);

impl<P> fmt::Display for Full<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the channel is full")
    }
}

impl<P: fmt::Debug> std::error::Error for Full<P> {}

/// A value that was not published, returned to the caller: the reader was reading at every attempt, or the caller
/// did not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy<P>(pub P);

impl<P> fmt::Display for Busy<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader was reading at every attempt")
    }
}

impl<P: fmt::Debug> std::error::Error for Busy<P> {}

/// The sending end of a queue: every value arrives, in order. One per channel.
pub struct QueueWriter<'p, P: Payload> {
    pub(crate) ring: qrtr::Writer<'p, Stamped<P>>,
    pub(crate) notifier: Option<Notifier<'p>>,
    pub(crate) channel: u16,
    pub(crate) sequence: u64,
    pub(crate) own: Own<P>,
}

impl<P: Payload> QueueWriter<'_, P> {
    /// Sends a value. Wait-free: the steps of QrtR's `push`, one clock read and, if the value releases a task
    /// that sleeps, one futex wake.
    ///
    /// # Errors
    /// [`Full`] returns the value if the queue is full. The drop of a job's value is recorded; a best-effort task
    /// may try again.
    pub fn send<C: Caller>(&mut self, by: &mut C, value: P) -> Result<(), Full<P>> {
        self.send_from(by, &value).map_err(|Full(())| Full(value))
    }

    /// As [`QueueWriter::send`], but copies the value from where it lies: a large value, of more than a kilobyte,
    /// is not moved on its way.
    ///
    /// # Errors
    /// [`Full`], as [`QueueWriter::send`].
    pub fn send_from<C: Caller>(&mut self, by: &mut C, value: &P) -> Result<(), Full<()>> {
        let sent_ns = clock::monotonic_ns();
        let (event_recorder, job) = by.event_recorder();
        match self.ring.push_from(self.own.set(sent_ns, self.sequence + 1, value)) {
            Ok(()) => {
                self.sequence += 1;
                event_recorder.other(sent_ns, Kind::Send, self.channel, job, self.sequence);
                if let Some(notifier) = &mut self.notifier {
                    notifier.notify();
                }
                Ok(())
            }
            Err(_) => {
                if C::REAL_TIME {
                    event_recorder.other(sent_ns, Kind::Drop, self.channel, job, 1);
                }
                Err(Full(()))
            }
        }
    }
}

/// The receiving end of a queue. One per channel.
pub struct QueueReader<'p, P: Payload> {
    pub(crate) ring: qrtr::Reader<'p, Stamped<P>>,
    pub(crate) channel: u16,
    pub(crate) own: Own<P>,
}

impl<P: Payload> QueueReader<'_, P> {
    /// The oldest value that waits, if there is one. Wait-free: the steps of QrtR's `pop` and one clock read.
    ///
    /// If a client writes nonsense into the queue's words, the queue counts as empty.
    pub fn receive(&mut self, by: &mut impl Caller) -> Option<P> {
        self.receive_ref(by).copied()
    }

    /// As [`QueueReader::receive`], but borrows the value from this end's own copy: a large value, of more than a
    /// kilobyte, is not moved on its way.
    pub fn receive_ref(&mut self, by: &mut impl Caller) -> Option<&P> {
        if self.ring.pop_into(self.own.stamped_mut()) != Ok(true) {
            return None;
        }
        let stamped = self.own.stamped();
        let (event_recorder, _) = by.event_recorder();
        let now_ns = clock::monotonic_ns();
        let (sent_ns, sequence) = (stamped.sent_ns, stamped.sequence);
        event_recorder.other(now_ns, Kind::Receive, self.channel, sequence, now_ns.saturating_sub(sent_ns));
        Some(self.own.value())
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
    /// [`Busy`] returns the value: under SDrtR to a writer that is not real-time, and under a lock to a job that
    /// was killed.
    pub fn publish(&mut self, by: &mut impl Caller, value: P) -> Result<(), Busy<P>> {
        self.publish_from(by, &value).map_err(|Busy(())| Busy(value))
    }

    /// As [`StateWriter::publish`], but copies the value from where it lies: a large value, of more than a
    /// kilobyte, is not moved on its way.
    ///
    /// # Errors
    /// [`Busy`], as [`StateWriter::publish`].
    pub fn publish_from(&mut self, by: &mut impl Caller, value: &P) -> Result<(), Busy<()>> {
        let sent_ns = clock::monotonic_ns();
        let stamped = self.own.set(sent_ns, self.sequence + 1, value);
        let published = match &mut self.slot {
            WritingEnd::Free(slot) => slot.publish(stamped),
            WritingEnd::Locked(locked) if locked.put(by, stamped) => Ok(()),
            WritingEnd::Locked(_) => Err(Busy(())),
        };
        self.sequence += u64::from(published.is_ok());
        let (event_recorder, job) = by.event_recorder();
        match published {
            Ok(()) => event_recorder.other(sent_ns, Kind::Send, self.channel, job, self.sequence),
            Err(_) => event_recorder.other(sent_ns, Kind::Drop, self.channel, job, 1),
        }
        published
    }
}

/// The reading end of a state.
pub struct StateReader<'p, P: Payload> {
    pub(crate) slot: ReadingEnd<'p, P>,
    pub(crate) channel: u16,
    /// The stamp of the value that was recorded last: when it was sent, and its number. Another client counts anew.
    pub(crate) seen: (u64, u64),
    pub(crate) own: Own<P>,
}

impl<P: Payload> StateReader<'_, P> {
    /// The newest value; `None` before the first. Wait-free: the steps of `read` of the channel's mechanism.
    ///
    /// A reader without a place of its own also gets `None` if the writer overtook it at every attempt: a reader
    /// that is not real-time after a thousand (SDrtW, or if it looks on), a real-time reader that is safe by time
    /// after three, which cannot happen while deadlines are met. The first read of each value is recorded.
    pub fn latest(&mut self, by: &mut impl Caller) -> Option<P> {
        self.latest_ref(by).copied()
    }

    /// As [`StateReader::latest`], but borrows the value from this end's own copy: a large value, of more than a
    /// kilobyte, is not moved on its way.
    pub fn latest_ref(&mut self, by: &mut impl Caller) -> Option<&P> {
        let stamped = self.own.stamped_mut();
        let is_there = match &mut self.slot {
            ReadingEnd::Free(slot) => slot.read(stamped) == Ok(true),
            ReadingEnd::Locked(locked) => locked.get(by, stamped),
        };
        if !is_there {
            return None;
        }
        let (sent_ns, sequence) = (stamped.sent_ns, stamped.sequence);
        if (sent_ns, sequence) != self.seen {
            self.seen = (sent_ns, sequence);
            let (event_recorder, _) = by.event_recorder();
            let now_ns = clock::monotonic_ns();
            event_recorder.other(
                now_ns,
                Kind::Receive,
                self.channel,
                sequence,
                now_ns.saturating_sub(sent_ns),
            );
        }
        Some(self.own.value())
    }
}
