// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::parker::Parker;

/// Answers at each call, until the question is 0.
fn answers(mut responder: Responder<'_, u32, u32>, call: &Parker) {
    let mut over = false;
    while !over {
        call.park();
        if responder.answer(|question| {
            over = question == 0;
            question + 1
        }) {
            responder.wake();
        }
    }
}

#[test]
fn each_has_its_own_answer() {
    let (slot, call) = (RequestSlot::default(), Parker::default());
    let (requester, responder) = (slot.requester(), slot.responder().unwrap());
    std::thread::scope(|threads| {
        let call = &call;
        threads.spawn(move || answers(responder, call));
        std::thread::scope(|askers| {
            for asker in 1..4 {
                askers.spawn(move || {
                    for question in (asker * 1000..).take(if cfg!(miri) { 5 } else { 500 }) {
                        assert_eq!(requester.ask(question, || call.unpark()), Some(question + 1));
                    }
                });
            }
        });
        assert_eq!(requester.ask(0, || call.unpark()), Some(1));
    });
    assert_eq!(requester.ask(7, || panic!("nobody is to be called")), None);
    assert!(slot.responder().is_none(), "there is one");
}

#[test]
fn answering_that_panics_closes() {
    let (slot, call) = (RequestSlot::<u32, u32>::default(), Parker::default());
    let (requester, mut responder) = (slot.requester(), slot.responder().unwrap());
    std::thread::scope(|threads| {
        let call = &call;
        let panicked = threads.spawn(move || {
            call.park();
            responder.answer(|_| panic!("on purpose"))
        });
        assert_eq!(requester.ask(1, || call.unpark()), None);
        assert!(panicked.join().is_err());
    });
    assert_eq!(requester.ask(2, || call.unpark()), None);
}

#[test]
fn calling_that_panics_leaves_the_slot_in_order() {
    let (slot, call) = (RequestSlot::default(), Parker::default());
    let (requester, responder) = (slot.requester(), slot.responder().unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| requester.ask(1, || panic!("on purpose")))).is_err());
    std::thread::scope(|threads| {
        let call = &call;
        threads.spawn(move || answers(responder, call));
        // Any call makes the responder answer the question that was left behind.
        call.unpark();
        assert_eq!(requester.ask(0, || call.unpark()), Some(1));
    });
}

#[test]
fn a_responder_that_goes_closes() {
    let slot = RequestSlot::<u32, u32>::default();
    let responder = slot.responder().unwrap();
    assert!(slot.responder().is_none(), "there is one");
    drop(responder);
    assert!(slot.responder().is_none(), "and none after it");
    assert_eq!(slot.requester().ask(1, || panic!("nobody is to be called")), None);
}

#[test]
fn its_ends_show_what_they_are() {
    let slot = RequestSlot::<u32, u32>::default();
    assert_eq!(format!("{:?}", slot.requester()), "Requester { .. }");
    assert_eq!(format!("{:?}", slot.responder().unwrap()), "Responder { .. }");
}

/// A requester sleeps until it is answered, and the answer wakes it.
#[test]
#[cfg_attr(miri, ignore = "reads the state of another thread from /proc")]
fn a_requester_sleeps_until_it_is_answered() {
    let slot = RequestSlot::<u32, u32>::default();
    let (requester, mut responder) = (slot.requester(), slot.responder().unwrap());
    assert!(!responder.answer(|_| panic!("nobody has asked")));
    let tid = std::sync::atomic::AtomicI32::new(0);
    std::thread::scope(|threads| {
        let asks = threads.spawn(|| {
            let call = || crate::sleep::tests::say_which(&tid);
            requester.ask(7, call)
        });
        crate::sleep::tests::until_asleep(&tid);
        assert!(responder.answer(|question| question + 1));
        responder.wake();
        assert_eq!(asks.join().unwrap(), Some(8));
    });
}
