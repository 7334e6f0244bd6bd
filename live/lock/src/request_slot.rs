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
//! There are two ends: any number of a [`Requester`], which is copied, and one [`Responder`], which is not.
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not, which the type of the end sees to.
//!
//! |                             | `Requester`: ask | `Responder`: answer, `wake`, drop |
//! |-----------------------------|------------------|-----------------------------------|
//! | ask                         | -                | -                                 |
//! | answer, `wake`, drop        | -                | X                                 |
//!
//! # Progress
//!
//! | operation | bound                                                                                        |
//! |-----------|----------------------------------------------------------------------------------------------|
//! | `ask`     | blocks until its turn, then until the answer                                                 |
//! | `answer`  | wait-free: 1 load; if something is asked 1 store, and what answering takes                   |
//! | `wake`, drop | wait-free: 1 exchange in the drop, 1 system call that does not block                         |
//!
//! # State
//!
//! ```text
//!          ask: 1 exchange              drop
//! ASKERS ------------------> ASKED ----------------> CLOSED, for good
//!    ^                         |                       ^
//!    +-------------------------+                       |
//!    |    answer: 1 store              drop            |
//!    +-------------------------------------------------+
//! ```
//!
//! Beside the word the *slot*: the question, then the answer. Who asks takes turns by a [`FutexMutex`].
//!
//! # Invariants
//!
//! - I1 The slot is touched by the one that answers while the word is ASKED, and by who has the turn while it is not.
//! - I2 ASKED is stored by who has the turn alone, ends by the one that answers alone, and each end is followed by a wake
//!   ([`Responder::wake`] is the caller's duty).
//! - I3 There is at most one [`Responder`] in the life of a slot, and one call of it at a time.
//!
//! # Orderings
//!
//! - O1 asked: Release of the exchange in `ask` ↔ Acquire of the load in `answer`.
//! - O2 answered: Release of the store in `answer`, which the exchange of the drop continues ↔ Acquire of the load
//!   in `ask`.
//!
//! # Proof
//!
//! I1: who asks fills the slot when it has seen that the word is not ASKED, and makes it ASKED afterwards; nobody else can
//! (I2). The one that answers looks first, and stores when it is done. Both ways are ordered (O1, O2); askers among
//! themselves by the latch. I3: the responder is given to whoever makes the one exchange that finds it there, it is no `Clone`, and
//! all that it does needs it mutably. The end of it comes between two calls: over ASKED, the one that answers touches nothing any more, and
//! who asks finds its slot without an answer; before ASKED, the exchange fails.
//!
//! *Nobody waits for ever*: who asks sleeps only while the kernel finds ASKED; that ends (I2) and is followed by a wake.
//! Answering that panics closes. Asking that panics, in `call`, leaves a question behind: whoever asks next waits until
//! it has been answered, and begins anew.
//!
//! # Crash
//!
//! Threads of one process die together. A responder that is forgotten answers no more, and who asks waits for ever.
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

use std::fmt;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU32, Exclusive};

use crate::futex_mutex::FutexMutex;
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
pub struct RequestSlot<Q, A> {
    turn: FutexMutex,
    futex: Futex,
    /// 1 once the responder was given out.
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

/// Gives the turn back, also in a panic.
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
        // What a model panics for has been found, and no other step may follow.
        #[cfg(all(test, any(loom, shuttle)))]
        if std::thread::panicking() {
            return;
        }
        self.0.unlock();
    }
}

/// The asking end; copies of it are for the same slot.
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

/// The answering end, of which there is one (I3). When it is dropped nothing is answered any more, and all who ask, then or
/// later, are told so.
///
/// Two threads that answer do not compile, nor does answering inside of answering:
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
    /// An asking end.
    pub fn requester(&self) -> Requester<'_, Q, A> {
        Requester(self)
    }

    /// The answering end, the first time; then `None`, for ever.
    pub fn responder(&self) -> Option<Responder<'_, Q, A>> {
        // Relaxed: one of all exchanges finds 0, and nothing comes with it.
        (self.responds.swap(1, Relaxed) == 0).then_some(Responder(self))
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

    /// Nothing is answered any more.
    fn close(&self) {
        // An exchange, as another may be on its way from ASKERS to ASKED; so what `answer` released stays released.
        self.futex.word.swap(CLOSED, Relaxed);
        self.wake();
    }

    fn wake(&self) {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::Wake {
            return;
        }
        self.futex.wake_one();
    }
}

impl<Q: Send, A: Send> Requester<'_, Q, A> {
    /// Asks, calls the one that answers, and waits for its answer; `None` if it answers no more.
    pub fn ask(&self, question: Q, call: impl FnOnce()) -> Option<A> {
        let shared = self.0;
        let _turn = Turn::of(shared);
        if shared.answered() == CLOSED {
            return None;
        }
        // SAFETY: we have the turn, and the word is not ASKED, which we have seen (I1, O2).
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
    /// Answers what is asked, if anything is. Whether it has: then [`Responder::wake`] is to be called, now or soon.
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
        // SAFETY: the word is ASKED, which we have seen, and stays so until we say otherwise: there is no other responder,
        // and this one is borrowed (I1 to I3, O1).
        unsafe { shared.slot.with(answered) };
        std::mem::forget(panicked);
        let order = Release; // O2 answered
        #[cfg(all(test, any(loom, shuttle)))]
        let order = shared.without.order(model::Without::Answered, order);
        shared.futex.word.store(ASKERS, order);
    }

    /// Who asked goes on.
    pub fn wake(&mut self) {
        self.0.wake();
    }
}

impl<Q: Send, A: Send> Drop for Responder<'_, Q, A> {
    fn drop(&mut self) {
        drop(Closes(self.0));
    }
}

/// Closes when it is dropped: at the end, or if answering panics, or who asked would wait for ever.
struct Closes<'d, Q: Send, A: Send>(&'d RequestSlot<Q, A>);

impl<Q: Send, A: Send> Drop for Closes<'_, Q, A> {
    fn drop(&mut self) {
        // What a model panics for has been found, and no other step may follow.
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
