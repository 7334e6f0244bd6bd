// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of the spin lock, by loom: `RUSTFLAGS="--cfg loom" cargo test -p taut-lock
//! --release --test loom_spin`.
#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod count;
mod explore;

use count::Count;
use explore::{canary, explore};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use loom::thread;
use taut_lock::life::{Alive, Lives};
use taut_lock::{AcquiredState, LINE_BYTES, Memory, Patience, life, spin};

/// Each party enters as often as `rounds` says, or gives up if its patience ends.
fn take_turns(memory: Memory<'static>, rounds: &[u64], patience: Patience) {
    let count = Count::new();
    let turns = move |mut party: spin::Party<'static>, rounds: u64, count: &Count| {
        let enter = |_: &u64| {
            let entry = party.enter(patience);
            if entry == Ok(AcquiredState::Clean) {
                count.up();
                party.leave();
            }
            entry.is_ok()
        };
        (0..rounds).filter(enter).count() as u64
    };
    let mut parties = spin::group(memory, rounds.len() as u32).unwrap();
    let own = parties.next().unwrap();
    let threads: Vec<_> = parties
        .zip(rounds[1..].to_vec())
        .map(|(party, rounds)| {
            let count = count.clone();
            thread::spawn(move || turns(party, rounds, &count))
        })
        .collect();
    let mut entered = turns(own, rounds[0], &count);
    entered += threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>();
    assert!(entered == rounds.iter().sum() || patience != Patience::Endless);
    assert_eq!(count.up(), entered);
}

#[test]
fn two_parties() {
    let endless = |memory, rounds: &[u64]| take_turns(memory, rounds, Patience::Endless);
    explore("spin 1 + 1", None, spin::bytes(2), move |memory| endless(memory, &[1, 1]));
    explore("spin 2 + 1", Some(2), spin::bytes(2), move |memory| endless(memory, &[2, 1]));
    explore("spin 2 + 2", Some(1), spin::bytes(2), move |memory| endless(memory, &[2, 2]));
}

/// With a patience that ends: three spinning parties do not come to an end in a model, which may let any of them
/// run.
#[test]
fn three_parties() {
    for (looks, preemptions) in [(1, 2), (2, 1)] {
        let name = format!("spin 1 + 1 + 1, {looks} looks");
        explore(&name, Some(preemptions), spin::bytes(3), move |memory| {
            take_turns(memory, &[1, 1, 1], Patience::Looks(looks));
        });
    }
}

/// A party that requests before another one does enters before it.
#[test]
fn first_come_first_served() {
    explore("spin, in order", None, spin::bytes(3), |memory| {
        let mut parties = spin::group(memory, 3).unwrap();
        let mut holder = parties.next().unwrap();
        let (mut first, mut second) = (parties.next().unwrap(), parties.next().unwrap());
        holder.enter(Patience::Endless).unwrap();
        first.request();
        let count = Count::new();
        count.up();
        let other = count.clone();
        let thread = thread::spawn(move || {
            second.enter(Patience::Endless).unwrap();
            assert_eq!(other.up(), 2, "the last");
        });
        holder.leave();
        first.enter(Patience::Endless).unwrap();
        assert_eq!(count.up(), 1);
        first.leave();
        thread.join().unwrap();
    });
}

/// A patience that ends leaves the lock as if the party had not requested.
#[test]
fn patience_ends() {
    explore("spin, patience", Some(3), spin::bytes(2), |memory| {
        let count = Count::new();
        let mut parties = spin::group(memory, 2).unwrap();
        let (mut first, mut second) = (parties.next().unwrap(), parties.next().unwrap());
        let other = count.clone();
        let thread = thread::spawn(move || {
            if second.enter(Patience::Looks(1)).is_ok() {
                other.up();
                second.leave();
            }
            second.enter(Patience::Endless).unwrap();
            other.up();
        });
        first.enter(Patience::Endless).unwrap();
        count.up();
        first.leave();
        thread.join().unwrap();
    });
}

/// A process that lives as long as the run.
fn claim(lives: Lives<'static>, place: u32) -> &'static Alive {
    Box::leak(Box::new(Alive::claim(lives, place).unwrap()))
}

/// Where a party dies: the bits that it leaves in its word, and whether it has drawn a ticket.
#[derive(Clone, Copy, Debug)]
enum Death {
    Choosing,
    Drawn,
    Waiting,
    Inside,
}

/// The process of party 0 dies while others enter; perhaps a successor comes.
fn dies(death: Death, successor: bool) {
    let locks = spin::bytes(3);
    let name = format!("spin, dies {death:?}, successor {successor}");
    explore(&name, Some(2), locks + life::bytes(2), move |memory| {
        let words = memory.again().claim();
        let (word, tickets, mark) = (words.word(LINE_BYTES), words.word(0), words.word(locks));
        let lives = Lives::new(memory.again().split(locks).unwrap().1, 2).unwrap();
        let (dying, alive) = (claim(lives, 0), claim(lives, 1));
        let attach =
            |which, alive: &'static Alive| spin::party(memory.again(), 3, which, lives, alive).unwrap();
        let mut first = attach(0, dying);
        let (mut second, heir) = (attach(1, alive), memory.again());
        let count = Count::new();
        let held = matches!(death, Death::Inside);
        if held {
            first.enter(Patience::Endless).unwrap();
        }
        std::mem::forget(first);
        let other = count.clone();
        let dying = thread::spawn(move || {
            // The last steps of the process, and what the kernel does then.
            match death {
                Death::Choosing | Death::Drawn | Death::Waiting => {
                    word.store(1 << 56 | 2, Release);
                    if !matches!(death, Death::Choosing) {
                        let ticket = tickets.fetch_add(1, AcqRel) + 1;
                        if matches!(death, Death::Waiting) {
                            word.store(1 << 56 | ticket << 3, Release);
                        }
                    }
                }
                Death::Inside => {
                    other.up();
                }
            }
            mark.fetch_and(!0xFFFF_FFFF, AcqRel);
            if successor {
                let alive = claim(lives, 0);
                let mut party = spin::party(heir, 3, 0, lives, alive).unwrap();
                let entry = party.enter(Patience::Endless).unwrap();
                other.up();
                party.leave();
                std::mem::forget(party);
                return entry != AcquiredState::Clean;
            }
            false
        });
        let reported = second.enter(Patience::Endless).unwrap() != AcquiredState::Clean;
        count.up();
        second.leave();
        let heir_reported = dying.join().unwrap();
        let mut third = attach(2, alive);
        let late = third.enter(Patience::Endless).unwrap() != AcquiredState::Clean;
        assert_eq!(count.up(), 1 + u64::from(held) + u64::from(successor));
        assert_eq!(
            u32::from(reported) + u32::from(heir_reported) + u32::from(late),
            u32::from(held),
            "reported once"
        );
    });
}

#[test]
fn deaths() {
    for death in [Death::Choosing, Death::Drawn, Death::Waiting, Death::Inside] {
        dies(death, false);
        dies(death, true);
    }
}

/// A party inside clears what the dead party left, while its successor requests. It does not clear the successor's
/// word.
#[test]
fn a_successor_keeps_its_place() {
    let locks = spin::bytes(2);
    explore("spin, successor", Some(3), locks + life::bytes(2), move |memory| {
        let words = memory.again().claim();
        let (word, mark) = (words.word(LINE_BYTES), words.word(locks));
        let lives = Lives::new(memory.again().split(locks).unwrap().1, 2).unwrap();
        let (dying, alive) = (claim(lives, 0), claim(lives, 1));
        let attach =
            |which, alive: &'static Alive| spin::party(memory.again(), 2, which, lives, alive).unwrap();
        let (mut first, mut second) = (attach(0, dying), attach(1, alive));
        let heir = memory.again();
        first.request();
        second.request();
        std::mem::forget(first);
        let left = Arc::new(AtomicU64::new(0));
        let over = left.clone();
        let thread = thread::spawn(move || {
            mark.fetch_and(!0xFFFF_FFFF, AcqRel);
            let alive = claim(lives, 0);
            let mut party = spin::party(heir, 2, 0, lives, alive).unwrap();
            party.request();
            while over.load(Acquire) == 0 {
                thread::yield_now();
            }
            // The ticket is above bits 0 to 2, and below the generation.
            assert_ne!(word.load(Acquire) << 8 >> 11, 0, "its place is gone");
            assert_eq!(party.enter(Patience::Endless), Ok(AcquiredState::Clean));
            std::mem::forget(party);
        });
        assert_eq!(second.enter(Patience::Endless), Ok(AcquiredState::Clean));
        second.leave();
        left.store(1, Release);
        thread.join().unwrap();
    });
}

/// The lock without the state of choosing: a party stops after it has drawn its ticket, and the other does not see
/// it.
#[test]
fn without_choosing_two_are_inside() {
    canary("without_choosing_two_are_inside", || {
        let shared = Arc::new((AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)], Count::new()));
        let enter = |shared: Arc<(AtomicU64, [AtomicU64; 2], Arc<Count>)>, me: usize| {
            let ticket = shared.0.fetch_add(1, AcqRel) + 1;
            shared.1[me].store(ticket, Release);
            while (1..ticket).contains(&shared.1[1 - me].load(Acquire)) {
                thread::yield_now();
            }
            shared.2.up();
            shared.1[me].store(0, Release);
        };
        let other = shared.clone();
        let thread = thread::spawn(move || enter(other, 1));
        enter(shared, 0);
        thread.join().unwrap();
    });
}
