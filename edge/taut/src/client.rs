// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The client's side: a process outside of the application.

use std::fmt;

use taut_run::{
    Attachment, ClientBlockReceiver, ClientEnd, ClientRequests, Delivered, EndError, NoValue, Overtaken,
    Payload,
};
use taut_segment::{Error as SegmentError, Role};
use taut_time::Duration;

/// A process that is attached to a running application under one of the manifest's client names. If the manifest gives the client
/// `max-attached`, that many processes may be attached under its name at a time; otherwise one.
///
/// The client may be killed at any instruction: the application notices only that the client's values stop coming.
/// If the application dies, its values stop coming and [`Client::liveness`] says so; then attach anew.
///
/// The ends of channels may outlive the client and move to other threads. The client's name, or its place among several
/// processes of that name, stays taken until the client and all of its ends are dropped.
#[derive(Debug)]
pub struct Client {
    attachment: Attachment,
}

/// Whether the application lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs, or is about to.
    Running,
    /// It runs, but the service of the task that writes this channel is paused or stopped; of an end alone.
    Paused,
    /// It ended in order.
    Ended,
    /// It died.
    Died,
}

impl Liveness {
    fn of(application: taut_segment::Liveness, runs: bool) -> Self {
        match application {
            taut_segment::Liveness::Alive if runs => Self::Running,
            taut_segment::Liveness::Alive => Self::Paused,
            taut_segment::Liveness::Ended => Self::Ended,
            taut_segment::Liveness::Died => Self::Died,
        }
    }
}

/// Why a client cannot attach to an application, or to one of its channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachError {
    why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    Segment(SegmentError),
    End(EndError),
}

/// What to do about an [`AttachError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The application does not run: start it, or wait.
    Start,
    /// Another process has the client's name, or as many processes as may: end one, or wait.
    Release,
    /// The application runs, but did not answer: wait.
    Wait,
    /// Waiting does not help: the program, its arguments, the manifest or a permission must change, as the text
    /// says.
    Change,
}

impl AttachError {
    /// What to do about it.
    pub fn remedy(&self) -> Remedy {
        match &self.why {
            Why::Segment(SegmentError::NotRunning { .. } | SegmentError::Stale { .. }) => Remedy::Start,
            Why::Segment(SegmentError::NameTaken { .. }) => Remedy::Release,
            Why::Segment(SegmentError::NoAnswer { .. } | SegmentError::TurnedAway { .. }) => Remedy::Wait,
            _ => Remedy::Change,
        }
    }
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Segment(error) | Why::End(EndError::Segment(error)) => error.fmt(f),
            Why::End(EndError::Mechanism(channel)) => {
                write!(f, "the application's channel `{channel}` needs another version of taut")
            }
            Why::End(EndError::Twice(channel)) => {
                write!(f, "this process already holds the one end of channel `{channel}` that it may hold")
            }
            Why::End(EndError::Kind { channel, is_queue: true }) => {
                write!(f, "channel `{channel}` is a queue: `Client::receiver` gives its end")
            }
            Why::End(EndError::Kind { channel, is_queue: false }) => {
                write!(f, "channel `{channel}` is a state: `Client::reader` gives its end")
            }
        }
    }
}

impl std::error::Error for AttachError {}

impl Client {
    /// Attaches to the running application `app` as `client`. Waits for at most two seconds, and only if the
    /// application is busy or stopped.
    ///
    /// # Errors
    /// [`AttachError`] says why: the application does not run, the name is taken or unknown, or a permission is
    /// missing.
    pub fn attach(app: &str, client: &str) -> Result<Self, AttachError> {
        match taut_segment::attach(app, client) {
            Ok(attached) => Ok(Self { attachment: Attachment::new(attached) }),
            Err(error) => Err(AttachError { why: Why::Segment(error) }),
        }
    }

    /// Whether the application lives; a system call that does not block.
    pub fn liveness(&self) -> Liveness {
        Liveness::of(self.attachment.attached().alive(), true)
    }

    /// The end of a channel that this client writes. At most one such end exists per channel at a time.
    ///
    /// # Errors
    /// [`AttachError`] if there is no such channel, it carries other values, or its writing end already exists.
    pub fn writer<P: Payload>(&self, channel: &str) -> Result<ClientWriter<P>, AttachError> {
        let end = self.attachment.end(channel, Role::Writes);
        end.map(|end| ClientWriter { end }).map_err(|error| AttachError { why: Why::End(error) })
    }

    /// The end of a state that this client reads, of all its sources. Any number of such ends may exist.
    ///
    /// # Errors
    /// [`AttachError`] if there is no such channel or it carries other values.
    pub fn reader<P: Payload>(&self, channel: &str) -> Result<ClientReader<P>, AttachError> {
        let end = self.attachment.reading_end(channel, false);
        end.map(|end| ClientReader { end }).map_err(|error| AttachError { why: Why::End(error) })
    }

    /// The end of a queue that this client reads. Any number of such ends may exist, each of which takes all values that
    /// are sent after it was made, and before these the `history` of the channel; of a queue that rejects values, one at a time, which goes on where the last one stopped.
    ///
    /// # Errors
    /// [`AttachError`] if there is no such queue, it carries other values, or it has the one end that it may have.
    pub fn receiver<P: Payload>(&self, channel: &str) -> Result<ClientReceiver<P>, AttachError> {
        let end = self.attachment.reading_end(channel, true);
        end.map(|end| ClientReceiver { end }).map_err(|error| AttachError { why: Why::End(error) })
    }

    /// The end of a bulk channel of which this client receives the blocks. At most one such end exists per channel at a time; it
    /// begins after the last block that an end of this client received, with the oldest that waits.
    ///
    /// # Errors
    /// [`AttachError`] if there is no such channel, it carries other values, or its receiving end already exists.
    pub fn block_receiver<P: Payload>(&self, channel: &str) -> Result<ClientBlockReceiver<P>, AttachError> {
        self.attachment.block_receiver(channel).map_err(|error| AttachError { why: Why::End(error) })
    }

    /// The calling end of a request of which this client is a caller: `Q` is asked, `R` is replied. At most one such end exists
    /// per request at a time.
    ///
    /// # Errors
    /// [`AttachError`] if there is no such request, it carries other values, or its calling end already exists.
    pub fn requests<Q: Payload, R: Payload>(
        &self,
        request: &str,
    ) -> Result<ClientRequests<Q, R>, AttachError> {
        self.attachment.requests(request).map_err(|error| AttachError { why: Why::End(error) })
    }
}

/// The end of a channel that a client writes.
#[derive(Debug)]
pub struct ClientWriter<P: Payload> {
    end: ClientEnd<P>,
}

impl<P: Payload> ClientWriter<P> {
    /// Publishes a value. If the application's reader is reading, waits for it, for a bounded number of attempts.
    ///
    /// # Errors
    /// Returns the value if the channel did not take it.
    pub fn publish(&mut self, value: P) -> Result<(), P> {
        self.end.publish(value)
    }

    /// As [`ClientWriter::publish`], but copies the value from where it lies: a large value, of more than a
    /// kilobyte, is not moved on its way. Returns whether the channel took the value.
    pub fn publish_from(&mut self, value: &P) -> bool {
        self.end.publish_from(value)
    }
}

/// The end of a state that a client reads.
#[derive(Debug)]
pub struct ClientReader<P: Payload> {
    end: ClientEnd<P>,
}

impl<P: Payload> ClientReader<P> {
    /// The newest value and its number, counted by the writer from 1; `None` before the first. Of a state with several
    /// sources, the value that was written last; it never gets older than it was.
    ///
    /// # Errors
    /// [`Overtaken`] if the application was writing at each of a thousand attempts.
    pub fn latest(&mut self) -> Result<Option<(u64, P)>, Overtaken> {
        self.end.latest()
    }

    /// Whether the application lives, and the service runs whose task writes the state; of several sources, one of their services. A
    /// system call that does not block. A service that pauses is noticed within some 20 ms.
    pub fn liveness(&self) -> Liveness {
        let (application, runs) = self.end.liveness();
        Liveness::of(application, runs)
    }

    /// As [`ClientReader::latest`], but borrows the value from this end's own copy: a large value, of more than a
    /// kilobyte, is not moved on its way.
    ///
    /// # Errors
    /// As [`ClientReader::latest`].
    pub fn latest_ref(&mut self) -> Result<Option<(u64, &P)>, Overtaken> {
        self.end.latest_ref()
    }

    /// As [`ClientReader::latest_ref`], with the task or client that wrote the value; of a state with one writer, its name is
    /// empty.
    ///
    /// # Errors
    /// As [`ClientReader::latest`].
    pub fn latest_from(&mut self) -> Result<Option<Delivered<'_, &P>>, Overtaken> {
        self.end.latest_from()
    }
}

/// The end of a queue that a client reads.
#[derive(Debug)]
pub struct ClientReceiver<P: Payload> {
    end: ClientEnd<P>,
}

impl<P: Payload> ClientReceiver<P> {
    /// Takes the oldest value that waits. Returns it with its number, counted by the sender from 1; `None` if none waits.
    ///
    /// A queue that drops values when it is full also counts as empty if the application overwrote the value at each of
    /// a thousand attempts to copy it.
    pub fn receive(&mut self) -> Option<(u64, P)> {
        self.end.receive()
    }

    /// As [`ClientReceiver::receive`], but borrows the value from this end's own copy: a large value, of more than a
    /// kilobyte, is not moved on its way.
    pub fn receive_ref(&mut self) -> Option<(u64, &P)> {
        self.end.receive_ref()
    }

    /// As [`ClientReceiver::receive`], but if no value waits, sleeps until one comes, until the application has ended, or
    /// for at most `patience`; `None` if there is no value then.
    ///
    /// If the manifest gives the channel `reception = "wait"`, the sender wakes this client, and the end of the application, in whatever
    /// way, ends the sleep within 10 ms. Otherwise the client looks every millisecond, and the end of the application wakes it.
    pub fn receive_within(&mut self, patience: Duration) -> Option<(u64, P)> {
        self.end.receive_within(patience)
    }

    /// By when the next value must come: at most this long after the last one that this end took, or after this call. `None`, as at
    /// first: any time.
    pub fn set_deadline(&mut self, deadline: Option<Duration>) {
        self.end.set_deadline(deadline);
    }

    /// As [`ClientReceiver::receive_within`], but says what happened if no value comes: the deadline of this end is over, while the
    /// sender's service runs or not, or the application has ended or died. Without a deadline it waits for a value or the application's
    /// end.
    ///
    /// # Errors
    /// [`NoValue`]. After [`NoValue::Overdue`] and [`NoValue::Paused`] the next value is due one deadline later; the values that were
    /// sent before the application's end come before [`NoValue::Ended`] or [`NoValue::Died`].
    pub fn receive_by_deadline(&mut self) -> Result<(u64, P), NoValue> {
        self.end.receive_by_deadline()
    }

    /// Whether the application lives, and the service runs whose task sends. A system call that does not block. A service that pauses
    /// is noticed within some 20 ms.
    pub fn liveness(&self) -> Liveness {
        let (application, runs) = self.end.liveness();
        Liveness::of(application, runs)
    }

    /// How many values this end has lost so far: those that the queue dropped before this end had taken them. This end
    /// learns of them with the next value that it takes.
    pub fn lost(&self) -> u64 {
        self.end.lost()
    }
}
