// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A timer that nobody waits for: it lets the kernel program its clock ahead.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::Result;
use crate::clock::timespec;
use crate::error::check;

/// A timer of `CLOCK_MONOTONIC`.
///
/// A sleep that becomes the earliest thing a processor waits for reprograms the processor's clock, which costs
/// microseconds on a virtual machine. If a timer for the same instant is queued already, the expiry before it has done
/// that.
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
        // SAFETY: fresh, and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Arms it for an instant of [`crate::clock::monotonic_ns`], in place of what it was armed for.
    ///
    /// *Real-time*: one short system call. The timer is queued on the processor that calls.
    ///
    /// # Errors
    /// None is expected.
    pub fn arm(&self, ns: u64) -> Result {
        // Zero would disarm it.
        let value = timespec(ns.max(1));
        let spec = libc::itimerspec { it_interval: timespec(0), it_value: value };
        // SAFETY: the descriptor is ours; `spec` is readable; the old setting is not asked for.
        let set = unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut())
        };
        check("timerfd_settime", set).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_armed_again_and_again() {
        let timer = Timer::new().unwrap();
        for ns in [0, 1, crate::clock::monotonic_ns() + 1_000_000, u64::MAX] {
            assert_eq!(timer.arm(ns), Ok(()));
        }
    }
}
