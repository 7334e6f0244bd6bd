// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Where one thread sleeps until another lets it go on.
//!
//! # Use
//!
//! A thread of its own each: an executor's threads wait here for their next job, or to go on with one. Opened before it
//! sleeps, it does not. Opened twice, it goes on once.
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (of two that open, who comes second knows of the first).
//!
//! |        | wait | open |
//! |--------|------|------|
//! | wait   | X    | -    |
//! | open   | -    | X    |
//!
//! No memory is at risk if they do: one that opens may then not be seen.
//!
//! # Progress
//!
//! | operation | bound                                                                                        |
//! |-----------|----------------------------------------------------------------------------------------------|
//! | `park`    | 1 exchange if it is open; else blocks, 1 more each time it is woken                            |
//! | `unpark`    | wait-free: 1 store, 1 system call that does not block                                         |
//!
//! # State
//!
//! ```text
//! 0 shut   1 open
//! ```
//!
//! # Invariants
//!
//! - I1 Only who waits shuts it, when it has found it open.
//!
//! # Orderings
//!
//! - O1 open: Release of the store in `unpark` ↔ Acquire of the exchange in `park`.
//!
//! # Proof
//!
//! What was done before `unpark` is seen behind the `park` that it ends: that one took its 1 (O1). *A lost wake-up.* Who waits
//! sleeps only if the kernel finds 0. If it is opened before, it finds 1 (I1); if after, the wake comes behind the store,
//! and finds it asleep.
//!
//! # Crash
//!
//! Threads of one process die together. One that ends without opening leaves the other asleep.
//!
//! # Source
//!
//! \[Drepper11\].
//!
//! # Checked
//!
//! - here, under loom and shuttle: two threads that take turns; without the Release (loom), without the wake (shuttle): fails
//! - `taut-exec`: every thread of a pool; there under the thread sanitizer
//!
//! Not covered: the kernel's part, which in a model is a mutex with a condition.

use taut_atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sleep::Futex;

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;

/// Where one thread sleeps until another lets it go on. On a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Parker {
    futex: Futex,
    #[cfg(all(test, any(loom, shuttle)))]
    without: model::Without,
}

impl Parker {
    /// Sleeps until it is open, and shuts it; how often it went to sleep. What was done before it was opened is seen then.
    #[inline]
    pub fn park(&self) -> u32 {
        let mut sleeps = 0;
        // O1 open (Acquire)
        while self.futex.word.compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed).is_err() {
            self.futex.sleep(EMPTY);
            sleeps += 1;
        }
        sleeps
    }

    /// Lets the thread go on. A thread of a higher priority runs before this returns.
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
    #[cfg_attr(miri, ignore = "what another thread does is read from /proc")]
    fn who_waits_sleeps_and_says_so() {
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

    /// What is left out, to see that it is needed.
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
                    // SAFETY: what is tested.
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
