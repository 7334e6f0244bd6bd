// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How late a thread is that sleeps until an instant.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use taut_sys::{clock, memory};

use crate::thread_placement::{Crew, MEASURES, ORDINARY};
use crate::{Refused, Spread};

/// Between two releases: off the phase of what runs every millisecond.
const PERIOD_NS: u64 = 1_030_000;
/// What is mapped and given back in one system call each: long ones, of which a kernel that cannot be preempted makes a
/// more urgent thread wait.
const MAP_BYTES: usize = 1 << 20;

/// How late the first instruction after a sleep is, `count` times, on a core where nothing else of ours runs. Takes about
/// a millisecond for each.
///
/// # Errors
/// The system's, if the CPU is not there or `SCHED_FIFO` is not permitted; [`Refused::Starved`] if others keep the CPU.
pub fn releases(cpu: u16, count: usize) -> Result<Spread, Refused> {
    let crew = Crew::new(taken(count));
    std::thread::scope(|scope| crew.joined(crew.post(scope, cpu, MEASURES, || late(&crew, count))?))
}

/// How long so many releases take.
fn taken(count: usize) -> Duration {
    Duration::from_nanos(PERIOD_NS.saturating_mul(count as u64))
}

/// The same while an ordinary thread of the core maps and touches memory and gives it back.
///
/// # Errors
/// As [`releases`].
pub fn releases_beside_calls(cpu: u16, count: usize) -> Result<Spread, Refused> {
    let crew = Crew::new(taken(count));
    let (called, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let other = crew.post(scope, cpu, ORDINARY, || {
            while !done.load(Ordering::Relaxed) {
                // Where memory is short there are other long calls; this one fails, and is made again.
                drop(memory::map_anonymous(MAP_BYTES));
                if !called.swap(true, Ordering::Relaxed) {
                    crew.wake();
                }
            }
        })?;
        // Nothing is measured beside a thread that does not run.
        crew.wait_for(|| called.load(Ordering::Relaxed) || other.has_ended());
        let found = crew
            .post(scope, cpu, MEASURES, || late(&crew, count))
            .map_err(Refused::from)
            .and_then(|measures| crew.joined(measures));
        done.store(true, Ordering::Relaxed);
        crew.joined(other)?;
        found
    })
}

fn late(crew: &Crew, count: usize) -> Spread {
    // Written once, so that no release pays for a page fault.
    let mut late = vec![1_u64; count.max(1)];
    let mut due_ns = clock::monotonic_ns() + 10 * PERIOD_NS;
    for late in &mut late {
        if crew.is_given_up() {
            break;
        }
        clock::sleep_until(due_ns);
        let now_ns = clock::monotonic_ns();
        *late = now_ns.saturating_sub(due_ns);
        // A release that was missed altogether is part of this one's lateness, not a sample of its own.
        due_ns += PERIOD_NS * (1 + *late / PERIOD_NS);
    }
    Spread::of(late).expect("at least one")
}
