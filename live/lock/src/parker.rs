// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A word on which one thread sleeps until another lets it go on.
//!
//! # Use
//! One for each thread: an executor's threads park here until their next job, or until they go on with one. If
//! `unpark` comes before `park`, the thread does not sleep. If `unpark` comes twice, the thread goes on once.
//!
//! # Callers
//! `-` may run at the same time, `X` may not (of two calls of `unpark`, one happens before the other).
//!
//! |        | park | unpark |
//! |--------|------|--------|
//! | park   | X    | -      |
//! | unpark | -    | X      |
//!
//! No memory is at risk if two threads unpark at the same time: one `unpark` may then have no effect.
//!
//! # Progress
//! | operation | bound                                                                                        |
//! |-----------|----------------------------------------------------------------------------------------------|
//! | `park`    | 1 exchange if the word is NOTIFIED; else blocks, 1 exchange more at each wake-up              |
//! | `unpark`  | wait-free: 1 store, 1 system call that does not block                                        |
//!
//! # Orderings
//! - O1 open: Release of the store in `unpark` ↔ Acquire of the exchange in `park`.
//!
//! # Crash
//! Threads of one process die together. A thread that ends without `unpark` leaves the other asleep.
//!
//! # Source
//! \[Drepper11\].

use taut_atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sleep::Futex;

// # State
//
// ```text
// 0 EMPTY   1 NOTIFIED
// ```
//
// # Invariants
//
// - I1 Only the thread that parks makes the word EMPTY, after it has found the word NOTIFIED.

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;

/// One thread sleeps here until another lets it go on. On a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Parker {
    futex: Futex,
    #[cfg(all(test, any(loom, shuttle)))]
    without: model::Without,
}

impl Parker {
    /// Sleeps until notified, and clears the notification. Returns how often the thread went to sleep. All that
    /// happened before `unpark` is then visible to this thread.
    #[inline]
    pub fn park(&self) -> u32 {
        // Proof: All that happened before `unpark` is visible after the `park` that it ends, because that `park` read
        // the 1 that `unpark` stored (O1). *A lost wake-up.* The thread that parks sleeps only if the kernel finds 0.
        // If `unpark` stores before that, the kernel finds 1 (I1); if after, the wake comes after the store, and finds
        // the thread asleep.
        let mut sleeps = 0;
        // O1 open (Acquire)
        while self.futex.word.compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed).is_err() {
            self.futex.sleep(EMPTY);
            sleeps += 1;
        }
        sleeps
    }

    /// Lets the parked thread go on. If its priority is higher, it runs before this call returns.
    #[inline]
    pub fn unpark(&self) {
        let order = Release; // O1 open
        #[cfg(all(test, any(loom, shuttle)))]
        let order = self.without.order(order);
        self.futex.word.store(NOTIFIED, order);
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::Wake {
            return;
        }
        self.futex.wake_one();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn two_take_turns() {
        let parkers = [Parker::default(), Parker::default()];
        let turns = |me: usize| {
            for _ in 0..if cfg!(miri) { 20 } else { 2_000 } {
                parkers[me].park();
                parkers[1 - me].unpark();
            }
        };
        parkers[0].unpark();
        std::thread::scope(|threads| {
            threads.spawn(|| turns(1));
            turns(0);
        });
        assert_eq!(parkers[0].futex.word.load(Acquire), NOTIFIED);
    }

    #[test]
    fn opened_twice_it_goes_on_once() {
        let parker = Parker::default();
        parker.unpark();
        parker.unpark();
        parker.park();
        assert_eq!(parker.futex.word.load(Acquire), EMPTY);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads the state of another thread from /proc")]
    fn a_parked_thread_sleeps_and_reports_it() {
        let parker = Parker::default();
        parker.unpark();
        assert_eq!(parker.park(), 0, "it was open");
        let tid = std::sync::atomic::AtomicI32::new(0);
        std::thread::scope(|threads| {
            let waits = threads.spawn(|| {
                crate::sleep::tests::say_which(&tid);
                parker.park()
            });
            crate::sleep::tests::until_asleep(&tid);
            parker.unpark();
            assert!(waits.join().unwrap() >= 1);
        });
    }

    #[test]
    fn it_shows_its_word() {
        assert_eq!(format!("{:?}", Parker::default()), "Parker { futex: Futex(0) }");
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p taut-lock --release --lib parker`, and the same with `--cfg shuttle`.
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

    fn turns(without: Without, rounds: u32) {
        explore(move || {
            let parker = || Parker { without, ..Parker::default() };
            let shared = Arc::new(([parker(), parker()], Exclusive::new(0)));
            let other = Arc::clone(&shared);
            let take = move |shared: &([Parker; 2], Exclusive<u32>), me: usize| {
                for round in 0..rounds {
                    shared.0[me].park();
                    // SAFETY: the turns make the access exclusive, which is what is tested.
                    let value = unsafe { shared.1.with(|value| std::mem::replace(value, *value + 1)) };
                    assert_eq!(value, 2 * round + me as u32);
                    shared.0[1 - me].unpark();
                }
            };
            let thread = thread::spawn(move || take(&other, 1));
            shared.0[0].unpark();
            take(&shared, 0);
            thread.join().unwrap();
        });
    }

    #[test]
    fn two_take_turns() {
        turns(Without::Nothing, if cfg!(loom) { 2 } else { 10 });
    }

    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "Causality violation")]
    fn without_release_the_work_is_not_seen() {
        turns(Without::Release, 1);
    }

    #[test]
    #[cfg(shuttle)]
    #[should_panic(expected = "deadlock")]
    fn without_the_wake_it_sleeps_on() {
        turns(Without::Wake, 2);
    }
}

// # Checked
//
// - here, under loom and shuttle: two threads that take turns; without the Release (loom), without the wake (shuttle):
//   fails
// - `taut-exec`: every thread of a pool; there under the thread sanitizer
//
// Not covered: the kernel's part, which in a model is a mutex with a condition.
