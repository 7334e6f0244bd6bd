// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Longer random runs of every protocol, by shuttle: `RUSTFLAGS="--cfg shuttle" cargo test -p taut-share --release
//! --test shuttle`. Sequentially consistent. In this build, exclusive slots are copied word by word with thread
//! switches in between, so that an access that is not exclusive shows as a torn value.
#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod account;
mod objects;
mod payload;
mod place;
mod runs;

use objects::{State, every_queue, every_state};

const RUNS: usize = 20_000;

fn explore(run: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(run, RUNS);
}

fn state<S: State<4>>() {
    if S::READERS > 1 {
        explore(|| runs::trio::<4, S>(12, 8));
    } else {
        explore(|| runs::pair::<4, S>(12, 12));
    }
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
        mod $module {
            #[test]
            fn of_one() {
                super::explore(|| super::runs::queue::<4, super::objects::$object>(1, 12, 12));
            }

            #[test]
            fn of_three() {
                super::explore(|| super::runs::queue::<4, super::objects::$object>(3, 20, 20));
            }
        }
    )*};
}
every_queue!(queues);
