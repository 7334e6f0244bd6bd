// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Longer random runs of the global locks, by shuttle: `RUSTFLAGS="--cfg shuttle" cargo test -p taut-lock --release
//! --test shuttle`. Sequentially consistent; a second party inside makes a count go missing, and a lost wake-up is
//! a deadlock.
#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod count;

use count::Count;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::Arc;
use shuttle::thread;
use taut_lock::life::{Alive, Lives};
use taut_lock::queued::{self, RequestOutcome, Withdrawn};
use taut_lock::{AcquiredState, LINE_BYTES, Line, Memory, Patience, life, spin};

const RUNS: usize = 4_000;

/// Runs `run` on fresh memory of `bytes`.
fn explore(bytes: usize, run: impl Fn(Memory<'static>) + Send + Sync + 'static) {
    let run = move || {
        let lines = (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new());
        let lines = Box::into_raw(lines.collect::<Box<[Line]>>());
        // SAFETY: the lines were just allocated, and nothing else uses them.
        run(Memory::new(unsafe { &mut *lines }));
        // SAFETY: the pointer is from `into_raw`; `run` has joined its threads and dropped its parties.
        drop(unsafe { Box::from_raw(lines) });
    };
    shuttle::check_random(run, RUNS);
}

/// Runs the turns of each party in a thread of its own. Each thread returns how often it was inside.
fn threads<P: Send + 'static>(
    parties: impl Iterator<Item = P>,
    turns: impl Fn(P, &Count) -> u64 + Copy + Send + 'static,
) {
    let count = Count::new();
    let start = |party: P| {
        let count: Arc<Count> = count.clone();
        thread::spawn(move || turns(party, &count))
    };
    let threads: Vec<_> = parties.map(start).collect();
    let turns = threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>();
    assert_eq!(count.up(), turns);
}

#[test]
fn spin_of_four() {
    explore(spin::bytes(4), |memory| {
        threads(spin::group(memory, 4).unwrap(), |mut party, count| {
            let mut turns = 0;
            for _ in 0..5 {
                let looks = thread_rng().gen_range(1..20);
                let patience = if looks > 10 { Patience::Endless } else { Patience::Looks(looks) };
                if party.enter(patience).is_ok() {
                    count.up();
                    turns += 1;
                    party.leave();
                }
            }
            turns
        });
    });
}

#[test]
fn queued_of_four() {
    explore(queued::bytes(4), |memory| {
        threads(queued::group(memory, 4).unwrap(), |mut party, count| {
            let mut turns = 0;
            for _ in 0..5 {
                let (priority, fickle) = (thread_rng().gen_range(0..3), thread_rng().gen_range(0..3));
                let mut had = matches!(party.request(priority), RequestOutcome::Granted(_));
                if !had && (fickle > 0 || party.withdraw() == Withdrawn::Next) {
                    had = party.wait(Patience::Endless).is_ok();
                }
                if had {
                    count.up();
                    turns += 1;
                    party.release();
                }
            }
            turns
        });
    });
}

/// A process that lives as long as the run.
fn claim(lives: Lives<'static>, place: u32) -> &'static Alive {
    Box::leak(Box::new(Alive::claim(lives, place).unwrap()))
}

/// Party 0's process dies after some of its steps, inside or not, and a successor takes its place. The others go
/// on, and one of them or the successor gets a single report if it died inside.
fn dies<P: Send + 'static>(
    attach: impl Fn(Memory<'static>, u32, Lives<'static>, &'static Alive) -> P + Copy + Send + Sync + 'static,
    take: impl Fn(&mut P) -> AcquiredState + Copy + Send + Sync + 'static,
    leave: impl Fn(&mut P) + Copy + Send + Sync + 'static,
) {
    let locks = spin::bytes(3);
    explore(locks + life::bytes(2), move |memory| {
        let mark = memory.again().claim().word(locks);
        let lives = Lives::new(memory.again().split(locks).unwrap().1, 2).unwrap();
        let (dying, alive) = (claim(lives, 0), claim(lives, 1));
        let others: Vec<_> = (1..3).map(|which| attach(memory.again(), which, lives, alive)).collect();
        let mut first = attach(memory.again(), 0, lives, dying);
        let (count, heir) = (Count::new(), memory.again());
        let start = |mut party: P, rounds: u64, count: Arc<Count>| {
            thread::spawn(move || {
                let mut reported = 0;
                for _ in 0..rounds {
                    reported += u64::from(take(&mut party) != AcquiredState::Clean);
                    count.up();
                    leave(&mut party);
                }
                reported
            })
        };
        let threads: Vec<_> = others.into_iter().map(|party| start(party, 3, count.clone())).collect();
        let inside = thread_rng().gen_bool(0.5);
        let other = count.clone();
        let dying = thread::spawn(move || {
            take(&mut first);
            other.up();
            if !inside {
                leave(&mut first);
            }
            std::mem::forget(first);
            mark.fetch_and(!0xFFFF_FFFF, shuttle::sync::atomic::Ordering::SeqCst);
            let alive = claim(lives, 0);
            let mut party = attach(heir, 0, lives, alive);
            let reported = u64::from(take(&mut party) != AcquiredState::Clean);
            other.up();
            leave(&mut party);
            std::mem::forget(party);
            reported
        });
        let reported =
            dying.join().unwrap() + threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>();
        assert_eq!((count.up(), reported), (8, u64::from(inside)));
    });
}

#[test]
fn spin_with_a_death() {
    dies(
        |memory, which, lives, alive| spin::party(memory, 3, which, lives, alive).unwrap(),
        |party| party.enter(Patience::Endless).unwrap(),
        |party| party.leave(),
    );
}

#[test]
fn queued_with_a_death() {
    dies(
        |memory, which, lives, alive| queued::party(memory, 3, which, lives, alive).unwrap(),
        |party| match party.request(1) {
            RequestOutcome::Granted(entry) => entry,
            RequestOutcome::Waits => party.wait(Patience::Endless).unwrap(),
        },
        |party| {
            party.release();
        },
    );
}
