// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A message and an alarm to one receiver, under the names that Android gives them.
//!
//! Android's `Handler` puts a message into the queue of a thread's `Looper`, at once or for a later instant, and the looper calls
//! the handler's `handleMessage`. Here the queue is a channel of kind `message`, the later instants are one of kind `alarm`,
//! and the thread is the task that both release. So everything is bounded as those two channels are, and a message comes in
//! the order of its channel: that of the senders' urgency, of sending, or of a field.
//!
//! Progress: [`Handler::send_message`] is [`QueueWriter::send`], the calls for later instants are [`AlarmSetter::set`], removal is
//! [`AlarmSetter::cancel`]; a job of [`Looper`] takes what [`MessageReader::next`] and [`AlarmReader::next`] give.

use std::fmt;

use taut_time::{Duration, Instant};

use crate::alarm::{AlarmReader, AlarmRefused, AlarmSetter, AlarmToken};
use crate::endpoint::{QueueWriter, SendError};
use crate::job::{Caller, Failure, Job};
use crate::message::MessageReader;
use crate::payload::Payload;
use crate::{Cancellation, Component, Create, Error, Task};

/// The sending end of a message and of an alarm to the same receiver, of one type. One for each sender.
pub struct Handler<'p, P: Payload> {
    messages: QueueWriter<'p, P>,
    later: AlarmSetter<'p, P>,
}

impl<P: Payload> fmt::Debug for Handler<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").finish_non_exhaustive()
    }
}

impl<'p, P: Payload> Handler<'p, P> {
    /// Makes the sender's ends of a message and of an alarm of the manifest.
    ///
    /// # Errors
    /// As [`Create::queue_writer`] and [`Create::alarm_setter`].
    pub fn new(create: &mut Create<'_, 'p>, message: &str, alarm: &str) -> Result<Self, Error> {
        Ok(Self { messages: create.queue_writer(message)?, later: create.alarm_setter(alarm)? })
    }

    /// Sends a message, to be handled in the next job of the receiver.
    ///
    /// # Errors
    /// As [`QueueWriter::send`]; never to a real-time sender that keeps to its rate.
    pub fn send_message<C: Caller>(&mut self, by: &mut C, message: P) -> Result<(), SendError<P>> {
        self.messages.send(by, message)
    }

    /// Sends a message that is to be handled at an instant.
    ///
    /// # Errors
    /// As [`AlarmSetter::set`].
    pub fn send_message_at_time<C: Caller>(
        &mut self,
        by: &mut C,
        message: P,
        at: Instant,
    ) -> Result<AlarmToken, AlarmRefused<P>> {
        self.later.set(by, at, message)
    }

    /// Sends a message that is to be handled after a delay from now on. Reads the clock once more than
    /// [`AlarmSetter::set`]. A message whose instant is beyond the end of the clock is never due.
    ///
    /// # Errors
    /// As [`AlarmSetter::set`].
    pub fn send_message_delayed<C: Caller>(
        &mut self,
        by: &mut C,
        message: P,
        delay: Duration,
    ) -> Result<AlarmToken, AlarmRefused<P>> {
        let now = by.event_recorder().0.read_clock();
        self.later.set(by, now.checked_add(delay).unwrap_or(Instant::from_ns(u64::MAX)), message)
    }

    /// Removes a message that was sent for a later instant, and says whether the receiver will handle it.
    pub fn remove_message(&mut self, by: &mut impl Caller, token: AlarmToken) -> Cancellation {
        self.later.cancel(by, token)
    }
}

/// Handles the messages that [`Handler`]s send.
pub trait MessageHandler<P>: Component {
    /// Handles a message of a sender: a task, a best-effort task or a client.
    ///
    /// # Errors
    /// [`Failure`] ends the job. The messages that it has not taken wait for the next one.
    fn handle_message(&mut self, job: &mut Job<'_>, message: &P, sender: &str) -> Result<(), Failure>;
}

/// The task that a message and an alarm release: each job handles what is due, the earliest instant first, and then the
/// messages that wait, no more of either than the manifest's `takes-per-release`.
pub struct Looper<'p, P: Payload, H> {
    messages: MessageReader<'p, P>,
    later: AlarmReader<'p, P>,
    handler: H,
}

impl<P: Payload, H: fmt::Debug> fmt::Debug for Looper<'_, P, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Looper").field("handler", &self.handler).finish_non_exhaustive()
    }
}

impl<'p, P: Payload, H: MessageHandler<P>> Looper<'p, P, H> {
    /// Makes the receiver's ends of a message and of an alarm of the manifest.
    ///
    /// # Errors
    /// As [`Create::message_reader`] and [`Create::alarm_reader`].
    pub fn new(create: &mut Create<'_, 'p>, message: &str, alarm: &str, handler: H) -> Result<Self, Error> {
        Ok(Self { messages: create.message_reader(message)?, later: create.alarm_reader(alarm)?, handler })
    }
}

impl<P: Payload, H: MessageHandler<P>> Component for Looper<'_, P, H> {
    fn start(&mut self) {
        self.handler.start();
    }

    fn pause(&mut self) {
        self.handler.pause();
    }

    fn resume(&mut self) {
        self.handler.resume();
    }

    fn stop(&mut self) {
        self.handler.stop();
    }

    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        self.handler.finish()
    }

    fn reset(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.handler.reset(job)
    }
}

impl<P: Payload, H: MessageHandler<P>> Task for Looper<'_, P, H> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(due) = self.later.next(job) {
            self.handler.handle_message(job, due.value, due.setter)?;
        }
        while let Some(message) = self.messages.next(job) {
            self.handler.handle_message(job, message.value, message.sender)?;
        }
        Ok(())
    }
}
