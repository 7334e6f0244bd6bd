// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wakes a receiver: rung after a value was pushed, waited for when there is none.
//!
//! Progress   ring: 1 read-modify-write, 1 load and, if the receiver sleeps, one futex wake, which does not
//!            block. wait: blocks until rung, interrupted or called off.
//! State      `count`: rings so far, wrapping; `asleep`: 1 while the receiver is about to sleep or sleeps.
//! Invariant  I1 a value that was pushed before a ring is seen by a receiver that waits after it.
//! Orderings  O1 `count` is raised (ring) before `asleep` is read, and `asleep` is set (wait) before the kernel
//!            compares `count`: all sequentially consistent, so at least one side sees the other.
//! Proof      If the ringer reads `asleep` = 0, its raise precedes the receiver's setting of `asleep`, hence the
//!            kernel's comparison: the wait returns at once. Otherwise it wakes.
//! Crash      A ringer that dies between push and ring leaves a value that waits for the next ring. A hostile ringer wakes the receiver in vain, which the receiver
//!            answers at most once per least gap.

use std::sync::atomic::{AtomicU32, Ordering};

use taut_sys::futex;

/// The last line of a triggering channel's region.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Bell {
    count: AtomicU32,
    asleep: AtomicU32,
}

impl Bell {
    /// Wakes the receiver if it sleeps.
    pub(crate) fn ring(&self) {
        // O1 ringing
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) != 0 {
            // An error could only mean that the word is not mapped.
            let _ = futex::wake(&self.count, 1, true);
        }
    }

    /// What to hand to `wait`; to be taken before looking for a value.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    /// Sleeps unless it was rung since `count`. Returns whether the thread really slept. May return in vain.
    pub(crate) fn wait(&self, count: u32) -> bool {
        // O1 waiting
        self.asleep.store(1, Ordering::SeqCst);
        let woken = futex::wait(&self.count, count, None, true);
        self.asleep.store(0, Ordering::Relaxed);
        !matches!(woken, Ok(futex::Waited::Changed))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// I1, with a producer that pauses anywhere: a lost wake-up would leave the receiver asleep for ever.
    #[test]
    fn no_ring_is_lost() {
        const VALUES: u64 = 200_000;
        let (bell, pushed) = (Bell::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut chance = 1u64;
                for value in 1..=VALUES {
                    pushed.store(value, Ordering::Release);
                    bell.ring();
                    chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    for _ in 0..chance >> 58 {
                        std::hint::spin_loop();
                    }
                }
            });
            let (mut seen, mut slept) = (0, 0u64);
            while seen < VALUES {
                let count = bell.count();
                let now = pushed.load(Ordering::Acquire);
                if now == seen {
                    slept += u64::from(bell.wait(count));
                } else {
                    assert!(now > seen);
                    seen = now;
                }
            }
            assert_eq!(seen, VALUES);
            assert!(slept <= VALUES);
        });
        // Nothing more comes: a wait since an old count returns at once, without a sleep.
        assert!(!bell.wait(bell.count().wrapping_sub(1)));
    }
}
