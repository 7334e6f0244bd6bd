// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Test C on threads, with our executor: from the instant of a release to the first instruction of its job, while
//! other tasks are ready, one of which runs.

use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time;

use taut_exec::{Job, LocalRule, Release, Setup, TaskId, TaskSetup, Wanted};
use taut_sys::{clock, thread};
use taut_time::Duration;

use super::rules::Variant;
use crate::fit::spread;

/// Ready tasks beside the short one, up to the most that a core can have started at once.
pub(super) const OTHERS: [u32; 20] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 85, 89];
/// The compared rules that the executor has.
pub(super) const VARIANTS: [Variant; 2] = [Variant::Srp, Variant::Dfp];

/// The time between two releases.
const PERIOD: Duration = Duration::from_us(700);
/// First releases that do not count: caches are cold.
const WARM: usize = 5;
/// The priority of the bare loop: the highest of the executor's workers.
const PRIORITY: u8 = 96;

/// How much to time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) rounds: usize,
    /// Releases of a rule beside a number of others.
    pub(super) releases: usize,
}

/// Medians in us, one for each round.
#[derive(Clone, Debug, Default)]
pub(super) struct Activations {
    pub(super) dispatched: BTreeMap<(Variant, u32), Vec<f64>>,
    /// A loop that sleeps until each release.
    pub(super) bare: Vec<f64>,
}

/// Times all rules, and the bare loop.
///
/// # Errors
/// There is no privilege for SCHED_FIFO, or the jobs do not end in time.
pub(super) fn activations(effort: &Effort) -> Result<Activations, String> {
    // The limit on wake-up latency holds to the end. If the system refuses it, all measurements lack it alike.
    let _hold = taut_sys::machine::dma_latency_hold();
    let cpu = thread::affinity().map_err(said)?.first().copied().ok_or("no processor")?;
    let mut all = Activations::default();
    for _ in 0..effort.rounds {
        all.bare.push(bare(cpu, effort.releases)?);
        for others in OTHERS {
            for variant in VARIANTS {
                let time = dispatched(cpu, variant, others, effort.releases)?;
                all.dispatched.entry((variant, others)).or_default().push(time);
            }
        }
    }
    Ok(all)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn middle_us(late: &[u64]) -> f64 {
    let late: Vec<f64> = late.iter().skip(WARM).map(|ns| *ns as f64 / 1e3).collect();
    spread(&late)[1]
}

/// Times a loop that sleeps until each release; the median in us.
fn bare(cpu: u16, releases: usize) -> Result<f64, String> {
    let sleeper = std::thread::spawn(move || {
        thread::set_affinity(&[cpu]).and_then(|()| thread::set_fifo(PRIORITY)).map_err(said)?;
        let mut late = vec![1_u64; releases + WARM];
        let mut due = clock::monotonic_ns() + 10 * PERIOD.as_ns();
        for late in &mut late {
            clock::sleep_until(due);
            *late = clock::monotonic_ns().saturating_sub(due);
            due += PERIOD.as_ns();
        }
        Ok(middle_us(&late))
    });
    sleeper.join().map_err(|_| "the bare loop panicked".to_owned())?
}

/// Times a short task that is released again and again, beside others with longer deadlines; the median in us.
fn dispatched(cpu: u16, variant: Variant, others: u32, releases: usize) -> Result<f64, String> {
    let rule = if variant == Variant::Dfp { LocalRule::Dfp } else { LocalRule::Srp };
    let (done, late) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let mut setup = Setup::new();
    let core = setup.core(cpu, rule);
    let each = Release::Periodic { period: PERIOD, offset: Duration::from_ms(5) };
    let mut seen = Vec::with_capacity(releases + WARM);
    let (ended, place) = (&done, &late);
    setup.task(core, TaskSetup::new("short", each), move |job: &mut Job<'_>| {
        let now = clock::monotonic_ns();
        if seen.len() < releases + WARM {
            seen.push(now.saturating_sub(job.arrival().as_ns()));
        } else if !ended.load(Ordering::Relaxed) {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut seen);
            ended.store(true, Ordering::Release);
        }
    });
    let longer = |at: u32| Duration::from_ms(1_000 + u64::from(at));
    let waiting: Vec<TaskId> = (1..others)
        .map(|at| {
            let task = TaskSetup::new("waits", Release::ByHand).deadline(longer(at));
            setup.task(core, task, |_: &mut Job<'_>| {})
        })
        .collect();
    // The running one of the others releases the rest, which are less urgent and stay ready.
    let spins = move |job: &mut Job<'_>| {
        let released = waiting.iter().try_for_each(|task| job.release(*task));
        while released.is_ok() && !ended.load(Ordering::Acquire) {
            spin_loop();
        }
    };
    let first = (others > 0).then(|| {
        let task = TaskSetup::new("spins", Release::ByHand).deadline(longer(0));
        setup.task(core, task, spins)
    });
    let ran = setup.run(Wanted::Strict, |exec| {
        let released = first.map_or(Ok(()), |first| exec.release(first));
        let patience = time::Instant::now() + time::Duration::from_secs(5);
        while released.is_ok() && !done.load(Ordering::Acquire) && time::Instant::now() < patience {
            std::thread::sleep(time::Duration::from_millis(1));
        }
        // The spinning job must end, too.
        let whole = done.swap(true, Ordering::AcqRel);
        released.map(|()| whole)
    });
    match ran.map_err(said)?.0 {
        Ok(true) => Ok(middle_us(&late.into_inner().unwrap_or_else(PoisonError::into_inner))),
        Ok(false) => Err("the jobs did not end in time".into()),
        Err(error) => Err(said(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_its_time_or_needs_the_privilege() {
        match activations(&Effort { rounds: 1, releases: 3 }) {
            Ok(all) => {
                assert_eq!(all.dispatched.len(), OTHERS.len() * VARIANTS.len());
                assert!(all.dispatched.values().flatten().chain(&all.bare).all(|us| *us > 0.0), "{all:?}");
            }
            Err(why) => assert!(why.contains("sched") || why.contains("in time"), "{why}"),
        }
    }
}
