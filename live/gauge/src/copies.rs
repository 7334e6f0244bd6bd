// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Copying what another core has written.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use taut_sys::clock;

use crate::thread_placement::{Crew, MEASURES};
use crate::{Refused, Spread};

/// KiB that are written and copied at once: more than one, so that the clock's own cost is spread, and less than a cache
/// of a core holds.
const KIB: usize = 16;
const WORDS: usize = KIB * 128;

/// What writing and copying all of it does not take longer than, by far.
const TAKES: Duration = Duration::from_micros(100);

const WRITE: u8 = 0;
const COPY: u8 = 1;
const DONE: u8 = 2;

/// How long copying 1 KiB takes on one CPU that another has written last, `count` times. With a `writer` that is the same
/// CPU, what stands in its own caches is copied.
///
/// # Errors
/// The system's, if a CPU is not there or `SCHED_FIFO` is not permitted; [`Refused::Starved`] if others keep one of them.
pub fn copies(reader: u16, writer: u16, count: usize) -> Result<Spread, Refused> {
    let crew = Crew::new(TAKES.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)));
    let words: Vec<AtomicU64> = (0..WORDS).map(|at| AtomicU64::new(at as u64)).collect();
    if reader == writer {
        let alone = || samples(count, || if crew.is_given_up() { 1 } else { copied(&words) });
        return std::thread::scope(|scope| crew.joined(crew.post(scope, reader, MEASURES, alone)?));
    }
    let turn = AtomicU8::new(WRITE);
    let wait_for = |wanted: u8| {
        loop {
            match turn.load(Ordering::Acquire) {
                now if now == wanted => return true,
                DONE => return false,
                _ if crew.is_over() => return false,
                _ => std::hint::spin_loop(),
            }
        }
    };
    std::thread::scope(|scope| {
        let writes = crew.post(scope, writer, MEASURES, || {
            let mut value = 0;
            while wait_for(WRITE) {
                value += 1;
                words.iter().for_each(|word| word.store(value, Ordering::Relaxed));
                let _ = turn.compare_exchange(WRITE, COPY, Ordering::AcqRel, Ordering::Acquire);
            }
        })?;
        let found = crew
            .post(scope, reader, MEASURES, || {
                samples(count, || {
                    if !wait_for(COPY) {
                        return 1;
                    }
                    let took_ns = copied(&words);
                    // Not where it is done by now.
                    let _ = turn.compare_exchange(COPY, WRITE, Ordering::AcqRel, Ordering::Acquire);
                    took_ns
                })
            })
            .map_err(Refused::from)
            .and_then(|reads| {
                // A writer that could not be at its station would let the reader wait for ever.
                crew.wait_for(|| reads.has_ended() || writes.has_ended());
                turn.store(DONE, Ordering::Release);
                crew.joined(reads)
            });
        turn.store(DONE, Ordering::Release);
        crew.joined(writes)?;
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
