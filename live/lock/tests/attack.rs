// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What safe code can try against the locks: panics and nested calls in the closures that locks run, values that
//! misbehave in their drop, values that are swapped, wakers that panic, poll, or own what they wake. Each attempt
//! is refused or harmless; under Miri also to the memory.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use taut_lock::request_slot::RequestSlot;
use taut_lock::{EventCount, Line, Memory, Patience, Poisoned, TryWithError, Watch, Woken, queued, spin};
use taut_sys::clock::monotonic_ns;

fn panics<R>(work: impl FnOnce() -> R) {
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
}

fn stop() -> ! {
    resume_unwind(Box::new(()))
}

/// A call that panics: its question is answered or overwritten, and no later requester gets the answer to it.
#[test]
fn calls_that_panic() {
    let slot = RequestSlot::<Box<u32>, Box<u32>>::default();
    let (requester, mut responder) = (slot.requester(), slot.responder().unwrap());
    panics(|| requester.ask(Box::new(1), || stop()));
    assert!(responder.answer(|question| Box::new(*question + 10)));
    // The same thread asks, and answers inside of its call.
    let answer =
        requester.ask(Box::new(2), || assert!(responder.answer(|question| Box::new(*question + 20))));
    assert_eq!(answer, Some(Box::new(22)));
    panics(|| requester.ask(Box::new(3), || stop()));
    panics(|| responder.answer(|_| stop()));
    assert!(requester.ask(Box::new(4), || unreachable!("nobody answers")).is_none());
    assert!(!responder.answer(|_| unreachable!("nothing is asked")));
}

/// Questions and answers that panic in their drop, where the slot drops them.
#[test]
fn questions_that_panic_when_they_are_dropped() {
    std::thread_local! { static DROPS: Cell<u32> = const { Cell::new(0) } }
    struct CountedDrop(bool);
    impl Drop for CountedDrop {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
            if self.0 {
                stop()
            }
        }
    }
    let slot = RequestSlot::<CountedDrop, CountedDrop>::default();
    let (requester, mut responder) = (slot.requester(), slot.responder().unwrap());
    panics(|| requester.ask(CountedDrop(false), || stop()));
    assert!(responder.answer(|_| CountedDrop(true)));
    // No requester took that answer. The next requester drops it when it puts its question there, and panics.
    panics(|| requester.ask(CountedDrop(false), || unreachable!("it is not asked")));
    assert_eq!(DROPS.get(), 2);
    let answer = requester.ask(CountedDrop(false), || assert!(responder.answer(|_| CountedDrop(false))));
    assert!(answer.is_some());
    drop(answer);
    // A question that panics where it is answered: after that the responder answers no requester.
    panics(|| requester.ask(CountedDrop(true), || stop()));
    panics(|| {
        responder.answer(|question| {
            drop(question);
            unreachable!("it panicked")
        })
    });
    assert!(requester.ask(CountedDrop(false), || unreachable!("nobody answers")).is_none());
    drop(responder);
    drop(slot);
    assert_eq!(DROPS.get(), 7, "each of the 5 questions and 2 answers once");
}

/// Ends of one lock inside of each other, panics inside of panics, and values that are swapped across two locks.
#[test]
fn ends_inside_of_ends() {
    fn each<'m, P: taut_lock::Turns + 'm>(
        mut ends: impl Iterator<Item = taut_lock::Guarded<'m, P, Box<u32>>>,
        mut others: impl Iterator<Item = taut_lock::Guarded<'m, P, Box<u32>>>,
    ) {
        let (mut one, mut two) = (ends.next().unwrap(), ends.next().unwrap());
        let mut other = others.next().unwrap();
        one.with(|value| {
            let within = two.try_with(Patience::Until(1), |_| unreachable!("it is held"));
            assert!(matches!(within, Err(TryWithError::Stuck(_))));
            other.with(|other| std::mem::swap(value, other)).unwrap();
            assert!(two.recover(Patience::Until(1), |_, _| unreachable!("it is held")).is_err());
        })
        .unwrap();
        assert_eq!((two.with(|value| **value), other.with(|value| **value)), (Ok(2), Ok(1)));
        // The ends are swapped: each keeps its lock and its value.
        std::mem::swap(&mut one, &mut other);
        assert_eq!((one.with(|value| **value), other.with(|value| **value)), (Ok(1), Ok(2)));
        panics(|| {
            one.with(|value| {
                **value = 7;
                panics(|| {
                    two.with(|value| {
                        **value = 8;
                        stop()
                    })
                });
                stop()
            })
        });
        let by = |result: Result<(), Poisoned>| result.unwrap_err().by;
        assert_eq!((by(one.with(|_| ())), by(two.with(|_| ())), by(other.with(|_| ()))), (0, 1, 1));
        // A repair that panics does not count as a repair.
        panics(|| two.recover(Patience::Endless, |_, _| stop()));
        assert_eq!(by(other.with(|_| ())), 1);
        assert_eq!(other.recover(Patience::Endless, |value, by| (**value, by)).unwrap(), (8, Some(1)));
        assert_eq!(two.with(|value| **value), Ok(8));
        std::mem::forget(two);
    }
    let (mut here, mut there) = (Box::new(1), Box::new(2));
    let mut lines = [
        [const { Line::new() }; spin::bytes(2) / size_of::<Line>()],
        [const { Line::new() }; spin::bytes(2) / size_of::<Line>()],
    ];
    let [first, second] = &mut lines;
    each(
        spin::group(Memory::new(first), 2).unwrap().guard(&mut here),
        spin::group(Memory::new(second), 2).unwrap().guard(&mut there),
    );
    let (mut here, mut there) = (Box::new(1), Box::new(2));
    let mut lines = [
        [const { Line::new() }; queued::bytes(2) / size_of::<Line>()],
        [const { Line::new() }; queued::bytes(2) / size_of::<Line>()],
    ];
    let [first, second] = &mut lines;
    each(
        queued::group(Memory::new(first), 2).unwrap().guard(&mut here),
        queued::group(Memory::new(second), 2).unwrap().guard(&mut there),
    );
}

type Waits = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How long a test waits for an event that should take no time, before it fails.
const NEVER: Duration = Duration::from_secs(20);

fn soon_ns() -> Option<u64> {
    Some(monotonic_ns() + 5_000_000)
}

fn comes(is_there: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_there() {
        if begun.elapsed() > NEVER {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Runs one future on this thread; `None` if it never ends.
fn ends<T>(future: impl Future<Output = T>) -> Option<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut future, begun) = (std::pin::pin!(future), Instant::now());
    while begun.elapsed() < NEVER {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(result);
        }
        std::thread::park_timeout(NEVER);
    }
    None
}

/// A waker that panics, with a payload that panics in its drop: it ends no wait but its own.
#[test]
fn a_waker_that_panics() {
    struct Panics(AtomicU32);
    struct AndAgain;
    impl Drop for AndAgain {
        fn drop(&mut self) {
            stop()
        }
    }
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
            resume_unwind(Box::new(AndAgain))
        }
    }
    let events = Arc::new(EventCount::new());
    let mut watch = Watch::new(Arc::clone(&events)).unwrap();
    for round in 1..=3 {
        let panics = Arc::new(Panics(AtomicU32::new(0)));
        let waker = Waker::from(Arc::clone(&panics));
        let mut wait = watch.wait(watch.epoch(), soon_ns());
        assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(comes(|| panics.0.load(SeqCst) == 1), "round {round}");
        drop(wait);
    }
    let epoch = watch.epoch();
    assert_eq!(ends(watch.wait(epoch, soon_ns())), Some(Woken::TimedOut));
    events.notifier().notify();
    assert_eq!(ends(watch.wait(epoch, None)), Some(Woken::Notified));
}

/// A waker that polls the future that it wakes, in the call of `wake`, as minimal executors do.
#[test]
fn a_waker_that_polls() {
    struct Inline(Mutex<Option<Waits>>);
    impl Wake for Inline {
        fn wake(self: Arc<Self>) {
            let waker = Waker::from(Arc::clone(&self));
            let mut future = self.0.lock().unwrap();
            let ended = future
                .as_mut()
                .is_none_or(|future| future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
            if ended {
                *future = None;
            }
        }
    }
    let (events, found) = (Arc::new(EventCount::new()), Arc::new(AtomicU32::new(0)));
    let (theirs, count) = (Arc::clone(&events), Arc::clone(&found));
    let waits: Waits = Box::pin(async move {
        let mut watch = Watch::new(theirs).unwrap();
        for _ in 0..3 {
            watch.until(soon_ns(), || None::<()>).await;
            count.fetch_add(1, SeqCst);
        }
        // The watch, and the event count that its thread holds, are dropped in that thread.
    });
    Arc::new(Inline(Mutex::new(Some(waits)))).wake();
    assert!(comes(|| found.load(SeqCst) == 3 && Arc::strong_count(&events) == 1), "{found:?}");
}

/// A waker that is the last owner of the future that waits: the future is dropped where the waker is called, in the
/// thread that the watch should join.
#[test]
fn a_waker_that_owns_what_it_wakes() {
    struct Owns(#[allow(dead_code, reason = "it is dropped")] Mutex<Option<Waits>>);
    impl Wake for Owns {
        fn wake(self: Arc<Self>) {}
    }
    struct Gone(Arc<AtomicBool>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let (events, gone) = (Arc::new(EventCount::new()), Arc::new(AtomicBool::new(false)));
    let (theirs, flag) = (Arc::clone(&events), Gone(Arc::clone(&gone)));
    let owns = Arc::new(Owns(Mutex::new(Some(Box::pin(async move {
        let _flag = flag;
        Watch::new(theirs).unwrap().until(None, || None::<()>).await;
    })))));
    let waker = Waker::from(Arc::clone(&owns));
    let mut waits = owns.0.lock().unwrap();
    assert!(waits.as_mut().unwrap().as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waits);
    drop((waker, owns));
    assert!(!gone.load(SeqCst));
    events.notifier().notify();
    assert!(comes(|| gone.load(SeqCst) && Arc::strong_count(&events) == 1));
}

/// A wait is forgotten, and ends: its end is not taken for that of the next wait.
#[test]
fn a_wait_that_is_forgotten() {
    struct Counts(AtomicU32);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let events = Arc::new(EventCount::new());
    let mut watch = Watch::new(Arc::clone(&events)).unwrap();
    let counts = Arc::new(Counts(AtomicU32::new(0)));
    let waker = Waker::from(Arc::clone(&counts));
    let mut wait = watch.wait(watch.epoch(), soon_ns());
    assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&waker)).is_pending());
    std::mem::forget(wait);
    assert!(comes(|| counts.0.load(SeqCst) == 1));
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            written.store(true, SeqCst);
            events.notifier().notify();
        });
        let look = || written.load(SeqCst).then_some(());
        assert_eq!(ends(watch.until(None, look)), Some(Some(())), "no deadline was given");
    });
}
