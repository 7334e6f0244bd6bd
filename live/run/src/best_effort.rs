// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::{Mutex, PoisonError};

use taut_event::Kind;
use taut_lock::{Epoch, Listener};
use taut_sys::{clock, process};
use taut_time::{Duration, Instant};

use crate::Control;
use crate::control::State;
use crate::job::{EventRecorder, sealed};

/// How often a reader looks for a value that does not wake it.
const LOOK_NS: u64 = 1_000_000;

/// A best-effort task's view of its application.
#[derive(Debug)]
pub struct Context<'c> {
    control: &'c Control,
    task: u16,
    /// The task's service.
    service: Option<usize>,
    /// Of the thread that has the context mutably; others that share it may ask for the time and the end.
    event_recorder: Mutex<EventRecorder>,
}

impl<'c> Context<'c> {
    pub(crate) fn new(
        control: &'c Control,
        task: u16,
        service: Option<usize>,
        event_recorder: EventRecorder,
    ) -> Self {
        Self { control, task, service, event_recorder: Mutex::new(event_recorder) }
    }

    /// Whether the application is stopping, or the task's service has stopped; the task must return soon after.
    pub fn stopping(&self) -> bool {
        self.control.stopping() || self.state() == State::Stopped
    }

    /// The state of the task's service; [`State::Running`] for a task of no service. A best-effort task is not released,
    /// so pausing its service asks it to do nothing, and the task looks whether it should.
    pub fn state(&self) -> State {
        self.service.map_or(State::Running, |service| self.control.view(service).state())
    }

    /// Steers the application.
    pub fn control(&self) -> &'c Control {
        self.control
    }

    /// The time now, on the run's clock.
    pub fn now(&self) -> Instant {
        Instant::from_ns(clock::monotonic_ns())
    }

    /// Sleeps for `duration`, or until [`Context::stopping`] is true, which wakes it at once. Returns whether the task
    /// goes on. In a child of `fork`, which nobody stops, it ends the process.
    pub fn sleep(&self, duration: Duration) -> bool {
        process::end_if_forked();
        let end_ns = clock::monotonic_ns().saturating_add(duration.as_ns());
        loop {
            let changes = self.changes();
            if self.stopping() {
                return false;
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= end_ns {
                return true;
            }
            let look_ns = now_ns.saturating_add(LOOK_NS);
            let changes = changes.as_ref().map(|(listener, epoch)| (listener, *epoch));
            self.control.wait_for([changes, None], end_ns, look_ns);
        }
    }
}

impl<'c> Context<'c> {
    /// The event count of the service's changes, and its epoch: a change after this call passes it.
    pub(crate) fn changes(&self) -> Option<(Listener<'c>, Epoch)> {
        let listener = self.control.listener(self.service?);
        let epoch = listener.epoch();
        Some((listener, epoch))
    }

    /// Sleeps until the event count has passed its epoch, the service has changed since `changes` was read, the
    /// application stops, or `end_ns` comes; without an event count at most for a millisecond. May return in vain. In a
    /// child of `fork` it ends the process.
    pub(crate) fn wait(
        &self,
        listener: Option<(&Listener<'_>, Epoch)>,
        changes: Option<&(Listener<'_>, Epoch)>,
        end_ns: u64,
    ) {
        process::end_if_forked();
        let look_ns = clock::monotonic_ns().saturating_add(LOOK_NS);
        let until_ns = if listener.is_some() { end_ns } else { end_ns.min(look_ns) };
        let changes = changes.map(|(listener, epoch)| (listener, *epoch));
        self.control.wait_for([listener, changes], until_ns, look_ns);
    }

    /// The task panicked: applies the remedy, and records it.
    pub(crate) fn fail(&mut self) {
        let remedy = self.control.failed_best_effort(self.task, self.service);
        let now_ns = clock::monotonic_ns();
        let recorder = self.event_recorder.get_mut().unwrap_or_else(PoisonError::into_inner);
        recorder.own(now_ns, Kind::Panicked, 0, remedy as u64);
    }
}

impl sealed::SealedCaller for Context<'_> {
    const REAL_TIME: bool = false;

    #[expect(private_interfaces, reason = "sealed: nobody else implements or calls it")]
    fn event_recorder(&mut self) -> (&mut EventRecorder, u64) {
        (self.event_recorder.get_mut().unwrap_or_else(PoisonError::into_inner), 0)
    }
}
