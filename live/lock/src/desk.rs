// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A question to a thread that does not wait, and its answer.
//!
//! # Use
//!
//! Threads outside ask something of one that goes about its own business and looks here now and then: an executor's
//! dispatcher, at each visit of its core. One asks at a time, and sleeps until it has been answered or nobody answers any
//! more. How the one that answers is called is the caller's.
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not: one thread answers, and closes.
//!
//! |                           | ask | answer, `wake`, `close` |
//! |---------------------------|-----|-------------------------|
//! | ask                       | -   | -                       |
//! | answer, `wake`, `close`   | -   | X                       |
//!
//! # Progress
//!
//! | operation | bound                                                                                        |
//! |-----------|----------------------------------------------------------------------------------------------|
//! | `ask`     | blocks until its turn, then until the answer                                                 |
//! | `answer`  | wait-free: 1 load; if something is asked 1 store, and what answering takes                   |
//! | `wake`, `close` | wait-free: 1 exchange in `close`, 1 system call that does not block                        |
//!
//! # State
//!
//! ```text
//!          ask: 1 exchange              close
//! ASKERS ------------------> ASKED ----------------> CLOSED, for good
//!    ^                         |                       ^
//!    +-------------------------+                       |
//!    |    answer: 1 store             close            |
//!    +-------------------------------------------------+
//! ```
//!
//! Beside the word the *slot*: the question, then the answer. Who asks takes turns by a [`Latch`].
//!
//! # Invariants
//!
//! - I1 The slot is touched by the one that answers while the word is ASKED, and by who has the turn while it is not.
//! - I2 ASKED is stored by who has the turn alone, ends by the one that answers alone, and each end is followed by a wake
//!   ([`Desk::wake`] is the caller's duty).
//!
//! # Orderings
//!
//! - O1 asked: Release of the exchange in `ask` ↔ Acquire of the load in `answer`.
//! - O2 answered: Release of the store in `answer`, which the exchange in `close` continues ↔ Acquire of the load
//!   in `ask`.
//!
//! # Proof
//!
//! I1: who asks fills the slot when it has seen that the word is not ASKED, and makes it ASKED afterwards; nobody else can
//! (I2). The one that answers looks first, and stores when it is done. Both ways are ordered (O1, O2); askers among
//! themselves by the latch. `close` may come at any time: over ASKED, the one that answers touches nothing any more, and
//! who asks finds its slot without an answer; before ASKED, the exchange fails.
//!
//! *Nobody waits for ever*: who asks sleeps only while the kernel finds ASKED; that ends (I2) and is followed by a wake.
//! Answering that panics closes. Asking that panics, in `call`, leaves a question behind: whoever asks next waits until
//! it has been answered, and begins anew.
//!
//! # Crash
//!
//! Threads of one process die together. If the one that answers ends without `close`, who asks waits for ever.
//!
//! # Source
//!
//! Ours.
//!
//! # Checked
//!
//! - here, under loom and shuttle: two that ask, while the other answers when it is called, or looks by itself, and closes;
//!   without a Release of O1 or O2 (loom), without turns, without a wake (shuttle): fails
//! - here: answering and calling that panic; `taut-exec`: attributes that are changed from outside
//!
//! Not covered: the kernel's part, which in a model is a mutex with a condition.

use taut_atomic::Exclusive;
use taut_atomic::Ordering::{Acquire, Relaxed, Release};

use crate::latch::Latch;
use crate::sleep::Futex;

/// The slot belongs to who has the turn.
const ASKERS: u32 = 0;
/// The slot belongs to the one that answers.
const ASKED: u32 = 1;
/// The slot belongs to who has the turn, and nobody answers any more.
const CLOSED: u32 = 2;

#[derive(Debug)]
enum Slot<Q, A> {
    Empty,
    Question(Q),
    Answer(A),
}

/// Where threads ask one that does not wait.
#[derive(Debug)]
pub struct Desk<Q, A> {
    turn: Latch,
    futex: Futex,
    slot: Exclusive<Slot<Q, A>>,
    #[cfg(all(test, any(loom, shuttle)))]
    without: model::Without,
}

impl<Q, A> Default for Desk<Q, A> {
    fn default() -> Self {
        Self {
            turn: Latch::default(),
            futex: Futex::default(),
            slot: Exclusive::new(Slot::Empty),
            #[cfg(all(test, any(loom, shuttle)))]
            without: model::Without::Nothing,
        }
    }
}

/// Gives the turn back, also in a panic.
struct Turn<'d>(&'d Latch);

impl<'d> Turn<'d> {
    fn of<Q, A>(desk: &'d Desk<Q, A>) -> Option<Self> {
        #[cfg(all(test, any(loom, shuttle)))]
        if desk.without == model::Without::Turn {
            return None;
        }
        desk.turn.take();
        Some(Self(&desk.turn))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // What a model panics for has been found, and no other step may follow.
        #[cfg(all(test, any(loom, shuttle)))]
        if std::thread::panicking() {
            return;
        }
        self.0.give();
    }
}

impl<Q: Send, A: Send> Desk<Q, A> {
    /// Asks, calls the one that answers, and waits for its answer; `None` if it answers no more.
    pub fn ask(&self, question: Q, call: impl FnOnce()) -> Option<A> {
        let _turn = Turn::of(self);
        if self.answered() == CLOSED {
            return None;
        }
        // SAFETY: we have the turn, and the word is not ASKED, which we have seen (I1, O2).
        unsafe { self.slot.with(|slot| *slot = Slot::Question(question)) };
        let order = Release; // O1 asked
        #[cfg(all(test, any(loom, shuttle)))]
        let order = self.without.order(model::Without::Asked, order);
        if self.futex.word.compare_exchange(ASKERS, ASKED, order, Relaxed).is_err() {
            return None;
        }
        call();
        self.answered();
        // SAFETY: as above.
        match unsafe { self.slot.with(|slot| std::mem::replace(slot, Slot::Empty)) } {
            Slot::Answer(answer) => Some(answer),
            Slot::Empty | Slot::Question(_) => None,
        }
    }

    /// Waits while something is asked.
    fn answered(&self) -> u32 {
        loop {
            // O2 answered (Acquire)
            match self.futex.word.load(Acquire) {
                ASKED => self.futex.sleep(ASKED),
                word => return word,
            }
        }
    }

    /// Answers what is asked, if anything is. Whether it has: then [`Desk::wake`] is to be called, now or soon.
    #[inline]
    pub fn answer(&self, answer: impl FnOnce(Q) -> A) -> bool {
        // O1 asked (Acquire)
        if self.futex.word.load(Acquire) != ASKED {
            return false;
        }
        self.answer_now(answer);
        true
    }

    #[cold]
    fn answer_now(&self, answer: impl FnOnce(Q) -> A) {
        let panicked = Panicked(self);
        let answered = |slot: &mut Slot<Q, A>| {
            if let Slot::Question(question) = std::mem::replace(slot, Slot::Empty) {
                *slot = Slot::Answer(answer(question));
            }
        };
        // SAFETY: the word is ASKED, which we have seen, and stays so until we say otherwise (I1, I2, O1).
        unsafe { self.slot.with(answered) };
        std::mem::forget(panicked);
        let order = Release; // O2 answered
        #[cfg(all(test, any(loom, shuttle)))]
        let order = self.without.order(model::Without::Answered, order);
        self.futex.word.store(ASKERS, order);
    }

    /// Who asked goes on.
    pub fn wake(&self) {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::Wake {
            return;
        }
        self.futex.wake_one();
    }

    /// Nothing is answered any more: all who ask, now or later, are told so.
    pub fn close(&self) {
        // An exchange, as another may be on its way from ASKERS to ASKED; so what `answer` released stays released.
        self.futex.word.swap(CLOSED, Relaxed);
        self.wake();
    }
}

/// Closes if answering panics, or who asked would wait for ever.
struct Panicked<'d, Q: Send, A: Send>(&'d Desk<Q, A>);

impl<Q: Send, A: Send> Drop for Panicked<'_, Q, A> {
    #[cold]
    fn drop(&mut self) {
        // As above.
        #[cfg(all(test, any(loom, shuttle)))]
        if std::thread::panicking() {
            return;
        }
        self.0.close();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

#[cfg(all(test, any(loom, shuttle)))]
mod model;
