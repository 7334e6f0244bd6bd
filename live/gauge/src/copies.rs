// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Copying what another core has written.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use taut_sys::{Result, clock};

use crate::Spread;
use crate::station::{MEASURES, joined, post};

/// KiB that are written and copied at once: more than one, so that the clock's own cost is spread, and less than a cache
/// of a core holds.
const KIB: usize = 16;
const WORDS: usize = KIB * 128;

const WRITE: u8 = 0;
const COPY: u8 = 1;
const DONE: u8 = 2;

/// How long copying 1 KiB takes on one CPU that another has written last, `count` times. With a `writer` that is the same
/// CPU, what stands in its own caches is copied.
///
/// # Errors
/// The system's, if a CPU is not there or `SCHED_FIFO` is not permitted.
pub fn copies(reader: u16, writer: u16, count: usize) -> Result<Spread> {
    let words: Vec<AtomicU64> = (0..WORDS).map(|at| AtomicU64::new(at as u64)).collect();
    if reader == writer {
        let alone = || samples(count, || copied(&words));
        return std::thread::scope(|scope| joined(post(scope, reader, MEASURES, alone)?));
    }
    let turn = AtomicU8::new(WRITE);
    let wait_for = |wanted: u8| {
        loop {
            match turn.load(Ordering::Acquire) {
                now if now == wanted => return true,
                DONE => return false,
                _ => std::hint::spin_loop(),
            }
        }
    };
    std::thread::scope(|scope| {
        let writes = post(scope, writer, MEASURES, || {
            let mut value = 0;
            while wait_for(WRITE) {
                value += 1;
                words.iter().for_each(|word| word.store(value, Ordering::Relaxed));
                let _ = turn.compare_exchange(WRITE, COPY, Ordering::AcqRel, Ordering::Acquire);
            }
        })?;
        let found = post(scope, reader, MEASURES, || {
            samples(count, || {
                if !wait_for(COPY) {
                    return 1;
                }
                let took_ns = copied(&words);
                turn.store(WRITE, Ordering::Release);
                took_ns
            })
        })
        .and_then(|reads| {
            // A writer that could not be at its station would let the reader wait for ever.
            while !reads.is_finished() && !writes.is_finished() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            turn.store(DONE, Ordering::Release);
            joined(reads)
        });
        turn.store(DONE, Ordering::Release);
        joined(writes)?;
        found
    })
}

fn samples(count: usize, mut one: impl FnMut() -> u64) -> Spread {
    Spread::of((0..count.max(1)).map(|_| one()).collect()).expect("at least one")
}

/// Copies all words out, and gives how long it took for 1 KiB, rounded up.
fn copied(words: &[AtomicU64]) -> u64 {
    let mut out = [0_u64; WORDS];
    let begin_ns = clock::monotonic_ns();
    for (out, word) in out.iter_mut().zip(words) {
        *out = word.load(Ordering::Relaxed);
    }
    black_box(&mut out);
    let took_ns = clock::monotonic_ns().saturating_sub(begin_ns);
    took_ns.div_ceil(KIB as u64).max(1)
}
