// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A task that channels release and that takes their values by itself: a job while a value waits in one of them. A device may
//! release it as well, which the device thread of its core watches.
//!
//! The runtime looks at the queues and takes nothing. Jobs keep one minimum inter-arrival time, whatever
//! released them: a value, a change of the service, a client that notified without sending, or a sender that
//! took its block back. The analysis charges one job in that time. So a value waits for at most that time
//! until a job arrives that can take it, whatever the other channels do.
//!
//! Alarms wait for their instants. A setter wakes the task only with an alarm that is due before all others.
//! Such a wake-up counts as a job, too, as does one at the instant of an alarm that has been cancelled
//! meanwhile.

use std::fmt;

use taut_lock::{Epoch, Listener};
use taut_share::bulk;
use taut_share::queue::broadcast::ReaderWatcher;
use taut_share::queue::{qrtr, ring};
use taut_sys::clock;

use crate::alarm::Instants;
use crate::body::{Release, TaskKind};
use crate::device::Device;
use crate::job::{Failure, Job};
use crate::lifecycle::JobContext;
use crate::native::TaskThread;
use crate::payload::{Payload, Stamped};
use crate::watched_device::WatchedDevice;
use crate::{Component, Task};

/// Looks whether a value waits in a queue.
pub(crate) trait Waiting: Send {
    /// Whether no value waits.
    fn is_empty(&self) -> bool;

    /// When the oldest waiting value was sent (ns), where no other process writes the queue; `None` if none waits.
    fn oldest_ns(&mut self) -> Option<u64>;
}

impl<P: Payload> Waiting for qrtr::Watcher<'_, Stamped<P>> {
    fn is_empty(&self) -> bool {
        qrtr::Watcher::is_empty(self)
    }

    fn oldest_ns(&mut self) -> Option<u64> {
        self.oldest(|stamped| stamped.sent_ns)
    }
}

/// A lane whose sender drops its oldest values, and may overwrite any while the runtime looks: a value counts as sent when it
/// was seen.
impl Waiting for ring::Watcher<'_> {
    fn is_empty(&self) -> bool {
        ring::Watcher::is_empty(self)
    }

    fn oldest_ns(&mut self) -> Option<u64> {
        (!ring::Watcher::is_empty(self)).then_some(u64::MAX)
    }
}

impl<P: Payload> Waiting for ReaderWatcher<'_, Stamped<P>> {
    fn is_empty(&self) -> bool {
        ReaderWatcher::is_empty(self)
    }

    /// The stamp is the first word of a value. The writer is in this process.
    fn oldest_ns(&mut self) -> Option<u64> {
        self.oldest_word()
    }
}

impl<P: Payload> Waiting for bulk::Watcher<'_, P> {
    fn is_empty(&self) -> bool {
        bulk::Watcher::is_empty(self)
    }

    fn oldest_ns(&mut self) -> Option<u64> {
        self.oldest().map(|(_, sent_ns)| sent_ns)
    }
}

/// What a trigger waits for.
enum Awaited<'p> {
    /// Values of a queue.
    Values(Box<dyn Waiting + 'p>),
    /// The instants of alarms. Among the lanes of a receiver one has the instants of all setters, and the
    /// others `None`.
    Instants(Option<Box<dyn Instants + 'p>>),
    /// The device thread of the core.
    Watched(&'p WatchedDevice),
    /// The device itself: in a bench.
    Polled(Device),
}

/// What a trigger must know of the channel's sender: see [`Trigger`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct TriggerSender {
    pub(crate) trusted: bool,
    pub(crate) in_vain: bool,
}

/// A channel or a device that releases a task.
pub(crate) struct Trigger<'p> {
    awaited: Awaited<'p>,
    listener: Listener<'p>,
    /// The epoch of the listener before the last look.
    epoch: Epoch,
    /// Whether the writer is in this process, so that its stamps can be trusted.
    trusted: bool,
    /// Whether a notification may come without a job that is due, or more than one in a gap: from a sender that is not
    /// real-time, from a setter whose alarm is due later, and from a sender that takes its block back.
    in_vain: bool,
}

impl fmt::Debug for Trigger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trigger").field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

impl<'p> Trigger<'p> {
    /// A channel of values or blocks.
    pub(crate) fn new(waiting: Box<dyn Waiting + 'p>, listener: Listener<'p>, sender: TriggerSender) -> Self {
        let (epoch, TriggerSender { trusted, in_vain }) = (listener.epoch(), sender);
        Self { awaited: Awaited::Values(waiting), listener, epoch, trusted, in_vain }
    }

    /// A lane of alarms; one lane of a receiver has the instants of all.
    pub(crate) fn timed(instants: Option<Box<dyn Instants + 'p>>, listener: Listener<'p>) -> Self {
        let epoch = listener.epoch();
        Self { awaited: Awaited::Instants(instants), listener, epoch, trusted: true, in_vain: true }
    }

    /// A device, which its core's device thread watches.
    pub(crate) fn watched(device: &'p WatchedDevice) -> Self {
        Self::of_device(Awaited::Watched(device), device)
    }

    /// A device in a bench: nobody but the test and this task's jobs changes whether it can be read, and the bench asks after
    /// each of them.
    pub(crate) fn polled(device: Device, watched: &'p WatchedDevice) -> Self {
        Self::of_device(Awaited::Polled(device), watched)
    }

    fn of_device(awaited: Awaited<'p>, watched: &'p WatchedDevice) -> Self {
        let listener = watched.listener();
        let epoch = listener.epoch();
        Self { awaited, listener, epoch, trusted: true, in_vain: false }
    }

    /// A listener of the channel, and whether its writer may notify while nothing is to be done.
    pub(crate) fn listener(&self) -> (Listener<'p>, bool) {
        (self.listener.clone(), self.in_vain)
    }

    /// When what the channel holds is due, as seen at `now_ns`; `None` if it holds nothing. Only an alarm is due later.
    fn due_ns(&mut self, now_ns: u64) -> Option<u64> {
        match &mut self.awaited {
            Awaited::Values(waiting) if self.trusted => Some(waiting.oldest_ns()?.min(now_ns)),
            Awaited::Values(waiting) => (!waiting.is_empty()).then_some(now_ns),
            Awaited::Instants(instants) => instants.as_mut()?.earliest_ns(),
            Awaited::Watched(device) => Some(device.seen_ns()?.min(now_ns)),
            Awaited::Polled(device) => device.can_be_read().then_some(now_ns),
        }
    }
}

/// A task with the channels, and maybe the device, that release it.
pub(crate) struct TriggeredBody<'p, T> {
    task: T,
    triggers: Vec<Trigger<'p>>,
    /// The device among them that a device thread watches.
    device: Option<&'p WatchedDevice>,
}

impl<'p, T: Task> TriggeredBody<'p, T> {
    pub(crate) fn new(task: T, triggers: Vec<Trigger<'p>>) -> Self {
        let device = triggers.iter().find_map(|trigger| match &trigger.awaited {
            Awaited::Watched(device) => Some(*device),
            _ => None,
        });
        Self { task, triggers, device }
    }

    /// When the job of what the channels hold at `now_ns` is due; `None` if they hold nothing.
    fn due_ns(&mut self, context: &JobContext<'_>, now_ns: u64) -> Option<u64> {
        let first_ns = self.triggers.iter_mut().filter_map(|trigger| trigger.due_ns(now_ns)).min()?;
        Some(first_ns.max(context.next_ns()))
    }

    /// Reads the epochs, so that the look that follows misses no notification. Returns whether the sleep
    /// before may have ended in vain.
    fn begin_look(&mut self) -> bool {
        let mut in_vain = false;
        let mut by_value = false;
        for trigger in &mut self.triggers {
            let before = std::mem::replace(&mut trigger.epoch, trigger.listener.epoch());
            // A client may also wake the thread without a notification, and so does the instant of an alarm.
            in_vain |= trigger.in_vain;
            by_value |= !trigger.in_vain && trigger.epoch != before;
        }
        in_vain && !by_value
    }
}

impl<T: Task> TaskKind for TriggeredBody<'_, T> {
    type Cause = ();

    fn component(&mut self) -> &mut impl Component {
        &mut self.task
    }

    fn next(&mut self, thread: &mut TaskThread<'_>) -> Option<(u64, Release<()>)> {
        let service = thread.context.service_listener();
        let mut has_slept = false;
        loop {
            let earliest_ns = thread.context.next_ns();
            if !thread.sleep_until(earliest_ns) {
                return None;
            }
            let changes = service.as_ref().map(|listener| (listener, listener.epoch()));
            let now_ns = clock::monotonic_ns();
            if let Some(starts_ns) = thread.context.starts_after(now_ns) {
                if !thread.sleep_until(starts_ns) {
                    return None;
                }
                continue;
            }
            if thread.context.follow_restart(now_ns) {
                return Some((now_ns, Release::Reset));
            }
            if let Some(state) = thread.context.follow_service(now_ns) {
                return Some((now_ns, Release::Change(state)));
            }
            let in_vain = self.begin_look();
            let mut until_ns = None;
            if thread.context.is_running() {
                until_ns = self.due_ns(&thread.context, now_ns);
                if let Some(release_ns) = until_ns.filter(|release_ns| *release_ns <= now_ns) {
                    return Some((release_ns, Release::Job(())));
                }
                if has_slept && in_vain {
                    // A wake-up in vain counts as a job: the analysis charges one in each gap.
                    thread.context.note_release(now_ns);
                    has_slept = false;
                    continue;
                }
            }
            if thread.context.control.stopping() {
                return None;
            }
            // While the service is paused, values wait.
            let of_values = if thread.context.is_running() { self.triggers.as_slice() } else { &[] };
            let values = of_values.iter().map(|trigger| (&trigger.listener, trigger.epoch));
            thread.wait_for_any(changes.into_iter().chain(values), until_ns);
            has_slept = true;
        }
    }

    fn poll(&mut self, context: &mut JobContext<'_>, now_ns: u64) -> Option<u64> {
        if context.has_change() {
            return Some(context.starts_after(now_ns).unwrap_or(now_ns).max(context.next_ns()));
        }
        // The dispatcher may ask again before this instant, if an alarm is due later.
        if context.is_running() { self.due_ns(context, now_ns) } else { None }
    }

    fn released(&mut self, context: &mut JobContext<'_>, arrival_ns: u64) -> Release<()> {
        context.note_release(arrival_ns);
        // The values that were seen wait for the next job.
        if context.follow_restart(arrival_ns) {
            return Release::Reset;
        }
        match context.follow_service(arrival_ns) {
            Some(state) => Release::Change(state),
            None if context.is_running() => Release::Job(()),
            None => Release::Nothing,
        }
    }

    fn replayed_cause(&self, _: u64) {}

    fn run(&mut self, (): (), job: &mut Job<'_>) -> Result<(), Failure> {
        let _taking = self.device.map(|device| device.take(job.release().as_ns()));
        self.task.release(job)
    }
}
