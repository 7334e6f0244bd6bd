// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A receiver: one job for each value of a channel, and one for each change of its service that it learns of.
//!
//! Jobs of both kinds keep one minimum inter-arrival time, which the analysis charges. A receiver takes a value out
//! of its queue only to receive it: values stay there while the service is paused, and for good once it has
//! stopped. Where a dispatcher schedules, a receiver takes the value of its next job when it asks for that job: if the
//! service stops before the job runs, nobody receives that value either.

use std::error::Error;

use taut_event::Kind;
use taut_lock::Listener;
use taut_plan::Overrun;
use taut_share::queue::qrtr;
use taut_sys::clock;

use crate::Receiver;
use crate::control::{Reason, State};
use crate::job::{Failure, Job};
use crate::lifecycle::{Body, JobContext, notify};
use crate::payload::{Payload, Stamped};

/// A receiver, with the ends on which it waits.
pub(crate) struct ReceiverBody<'p, P: Payload, R> {
    receiver: R,
    ring: qrtr::Reader<'p, Stamped<P>>,
    listener: Listener<'p>,
    channel: u16,
    /// Whether the writer is in this process, so that its stamps and notifications can be trusted.
    trusted: bool,
    /// No job is due before this instant.
    earliest_ns: u64,
    /// Where a dispatcher schedules: the value of the next job.
    taken: Option<Stamped<P>>,
}

/// What the next job of a thread is for.
enum Next<P> {
    Value(Stamped<P>),
    /// The service's state has changed.
    Change,
    /// There is no next job: the application stops.
    End,
}

impl<'p, P: Payload, R: Receiver<P>> ReceiverBody<'p, P, R> {
    pub(crate) fn new(
        receiver: R,
        ring: qrtr::Reader<'p, Stamped<P>>,
        listener: Listener<'p>,
        channel: u16,
        trusted: bool,
    ) -> Self {
        Self { receiver, ring, listener, channel, trusted, earliest_ns: 0, taken: None }
    }

    /// Waits for the cause of the next job, which is not due before `earliest_ns`.
    fn next(&mut self, context: &mut JobContext<'_>) -> Next<P> {
        let service = context.service_listener();
        let (mut earliest_ns, mut rung_in_vain) = (self.earliest_ns, false);
        loop {
            if !context.sleep_until(earliest_ns) {
                return Next::End;
            }
            let changes = service.as_ref().map(|listener| (listener, listener.epoch()));
            if context.change().is_some() {
                return Next::Change;
            }
            let epoch = self.listener.epoch();
            if context.is_running() {
                // If a client writes nonsense into the queue's words, the queue counts as empty.
                if let Ok(Some(stamped)) = self.ring.pop() {
                    return Next::Value(stamped);
                }
                if rung_in_vain && !self.trusted {
                    // A client may notify without end; it gets one wake-up per minimum inter-arrival time, which is
                    // what the analysis charges.
                    earliest_ns = clock::monotonic_ns().saturating_add(context.timing.period_ns);
                    rung_in_vain = false;
                    continue;
                }
            }
            if context.control.stopping() {
                return Next::End;
            }
            match (changes, context.is_running()) {
                (Some(changes), true) => context.wait_for(&[changes, (&self.listener, epoch)]),
                (Some(changes), false) => context.wait_for(&[changes]),
                (None, _) => context.wait_for(&[(&self.listener, epoch)]),
            }
            rung_in_vain = true;
        }
    }

    /// When the job of a value is due that has arrived by `now_ns`.
    fn release_ns(&self, stamped: &Stamped<P>, now_ns: u64) -> u64 {
        let arrival_ns = if self.trusted { stamped.sent_ns.min(now_ns) } else { now_ns };
        arrival_ns.max(self.earliest_ns)
    }

    /// Notes that a job is released at `release_ns`.
    fn released(&mut self, context: &JobContext<'_>, release_ns: u64) {
        let next_ns = release_ns.saturating_add(context.timing.period_ns);
        self.earliest_ns = self.earliest_ns.max(next_ns);
    }

    /// Receives a value, within a job of the job context.
    fn receive(&mut self, job: &mut Job<'_>, now_ns: u64, stamped: Stamped<P>) -> Result<(), Failure> {
        let Stamped { sent_ns, sequence, value } = stamped;
        let latency_ns = now_ns.saturating_sub(sent_ns);
        job.event_recorder.other(now_ns, Kind::Receive, self.channel, sequence, latency_ns);
        self.receiver.receive(job, value)
    }
}

impl<P: Payload, R: Receiver<P>> Body for ReceiverBody<'_, P, R> {
    fn start(&mut self) {
        self.receiver.start();
    }

    fn run(&mut self, context: &mut JobContext<'_>) {
        self.earliest_ns = context.origin_ns;
        let mut number = 0;
        loop {
            let next = self.next(context);
            let now_ns = clock::monotonic_ns();
            let end_ns = match next {
                Next::End => break,
                Next::Value(stamped) => {
                    let release_ns = self.release_ns(&stamped, now_ns);
                    self.released(context, release_ns);
                    context.job(number, release_ns, |job| self.receive(job, now_ns, stamped))
                }
                Next::Change => match context.changed() {
                    Some(State::Stopped) => break,
                    Some(state) => {
                        self.released(context, now_ns);
                        context.job(number, now_ns, |_| {
                            notify(&mut self.receiver, state);
                            Ok(())
                        })
                    }
                    // The state has changed back.
                    None => continue,
                },
            };
            if end_ns > self.earliest_ns && context.timing.on_overrun == Overrun::StopApp {
                context.event_recorder.own(end_ns, Kind::Overrun, number, Overrun::StopApp as u64);
                context.control.stop_because(Reason::Overrun(context.timing.task.into()));
                break;
            }
            number += 1;
        }
        self.stop();
    }

    fn poll(&mut self, context: &JobContext<'_>, now_ns: u64) -> Option<u64> {
        let release_ns = if context.change().is_some() {
            now_ns.max(self.earliest_ns)
        } else if context.is_running() {
            if self.taken.is_none() {
                self.taken = self.ring.pop().ok().flatten();
            }
            self.release_ns(self.taken.as_ref()?, now_ns)
        } else {
            return None;
        };
        self.released(context, release_ns);
        Some(release_ns)
    }

    fn once(&mut self, context: &mut JobContext<'_>, job: &mut taut_exec::Job<'_>) -> bool {
        // The job may have arrived later than `poll` asked for.
        self.released(context, job.arrival().as_ns());
        match context.changed() {
            Some(State::Stopped) => return false,
            // The value that was taken for this job waits for the next one.
            Some(state) => context.dispatched(job, |_| {
                notify(&mut self.receiver, state);
                Ok(())
            }),
            None => {
                if let Some(stamped) = self.taken.take_if(|_| context.is_running()) {
                    context.dispatched(job, |job| self.receive(job, clock::monotonic_ns(), stamped));
                }
            }
        }
        true
    }

    fn stop(&mut self) {
        self.receiver.stop();
    }

    fn finish(&mut self) -> Result<(), Box<dyn Error>> {
        self.receiver.finish()
    }
}
