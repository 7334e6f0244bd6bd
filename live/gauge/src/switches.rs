// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures the switch from one thread to a more urgent one of the same core.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use taut_sys::{clock, futex};

use crate::thread_placement::{Crew, MEASURES, SERVES};
use crate::{NotMeasured, Samples};

/// Generous upper bound on the time of one switch.
const TAKES: Duration = Duration::from_micros(50);

const ASLEEP: u32 = 0;
const AWAKE: u32 = 1;
const LAST: u32 = 2;

/// Measures, `count` times, the time from the wake of a more urgent thread to its first instruction, including the
/// system call.
///
/// # Errors
/// The system's, if the CPU does not exist or `SCHED_FIFO` is not permitted; [`NotMeasured::Starved`] if others keep
/// the CPU.
pub fn switches(cpu: u16, count: usize) -> Result<Samples, NotMeasured> {
    let crew = Crew::new(TAKES.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)));
    let (word, woken_ns) = (AtomicU32::new(ASLEEP), AtomicU64::new(0));
    let wake = |how| {
        woken_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        word.store(how, Ordering::Release);
        // An error could only mean that the word is not mapped.
        let _ = futex::wake(&word, 1, false);
    };
    std::thread::scope(|scope| {
        let urgent = crew.post(scope, cpu, MEASURES, || {
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
        let other = crew.post(scope, cpu, SERVES, || {
            for _ in 0..count.max(1) {
                wake(AWAKE);
                // The urgent thread runs on this core before this thread continues. Where priorities do not take
                // effect, this thread waits longer.
                while word.load(Ordering::Acquire) != ASLEEP && !crew.is_given_up() {
                    std::thread::yield_now();
                }
                if crew.is_given_up() {
                    break;
                }
            }
        });
        let served = other.map_err(NotMeasured::from).and_then(|other| crew.joined(other));
        // This last wake ends the urgent thread, even if the other thread could not get to its CPU and priority.
        wake(LAST);
        let mut samples = crew.joined(urgent?)?;
        served?;
        samples.pop();
        Ok(Samples::of(samples).expect("at least one"))
    })
}
