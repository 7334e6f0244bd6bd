// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the device thread of a core and a task that one of its devices releases say to each other.
//!
//! Orderings: O1 the instant at which a device was seen is stored before the notification; O2 a job has read the device before
//! it says that it has taken what was seen.

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
        Taking(self)
    }

    /// The thread has seen that the device can be read. Returns when it looks at it again.
    pub(crate) fn see(&self, now_ns: u64) -> u64 {
        // O1 seen
        self.seen_ns.store(now_ns, Ordering::Release);
        let released_ns = now_ns.max(self.next_ns.load(Ordering::Relaxed));
        released_ns.saturating_add(self.gap_ns)
    }
}

/// A job is about to take what the device thread has seen. What the device has afterwards, also what came while the job
/// ran, the thread sees when it looks again.
pub(crate) struct Taking<'d>(&'d WatchedDevice);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        // O2 taken
        self.0.seen_ns.store(0, Ordering::Release);
    }
}
