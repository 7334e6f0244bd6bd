// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is asked of a core from outside: the dispatcher answers at its next visit.
//!
//! One asks at a time. The dispatcher never waits for who asks: the slot's mutex is free whenever the word says that
//! something is asked, for only who asks takes it, before it says so and after it has been answered.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use taut_sys::futex;

use crate::change::{Answer, ChangeError, Question};

const FREE: u32 = 0;
const ASKED: u32 = 1;
const ANSWERED: u32 = 2;
/// Nobody answers any more.
const CLOSED: u32 = 3;

/// Of a core.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    turn: Mutex<()>,
    word: AtomicU32,
    slot: Mutex<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    question: Option<Question>,
    answer: Option<Answer>,
}

fn taken<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// Asks, has the dispatcher called, and waits for its answer.
    pub(crate) fn ask(&self, question: Question, call: impl FnOnce()) -> Answer {
        let _turn = taken(&self.turn);
        *taken(&self.slot) = Slot { question: Some(question), answer: None };
        let asked = self.word.compare_exchange(FREE, ASKED, Ordering::Release, Ordering::Relaxed);
        asked.map_err(|_| ChangeError::Stopped)?;
        call();
        loop {
            match self.word.load(Ordering::Acquire) {
                ASKED => drop(futex::wait(&self.word, ASKED, None, false)),
                end => {
                    if end == ANSWERED {
                        // It may be closed meanwhile, and stays so.
                        let free =
                            self.word.compare_exchange(ANSWERED, FREE, Ordering::Relaxed, Ordering::Relaxed);
                        let _ = free;
                    }
                    return taken(&self.slot).answer.take().unwrap_or(Err(ChangeError::Stopped));
                }
            }
        }
    }

    /// The dispatcher answers what is asked, if anything is; whether it has, and who asked is to be woken.
    #[inline]
    pub(crate) fn answer(&self, answer: impl FnOnce(Question) -> Answer) -> bool {
        if self.word.load(Ordering::Acquire) != ASKED {
            return false;
        }
        self.answer_now(answer)
    }

    #[cold]
    fn answer_now(&self, answer: impl FnOnce(Question) -> Answer) -> bool {
        // Nobody has it, as above.
        let Ok(mut slot) = self.slot.try_lock() else { return false };
        slot.answer = slot.question.take().map(answer);
        drop(slot);
        self.word.store(ANSWERED, Ordering::Release);
        true
    }

    /// Who asked goes on.
    pub(crate) fn wake(&self) {
        let _ = futex::wake(&self.word, 1, false);
    }

    /// The dispatcher goes home.
    pub(crate) fn close(&self) {
        self.word.swap(CLOSED, Ordering::AcqRel);
        self.wake();
    }
}
