// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Monotonic and CPU time, and sleeping until an instant.

use std::sync::atomic::{AtomicBool, Ordering};

/// A sleep ended early: a signal arrived and the stop flag was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted by a signal, with the stop flag set")
    }
}

impl std::error::Error for Interrupted {}

/// Nanoseconds of `CLOCK_MONOTONIC`: since some moment before boot, never backwards, the same in every process.
///
/// *Real-time*: no system call where the vDSO has the clock.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of processor time that the calling thread has used.
///
/// *Real-time*: one system call, about half a microsecond.
#[inline]
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds of processor time that another thread of this process has used, by its id; 0 if there is no such thread.
///
/// *Real-time*: one system call, about half a microsecond.
pub fn cpu_ns_of(tid: i32) -> u64 {
    /// The bits of a clock id that select a thread, and the scheduler's count of processor time.
    const OF_THREAD: libc::clockid_t = 4 | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours and writable; without such a clock the kernel does not write to it.
    unsafe { libc::clock_gettime(!tid << 3 | OF_THREAD, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours and writable. The call cannot fail: both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    // Neither clock is ever negative, and 64 bits of nanoseconds last 584 years.
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Nanoseconds of the clock tick in which `/proc` counts processor time.
pub fn tick_ns() -> u64 {
    // SAFETY: no memory involved.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1)
}

/// An instant or a span in the form that Linux takes.
pub(crate) const fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// Sleeps until [`monotonic_ns`] is at least `ns`. Signals do not shorten it.
///
/// *Real-time*: waits only for the instant; one system call, one more per signal. Returns at once if the instant has
/// passed.
pub fn sleep_until(ns: u64) {
    let time = timespec(ns);
    while sleep(&time) == libc::EINTR {}
}

/// As [`sleep_until`], but returns early if a signal arrives and `stop` is set, or if `stop` is set before the sleep.
///
/// A flag that is set between the check and the sleep takes effect at the next signal, or after the sleep. So a
/// thread that stops another one sets the flag, and the other stops at the end of its period at the latest.
///
/// *Real-time*: as [`sleep_until`].
///
/// # Errors
/// [`Interrupted`] if the flag ended it before the instant.
pub fn sleep_until_or_stop(ns: u64, stop: &AtomicBool) -> Result<(), Interrupted> {
    let time = timespec(ns);
    loop {
        if stop.load(Ordering::Acquire) {
            return Err(Interrupted);
        }
        if sleep(&time) != libc::EINTR {
            return Ok(());
        }
    }
}

fn sleep(time: &libc::timespec) -> i32 {
    // SAFETY: `time` is a valid timespec (nanoseconds below 10^9, seconds not negative: a u64 of nanoseconds has at
    // most 1.9 * 10^10 seconds); the remainder is not requested. It returns the error number, not -1; with these
    // arguments only 0 and EINTR are possible.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, time, std::ptr::null_mut()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_never_ends_early() {
        for _ in 0..20 {
            let until = monotonic_ns() + 1_000_000;
            sleep_until(until);
            assert!(monotonic_ns() >= until);
        }
        let before = monotonic_ns();
        sleep_until(0);
        assert!(monotonic_ns() - before < 1_000_000_000, "the past is no reason to wait");
    }

    #[test]
    fn stop_flag_ends_a_sleep() {
        let stop = AtomicBool::new(true);
        assert_eq!(sleep_until_or_stop(u64::MAX, &stop), Err(Interrupted));
        stop.store(false, Ordering::Relaxed);
        assert_eq!(sleep_until_or_stop(monotonic_ns() + 1000, &stop), Ok(()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "waits for its own processor time, which Miri does not count")]
    fn another_threads_cpu_time_grows_while_it_works() {
        use std::sync::atomic::AtomicI32;
        let (tid, over) = (AtomicI32::new(0), AtomicBool::new(false));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                tid.store(crate::thread::tid(), Ordering::Release);
                while !over.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            });
            while tid.load(Ordering::Acquire) == 0 {
                crate::thread::give_way();
            }
            let before = cpu_ns_of(tid.load(Ordering::Acquire));
            let end = monotonic_ns() + 5_000_000_000;
            while cpu_ns_of(tid.load(Ordering::Acquire)) < before + 1_000_000 && monotonic_ns() < end {
                crate::thread::give_way();
            }
            assert!(cpu_ns_of(tid.load(Ordering::Acquire)) >= before + 1_000_000);
            over.store(true, Ordering::Release);
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "waits for its own processor time, which Miri does not count")]
    fn cpu_time_grows_with_work_and_not_with_sleep() {
        let start = thread_cpu_ns();
        sleep_until(monotonic_ns() + 20_000_000);
        let slept = thread_cpu_ns() - start;
        assert!(slept < 15_000_000, "slept 20 ms, charged {slept} ns");
        let start = thread_cpu_ns();
        let end = start + 5_000_000;
        while thread_cpu_ns() < end {}
        assert!(thread_cpu_ns() - start >= 5_000_000);
    }
}
