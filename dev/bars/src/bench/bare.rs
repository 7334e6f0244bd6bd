// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The loop that a programmer would write by hand: a pinned SCHED_FIFO thread that sleeps until each release with an
//! absolute `clock_nanosleep` and records how late it woke. No sleep on Linux wakes more promptly.

use std::thread;
use std::time::Duration;

use taut_sys::{clock, thread as own};

/// The settings of the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    /// The CPU to which it is pinned.
    pub(crate) cpu: u16,
    /// Its SCHED_FIFO priority.
    pub(crate) priority: u8,
    /// The time between two releases.
    pub(crate) period: Duration,
    /// The number of releases.
    pub(crate) releases: usize,
}

/// Runs the loop in a new thread. Returns, for each release, the time from the release to the first instruction after
/// it, in ns.
///
/// # Errors
/// Without the privilege for real-time priorities, or if the CPU does not exist.
pub(crate) fn run(settings: Loop) -> Result<Vec<u64>, String> {
    let thread = thread::Builder::new().name("bare".into()).spawn(move || measured(settings));
    let thread = thread.map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the bare loop panicked".to_owned())?
}

fn measured(settings: Loop) -> Result<Vec<u64>, String> {
    let said = |error: taut_sys::Error| error.to_string();
    own::set_affinity(&[settings.cpu]).map_err(said)?;
    own::set_fifo(settings.priority).map_err(said)?;
    // Write the memory once, so that no release pays for a page fault.
    let mut late = vec![1_u64; settings.releases];
    let period = u64::try_from(settings.period.as_nanos()).map_err(|error| error.to_string())?;
    let begin = clock::monotonic_ns() + 10 * period;
    let mut release = begin;
    for late in &mut late {
        clock::sleep_until(release);
        *late = clock::monotonic_ns().saturating_sub(release);
        release += period;
    }
    own::set_other().map_err(said)?;
    Ok(late)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_after_each_release_and_never_drifts() {
        let period = Duration::from_millis(1);
        let begin = clock::monotonic_ns();
        let late = run(Loop { cpu: own::online_cpus()[0], priority: 10, period, releases: 50 });
        match late {
            Ok(late) => {
                assert_eq!(late.len(), 50);
                assert!(late.iter().all(|&late| late > 0));
                assert!(clock::monotonic_ns() - begin >= 59_000_000);
            }
            // Without the privilege the loop must refuse, not measure something else.
            Err(why) => assert!(why.contains("sched_setscheduler"), "{why}"),
        }
    }
}
