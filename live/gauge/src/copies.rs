// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures the copying of data that another core has written.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use taut_sys::clock;

use crate::thread_placement::{Crew, MEASURES};
use crate::{NotMeasured, Samples};

/// KiB that are written and copied at once: more than one, to spread the clock's own cost, and less than fits in a
/// core's cache.
const KIB: usize = 16;
const WORDS: usize = KIB * 128;

/// Generous upper bound on the time to write and copy all words once.
const TAKES: Duration = Duration::from_micros(100);

const WRITE: u8 = 0;
const COPY: u8 = 1;
const DONE: u8 = 2;

/// Measures, `count` times, how long one CPU takes to copy 1 KiB that another CPU wrote last. If `writer` is the same
/// CPU as `reader`, that CPU copies what its own caches hold.
///
/// # Errors
/// The system's, if a CPU does not exist or `SCHED_FIFO` is not permitted; [`NotMeasured::Starved`] if others keep one
/// of the CPUs.
pub fn copies(reader: u16, writer: u16, count: usize) -> Result<Samples, NotMeasured> {
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
                    // This fails, as intended, if the turn is `DONE` by now.
                    let _ = turn.compare_exchange(COPY, WRITE, Ordering::AcqRel, Ordering::Acquire);
                    took_ns
                })
            })
            .map_err(NotMeasured::from)
            .and_then(|reads| {
                // Without `DONE`, the reader would wait until the time of the measurement is over for a writer that
                // could not get to its CPU and priority.
                crew.wait_for(|| reads.has_ended() || writes.has_ended());
                turn.store(DONE, Ordering::Release);
                crew.joined(reads)
            });
        turn.store(DONE, Ordering::Release);
        // A thread that the system refuses keeps the other one waiting: its refusal is the cause.
        match (found, crew.joined(writes)) {
            (Err(why @ NotMeasured::System(_)), _) | (_, Err(why)) => Err(why),
            (found, Ok(())) => found,
        }
    })
}

fn samples(count: usize, mut one: impl FnMut() -> u64) -> Samples {
    Samples::of((0..count.max(1)).map(|_| one()).collect()).expect("at least one")
}

/// Copies all words out and returns the time per 1 KiB in ns, rounded up.
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
