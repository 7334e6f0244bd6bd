// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of channels, as tasks hold them: a protocol of `taut-share`, a stamp on every value, and a trace.

use std::fmt;

use taut_event::Kind;
use taut_lock::Ringer;
use taut_share::queue::qrtr;
use taut_sys::clock;

use crate::Caller;
use crate::locked::Locked;
use crate::payload::{Own, Payload, Stamped};
use crate::state::{StateSlot, StateView};

/// A value that did not fit, given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<P>(pub P);

impl<P> fmt::Display for Full<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the channel is full")
    }
}

impl<P: fmt::Debug> std::error::Error for Full<P> {}

/// A value was not published because the reader was in the way every time; given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy<P>(pub P);

impl<P> fmt::Display for Busy<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader was inside at every attempt")
    }
}

impl<P: fmt::Debug> std::error::Error for Busy<P> {}

/// The sending end of a queue: every value arrives, in order. One per channel.
pub struct QueueWriter<'p, P: Payload> {
    pub(crate) ring: qrtr::Writer<'p, Stamped<P>>,
    pub(crate) bell: Option<Ringer<'p>>,
    pub(crate) channel: u16,
    pub(crate) sequence: u64,
    pub(crate) own: Own<P>,
}

impl<P: Payload> QueueWriter<'_, P> {
    /// Sends a value. Wait-free: the steps of QrtR's `push`, one clock read and, if the value releases a task
    /// that sleeps, one futex wake.
    ///
    /// # Errors
    /// [`Full`] gives the value back if as many wait as fit. Of a job that is traced as a drop; a best-effort task
    /// may try again.
    pub fn send<C: Caller>(&mut self, by: &mut C, value: P) -> Result<(), Full<P>> {
        self.send_from(by, &value).map_err(|Full(())| Full(value))
    }

    /// [`QueueWriter::send`] of a value that is copied from where it lies: a large one, of more than a kilobyte, is not
    /// moved on its way.
    ///
    /// # Errors
    /// [`Full`], as there.
    pub fn send_from<C: Caller>(&mut self, by: &mut C, value: &P) -> Result<(), Full<()>> {
        let sent_ns = clock::monotonic_ns();
        let (scribe, job) = by.scribe();
        match self.ring.push_from(self.own.set(sent_ns, self.sequence + 1, value)) {
            Ok(()) => {
                self.sequence += 1;
                scribe.other(sent_ns, Kind::Send, self.channel, job, self.sequence);
                if let Some(bell) = &mut self.bell {
                    bell.ring();
                }
                Ok(())
            }
            Err(_) => {
                if C::REAL_TIME {
                    scribe.other(sent_ns, Kind::Drop, self.channel, job, 1);
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
    /// A client that writes nonsense into the queue's words is a queue without values.
    pub fn receive(&mut self, by: &mut impl Caller) -> Option<P> {
        self.receive_ref(by).copied()
    }

    /// [`QueueReader::receive`], lent out of this end's own copy: a large value, of more than a kilobyte, is not moved
    /// on its way.
    pub fn receive_ref(&mut self, by: &mut impl Caller) -> Option<&P> {
        if self.ring.pop_into(self.own.stamped_mut()) != Ok(true) {
            return None;
        }
        let stamped = self.own.stamped();
        let (scribe, _) = by.scribe();
        let now_ns = clock::monotonic_ns();
        let (sent_ns, sequence) = (stamped.sent_ns, stamped.sequence);
        scribe.other(now_ns, Kind::Receive, self.channel, sequence, now_ns.saturating_sub(sent_ns));
        Some(self.own.value())
    }
}

/// What writes a state.
#[expect(clippy::large_enum_variant, reason = "made once, and never moved on a real-time path")]
pub(crate) enum WritingEnd<'p, P: Payload> {
    /// Waits for nobody.
    Free(StateSlot<'p, P>),
    Locked(Locked<'p, P>),
}

/// What reads a state.
pub(crate) enum ReadingEnd<'p, P: Payload> {
    Free(StateView<'p, P>),
    Locked(Locked<'p, P>),
}

/// The writing end of a state: the newest value counts. One per channel.
pub struct StateWriter<'p, P: Payload> {
    pub(crate) slot: WritingEnd<'p, P>,
    pub(crate) channel: u16,
    pub(crate) sequence: u64,
    pub(crate) own: Own<P>,
}

impl<P: Payload> StateWriter<'_, P> {
    /// Publishes a value. Wait-free, and always succeeds: the steps of `write` of the channel's mechanism. Of a writer
    /// that is not real-time SDrtR is the exception: it waits for the reader to leave, for a bounded number of
    /// attempts.
    ///
    /// Of a state under a lock it may wait for another job, as the plan's bounds count with.
    ///
    /// # Errors
    /// [`Busy`] gives the value back to a writer that is not real-time, by SDrtR, and to a job that was told to end, under
    /// a lock.
    pub fn publish(&mut self, by: &mut impl Caller, value: P) -> Result<(), Busy<P>> {
        self.publish_from(by, &value).map_err(|Busy(())| Busy(value))
    }

    /// [`StateWriter::publish`] of a value that is copied from where it lies: a large one, of more than a kilobyte, is
    /// not moved on its way.
    ///
    /// # Errors
    /// [`Busy`], as there.
    pub fn publish_from(&mut self, by: &mut impl Caller, value: &P) -> Result<(), Busy<()>> {
        let sent_ns = clock::monotonic_ns();
        let stamped = self.own.set(sent_ns, self.sequence + 1, value);
        let published = match &mut self.slot {
            WritingEnd::Free(slot) => slot.publish(stamped),
            WritingEnd::Locked(locked) if locked.put(by, stamped) => Ok(()),
            WritingEnd::Locked(_) => Err(Busy(())),
        };
        self.sequence += u64::from(published.is_ok());
        let (scribe, job) = by.scribe();
        match published {
            Ok(()) => scribe.other(sent_ns, Kind::Send, self.channel, job, self.sequence),
            Err(_) => scribe.other(sent_ns, Kind::Drop, self.channel, job, 1),
        }
        published
    }
}

/// The reading end of a state.
pub struct StateReader<'p, P: Payload> {
    pub(crate) slot: ReadingEnd<'p, P>,
    pub(crate) channel: u16,
    /// When the value that was traced last was sent, and its number: another client counts anew.
    pub(crate) seen: (u64, u64),
    pub(crate) own: Own<P>,
}

impl<P: Payload> StateReader<'_, P> {
    /// The newest value; `None` before the first. Wait-free: the steps of `read` of the channel's mechanism.
    ///
    /// One that has no place of its own gets `None` too if it was overtaken at every attempt: a reader that is not
    /// real-time after a thousand (SDrtW, or if it looks on), and a real-time one that is safe by time, which cannot
    /// happen while deadlines are met, after three. The first read of a value is traced.
    pub fn latest(&mut self, by: &mut impl Caller) -> Option<P> {
        self.latest_ref(by).copied()
    }

    /// [`StateReader::latest`], lent out of this end's own copy: a large value, of more than a kilobyte, is not moved on
    /// its way.
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
            let (scribe, _) = by.scribe();
            let now_ns = clock::monotonic_ns();
            scribe.other(now_ns, Kind::Receive, self.channel, sequence, now_ns.saturating_sub(sent_ns));
        }
        Some(self.own.value())
    }
}
