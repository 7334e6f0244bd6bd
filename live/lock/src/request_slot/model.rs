// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `RUSTFLAGS="--cfg loom" cargo test -p taut-lock --release --lib request_slot`, and the same with `--cfg shuttle`.

#[cfg(loom)]
use loom::{sync::Arc, thread};
#[cfg(shuttle)]
use shuttle::{sync::Arc, thread};
use taut_atomic::Ordering;

use super::*;
use crate::parker::Parker;
use crate::sleep::explore;

/// What the model leaves out, to show that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    Nothing,
    /// The Release of O1.
    Asked,
    /// The Release of O2.
    Answered,
    Turn,
    Wake,
}

impl Without {
    pub(super) fn order(self, which: Self, order: Ordering) -> Ordering {
        if self == which { Ordering::Relaxed } else { order }
    }
}

/// Each of `askers` threads asks `questions` questions, and the responder closes when it has answered `answers` of
/// them. It looks when it is `called`, or again and again.
fn asked(without: Without, called: bool, askers: u32, questions: u32, answers: u32) {
    explore(move || {
        let shared = Arc::new((RequestSlot { without, ..RequestSlot::default() }, Parker::default()));
        let ask = move |shared: &(RequestSlot<u32, u32>, Parker), asker: u32| {
            let answer = |at| {
                let question = 10 * asker + at;
                let answer = shared.0.requester().ask(question, || shared.1.unpark());
                assert!(answer.is_none_or(|answer| answer == question + 1), "another's");
                answer.is_some()
            };
            (0..questions).filter(|at| answer(*at)).count() as u32
        };
        let spawn = |asker| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || ask(&shared, asker))
        };
        let threads: Vec<_> = (0..askers).map(spawn).collect();
        let mut responder = shared.0.responder().unwrap();
        let mut given = 0;
        while given < answers {
            match called {
                true => {
                    shared.1.park();
                }
                // The responder finds every question in the end.
                false => thread::yield_now(),
            }
            if responder.answer(|question| question + 1) {
                given += 1;
                // The drop of the responder wakes the last requester.
                if given < answers {
                    responder.wake();
                }
            }
        }
        drop(responder);
        let had: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(had, answers, "an answer is lost");
    });
}

#[test]
fn each_has_its_own_answer() {
    #[cfg(loom)]
    for (askers, questions, answers) in [(1, 2, 2), (1, 2, 1), (2, 1, 2), (2, 1, 1)] {
        asked(Without::Nothing, true, askers, questions, answers);
    }
    #[cfg(shuttle)]
    for answers in [3, 7, 12] {
        asked(Without::Nothing, true, 3, 4, answers);
    }
}

#[test]
fn one_that_looks_by_itself() {
    asked(Without::Nothing, false, if cfg!(loom) { 1 } else { 3 }, 2, 2);
}

#[test]
#[cfg(loom)]
#[should_panic(expected = "Causality violation")]
fn without_release_the_question_is_not_seen() {
    asked(Without::Asked, false, 1, 1, 1);
}

#[test]
#[cfg(loom)]
#[should_panic(expected = "Causality violation")]
fn without_release_the_answer_is_not_seen() {
    asked(Without::Answered, true, 1, 2, 2);
}

#[test]
#[cfg(shuttle)]
#[should_panic]
fn without_turns_answers_are_mixed_up() {
    asked(Without::Turn, true, 2, 3, 6);
}

#[test]
#[cfg(shuttle)]
#[should_panic(expected = "deadlock")]
fn without_a_wake_one_waits_for_ever() {
    asked(Without::Wake, true, 2, 2, 4);
}
