// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A task that a device alone releases: a job while the device can be read, at most one in each minimum inter-arrival time.
//!
//! Where Linux schedules the task, and in a bench; elsewhere, and beside channels, see [`crate::device_thread`]. The
//! task's own thread waits for the device, so nothing else runs between the device and the job. It looks at the
//! device only
//! when the next job may be released: a device that is always ready causes one job in each gap, as the analysis charges it.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use taut_sys::{clock, device};

use crate::body::{Release, TaskKind};
use crate::job::{Failure, Job};
use crate::lifecycle::JobContext;
use crate::native::TaskThread;
use crate::{Component, Task};

/// How long a thread that has no wake sleeps between two looks at its service.
const LOOK: Duration = Duration::from_millis(1);

/// The device that releases a task: reads and writes without waiting.
#[derive(Clone)]
pub struct Device {
    fd: Arc<OwnedFd>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.fd).finish()
    }
}

impl Device {
    /// Makes calls on the device return instead of waiting.
    ///
    /// # Errors
    /// If the system refuses that.
    pub(crate) fn new(fd: OwnedFd) -> Result<Self, taut_sys::Error> {
        device::do_not_block(fd.as_fd())?;
        Ok(Self { fd: Arc::new(fd) })
    }

    /// Whether it can be read now; also if it has failed, or its other side has closed it.
    pub(crate) fn can_be_read(&self) -> bool {
        device::wait(Some(self.fd.as_fd()), None, Some(Duration::ZERO))
    }

    /// Reads what is there, at most as much as fits, and returns how many bytes; 0 when the other side has closed the device.
    /// One system call, which does not wait. How long it takes is up to the device's driver: measure it as part of the
    /// job.
    ///
    /// A job that does not read until [`std::io::ErrorKind::WouldBlock`] leaves the device ready: the device
    /// releases the next job after the minimum inter-arrival time.
    ///
    /// # Errors
    /// [`std::io::ErrorKind::WouldBlock`] if nothing is there; others as `read(2)` says.
    pub fn read(&mut self, job: &Job<'_>, to: &mut [u8]) -> std::io::Result<usize> {
        let _ = job;
        Ok(device::read(self.fd.as_fd(), to)?)
    }

    /// Writes as much as fits now, and returns how many bytes. Otherwise as [`Device::read`].
    ///
    /// # Errors
    /// [`std::io::ErrorKind::WouldBlock`] if nothing fits; others as `write(2)` says.
    pub fn write(&mut self, job: &Job<'_>, from: &[u8]) -> std::io::Result<usize> {
        let _ = job;
        Ok(device::write(self.fd.as_fd(), from)?)
    }
}

/// For other calls, such as `ioctl`. They must not wait.
impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A task with the device that releases it, on a native core or in a bench.
pub(crate) struct DeviceBody<T> {
    task: T,
    device: Device,
}

impl<T: Task> DeviceBody<T> {
    pub(crate) fn new(task: T, device: Device) -> Self {
        Self { task, device }
    }
}

impl<T: Task> TaskKind for DeviceBody<T> {
    type Cause = ();

    fn component(&mut self) -> &mut impl Component {
        &mut self.task
    }

    fn next(&mut self, thread: &mut TaskThread<'_>) -> Option<(u64, Release<()>)> {
        let control = thread.context.control;
        let wake = control.device_wake(thread.context.timing.task);
        let mut earliest_ns = thread.context.next_ns();
        loop {
            if !thread.sleep_until(earliest_ns) {
                return None;
            }
            // Cleared before the looks that follow, so that no change is missed.
            wake.inspect(|wake| wake.clear());
            let now_ns = clock::monotonic_ns();
            if let Some(starts_ns) = thread.context.starts_after(now_ns) {
                earliest_ns = starts_ns;
                continue;
            }
            if thread.context.follow_restart(now_ns) {
                return Some((now_ns, Release::Reset));
            }
            if let Some(state) = thread.context.follow_service(now_ns) {
                return Some((now_ns, Release::Change(state)));
            }
            if control.stopping() {
                return None;
            }
            // While the service is paused, the device waits.
            let device = thread.context.is_running().then(|| self.device.as_fd());
            let patience = wake.is_none().then_some(LOOK);
            if thread.wait_by(|| device::wait(device, wake, patience)) {
                return Some((clock::monotonic_ns(), Release::Job(())));
            }
        }
    }

    /// In a bench: nobody but the test and this task's jobs changes whether the device can be read, and the bench asks after
    /// each of them. A dispatcher has no such task: it has one that waits for its core's device thread.
    fn poll(&mut self, context: &mut JobContext<'_>, now_ns: u64) -> Option<u64> {
        if context.has_change() {
            return Some(context.starts_after(now_ns).unwrap_or(now_ns).max(context.next_ns()));
        }
        (context.is_running() && self.device.can_be_read()).then(|| now_ns.max(context.next_ns()))
    }

    fn released(&mut self, context: &mut JobContext<'_>, arrival_ns: u64) -> Release<()> {
        context.note_release(arrival_ns);
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
        self.task.release(job)
    }
}
