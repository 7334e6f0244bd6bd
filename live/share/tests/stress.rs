// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every protocol, with threads that work as fast as they can, on a payload that shows tearing. 0.3 s for each size
//! of each protocol; `TAUT_STRESS_SECONDS` makes it longer. Under Miri the runs are short.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod account;
mod objects;
mod payload;
mod place;

#[path = "bulk/stress.rs"]
mod bulk;
#[path = "flow/stress.rs"]
mod flow;
#[path = "bulk/reserved_stress.rs"]
mod reserved;

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use account::{Newest, Order};
use objects::{Got, Queue, State, WhenFull, every_queue, every_state};
use payload::marked;
use place::Place;

/// Calls `step` with 1, 2, 3 … for `share` of the time of a run, and then for at most a minute more until all flags
/// in `met` are set: if other programs are busy too, a thread may get no processor for a long time. Under Miri only a
/// few times.
fn repeat(share: f64, met: &[AtomicBool], mut step: impl FnMut(u64)) -> u64 {
    let seconds = std::env::var("TAUT_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(0.3);
    let end = Instant::now() + Duration::from_secs_f64(seconds * share);
    let limit = end + Duration::from_secs(60);
    let over = |now| now > limit || now > end && met.iter().all(|met| met.load(Relaxed));
    for n in 1.. {
        if if cfg!(miri) { n > 100 } else { n % 64 == 0 && over(Instant::now()) } {
            return n - 1;
        }
        step(n);
    }
    unreachable!("the loop above has no end")
}

/// A pause after some operations, given that `n` are done: a side that never pauses starves some others. The pause is
/// short, after every `often`-th operation in every second stretch of 2^`stretch`. It yields the processor only
/// seldom: threads that yield again and again take turns on one processor, and never meet inside an operation; and if
/// other programs are busy, each yield costs milliseconds.
fn breathe(n: u64, often: u64, stretch: u32) {
    if n.is_multiple_of(if cfg!(miri) { often } else { 512 }) {
        thread::yield_now();
    } else if n.is_multiple_of(often) && (n >> stretch).is_multiple_of(2) {
        pause();
    }
}

/// Pauses for about a microsecond or a few.
fn pause() {
    if cfg!(miri) {
        thread::yield_now();
    } else {
        (0..50).for_each(|_| std::hint::spin_loop());
    }
}

/// Number of new values after which a reader counts as having met the writer.
const MET: u64 = 7;

/// Only one test runs at a time, so that its threads have the processors.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Set when a thread ends, also by a panic: the others do not wait for it.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Release);
    }
}

/// A word on its own line, so that the account causes no traffic on the object's lines.
#[repr(align(128))]
#[derive(Default)]
struct Apart(AtomicU64);

fn state<const N: usize, S: State<N>>() {
    let _turn = alone();
    let place = Place::new(S::bytes());
    // SAFETY: the only ends, each once.
    let (mut writer, readers) = unsafe {
        let readers: Vec<_> = (0..S::READERS).map(|which| S::reader(place.memory(), which)).collect();
        (S::writer(place.memory()), readers)
    };
    let met: Vec<_> = readers.iter().map(|_| AtomicBool::new(false)).collect();
    // The last value that each reader has seen.
    let seen: Vec<_> = readers.iter().map(|_| Apart::default()).collect();
    let (begun, complete, done) = (Apart::default(), Apart::default(), AtomicBool::new(false));
    let (begun, complete, done, seen) = (&begun.0, &complete.0, &done, seen.as_slice());
    thread::scope(|scope| {
        let reading: Vec<_> = readers
            .into_iter()
            .zip(seen.iter().zip(&met))
            .map(|(mut reader, (mine, met))| {
                scope.spawn(move || {
                    let _met = Done(met);
                    let (mut newest, mut reads, mut values, mut reported) =
                        (Newest::default(), 0u64, 0u64, 0u64);
                    while !done.load(Relaxed) {
                        let mut floor = complete.load(Acquire);
                        if S::ATOMIC {
                            floor = seen.iter().map(|seen| seen.0.load(Acquire)).fold(floor, u64::max);
                        }
                        let (before, got) = (newest.last, S::read(&mut reader));
                        reported += u64::from(got == Got::Unavailable);
                        if let Some(n) = newest.judge::<N, S>(got, floor) {
                            assert!(n <= begun.load(Acquire), "{}: {n} from the future", S::NAME);
                            mine.0.store(n, Release);
                            values += u64::from(n > before);
                            if values == MET {
                                met.store(true, Relaxed);
                            }
                        }
                        reads += 1;
                        breathe(reads, 4, 10);
                    }
                    (reader, newest, reads, values, reported)
                })
            })
            .collect();
        let mut last = 0;
        let tries = {
            let _done = Done(done);
            repeat(1.0, &met, |n| {
                begun.store(n, Release);
                if S::write(&mut writer, &marked(n)) {
                    last = n;
                    complete.store(n, Release);
                } else {
                    assert!(!S::WRITES_ALWAYS, "{}: a write that did not", S::NAME);
                    pause();
                }
                breathe(n, 8, 9);
            })
        };
        println!("{} {N}: {tries} writes tried, last {last}", S::NAME);
        // Joins all of them before the checks at rest: a thread that still reads under a lock would block the others.
        let reading: Vec<_> = reading.into_iter().map(|thread| thread.join().unwrap()).collect();
        for (mut reader, mut newest, reads, values, reported) in reading {
            println!("    {reads} reads, {values} new values, {reported} unavailable");
            assert!(cfg!(miri) || values >= MET, "{}: the threads did not meet", S::NAME);
            let at_rest = newest.judge::<N, S>(S::read(&mut reader), last);
            assert_eq!(at_rest, Some(last), "{}: not the newest", S::NAME);
        }
    });
}

fn queue<const N: usize, Q: Queue<N>>(capacity: u32, share: f64) {
    let _turn = alone();
    let place = Place::new(Q::bytes(capacity));
    // SAFETY: the only ends.
    let (mut writer, mut reader) =
        unsafe { (Q::writer(place.memory(), capacity), Q::reader(place.memory(), capacity)) };
    let met = [AtomicBool::new(false)];
    let (begun, complete, popped) = (Apart::default(), Apart::default(), Apart::default());
    let (begun, complete, popped, done) = (&begun.0, &complete.0, &popped.0, AtomicBool::new(false));
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let _met = Done(&met[0]);
            let (mut order, mut pops, mut reported) = (Order::default(), 0u64, 0u64);
            loop {
                let last_look = done.load(Acquire);
                let floor = complete.load(Acquire);
                let got = Q::pop(&mut reader);
                (pops, reported) = (pops + 1, reported + u64::from(got == Got::Unavailable));
                let nothing = got == Got::Nothing;
                order.judge::<N, Q>(got, floor, capacity, || begun.load(Acquire));
                popped.store(order.popped, Release);
                if order.popped == MET {
                    met[0].store(true, Relaxed);
                }
                if nothing && last_look {
                    return (order, pops, reported);
                }
                if nothing {
                    pause();
                }
                breathe(pops, 16, 10);
            }
        });
        let mut pushed = 0;
        let tries = {
            let _done = Done(&done);
            repeat(share, &met, |n| {
                let popped = popped.load(Acquire);
                begun.store(pushed + 1, Release);
                if Q::push(&mut writer, marked(pushed + 1)) {
                    pushed += 1;
                    complete.store(pushed, Release);
                } else {
                    assert_eq!(Q::WHEN_FULL, WhenFull::Refuse, "{}: refused", Q::NAME);
                    assert!(pushed - popped >= u64::from(capacity), "{}: refused, not full", Q::NAME);
                    pause();
                }
                breathe(n, 16, 9);
            })
        };
        let (order, pops, reported) = reading.join().unwrap();
        println!(
            "{} {capacity} × {N}: {tries} tries, {pushed} pushed; {pops} tries, {} popped, {} lost, {reported} unavailable",
            Q::NAME,
            order.popped,
            order.lost
        );
        assert_eq!(order.last, pushed, "{}: the newest ones are missing", Q::NAME);
        assert_eq!(order.popped + order.lost, pushed, "{}: the account is wrong", Q::NAME);
        assert!(cfg!(miri) || order.popped >= MET, "{}: the threads did not meet", Q::NAME);
    });
}

macro_rules! states {
    ($($module:ident $object:ident)*) => {$(
        mod $module {
            #[test]
            fn holds_at_64_bytes() {
                super::state::<8, super::objects::$object>();
            }

            #[test]
            #[cfg_attr(miri, ignore = "slow; the same code as at 64 bytes")]
            fn holds_at_4_kib() {
                super::state::<512, super::objects::$object>();
            }
        }
    )*};
}
every_state!(states);

macro_rules! queues {
    ($($module:ident $object:ident)*) => {$(
        mod $module {
            #[test]
            fn holds_at_64_bytes() {
                super::queue::<8, super::objects::$object>(1, 0.5);
                super::queue::<8, super::objects::$object>(7, 0.5);
            }

            #[test]
            #[cfg_attr(miri, ignore = "slow; the same code as at 64 bytes")]
            fn holds_at_4_kib() {
                super::queue::<512, super::objects::$object>(4, 1.0);
            }
        }
    )*};
}
every_queue!(queues);
