// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Places threads as the plan says, and holds them until release 0.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use taut_plan::STACK_BYTES;
use taut_sys::{futex, thread};

use crate::{Guarantee, Guarantees};

/// Where a thread runs, and at which priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPlacement {
    /// The CPU.
    pub cpu: u16,
    /// The SCHED_FIFO priority, 1 to 99.
    pub priority: u8,
}

/// Places the calling thread: pins it, sets its priority, and makes its stack present.
///
/// Does not try again for guarantees that are already lost: boot has reported them once.
///
/// # Errors
/// The system's error, if the system refuses what a guarantee still promises.
pub fn place_thread(placement: ThreadPlacement, guarantees: &Guarantees) -> Result<(), taut_sys::Error> {
    if guarantees.keeps(Guarantee::Cores) {
        thread::set_affinity(&[placement.cpu])?;
    }
    if guarantees.keeps(Guarantee::Priorities) {
        thread::set_fifo(placement.priority)?;
    }
    thread::timer_slack(1)?;
    // The frames of a job lie below this one; the guard page and our own frames above need some room.
    thread::prefault_stack(STACK_BYTES - (64 << 10));
    Ok(())
}

/// Holds threads until all are ready, then gives them the instant of release 0.
///
/// Orderings: O1 the origin is stored before `open` is released and read after it is acquired.
#[derive(Debug, Default)]
pub struct StartBarrier {
    ready: AtomicU32,
    open: AtomicU32,
    origin_ns: AtomicU64,
}

const SHUT: u32 = 0;
const OPEN: u32 = 1;
const CALLED_OFF: u32 = 2;

impl StartBarrier {
    /// Reports that the calling thread is ready, and waits for release 0.
    ///
    /// Returns the instant of release 0 on the monotonic clock, or `None` if the start was called off.
    pub fn wait(&self) -> Option<u64> {
        self.ready.fetch_add(1, Ordering::AcqRel);
        let _ = futex::wake(&self.ready, u32::MAX, false);
        loop {
            // O1 opened
            match self.open.load(Ordering::Acquire) {
                SHUT => {
                    let _ = futex::wait(&self.open, SHUT, None, false);
                }
                OPEN => return Some(self.origin_ns.load(Ordering::Relaxed)),
                _ => return None,
            }
        }
    }

    /// Waits until `threads` threads have arrived, or until `deadline_ns` on the monotonic clock. Returns how many
    /// have arrived.
    pub fn arrivals(&self, threads: u32, deadline_ns: u64) -> u32 {
        loop {
            let ready = self.ready.load(Ordering::Acquire);
            if ready >= threads || taut_sys::clock::monotonic_ns() >= deadline_ns {
                return ready;
            }
            let _ = futex::wait(&self.ready, ready, Some(deadline_ns), false);
        }
    }

    /// Releases all threads, with release 0 at `origin_ns` on the monotonic clock.
    pub fn open(&self, origin_ns: u64) {
        self.origin_ns.store(origin_ns, Ordering::Relaxed);
        // O1 opened
        self.open.store(OPEN, Ordering::Release);
        let _ = futex::wake(&self.open, u32::MAX, false);
    }

    /// Releases all threads without a start.
    pub fn call_off(&self) {
        self.open.store(CALLED_OFF, Ordering::Release);
        let _ = futex::wake(&self.open, u32::MAX, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A placed real-time thread touches half of its stack without a page fault.
    #[test]
    #[cfg_attr(miri, ignore = "reads /proc and calls getrusage")]
    fn a_placed_thread_has_its_stack_present() {
        let take = || {
            let mut guarantees = Guarantees::default();
            guarantees.lose(Guarantee::Cores, "taken away");
            guarantees.lose(Guarantee::Priorities, "taken away");
            place_thread(ThreadPlacement { cpu: 0, priority: 1 }, &guarantees).unwrap();
            let before = taut_sys::usage::thread_usage();
            assert_eq!(thread::prefault_stack(STACK_BYTES / 2), STACK_BYTES / 2);
            taut_sys::usage::thread_usage().since(before).minor_faults
        };
        let faults = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(take).unwrap().join().unwrap();
        assert!(faults < 8, "{faults} of 32 pages were missing");
    }
}
