// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! From one thread to a more urgent one of the same core.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use taut_sys::{Result, clock, futex};

use crate::Spread;
use crate::station::{MEASURES, SERVES, joined, post};

const ASLEEP: u32 = 0;
const AWAKE: u32 = 1;
const LAST: u32 = 2;

/// From the wake of a more urgent thread to its first instruction, `count` times; the system call is part of it.
///
/// # Errors
/// The system's, if the CPU is not there or `SCHED_FIFO` is not permitted.
pub fn switches(cpu: u16, count: usize) -> Result<Spread> {
    let (word, woken_ns) = (AtomicU32::new(ASLEEP), AtomicU64::new(0));
    let wake = |how| {
        woken_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        word.store(how, Ordering::Release);
        // An error could only mean that the word is not mapped.
        let _ = futex::wake(&word, 1, false);
    };
    std::thread::scope(|scope| {
        let urgent = post(scope, cpu, MEASURES, || {
            let mut samples = Vec::with_capacity(count + 1);
            samples.resize(count + 1, 1);
            samples.clear();
            loop {
                while word.load(Ordering::Acquire) == ASLEEP {
                    let _ = futex::wait(&word, ASLEEP, None, false);
                }
                samples.push(clock::monotonic_ns().saturating_sub(woken_ns.load(Ordering::Relaxed)));
                if word.swap(ASLEEP, Ordering::AcqRel) == LAST {
                    return samples;
                }
            }
        });
        let other = post(scope, cpu, SERVES, || {
            for _ in 0..count.max(1) {
                wake(AWAKE);
                // It runs on this core before this thread goes on; where priorities do not hold, it takes longer.
                while word.load(Ordering::Acquire) != ASLEEP {
                    std::thread::yield_now();
                }
            }
        });
        let served = other.and_then(joined);
        // The last one ends the urgent thread, also where the other could not be at its station.
        wake(LAST);
        let mut samples = joined(urgent?)?;
        served?;
        samples.pop();
        Ok(Spread::of(samples).expect("at least one"))
    })
}
