// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of the queued lock, by loom, with a stand-in for the kernel's futex, so that a
//! lost wake-up is a deadlock: `RUSTFLAGS="--cfg loom" cargo test -p taut-lock --release --test loom_queued`.
#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod count;
mod explore;

use count::Count;
use explore::{canary, explore};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::thread;
use taut_lock::life::{Alive, Lives};
use taut_lock::queued::{self, Party, RequestOutcome, Withdrawn};
use taut_lock::{AcquiredState, LINE_BYTES, Memory, Patience, life};

fn take(party: &mut Party<'static>, priority: u32) -> AcquiredState {
    match party.request(priority) {
        RequestOutcome::Granted(entry) => entry,
        RequestOutcome::Waits => party.wait(Patience::Endless).unwrap(),
    }
}

/// Each party requests and releases as often as `rounds` says.
fn take_turns(memory: Memory<'static>, rounds: &[u64]) {
    let count = Count::new();
    let turns = |mut party: Party<'static>, rounds: u64, count: Arc<Count>| {
        for _ in 0..rounds {
            assert_eq!(take(&mut party, 1), AcquiredState::Clean);
            count.up();
            party.release();
        }
    };
    let mut parties = queued::group(memory, rounds.len() as u32).unwrap();
    let own = parties.next().unwrap();
    let threads: Vec<_> = parties
        .zip(rounds[1..].to_vec())
        .map(|(party, rounds)| {
            let count = count.clone();
            thread::spawn(move || turns(party, rounds, count))
        })
        .collect();
    turns(own, rounds[0], count.clone());
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(count.up(), rounds.iter().sum::<u64>());
}

#[test]
fn two_parties() {
    explore("queued 1 + 1", Some(4), queued::bytes(2), |memory| take_turns(memory, &[1, 1]));
    explore("queued 2 + 1", Some(2), queued::bytes(2), |memory| take_turns(memory, &[2, 1]));
    explore("queued 2 + 2", Some(2), queued::bytes(2), |memory| take_turns(memory, &[2, 2]));
}

#[test]
fn three_parties() {
    explore("queued 1 + 1 + 1", Some(2), queued::bytes(3), |memory| take_turns(memory, &[1, 1, 1]));
}

/// Two parties wait behind a holder: those that had requested by the time of its release get the lock by priority.
#[test]
fn the_most_urgent_goes_first() {
    explore("queued, in order", Some(2), queued::bytes(3), |memory| {
        let mut parties = queued::group(memory, 3).unwrap();
        let mut holder = parties.next().unwrap();
        let (mut low, mut high) = (parties.next().unwrap(), parties.next().unwrap());
        assert_eq!(take(&mut holder, 0), AcquiredState::Clean);
        // The low party requests before everything else, the high party meanwhile.
        assert_eq!(low.request(1), RequestOutcome::Waits);
        let asked = Arc::new(AtomicU64::new(0));
        let (count, says) = (Count::new(), asked.clone());
        let other = count.clone();
        let thread = thread::spawn(move || {
            let asked = high.request(2);
            says.store(1, Release);
            if asked == RequestOutcome::Waits {
                high.wait(Patience::Endless).unwrap();
            }
            let before = other.up();
            high.release();
            before
        });
        let late = asked.load(Acquire) == 1;
        let next = holder.release();
        assert!(next == Some(2) || (next == Some(1) && !late), "{next:?}");
        low.wait(Patience::Endless).unwrap();
        let before = count.up();
        low.release();
        assert_eq!((thread.join().unwrap(), before), if next == Some(2) { (0, 1) } else { (1, 0) });
    });
}

/// A party that once was urgent requests while the holder releases: its priority is that of its present request.
#[test]
fn a_priority_is_that_of_the_request() {
    explore("queued, priority", Some(2), queued::bytes(3), |memory| {
        let mut parties = queued::group(memory, 3).unwrap();
        let mut holder = parties.next().unwrap();
        let (mut steady, mut once) = (parties.next().unwrap(), parties.next().unwrap());
        take(&mut holder, 0);
        assert_eq!((once.request(9), once.withdraw()), (RequestOutcome::Waits, Withdrawn::Left));
        assert_eq!(steady.request(5), RequestOutcome::Waits);
        let thread = thread::spawn(move || {
            take(&mut once, 1);
            once.release();
        });
        assert_eq!(holder.release(), Some(1));
        steady.wait(Patience::Endless).unwrap();
        steady.release();
        thread.join().unwrap();
    });
}

/// A party requests, and withdraws while the lock is handed over to it: no party is left asleep.
#[test]
fn a_withdrawn_party_does_not_keep_the_lock() {
    explore("queued, withdrawn", Some(2), queued::bytes(3), |memory| {
        let count = Count::new();
        let mut parties = queued::group(memory, 3).unwrap();
        let mut holder = parties.next().unwrap();
        let (mut fickle, mut patient) = (parties.next().unwrap(), parties.next().unwrap());
        take(&mut holder, 1);
        assert_eq!(patient.request(1), RequestOutcome::Waits);
        let other = count.clone();
        let thread = thread::spawn(move || {
            let mut had = matches!(fickle.request(2), RequestOutcome::Granted(_));
            if !had && fickle.withdraw() == Withdrawn::Next {
                fickle.wait(Patience::Endless).unwrap();
                had = true;
            }
            if had {
                other.up();
                fickle.release();
            }
            u64::from(had)
        });
        count.up();
        holder.release();
        patient.wait(Patience::Endless).unwrap();
        count.up();
        patient.release();
        let had = thread.join().unwrap();
        assert_eq!(count.up(), 2 + had);
    });
}

/// A process that lives as long as the run.
fn claim(lives: Lives<'static>, place: u32) -> &'static Alive {
    Box::leak(Box::new(Alive::claim(lives, place).unwrap()))
}

/// Where a party dies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Death {
    /// It has declared that it waits, and no more.
    Waiting,
    /// It has made the other party next.
    HandingOver,
    Inside,
}

/// The process of party 0 dies; one party waits, one comes later, and perhaps a successor comes.
fn dies(death: Death, successor: bool) {
    let locks = queued::bytes(3);
    let name = format!("queued, dies {death:?}, successor {successor}");
    explore(&name, Some(2), locks + life::bytes(2), move |memory| {
        let words = memory.again().claim();
        let (holder, state, mark) = (words.word(0), words.word(LINE_BYTES), words.word(locks));
        let waiting = words.word(2 * LINE_BYTES);
        let lives = Lives::new(memory.again().split(locks).unwrap().1, 2).unwrap();
        let (dying, alive) = (claim(lives, 0), claim(lives, 1));
        let attach =
            |which, alive: &'static Alive| queued::party(memory.again(), 3, which, lives, alive).unwrap();
        let mut first = attach(0, dying);
        let (mut second, heir) = (attach(1, alive), memory.again());
        let count = Count::new();
        let held = death != Death::Waiting;
        if held {
            take(&mut first, 1);
            assert_eq!(second.request(1), RequestOutcome::Waits);
        } else {
            take(&mut second, 1);
        }
        std::mem::forget(first);
        let other = count.clone();
        let dying = thread::spawn(move || {
            // The last steps of the process, and what the kernel does then.
            match death {
                Death::Waiting => {
                    state.store(1 << 56 | 1, Release);
                    holder.fetch_or(1 << 16, AcqRel);
                }
                Death::HandingOver => {
                    waiting.fetch_or(2, AcqRel);
                }
                Death::Inside => {
                    other.up();
                }
            }
            mark.fetch_and(!0xFFFF_FFFF, AcqRel);
            if !successor {
                return false;
            }
            let alive = claim(lives, 0);
            let mut party = queued::party(heir, 3, 0, lives, alive).unwrap();
            let entry = take(&mut party, 1);
            other.up();
            party.release();
            std::mem::forget(party);
            entry != AcquiredState::Clean
        });
        let mut reported = false;
        if !second.is_inside() {
            reported = second.wait(Patience::Endless).unwrap() != AcquiredState::Clean;
        }
        count.up();
        second.release();
        let heir_reported = dying.join().unwrap();
        let mut third = attach(2, alive);
        let late = take(&mut third, 1) != AcquiredState::Clean;
        let ups = 1 + u64::from(death == Death::Inside) + u64::from(successor);
        assert_eq!(count.up(), ups);
        assert_eq!(
            u32::from(reported) + u32::from(heir_reported) + u32::from(late),
            u32::from(held),
            "reported once"
        );
    });
}

#[test]
fn deaths() {
    for death in [Death::Waiting, Death::HandingOver, Death::Inside] {
        dies(death, false);
        dies(death, true);
    }
}

/// A lock with a word and a waiter. The holder looks for a waiter and finds none. If it does not heed, it frees the
/// word whatever has happened to the word meanwhile.
fn sleeper(heeds: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        use loom::sync::{Condvar, Mutex};
        // 1: held | 2: others wait.
        let shared = Arc::new((AtomicU64::new(1), AtomicU64::new(0), Mutex::new(false), Condvar::new()));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            let (word, waits, notified, futex) = &*other;
            waits.store(1, Release);
            if word.fetch_or(2, AcqRel) & 1 == 0 {
                return;
            }
            let mut epoch = notified.lock().unwrap();
            while !*epoch {
                epoch = futex.wait(epoch).unwrap();
            }
        });
        let (word, waits, notified, futex) = &*shared;
        let before = word.load(Relaxed);
        let freed = if waits.load(Acquire) == 1 {
            false
        } else if heeds {
            before & 2 == 0 && word.compare_exchange(1, 0, Release, Acquire).is_ok()
        } else {
            word.store(0, Release);
            true
        };
        if !freed {
            word.store(0, Release);
            *notified.lock().unwrap() = true;
            futex.notify_all();
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_release_that_ignores_a_new_waiter_loses_a_wake_up() {
    canary("a_release_that_ignores_a_new_waiter_loses_a_wake_up", sleeper(false));
}

#[test]
fn a_release_that_sees_a_new_waiter_loses_no_wake_up() {
    loom::model(sleeper(true));
}
