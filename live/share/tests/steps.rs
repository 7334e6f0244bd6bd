// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! No operation of any protocol takes more steps than its adapter says, whatever the shared memory holds:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps`. (The modules
//! of the families count exactly.)
#![cfg(steps)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod objects;
mod payload;
mod place;

#[path = "buffers/steps.rs"]
mod buffers;
#[path = "bulk/steps.rs"]
mod bulk;
#[path = "claims/steps.rs"]
mod claims;
#[path = "flow/steps.rs"]
mod flow;
#[path = "messages/steps.rs"]
mod messages;
#[path = "nonblocking/steps.rs"]
mod nonblocking;
#[path = "queues/steps.rs"]
mod queues;
#[path = "bulk/reserved_steps.rs"]
mod reserved;
#[path = "temporal/steps.rs"]
mod temporal;
#[path = "timed/steps.rs"]
mod timed;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use objects::{Queue, State, every_queue, every_state};
use payload::marked;
use place::Place;
use taut_atomic::steps::count;

/// Writes random values into `words`: one of them, some, or all; half of the values are small, since a small wrong
/// value is the most plausible.
fn spoil(words: &[AtomicU64], random: &mut u64) {
    let mut next = || {
        // xorshift64
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        *random
    };
    let some = [1, words.len() / 4, 4 * words.len()][next() as usize % 3];
    for _ in 0..some {
        let (at, value) = (next() as usize % words.len(), next());
        words[at].store(if value & 1 == 0 { value } else { value >> 61 }, Relaxed);
    }
}

/// Counts the steps of an operation, checks them against `limit`, and keeps the maximum in `most`.
fn counted<R>(most: &mut u64, limit: u64, name: &str, operation: impl FnOnce() -> R) -> R {
    let (result, steps) = count(operation);
    assert!(steps.total() <= limit, "{name}: {steps:?} are more than {limit}");
    *most = steps.total().max(*most);
    result
}

/// Rounds on correct memory, and as many again on spoilt memory.
const ROUNDS: u64 = 150;

fn state<const N: usize, S: State<N>>() {
    let place = Place::new(S::bytes());
    let (mut random, mut writes, mut reads) = (1, [0, 0], [0, 0]);
    for round in 0..2 * ROUNDS {
        let spoilt = usize::from(round >= ROUNDS);
        // SAFETY: the only ends, each once, in one thread.
        let (mut writer, mut readers) = unsafe {
            let readers: Vec<_> = (0..S::READERS).map(|which| S::reader(place.memory(), which)).collect();
            (S::writer(place.memory()), readers)
        };
        for n in 1..20 {
            if spoilt > 0 {
                spoil(place.words(), &mut random);
            }
            if !(n + round).is_multiple_of(3) {
                counted(&mut writes[spoilt], S::WRITE_STEPS, S::NAME, || S::write(&mut writer, &marked(n)));
            }
            for (i, reader) in readers.iter_mut().enumerate() {
                if !(n + i as u64).is_multiple_of(4) {
                    counted(&mut reads[spoilt], S::READ_STEPS, S::NAME, || S::read(reader));
                }
            }
        }
    }
    println!("{} {N}: write {writes:?} of {}, read {reads:?} of {}", S::NAME, S::WRITE_STEPS, S::READ_STEPS);
    // The operations at least copy the words: so the count is of this protocol.
    assert!(writes[0] > N as u64 && reads[0] > N as u64);
}

fn queue<const N: usize, Q: Queue<N>>(capacity: u32) {
    let place = Place::new(Q::bytes(capacity));
    let (mut random, mut pushes, mut pops) = (1, [0, 0], [0, 0]);
    for round in 0..2 * ROUNDS {
        let spoilt = usize::from(round >= ROUNDS);
        // SAFETY: the only ends, in one thread.
        let (mut writer, mut reader) =
            unsafe { (Q::writer(place.memory(), capacity), Q::reader(place.memory(), capacity)) };
        for n in 1..20 {
            if spoilt > 0 {
                spoil(place.words(), &mut random);
            }
            if n % 7 < 4 {
                counted(&mut pushes[spoilt], Q::PUSH_STEPS, Q::NAME, || Q::push(&mut writer, marked(n)));
            }
            if n % 5 < 3 {
                counted(&mut pops[spoilt], Q::POP_STEPS, Q::NAME, || Q::pop(&mut reader));
            }
        }
    }
    let name = Q::NAME;
    println!(
        "{name} {capacity} × {N}: push {pushes:?} of {}, pop {pops:?} of {}",
        Q::PUSH_STEPS,
        Q::POP_STEPS
    );
    assert!(pushes[0] > N as u64 && pops[0] > N as u64);
}

macro_rules! states {
    ($($module:ident $object:ident)*) => {$(
        #[test]
        fn $module() {
            state::<1, objects::$object>();
            state::<8, objects::$object>();
            state::<40, objects::$object>();
        }
    )*};
}
every_state!(states);

macro_rules! queues {
    ($($module:ident $object:ident)*) => {$(
        #[test]
        fn $module() {
            queue::<1, objects::$object>(1);
            queue::<8, objects::$object>(3);
            queue::<40, objects::$object>(8);
        }
    )*};
}
every_queue!(queues);
