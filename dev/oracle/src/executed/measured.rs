// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures what this machine adds to every job, before sets are analysed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as Time;

use taut_exec::{Job, LocalRule, RecordingLevel, Release, Setup, TaskSetup, Wanted};
use taut_gauge::{Samples, releases, releases_beside_calls, switches};
use taut_sys::{clock, thread};
use taut_time::Duration;

use super::charge::Overheads;
use super::others;
use super::probe::{Seen, watch};

/// Samples of a measurement that takes a millisecond each.
const FEW: usize = 500;
/// Samples of a measurement that takes microseconds each.
const MANY: usize = 10_000;
/// How many of a thousand samples are not above an overhead. Samples above it come from the machine: see
/// [`super::silence`].
const PERMILLE: u32 = 990;
/// The same for kernel blocking of a release: the probe sees each case.
const PERMILLE_SEEN: u32 = 950;
/// The same for interrupts, which a long job meets often.
const PERMILLE_OFTEN: u32 = 800;
/// The period of the job that measures interrupts, and for how long it computes.
const LONG: Duration = Duration::from_ms(5);
const COMPUTES_NS: u64 = 3_000_000;
/// How long that measurement takes in all.
const TIME: Time = Time::from_millis(250);

/// How often the measurement is repeated if real-time threads of other processes ran during it.
const AGAIN: usize = 5;

/// The worst overheads of the first `cores` processors.
pub(crate) fn overheads(cores: usize) -> Result<Overheads, String> {
    let mut before = others::now();
    let mut found = once(cores)?;
    for _ in 0..AGAIN {
        let after = others::now();
        if others::ran(&before, &after).is_empty() {
            break;
        }
        before = after;
        found = once(cores)?;
    }
    Ok(found)
}

fn once(cores: usize) -> Result<Overheads, String> {
    let reported = |why: taut_gauge::NotMeasured| format!("cannot measure: {why}");
    let cpus = thread::affinity().map_err(|error| reported(error.into()))?;
    let mut worst = Overheads::default();
    for &cpu in cpus.iter().take(cores) {
        let idle = releases(cpu, FEW).map_err(reported)?;
        let beside = releases_beside_calls(cpu, FEW).map_err(reported)?;
        let switched = switches(cpu, MANY).map_err(reported)?;
        let (locks, reads) = sections(cpu)?;
        let most = |value: &mut u64, ns: u64| *value = (*value).max(ns);
        most(&mut worst.release_ns, idle.quantile(PERMILLE));
        most(&mut worst.kernel_ns, beside.quantile(PERMILLE_SEEN).saturating_sub(idle.median()));
        most(&mut worst.switch_ns, switched.quantile(PERMILLE));
        most(&mut worst.lock_ns, locks.quantile(PERMILLE));
        most(&mut worst.read_ns, reads.quantile(PERMILLE));
        most(&mut worst.visit_ns, interrupts(cpu, Interrupt::Dispatcher)?.quantile(PERMILLE_OFTEN));
        most(&mut worst.look_ns, interrupts(cpu, Interrupt::Probe)?.quantile(PERMILLE_OFTEN));
    }
    Ok(worst)
}

/// The samples that the jobs of a task collected; call it when all jobs are complete.
fn found<T: Send>(samples: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *samples.lock().unwrap_or_else(PoisonError::into_inner))
}

fn spread(samples: Vec<u64>, what: &str) -> Result<Samples, String> {
    Samples::of(samples).ok_or_else(|| format!("cannot measure {what}: no job reached it"))
}

/// The cost of an empty recorded section, and of the clock reads that a job makes.
fn sections(cpu: u16) -> Result<(Samples, Samples), String> {
    let samples = Arc::new(Mutex::new(Vec::with_capacity(MANY)));
    let mut setup = Setup::new();
    let core = setup.core(cpu, LocalRule::Srp);
    let resource = setup.resource(core, ());
    let _drain = setup.record(core, RecordingLevel::All, 1 << 16);
    let period = Release::Periodic { period: Duration::from_ms(2), offset: Duration::ZERO };
    let (own, kept) = (resource.clone(), Arc::clone(&samples));
    setup.task(core, TaskSetup::new("sections", period).uses(&resource), move |job: &mut Job<'_>| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..200 {
            let begin = clock::monotonic_ns();
            let _ = job.lock(&own, |(), _| ());
            let between = clock::monotonic_ns();
            std::hint::black_box(clock::thread_cpu_ns());
            kept.push((between - begin, clock::monotonic_ns() - between));
        }
    });
    let wait = setup.run(Wanted::Strict, |exec| exec.wait(Some(Time::from_millis(50))));
    wait.map_err(|error| error.to_string())?;
    let (locks, reads) = found(&samples).into_iter().unzip();
    Ok((spread(locks, "a section")?, spread(reads, "a look at the clock")?))
}

/// The source of the interrupts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    /// Records the release of a waiting job, every millisecond.
    Dispatcher,
    Probe,
}

/// How long an interrupt, once in a millisecond or less, keeps a computing job off its core.
fn interrupts(cpu: u16, by: Interrupt) -> Result<Samples, String> {
    let samples = Arc::new(Mutex::new(Vec::with_capacity(MANY)));
    let mut setup = Setup::new();
    let core = setup.core(cpu, LocalRule::Immediate);
    let _drain = setup.record(core, RecordingLevel::All, 1 << 16);
    let kept = Arc::clone(&samples);
    let long = Release::Periodic { period: LONG, offset: Duration::ZERO };
    setup.task(core, TaskSetup::new("long", long).priority(2), move |_: &mut Job<'_>| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = clock::monotonic_ns();
        // The longest gap in each millisecond: that of its interrupt.
        let (mut before, mut longest) = (begin, [0_u64; (COMPUTES_NS / 1_000_000) as usize]);
        while before - begin < COMPUTES_NS {
            let now = clock::monotonic_ns();
            if let Some(longest) = longest.get_mut(((before - begin) / 1_000_000) as usize) {
                *longest = (*longest).max(now - before);
            }
            before = now;
        }
        kept.extend(longest);
    });
    if by == Interrupt::Dispatcher {
        for at in 0..5 {
            let offset = Duration::from_us(500 + 1_000 * at);
            let often = Release::Periodic { period: LONG, offset };
            setup.task(core, TaskSetup::new("often", often), |_: &mut Job<'_>| ());
        }
    }
    let (seen, stop) = (Seen::new(), AtomicBool::new(by != Interrupt::Probe));
    let run = setup.run(Wanted::Strict, |exec| {
        std::thread::scope(|scope| {
            scope.spawn(|| watch(cpu, 0, &[], &seen, &stop));
            exec.wait(Some(TIME));
            stop.store(true, Ordering::Relaxed);
        });
    });
    run.map_err(|error| error.to_string())?;
    spread(found(&samples), "an interrupt")
}
