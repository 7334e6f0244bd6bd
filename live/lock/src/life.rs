// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which processes live: a word for each in the memory that they share, which the kernel marks.
//!
//! # Use
//!
//! Beside the locks that several processes use: one place per process, for all its parties of all locks. Parties of one
//! process alone need none, as they die together. Threads that die alone, with a lock, are not known of here: a panic
//! gives it back on its way.
//!
//! A process may say that a processor is its own, among those that share these lives: two that each have a processor for
//! themselves, as the analyses of locks between cores ask for, find out here if it is the same one.
//!
//! Beside each party of a lock stands who it is: its *seat*. So a party is free again when its process has died, and the
//! next one that sits down there is known from it.
//!
//! # Callers
//!
//! Anybody at any time. A place is one process's until that ends, a seat one party's.
//!
//! # Progress
//!
//! | operation  | bound                                                                                       |
//! |------------|---------------------------------------------------------------------------------------------|
//! | `claim`    | 1 load, 1 exchange; starts a thread: for boot                                               |
//! | to sit down | 1 load, 1 exchange, and a look                                                             |
//! | `take_cpu` | 1 exchange; 16 loads for each place; what looking at the dead takes: for boot                |
//! | to look    | 1 load; of a seat 2; if it is dead, one system call that waits until all processors have taken an interrupt |
//!
//! # State
//!
//! ```text
//! byte 128 · place    bits  0..=29  the thread that keeps it; 0: nobody
//!                     bit      30   it died
//!                     bits 32..=63  how often the place was claimed
//! + 8 · 1..=15        bits  0..=16  a processor that the process has for itself, from 1; 0: none
//!                     bits 32..=63  the number of that process's claim: of another one it says nothing
//! a seat              bits  0..=15  the place of its process, from 1; 0: it is free
//!                     bits 16..=47  the number of that process's claim
//!                     bits 48..=55  how often the seat was taken, wrapping
//! ```
//!
//! # Invariants
//!
//! - I1 While a place has a keeper, its process lives, and nobody claims it.
//! - I2 Each claim has another number, so a process is known from those that had its place before.
//! - I3 A seat that a living process has is taken by nobody, and who takes one counts.
//!
//! - I4 Of two that have the same processor at the same time, one is dead.
//!
//! # Orderings
//!
//! - O1 end: AcqRel of the exchange that claims a place ↔ Acquire of the load by which one is looked at. What a dead
//!   process has written is ordered by the kernel, not by these.
//! - O2 seat: AcqRel of the exchange that takes a seat, Release of the store that leaves it ↔ Acquire of the load by which
//!   it is looked at.
//! - O3 cpu: between the exchange that says what processor one has and the loads of what others say stands a fence, SeqCst,
//!   in both; Release of that exchange, and of the store that takes it back ↔ Acquire of the loads.
//!
//! # Proof
//!
//! I1: the keeper is put there by an exchange that finds none. The kernel takes it away when the thread ends, which
//! has the word on its robust list by then ([`taut_sys::life`]); it ends with its process. I2: the same exchange counts.
//! I3 likewise.
//!
//! A party marks each word that it writes for others with the number of its seat. Who finds a word looks at the seat
//! *afterwards*: if the number is another one by now, the word was left by one that is gone, and whoever sits there knows.
//! If it is the same, and its process is dead, nobody has sat down there since.
//!
//! I4: of two who ask for the same processor, one sees what the other said (O3), and gives it up; if both do, neither has
//! it. Who has died is passed over when all of its threads have ended, so is what was said in an earlier life.
//!
//! Death is seen while another thread of the dead process may still be on another processor, between two
//! instructions: told to end, but not there yet. So who looks makes all processors enter the kernel before it believes
//! what it saw ([`taut_sys::life::left`]).
//!
//! # Crash
//!
//! | who dies, where        | what the others see       | what goes on                    |
//! |------------------------|---------------------------|---------------------------------|
//! | before its claim       | a place that nobody has   | the next one claims it          |
//! | after it               | the mark, set by the kernel | the same, under the next number |
//!
//! A hostile process can call anybody dead, or dead ones living. The first lets two into a lock; the second is what
//! [`Patience`](crate::Patience) is for. In its own place it can only speak of itself.
//!
//! # Source
//!
//! Robust futexes: the kernel's `Documentation/locking/robust-futexes.rst` and `robust-futex-ABI.rst`. We differ: the
//! list's links are not in the shared memory, since one thread keeps one word.
//!
//! # Checked
//!
//! - here: places, numbers, successors; under loom, that one of two has a processor, and that without the fence two have
//! - `tests/deaths.rs`: processes that end by SIGKILL in the middle of what they do
//!
//! Not covered: 2³² claims of one place; 2⁸ deaths of a party between two steps of another.

use std::fmt;

use taut_atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, Memory, Words, fence};
use taut_sys::life::{DIED, OWNER};

use crate::global::{LayoutError, PARTIES_LIMIT, fit, lines};

/// The most places.
pub const LIMIT: u32 = 1024;

/// Bytes for so many places.
pub const fn bytes(places: u32) -> usize {
    LINE_BYTES * places as usize
}

/// Processors that a process can have for itself.
const CPUS_MAX: usize = LINE_BYTES / 8 - 1;

/// The places of all processes that share something.
#[derive(Clone, Copy)]
pub struct Lives<'m> {
    words: Words<'m>,
    /// All words of all lines.
    all: Words<'m>,
}

impl<'m> Lives<'m> {
    /// Over memory that is zero, or has been used for this before: with this number of places, the same for all.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Places`], [`LayoutError::TooSmall`].
    pub fn new(memory: Memory<'m>, places: u32) -> Result<Self, LayoutError> {
        let memory = memory.claim();
        if places == 0 || places > LIMIT {
            return Err(LayoutError::Places);
        }
        fit(&memory, bytes(places))?;
        let (words, places) = (|stride, count| memory.words(0, stride, count), places as usize);
        Ok(Self { words: words(LINE_BYTES, places), all: words(8, places * (CPUS_MAX + 1)) })
    }

    /// How many there are.
    pub fn places(&self) -> u32 {
        self.words.count() as u32
    }

    /// Where a place says what processors it has.
    fn cpus(&self, place: usize) -> impl Iterator<Item = &'m AtomicU64> {
        let line = place * (CPUS_MAX + 1);
        (line + 1..=line + CPUS_MAX).filter_map(|at| self.all.get(at))
    }

    /// Whether whoever had this name is dead: then nothing of it runs any more, and all that it wrote is seen.
    pub(crate) fn is_dead(&self, name: Name) -> bool {
        let Some(word) = name.place().and_then(|place| self.words.get(place)) else { return false };
        let word = word.load(Acquire); // O1 end
        if keeper(word) != 0 && claims(word) == name.claim() {
            return false;
        }
        left();
        true
    }
}

#[cfg(not(any(loom, shuttle)))]
#[cold]
fn left() {
    // An error could only mean that the kernel does not know the call, which `claim` has made sure of.
    let _ = taut_sys::life::left();
}

/// In a model what is dead does nothing.
#[cfg(any(loom, shuttle))]
fn left() {}

/// The thread that keeps a place, 0 if it died.
const fn keeper(word: u64) -> u32 {
    let low = word as u32;
    if low & DIED == 0 { low & OWNER } else { 0 }
}

const fn claims(word: u64) -> u32 {
    (word >> 32) as u32
}

/// A process in one of its lives: its place, and the number of the claim. 0 is nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name(u64);

impl Name {
    /// Bits that a name has.
    pub(crate) const BITS: u32 = 48;

    /// Of the bits of a shared word, whatever they are.
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

/// Who is which party of a lock.
#[derive(Clone, Copy)]
pub(crate) struct Seats<'m> {
    /// `None` in one process: nobody dies, and each party is there once.
    shared: Option<(Words<'m>, Lives<'m>)>,
}

/// The number of a seat's taking, as words that its party writes are marked with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taking(u8);

impl Taking {
    /// Where nobody dies.
    pub(crate) const ONLY: Self = Self(0);
    /// Bits that it takes at the top of a word.
    pub(crate) const BITS: u32 = 8;

    pub(crate) const fn of(word: u64) -> Self {
        Self((word >> (64 - Self::BITS)) as u8)
    }

    /// At the top of a word.
    pub(crate) const fn bits(self) -> u64 {
        (self.0 as u64) << (64 - Self::BITS)
    }
}

impl<'m> Seats<'m> {
    pub(crate) const IMMORTAL: Self = Self { shared: None };

    fn new(seats: Words<'m>, lives: Lives<'m>) -> Self {
        Self { shared: Some((seats, lives)) }
    }

    /// Those of a lock of so many parties, each in its party's line: of several processes, or of this one alone.
    pub(crate) fn of(
        memory: &Claimed<'m>,
        parties: u32,
        lives: Option<Lives<'m>>,
    ) -> Result<Self, LayoutError> {
        if parties == 0 || parties > PARTIES_LIMIT {
            return Err(LayoutError::Parties);
        }
        fit(memory, lines(parties))?;
        let seats = || memory.words(LINE_BYTES + 8, LINE_BYTES, parties as usize);
        Ok(lives.map_or(Self::IMMORTAL, |lives| Self::new(seats(), lives)))
    }

    /// Sits down as party `which`.
    pub(crate) fn take(&self, which: u32, alive: &Alive) -> Result<Taking, LayoutError> {
        let Some((seats, lives)) = &self.shared else { return Ok(Taking::ONLY) };
        let seat = seats.get(which as usize).ok_or(LayoutError::Parties)?;
        let old = seat.load(Acquire); // O2 seat
        let name = Name::of(old);
        if !name.is_nobody() && !lives.is_dead(name) {
            return Err(LayoutError::Taken);
        }
        let taking = Taking(((old >> Name::BITS) as u8).wrapping_add(1));
        let new = (u64::from(taking.0) << Name::BITS) | alive.name().0;
        // O2 seat
        seat.compare_exchange(old, new, AcqRel, Relaxed).map_err(|_| LayoutError::Taken)?;
        Ok(taking)
    }

    /// Gets up, as the party that sat down last.
    pub(crate) fn leave(&self, which: u32, taking: Taking) {
        if let Some(seat) = self.shared.as_ref().and_then(|(seats, _)| seats.get(which as usize)) {
            seat.store(u64::from(taking.0) << Name::BITS, Release); // O2 seat
        }
    }

    /// Whether parties can die.
    pub(crate) fn are_mortal(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether nobody is this party: then nothing of whoever was runs any more, and all that it wrote is seen.
    pub(crate) fn is_empty(&self, which: u32) -> bool {
        let Some((seats, lives)) = &self.shared else { return false };
        let Some(seat) = seats.get(which as usize) else { return false };
        let name = Name::of(seat.load(Acquire)); // O2 seat
        name.is_nobody() || lives.is_dead(name)
    }

    /// Whether the party that wrote a word of this mark, which the caller has read before, is gone: then nothing of it
    /// runs any more, and all that it wrote is seen.
    #[cold]
    pub(crate) fn is_gone(&self, which: u32, wrote: Taking) -> bool {
        let Some((seats, lives)) = &self.shared else { return false };
        let Some(seat) = seats.get(which as usize) else { return false };
        let seat = seat.load(Acquire); // O2 seat
        let name = Name::of(seat);
        (seat >> Name::BITS) as u8 != wrote.0 || name.is_nobody() || lives.is_dead(name)
    }
}

/// This process has a place, until this is dropped or the process ends.
#[derive(Debug)]
pub struct Alive {
    name: Name,
    #[cfg(not(any(loom, shuttle)))]
    _keeper: taut_sys::life::Life,
}

impl Alive {
    /// Takes a place, and starts the thread that keeps it: a parked one, with a small stack. For boot.
    ///
    /// # Errors
    ///
    /// [`NotClaimed`].
    pub fn claim(lives: Lives<'static>, place: u32) -> Result<Self, NotClaimed> {
        let word = lives.words.get(place as usize).ok_or(NotClaimed::Layout(LayoutError::Places))?;
        let mut claim = 0;
        let take = |id| take(word, id).inspect(|number| claim = *number).is_some();
        #[cfg(not(any(loom, shuttle)))]
        let keeper = {
            let low = std::ptr::NonNull::from(word).cast::<u32>();
            // SAFETY: the half of the word in which the lowest bits are; it is mapped for ever (`Lives<'static>`).
            let low = unsafe { low.add(usize::from(cfg!(target_endian = "big"))) };
            // SAFETY: aligned as half of an aligned word, and mapped, as above.
            let held = unsafe { taut_sys::life::Life::hold(low, take) };
            held.map_err(NotClaimed::System)?.ok_or(NotClaimed::Layout(LayoutError::Taken))?
        };
        #[cfg(any(loom, shuttle))]
        if !{ take }(1) {
            return Err(NotClaimed::Layout(LayoutError::Taken));
        }
        Ok(Self {
            name: Name((u64::from(claim) << 16) | (u64::from(place) + 1)),
            #[cfg(not(any(loom, shuttle)))]
            _keeper: keeper,
        })
    }

    pub(crate) fn name(&self) -> Name {
        self.name
    }

    /// Says that a processor is this one's own, among all that share `lives`, where this process has its place. Two that ask
    /// at the same instant may both be refused.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Taken`] if it is another one's who lives, or has been taken here before; [`LayoutError::Places`] if this
    /// process has as many as it can say, 15.
    pub fn take_cpu<'m>(&self, lives: Lives<'m>, cpu: u16) -> Result<Cpu<'m>, LayoutError> {
        let place = self.name.place().ok_or(LayoutError::Places)?;
        let said = (u64::from(self.name.claim()) << 32) | (u64::from(cpu) + 1);
        let says = |word: u64, name: Name| (word >> 32) as u32 == name.claim() && word as u32 != 0;
        let free = |word: &&AtomicU64| {
            let old = word.load(Relaxed);
            // O3 cpu
            !says(old, self.name) && word.compare_exchange(old, said, Release, Relaxed).is_ok()
        };
        let own = Cpu(lives.cpus(place).find(free).ok_or(LayoutError::Places)?);
        #[cfg(all(test, loom))]
        let fence = if model::WITHOUT.with(core::cell::Cell::get) { |_| () } else { fence };
        fence(SeqCst); // O3 cpu
        for (at, keeper) in (0..lives.places() as usize).filter_map(|at| Some((at, lives.words.get(at)?))) {
            for word in lives.cpus(at).filter(|word| !core::ptr::eq(*word, own.0)) {
                let other = word.load(Acquire); // O3 cpu
                if other as u32 != said as u32 {
                    continue;
                }
                // What was said in an earlier life of that place is not this one's, who is looked at afterwards.
                let claim = other >> 32;
                let name = Name((claim << 16) | (at as u64 + 1));
                let now = keeper.load(Acquire); // O1 end
                if claims(now) == name.claim() && !lives.is_dead(name) {
                    return Err(LayoutError::Taken);
                }
            }
        }
        Ok(own)
    }
}

/// A processor is this process's own among those that share lives, until this is dropped or the process ends.
#[derive(Debug)]
pub struct Cpu<'m>(&'m AtomicU64);

impl Drop for Cpu<'_> {
    fn drop(&mut self) {
        self.0.store(0, Release); // O3 cpu
    }
}

/// Puts a keeper to a place that has none; gives the number of the claim.
fn take(word: &AtomicU64, id: u32) -> Option<u32> {
    let old = word.load(Relaxed);
    if keeper(old) != 0 {
        return None;
    }
    let claim = claims(old).wrapping_add(1);
    let new = (u64::from(claim) << 32) | u64::from(id);
    // O1 end: who looks sees this life, or a later one.
    word.compare_exchange(old, new, AcqRel, Relaxed).is_ok().then_some(claim)
}

/// Why a place was not had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotClaimed {
    /// [`LayoutError::Places`], [`LayoutError::Taken`].
    Layout(LayoutError),
    /// The kernel cannot do it, or no thread could be started.
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
        assert_eq!(Alive::claim(lives, 1).unwrap_err(), NotClaimed::Layout(LayoutError::Taken));
        assert_eq!(Alive::claim(lives, 2).unwrap_err(), NotClaimed::Layout(LayoutError::Places));
        let other = Alive::claim(lives, 0).unwrap();
        let (one, two) = (first.name(), other.name());
        assert!(one != two && !lives.is_dead(one) && !lives.is_dead(two));
        drop(first);
        assert!(lives.is_dead(one) && !lives.is_dead(two));
        let second = Alive::claim(lives, 1).unwrap();
        assert!(lives.is_dead(one), "its successor does not look like it");
        assert!(!lives.is_dead(second.name()));
        assert_eq!(Name::of(u64::MAX << Name::BITS | one.0), one);
    }

    #[test]
    fn what_is_no_name_is_not_dead() {
        let lives = lives(1);
        assert!(!lives.is_dead(Name(0)), "nobody");
        assert!(!lives.is_dead(Name(2)), "a place that is not there");
        assert!(lives.is_dead(Name(1)), "a place that nobody has claimed");
    }

    #[test]
    fn a_seat_is_free_when_its_party_is_gone() {
        let lives = lives(2);
        let lines = vec![Line::new()].into_boxed_slice();
        let seats = Seats::new(Memory::new(Box::leak(lines)).claim().words(0, 8, 2), lives);
        let (first, second) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        let one = seats.take(0, &first).unwrap();
        assert_eq!(seats.take(0, &second), Err(LayoutError::Taken));
        assert_eq!(seats.take(2, &second), Err(LayoutError::Parties));
        assert!(!seats.is_gone(0, one));
        drop(first);
        assert!(seats.is_gone(0, one));
        let two = seats.take(0, &second).unwrap();
        assert!(seats.is_gone(0, one) && !seats.is_gone(0, two));
        assert_eq!(Taking::of(two.bits() | 7), two);
        seats.leave(0, two);
        assert!(seats.is_gone(0, two));
        let three = seats.take(0, &second).unwrap();
        assert!(three != two && three != one, "who sits down again is another one");
        assert!(!Seats::IMMORTAL.is_gone(0, one));
    }

    #[test]
    fn a_processor_is_one_process_s() {
        let lives = lives(2);
        let (first, second) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        let taken = |alive: &Alive, cpu| alive.take_cpu(lives, cpu).err();
        let (three, _last) = (first.take_cpu(lives, 3).unwrap(), first.take_cpu(lives, u16::MAX).unwrap());
        assert_eq!(taken(&second, 3), Some(LayoutError::Taken));
        assert_eq!(taken(&second, u16::MAX), Some(LayoutError::Taken));
        assert_eq!(taken(&first, 3), Some(LayoutError::Taken), "it is one executor's of a process");
        assert_eq!(taken(&second, 0), None);
        drop(three);
        let three = second.take_cpu(lives, 3).unwrap();
        assert_eq!(taken(&first, 3), Some(LayoutError::Taken));
        // Who dies has nothing, and its successor begins with nothing.
        std::mem::forget(three);
        drop(second);
        assert_eq!(taken(&first, 3), None);
        let heir = Alive::claim(lives, 1).unwrap();
        assert_eq!(taken(&first, 3), None);
        let all: Vec<_> = (0..CPUS_MAX as u16).map(|cpu| heir.take_cpu(lives, cpu).unwrap()).collect();
        assert_eq!(taken(&heir, 99), Some(LayoutError::Places));
        assert_eq!((all.len(), taken(&first, 3)), (15, Some(LayoutError::Taken)));
    }

    /// The word of a place's keeper says no processor, though it has a number where those have theirs.
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
        assert_eq!(refused(1, 0), Some(LayoutError::Places));
        assert_eq!(refused(1, LIMIT + 1), Some(LayoutError::Places));
        assert_eq!(refused(1, 2), Some(LayoutError::TooSmall { needed: 256, given: 128 }));
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p taut-lock --release --lib life`.
#[cfg(all(test, loom))]
mod model {
    use loom::{sync::Arc, thread};
    use taut_atomic::Line;

    use super::*;

    std::thread_local! {
        /// The fence is left out, to see that it is needed.
        pub(super) static WITHOUT: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
    }

    /// Two ask for the same processor.
    fn two(without: bool) {
        WITHOUT.with(|to| to.set(without));
        loom::model(|| {
            let lines = Box::into_raw(Box::new([Line::new(), Line::new()]));
            // SAFETY: just allocated, used by nobody else.
            let lives = Lives::new(Memory::new(unsafe { &mut *lines }), 2).unwrap();
            let alive: [_; 2] = core::array::from_fn(|at| Arc::new(Alive::claim(lives, at as u32).unwrap()));
            let other = alive[1].clone();
            let ask = move |alive: &Alive| alive.take_cpu(lives, 3).map(core::mem::forget).is_ok();
            let thread = thread::spawn(move || ask(&other));
            let had = [ask(&alive[0]), thread.join().unwrap()];
            assert_ne!(had, [true; 2], "two have it");
            drop(alive);
            // SAFETY: from `into_raw`; nothing uses it any more.
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
