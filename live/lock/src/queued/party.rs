// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a party does: asks, waits, withdraws, lets go; and takes over what one who died has left.

use std::sync::atomic::compiler_fence;

use taut_atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use taut_atomic::spin_loop;

use super::TICK_NS;
use super::object::Object;
use super::word::{CHANGE, Holder, OTHERS, State, hand_over};
use crate::global::{Entry, LayoutError, PARTIES_LIMIT, Patience, Stuck, now};
use crate::life::{Alive, Generation};

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Who asked has the lock.
    Granted(Entry),
    /// It waits: [`Party::wait`], [`Party::granted`], or [`Party::withdraw`].
    Waits,
}

/// What came of withdrawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// It does not wait any more, and has not got the lock.
    Left,
    /// It has the lock, or is about to be handed it: [`Party::wait`], and then [`Party::release`].
    Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Out,
    Waits,
    Holds,
}

/// One that asks for the lock: a task, or a thread.
pub struct Party<'m> {
    object: Object<'m>,
    which: u32,
    generation: Generation,
    phase: Phase,
}

impl<'m> Party<'m> {
    /// The only one that there is.
    pub(super) fn only(object: Object<'m>, which: u32) -> Self {
        Self { object, which, generation: Generation::ONLY, phase: Phase::Out }
    }

    /// Sits down, and gives on what is left there.
    pub(super) fn take_slot(object: Object<'m>, which: u32, alive: &Alive) -> Result<Self, LayoutError> {
        let generation = object.slots.take(which, alive)?;
        let mut party = Self { object, which, generation, phase: Phase::Out };
        party.inherit()?;
        Ok(party)
    }

    /// Which one it is, from 0.
    pub fn which(&self) -> u32 {
        self.which
    }

    /// Whether it has the lock, and knows it.
    pub fn is_inside(&self) -> bool {
        self.phase == Phase::Holds
    }

    /// Asks for the lock; a larger `priority` is more urgent. If it has it, or waits already, nothing new is asked.
    #[inline]
    pub fn request(&mut self, priority: u32) -> Request {
        if self.phase == Phase::Out {
            let holder = self.object.holder;
            let word = Holder(holder.load(Relaxed));
            if word.party().is_none() && !word.others() {
                let mine = word.given_to(self.which);
                // O1 hold
                if holder.compare_exchange(word.0, mine.0, Acquire, Relaxed).is_ok() {
                    self.phase = Phase::Holds;
                    return Request::Granted(self.take_entry(mine));
                }
            }
            self.enqueue(priority);
        }
        self.granted().map_or(Request::Waits, Request::Granted)
    }

    /// Says that it waits, so that whoever lets go next will look.
    #[cold]
    fn enqueue(&mut self, priority: u32) {
        let object = &self.object;
        let ticket = object.tickets.fetch_add(1, Relaxed).wrapping_add(1);
        object.priority(self.which).store(priority.into(), Relaxed);
        object.state(self.which).store(State::waits(self.generation, ticket).0, Release); // O2 wait
        self.phase = Phase::Waits;
        // Once more if somebody who had looked before took the bit away; a hostile one could do so for ever.
        for _ in 0..8 {
            // Relaxed: who lets go between this and the next finds that the word has changed, or is found by it.
            object.holder.fetch_or(OTHERS, Relaxed);
            // O2 wait
            if Holder(object.holder.fetch_add(CHANGE, Release)).others() {
                break;
            }
        }
    }

    /// Whether the lock is its own by now. If nobody has it, or one that died, this sees to it that the next one has.
    #[inline]
    pub fn granted(&mut self) -> Option<Entry> {
        match self.phase {
            Phase::Out => return None,
            Phase::Holds => return Some(Entry::Clean),
            Phase::Waits => {}
        }
        // The exchange fails if others ask meanwhile, each once, or if another one takes it.
        for _ in 0..=PARTIES_LIMIT {
            let word = Holder(self.object.holder.load(Acquire)); // O1 hold
            if word.is(self.which) {
                return Some(self.accept(word));
            }
            let old = if word.party().is_none() { Some(word) } else { self.object.died(word) };
            let mine = Holder(old?.given_to(self.which).0 | OTHERS);
            // O1 hold
            if self.object.holder.compare_exchange(word.0, mine.0, AcqRel, Relaxed).is_ok() {
                // On behalf of all, of which it is one.
                return match self.object.next() {
                    Some(next) if next != self.which => {
                        self.hand_over(next);
                        None
                    }
                    _ => Some(self.accept(mine)),
                };
            }
        }
        None
    }

    /// Is inside from here on.
    #[inline]
    fn accept(&mut self, word: Holder) -> Entry {
        self.object.state(self.which).store(State::out(self.generation).0, Release); // O2 wait
        // O4 mark: who dies from here on has left that it was inside.
        compiler_fence(Ordering::SeqCst);
        self.phase = Phase::Holds;
        self.take_entry(word)
    }

    /// Inside: takes the note of a death away.
    #[inline]
    fn take_entry(&self, word: Holder) -> Entry {
        match word.torn() {
            None => Entry::Clean,
            Some(party) => {
                self.object.holder.fetch_add(word.untorn(), Relaxed);
                Entry::OwnerDied(party)
            }
        }
    }

    /// Sleeps until the lock is its own.
    ///
    /// # Errors
    ///
    /// [`Stuck`]. If it has not asked, at once. Between processes, if it was to be handed the lock and that did not come,
    /// it waits still, and should be dropped.
    pub fn wait(&mut self, patience: Patience) -> Result<Entry, Stuck> {
        /// Looks after the patience is over, of one that is next: for the two steps of who lets go.
        const LAST: u64 = 1000;
        let mut looks = 0;
        let mut over = None;
        loop {
            if let Some(entry) = self.granted() {
                return Ok(entry);
            }
            looks += 1;
            let deadline = if let Patience::Until(deadline) = patience { deadline } else { u64::MAX };
            let end = patience.over(looks) || (deadline != u64::MAX && now() >= deadline);
            if end || self.phase == Phase::Out {
                let party = Holder(self.object.holder.load(Relaxed)).party().unwrap_or(self.which);
                if self.withdraw() == Withdrawn::Left {
                    return Err(Stuck { party });
                }
                let last = *over.get_or_insert(looks.saturating_add(LAST));
                if self.object.slots.are_mortal() && looks >= last {
                    return Err(Stuck { party });
                }
            }
            let ticks = matches!(patience, Patience::Looks(_)) || self.object.slots.are_mortal();
            self.sleep(if end { u64::MAX } else { deadline }, ticks);
        }
    }

    /// Sleeps until rung or until the deadline, but for a tick at most if it is to look again.
    fn sleep(&self, deadline: u64, ticks: bool) {
        let object = &self.object;
        let tick = if ticks { now().saturating_add(TICK_NS) } else { u64::MAX };
        let until = Some(deadline.min(tick)).filter(|until| *until != u64::MAX);
        let notification_word = object.notification_word(self.which);
        // O3 ring: before it looks once more.
        let notifications = notification_word.fetch_add(1, AcqRel).wrapping_add(1);
        // Relaxed: what it sees it takes for nothing but a reason not to sleep.
        if !Holder(object.holder.load(Relaxed)).is(self.which) {
            object.futexes.sleep(self.which, notifications, until);
        }
        notification_word.fetch_sub(1, Relaxed);
    }

    /// Gives the request back, if it has not got the lock and is not about to.
    pub fn withdraw(&mut self) -> Withdrawn {
        let state = self.object.state(self.which);
        let waits = State(state.load(Relaxed));
        match self.phase {
            Phase::Out => return Withdrawn::Left,
            Phase::Waits if !waits.is_next() => {}
            Phase::Waits | Phase::Holds => return Withdrawn::Next,
        }
        // Relaxed: as in `next`.
        if state.compare_exchange(waits.0, State::out(self.generation).0, Relaxed, Relaxed).is_err() {
            return Withdrawn::Next;
        }
        self.phase = Phase::Out;
        Withdrawn::Left
    }

    /// Lets go. Gives who has the lock now, if anybody waited. If it has not got it, nothing happens.
    #[inline]
    pub fn release(&mut self) -> Option<u32> {
        if self.phase != Phase::Holds {
            return None;
        }
        self.phase = Phase::Out;
        // Relaxed: where others wait, it is looked at again.
        let word = Holder(self.object.holder.load(Relaxed));
        // O1 hold
        let free =
            |word: Holder| self.object.holder.compare_exchange(word.0, word.free().0, Release, Relaxed);
        if !word.others() && free(word).is_ok() {
            return None;
        }
        self.release_to_others()
    }

    #[cold]
    fn release_to_others(&mut self) -> Option<u32> {
        let holder = self.object.holder;
        let mut rounds = 0;
        loop {
            let word = Holder(holder.load(Acquire)); // O2 wait
            if let Some(next) = self.object.next() {
                self.hand_over(next);
                return Some(next);
            }
            // O1 hold
            if holder.compare_exchange(word.0, word.free().0, Release, Relaxed).is_ok() {
                return None;
            }
            // Each round somebody has come, and gone. Where processes share, one could spoil the word for ever: then
            // those who wait look by themselves.
            rounds += 1;
            if self.object.slots.are_mortal() && rounds > 2 * PARTIES_LIMIT {
                holder.swap(OTHERS, Release); // O1 hold
                return None;
            }
        }
    }

    /// As the holder: makes another one that, which is next, and wakes it.
    fn hand_over(&self, next: u32) {
        let object = &self.object;
        // O1 hold: others may ask meanwhile, which changes other bits.
        object.holder.fetch_add(hand_over(self.which, next), Release);
        // O3 ring
        if object.notification_word(next).fetch_add(2, AcqRel) & 1 != 0 {
            object.futexes.wake(next);
        }
    }

    /// Gives on what whoever was this party before has left.
    fn inherit(&mut self) -> Result<(), LayoutError> {
        /// Far more than it takes who hands over to make its last step, unless it does not run.
        const LOOKS: u32 = 1 << 20;
        let object = self.object;
        let (holder, place) = (object.holder, object.state(self.which));
        object.notification_word(self.which).fetch_and(!1, Relaxed);
        for _ in 0..LOOKS {
            let word = Holder(holder.load(Acquire)); // O1 hold
            let state = State(place.load(Acquire)); // O4 mark
            let out = State::out(self.generation).0;
            if word.is(self.which) {
                let torn = if state.is_out() { word.torn_by(self.which) } else { word };
                // A change, so that nobody takes us for the one before.
                let mine = Holder(torn.given_to(self.which).0 | OTHERS);
                // O1 hold
                if holder.compare_exchange(word.0, mine.0, AcqRel, Relaxed).is_ok() {
                    place.store(out, Release); // O2 wait
                    self.phase = Phase::Holds;
                    self.release();
                    return Ok(());
                }
            } else if !state.is_next() {
                // O2 wait
                if place.compare_exchange(state.0, out, AcqRel, Relaxed).is_ok() {
                    return Ok(());
                }
            } else if let Some(old) = if word.party().is_none() { Some(word) } else { object.died(word) } {
                // Who was about to hand over died too. What comes of it is for the next round, whoever does it.
                let mine = Holder(old.given_to(self.which).0 | OTHERS);
                let _ = holder.compare_exchange(word.0, mine.0, AcqRel, Relaxed); // O1 hold
            }
            spin_loop();
        }
        object.slots.leave(self.which, self.generation);
        Err(LayoutError::Taken)
    }
}

impl Drop for Party<'_> {
    /// Lets go, or withdraws, and gets up from its seat.
    fn drop(&mut self) {
        // Where nobody dies, who is about to hand over does so at once. Where processes share, whoever waits finds the
        // lock with a party that is not there, and takes it.
        while self.phase == Phase::Waits && self.withdraw() == Withdrawn::Next && self.granted().is_none() {
            if self.object.slots.are_mortal() {
                break;
            }
            spin_loop();
        }
        self.release();
        self.object.slots.leave(self.which, self.generation);
    }
}
