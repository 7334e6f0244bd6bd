// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The bounds that the files of the locks state, checked by counting: `RUSTFLAGS="--cfg steps" cargo test -p
//! taut-lock --test steps`.
#![cfg(steps)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

use taut_atomic::steps::{Steps, count};
use taut_lock::queued::{RequestOutcome, Withdrawn};
use taut_lock::{AcquiredState, LINE_BYTES, Line, Memory, PARTIES_LIMIT, Patience, Stuck, queued, spin};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

fn lines(parties: u32) -> &'static mut [Line] {
    Box::leak((0..spin::bytes(parties) / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>())
}

/// The largest number of parties, and others.
const SIZES: [u32; 4] = [1, 2, 5, PARTIES_LIMIT];

#[test]
fn spin_uncontended() {
    for parties in SIZES {
        let mut party = spin::group(Memory::new(lines(parties)), parties).unwrap().next().unwrap();
        for _ in 0..3 {
            let (entry, steps) = count(|| party.enter(Patience::Endless));
            assert_eq!(entry, Ok(AcquiredState::Clean));
            assert_eq!(steps, Steps { stores: 3, exchanges: 1, loads: u64::from(parties) - 1, ..NONE });
            assert_eq!(count(|| party.leave()).1, Steps { stores: 1, ..NONE });
        }
    }
}

#[test]
fn spin_contended() {
    for parties in SIZES.into_iter().filter(|parties| *parties > 1) {
        let mut all: Vec<_> = spin::group(Memory::new(lines(parties)), parties).unwrap().collect();
        let (first, others) = all.split_first_mut().unwrap();
        first.enter(Patience::Endless).unwrap();
        let others_count = u64::from(parties) - 1;
        for (before, party) in others.iter_mut().enumerate() {
            assert_eq!(count(|| party.request()).1, Steps { stores: 2, exchanges: 1, ..NONE });
            // First all other parties; then only those that go before.
            assert_eq!(count(|| party.granted()), (None, Steps { loads: others_count, ..NONE }));
            let again = Steps { loads: before as u64 + 1, ..NONE };
            assert_eq!(count(|| party.granted()), (None, again));
        }
        first.leave();
        let (entry, steps) = count(|| others[0].granted());
        assert_eq!((entry, steps), (Some(AcquiredState::Clean), Steps { loads: 1, stores: 1, ..NONE }));
        if let Some(last) = others.get_mut(1) {
            let (stuck, steps) = count(|| last.enter(Patience::Looks(2)));
            assert_eq!(stuck, Err(Stuck { party: 1 }));
            assert_eq!(steps, Steps { stores: 1, ..steps }, "to withdraw");
        }
    }
}

#[test]
fn queued_uncontended() {
    for parties in SIZES {
        let mut party = queued::group(Memory::new(lines(parties)), parties).unwrap().next().unwrap();
        for _ in 0..3 {
            let once = Steps { loads: 1, exchanges: 1, ..NONE };
            assert_eq!(count(|| party.request(1)), (RequestOutcome::Granted(AcquiredState::Clean), once));
            assert_eq!(count(|| party.release()), (None, once));
        }
    }
}

#[test]
fn queued_contended() {
    for parties in SIZES.into_iter().filter(|parties| *parties > 1) {
        let n = u64::from(parties);
        let mut all: Vec<_> = queued::group(Memory::new(lines(parties)), parties).unwrap().collect();
        let (first, others) = all.split_first_mut().unwrap();
        first.request(1);
        for party in &mut *others {
            // The load of the holder, the ticket, the stores of priority and state, and the two exchanges; then
            // `granted`.
            let asks = Steps { loads: 2, stores: 2, exchanges: 3, ..NONE };
            assert_eq!(count(|| party.request(1)), (RequestOutcome::Waits, asks));
            assert_eq!(count(|| party.granted()), (None, Steps { loads: 1, ..NONE }));
        }
        let (next, steps) = count(|| first.release());
        assert_eq!(next, Some(1));
        let waiting = n - 1;
        assert_eq!(steps, Steps { loads: 2 + n + waiting, exchanges: 3, ..NONE });
        assert_eq!(
            count(|| others[0].granted()),
            (Some(AcquiredState::Clean), Steps { loads: 1, stores: 1, ..NONE })
        );
        if others.len() > 1 {
            let left = Steps { loads: 1, exchanges: 1, ..NONE };
            assert_eq!(count(|| others[1].withdraw()), (Withdrawn::Left, left));
        }
    }
}
