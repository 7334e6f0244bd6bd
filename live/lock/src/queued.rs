// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A lock that is slept for, by priority, and among equals first come, first served: for long sections between cores.
//!
//! # Use
//!
//! MPCP; with one priority for all, the long resources of FMLP. A party is a task, or any thread: it asks for itself
//! alone, one request at a time. Asking, waiting and letting go are separate steps, so that an executor can do between
//! them what is its own: to raise who waits before it sleeps and who holds to its ceiling, and to ask its core's rule
//! before it goes on. Plain threads do without. For short sections: [`spin`](crate::spin).
//!
//! ```
//! use taut_lock::{Entry, Line, Memory, Patience, queued};
//!
//! let mut lines = [const { Line::new() }; queued::bytes(2) / size_of::<Line>()];
//! let mut tasks = queued::group(Memory::new(&mut lines), 2)?;
//! let (mut first, mut second) = (tasks.next().unwrap(), tasks.next().unwrap());
//! assert_eq!(first.request(3), queued::Request::Granted(Entry::Clean));
//! assert_eq!(second.request(7), queued::Request::Waits);
//! assert_eq!(first.release(), Some(1));
//! assert_eq!(second.wait(Patience::Endless), Ok(Entry::Clean));
//! assert_eq!(second.release(), None);
//! # Ok::<(), taut_lock::LayoutError>(())
//! ```
//!
//! With what it protects: [`Queued`](crate::Queued).
//!
//! # Callers
//!
//! Each party by itself, all at any time.
//!
//! # Progress
//!
//! N parties.
//!
//! | operation  | bound                                                                                              |
//! |------------|----------------------------------------------------------------------------------------------------|
//! | `request`  | 1 load, 1 exchange if it is free; else 3 to 6 exchanges, 2 stores and what `granted` takes          |
//! | `granted`  | 1 load; 1 store more when it is; if nobody has it, or a dead one, what `release` takes more         |
//! | `wait`     | sleeps until granted, or until the patience ends; between processes wakes after each [`TICK_NS`] and looks |
//! | `release`  | 1 load, 1 exchange if nobody waits; else 2 N + 1 loads, 3 or 4 exchanges, and one futex wake if who is next sleeps; again for each that withdraws meanwhile. Between processes 2 loads more for each that waits |
//! | `withdraw` | 1 load, 1 exchange                                                                                  |
//!
//! Who is next waits for no other section than those of more urgent ones, of equals that came before, and of the one that
//! has it: each exchange hands over directly, and none overtakes.
//!
//! After a death of who has it, or is to be handed it: one who waits is there within a [`TICK_NS`], and the time that the
//! kernel takes to end the process.
//!
//! # State
//!
//! ```text
//! byte 0              holder: bits 0..=7   the party that has it, from 1; 0: nobody
//!                             bits 8..=15  the party that died inside, of which nobody has been told, from 1; 0: none
//!                             bit  16      others wait, or may
//!                             bits 17..    number of changes
//! byte 8              the last ticket
//! byte 128 · (1 + p)  state of party p: 0 out | 1 waits | 3 is next; bits 2..=55 its ticket; bits 56.. who wrote it
//! byte 8 behind it    its seat: see `life`
//! byte 16             its priority, while it waits
//! byte 24             its gate: bit 0: it sleeps, or is about to; the others: how often it was rung
//! ```
//!
//! # Invariants
//!
//! - I1 The holder's party is changed from nobody or a dead one by an exchange of the whole word, else by itself alone.
//! - I2 Who holds is the only one to make others next; so one that is not next can go without being handed the lock.
//! - I3 Whoever waits has set the bit of others, and counted a change, after it said so: who lets go without a look has found
//!   neither.
//! - I4 A holder that is out is inside; one that still waits has not yet entered.
//!
//! # Orderings
//!
//! - O1 hold: Release of the exchanges by which a holder lets go ↔ Acquire of the loads and exchanges by which the next one
//!   finds itself the holder.
//! - O2 wait: Release of the store that says that a party waits, and of the exchange of the holder that counts it ↔ Acquire of the
//!   loads of who lets go, behind its own exchange or load of the holder.
//! - O3 ring: AcqRel of the exchange of a gate behind that of the holder ↔ AcqRel of who is about to sleep, before it looks
//!   once more.
//! - O4 mark: SeqCst fence of the compiler between the store that says out and what is done inside ↔ Acquire of the load that
//!   looks at the state of a dead holder.
//!
//! # Proof
//!
//! One word says who holds, so there is one (I1). A holder that finds nobody waiting lets go by an exchange that fails if
//! anybody has counted a change since it looked at the word, and it looks at the states after that (I3): so none is
//! left asleep behind a free lock. One that comes when it is free takes it, unless the bit of others says that somebody
//! may have come before: then whoever finds it free takes it on behalf of all, looks for the best, and hands over as if
//! it had held. A bit that is taken away while a party is between setting it and counting was taken away by one that had
//! looked before the party said that it waits: it comes once, and the party sees it in what it counts, and does it again.
//!
//! Handing over: the holder makes the best one next, by an exchange of its state that fails if it withdraws (I2); makes it the
//! holder; and rings. Who waits says that it is about to sleep, looks once more, and sleeps on the gate as it was then; so
//! it has seen the ring, or is rung for (O3).
//!
//! A dead holder: any that waits takes the holder's place by an exchange of the word that it looked at before it found the
//! party dead, so of several one does, and none after another has come back as that party, for that counts a change.
//! Whether the dead one was inside is in its own state (I4).
//!
//! # Crash
//!
//! | who dies, where                       | what the others see          | what goes on                                      |
//! |---------------------------------------|------------------------------|---------------------------------------------------|
//! | asking, waiting                       | that it is gone, if it would be next | the others, as if it had not asked         |
//! | next, or holder and not yet inside    | a dead holder, which waits   | one who waits takes its place and hands over       |
//! | inside, up to the exchange of `release` | a dead holder, which is out | the same; and the next one inside is told [`Entry::OwnerDied`] |
//! | having handed over, before it rings   | nothing: the next one sleeps | between processes it looks within a [`TICK_NS`]     |
//! | taking a dead one's place             | a dead holder, which waits   | the next one                                      |
//!
//! A death while giving on what one's predecessor left may be told as if that one had been inside.
//!
//! A hostile party can, by its own line, make others wait while it is handed the lock, as if it used it. By the holder's
//! word it can let two in. The others stay inside of the memory in any case, and go on when their patience ends.
//!
//! # Source
//!
//! MPCP [Rajkumar 1990], suspended [Lakshmanan 2009]; FMLP [Block 2007]. The word with a bit of others is that of futex
//! mutexes [Drepper 2011, section 5]; the gate is the bell of this crate.
//!
//! # Checked
//!
//! - here: order, patience, withdrawal, seats
//! - `tests/loom_queued.rs`: every execution of 2 and 3 parties, asleep too, with deaths; a release that does not heed who
//!   came meanwhile fails
//! - `tests/shuttle.rs`, `tests/stress.rs`: longer runs, of threads also under the thread sanitizer
//! - `tests/steps.rs`: the bounds above; `tests/deaths.rs`: a death at each step; `tests/hostile.rs`: a process scribbles
//! - `tests/kills.rs`: processes killed at any moment; `tests/conformance.rs`: the order of `taut_policy::Mpcp` and `FmlpLong`
//! - `benches/hand_over.rs`: what it costs, beside a futex's wake
//!
//! `tests/loom_queued.rs`, bound 2 and asleep: 2 parties twice each, 12 912 executions; 3 parties, 17 633; a death at each of
//! three places with a successor, 367 to 2 092.
//!
//! Not covered: 2⁴⁷ changes between two steps; sleeping parties that die, in a model, where they look again and again.

mod word;

use std::ops::Range;
use std::sync::atomic::compiler_fence;

use taut_atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, LINE_BYTES, Memory, Words, spin_loop};

use crate::gate::Gates;
use crate::global::{Entry, LayoutError, PARTIES_LIMIT, Patience, Set, Stuck, fit, lines, now};
use crate::life::{Alive, Lives, Seats, Taking};
use word::{CHANGE, Holder, OTHERS, State, hand_over};

/// How long one who waits sleeps at most before it looks whether the holder lives, where that can die.
pub const TICK_NS: u64 = 1_000_000;

/// Bytes that a lock of so many parties needs.
pub const fn bytes(parties: u32) -> usize {
    lines(parties)
}

/// All parties of a lock of this process; what was on the memory is forgotten.
///
/// # Errors
///
/// [`LayoutError::Parties`], [`LayoutError::TooSmall`].
pub fn group(memory: Memory<'_>, parties: u32) -> Result<Parties<'_>, LayoutError> {
    let object = Object::new(&memory, parties, Seats::IMMORTAL)?;
    object.holder.store(0, Relaxed);
    (0..parties).for_each(|party| object.state(party).store(0, Relaxed));
    Ok(Parties { object, next: 0 })
}

/// Party `which` of a lock between processes, which nobody else may be: it is free, or whoever was it last is dead; what
/// that one held is given on. The memory is zero, or has been used for this lock before; `alive` is this process among these
/// `lives`.
///
/// # Errors
///
/// [`LayoutError::Parties`], [`LayoutError::TooSmall`]; [`LayoutError::Taken`], also if the lock was just being handed to
/// the one before, and that does not come to an end.
pub fn party<'m>(
    memory: Memory<'m>,
    parties: u32,
    which: u32,
    lives: Lives<'m>,
    alive: &'m Alive,
) -> Result<Party<'m>, LayoutError> {
    Object::between(&memory, parties, lives)?.sit(which, alive)
}

/// Several parties of a lock between processes, as [`party`], of one process: those that have this number from the first
/// on, each by itself.
///
/// # Errors
///
/// As [`party`].
pub fn seats<'m>(
    memory: Memory<'m>,
    parties: u32,
    which: Range<u32>,
    lives: Lives<'m>,
    alive: &'m Alive,
) -> Result<impl Iterator<Item = Result<Party<'m>, LayoutError>>, LayoutError> {
    let object = Object::between(&memory, parties, lives)?;
    Ok(which.map(move |which| object.sit(which, alive)))
}

#[derive(Clone, Copy)]
struct Object<'m> {
    holder: &'m AtomicU64,
    tickets: &'m AtomicU64,
    states: Words<'m>,
    priorities: Words<'m>,
    rings: Words<'m>,
    gates: Gates<'m>,
    seats: Seats<'m>,
}

impl<'m> Object<'m> {
    fn new(memory: &Memory<'m>, parties: u32, seats: Seats<'m>) -> Result<Self, LayoutError> {
        if parties == 0 || parties > PARTIES_LIMIT {
            return Err(LayoutError::Parties);
        }
        fit(memory, bytes(parties))?;
        let words = |offset| memory.words(LINE_BYTES + offset, LINE_BYTES, parties as usize);
        Ok(Self {
            holder: memory.word(0),
            tickets: memory.word(8),
            states: words(0),
            priorities: words(16),
            rings: words(24),
            gates: Gates::new(words(24), seats.are_mortal()),
            seats,
        })
    }

    fn between(memory: &Memory<'m>, parties: u32, lives: Lives<'m>) -> Result<Self, LayoutError> {
        Self::new(memory, parties, Seats::behind(memory, bytes(parties), parties, lives)?)
    }

    fn sit(self, which: u32, alive: &Alive) -> Result<Party<'m>, LayoutError> {
        let taking = self.seats.take(which, alive)?;
        let mut party = Party { object: self, which, taking, stage: Stage::Out };
        party.inherit()?;
        Ok(party)
    }

    fn state(&self, party: u32) -> &'m AtomicU64 {
        // SAFETY: parties are counted from 0 (`group`, `party`, `Set::below`), and there are as many of each word.
        unsafe { self.states.at(party as usize) }
    }

    fn priority(&self, party: u32) -> &'m AtomicU64 {
        // SAFETY: as in `state`.
        unsafe { self.priorities.at(party as usize) }
    }

    fn ring(&self, party: u32) -> &'m AtomicU64 {
        // SAFETY: as in `state`.
        unsafe { self.rings.at(party as usize) }
    }

    fn all(&self) -> Set {
        Set::below(self.states.count())
    }

    /// Whether the holder, if there is one, is dead; then also whether it was inside. `word` was loaded before.
    #[cold]
    fn died(&self, word: Holder) -> Option<Holder> {
        let party = word.party().filter(|party| self.seats.is_empty(*party))?;
        let state = self.states.get(party as usize)?.load(Acquire); // O4 mark
        Some(if State(state).is_out() { word.torn_by(party) } else { word })
    }

    /// Of those that wait, the most urgent one that came first, and what it had said; but not one of `except`.
    fn best(&self, except: Set) -> Option<(u32, State)> {
        let mut best: Option<(u32, State, u64)> = None;
        for party in self.all().minus(except).iter() {
            let state = State(self.state(party).load(Acquire)); // O2 wait
            if state.is_out() {
                continue;
            }
            if self.seats.is_gone(party, state.taking()) {
                // Or it is another's by now, who has said what is true.
                let _ = self.state(party).compare_exchange(
                    state.0,
                    State::out(state.taking()).0,
                    Relaxed,
                    Relaxed,
                );
                continue;
            }
            let priority = self.priority(party).load(Relaxed);
            let goes_first = best.is_none_or(|(_, other, highest)| {
                priority > highest || priority == highest && is_before(state.ticket(), other.ticket())
            });
            if goes_first {
                best = Some((party, state, priority));
            }
        }
        best.map(|(party, state, _)| (party, state))
    }

    /// Makes the best one next. Those that withdraw meanwhile have no claim.
    fn next(&self) -> Option<u32> {
        let mut withdrew = Set::NONE;
        loop {
            let (party, state) = self.best(withdrew)?;
            let place = self.state(party);
            // Relaxed: it decides between withdrawing and being next, and no more.
            if state.is_next() || place.compare_exchange(state.0, state.next().0, Relaxed, Relaxed).is_ok() {
                return Some(party);
            }
            withdrew = withdrew.with(party);
        }
    }
}

/// The parties, each once.
pub struct Parties<'m> {
    object: Object<'m>,
    next: u32,
}

impl<'m> Iterator for Parties<'m> {
    type Item = Party<'m>;

    fn next(&mut self) -> Option<Self::Item> {
        let which = self.next;
        ((which as usize) < self.object.states.count()).then(|| {
            self.next += 1;
            Party { object: self.object, which, taking: Taking::ONLY, stage: Stage::Out }
        })
    }
}

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
enum Stage {
    Out,
    Waits,
    Holds,
}

/// One that asks for the lock: a task, or a thread.
pub struct Party<'m> {
    object: Object<'m>,
    which: u32,
    taking: Taking,
    stage: Stage,
}

impl Party<'_> {
    /// Which one it is, from 0.
    pub fn which(&self) -> u32 {
        self.which
    }

    /// Whether it has the lock, and knows it.
    pub fn is_inside(&self) -> bool {
        self.stage == Stage::Holds
    }

    /// Asks for the lock; a larger `priority` is more urgent. If it has it, or waits already, nothing new is asked.
    #[inline]
    pub fn request(&mut self, priority: u32) -> Request {
        if self.stage == Stage::Out {
            let holder = self.object.holder;
            let word = Holder(holder.load(Relaxed));
            if word.party().is_none() && !word.others() {
                let mine = word.given_to(self.which);
                // O1 hold
                if holder.compare_exchange(word.0, mine.0, Acquire, Relaxed).is_ok() {
                    self.stage = Stage::Holds;
                    return Request::Granted(self.told(mine));
                }
            }
            self.line_up(priority);
        }
        self.granted().map_or(Request::Waits, Request::Granted)
    }

    /// Says that it waits, so that whoever lets go next will look.
    #[cold]
    fn line_up(&mut self, priority: u32) {
        let object = &self.object;
        let ticket = object.tickets.fetch_add(1, Relaxed).wrapping_add(1);
        object.priority(self.which).store(priority.into(), Relaxed);
        object.state(self.which).store(State::waits(self.taking, ticket).0, Release); // O2 wait
        self.stage = Stage::Waits;
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
        match self.stage {
            Stage::Out => return None,
            Stage::Holds => return Some(Entry::Clean),
            Stage::Waits => {}
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
        self.object.state(self.which).store(State::out(self.taking).0, Release); // O2 wait
        // O4 mark: who dies from here on has left that it was inside.
        compiler_fence(Ordering::SeqCst);
        self.stage = Stage::Holds;
        self.told(word)
    }

    /// Inside: takes the note of a death away.
    #[inline]
    fn told(&self, word: Holder) -> Entry {
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
            if end || self.stage == Stage::Out {
                let party = Holder(self.object.holder.load(Relaxed)).party().unwrap_or(self.which);
                if self.withdraw() == Withdrawn::Left {
                    return Err(Stuck { party });
                }
                let last = *over.get_or_insert(looks.saturating_add(LAST));
                if self.object.seats.are_mortal() && looks >= last {
                    return Err(Stuck { party });
                }
            }
            let ticks = matches!(patience, Patience::Looks(_)) || self.object.seats.are_mortal();
            self.sleep(if end { u64::MAX } else { deadline }, ticks);
        }
    }

    /// Sleeps until rung or until the deadline, but for a tick at most if it is to look again.
    fn sleep(&self, deadline: u64, ticks: bool) {
        let object = &self.object;
        let tick = if ticks { now().saturating_add(TICK_NS) } else { u64::MAX };
        let until = Some(deadline.min(tick)).filter(|until| *until != u64::MAX);
        let ring = object.ring(self.which);
        // O3 ring: before it looks once more.
        let rings = ring.fetch_add(1, AcqRel).wrapping_add(1);
        // Relaxed: what it sees it takes for nothing but a reason not to sleep.
        if !Holder(object.holder.load(Relaxed)).is(self.which) {
            object.gates.sleep(self.which, rings, until);
        }
        ring.fetch_sub(1, Relaxed);
    }

    /// Gives the request back, if it has not got the lock and is not about to.
    pub fn withdraw(&mut self) -> Withdrawn {
        let state = self.object.state(self.which);
        let waits = State(state.load(Relaxed));
        match self.stage {
            Stage::Out => return Withdrawn::Left,
            Stage::Waits if !waits.is_next() => {}
            Stage::Waits | Stage::Holds => return Withdrawn::Next,
        }
        // Relaxed: as in `next`.
        if state.compare_exchange(waits.0, State::out(self.taking).0, Relaxed, Relaxed).is_err() {
            return Withdrawn::Next;
        }
        self.stage = Stage::Out;
        Withdrawn::Left
    }

    /// Lets go. Gives who has the lock now, if anybody waited. If it has not got it, nothing happens.
    #[inline]
    pub fn release(&mut self) -> Option<u32> {
        if self.stage != Stage::Holds {
            return None;
        }
        self.stage = Stage::Out;
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
            if self.object.seats.are_mortal() && rounds > 2 * PARTIES_LIMIT {
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
        if object.ring(next).fetch_add(2, AcqRel) & 1 != 0 {
            object.gates.wake(next);
        }
    }

    /// Gives on what whoever was this party before has left.
    fn inherit(&mut self) -> Result<(), LayoutError> {
        /// Far more than it takes who hands over to make its last step, unless it does not run.
        const LOOKS: u32 = 1 << 20;
        let object = self.object;
        let (holder, place) = (object.holder, object.state(self.which));
        object.ring(self.which).fetch_and(!1, Relaxed);
        for _ in 0..LOOKS {
            let word = Holder(holder.load(Acquire)); // O1 hold
            let state = State(place.load(Acquire)); // O4 mark
            let out = State::out(self.taking).0;
            if word.is(self.which) {
                let torn = if state.is_out() { word.torn_by(self.which) } else { word };
                // A change, so that nobody takes us for the one before.
                let mine = Holder(torn.given_to(self.which).0 | OTHERS);
                // O1 hold
                if holder.compare_exchange(word.0, mine.0, AcqRel, Relaxed).is_ok() {
                    place.store(out, Release); // O2 wait
                    self.stage = Stage::Holds;
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
        object.seats.leave(self.which, self.taking);
        Err(LayoutError::Taken)
    }
}

impl Drop for Party<'_> {
    /// Lets go, or withdraws, and gets up from its seat.
    fn drop(&mut self) {
        // Where nobody dies, who is about to hand over does so at once. Where processes share, whoever waits finds the
        // lock with a party that is not there, and takes it.
        while self.stage == Stage::Waits && self.withdraw() == Withdrawn::Next && self.granted().is_none() {
            if self.object.seats.are_mortal() {
                break;
            }
            spin_loop();
        }
        self.release();
        self.object.seats.leave(self.which, self.taking);
    }
}

/// Whether a ticket was drawn before another one: both are of parties that wait, so not far from each other.
fn is_before(one: u64, other: u64) -> bool {
    one.wrapping_sub(other) << (64 - State::TICKET_BITS) >> 63 == 1
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use taut_atomic::Line;

    use super::*;

    const CLEAN: Request = Request::Granted(Entry::Clean);

    fn parties<const N: usize>(lines: &mut [Line]) -> [Party<'_>; N] {
        let mut parties = group(Memory::new(lines), N as u32).expect("room");
        std::array::from_fn(|_| parties.next().expect("as many"))
    }

    #[test]
    fn by_priority_then_first_come() {
        let mut lines = [const { Line::new() }; 6];
        let [mut a, mut b, mut c, mut d, mut e] = parties(&mut lines);
        assert_eq!(a.request(1), CLEAN);
        for (party, priority) in [(&mut b, 5), (&mut c, 9), (&mut d, 5), (&mut e, 3)] {
            assert_eq!(party.request(priority), Request::Waits);
            assert_eq!((party.granted(), party.is_inside()), (None, false));
        }
        for (holder, next) in [(a, 2), (c, 1), (b, 3), (d, 4)] {
            let mut holder = holder;
            if holder.which() != 0 {
                assert_eq!(holder.granted(), Some(Entry::Clean));
            }
            assert_eq!(holder.release(), Some(next));
            assert_eq!((holder.release(), holder.granted()), (None, None), "it has it no more");
        }
        assert_eq!((e.wait(Patience::Endless), e.release()), (Ok(Entry::Clean), None));
        assert_eq!(e.request(0), CLEAN);
    }

    #[test]
    fn patience_ends_and_who_withdraws_is_passed() {
        let mut lines = [const { Line::new() }; 4];
        let [mut a, mut b, mut c] = parties(&mut lines);
        assert_eq!(a.request(1), CLEAN);
        assert_eq!(b.wait(Patience::Endless), Err(Stuck { party: 0 }), "it has not asked");
        assert_eq!((b.request(9), c.request(1)), (Request::Waits, Request::Waits));
        let soon = Patience::Until(now() + 2_000_000);
        assert_eq!(b.wait(soon), Err(Stuck { party: 0 }));
        assert_eq!((b.withdraw(), a.withdraw()), (Withdrawn::Left, Withdrawn::Next));
        assert_eq!(a.release(), Some(2));
        assert_eq!(c.withdraw(), Withdrawn::Next);
        assert_eq!(c.wait(Patience::Looks(0)), Ok(Entry::Clean));
        assert_eq!(b.request(1), Request::Waits);
        assert_eq!(b.wait(Patience::Looks(2)), Err(Stuck { party: 2 }));
        assert_eq!((b.request(1), b.withdraw(), c.release()), (Request::Waits, Withdrawn::Left, None));
        assert_eq!(b.request(1), CLEAN);
    }

    #[test]
    fn who_is_dropped_gives_back_what_it_had_or_wanted() {
        let mut lines = [const { Line::new() }; 4];
        let [mut a, mut b, mut c] = parties(&mut lines);
        assert_eq!((a.request(1), b.request(1), c.request(1)), (CLEAN, Request::Waits, Request::Waits));
        drop(a);
        drop(b);
        assert_eq!(c.granted(), Some(Entry::Clean));
    }

    #[test]
    fn the_dead_are_replaced_and_told_of_if_inside() {
        for (inside, heir_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let bytes = bytes(3);
            let lines = (0..bytes / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>();
            let start = std::ptr::NonNull::from(Box::leak(lines)).cast();
            // SAFETY: leaked, aligned, of that length; used by parties of one lock alone.
            let memory = || unsafe { Memory::from_raw(start, bytes) };
            let lines = vec![Line::new(), Line::new()].into_boxed_slice();
            let lives = Lives::new(Memory::new(Box::leak(lines)), 2).unwrap();
            let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
            let mut first = party(memory(), 3, 0, lives, &dying).unwrap();
            let mut second = party(memory(), 3, 1, lives, &alive).unwrap();
            let mut third = party(memory(), 3, 2, lives, &alive).unwrap();
            if inside {
                assert_eq!(first.request(1), CLEAN);
            } else {
                assert_eq!((third.request(1), first.request(2)), (CLEAN, Request::Waits));
                assert_eq!(third.release(), Some(0));
            }
            assert_eq!((second.request(1), third.request(2)), (Request::Waits, Request::Waits));
            assert_eq!(second.wait(Patience::Looks(3)), Err(Stuck { party: 0 }));
            assert_eq!(second.request(1), Request::Waits);
            std::mem::forget(first);
            drop(dying);
            let told = if inside { Entry::OwnerDied(0) } else { Entry::Clean };
            let heir = heir_first.then(|| party(memory(), 3, 0, lives, &alive).unwrap());
            assert_eq!(second.granted(), None, "the other one is more urgent");
            assert_eq!(third.wait(Patience::Endless), Ok(told));
            assert_eq!(third.release(), Some(1));
            assert_eq!(second.wait(Patience::Endless), Ok(Entry::Clean));
            drop(heir);
        }
    }
}
