// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the device thread of a core and a task that one of its devices releases say to each other.
//!
//! # Use
//! A task on a core with a dispatcher, or that channels release as well. Made by `device_thread`, one for each device.
//!
//! # Callers
//! `see` and `gap_ns`: the device thread alone. `take`, and the drop of what it gives: jobs of the task, one after another.
//! `seen_ns`: both, and the dispatcher.
//!
//! # Progress
//! Wait-free: `see` 1 load and 1 store, `take` 1 load and 1 store, its drop 1 compare-exchange, `seen_ns` 1 load.
//!
//! # Orderings
//! - O1 seen: Release of the instant in `see`, before the notification ↔ Acquire in `seen_ns`.
//! - O2 taken: Release of the 0 in the drop, after the job has read the device ↔ Acquire in `seen_ns` of the device thread,
//!   which looks at the device only then.
//!
//! # Proof
//! No event is lost: what a device has stays readable until a job reads it, and the thread looks again, at the latest when the
//! gap behind the next possible release is over. A sighting is cleared only by a job that began when it was there, and
//! so may read what was seen; one that the thread makes meanwhile is a later instant, at which the compare-exchange fails.
//!
//! # Crash
//! Both parties are threads of one process, so none goes on without the other.
//!
//! # Source
//! Own. Not covered: no model explores it; `device_thread` has unit tests, `tests/devices.rs` has runs.

use std::sync::atomic::{AtomicU64, Ordering};

use taut_lock::{EventCount, Listener, Notifier};

/// A device that the device thread of a core watches.
#[derive(Debug)]
pub(crate) struct WatchedDevice {
    /// When the thread saw that the device can be read (ns); 0: it has seen nothing that no job has taken.
    seen_ns: AtomicU64,
    /// The task's next job is not released before (ns).
    next_ns: AtomicU64,
    /// The least gap of the task (ns).
    gap_ns: u64,
    events: EventCount,
}

impl WatchedDevice {
    pub(crate) fn new(gap_ns: u64) -> Self {
        let events = EventCount::new();
        Self { seen_ns: AtomicU64::new(0), next_ns: AtomicU64::new(0), gap_ns, events }
    }

    /// The thread's end of the event count, of which there is one.
    pub(crate) fn notifier(&self) -> Notifier<'_> {
        self.events.notifier()
    }

    /// Listens for the thread.
    pub(crate) fn listener(&self) -> Listener<'_> {
        self.events.listener()
    }

    /// The least gap of the task (ns).
    pub(crate) fn gap_ns(&self) -> u64 {
        self.gap_ns
    }

    /// When the device was seen, if no job has taken that.
    pub(crate) fn seen_ns(&self) -> Option<u64> {
        // O1 seen, O2 taken
        Some(self.seen_ns.load(Ordering::Acquire)).filter(|seen_ns| *seen_ns != 0)
    }

    /// A job that is released at `release_ns` takes what the thread has seen. When the result is dropped, it has.
    pub(crate) fn take(&self, release_ns: u64) -> Taking<'_> {
        // It only spares the thread a look in vain.
        self.next_ns.store(release_ns.saturating_add(self.gap_ns), Ordering::Relaxed);
        Taking { device: self, seen_ns: self.seen_ns.load(Ordering::Relaxed) }
    }

    /// The thread has seen that the device can be read. Returns when it looks at it again.
    pub(crate) fn see(&self, now_ns: u64) -> u64 {
        // O1 seen
        self.seen_ns.store(now_ns, Ordering::Release);
        let released_ns = now_ns.max(self.next_ns.load(Ordering::Relaxed));
        released_ns.saturating_add(self.gap_ns)
    }
}

/// A job is about to take what the device thread has seen. What the thread sees while the job runs stays: the job may have
/// read the device before. If it has not, the next job finds nothing to read.
pub(crate) struct Taking<'d> {
    device: &'d WatchedDevice,
    /// What was seen when the job began; 0: nothing.
    seen_ns: u64,
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        // O2 taken. The thread stores later instants alone, so a failure means that it has seen the device again.
        let _ = self.device.seen_ns.compare_exchange(self.seen_ns, 0, Ordering::Release, Ordering::Relaxed);
    }
}
