// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Baselines for releases: a bare loop that sleeps until each release, under SCHED_FIFO and under SCHED_DEADLINE; a
//! thread that another thread of its processor wakes; a read of the clock.

use std::hint::black_box;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread;
use std::time::Duration;

use taut_sys::{clock, futex, thread as own};

use super::partner::{Row, repeated};
use crate::clock::now;
use crate::figures::{Figures, percentile};
use crate::surroundings::Surroundings;

/// The rows for the list of all.
pub(super) fn rows() -> Vec<Box<dyn Row>> {
    let row = |name, trial, run| Box::new(Measure { name, trial, run }) as Box<dyn Row>;
    vec![
        row("bare SCHED_FIFO loop", "release", |surroundings| looped(surroundings, Policy::Fifo)),
        row("bare SCHED_DEADLINE loop", "release", |surroundings| looped(surroundings, Policy::Deadline)),
        row("futex wake on one processor", "preempt", woken),
        row("a look at the clock", "alone", |surroundings| {
            let near = |_: &_| repeated(surroundings, || _ = black_box(clock::monotonic_ns()));
            surroundings.both(near, |_| ()).map(|(figures, _)| figures)
        }),
    ]
}

struct Measure {
    name: &'static str,
    trial: &'static str,
    run: fn(&Surroundings) -> Result<Figures, String>,
}

impl Row for Measure {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ours(&self) -> bool {
        false
    }

    fn trial(&self) -> &'static str {
        self.trial
    }

    fn run(&self, surroundings: &Surroundings) -> Result<Figures, String> {
        (self.run)(surroundings)
    }
}

/// Priority of the threads here: above those of a trial.
const PRIORITY: u8 = 80;
/// The time between two releases.
pub(super) const PERIOD: Duration = Duration::from_micros(700);
/// The number of releases in a round.
pub(super) const RELEASES: u32 = 400;
/// The runtime of a SCHED_DEADLINE thread in each period.
const RUNTIME: Duration = Duration::from_micros(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Fifo,
    Deadline,
}

/// ns from each release to the first instruction after it, in a thread of its own on the near processor.
fn looped(surroundings: &Surroundings, policy: Policy) -> Result<Figures, String> {
    let (cpu, count) = (surroundings.cpus[0], RELEASES / surroundings.haste);
    let thread = thread::spawn(move || {
        own::set_affinity(&[cpu]).map_err(|error| error.to_string())?;
        match policy {
            Policy::Fifo => own::set_fifo(PRIORITY).map_err(|error| error.to_string())?,
            Policy::Deadline => deadline::enter(RUNTIME, PERIOD)?,
        }
        // Written once, so that no release pays for a page fault.
        let mut late = vec![1_u64; count as usize];
        let period = PERIOD.as_nanos() as u64;
        let mut release = clock::monotonic_ns() + 10 * period;
        for late in &mut late {
            clock::sleep_until(release);
            *late = clock::monotonic_ns().saturating_sub(release);
            release += period;
        }
        Ok(late)
    });
    let late: Result<Vec<u64>, String> = thread.join().map_err(|_| "the loop panicked".to_owned())?;
    Ok(percentiles(late?.iter().map(|ns| *ns as f64).collect()))
}

/// The median, and the 99th percentile.
pub(super) fn percentiles(ns: Vec<f64>) -> Figures {
    let mut whole: Vec<u64> = ns.iter().map(|ns| ns.round() as u64).collect();
    let mut at = |share| percentile(&mut whole, share) as f64;
    Figures::from([("ns", at(0.5)), ("p99", at(0.99)), ("n", ns.len() as f64)])
}

/// The number of wakes in a round.
const WAKES: u32 = 400;

/// ns from a wake to the first instruction of the woken thread, which preempts the waker on its processor.
fn woken(surroundings: &Surroundings) -> Result<Figures, String> {
    let cpu = surroundings.cpus[0];
    let (word, stamp, over) = (AtomicU32::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let ready = AtomicBool::new(false);
    let count = WAKES / surroundings.haste;
    let join = |priority: u8| {
        own::set_affinity(&[cpu]).and_then(|()| own::set_fifo(priority)).map_err(|error| error.to_string())
    };
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let joined = join(PRIORITY);
            let mut ticks = vec![1_u64; count as usize];
            let mut seen = 0;
            ready.store(true, Release);
            while seen < count && joined.is_ok() {
                let woken = futex::wait(&word, seen, None, false);
                let at = now();
                let next = word.load(Acquire);
                if over.load(Acquire) {
                    break;
                }
                if next != seen {
                    // A thread that did not sleep was not woken: it came too late, after the word had changed.
                    let slept = woken == Ok(futex::Waited::Woken);
                    ticks[seen as usize] = if slept { at.wrapping_sub(stamp.load(Relaxed)) } else { 0 };
                    seen = next;
                }
            }
            joined.map(|()| ticks)
        });
        let waker = scope.spawn(|| {
            let joined = join(PRIORITY - 1);
            while !ready.load(Acquire) {
                thread::sleep(Duration::from_micros(50));
            }
            for turn in 1..=count {
                if joined.is_err() {
                    break;
                }
                // The sleeper has the higher priority: when this thread runs, the sleeper sleeps.
                stamp.store(now(), Relaxed);
                word.store(turn, Release);
                let _ = futex::wake(&word, 1, false);
            }
            over.store(true, Release);
            word.fetch_add(1, Release);
            let _ = futex::wake(&word, 1, false);
            joined
        });
        let panicked = |_| "a thread panicked".to_owned();
        waker.join().map_err(panicked)??;
        let ticks = sleeper.join().map_err(panicked)??;
        let slept: Vec<f64> =
            ticks.into_iter().filter(|ticks| *ticks > 1).map(|ticks| surroundings.clock.ns(ticks)).collect();
        if slept.is_empty() { Err("it never slept".into()) } else { Ok(percentiles(slept)) }
    })
}

/// SCHED_DEADLINE. As long as the kernel admits threads by load, it refuses this policy to a thread that is pinned to
/// one processor. The admission is switched off for that one call.
mod deadline {
    use std::fs;
    use std::time::Duration;

    const KNOB: &str = "/proc/sys/kernel/sched_rt_runtime_us";

    /// The layout is the kernel's.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }

    const SCHED_DEADLINE: u32 = 6;

    fn set(runtime: Duration, period: Duration) -> Result<(), std::io::Error> {
        let attributes = Attributes {
            size: size_of::<Attributes>() as u32,
            policy: SCHED_DEADLINE,
            flags: 0,
            nice: 0,
            priority: 0,
            runtime: runtime.as_nanos() as u64,
            deadline: period.as_nanos() as u64,
            period: period.as_nanos() as u64,
        };
        // SAFETY: the attributes are as long as they say, and outlive the call.
        let code = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(&attributes), 0) };
        if code == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    /// Lifts a limit of the kernel; the drop restores it.
    struct Lifted(String);

    impl Lifted {
        fn new() -> Result<Self, String> {
            let said = |error: std::io::Error| format!("{KNOB}: {error}");
            let before = fs::read_to_string(KNOB).map_err(said)?;
            fs::write(KNOB, "-1").map_err(said)?;
            Ok(Self(before))
        }
    }

    impl Drop for Lifted {
        fn drop(&mut self) {
            if let Err(error) = fs::write(KNOB, self.0.trim()) {
                eprintln!("{KNOB} is left at -1, it was {}: {error}", self.0.trim());
            }
        }
    }

    /// Puts this thread under SCHED_DEADLINE.
    ///
    /// # Errors
    /// The error of the kernel.
    pub(super) fn enter(runtime: Duration, period: Duration) -> Result<(), String> {
        let first = match set(runtime, period) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let refused = |error| format!("SCHED_DEADLINE on one processor: {error}");
        if first.raw_os_error() != Some(libc::EPERM) {
            return Err(refused(first));
        }
        let _lifted = Lifted::new().map_err(|why| format!("{}, and {why}", refused(first)))?;
        set(runtime, period).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_come_late_and_what_is_refused_says_why() {
        let surroundings = Surroundings::new(20).expect("two processors");
        let knob = || std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").ok();
        let before = knob();
        for row in rows() {
            match row.run(&surroundings) {
                Ok(figures) => assert!(figures["ns"] > 0.0, "{}: {figures:?}", row.name()),
                // The privilege is missing.
                Err(why) => assert!(row.trial() != "alone" && !why.is_empty(), "{}: {why}", row.name()),
            }
        }
        assert_eq!(knob(), before, "set back");
    }
}
