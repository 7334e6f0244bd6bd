// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A mutex without a guard: threads may pass the ownership on by other means.
//!
//! # Use
//! For threads of one process without priorities: an executor that may not use priorities keeps its state behind such a
//! mutex. There is no priority inheritance, and no order among the waiters. Where priorities count see
//! [`crate::Serial`], [`crate::preemption_control`] and [`crate::queued`].
//!
//! # Callers
//! `lock`: any thread at any time. `unlock`: only the owner, or the thread to which the owner has passed the mutex
//! on.
//!
//! # Progress
//! | operation | bound                                                                                        |
//! |-----------|----------------------------------------------------------------------------------------------|
//! | `lock`    | 1 exchange if the mutex is free; else blocks, 1 exchange more at each wake-up                 |
//! | `unlock`  | wait-free: 1 exchange; 1 system call that does not block if a thread may sleep                |
//!
//! # Orderings
//! - O1 give: Release of the exchange in `unlock` ↔ Acquire of both exchanges in `lock`.
//!
//! # Crash
//! Threads of one process die together. A thread that ends as the owner leaves all others asleep.
//!
//! # Source
//! \[Drepper11, section 5, the second mutex\].

use taut_atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sleep::Futex;

// # State
//
// ```text
// 0 free   1 taken   2 taken, and a thread may sleep
// ```
//
// # Invariants
//
// - I1 At any time, at most one of the threads whose exchange found the word free has not unlocked yet.
// - I2 While a thread sleeps and no wake is on its way to it, the word is 2, or a thread that was woken is about to
//   make it 2.

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// A thread may sleep.
const AWAITED: u32 = 2;

/// A mutex without a guard. The next owner sees what the last owner did. On a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct FutexMutex {
    futex: Futex,
    #[cfg(all(test, any(loom, shuttle)))]
    without: model::Without,
}

impl FutexMutex {
    /// Waits until the caller owns the mutex.
    #[inline]
    pub fn lock(&self) {
        // Proof: I1: every thread enters by an exchange that found 0 and left another value, and only `unlock` stores
        // 0. Two successive owners are ordered: the second read what the first stored in `unlock`, or what exchanges
        // made of that (O1).

        // O1 give (Acquire)
        if self.futex.word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_err() {
            self.lock_slow();
        }
    }

    #[cold]
    fn lock_slow(&self) {
        // Proof: I2: a thread that sleeps has stored 2 before, and the kernel lets it sleep only if it finds 2. From
        // then on the word goes to 0 by an `unlock` that reads that 2, or a later one, and wakes one thread. A thread
        // that enters from a sleep has stored 2 in its turn, because there may be more sleepers: its own `unlock`
        // wakes the next. If another thread enters before it, from 0 to 1, the woken thread makes that 2 and sleeps
        // again, and the `unlock` of that other thread wakes it.
        let taken = AWAITED;
        #[cfg(all(test, any(loom, shuttle)))]
        let mut taken = taken;
        // O1 give (Acquire)
        while self.futex.word.swap(taken, Acquire) != FREE {
            self.futex.sleep(AWAITED);
            #[cfg(all(test, any(loom, shuttle)))]
            if self.without == model::Without::Others {
                taken = TAKEN;
            }
        }
    }

    /// Unlocks the mutex. Only for its owner.
    #[inline]
    pub fn unlock(&self) {
        let order = Release; // O1 give
        #[cfg(all(test, any(loom, shuttle)))]
        let order = self.without.order(order);
        if self.futex.word.swap(FREE, order) == AWAITED {
            #[cfg(all(test, any(loom, shuttle)))]
            if self.without == model::Without::Wake {
                return;
            }
            self.futex.wake_one();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use taut_atomic::Exclusive;

    use super::*;

    #[test]
    fn one_at_a_time() {
        const TURNS: u64 = if cfg!(miri) { 20 } else { 5_000 };
        let (futex_mutex, count) = (FutexMutex::default(), Exclusive::new(0_u64));
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..TURNS {
                        futex_mutex.lock();
                        // SAFETY: the mutex makes the access exclusive, which is what is tested.
                        unsafe { count.with(|count| *count += 1) };
                        futex_mutex.unlock();
                    }
                });
            }
        });
        futex_mutex.lock();
        // SAFETY: all other threads have ended.
        assert_eq!(unsafe { count.with(|count| *count) }, 3 * TURNS);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads the state of another thread from /proc")]
    fn the_second_thread_sleeps_until_it_gets_the_mutex() {
        let futex_mutex = FutexMutex::default();
        futex_mutex.lock();
        let tid = std::sync::atomic::AtomicI32::new(0);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                crate::sleep::tests::say_which(&tid);
                futex_mutex.lock();
                futex_mutex.unlock();
            });
            crate::sleep::tests::until_asleep(&tid);
            futex_mutex.unlock();
        });
        assert_eq!(futex_mutex.futex.word.load(Acquire), FREE);
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p taut-lock --release --lib futex_mutex`, and the same with `--cfg shuttle`.
#[cfg(all(test, any(loom, shuttle)))]
mod model {
    #[cfg(loom)]
    use loom::{sync::Arc, thread};
    #[cfg(shuttle)]
    use shuttle::{sync::Arc, thread};
    use taut_atomic::{Exclusive, Ordering};

    use super::*;
    use crate::sleep::explore;

    /// What the model leaves out, to show that it is needed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) enum Without {
        #[default]
        Nothing,
        #[cfg(loom)]
        Release,
        Wake,
        /// A woken thread assumes that no other thread sleeps.
        Others,
    }

    impl Without {
        pub(super) fn order(self, order: Ordering) -> Ordering {
            #[cfg(loom)]
            if self == Self::Release {
                return Ordering::Relaxed;
            }
            order
        }
    }

    fn turns(without: Without, threads: u32, rounds: u32) {
        explore(move || {
            let futex_mutex = FutexMutex { without, ..FutexMutex::default() };
            let shared = Arc::new((futex_mutex, Exclusive::new(0)));
            let lock = move |shared: &(FutexMutex, Exclusive<u32>)| {
                for _ in 0..rounds {
                    shared.0.lock();
                    // SAFETY: the mutex makes the access exclusive, which is what is tested.
                    unsafe { shared.1.with(|count| *count += 1) };
                    shared.0.unlock();
                }
            };
            let spawn = |_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || lock(&shared))
            };
            let others: Vec<_> = (1..threads).map(spawn).collect();
            lock(&shared);
            others.into_iter().for_each(|thread| thread.join().unwrap());
            shared.0.lock();
            // SAFETY: all other threads have ended.
            assert_eq!(unsafe { shared.1.with(|count| *count) }, threads * rounds);
        });
    }

    #[test]
    fn one_at_a_time() {
        #[cfg(loom)]
        for (threads, rounds) in [(2, 2), (3, 1)] {
            turns(Without::Nothing, threads, rounds);
        }
        #[cfg(shuttle)]
        turns(Without::Nothing, 4, 5);
    }

    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "Causality violation")]
    fn without_release_the_work_is_not_seen() {
        turns(Without::Release, 2, 1);
    }

    #[test]
    #[cfg(shuttle)]
    #[should_panic(expected = "deadlock")]
    fn without_the_wake_they_sleep_on() {
        turns(Without::Wake, 2, 2);
    }

    #[test]
    #[cfg(shuttle)]
    #[should_panic(expected = "deadlock")]
    fn a_woken_thread_that_forgets_other_waiters_deadlocks() {
        turns(Without::Others, 3, 2);
    }
}

// # Checked
//
// - here, under loom and shuttle: two and three threads; without the Release (loom), without the wake, and if a woken
//   thread stores 1 (shuttle): fails
// - `taut-exec`: all that it runs without privilege; there under the thread sanitizer
//
// Not covered: the kernel's part, which in a model is a mutex with a condition.
