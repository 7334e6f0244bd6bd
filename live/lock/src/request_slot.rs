// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A request to a thread that does not wait, and its reply.
//!
//! # Use
//! Other threads ask something of a thread that does its own work and looks here now and then: an executor's
//! dispatcher, at each visit of its core. One requester asks at a time, and sleeps until the responder has answered or
//! no longer answers. The requester's caller decides how to call the responder.
//!
//! There are two ends: any number of copies of a [`Requester`], and one [`Responder`], which is not copied.
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types of the ends ensure it).
//!
//! |                             | `Requester`: ask | `Responder`: answer, `wake`, drop |
//! |-----------------------------|------------------|-----------------------------------|
//! | ask                         | -                | -                                 |
//! | answer, `wake`, drop        | -                | X                                 |
//!
//! # Progress
//! | operation | bound                                                                                        |
//! |-----------|----------------------------------------------------------------------------------------------|
//! | `ask`     | blocks until its turn, then until the answer                                                 |
//! | `answer`  | wait-free: 1 load; if there is a question 1 store, and what the answer itself takes          |
//! | `wake`, drop | wait-free: 1 exchange in the drop, 1 system call that does not block                      |
//!
//! # Orderings
//! - O1 asked: Release of the exchange in `ask` ↔ Acquire of the load in `answer`.
//! - O2 answered: Release of the store in `answer`, which the exchange of the drop continues ↔ Acquire of the load
//!   in `ask`.
//! - O3 closed: Release of the exchange of the drop, after an answer that panicked ↔ Acquire of the load in `ask`.
//!
//! # Crash
//! Threads of one process die together. A responder that is forgotten answers no more, and requesters wait for
//! ever.
//!
//! # Source
//! Ours.

use std::fmt;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU32, Exclusive};

use crate::futex_mutex::FutexMutex;
use crate::sleep::Futex;

// # State
//
// ```text
//          ask: 1 exchange              drop
// ASKERS ------------------> ASKED ----------------> CLOSED, for good
//    ^                         |                       ^
//    +-------------------------+                       |
//    |    answer: 1 store              drop            |
//    +-------------------------------------------------+
// ```
//
// Beside the word lies the *slot*: the question, then the answer. Requesters take turns by a [`FutexMutex`].
//
// # Invariants
//
// - I1 The responder touches the slot while the word is ASKED; the requester that has the turn touches it while the
//   word is not ASKED.
// - I2 Only the requester that has the turn stores ASKED, only the responder ends it, and a wake follows each end
//   ([`Responder::wake`] is the caller's duty).
// - I3 There is at most one [`Responder`] in the life of a slot, and at most one call of it at a time.

/// The slot belongs to the requester that has the turn.
const ASKERS: u32 = 0;
/// The slot belongs to the responder.
const ASKED: u32 = 1;
/// The slot belongs to the requester that has the turn, and the responder no longer answers.
const CLOSED: u32 = 2;

#[derive(Debug)]
enum Slot<Q, A> {
    Empty,
    Question(Q),
    Answer(A),
}

/// A slot in which threads ask a thread that does not wait.
#[derive(Debug)]
pub struct RequestSlot<Q, A> {
    turn: FutexMutex,
    futex: Futex,
    /// 1 once `responder` has returned the responder.
    responds: AtomicU32,
    slot: Exclusive<Slot<Q, A>>,
    #[cfg(all(test, any(loom, shuttle)))]
    without: model::Without,
}

impl<Q, A> Default for RequestSlot<Q, A> {
    fn default() -> Self {
        Self {
            turn: FutexMutex::default(),
            futex: Futex::default(),
            responds: AtomicU32::new(0),
            slot: Exclusive::new(Slot::Empty),
            #[cfg(all(test, any(loom, shuttle)))]
            without: model::Without::Nothing,
        }
    }
}

/// The turn of a requester, released on drop, also in a panic.
struct Turn<'d>(&'d FutexMutex);

impl<'d> Turn<'d> {
    fn of<Q, A>(slot: &'d RequestSlot<Q, A>) -> Option<Self> {
        #[cfg(all(test, any(loom, shuttle)))]
        if slot.without == model::Without::Turn {
            return None;
        }
        slot.turn.lock();
        Some(Self(&slot.turn))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // A panic means that the model has found its fault, and no other step may follow.
        #[cfg(all(test, any(loom, shuttle)))]
        if std::thread::panicking() {
            return;
        }
        self.0.unlock();
    }
}

/// The end that asks. Copies of it ask in the same slot.
pub struct Requester<'d, Q, A>(&'d RequestSlot<Q, A>);

impl<Q, A> Clone for Requester<'_, Q, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q, A> Copy for Requester<'_, Q, A> {}

impl<Q, A> fmt::Debug for Requester<'_, Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requester").finish_non_exhaustive()
    }
}

/// The end that answers, of which there is one (I3). After it is dropped no question is answered any more, and
/// [`Requester::ask`] returns `None` to all requesters, also to those that ask later.
///
/// Two threads that answer do not compile, nor does an answer inside of an answer:
///
/// ```compile_fail,E0499
/// let slot = taut_lock::request_slot::RequestSlot::<Box<u64>, u64>::default();
/// let mut responder = slot.responder().unwrap();
/// std::thread::scope(|threads| {
///     threads.spawn(|| responder.answer(|question| *question));
///     threads.spawn(|| responder.answer(|question| *question));
/// });
/// ```
///
/// ```compile_fail,E0499
/// let slot = taut_lock::request_slot::RequestSlot::<u64, u64>::default();
/// let mut responder = slot.responder().unwrap();
/// responder.answer(|question| responder.answer(|other| other + question) as u64);
/// ```
pub struct Responder<'d, Q: Send, A: Send>(&'d RequestSlot<Q, A>);

impl<Q: Send, A: Send> fmt::Debug for Responder<'_, Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").finish_non_exhaustive()
    }
}

impl<Q: Send, A: Send> RequestSlot<Q, A> {
    /// An end that asks.
    pub fn requester(&self) -> Requester<'_, Q, A> {
        Requester(self)
    }

    /// The end that answers, at the first call; `None` at all later calls.
    pub fn responder(&self) -> Option<Responder<'_, Q, A>> {
        // Relaxed: only one exchange finds 0, and it publishes nothing else.
        (self.responds.swap(1, Relaxed) == 0).then_some(Responder(self))
    }

    /// Waits while the word is ASKED, and returns the word after that.
    fn answered(&self) -> u32 {
        loop {
            // O2 answered, O3 closed (Acquire)
            match self.futex.word.load(Acquire) {
                ASKED => self.futex.sleep(ASKED),
                word => return word,
            }
        }
    }

    /// Closes the slot: no question is answered any more.
    fn close(&self) {
        // An exchange and not a store: it continues the release sequence of `answer`, even if a requester changes
        // ASKERS to ASKED in between. Release: an answer that panicked has taken the question out of the slot.
        self.futex.word.swap(CLOSED, Release); // O3 closed
        self.wake();
    }

    fn wake(&self) {
        // Proof: *No thread waits for ever*: a requester sleeps only while the kernel finds ASKED; ASKED ends (I2),
        // and a wake follows. A panic while the responder answers closes the slot. A panic of the requester, in
        // `call`, leaves a question behind: the next requester waits until the responder has answered it, and begins
        // anew.
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::Wake {
            return;
        }
        self.futex.wake_one();
    }
}

impl<Q: Send, A: Send> Requester<'_, Q, A> {
    /// Asks, calls the responder by `call`, and waits for its answer; `None` if the responder no longer answers.
    pub fn ask(&self, question: Q, call: impl FnOnce()) -> Option<A> {
        // Proof: I1: a requester fills the slot after it has seen that the word is not ASKED, and makes the word ASKED
        // afterwards; no other thread does (I2). The responder reads the word first, and stores to it when it is done.
        // Both directions are ordered (O1, O2); the mutex of the turn orders the requesters among themselves. I3: the
        // caller whose exchange is the first gets the responder, the responder is no `Clone`, and all that it does
        // needs it mutably. Its drop comes between two calls. If the word is ASKED then, the responder touches nothing
        // any more, and the requester finds its slot without an answer; if the word is not yet ASKED, the requester's
        // exchange fails.
        let shared = self.0;
        let _turn = Turn::of(shared);
        if shared.answered() == CLOSED {
            return None;
        }
        // SAFETY: we have the turn, and we have seen that the word is not ASKED (I1, O2).
        unsafe { shared.slot.with(|slot| *slot = Slot::Question(question)) };
        let order = Release; // O1 asked
        #[cfg(all(test, any(loom, shuttle)))]
        let order = shared.without.order(model::Without::Asked, order);
        if shared.futex.word.compare_exchange(ASKERS, ASKED, order, Relaxed).is_err() {
            return None;
        }
        call();
        shared.answered();
        // SAFETY: as above.
        match unsafe { shared.slot.with(|slot| std::mem::replace(slot, Slot::Empty)) } {
            Slot::Answer(answer) => Some(answer),
            Slot::Empty | Slot::Question(_) => None,
        }
    }
}

impl<Q: Send, A: Send> Responder<'_, Q, A> {
    /// Answers the question, if there is one. Returns whether there was: then the caller must call
    /// [`Responder::wake`], now or soon.
    #[inline]
    pub fn answer(&mut self, answer: impl FnOnce(Q) -> A) -> bool {
        // O1 asked (Acquire)
        if self.0.futex.word.load(Acquire) != ASKED {
            return false;
        }
        self.answer_now(answer);
        true
    }

    #[cold]
    fn answer_now(&mut self, answer: impl FnOnce(Q) -> A) {
        let shared = self.0;
        let panicked = Closes(shared);
        let answered = |slot: &mut Slot<Q, A>| {
            if let Slot::Question(question) = std::mem::replace(slot, Slot::Empty) {
                *slot = Slot::Answer(answer(question));
            }
        };
        // SAFETY: we have seen that the word is ASKED. It stays ASKED until we store to it: there is no other
        // responder, and this one is borrowed (I1 to I3, O1).
        unsafe { shared.slot.with(answered) };
        std::mem::forget(panicked);
        let order = Release; // O2 answered
        #[cfg(all(test, any(loom, shuttle)))]
        let order = shared.without.order(model::Without::Answered, order);
        shared.futex.word.store(ASKERS, order);
    }

    /// Wakes the requester that was answered.
    pub fn wake(&mut self) {
        self.0.wake();
    }
}

impl<Q: Send, A: Send> Drop for Responder<'_, Q, A> {
    fn drop(&mut self) {
        drop(Closes(self.0));
    }
}

/// Closes the slot on drop: when the responder is dropped, or if answering panics; otherwise the requester would
/// wait for ever.
struct Closes<'d, Q: Send, A: Send>(&'d RequestSlot<Q, A>);

impl<Q: Send, A: Send> Drop for Closes<'_, Q, A> {
    fn drop(&mut self) {
        // A panic means that the model has found its fault, and no other step may follow.
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

// # Checked
//
// - here, under loom and shuttle: two threads ask, while the other answers when it is called, or looks by itself, and
//   closes; without a Release of O1 or O2 (loom), without turns, without a wake (shuttle): fails
// - here: answers and calls that panic; `taut-exec`: attributes that are changed from outside
//
// Not covered: the kernel's part, which in a model is a mutex with a condition.
