// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::gate::Gate;

/// Answers at each call, until it has been asked for 0.
fn answers(desk: &Desk<u32, u32>, call: &Gate) {
    let mut over = false;
    while !over {
        call.wait();
        if desk.answer(|question| {
            over = question == 0;
            question + 1
        }) {
            desk.wake();
        }
    }
    desk.close();
}

#[test]
fn each_has_its_own_answer() {
    let (desk, call) = (Desk::default(), Gate::default());
    std::thread::scope(|threads| {
        threads.spawn(|| answers(&desk, &call));
        std::thread::scope(|askers| {
            for asker in 1..4 {
                let (desk, call) = (&desk, &call);
                askers.spawn(move || {
                    for question in (asker * 1000..).take(if cfg!(miri) { 5 } else { 500 }) {
                        assert_eq!(desk.ask(question, || call.open()), Some(question + 1));
                    }
                });
            }
        });
        assert_eq!(desk.ask(0, || call.open()), Some(1));
    });
    assert_eq!(desk.ask(7, || panic!("nobody is to be called")), None);
    assert!(!desk.answer(|_| 0));
}

#[test]
fn answering_that_panics_closes() {
    let (desk, call) = (Desk::<u32, u32>::default(), Gate::default());
    std::thread::scope(|threads| {
        let panicked = threads.spawn(|| {
            call.wait();
            desk.answer(|_| panic!("on purpose"))
        });
        assert_eq!(desk.ask(1, || call.open()), None);
        assert!(panicked.join().is_err());
    });
    assert_eq!(desk.ask(2, || call.open()), None);
}

#[test]
fn calling_that_panics_leaves_the_desk_in_order() {
    let (desk, call) = (Desk::default(), Gate::default());
    assert!(catch_unwind(AssertUnwindSafe(|| desk.ask(1, || panic!("on purpose")))).is_err());
    std::thread::scope(|threads| {
        threads.spawn(|| answers(&desk, &call));
        // The question that was left behind is answered at any call.
        call.open();
        assert_eq!(desk.ask(0, || call.open()), Some(1));
    });
}
