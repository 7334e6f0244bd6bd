// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A receiver: a job for each value of a channel, and one for each change of its service that it hears of.
//!
//! Both have the same least gap between them, which is what the analysis charges. A value is taken out of its queue only to be
//! received: while the service is paused, and for good when it has stopped, values stay there.

use std::error::Error;

use taut_event::Kind;
use taut_lock::Listener;
use taut_plan::Overrun;
use taut_share::queue::qrtr;
use taut_sys::clock;

use crate::Receiver;
use crate::control::{Reason, State};
use crate::job::{Failure, Job};
use crate::payload::{Payload, Stamped};
use crate::stage::{Body, Stage, tell};

/// A receiver, with what it waits for.
pub(crate) struct ReceiverBody<'p, P: Payload, R> {
    receiver: R,
    ring: qrtr::Reader<'p, Stamped<P>>,
    bell: Listener<'p>,
    channel: u16,
    /// Whether the writer is of this process: its stamps and its rings mean what they say.
    trusted: bool,
    /// Before that no job is due.
    earliest_ns: u64,
    /// Where a dispatcher decides: the value that the next job has.
    taken: Option<Stamped<P>>,
}

/// What the next job of a thread is for.
enum Next<P> {
    Value(Stamped<P>),
    /// The service has changed.
    Change,
    /// There is none: the application stops.
    End,
}

impl<'p, P: Payload, R: Receiver<P>> ReceiverBody<'p, P, R> {
    pub(crate) fn new(
        receiver: R,
        ring: qrtr::Reader<'p, Stamped<P>>,
        bell: Listener<'p>,
        channel: u16,
        trusted: bool,
    ) -> Self {
        Self { receiver, ring, bell, channel, trusted, earliest_ns: 0, taken: None }
    }

    /// Waits for what the next job is for, which is not due before `earliest_ns`.
    fn next(&mut self, stage: &mut Stage<'_>) -> Next<P> {
        let service = stage.service_bell();
        let (mut earliest_ns, mut rung_in_vain) = (self.earliest_ns, false);
        loop {
            if !stage.sleep_until(earliest_ns) {
                return Next::End;
            }
            let changes = service.as_ref().map(|bell| (bell, bell.rings()));
            if stage.change().is_some() {
                return Next::Change;
            }
            let rings = self.bell.rings();
            if stage.is_running() {
                // A client that writes nonsense into the queue's words is a queue without values.
                if let Ok(Some(stamped)) = self.ring.pop() {
                    return Next::Value(stamped);
                }
                if rung_in_vain && !self.trusted {
                    // A client may ring without end; it gets one wake-up per least gap, which is what the
                    // analysis charges.
                    earliest_ns = clock::monotonic_ns().saturating_add(stage.timing.period_ns);
                    rung_in_vain = false;
                    continue;
                }
            }
            if stage.control.stopping() {
                return Next::End;
            }
            match (changes, stage.is_running()) {
                (Some(changes), true) => stage.wait_for(&[changes, (&self.bell, rings)]),
                (Some(changes), false) => stage.wait_for(&[changes]),
                (None, _) => stage.wait_for(&[(&self.bell, rings)]),
            }
            rung_in_vain = true;
        }
    }

    /// When a value's job is due that is there at an instant.
    fn release_ns(&self, stamped: &Stamped<P>, now_ns: u64) -> u64 {
        let arrival_ns = if self.trusted { stamped.sent_ns.min(now_ns) } else { now_ns };
        arrival_ns.max(self.earliest_ns)
    }

    /// A job is released at that instant.
    fn released(&mut self, stage: &Stage<'_>, release_ns: u64) {
        let next_ns = release_ns.saturating_add(stage.timing.period_ns);
        self.earliest_ns = self.earliest_ns.max(next_ns);
    }

    /// A job that receives a value, within a job of the stage.
    fn receive(&mut self, job: &mut Job<'_>, now_ns: u64, stamped: Stamped<P>) -> Result<(), Failure> {
        let Stamped { sent_ns, sequence, value } = stamped;
        let latency_ns = now_ns.saturating_sub(sent_ns);
        job.scribe.other(now_ns, Kind::Receive, self.channel, sequence, latency_ns);
        self.receiver.receive(job, value)
    }
}

impl<P: Payload, R: Receiver<P>> Body for ReceiverBody<'_, P, R> {
    fn start(&mut self) {
        self.receiver.start();
    }

    fn run(&mut self, stage: &mut Stage<'_>) {
        self.earliest_ns = stage.origin_ns;
        let mut number = 0;
        loop {
            let next = self.next(stage);
            let now_ns = clock::monotonic_ns();
            let end_ns = match next {
                Next::End => break,
                Next::Value(stamped) => {
                    let release_ns = self.release_ns(&stamped, now_ns);
                    self.released(stage, release_ns);
                    stage.job(number, release_ns, |job| self.receive(job, now_ns, stamped))
                }
                Next::Change => match stage.changed() {
                    Some(State::Stopped) => break,
                    Some(state) => {
                        self.released(stage, now_ns);
                        stage.job(number, now_ns, |_| {
                            tell(&mut self.receiver, state);
                            Ok(())
                        })
                    }
                    // It has changed back.
                    None => continue,
                },
            };
            if end_ns > self.earliest_ns && stage.timing.on_overrun == Overrun::StopApp {
                stage.scribe.own(end_ns, Kind::Overrun, number, Overrun::StopApp as u64);
                stage.control.stop_because(Reason::Overrun(stage.timing.task.into()));
                break;
            }
            number += 1;
        }
        self.stop();
    }

    fn poll(&mut self, stage: &Stage<'_>, now_ns: u64) -> Option<u64> {
        let release_ns = if stage.change().is_some() {
            now_ns.max(self.earliest_ns)
        } else if stage.is_running() {
            if self.taken.is_none() {
                self.taken = self.ring.pop().ok().flatten();
            }
            self.release_ns(self.taken.as_ref()?, now_ns)
        } else {
            return None;
        };
        self.released(stage, release_ns);
        Some(release_ns)
    }

    fn once(&mut self, stage: &mut Stage<'_>, job: &mut taut_exec::Job<'_>) -> bool {
        // It may have arrived later than was asked for.
        self.released(stage, job.arrival().as_ns());
        match stage.changed() {
            Some(State::Stopped) => return false,
            // The value that was taken for this job waits for the next.
            Some(state) => stage.dispatched(job, |_| {
                tell(&mut self.receiver, state);
                Ok(())
            }),
            None => {
                if let Some(stamped) = self.taken.take_if(|_| stage.is_running()) {
                    stage.dispatched(job, |job| self.receive(job, clock::monotonic_ns(), stamped));
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
