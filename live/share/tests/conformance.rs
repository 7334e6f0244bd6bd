// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The guarantees of every protocol of a kind, in one thread: the newest value, or every value in order and by the
//! policy. Shorter under Miri.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod account;
mod objects;
mod payload;
mod place;

use account::ByLine;
use objects::{Got, Queue, State, every_queue, every_state};
use payload::{marked, number};
use place::Place;

fn state<const N: usize, S: State<N>>() {
    let place = Place::new(S::bytes());
    // SAFETY: the only ends, each once, in one thread.
    let (mut writer, mut readers) = unsafe {
        let readers: Vec<_> = (0..S::READERS).map(|which| S::reader(place.memory(), which)).collect();
        (S::writer(place.memory()), readers)
    };
    for reader in &mut readers {
        assert_eq!(S::read(reader), Got::Nothing, "{}: before the first write", S::NAME);
    }
    for n in 1..if cfg!(miri) { 25 } else { 100 } {
        assert!(S::write(&mut writer, &marked(n)), "{}: nobody reads", S::NAME);
        // Every reader skips some values, and reads some twice.
        for (which, reader) in readers.iter_mut().enumerate() {
            for _ in 0..(n as usize + which) % 3 {
                let Got::Value(value) = S::read(reader) else { panic!("{}: nothing at {n}", S::NAME) };
                assert_eq!(number(&value), n, "{}: not the newest", S::NAME);
            }
        }
        if n % 10 == 0 {
            // SAFETY: the previous writer is gone.
            writer = unsafe { S::writer(place.memory()) };
        }
    }
}

fn queue<const N: usize, Q: Queue<N>>() {
    for capacity in if cfg!(miri) { &[1, 3][..] } else { &[1, 2, 3, 5, 8] } {
        let capacity = *capacity;
        let place = Place::new(Q::bytes(capacity));
        // SAFETY: the only ends, in one thread.
        let (mut writer, mut reader) =
            unsafe { (Q::writer(place.memory(), capacity), Q::reader(place.memory(), capacity)) };
        assert_eq!(Q::pop(&mut reader), Got::Nothing, "{}: new", Q::NAME);
        let (mut policy, mut random) = (ByLine::new(Q::WHEN_FULL, capacity, N), 7u64);
        for n in 1..if cfg!(miri) { 40 } else { 500 } {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let taken = policy.push(n);
            assert_eq!(Q::push(&mut writer, marked(n)), taken, "{} of {capacity} at {n}", Q::NAME);
            for _ in 0..(random >> 33) % 3 {
                let popped = match Q::pop(&mut reader) {
                    Got::Value((value, lost)) => Some((number(&value), lost)),
                    Got::Nothing => None,
                    Got::Unavailable => panic!("{}: nobody writes", Q::NAME),
                };
                assert_eq!(popped, policy.pop(), "{} of {capacity} at {n}: number and lost", Q::NAME);
            }
        }
    }
}

macro_rules! states {
    ($($module:ident $object:ident)*) => {$(
        #[test]
        fn $module() {
            state::<1, objects::$object>();
            state::<3, objects::$object>();
            state::<8, objects::$object>();
            if !cfg!(miri) {
                state::<100, objects::$object>();
            }
        }
    )*};
}
every_state!(states);

macro_rules! queues {
    ($($module:ident $object:ident)*) => {$(
        #[test]
        fn $module() {
            queue::<1, objects::$object>();
            queue::<3, objects::$object>();
            queue::<8, objects::$object>();
            if !cfg!(miri) {
                queue::<100, objects::$object>();
            }
        }
    )*};
}
every_queue!(queues);
