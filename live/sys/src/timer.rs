// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A timer that no thread waits for: it lets the kernel program its clock in advance.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::Result;
use crate::clock::timespec;
use crate::error::check;

/// A timer of `CLOCK_MONOTONIC`.
///
/// If a sleep becomes the earliest event that a processor waits for, the kernel reprograms the processor's clock,
/// which costs microseconds on a virtual machine. If a timer for the same instant is queued already, the previous
/// expiry has programmed the clock.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// A timer that is not armed.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM: no more descriptors.
    pub fn new() -> Result<Self> {
        // SAFETY: plain integers.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
        let fd = check("timerfd_create", fd)?;
        // SAFETY: new, and owned by no other code.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Arms it for an instant of [`crate::clock::monotonic_ns`], and replaces the previous instant.
    ///
    /// *Real-time*: one short system call. The timer is queued on the caller's processor.
    ///
    /// # Errors
    /// None is expected.
    pub fn arm(&self, ns: u64) -> Result {
        // Zero would disarm it.
        let value = timespec(ns.max(1));
        let spec = libc::itimerspec { it_interval: timespec(0), it_value: value };
        // SAFETY: the descriptor is ours; `spec` is readable; the old setting is not requested.
        let set = unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut())
        };
        check("timerfd_settime", set).map(drop)
    }
}

/// A timer with which the kernel kills this process, in case the process cannot end itself. Dropping it disarms it.
#[derive(Debug)]
pub struct LastResort(libc::timer_t);

// SAFETY: a number that the kernel gave this process; any of its threads may use it.
unsafe impl Send for LastResort {}
// SAFETY: as above; the kernel serialises the calls.
unsafe impl Sync for LastResort {}

impl LastResort {
    /// A timer that is not armed.
    ///
    /// # Errors
    /// EAGAIN: no memory for it, or too many signals are queued.
    pub fn new() -> Result<Self> {
        // SAFETY: integers and pointers, for which zero is a value.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGKILL;
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both are ours for the call.
        let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) };
        check("timer_create", made)?;
        Ok(Self(timer))
    }

    /// Arms it for an instant of [`crate::clock::monotonic_ns`], and replaces the previous instant; [`u64::MAX`]
    /// disarms it.
    pub fn arm(&self, ns: u64) {
        let value = if ns == u64::MAX { timespec(0) } else { timespec(ns.max(1)) };
        let spec = libc::itimerspec { it_interval: timespec(0), it_value: value };
        // SAFETY: the timer is ours; `spec` is readable; the old setting is not requested.
        unsafe { libc::timer_settime(self.0, libc::TIMER_ABSTIME, &spec, std::ptr::null_mut()) };
    }
}

impl Drop for LastResort {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { libc::timer_delete(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "calls timerfd_create")]
    fn it_can_be_armed_again_and_again() {
        let timer = Timer::new().unwrap();
        for ns in [0, 1, crate::clock::monotonic_ns() + 1_000_000, u64::MAX] {
            assert_eq!(timer.arm(ns), Ok(()));
        }
    }
}
