// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An event count: wakes threads that wait for a value. The writer notifies after it has written; a listener waits
//! when it finds no value.
//!
//! # Use
//! Beside an object of `taut-share`, on a line of its own, for a thread that sleeps until the other side has done
//! something. Either one notifier notifies ([`EventCount::notifier`]: the real-time side, often), and any number of
//! listeners wait; or any thread notifies ([`EventCount::notify_from_any`]), and one listener waits, which records when it
//! is awake again ([`EventCount::sole_listener`]): for one receiver of many senders; no plan uses it yet. All of them may be
//! in this process or others. A writer that must not make a system call at all has no event count, and its readers poll.
//!
//! # Callers
//! `-` may run at the same time, `X` may not (the types and the duty of [`EventCount::notifier`] see to it).
//!
//! |                   | `notify` | `notify_from_any` | of a listener | of a sole listener |
//! |-------------------|--------|-------------------|---------------|--------------------|
//! | `notify`            | X      | X, even in turn   | -             | -                  |
//! | `notify_from_any` |        | -                 | -             | -                  |
//! | `epoch`, `wait` of a listener |  |             | -             | X, even in turn    |
//! | `epoch`, `wait` of a sole listener | |         |               | X                  |
//!
//! # Progress
//! | operation | bound |
//! |---|---|
//! | `notify` | wait-free: 1 exchange; 1 futex wake (does not block) if a listener has slept since the last `notify` |
//! | `notify_from_any` | wait-free: 1 exchange (an addition); 1 futex wake if a listener has slept, or a sole listener sleeps or has not run since |
//! | `epoch` | 1 load |
//! | `wait` | 1 exchange, of a sole listener 2; blocks until notified, the deadline, or a signal |
//!
//! # Orderings
//! - O1 notify: Release of the notifier's swap, or of an addition ↔ Acquire of the listener's load and of its failing
//!   exchange.
//!
//! # Crash
//! | who dies, where | what the others see | what goes on |
//! |---|---|---|
//! | notifier, between write and `notify` | the value, when they look; no wake-up | the next `notify`, or the deadline |
//! | notifier, between swap and wake | sleepers sleep on, bit 0 clear | next notifier's first `notify`, or the deadline |
//! | listener, anywhere | at most one wake in vain: it clears bit 0 | all others |
//! | notifier from any, between addition and wake | the sleeper sleeps on, bit 0 set | the next `notify_from_any` of any thread |
//! | sole listener, asleep | a wake in vain with each `notify_from_any` | a new [`EventCount::sole_listener`] clears bit 0 |
//!
//! The first `notify` of a notifier wakes in any case. A hostile process that writes the word can wake listeners in
//! vain or keep them asleep, up to their deadlines; the notifier takes no more steps than before.
//!
//! # Source
//! The event count of Linux futexes [Drepper 2011, section 6], with the number of sleepers reduced to one bit that the
//! notifier's exchange clears. So a listener that was killed in its sleep costs one wake in vain, and not one at every
//! notification. Where any thread notifies, the sleeper clears that bit itself, and every notifier before that makes the
//! call. Otherwise a notifier that is preempted or killed between its exchange and its call, such as a thread that is not
//! real-time, would hold back the wake of all others.

use std::sync::atomic::{AtomicU32, Ordering};

use taut_sys::futex;

// # State
//
// ```text
// bits 1..=31  epoch: notifications so far, wrapping
// bit 0        a listener is about to sleep, or sleeps; or a notifier is new, and its first `notify` wakes in any case
// ```
//
// # Invariants
//
// - I1 Only the notifier changes bits 1..=31, and each time clears bit 0; only listeners and a new notifier set bit 0.
//   Where any thread may notify, each notification adds to the epoch and leaves bit 0 as it is; a sole listener clears
//   it when it runs again, no other listener does.
// - I2 A listener that sleeps went to sleep on a word whose bit 0 was set and whose epoch is the one that it passed to
//   `wait`.

const ASLEEP: u32 = 1;

/// An event count on a line of its own, in memory that all parties map. All zero: no notification yet.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct EventCount {
    word: AtomicU32,
}

impl EventCount {
    /// An event count without a notification.
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// The end that notifies. After the death of one notifier, the next continues its epoch.
    ///
    /// At most one notifier may exist at a time. Otherwise one notifier undoes a notification of the other, and a
    /// listener may sleep through it. No memory is at risk, so this is not `unsafe`.
    pub fn notifier(&self) -> Notifier<'_> {
        // Sets bit 0 as if a listener slept: an earlier notifier may have died between its swap and its wake, and our
        // first `notify` then wakes in its place.
        let word = self.word.fetch_or(ASLEEP, Ordering::Relaxed);
        Notifier { word: &self.word, count: word & !ASLEEP }
    }

    /// An end that listens. There may be any number.
    pub fn listener(&self) -> Listener<'_> {
        Listener { word: &self.word }
    }

    /// The only end that listens, for an event count that any thread notifies: a notification makes a system call only
    /// while this end sleeps, or has been woken and has not run yet. After the death of one, the next takes its place.
    ///
    /// At most one may exist at a time, and no [`EventCount::listener`] beside it. Otherwise one of them, once it runs,
    /// keeps notifications from the other, which may sleep through them. No memory is at risk, so this is not `unsafe`.
    pub fn sole_listener(&self) -> SoleListener<'_> {
        awake(&self.word);
        SoleListener(self.listener())
    }

    /// Wakes all sleeping listeners, as [`Notifier::notify`] does; any thread may call it. Wait-free; returns whether it
    /// made the system call. For a [`EventCount::sole_listener`] it makes one only if that may sleep; once another kind of
    /// listener has slept, it makes one each time, which suits values that change seldom. An event count that is notified
    /// in this way has no [`EventCount::notifier`], which would undo notifications.
    #[inline]
    pub fn notify_from_any(&self) -> bool {
        let before = self.word.fetch_add(2, Ordering::Release); // O1 notify
        if before & ASLEEP == 0 {
            return false;
        }
        wake(&self.word);
        true
    }

    /// Ends all waits in progress. To the listeners this looks like a wake in vain.
    pub(crate) fn wake_in_vain(&self) {
        // An error could only mean that the word is not mapped.
        let _ = futex::wake(&self.word, u32::MAX, true);
    }
}

/// The end that notifies.
#[derive(Debug)]
pub struct Notifier<'m> {
    word: &'m AtomicU32,
    count: u32,
}

impl Notifier<'_> {
    /// Wakes all sleeping listeners. Call it after the value was written. Wait-free; returns whether it made the
    /// system call, as it does if a listener may sleep.
    #[inline]
    pub fn notify(&mut self) -> bool {
        self.count = self.count.wrapping_add(2);
        let before = self.word.swap(self.count, Ordering::Release); // O1 notify
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

/// Clears the bit that says that the sole listener of a word sleeps.
fn awake(word: &AtomicU32) {
    // Relaxed: the listener's next load of the epoch acquires what was written before the notifications.
    word.fetch_and(!ASLEEP, Ordering::Relaxed);
}

/// The notifications so far, as [`Listener::epoch`] saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u32);

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A notification came before the thread slept.
    Notified,
    /// The thread slept, and was woken: by a notification, or in vain.
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
    /// Whether both listen to the same event count.
    pub fn is_of_same(&self, other: &Listener<'_>) -> bool {
        std::ptr::eq(self.word, other.word)
    }

    /// The notifications so far. Call it before looking for a value. 1 load.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        Epoch(self.word.load(Ordering::Acquire) & !ASLEEP) // O1 notify
    }

    /// Sleeps unless there was a notification since `epoch`; until `deadline_ns` of CLOCK_MONOTONIC if there is
    /// one. May return in vain: look for the value again.
    pub fn wait(&self, epoch: Epoch, deadline_ns: Option<u64>) -> Woken {
        // Proof: A listener takes the epoch, looks for a value, and sleeps on that epoch. Both sides change one word,
        // so their changes have an order. A notification before the load: by O1 the listener sees what was written
        // before it. A notification after the load and before bit 0 is set: the exchange that sets it fails, because
        // the epoch has changed. A notification after bit 0 is set, before the kernel compares: the comparison fails,
        // because the epoch has changed. A notification after that: its swap finds bit 0 and wakes the listener.
        // Between a load and its exchange 2³¹ notifications would pass unseen; then the next one wakes. An addition is
        // such a change too. It leaves bit 0 set, so the next addition wakes as well, until a sole listener clears the bit
        // when it is awake; nobody else clears it.
        let asleep = epoch.0 | ASLEEP;
        // O1 notify: a failing exchange has seen the notification.
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

    /// The word that a thread passes to [`futex::wait_any`] when it waits for several; `None` if there was a
    /// notification since `epoch`. Acts as [`Listener::wait`] does before it sleeps.
    pub fn awaited(&self, epoch: Epoch) -> Option<futex::Awaited<'_>> {
        let asleep = epoch.0 | ASLEEP;
        // O1 notify: a failing exchange has seen the notification.
        match self.word.compare_exchange(epoch.0, asleep, Ordering::Relaxed, Ordering::Acquire) {
            Err(word) if word != asleep => None,
            _ => Some(futex::Awaited::new(self.word, asleep, true)),
        }
    }

    /// Calls `look` until it finds something, and sleeps in between; `None` if the deadline passes before.
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

/// The only end that listens to an event count that any thread notifies.
#[derive(Debug)]
pub struct SoleListener<'m>(Listener<'m>);

impl SoleListener<'_> {
    /// The notifications so far. Call it before looking for a value. 1 load.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.0.epoch()
    }

    /// As [`Listener::wait`]. 1 exchange before the thread sleeps, 1 after.
    pub fn wait(&mut self, epoch: Epoch, deadline_ns: Option<u64>) -> Woken {
        let woken = self.0.wait(epoch, deadline_ns);
        awake(self.0.word);
        woken
    }

    /// As [`Listener::until`].
    pub fn until<T>(&mut self, deadline_ns: Option<u64>, mut look: impl FnMut() -> Option<T>) -> Option<T> {
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
    fn no_notification_is_lost() {
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

    /// Two threads change a value concurrently: a listener that sleeps has seen the last change.
    #[test]
    fn no_notification_of_several_is_lost() {
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

    /// As above, with a sole listener, whose notifiers make a system call only if it may sleep.
    #[test]
    fn no_notification_to_a_sole_listener_is_lost() {
        const EACH: u64 = if cfg!(miri) { 50 } else { 50_000 };
        let (events, changed) = (EventCount::new(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        changed.fetch_add(1, Ordering::Relaxed);
                        events.notify_from_any();
                    }
                });
            }
            scope.spawn(|| {
                let (mut listener, mut seen) = (events.sole_listener(), 0);
                while seen < 3 * EACH {
                    let last = seen;
                    let new = || Some(changed.load(Ordering::Relaxed)).filter(|now| *now > last);
                    seen = listener.until(None, new).unwrap();
                }
                assert_eq!(seen, 3 * EACH);
            });
        });
        assert!(!events.notify_from_any(), "the listener does not sleep");
    }

    #[test]
    fn a_sole_listener_says_that_it_is_awake_again() {
        let events = EventCount::new();
        let mut listener = events.sole_listener();
        assert!(!events.notify_from_any(), "nobody sleeps");
        let epoch = listener.epoch();
        let soon = Some(monotonic_ns() + 2_000_000);
        let woken = listener.wait(epoch, soon);
        assert!(woken == Woken::TimedOut || cfg!(miri), "{woken:?}");
        assert!(!events.notify_from_any(), "it was awake again");
        assert_eq!(listener.wait(epoch, None), Woken::Notified);
        // As a listener leaves the word that dies asleep: each notifier makes the call, until there is a successor.
        assert!(listener.0.awaited(listener.epoch()).is_some());
        assert!(events.notify_from_any());
        assert!(events.notify_from_any(), "another notifier may not have come to its call yet");
        let next = events.sole_listener();
        assert!(!events.notify_from_any());
        assert_ne!(next.epoch(), epoch);
        // Another kind of listener leaves the bit set.
        assert!(events.listener().awaited(events.listener().epoch()).is_some());
        assert!(events.notify_from_any() && events.notify_from_any());
    }

    #[test]
    fn says_why_a_wait_ended() {
        let events = EventCount::new();
        let (mut notifier, listener) = (events.notifier(), events.listener());
        assert!(notifier.notify(), "its first notification makes up for one that died before it");
        assert!(!notifier.notify(), "nobody sleeps");
        let epoch = listener.epoch();
        let soon = || Some(monotonic_ns() + 2_000_000);
        assert_eq!(listener.wait(epoch, soon()), Woken::TimedOut);
        assert_eq!(listener.until(soon(), || None::<()>), None);
        // The flag of the sleeper that timed out costs one wake in vain.
        assert!(notifier.notify());
        assert!(!notifier.notify());
        assert_eq!(listener.wait(epoch, None), Woken::Notified);
        // A notifier that follows another continues its epoch.
        let epoch = listener.epoch();
        events.notifier().notify();
        assert_eq!(listener.wait(epoch, None), Woken::Notified);
        assert_ne!(listener.epoch(), epoch);
        assert!(listener.awaited(epoch).is_none());
        let words = [listener.awaited(listener.epoch()).unwrap()];
        let until = soon();
        let timed_out = || futex::wait_any(&words, until) == Ok(futex::Waited::TimedOut);
        // Under Miri the wait returns in vain before.
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
    fn a_listener_is_woken() {
        let events = EventCount::new();
        let (mut notifier, listener) = (events.notifier(), events.listener());
        notifier.notify();
        notifier.notify();
        let epoch = listener.epoch();
        assert!(listener.awaited(epoch).is_some());
        assert!(events.listener().awaited(epoch).is_some(), "a second one, of the same notifications");
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
            // As a sleeping listener leaves the word.
            let _ = listener.awaited(listener.epoch());
        }
    }

    #[test]
    fn listeners_are_of_the_same_event_count_or_not() {
        let (events, other) = (EventCount::new(), EventCount::new());
        assert!(events.listener().is_of_same(&events.listener()));
        assert!(!events.listener().is_of_same(&other.listener()));
    }
}

// # Checked
//
// - `tests/interleavings.rs`: every interleaving of 3 notifications and 2 listeners, on a model of the steps (kernel
//   included): no listener sleeps while a value waits; the same with a separate flag that the notifier clears fails.
//   The same for 3 notifiers, each of which may stop anywhere, and a sole listener; with a bit that notifiers clear, and
//   with one that is set by a store, it fails
// - here: 200 000 notifications against two listeners, threads; `tests/processes.rs`: listeners that are killed
//
// Not covered: weak memory by a model (there is one word); an epoch that wraps.
