// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A task that channels release and that takes their values by itself: a job while a value waits in one of them.
//!
//! The runtime looks at the queues and takes nothing. Jobs keep one minimum inter-arrival time, whatever released them:
//! a value, a change of the service, or a client that notified without sending. The analysis charges one job in that
//! time. So a value waits for at most that time until a job arrives which can take it, whatever the other channels do.

use std::fmt;

use taut_lock::{Epoch, Listener};
use taut_share::queue::qrtr;
use taut_sys::clock;

use crate::body::{Release, TaskKind};
use crate::job::{Failure, Job};
use crate::lifecycle::JobContext;
use crate::native::TaskThread;
use crate::payload::{Payload, Stamped};
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

/// A channel that releases a task.
pub(crate) struct Trigger<'p> {
    waiting: Box<dyn Waiting + 'p>,
    listener: Listener<'p>,
    /// The epoch of the listener before the last look.
    epoch: Epoch,
    /// Whether the writer is in this process, so that its stamps and notifications can be trusted.
    trusted: bool,
}

impl fmt::Debug for Trigger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trigger").field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

impl<'p> Trigger<'p> {
    pub(crate) fn new(waiting: Box<dyn Waiting + 'p>, listener: Listener<'p>, trusted: bool) -> Self {
        let epoch = listener.epoch();
        Self { waiting, listener, epoch, trusted }
    }

    /// A listener of the channel's values, and whether the channel's writer may notify without end.
    pub(crate) fn listener(&self) -> (Listener<'p>, bool) {
        (self.listener.clone(), !self.trusted)
    }
}

/// A task with the channels that release it.
pub(crate) struct TriggeredBody<'p, T> {
    task: T,
    triggers: Vec<Trigger<'p>>,
}

impl<'p, T: Task> TriggeredBody<'p, T> {
    pub(crate) fn new(task: T, triggers: Vec<Trigger<'p>>) -> Self {
        Self { task, triggers }
    }

    /// When the job of the values that wait at `now_ns` is due; `None` if none waits.
    fn due_ns(&mut self, context: &JobContext<'_>, now_ns: u64) -> Option<u64> {
        let arrival_ns = |trigger: &mut Trigger<'_>| {
            if trigger.trusted {
                return Some(trigger.waiting.oldest_ns()?.min(now_ns));
            }
            (!trigger.waiting.is_empty()).then_some(now_ns)
        };
        let first_ns = self.triggers.iter_mut().filter_map(arrival_ns).min()?;
        Some(first_ns.max(context.next_ns()))
    }

    /// Reads the epochs, so that no notification is missed by a look that follows. Returns whether only a client can have
    /// ended the sleep before.
    fn begin_look(&mut self) -> bool {
        let mut by_client = false;
        let mut by_task = false;
        for trigger in &mut self.triggers {
            let before = std::mem::replace(&mut trigger.epoch, trigger.listener.epoch());
            // A client may also wake without a notification.
            by_client |= !trigger.trusted;
            by_task |= trigger.trusted && trigger.epoch != before;
        }
        by_client && !by_task
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
            let by_client = self.begin_look();
            if thread.context.is_running() {
                if let Some(release_ns) = self.due_ns(&thread.context, now_ns) {
                    return Some((release_ns, Release::Job(())));
                }
                if has_slept && by_client {
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
            thread.wait_for_any(changes.into_iter().chain(values));
            has_slept = true;
        }
    }

    fn poll(&mut self, context: &mut JobContext<'_>, now_ns: u64) -> Option<u64> {
        let release_ns = if context.has_change() {
            context.starts_after(now_ns).unwrap_or(now_ns).max(context.next_ns())
        } else if context.is_running() {
            self.due_ns(context, now_ns)?
        } else {
            return None;
        };
        context.note_release(release_ns);
        Some(release_ns)
    }

    fn released(&mut self, context: &mut JobContext<'_>, arrival_ns: u64) -> Release<()> {
        // The job may have arrived later than `poll` asked for.
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

    fn run(&mut self, (): (), job: &mut Job<'_>) -> Result<(), Failure> {
        self.task.release(job)
    }
}
