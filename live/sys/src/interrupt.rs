// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Waking one thread of ours out of a sleep, so that it sees that it should stop.

use crate::Result;
use crate::clock::timespec;
use crate::error::check;

/// Ignored by default, so one that comes before [`allow`] or after the end does no harm.
const SIGNAL: i32 = libc::SIGURG;

extern "C" fn nothing(_signal: i32) {}

/// Lets [`send`] end sleeps and waits of this process's threads: gives the signal a handler that does nothing.
///
/// # Errors
/// None is expected.
pub fn allow() -> Result {
    // SAFETY: zero is a value of all fields: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
    // SAFETY: `action` is ours and readable, the old one is not asked for; the handler touches nothing, so it may
    // run at any instruction of any thread.
    check("sigaction", unsafe { libc::sigaction(SIGNAL, &action, std::ptr::null_mut()) }).map(drop)
}

/// Ends the sleep or wait of a thread of this process, if it is in one; `tid` as in [`crate::thread::tid`]. A
/// thread that is on its way to sleep misses it: send again until it has answered. 0 and a thread that has ended
/// are nobody.
pub fn send(tid: i32) {
    if tid > 0 {
        // SAFETY: plain integers; a thread of another process is not reached, since the group is ours.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, SIGNAL) };
    }
}

/// Sleeps until [`crate::clock::monotonic_ns`] is at least `ns`, or until a signal arrives: `false` then.
///
/// *Real-time*: waits for the instant or the signal and for nothing else; one system call. An instant that has
/// passed returns at once.
pub fn sleep_until(ns: u64) -> bool {
    let time = timespec(ns);
    // SAFETY: `time` is a valid timespec: its nanoseconds are below 10^9; the remainder is not asked for. Returns
    // the error number: 0 or, with these arguments, EINTR.
    let result = unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
    };
    result == 0
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

    use super::*;
    use crate::clock::monotonic_ns;

    #[test]
    fn a_sleeper_is_woken() {
        allow().unwrap();
        assert!(sleep_until(monotonic_ns() + 1_000_000));
        send(0);
        let (tid, awake) = (AtomicI32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                tid.store(crate::thread::tid(), Ordering::Release);
                assert!(!sleep_until(monotonic_ns() + 3_600_000_000_000));
                awake.store(true, Ordering::Release);
            });
            while !awake.load(Ordering::Acquire) {
                send(tid.load(Ordering::Acquire));
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
    }
}
