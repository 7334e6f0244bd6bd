// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wakes those who wait for a value: rung after it was written, listened to when there is none.
//!
//! # Use
//!
//! Beside an object of `taut-share`, on a line of its own, where somebody wants to sleep until the other side has
//! done something. One rings (the real-time side, often), any number listen, in this process or others. A ringer
//! that must not make a system call at all has no bell, and its readers poll.
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not (the types and the duty of [`EventCount::notifier`] see to it).
//!
//! |                  | ring | `notify_from_any` | listen: `epoch`, `wait` |
//! |------------------|------|-----------------|-------------------------|
//! | ring             | X    | X, ever         | -                       |
//! | `notify_from_any`  |      | -               | -                       |
//! | `epoch`, `wait`  |      |                 | -                       |
//!
//! # Progress
//!
//! | operation | bound                                                                                         |
//! |-----------|-----------------------------------------------------------------------------------------------|
//! | `ring`    | wait-free: 1 exchange; one futex wake, which does not block, if somebody went to sleep since the last |
//! | `notify_from_any` | wait-free: 1 addition and one futex wake, each time                                     |
//! | `epoch`   | 1 load                                                                                        |
//! | `wait`    | 1 exchange; blocks until rung, the deadline, or a signal                                      |
//!
//! # State
//!
//! ```text
//! bits 1..=31  epoch so far, wrapping
//! bit 0        somebody is about to sleep, or sleeps
//! ```
//!
//! # Invariants
//!
//! - I1 Only the ringer changes bits 1..=31, and each time clears bit 0; only listeners set bit 0. Where anybody rings, each
//!   adds to the count and leaves bit 0 as it is.
//! - I2 Whoever sleeps, has slept on a word whose bit 0 was set and whose count is the one it named.
//!
//! # Orderings
//!
//! - O1 ring: Release of the ringer's swap, or of an addition ↔ Acquire of the listener's load and of its failing exchange.
//!
//! # Proof
//!
//! A listener takes the count, looks for a value, and sleeps on that count. Both sides change one word, so their
//! changes have an order. A ring before the load: by O1 what was written before it is seen by the look. A ring after
//! the load and before bit 0 is set: setting it fails, for the count has changed. A ring after it is set, before the
//! kernel compares: the comparison fails, for the count has changed. A ring after that: its swap finds bit 0 and
//! wakes. Between a load and its exchange 2³¹ rings would pass unseen; then the next one wakes. An addition is such a
//! change too, and whoever made it wakes in any case, so bit 0 may stay set.
//!
//! # Crash
//!
//! | who dies, where                     | what the others see                            | what goes on                   |
//! |-------------------------------------|------------------------------------------------|--------------------------------|
//! | ringer, between writing and ringing | the value, when they look; nobody is woken     | the next ring, or the deadline |
//! | ringer, between swap and wake       | sleepers sleep on, bit 0 is clear              | the next ringer's first ring, which wakes in any case, or the deadline |
//! | listener, anywhere                  | at most one wake in vain: bit 0 falls with it  | all others                     |
//!
//! A hostile party on the word can wake in vain or keep others asleep, up to their deadlines; the ringer's steps are
//! as before.
//!
//! # Source
//!
//! The event count of Linux futexes [Drepper 2011, section 6], with the number of sleepers reduced to one bit that
//! the ringer's exchange clears: so a listener that was killed in its sleep costs one wake, not one for ever.
//!
//! # Checked
//!
//! - `tests/interleavings.rs`: every interleaving of 3 rings and 2 listeners, on a model of the steps (kernel
//!   included): nobody sleeps while a value waits; the same with a flag of its own that the ringer clears fails
//! - here: 200 000 rings against a sleeping listener, threads; `tests/processes.rs`: listeners that are killed
//!
//! Not covered: weak memory by a model (there is one word); a count that wraps.

use std::sync::atomic::{AtomicU32, Ordering};

use taut_sys::futex;

const ASLEEP: u32 = 1;

/// A line of its own in memory that all parties map; all zero, nobody has rung.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct EventCount {
    word: AtomicU32,
}

impl EventCount {
    /// A bell that has not rung.
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// The end that rings. After the death of one, the next goes on.
    ///
    /// There may be one at a time, or a ring of one is taken back by the other and a listener may sleep through it:
    /// no memory is at risk, so this is not `unsafe`.
    pub fn notifier(&self) -> Notifier<'_> {
        // As if somebody slept: one before us may have died between its swap and its wake, which our first ring then
        // makes up for.
        let word = self.word.fetch_or(ASLEEP, Ordering::Relaxed);
        Notifier { word: &self.word, count: word & !ASLEEP }
    }

    /// An end that listens; any number.
    pub fn listener(&self) -> Listener<'_> {
        Listener { word: &self.word }
    }

    /// Wakes all who sleep, as [`Notifier::ring`]: for what changes seldom, and is changed by whoever wants to, so it makes a
    /// system call each time. A bell that is rung so has no [`EventCount::notifier`], which would take rings back.
    pub fn notify_from_any(&self) {
        self.word.fetch_add(2, Ordering::Release); // O1 ring
        wake(&self.word);
    }

    /// Interrupts all waits in progress, in vain as far as the listeners can tell.
    pub(crate) fn wake_in_vain(&self) {
        // An error could only mean that the word is not mapped.
        let _ = futex::wake(&self.word, u32::MAX, true);
    }
}

/// The end that rings.
#[derive(Debug)]
pub struct Notifier<'m> {
    word: &'m AtomicU32,
    count: u32,
}

impl Notifier<'_> {
    /// Wakes all who sleep. To be called after the value was written. Wait-free; gives whether it woke anyone.
    #[inline]
    pub fn notify(&mut self) -> bool {
        self.count = self.count.wrapping_add(2);
        let before = self.word.swap(self.count, Ordering::Release); // O1 ring
        if before & ASLEEP == 0 {
            return false;
        }
        wake(self.word);
        true
    }
}

#[cold]
fn wake(word: &AtomicU32) {
    // An error could only mean that the word is not mapped.
    let _ = futex::wake(word, u32::MAX, true);
}

/// Rings so far, as [`Listener::epoch`] saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u32);

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// It had rung before anybody slept.
    Notified,
    /// The thread slept, and was woken: by a ring, or in vain.
    Slept,
    /// The deadline passed.
    TimedOut,
    /// A signal arrived.
    Interrupted,
}

/// An end that listens.
#[derive(Clone, Debug)]
pub struct Listener<'m> {
    word: &'m AtomicU32,
}

impl Listener<'_> {
    /// Whether both listen to the same bell.
    pub fn is_of_same(&self, other: &Listener<'_>) -> bool {
        std::ptr::eq(self.word, other.word)
    }

    /// Rings so far: to be taken before looking for a value. 1 load.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        Epoch(self.word.load(Ordering::Acquire) & !ASLEEP) // O1 ring
    }

    /// Sleeps unless it has rung since `epoch`, until `deadline_ns` of CLOCK_MONOTONIC if there is one. May end in
    /// vain: look for the value again.
    pub fn wait(&self, epoch: Epoch, deadline_ns: Option<u64>) -> Woken {
        let asleep = epoch.0 | ASLEEP;
        // O1 ring: a failing exchange has seen it.
        match self.word.compare_exchange(epoch.0, asleep, Ordering::Relaxed, Ordering::Acquire) {
            Err(word) if word != asleep => return Woken::Notified,
            _ => {}
        }
        match futex::wait(self.word, asleep, deadline_ns, true) {
            Ok(futex::Waited::Changed) => Woken::Notified,
            Ok(futex::Waited::TimedOut) => Woken::TimedOut,
            Ok(futex::Waited::Interrupted) => Woken::Interrupted,
            // An error could only mean that the word is not mapped.
            Ok(futex::Waited::Woken) | Err(_) => Woken::Slept,
        }
    }

    /// What a thread that waits for several words hands to [`futex::wait_any`]; `None` if it has rung since `epoch`. As
    /// [`Listener::wait`] before it sleeps.
    pub fn awaited(&self, epoch: Epoch) -> Option<futex::Awaited<'_>> {
        let asleep = epoch.0 | ASLEEP;
        // O1 ring: a failing exchange has seen it.
        match self.word.compare_exchange(epoch.0, asleep, Ordering::Relaxed, Ordering::Acquire) {
            Err(word) if word != asleep => None,
            _ => Some(futex::Awaited::new(self.word, asleep, true)),
        }
    }

    /// Calls `look` until it finds something, asleep in between; `None` if the deadline passes before.
    pub fn until<T>(&self, deadline_ns: Option<u64>, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            let epoch = self.epoch();
            if let Some(found) = look() {
                return Some(found);
            }
            if self.wait(epoch, deadline_ns) == Woken::TimedOut {
                return look();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use taut_sys::clock::monotonic_ns;

    use super::*;

    /// A producer that pauses anywhere: a lost wake-up would leave the listener asleep for ever.
    #[test]
    fn no_ring_is_lost() {
        const VALUES: u64 = if cfg!(miri) { 100 } else { 200_000 };
        let (events, pushed) = (EventCount::new(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut notifier, mut chance) = (events.notifier(), 1u64);
                for value in 1..=VALUES {
                    pushed.store(value, Ordering::Relaxed);
                    notifier.notify();
                    chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    for _ in 0..chance >> 58 {
                        std::hint::spin_loop();
                    }
                }
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    let (listener, mut seen) = (events.listener(), 0);
                    while seen < VALUES {
                        let last = seen;
                        let new = || Some(pushed.load(Ordering::Relaxed)).filter(|now| *now > last);
                        seen = listener.until(None, new).unwrap();
                    }
                    assert_eq!(seen, VALUES);
                });
            }
        });
    }

    /// Two change a value at once, each in its own time: whoever sleeps on it has seen the last change.
    #[test]
    fn no_ring_of_several_is_lost() {
        const EACH: u64 = if cfg!(miri) { 50 } else { 50_000 };
        let (events, changed) = (EventCount::new(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        changed.fetch_add(1, Ordering::Relaxed);
                        events.notify_from_any();
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    let (listener, mut seen) = (events.listener(), 0);
                    while seen < 2 * EACH {
                        let last = seen;
                        let new = || Some(changed.load(Ordering::Relaxed)).filter(|now| *now > last);
                        seen = listener.until(None, new).unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn says_why_a_wait_ended() {
        let events = EventCount::new();
        let (mut notifier, listener) = (events.notifier(), events.listener());
        assert!(notifier.notify(), "its first ring makes up for one that died before it");
        assert!(!notifier.notify(), "nobody sleeps");
        let epoch = listener.epoch();
        let soon = || Some(monotonic_ns() + 2_000_000);
        assert_eq!(listener.wait(epoch, soon()), Woken::TimedOut);
        assert_eq!(listener.until(soon(), || None::<()>), None);
        // The flag of the sleeper that timed out costs one wake in vain.
        assert!(notifier.notify());
        assert!(!notifier.notify());
        assert_eq!(listener.wait(epoch, None), Woken::Notified);
        // A ringer that follows another counts on.
        let epoch = listener.epoch();
        events.notifier().notify();
        assert_eq!(listener.wait(epoch, None), Woken::Notified);
        assert_ne!(listener.epoch(), epoch);
        assert!(listener.awaited(epoch).is_none());
        let words = [listener.awaited(listener.epoch()).unwrap()];
        let until = soon();
        let timed_out = || futex::wait_any(&words, until) == Ok(futex::Waited::TimedOut);
        // Miri's wakes in vain before.
        assert!(if cfg!(miri) { (0..1000).any(|_| timed_out()) } else { timed_out() });
        assert!(events.notifier().notify());
        assert_eq!(futex::wait_any(&words, None), Ok(futex::Waited::Changed));
    }

    #[test]
    fn a_sleeper_is_woken() {
        let events = EventCount::new();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let listener = events.listener();
                listener.wait(listener.epoch(), None)
            });
            let mut notifier = events.notifier();
            while !sleeper.is_finished() {
                notifier.notify();
                std::thread::yield_now();
            }
            assert!(matches!(sleeper.join().unwrap(), Woken::Slept | Woken::Notified));
        });
    }

    #[test]
    fn who_is_awaited_is_woken() {
        let events = EventCount::new();
        let (mut notifier, listener) = (events.notifier(), events.listener());
        notifier.notify();
        notifier.notify();
        let epoch = listener.epoch();
        assert!(listener.awaited(epoch).is_some());
        assert!(events.listener().awaited(epoch).is_some(), "a second one, of the same rings");
        assert!(notifier.notify(), "somebody sleeps");
        assert!(!notifier.notify());
        assert!(listener.awaited(epoch).is_none());
    }

    #[test]
    fn a_ringer_counts_on_from_where_another_stopped() {
        let events = EventCount::new();
        let listener = events.listener();
        for count in 1..5 {
            events.notifier().notify();
            assert_eq!(listener.epoch(), Epoch(2 * count));
            // As one that sleeps leaves it.
            let _ = listener.awaited(listener.epoch());
        }
    }

    #[test]
    fn listeners_are_of_the_same_bell_or_not() {
        let (events, other) = (EventCount::new(), EventCount::new());
        assert!(events.listener().is_of_same(&events.listener()));
        assert!(!events.listener().is_of_same(&other.listener()));
    }
}
