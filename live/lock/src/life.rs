// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which processes are alive: one word per process in the memory that they share, which the kernel marks when the
//! process dies.
//!
//! # Use
//! Beside the locks that several processes share. Each process has one *place*, for all its parties of all locks.
//! The parties of a single process need no place, because they die together. This module does not detect a thread
//! that dies alone while it holds a lock: a panic releases the lock as it unwinds.
//!
//! A process can also declare that a processor is its own, among the processes that share these lives. The analyses
//! of locks between cores require a processor of its own for each process; two processes find out here if they use
//! the same one.
//!
//! Beside the words of each party of a lock lies its *party slot*, which names the process of the party. So the slot is
//! free again when that process has died, and others can distinguish the party's successor in the slot from it.
//!
//! # Callers
//! Any thread, at any time. A place belongs to one process until that process ends or gives it up, a slot to one
//! party.
//!
//! # Progress
//! | operation   | bound                                                                                      |
//! |-------------|--------------------------------------------------------------------------------------------|
//! | `claim`     | 1 load, 1 exchange; starts a thread: for boot                                              |
//! | take a slot | 1 load, 1 exchange, and one check                                                          |
//! | `take_cpu`  | 1 exchange; 16 loads for each place; the checks of processes that are dead: for boot       |
//! | check       | 1 load, 2 for a slot; if dead, 1 system call, which waits until all processors took an interrupt |
//!
//! # Orderings
//! - O1 end: AcqRel of the exchange that claims a place ↔ Acquire of the load that checks it. The kernel, not this
//!   pair, orders what a dead process has written.
//! - O2 slot: AcqRel of the exchange that takes a slot, Release of the store that leaves it ↔ Acquire of the load
//!   that checks it.
//! - O3 cpu: a SeqCst fence, on both sides, between the exchange that announces the caller's processor and the
//!   loads of the other announcements; Release of that exchange, and of the store that withdraws the announcement ↔
//!   Acquire of the loads.
//!
//! # Crash
//! | who dies, where        | what the others see         | what goes on                    |
//! |------------------------|-----------------------------|---------------------------------|
//! | before its claim       | a place without a keeper    | the next process claims it      |
//! | after it               | the mark, set by the kernel | the same, under the next number |
//!
//! A hostile process can mark any process dead, or a dead one alive. The first lets two parties into a lock;
//! [`Patience`](crate::Patience) limits the wait that the second causes. A process that writes only to its own place
//! can lie only about itself.
//!
//! # Source
//! Robust futexes: the kernel's `Documentation/locking/robust-futexes.rst` and `robust-futex-ABI.rst`. We differ:
//! the links of the list are not in the shared memory, because one thread keeps one word.

use std::fmt;

use taut_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, StridedWords, fence};
use taut_sys::life::{DIED, OWNER};

use crate::global::{LockLayoutError, PARTIES_LIMIT, fit, lines};

// # State
//
// ```text
// byte 128 · place    bits  0..=29  id of the thread that keeps the place; 0: none
//                     bit      30   that thread died
//                     bits 32..=63  number of claims of the place so far
// + 8 · 1..=15        bits  0..=16  a processor that is the process's own, plus 1; 0: none
//                     bits 32..=63  number of the claim that wrote it: the word is void under any other claim
// party slot          bits  0..=15  the place of the party's process, plus 1; 0: the slot is free
//                     bits 16..=47  number of that process's claim
//                     bits 48..=55  generation: how often the slot was taken, wrapping
// ```
//
// # Invariants
//
// - I1 While a place has a keeper, its process is alive, and no other process claims the place.
// - I2 Each claim of a place has another number, so a process is distinguishable from earlier owners of its place.
// - I3 No party takes the slot of a living process, and each party that takes a slot increments its generation.
// - I4 If two callers own the same processor at the same time, the process of one of them is dead.

/// The maximum number of places.
pub const LIMIT: u32 = 1024;

/// The bytes that this number of places needs.
pub const fn bytes(places: u32) -> usize {
    LINE_BYTES * places as usize
}

/// The maximum number of processors that a process can own.
const CPUS_MAX: usize = LINE_BYTES / 8 - 1;

/// The places of all processes that share some memory.
#[derive(Clone, Copy)]
pub struct Lives<'m> {
    words: StridedWords<'m>,
    /// The words of all lines.
    all: StridedWords<'m>,
}

impl<'m> Lives<'m> {
    /// Places on memory that is zero, or that earlier `Lives` with the same number of places have used. All processes
    /// give the same number.
    ///
    /// # Errors
    ///
    /// [`LockLayoutError::Places`], [`LockLayoutError::TooSmall`].
    pub fn new(memory: Memory<'m>, places: u32) -> Result<Self, LockLayoutError> {
        let memory = memory.claim();
        if places == 0 || places > LIMIT {
            return Err(LockLayoutError::Places);
        }
        fit(&memory, bytes(places))?;
        let (words, places) = (|stride, count| memory.words(0, stride, count), places as usize);
        Ok(Self { words: words(LINE_BYTES, places), all: words(8, places * (CPUS_MAX + 1)) })
    }

    /// The number of places.
    pub fn places(&self) -> u32 {
        self.words.count() as u32
    }

    /// The words in which a place announces its processors.
    fn cpus(&self, place: usize) -> impl Iterator<Item = &'m AtomicU64> {
        let line = place * (CPUS_MAX + 1);
        (line + 1..=line + CPUS_MAX).filter_map(|at| self.all.get(at))
    }

    /// Whether this incarnation is dead. If so, none of its threads runs any more, and the caller sees all that it
    /// wrote.
    pub(crate) fn is_dead(&self, incarnation: Incarnation) -> bool {
        let Some(word) = incarnation.place().and_then(|place| self.words.get(place)) else { return false };
        let word = word.load(Acquire); // O1 end
        if keeper(word) != 0 && claims(word) == incarnation.claim() {
            return false;
        }
        left();
        true
    }
}

#[cfg(not(any(loom, shuttle)))]
#[cold]
fn left() {
    // Proof: A check may see that a process is dead while another thread of that process is still on another
    // processor, between two instructions: the kernel has ordered it to end, but it has not ended yet. So the checking
    // thread makes all processors enter the kernel before it relies on what it saw ([`taut_sys::life::left`]).

    // An error could only mean that the kernel does not know the call; `claim` has made sure that it does.
    let _ = taut_sys::life::left();
}

/// A dead process of a model does nothing any more.
#[cfg(any(loom, shuttle))]
fn left() {}

/// The id of the thread that keeps a place; 0 if it died.
const fn keeper(word: u64) -> u32 {
    let low = word as u32;
    if low & DIED == 0 { low & OWNER } else { 0 }
}

const fn claims(word: u64) -> u32 {
    (word >> 32) as u32
}

/// One incarnation of a process: its place, and the number of its claim. 0 is nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Incarnation(u64);

impl Incarnation {
    /// The bits of an incarnation.
    pub(crate) const BITS: u32 = 48;

    /// From the low bits of a shared word, which may have any value.
    pub(crate) const fn of(word: u64) -> Self {
        Self(word & ((1 << Self::BITS) - 1))
    }

    pub(crate) const fn is_nobody(self) -> bool {
        self.0 & 0xFFFF == 0
    }

    fn place(self) -> Option<usize> {
        ((self.0 & 0xFFFF) as usize).checked_sub(1)
    }

    const fn claim(self) -> u32 {
        (self.0 >> 16) as u32
    }
}

/// The slots of a lock's parties: which process each party belongs to.
#[derive(Clone, Copy)]
pub(crate) struct PartySlots<'m> {
    /// `None` in one process: no party dies alone, and each party exists once.
    shared: Option<(StridedWords<'m>, Lives<'m>)>,
}

/// How often a slot was taken, as a tag of the words that its party writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u8);

impl Generation {
    /// For locks whose parties cannot die.
    pub(crate) const ONLY: Self = Self(0);
    /// The bits that the tag takes at the top of a word.
    pub(crate) const BITS: u32 = 8;

    pub(crate) const fn of(word: u64) -> Self {
        Self((word >> (64 - Self::BITS)) as u8)
    }

    /// The tag, at the top of a word.
    pub(crate) const fn bits(self) -> u64 {
        (self.0 as u64) << (64 - Self::BITS)
    }
}

impl<'m> PartySlots<'m> {
    pub(crate) const IMMORTAL: Self = Self { shared: None };

    fn new(slots: StridedWords<'m>, lives: Lives<'m>) -> Self {
        Self { shared: Some((slots, lives)) }
    }

    /// The slots of a lock with this number of parties, each in its party's line. With `lives` the parties are of
    /// several processes, otherwise of this process alone.
    pub(crate) fn of(
        memory: &Claimed<'m>,
        parties: u32,
        lives: Option<Lives<'m>>,
    ) -> Result<Self, LockLayoutError> {
        if parties == 0 || parties > PARTIES_LIMIT {
            return Err(LockLayoutError::Parties);
        }
        fit(memory, lines(parties))?;
        let slots = || memory.words(LINE_BYTES + 8, LINE_BYTES, parties as usize);
        Ok(lives.map_or(Self::IMMORTAL, |lives| Self::new(slots(), lives)))
    }

    /// Takes the slot of party `which`, which must be free or belong to a dead process.
    pub(crate) fn take(&self, which: u32, alive: &Alive) -> Result<Generation, LockLayoutError> {
        let Some((slots, lives)) = &self.shared else { return Ok(Generation::ONLY) };
        let slot = slots.get(which as usize).ok_or(LockLayoutError::Parties)?;
        let old = slot.load(Acquire); // O2 slot
        let incarnation = Incarnation::of(old);
        if !incarnation.is_nobody() && !lives.is_dead(incarnation) {
            return Err(LockLayoutError::Taken);
        }
        let generation = Generation(((old >> Incarnation::BITS) as u8).wrapping_add(1));
        let new = (u64::from(generation.0) << Incarnation::BITS) | alive.incarnation().0;
        // O2 slot
        slot.compare_exchange(old, new, AcqRel, Relaxed).map_err(|_| LockLayoutError::Taken)?;
        Ok(generation)
    }

    /// Frees the slot. Only for the party that took it last.
    pub(crate) fn leave(&self, which: u32, generation: Generation) {
        if let Some(slot) = self.shared.as_ref().and_then(|(slots, _)| slots.get(which as usize)) {
            slot.store(u64::from(generation.0) << Incarnation::BITS, Release); // O2 slot
        }
    }

    /// Whether parties can die.
    pub(crate) fn are_mortal(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether this party has no living owner. If it has none, no thread of its last owner runs any more, and the
    /// caller sees all that this owner wrote.
    pub(crate) fn is_empty(&self, which: u32) -> bool {
        let Some((slots, lives)) = &self.shared else { return false };
        let Some(slot) = slots.get(which as usize) else { return false };
        let incarnation = Incarnation::of(slot.load(Acquire)); // O2 slot
        incarnation.is_nobody() || lives.is_dead(incarnation)
    }

    /// Whether the party that wrote a word with this generation is gone. The caller has read the word before this call.
    /// If the party is gone, none of its threads runs any more, and the caller sees all that it wrote.
    #[cold]
    pub(crate) fn is_gone(&self, which: u32, wrote: Generation) -> bool {
        // Proof: A party tags each word that it writes for others with the generation of its slot. A party that reads
        // such a word checks the slot *afterwards*. If the slot has another generation by now, the writer of the word
        // is gone, and the new owner of the slot knows it. If the generation is the same, and the process is dead, no
        // party has taken the slot since.
        let Some((slots, lives)) = &self.shared else { return false };
        let Some(slot) = slots.get(which as usize) else { return false };
        let slot = slot.load(Acquire); // O2 slot
        let incarnation = Incarnation::of(slot);
        (slot >> Incarnation::BITS) as u8 != wrote.0 || incarnation.is_nobody() || lives.is_dead(incarnation)
    }
}

/// This process has a place until this value is dropped or the process ends.
#[derive(Debug)]
pub struct Alive {
    incarnation: Incarnation,
    #[cfg(not(any(loom, shuttle)))]
    _keeper: taut_sys::life::Life,
}

impl Alive {
    /// Claims a place, and starts the thread that keeps it: a parked thread with a small stack. For boot.
    ///
    /// # Errors
    ///
    /// [`NotClaimed`].
    pub fn claim(lives: Lives<'static>, place: u32) -> Result<Self, NotClaimed> {
        let word = lives.words.get(place as usize).ok_or(NotClaimed::Layout(LockLayoutError::Places))?;
        let mut claim = 0;
        let take = |id| take(word, id).inspect(|number| claim = *number).is_some();
        #[cfg(not(any(loom, shuttle)))]
        let keeper = {
            let low = std::ptr::NonNull::from(word).cast::<u32>();
            // SAFETY: this is the half of the word that holds the lowest bits; the word is mapped for ever
            // (`Lives<'static>`).
            let low = unsafe { low.add(usize::from(cfg!(target_endian = "big"))) };
            // SAFETY: `low` is aligned, as half of an aligned word, and mapped, as above.
            let held = unsafe { taut_sys::life::Life::hold(low, take) };
            held.map_err(NotClaimed::System)?.ok_or(NotClaimed::Layout(LockLayoutError::Taken))?
        };
        #[cfg(any(loom, shuttle))]
        if !{ take }(1) {
            return Err(NotClaimed::Layout(LockLayoutError::Taken));
        }
        Ok(Self {
            incarnation: Incarnation((u64::from(claim) << 16) | (u64::from(place) + 1)),
            #[cfg(not(any(loom, shuttle)))]
            _keeper: keeper,
        })
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Declares that a processor is the caller's own, among all processes that share `lives`; this process has its
    /// place there. Two callers that ask at the same instant may both be refused.
    ///
    /// # Errors
    ///
    /// [`LockLayoutError::Taken`] if a living process owns the processor, this one included;
    /// [`LockLayoutError::Places`] if this process owns as many as it can declare, 15.
    pub fn take_cpu<'m>(&self, lives: Lives<'m>, cpu: u16) -> Result<Cpu<'m>, LockLayoutError> {
        // Proof: I4: of two callers that ask for the same processor, at least one sees the announcement of the other
        // (O3), and gives the processor up; if both see it, neither gets the processor. A caller ignores the
        // announcement of a dead process, after all threads of that process have ended, and that of an earlier
        // incarnation.
        let place = self.incarnation.place().ok_or(LockLayoutError::Places)?;
        let said = (u64::from(self.incarnation.claim()) << 32) | (u64::from(cpu) + 1);
        let says = |word: u64, incarnation: Incarnation| {
            (word >> 32) as u32 == incarnation.claim() && word as u32 != 0
        };
        let free = |word: &&AtomicU64| {
            let old = word.load(Relaxed);
            // O3 cpu
            !says(old, self.incarnation) && word.compare_exchange(old, said, Release, Relaxed).is_ok()
        };
        let own = Cpu(lives.cpus(place).find(free).ok_or(LockLayoutError::Places)?);
        #[cfg(all(test, loom))]
        let fence = if model::WITHOUT.with(core::cell::Cell::get) { |_| () } else { fence };
        fence(SeqCst); // O3 cpu
        for (at, keeper) in (0..lives.places() as usize).filter_map(|at| Some((at, lives.words.get(at)?))) {
            for word in lives.cpus(at).filter(|word| !core::ptr::eq(*word, own.0)) {
                let other = word.load(Acquire); // O3 cpu
                if other as u32 != said as u32 {
                    continue;
                }
                // An announcement of an earlier incarnation does not count. The keeper of the place is read after
                // the announcement.
                let claim = other >> 32;
                let incarnation = Incarnation((claim << 16) | (at as u64 + 1));
                let now = keeper.load(Acquire); // O1 end
                if claims(now) == incarnation.claim() && !lives.is_dead(incarnation) {
                    return Err(LockLayoutError::Taken);
                }
            }
        }
        Ok(own)
    }
}

/// A processor is this process's own, among the processes that share lives, until this value is dropped or the process
/// ends.
#[derive(Debug)]
pub struct Cpu<'m>(&'m AtomicU64);

impl Drop for Cpu<'_> {
    fn drop(&mut self) {
        self.0.store(0, Release); // O3 cpu
    }
}

/// Enters a keeper in a place that has none; returns the number of the claim.
fn take(word: &AtomicU64, id: u32) -> Option<u32> {
    // Proof: I1: an exchange that finds no keeper enters the keeper's id. The kernel removes the id when that thread
    // ends; the word is on the thread's robust list before the exchange ([`taut_sys::life`]). The thread ends with its
    // process. I2: the same exchange increments the number of claims. The exchange that takes a slot proves I3
    // likewise.
    let old = word.load(Relaxed);
    if keeper(old) != 0 {
        return None;
    }
    let claim = claims(old).wrapping_add(1);
    let new = (u64::from(claim) << 32) | u64::from(id);
    // O1 end: a check sees this incarnation, or a later one.
    word.compare_exchange(old, new, AcqRel, Relaxed).is_ok().then_some(claim)
}

/// Why a claim failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotClaimed {
    /// [`LockLayoutError::Places`], [`LockLayoutError::Taken`].
    Layout(LockLayoutError),
    /// The kernel does not support what a claim needs, or no thread could be started.
    System(taut_sys::Error),
}

impl fmt::Display for NotClaimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(error) => write!(f, "no place for this process: {error}"),
            Self::System(error) => write!(f, "no place for this process: {error}"),
        }
    }
}

impl std::error::Error for NotClaimed {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use taut_atomic::Line;

    use super::*;

    fn lives(places: u32) -> Lives<'static> {
        let lines = (0..places).map(|_| Line::new()).collect::<Box<[Line]>>();
        Lives::new(Memory::new(Box::leak(lines)), places).expect("room")
    }

    #[test]
    fn a_place_has_one_keeper_at_a_time() {
        let lives = lives(2);
        assert_eq!(lives.places(), 2);
        let first = Alive::claim(lives, 1).unwrap();
        assert_eq!(Alive::claim(lives, 1).unwrap_err(), NotClaimed::Layout(LockLayoutError::Taken));
        assert_eq!(Alive::claim(lives, 2).unwrap_err(), NotClaimed::Layout(LockLayoutError::Places));
        let other = Alive::claim(lives, 0).unwrap();
        let (one, two) = (first.incarnation(), other.incarnation());
        assert!(one != two && !lives.is_dead(one) && !lives.is_dead(two));
        drop(first);
        assert!(lives.is_dead(one) && !lives.is_dead(two));
        let second = Alive::claim(lives, 1).unwrap();
        assert!(lives.is_dead(one), "its successor does not look like it");
        assert!(!lives.is_dead(second.incarnation()));
        assert_eq!(Incarnation::of(u64::MAX << Incarnation::BITS | one.0), one);
    }

    #[test]
    fn an_unknown_incarnation_is_not_dead() {
        let lives = lives(1);
        assert!(!lives.is_dead(Incarnation(0)), "nobody");
        assert!(!lives.is_dead(Incarnation(2)), "a place that is not there");
        assert!(lives.is_dead(Incarnation(1)), "a place that nobody has claimed");
    }

    #[test]
    fn a_party_slot_is_free_when_its_process_is_gone() {
        let lives = lives(2);
        let lines = vec![Line::new()].into_boxed_slice();
        let slots = PartySlots::new(Memory::new(Box::leak(lines)).claim().words(0, 8, 2), lives);
        let (first, second) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        let one = slots.take(0, &first).unwrap();
        assert_eq!(slots.take(0, &second), Err(LockLayoutError::Taken));
        assert_eq!(slots.take(2, &second), Err(LockLayoutError::Parties));
        assert!(!slots.is_gone(0, one));
        drop(first);
        assert!(slots.is_gone(0, one));
        let two = slots.take(0, &second).unwrap();
        assert!(slots.is_gone(0, one) && !slots.is_gone(0, two));
        assert_eq!(Generation::of(two.bits() | 7), two);
        slots.leave(0, two);
        assert!(slots.is_gone(0, two));
        let three = slots.take(0, &second).unwrap();
        assert!(three != two && three != one, "who sits down again is another one");
        assert!(!PartySlots::IMMORTAL.is_gone(0, one));
    }

    #[test]
    fn a_processor_is_one_process_s() {
        let lives = lives(2);
        let (first, second) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        let taken = |alive: &Alive, cpu| alive.take_cpu(lives, cpu).err();
        let (three, _last) = (first.take_cpu(lives, 3).unwrap(), first.take_cpu(lives, u16::MAX).unwrap());
        assert_eq!(taken(&second, 3), Some(LockLayoutError::Taken));
        assert_eq!(taken(&second, u16::MAX), Some(LockLayoutError::Taken));
        assert_eq!(taken(&first, 3), Some(LockLayoutError::Taken), "it is one executor's of a process");
        assert_eq!(taken(&second, 0), None);
        drop(three);
        let three = second.take_cpu(lives, 3).unwrap();
        assert_eq!(taken(&first, 3), Some(LockLayoutError::Taken));
        // A dead process owns nothing, and its successor begins with nothing.
        std::mem::forget(three);
        drop(second);
        assert_eq!(taken(&first, 3), None);
        let heir = Alive::claim(lives, 1).unwrap();
        assert_eq!(taken(&first, 3), None);
        let all: Vec<_> = (0..CPUS_MAX as u16).map(|cpu| heir.take_cpu(lives, cpu).unwrap()).collect();
        assert_eq!(taken(&heir, 99), Some(LockLayoutError::Places));
        assert_eq!((all.len(), taken(&first, 3)), (15, Some(LockLayoutError::Taken)));
    }

    /// The keeper's word announces no processor, though it holds a number where the announcements hold theirs.
    #[test]
    fn a_keeper_is_no_processor() {
        let lives = lives(2);
        let (first, _second) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        let thread = keeper(lives.words.get(1).unwrap().load(Relaxed));
        match u16::try_from(thread - 1) {
            Ok(cpu) => assert!(first.take_cpu(lives, cpu).is_ok()),
            Err(_) => println!("skipped: no processor has a number as large as a thread's, {thread}"),
        }
    }

    #[test]
    fn its_memory_must_have_room() {
        let refused = |lines: usize, places| {
            let lines = (0..lines).map(|_| Line::new()).collect::<Box<[Line]>>();
            Lives::new(Memory::new(Box::leak(lines)), places).err()
        };
        assert_eq!(refused(1, 0), Some(LockLayoutError::Places));
        assert_eq!(refused(1, LIMIT + 1), Some(LockLayoutError::Places));
        assert_eq!(refused(1, 2), Some(LockLayoutError::TooSmall { needed: 256, given: 128 }));
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p taut-lock --release --lib life`.
#[cfg(all(test, loom))]
mod model {
    use loom::{sync::Arc, thread};
    use taut_atomic::Line;

    use super::*;

    std::thread_local! {
        /// Leaves the fence out, to show that it is needed.
        pub(super) static WITHOUT: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    }

    /// Two callers ask for the same processor.
    fn two(without: bool) {
        WITHOUT.with(|to| to.set(without));
        loom::model(|| {
            let lines = Box::into_raw(Box::new([Line::new(), Line::new()]));
            // SAFETY: the lines were just allocated, and nothing else uses them.
            let lives = Lives::new(Memory::new(unsafe { &mut *lines }), 2).unwrap();
            let alive: [_; 2] = core::array::from_fn(|at| Arc::new(Alive::claim(lives, at as u32).unwrap()));
            let other = alive[1].clone();
            let ask = move |alive: &Alive| alive.take_cpu(lives, 3).map(core::mem::forget).is_ok();
            let thread = thread::spawn(move || ask(&other));
            let had = [ask(&alive[0]), thread.join().unwrap()];
            assert_ne!(had, [true; 2], "two have it");
            drop(alive);
            // SAFETY: the pointer is from `into_raw`; nothing uses the lines any more.
            drop(unsafe { Box::from_raw(lines) });
        });
    }

    #[test]
    fn one_has_it() {
        two(false);
    }

    #[test]
    #[should_panic(expected = "two have it")]
    fn without_the_fence_two_have_it() {
        two(true);
    }
}

// # Checked
//
// - here: places, numbers, successors; under loom, that at most one of two callers gets a processor, and that both get
//   it without the fence
// - `tests/deaths.rs`: processes that end by SIGKILL in the middle of an operation
//
// Not covered: 2³² claims of one place; 2⁸ deaths of a party between two steps of another.
