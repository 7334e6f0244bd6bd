// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The device thread of a core: it watches the devices that release tasks of a dispatched core, and those that release a task
//! beside channels. It runs above all tasks of the core, and sleeps until a device can be read; then it notifies the task as
//! a channel does.
//!
//! It looks at a device that it has seen not before the least gap of its task is over, and not before a job has taken
//! what it saw. Within each gap it wakes for a device at most twice: once for the device, and once to look at it again. A
//! device that is always ready causes no more wakes than that; the analysis charges both.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use taut_lock::Notifier;
use taut_plan::DEVICES_MAX;
use taut_sys::{clock, device, interrupt};

use crate::control::Control;
use crate::device::Device;
use crate::watched_device::WatchedDevice;

/// How long the thread sleeps after the system has refused to wait for its devices.
const REFUSED_NS: u64 = 1_000_000;

/// A device as its thread has it.
struct Watch<'p> {
    device: Device,
    shared: &'p WatchedDevice,
    notifier: Notifier<'p>,
    /// The thread does not look before (ns).
    look_ns: u64,
}

/// The device thread of a core.
pub(crate) struct DeviceThread<'p> {
    /// The core's position in the plan.
    pub(crate) core: usize,
    /// The first of the tasks that its devices release: what befalls the thread is recorded of this one.
    pub(crate) task: usize,
    watches: Vec<Watch<'p>>,
}

impl fmt::Debug for DeviceThread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceThread").field("core", &self.core).finish_non_exhaustive()
    }
}

impl<'p> DeviceThread<'p> {
    pub(crate) fn new(core: usize, task: usize) -> Self {
        Self { core, task, watches: Vec::new() }
    }

    /// Adds a device. A valid plan has at most [`DEVICES_MAX`] for a core (V6).
    pub(crate) fn add(&mut self, device: Device, shared: &'p WatchedDevice) {
        let notifier = shared.notifier();
        self.watches.push(Watch { device, shared, notifier, look_ns: 0 });
    }

    /// Watches the devices from release 0, at `origin_ns`, until the application stops.
    pub(crate) fn watch(&mut self, origin_ns: u64, control: &Control) {
        self.watches.iter_mut().for_each(|watch| watch.look_ns = origin_ns);
        while !control.stopping() {
            match self.sleep(clock::monotonic_ns()) {
                Ok(ready) => self.see(ready, clock::monotonic_ns()),
                // Never without a sleep: nothing of the core would run.
                Err(_) => {
                    let _ = interrupt::sleep_until(clock::monotonic_ns().saturating_add(REFUSED_NS));
                }
            }
        }
    }

    /// Sleeps until a device can be read at which the thread may look, or until it may look at another one. Returns a bit for
    /// each device that can be read.
    fn sleep(&mut self, now_ns: u64) -> Result<u64, taut_sys::Error> {
        let mut until_ns = u64::MAX;
        let mut awaited: [Option<BorrowedFd<'_>>; DEVICES_MAX] = [None; DEVICES_MAX];
        for (place, watch) in awaited.iter_mut().zip(&mut self.watches) {
            if watch.look_ns <= now_ns && watch.shared.seen_ns().is_some() {
                watch.look_ns = now_ns.saturating_add(watch.shared.gap_ns());
            }
            if watch.look_ns <= now_ns {
                *place = Some(watch.device.as_fd());
            } else {
                until_ns = until_ns.min(watch.look_ns);
            }
        }
        let patience = (until_ns != u64::MAX).then(|| Duration::from_nanos(until_ns - now_ns));
        device::wait_any(&awaited, patience)
    }

    /// The devices whose bits are set can be read.
    fn see(&mut self, ready: u64, now_ns: u64) {
        for (_, watch) in self.watches.iter_mut().enumerate().filter(|(at, _)| ready >> at & 1 != 0) {
            watch.look_ns = watch.shared.see(now_ns);
            watch.notifier.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    const GAP_NS: u64 = 10_000_000;

    fn thread(shared: &WatchedDevice) -> (DeviceThread<'_>, UnixStream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut thread = DeviceThread::new(0, 0);
        thread.add(Device::new(ours.try_clone().unwrap().into()).unwrap(), shared);
        (thread, ours, theirs)
    }

    /// The device is seen once, and once more after a job has taken it and the gap is over.
    #[test]
    #[cfg_attr(miri, ignore = "calls poll")]
    fn it_looks_again_when_the_gap_is_over_and_a_job_has_taken() {
        let shared = WatchedDevice::new(GAP_NS);
        let listener = shared.listener();
        let (mut thread, mut ours, mut theirs) = thread(&shared);
        let now_ns = 1_000 * GAP_NS;
        theirs.write_all(b"abc").unwrap();
        let before = listener.epoch();
        assert_eq!(thread.sleep(now_ns), Ok(1));
        thread.see(1, now_ns);
        assert_eq!(shared.seen_ns(), Some(now_ns));
        assert_ne!(listener.epoch(), before, "the task is notified");
        // Still ready, and within the gap: it sleeps until the gap is over.
        assert_eq!(thread.sleep(now_ns + GAP_NS - 2_000_000), Ok(0));
        // No job has taken it: the next look is a gap later.
        assert_eq!(thread.sleep(now_ns + GAP_NS), Ok(0));
        assert_eq!(thread.watches[0].look_ns, now_ns + 2 * GAP_NS);
        // A job that reads only a part.
        let taking = shared.take(now_ns);
        ours.read_exact(&mut [0; 2]).unwrap();
        drop(taking);
        assert_eq!(shared.seen_ns(), None);
        assert_eq!(thread.sleep(now_ns + 2 * GAP_NS), Ok(1));
        thread.see(1, now_ns + 2 * GAP_NS);
        assert_eq!(thread.watches[0].look_ns, now_ns + 3 * GAP_NS);
    }

    /// A job that another channel has released may have read the device before: the next job comes for what is seen then.
    #[test]
    #[cfg_attr(miri, ignore = "calls poll")]
    fn what_is_seen_while_a_job_runs_stays() {
        let shared = WatchedDevice::new(GAP_NS);
        let (mut thread, _ours, _theirs) = thread(&shared);
        let now_ns = 1_000 * GAP_NS;
        let taking = shared.take(now_ns);
        thread.see(1, now_ns + 1);
        drop(taking);
        assert_eq!(shared.seen_ns(), Some(now_ns + 1), "by a job that had seen nothing");
        let taking = shared.take(now_ns + GAP_NS);
        thread.see(1, now_ns + GAP_NS + 1);
        drop(taking);
        assert_eq!(shared.seen_ns(), Some(now_ns + GAP_NS + 1), "by one that takes what was seen before");
    }

    /// A job cannot be released at once: the thread looks again when that job's gap is over.
    #[test]
    #[cfg_attr(miri, ignore = "calls poll")]
    fn the_gap_counts_from_the_release() {
        let shared = WatchedDevice::new(GAP_NS);
        let (mut thread, _ours, mut theirs) = thread(&shared);
        let now_ns = 1_000 * GAP_NS;
        drop(shared.take(now_ns - GAP_NS / 2));
        theirs.write_all(b"abc").unwrap();
        thread.see(1, now_ns);
        assert_eq!(thread.watches[0].look_ns, now_ns + GAP_NS / 2 + GAP_NS);
    }
}
