// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What safe code can try against the locks: panics and nested calls in what they are given to run, values that misbehave when
//! they are dropped, values that change places. Each is refused, or harmless; under Miri also to the memory.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use taut_lock::request_slot::RequestSlot;
use taut_lock::{Line, Memory, Patience, Poisoned, TryWithError, queued, spin};

fn panics<R>(work: impl FnOnce() -> R) {
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
}

fn stop() -> ! {
    resume_unwind(Box::new(()))
}

/// A call that panics: its question is answered, or overwritten, and no later one gets the answer to it.
#[test]
fn calls_that_panic() {
    let slot = RequestSlot::<Box<u32>, Box<u32>>::default();
    let (requester, mut responder) = (slot.requester(), slot.responder().unwrap());
    panics(|| requester.ask(Box::new(1), || stop()));
    assert!(responder.answer(|question| Box::new(*question + 10)));
    // The same thread asks and answers, inside of its call.
    let answer =
        requester.ask(Box::new(2), || assert!(responder.answer(|question| Box::new(*question + 20))));
    assert_eq!(answer, Some(Box::new(22)));
    panics(|| requester.ask(Box::new(3), || stop()));
    panics(|| responder.answer(|_| stop()));
    assert!(requester.ask(Box::new(4), || unreachable!("nobody answers")).is_none());
    assert!(!responder.answer(|_| unreachable!("nothing is asked")));
}

/// Questions and answers that panic when they are dropped, where the slot drops them.
#[test]
fn questions_that_panic_when_they_are_dropped() {
    std::thread_local! { static DROPS: Cell<u32> = const { Cell::new(0) } }
    struct Told(bool);
    impl Drop for Told {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
            if self.0 {
                stop()
            }
        }
    }
    let slot = RequestSlot::<Told, Told>::default();
    let (requester, mut responder) = (slot.requester(), slot.responder().unwrap());
    panics(|| requester.ask(Told(false), || stop()));
    assert!(responder.answer(|_| Told(true)));
    // That answer, which nobody took, is dropped where the next question is put, and panics there.
    panics(|| requester.ask(Told(false), || unreachable!("it is not asked")));
    assert_eq!(DROPS.get(), 2);
    let answer = requester.ask(Told(false), || assert!(responder.answer(|_| Told(false))));
    assert!(answer.is_some());
    drop(answer);
    // A question that panics where it is answered: nobody is answered any more.
    panics(|| requester.ask(Told(true), || stop()));
    panics(|| {
        responder.answer(|question| {
            drop(question);
            unreachable!("it panicked")
        })
    });
    assert!(requester.ask(Told(false), || unreachable!("nobody answers")).is_none());
    drop(responder);
    drop(slot);
    assert_eq!(DROPS.get(), 7, "each of the 5 questions and 2 answers once");
}

/// Ends of one lock inside of each other, panics inside of panics, and values that change places across two locks.
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
        // The ends change places: each keeps its lock and its value.
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
        // A repair that panics is none.
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
