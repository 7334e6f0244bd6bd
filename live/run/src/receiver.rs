// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A receiver: one job for each value of a channel, and one for each change of its service that it learns of. A task
//! that several channels release takes their values by itself: [`crate::triggered`].
//!
//! Jobs of both kinds keep one minimum inter-arrival time, which the analysis charges. A receiver takes a value out
//! of its queue only to receive it: values stay there while the service is paused, and for good once it has
//! stopped. Where a dispatcher schedules, a receiver takes the value of its next job when it asks for that job: if the
//! service stops before the job runs, nobody receives that value either.

use taut_lock::Listener;
use taut_sys::clock;
use zerocopy::{FromZeros, IntoBytes};

use crate::body::{Release, TaskKind};
use crate::endpoint::{record_lost, record_received};
use crate::job::{Failure, Job};
use crate::lifecycle::JobContext;
use crate::native::TaskThread;
use crate::payload::{Payload, Stamped};
use crate::queue::QueueView;
use crate::values::TaskValues;
use crate::{Component, Receiver};

/// A receiver, with the ends on which it waits.
pub(crate) struct ReceiverBody<'p, P: Payload, R> {
    receiver: R,
    queue: QueueView<'p, P>,
    listener: Listener<'p>,
    channel: u16,
    /// The task, if it is one of several readers that the recording tells apart.
    of_several: Option<u16>,
    /// Whether the writer is in this process, so that its stamps and notifications can be trusted.
    trusted: bool,
    /// How many values were lost before that of the next job.
    lost: u64,
    /// The value of the next job.
    taken: Option<Stamped<P>>,
}

/// What a thread has waited for.
enum Event {
    /// A value has come, and was taken.
    Value,
    /// The service's state has changed, or the service has restarted.
    Change,
}

impl<'p, P: Payload, R: Receiver<P>> ReceiverBody<'p, P, R> {
    pub(crate) fn new(
        receiver: R,
        queue: QueueView<'p, P>,
        listener: Listener<'p>,
        (channel, of_several): (u16, Option<u16>),
        trusted: bool,
    ) -> Self {
        let (lost, taken) = (0, None);
        Self { receiver, queue, listener, channel, of_several, trusted, lost, taken }
    }

    /// Takes the oldest value of the channel; returns whether there is one. If a client writes nonsense into the
    /// queue's words, the queue counts as empty.
    fn take(&mut self) -> bool {
        let mut stamped = <Stamped<P> as FromZeros>::new_zeroed();
        let lost = self.queue.pop(&mut stamped);
        self.lost += lost.unwrap_or(0);
        self.taken = lost.map(|_| stamped);
        self.taken.is_some()
    }

    /// Takes the value that the recorded job got.
    #[cold]
    fn take_replayed(&mut self, values: &TaskValues) {
        let mut stamped = Stamped::<P>::new_zeroed();
        let answer = values.answer_read(self.channel, stamped.as_mut_bytes()).flatten();
        self.taken = answer.map(|_| stamped);
    }

    /// Waits until the next job may be released and has something to do; `None` if the application stops first.
    fn wait(&mut self, thread: &mut TaskThread<'_>) -> Option<Event> {
        let service = thread.context.service_listener();
        let (mut earliest_ns, mut woken_in_vain) = (thread.context.next_ns(), false);
        loop {
            if !thread.sleep_until(earliest_ns) {
                return None;
            }
            let changes = service.as_ref().map(|listener| (listener, listener.epoch()));
            if let Some(starts_ns) = thread.context.starts_after(clock::monotonic_ns()) {
                earliest_ns = starts_ns;
                continue;
            }
            if thread.context.has_change() {
                return Some(Event::Change);
            }
            let epoch = self.listener.epoch();
            if thread.context.is_running() {
                if self.take() {
                    return Some(Event::Value);
                }
                if woken_in_vain && !self.trusted {
                    // A client may notify without end; it gets one wake-up per minimum inter-arrival time, which is
                    // what the analysis charges.
                    earliest_ns = clock::monotonic_ns().saturating_add(thread.context.timing.period_ns);
                    woken_in_vain = false;
                    continue;
                }
            }
            if thread.context.control.stopping() {
                return None;
            }
            match (changes, thread.context.is_running()) {
                (Some(changes), true) => thread.wait_for_any([changes, (&self.listener, epoch)], None),
                (Some((listener, epoch)), false) => thread.wait_for(listener, epoch),
                (None, _) => thread.wait_for(&self.listener, epoch),
            }
            woken_in_vain = true;
        }
    }

    /// When the job of the taken value is due, which has arrived by `now_ns`; `None` if no value was taken.
    fn release_ns(&self, context: &JobContext<'_>, now_ns: u64) -> Option<u64> {
        let stamped = self.taken.as_ref()?;
        let arrival_ns = if self.trusted { stamped.sent_ns.min(now_ns) } else { now_ns };
        Some(arrival_ns.max(context.next_ns()))
    }
}

impl<P: Payload, R: Receiver<P>> TaskKind for ReceiverBody<'_, P, R> {
    /// When the job of the taken value begins (ns): the value is received then.
    type Cause = u64;

    fn component(&mut self) -> &mut impl Component {
        &mut self.receiver
    }

    fn next(&mut self, thread: &mut TaskThread<'_>) -> Option<(u64, Release<u64>)> {
        loop {
            let event = self.wait(thread)?;
            let now_ns = clock::monotonic_ns();
            match event {
                Event::Value => {
                    let release_ns = self.release_ns(&thread.context, now_ns)?;
                    return Some((release_ns, Release::Job(now_ns)));
                }
                Event::Change if thread.context.follow_restart(now_ns) => {
                    return Some((now_ns, Release::Reset));
                }
                // None: the state has changed back.
                Event::Change => {
                    if let Some(state) = thread.context.follow_service(now_ns) {
                        return Some((now_ns, Release::Change(state)));
                    }
                }
            }
        }
    }

    fn poll(&mut self, context: &mut JobContext<'_>, now_ns: u64) -> Option<u64> {
        let release_ns = if context.has_change() {
            context.starts_after(now_ns).unwrap_or(now_ns).max(context.next_ns())
        } else if context.is_running() {
            if self.taken.is_none() {
                self.take();
            }
            self.release_ns(context, now_ns)?
        } else {
            return None;
        };
        context.note_release(release_ns);
        Some(release_ns)
    }

    fn released(&mut self, context: &mut JobContext<'_>, arrival_ns: u64) -> Release<u64> {
        // The job may have arrived later than `poll` asked for.
        context.note_release(arrival_ns);
        if context.follow_restart(arrival_ns) {
            // The value that was taken for this job waits for the next one, here and below.
            return Release::Reset;
        }
        match context.follow_service(arrival_ns) {
            Some(state) => Release::Change(state),
            None if context.is_running() && self.taken.is_some() => Release::Job(context.now_ns()),
            None => Release::Nothing,
        }
    }

    fn replayed_cause(&self, now_ns: u64) -> u64 {
        now_ns
    }

    fn run(&mut self, now_ns: u64, job: &mut Job<'_>) -> Result<(), Failure> {
        let values = job.event_recorder.values();
        if matches!(values, TaskValues::Replayed(_)) {
            self.take_replayed(values);
        }
        if let Some(stamped) = &self.taken {
            values.received(now_ns, self.channel, stamped.sequence, 0, stamped.value_bytes());
        }
        let Some(Stamped { sent_ns, sequence, value }) = self.taken.take() else { return Ok(()) };
        let latency_ns = now_ns.saturating_sub(sent_ns);
        let channel = (self.channel, self.of_several);
        if self.lost > 0 {
            record_lost(job.event_recorder, channel, now_ns, std::mem::take(&mut self.lost));
        }
        record_received(job.event_recorder, channel, sequence, (now_ns, latency_ns));
        self.receiver.receive(job, value)
    }
}
