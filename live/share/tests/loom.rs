// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of every protocol, by loom: `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release
//! --test loom`. Larger and special runs of single protocols are in `loom_*.rs`.
#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod account;
mod objects;
mod payload;
mod place;
mod runs;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use objects::{Queue, State, every_queue, every_state};

/// What a run may take: a few seconds are usual. What has not been explored by then is left out, and the line printed
/// says so.
const LIMIT: Duration = Duration::from_secs(60);

/// Explores `run` up to `preemptions` preemptions, and prints the number of executions.
fn explore(name: &str, preemptions: Option<usize>, run: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = executions.clone();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.max_duration = Some(LIMIT);
    // After so many executions the time is looked at.
    model.checkpoint_interval = 1000;
    let begin = Instant::now();
    model.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        run();
    });
    let (executions, time) = (executions.load(Ordering::Relaxed), begin.elapsed());
    let all = if time < LIMIT { "all" } else { "STOPPED after" };
    println!("{name}: {all} {executions} executions, preemption bound {preemptions:?}, {time:.1?}");
    assert!(executions > 10, "{name} was not explored");
}

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
