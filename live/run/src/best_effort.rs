// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::{Mutex, PoisonError};

use taut_lock::{Epoch, Listener};
use taut_sys::{clock, process};
use taut_time::{Duration, Instant};

use crate::Control;
use crate::job::{EventRecorder, sealed};

/// How often a reader looks for a value that does not wake it.
const LOOK_NS: u64 = 1_000_000;

/// A best-effort task's view of its application.
#[derive(Debug)]
pub struct Context<'c> {
    control: &'c Control,
    /// Of the thread that has the context mutably; others that share it may ask for the time and the end.
    event_recorder: Mutex<EventRecorder>,
}

impl<'c> Context<'c> {
    pub(crate) fn new(control: &'c Control, event_recorder: EventRecorder) -> Self {
        Self { control, event_recorder: Mutex::new(event_recorder) }
    }

    /// Whether the application is stopping; the task must return soon after.
    pub fn stopping(&self) -> bool {
        self.control.stopping()
    }

    /// Steers the application.
    pub fn control(&self) -> &'c Control {
        self.control
    }

    /// The time now, on the run's clock.
    pub fn now(&self) -> Instant {
        Instant::from_ns(clock::monotonic_ns())
    }

    /// Sleeps for `duration`, or until the application stops, which wakes it at once. Returns whether the
    /// application goes on. In a child of `fork`, which nobody stops, it ends the process.
    pub fn sleep(&self, duration: Duration) -> bool {
        process::end_if_forked();
        let end_ns = clock::monotonic_ns().saturating_add(duration.as_ns());
        while !self.stopping() {
            if clock::monotonic_ns() >= end_ns {
                return true;
            }
            self.control.wait_until(end_ns);
        }
        false
    }
}

impl Context<'_> {
    /// Sleeps until the event count has passed its epoch, the application stops, or `end_ns` comes; without an event
    /// count at most for a millisecond. May return in vain. In a child of `fork` it ends the process.
    pub(crate) fn wait(&self, listener: Option<(&Listener<'_>, Epoch)>, end_ns: u64) {
        process::end_if_forked();
        let look_ns = clock::monotonic_ns().saturating_add(LOOK_NS);
        match listener {
            Some((listener, epoch)) => self.control.wait_for(listener, epoch, end_ns, look_ns),
            None => self.control.wait_until(end_ns.min(look_ns)),
        }
    }
}

impl sealed::SealedCaller for Context<'_> {
    const REAL_TIME: bool = false;

    #[expect(private_interfaces, reason = "sealed: nobody else implements or calls it")]
    fn event_recorder(&mut self) -> (&mut EventRecorder, u64) {
        (self.event_recorder.get_mut().unwrap_or_else(PoisonError::into_inner), 0)
    }
}
