// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures how late a thread wakes that sleeps until an instant.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use taut_sys::{clock, memory};

use crate::thread_placement::{Crew, MEASURES, ORDINARY};
use crate::{NotMeasured, Samples};

/// Time between two releases: not a multiple of 1 ms, so that they drift against activity that recurs every
/// millisecond.
const PERIOD_NS: u64 = 1_030_000;
/// Bytes that one system call maps and another unmaps. The calls are long: meanwhile a kernel that cannot be preempted
/// makes a more urgent thread wait.
const MAP_BYTES: usize = 1 << 20;

/// Measures, `count` times, how late the first instruction after a sleep is, on a core where no other thread of ours
/// runs. Takes about a millisecond for each.
///
/// # Errors
/// The system's, if the CPU does not exist or `SCHED_FIFO` is not permitted; [`NotMeasured::Starved`] if others keep
/// the CPU.
pub fn releases(cpu: u16, count: usize) -> Result<Samples, NotMeasured> {
    let crew = Crew::new(taken(count));
    std::thread::scope(|scope| crew.joined(crew.post(scope, cpu, MEASURES, || late(&crew, count))?))
}

/// How long `count` releases take.
fn taken(count: usize) -> Duration {
    Duration::from_nanos(PERIOD_NS.saturating_mul(count as u64))
}

/// As [`releases`], while an ordinary thread of the core keeps mapping, touching and unmapping memory.
///
/// # Errors
/// As [`releases`].
pub fn releases_beside_calls(cpu: u16, count: usize) -> Result<Samples, NotMeasured> {
    let crew = Crew::new(taken(count));
    let (called, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let other = crew.post(scope, cpu, ORDINARY, || {
            while !done.load(Ordering::Relaxed) {
                // Where memory is short, other calls are long; this call fails, and the loop makes it again.
                drop(memory::map_anonymous(MAP_BYTES));
                if !called.swap(true, Ordering::Relaxed) {
                    crew.wake();
                }
            }
        })?;
        // A measurement beside a thread that does not run yet would measure nothing.
        crew.wait_for(|| called.load(Ordering::Relaxed) || other.has_ended());
        let found = crew
            .post(scope, cpu, MEASURES, || late(&crew, count))
            .map_err(NotMeasured::from)
            .and_then(|measures| crew.joined(measures));
        done.store(true, Ordering::Relaxed);
        crew.joined(other)?;
        found
    })
}

fn late(crew: &Crew, count: usize) -> Samples {
    // The vector is written here, so that no release takes a page fault.
    let mut late = vec![1_u64; count.max(1)];
    let mut due_ns = clock::monotonic_ns() + 10 * PERIOD_NS;
    for late in &mut late {
        if crew.is_given_up() {
            break;
        }
        clock::sleep_until(due_ns);
        let now_ns = clock::monotonic_ns();
        *late = now_ns.saturating_sub(due_ns);
        // A release that was missed entirely is part of this release's lateness, not a sample of its own.
        due_ns += PERIOD_NS * (1 + *late / PERIOD_NS);
    }
    Samples::of(late).expect("at least one")
}
