// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a party does: it requests, waits, withdraws, releases, and takes over what a dead predecessor left.

use std::sync::atomic::compiler_fence;

use taut_atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use taut_atomic::spin_loop;

use super::TICK_NS;
use super::object::Object;
use super::word::{CHANGE, Holder, OTHERS, State, hand_over};
use crate::global::{AcquiredState, LockLayoutError, PARTIES_LIMIT, Patience, Stuck, now};
use crate::life::{Alive, Generation};

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The party has the lock.
    Granted(AcquiredState),
    /// The party waits: call [`Party::wait`], [`Party::granted`], or [`Party::withdraw`].
    Waits,
}

/// The result of a withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// The party does not wait any more, and does not have the lock.
    Left,
    /// The party has the lock, or is about to be handed it: call [`Party::wait`], and then [`Party::release`].
    Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Out,
    Waits,
    Holds,
}

/// A party of the lock: a task, or a thread.
pub struct Party<'m> {
    object: Object<'m>,
    which: u32,
    generation: Generation,
    phase: Phase,
}

impl<'m> Party<'m> {
    /// The party of a lock of one process, where each party exists once.
    pub(super) fn only(object: Object<'m>, which: u32) -> Self {
        Self { object, which, generation: Generation::ONLY, phase: Phase::Out }
    }

    /// Takes the party's slot, and hands over the lock if the slot's last owner left it held.
    pub(super) fn take_slot(object: Object<'m>, which: u32, alive: &Alive) -> Result<Self, LockLayoutError> {
        let generation = object.slots.take(which, alive)?;
        let mut party = Self { object, which, generation, phase: Phase::Out };
        party.inherit()?;
        Ok(party)
    }

    /// The number of the party, from 0.
    pub fn which(&self) -> u32 {
        self.which
    }

    /// Whether the party has the lock, and knows it.
    pub fn is_inside(&self) -> bool {
        self.phase == Phase::Holds
    }

    /// Requests the lock; a larger `priority` is more urgent. If the party has the lock or waits already, this
    /// makes no new request.
    #[inline]
    pub fn request(&mut self, priority: u32) -> RequestOutcome {
        if self.phase == Phase::Out {
            let holder = self.object.holder;
            let word = Holder(holder.load(Relaxed));
            if word.party().is_none() && !word.others() {
                let mine = word.given_to(self.which);
                // O1 hold
                if holder.compare_exchange(word.0, mine.0, Acquire, Relaxed).is_ok() {
                    self.phase = Phase::Holds;
                    return RequestOutcome::Granted(self.take_entry(mine));
                }
            }
            self.enqueue(priority);
        }
        self.granted().map_or(RequestOutcome::Waits, RequestOutcome::Granted)
    }

    /// Declares that the party waits, so that the next party that releases will look for it.
    #[cold]
    fn enqueue(&mut self, priority: u32) {
        let object = &self.object;
        let ticket = object.tickets.fetch_add(1, Relaxed).wrapping_add(1);
        object.priority(self.which).store(priority.into(), Relaxed);
        object.state(self.which).store(State::waits(self.generation, ticket).0, Release); // O2 wait
        self.phase = Phase::Waits;
        // Repeats if a party that had scanned before cleared the bit. Bounded, because a hostile party could clear it
        // for ever.
        for _ in 0..8 {
            // Relaxed: a party that releases between this step and the next finds that the word has changed, or the
            // next step sees that the bit is gone.
            object.holder.fetch_or(OTHERS, Relaxed);
            // O2 wait
            if Holder(object.holder.fetch_add(CHANGE, Release)).others() {
                break;
            }
        }
    }

    /// Whether the party has the lock by now. If nobody or a dead party holds it, the call hands it to the next
    /// party.
    #[inline]
    pub fn granted(&mut self) -> Option<AcquiredState> {
        // Proof: A dead holder: any waiter takes the holder's place by an exchange of the word that it read before it
        // found the party dead. So one of several waiters succeeds. None succeeds after a new owner has taken the dead
        // party's slot, because that owner counts a change. The state of the dead party says whether it was inside
        // (I4).
        match self.phase {
            Phase::Out => return None,
            Phase::Holds => return Some(AcquiredState::Clean),
            Phase::Waits => {}
        }
        // The exchange fails if other parties request meanwhile, each once, or if another party takes the lock.
        for _ in 0..=PARTIES_LIMIT {
            let word = Holder(self.object.holder.load(Acquire)); // O1 hold
            if word.is(self.which) {
                return Some(self.accept(word));
            }
            let old = if word.party().is_none() { Some(word) } else { self.object.died(word) };
            let mine = Holder(old?.given_to(self.which).0 | OTHERS);
            // O1 hold
            if self.object.holder.compare_exchange(word.0, mine.0, AcqRel, Relaxed).is_ok() {
                // This party has taken the lock on behalf of all waiters, of which it is one.
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

    /// The party is inside from here on.
    #[inline]
    fn accept(&mut self, word: Holder) -> AcquiredState {
        self.object.state(self.which).store(State::out(self.generation).0, Release); // O2 wait
        // O4 mark: if the party dies from here on, its state says that it was inside.
        compiler_fence(Ordering::SeqCst);
        self.phase = Phase::Holds;
        self.take_entry(word)
    }

    /// For the party inside: clears and reports the party that died inside, if any.
    #[inline]
    fn take_entry(&self, word: Holder) -> AcquiredState {
        match word.torn() {
            None => AcquiredState::Clean,
            Some(party) => {
                self.object.holder.fetch_add(word.untorn(), Relaxed);
                AcquiredState::OwnerDied(party)
            }
        }
    }

    /// Sleeps until the party has the lock.
    ///
    /// # Errors
    ///
    /// [`Stuck`] when the patience ends; at once if the party has not requested. Between processes: if the party is
    /// next and the hand-over does not come, the party still waits after this error, and should be dropped.
    pub fn wait(&mut self, patience: Patience) -> Result<AcquiredState, Stuck> {
        /// How often a party that is next looks after its patience is over: enough for the last two steps of the
        /// releasing party.
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

    /// Sleeps until notified or until the deadline, or for one tick at most if `ticks`.
    fn sleep(&self, deadline: u64, ticks: bool) {
        let object = &self.object;
        let tick = if ticks { now().saturating_add(TICK_NS) } else { u64::MAX };
        let until = Some(deadline.min(tick)).filter(|until| *until != u64::MAX);
        let notification_word = object.notification_word(self.which);
        // O3 ring: before the party checks once more.
        let notifications = notification_word.fetch_add(1, AcqRel).wrapping_add(1);
        // Relaxed: the value is only a reason not to sleep.
        if !Holder(object.holder.load(Relaxed)).is(self.which) {
            object.futexes.sleep(self.which, notifications, until);
        }
        notification_word.fetch_sub(1, Relaxed);
    }

    /// Withdraws the request, unless the party has the lock or is about to have it.
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

    /// Releases the lock. Returns the party that has it now, if any party waited. Does nothing if this party does not
    /// have the lock.
    #[inline]
    pub fn release(&mut self) -> Option<u32> {
        if self.phase != Phase::Holds {
            return None;
        }
        self.phase = Phase::Out;
        // Relaxed: if others wait, the word is read again.
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
        // Proof: One word names the holder, so there is one (I1). A holder that finds no waiter releases by an
        // exchange that fails if any party has counted a change since the holder read the word, and the holder scans
        // the states after that read (I3): so no party is left asleep behind a free lock. A party that requests a free
        // lock takes it, unless the others bit says that another party may have come before. In that case the party
        // that finds the lock free takes it on behalf of all, looks for the best waiter, and hands over as if it had
        // held the lock. If the others bit is cleared while a party is between setting it and counting, the party that
        // cleared it had scanned before this party declared that it waits. That happens once: this party sees the
        // missing bit in the word that it counts in, and repeats both steps.
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
            // In each round some party has requested and gone. Between processes a hostile party could change the word
            // for ever; after this number of rounds this party leaves the lock to the waiters, which look by
            // themselves.
            rounds += 1;
            if self.object.slots.are_mortal() && rounds > 2 * PARTIES_LIMIT {
                holder.swap(OTHERS, Release); // O1 hold
                return None;
            }
        }
    }

    /// For the holder: makes party `next`, which is next, the holder, and wakes it.
    fn hand_over(&self, next: u32) {
        // Proof: Hand-over: the holder makes the best waiter next, by an exchange of its state that fails if that
        // waiter withdraws (I2); makes it the holder; and notifies it. A waiter declares that it is about to sleep,
        // checks once more, and sleeps on the notification word as it was then. So it has seen the notification, or
        // the holder wakes it (O3).
        let object = &self.object;
        // O1 hold: other parties may request meanwhile, which changes other bits.
        object.holder.fetch_add(hand_over(self.which, next), Release);
        // O3 ring
        if object.notification_word(next).fetch_add(2, AcqRel) & 1 != 0 {
            object.futexes.wake(next);
        }
    }

    /// Hands over the lock if the previous owner of this slot died while it held the lock or was next.
    fn inherit(&mut self) -> Result<(), LockLayoutError> {
        /// Far more looks than the last step of a hand-over takes, unless its thread does not run.
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
                // A counted change, so that no party takes this owner for the one before.
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
                // The party that was about to hand over died too. The next round deals with the result, whichever
                // waiter's exchange succeeds.
                let mine = Holder(old.given_to(self.which).0 | OTHERS);
                let _ = holder.compare_exchange(word.0, mine.0, AcqRel, Relaxed); // O1 hold
            }
            spin_loop();
        }
        object.slots.leave(self.which, self.generation);
        Err(LockLayoutError::Taken)
    }
}

impl Drop for Party<'_> {
    /// Releases, or withdraws, and frees the party's slot.
    fn drop(&mut self) {
        // In one process, a party that is about to hand over does so at once. Between processes, a waiter finds
        // that the holder is gone, and takes the lock.
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
