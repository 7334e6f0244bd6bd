// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Signs of life of a core while a set runs on it: from a thread above all others (the probe), from the loops of the
//! jobs, and from an ordinary thread that runs when nothing else wants the core.
//!
//! The probe sleeps until every release of its core, as the dispatcher does, and until [`EVERY`] after its last look.
//! It does no work: its lateness shows when the machine was late, and when it was not.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use taut_sys::{clock, thread};
use taut_time::Duration;

/// The longest time between two looks.
pub(crate) const EVERY: Duration = Duration::from_us(500);
/// Above the dispatcher's priority.
const PRIORITY: u8 = 99;
/// How many signs of a run are kept; later ones are dropped.
const KEPT: usize = 1 << 15;
/// A spinning job had its core all the time unless two clock reads are farther apart.
const THERE_NS: u64 = 5_000;

/// A sign that a thread ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The probe was due at `due_ns` and ran at `seen_ns`.
    Look { due_ns: u64, seen_ns: u64 },
    /// A job computed all that time.
    Alive { from_ns: u64, to_ns: u64 },
    /// An ordinary thread ran: none of our real-time threads wanted the core.
    Spare { from_ns: u64, to_ns: u64 },
}

/// The signs of a core, from all threads that report them. Recording allocates nothing.
#[derive(Debug)]
pub(crate) struct Seen {
    signs: Vec<[AtomicU64; 3]>,
    count: AtomicUsize,
}

const LOOK: u64 = 0;
const ALIVE: u64 = 1;
const SPARE: u64 = 2;

impl Seen {
    pub(crate) fn new() -> Self {
        let sign = || [const { AtomicU64::new(0) }; 3];
        Self { signs: (0..KEPT).map(|_| sign()).collect(), count: AtomicUsize::new(0) }
    }

    fn put(&self, sign: [u64; 3]) {
        let at = self.count.fetch_add(1, Ordering::Relaxed);
        if let Some(places) = self.signs.get(at) {
            places.iter().zip(sign).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
        }
    }

    /// An ordinary thread ran all that time.
    pub(crate) fn spare(&self, from_ns: u64, to_ns: u64) {
        self.put([SPARE, from_ns, to_ns]);
    }

    /// All signs; call it when all threads are done.
    pub(crate) fn signs(&self) -> Vec<Sign> {
        let count = self.count.load(Ordering::Relaxed).min(KEPT);
        let sign = |words: &[AtomicU64; 3]| {
            let [kind, one, other] = [0, 1, 2].map(|at| words[at].load(Ordering::Relaxed));
            match kind {
                LOOK => Sign::Look { due_ns: one, seen_ns: other },
                SPARE => Sign::Spare { from_ns: one, to_ns: other },
                _ => Sign::Alive { from_ns: one, to_ns: other },
            }
        };
        self.signs[..count].iter().map(sign).collect()
    }

    /// Computes for `ns` of the thread's own processor time: time that other threads of the core take in between does
    /// not count.
    pub(crate) fn spin(&self, ns: u64) {
        let begin = clock::thread_cpu_ns();
        let mut from = clock::monotonic_ns();
        let mut before = from;
        loop {
            let used = clock::thread_cpu_ns() - begin;
            let now = clock::monotonic_ns();
            if now - before > THERE_NS {
                self.put([ALIVE, from, before]);
                from = now;
            }
            before = now;
            if used >= ns {
                return self.put([ALIVE, from, now]);
            }
        }
    }
}

/// Looks at every release of a core and every [`EVERY`], until `stop` is set.
pub(crate) fn watch(
    cpu: u16,
    origin_ns: u64,
    releases: &[(u64, u64)],
    seen: &Seen,
    stop: &AtomicBool,
) -> Result<(), taut_sys::Error> {
    thread::set_affinity(&[cpu])?;
    thread::timer_slack(1)?;
    thread::set_fifo(PRIORITY)?;
    let mut now_ns = clock::monotonic_ns();
    while !stop.load(Ordering::Relaxed) {
        let next = |(offset, period): &(u64, u64)| {
            let first = origin_ns + offset;
            if now_ns < first { first } else { first + ((now_ns - first) / period + 1) * period }
        };
        let due_ns = releases.iter().map(next).fold(now_ns + EVERY.as_ns(), u64::min);
        clock::sleep_until(due_ns);
        now_ns = clock::monotonic_ns();
        seen.put([LOOK, due_ns, now_ns]);
    }
    thread::set_other()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinning_thread_uses_its_time_and_is_present() {
        let seen = Seen::new();
        let (begin, from_ns) = (clock::thread_cpu_ns(), clock::monotonic_ns());
        seen.spin(2_000_000);
        assert!(clock::thread_cpu_ns() - begin >= 2_000_000);
        seen.put([LOOK, 5, 9]);
        let signs = seen.signs();
        let (last, alive) = signs.split_last().expect("signs");
        assert_eq!(*last, Sign::Look { due_ns: 5, seen_ns: 9 });
        let mut until = from_ns;
        for sign in alive {
            let Sign::Alive { from_ns, to_ns } = sign else { panic!("{sign:?}") };
            assert!(until <= *from_ns && from_ns <= to_ns, "{alive:?}");
            until = *to_ns;
        }
    }
}
