// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of every protocol, by loom: `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release
//! --test loom`. Larger and special runs of single protocols are in the modules of their families.
#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod account;
mod explore;
mod objects;
mod payload;
mod place;
mod runs;

#[path = "buffers/loom.rs"]
mod buffers;
#[path = "bulk/loom.rs"]
mod bulk;
#[path = "claims/loom.rs"]
mod claims;
#[path = "flow/loom.rs"]
mod flow;
#[path = "messages/loom.rs"]
mod messages;
#[path = "nonblocking/loom.rs"]
mod nonblocking;
#[path = "queues/loom.rs"]
mod queues;
#[path = "bulk/reserved_loom.rs"]
mod reserved;
#[path = "temporal/loom.rs"]
mod temporal;
#[path = "timed/loom.rs"]
mod timed;

use explore::explore;
use objects::{Queue, State, every_queue, every_state};

fn small<S: State<2>>() {
    explore(&format!("{} 2×1", S::NAME), None, || runs::pair::<2, S>(2, 1));
    explore(&format!("{} 2×2", S::NAME), Some(3), || runs::pair::<2, S>(2, 2));
}

fn longer<S: State<2>>() {
    explore(&format!("{} 3×1", S::NAME), Some(3), || runs::pair::<2, S>(3, 1));
    explore(&format!("{} 3×2", S::NAME), Some(2), || runs::pair::<2, S>(3, 2));
}

fn two_readers<S: State<2>>() {
    if S::READERS > 1 {
        explore(&format!("{} 2×1, 2 readers", S::NAME), Some(2), || runs::trio::<2, S>(2, 1));
    }
}

fn queue<Q: Queue<2>>(capacity: u32, pushes: u64) {
    let name = format!("{} of {capacity}, {pushes}×3", Q::NAME);
    explore(&name, Some(3), move || runs::queue::<2, Q>(capacity, pushes, 3));
}

macro_rules! states {
    ($($module:ident $object:ident)*) => {$(
        mod $module {
            use super::objects::$object;

            #[test]
            fn small() {
                super::small::<$object>();
            }

            #[test]
            fn longer() {
                super::longer::<$object>();
            }

            #[test]
            fn two_readers() {
                super::two_readers::<$object>();
            }
        }
    )*};
}
every_state!(states);

macro_rules! queues {
    ($($module:ident $object:ident)*) => {$(
        mod $module {
            use super::objects::$object;

            #[test]
            fn of_one() {
                super::queue::<$object>(1, 3);
            }

            #[test]
            fn of_two() {
                super::queue::<$object>(2, 4);
            }
        }
    )*};
}
every_queue!(queues);
