// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! For every protocol: a process writes random words all over an object's memory while all its ends work on it. The
//! test expects no panic, no access outside (the words around the memory do not change), and under `--cfg steps` the
//! documented bounds.
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod objects;
mod process;
mod scribbler;

use std::time::Duration;

use objects::{Queue, State, every_queue, every_state};
use scribbler::{bounded, scribble, scribbled};

/// Words of a value.
const N: usize = 12;
const CAPACITY: u32 = 3;
const TIME: Duration = Duration::from_millis(150);

#[test]
fn process() {
    scribble();
}

fn state<S: State<N>>() {
    let mut rounds = 0u64;
    scribbled(S::bytes(), TIME, |memory| {
        rounds += 1;
        // SAFETY: the only ends, each once, in one thread.
        let (mut writer, mut readers) = unsafe {
            let readers: Vec<_> = (0..S::READERS).map(|which| S::reader(memory(), which)).collect();
            (S::writer(memory()), readers)
        };
        for n in 0..20 {
            bounded(S::WRITE_STEPS, || S::write(&mut writer, &[n; N]));
            if n == 10 && rounds.is_multiple_of(16) {
                std::thread::yield_now(); // On one processor too, the other process gets to run in between.
            }
            for reader in &mut readers {
                bounded(S::READ_STEPS, || S::read(reader));
            }
        }
        rounds > 100
    });
}

fn queue<Q: Queue<N>>() {
    let mut rounds = 0u64;
    scribbled(Q::bytes(CAPACITY), TIME, |memory| {
        rounds += 1;
        // SAFETY: the only ends, in one thread.
        let (mut writer, mut reader) =
            unsafe { (Q::writer(memory(), CAPACITY), Q::reader(memory(), CAPACITY)) };
        for n in 0..20 {
            bounded(Q::PUSH_STEPS, || Q::push(&mut writer, [n; N]));
            if n == 10 && rounds.is_multiple_of(16) {
                std::thread::yield_now();
            }
            if n % 5 < 3 {
                bounded(Q::POP_STEPS, || Q::pop(&mut reader));
            }
        }
        rounds > 100
    });
}

macro_rules! states {
    ($($module:ident $object:ident)*) => {$(
        #[test]
        fn $module() {
            state::<objects::$object>();
        }
    )*};
}
every_state!(states);

macro_rules! queues {
    ($($module:ident $object:ident)*) => {$(
        #[test]
        fn $module() {
            queue::<objects::$object>();
        }
    )*};
}
every_queue!(queues);
