// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs that need admission, and event counts that are notified too often.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_event::Kind;
use taut_lock::EventCount;
use taut_time::{Duration, Instant};

use super::{Canary, Random, alone, busy, cpu, drained, postures};
use crate::{CoreResource, Job, LocalRule, Overrun, RecordingLevel, Release, Setup, TaskSetup, Wanted, Work};

fn every(us: u64) -> Release {
    Release::Periodic { period: Duration::from_us(us), offset: Duration::ZERO }
}

/// Admits releases one by one, as far as `may` allows.
struct Doorkeeper<'a> {
    may: &'a AtomicU64,
    /// The releases that it has learned of: admitted, or passed over.
    counted: u64,
    ran: &'a AtomicU64,
    passed: &'a AtomicU64,
    bus: CoreResource<Canary>,
    work_ns: u64,
}

impl Work for Doorkeeper<'_> {
    fn run(&mut self, job: &mut Job<'_>) {
        assert_eq!(job.number() + 1, self.counted, "the one that was admitted last");
        assert!(self.may.load(Ordering::Acquire) > job.number());
        self.ran.fetch_add(1, Ordering::Relaxed);
        let whole = job.lock(&self.bus, |canary, _| canary.change(1, || busy(20_000))).unwrap();
        assert!(whole, "two had it at once");
        busy(self.work_ns);
    }

    fn admit(&mut self, next: u64, begins: bool) -> bool {
        assert!(self.counted <= next, "{} {next}", self.counted);
        while self.counted < next + u64::from(begins) {
            if self.may.load(Ordering::Acquire) <= self.counted {
                return false;
            }
            self.passed.fetch_add(u64::from(self.counted < next), Ordering::Relaxed);
            self.counted += 1;
        }
        true
    }
}

fn admit(wanted: Wanted, rule: LocalRule, overrun: Overrun, seed: u64) {
    let (may, ran, passed, events) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), EventCount::new());
    let mut setup = Setup::new();
    let core = setup.core(cpu(), rule);
    let bus = setup.resource(core, Canary::default());
    let mut drain = setup.record(core, RecordingLevel::All, 1 << 14);
    let urgent = TaskSetup::new("urgent", every(1_000)).priority(2).overrun(overrun).uses(&bus).admitted();
    let work_ns = if overrun == Overrun::SkipNext { 900_000 } else { 50_000 };
    let keeper = Doorkeeper { may: &may, counted: 0, ran: &ran, passed: &passed, bus: bus.clone(), work_ns };
    let urgent = setup.task(core, urgent, keeper);
    let slow = TaskSetup::new("slow", every(3_000)).overrun(Overrun::SkipNext).uses(&bus);
    setup.task(core, slow, move |job: &mut Job<'_>| {
        let whole = job.lock(&bus, |canary, _| canary.change(2, || busy(700_000))).unwrap();
        assert!(whole, "two had it at once");
    });
    setup.listen_for_admission(core, events.listener()).unwrap();
    let (_, outcome) = setup
        .run(wanted, |exec| {
            let (mut notifier, mut random) = (events.notifier(), Random(seed));
            exec.end_at(Instant::from_ns(exec.origin().as_ns() + 60_000_000));
            for _ in 0..60 {
                // First some releases behind those that have arrived, and later ahead of them.
                std::thread::sleep(Time::from_micros(random.below(2_500)));
                may.fetch_add(random.below(4), Ordering::Release);
                notifier.notify();
            }
            may.store(u64::MAX, Ordering::Release);
            notifier.notify();
            while ran.load(Ordering::Relaxed) + passed.load(Ordering::Relaxed) < 60 {
                std::thread::sleep(Time::from_millis(1));
            }
        })
        .unwrap();
    let of = outcome.tasks[urgent.index()];
    let (ran, passed) = (ran.into_inner(), passed.into_inner());
    assert_eq!(
        (of.completed, of.skipped, ran + passed),
        (ran, passed, 60),
        "of 60 ms, each is asked of once"
    );
    assert!(overrun != Overrun::SkipNext || passed > 0, "{of:?}");
    // The records are in order, each written when its release was admitted or passed over.
    let records = drained(&mut drain);
    let reported = records.iter().filter(|record| matches!(record.kind, Kind::Release | Kind::Skip));
    let reported: Vec<u64> = reported.filter(|record| record.subject == 0).map(|record| record.job).collect();
    assert!(reported.iter().copied().eq(0..60), "{reported:?}");
}

/// Under floors, a waiting release is due by its arrival. A job that locks meanwhile must respect that, or both would
/// have the resource.
#[test]
#[cfg_attr(miri, ignore = "takes more than 90 s")]
fn releases_wait_until_they_are_admitted() {
    let _alone = alone();
    for wanted in postures() {
        for (seed, rule) in [LocalRule::Immediate, LocalRule::Srp, LocalRule::Dfp].into_iter().enumerate() {
            for overrun in [Overrun::SkipNext, Overrun::RunOn] {
                admit(wanted, rule, overrun, seed as u64);
            }
        }
    }
}

/// The executor drops the releases that wait when it stops.
#[test]
fn no_job_waits_for_ever() {
    struct Never;
    impl Work for Never {
        fn run(&mut self, _: &mut Job<'_>) {
            unreachable!("it is not admitted");
        }
        fn admit(&mut self, _: u64, _: bool) -> bool {
            false
        }
    }
    let _alone = alone();
    for wanted in postures() {
        let mut setup = Setup::new();
        let core = setup.core(cpu(), LocalRule::Srp);
        let never = setup.task(core, TaskSetup::new("never", every(500)).admitted(), Never);
        let (_, outcome) = setup.run(wanted, |exec| exec.wait(Some(Time::from_millis(40)))).unwrap();
        let of = outcome.tasks[never.index()];
        assert!(of.released == 0 && of.completed == 0 && of.skipped > 0, "{of:?}");
    }
}

/// Looks for a value, and never finds one.
struct Fooled<'a>(&'a AtomicU64);

impl Work for Fooled<'_> {
    fn run(&mut self, _: &mut Job<'_>) {
        unreachable!("there is nothing");
    }

    fn poll(&mut self, _: u64) -> Option<u64> {
        self.0.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[test]
fn endless_notifications_do_not_occupy_the_dispatcher() {
    let _alone = alone();
    for wanted in postures() {
        for apart_ms in [0, 5] {
            let (looked, stop, events) = (AtomicU64::new(0), AtomicBool::new(false), EventCount::new());
            let mut setup = Setup::new();
            let core = setup.core(cpu(), LocalRule::Srp);
            let fooled = setup.task(core, TaskSetup::new("fooled", Release::Polled), Fooled(&looked));
            setup.listen_apart(fooled, events.listener(), Duration::from_ms(apart_ms)).unwrap();
            let mut epoch = 0_u64;
            let begun = std::time::Instant::now();
            setup
                .run(wanted, |exec| {
                    std::thread::scope(|threads| {
                        threads.spawn(|| {
                            let mut notifier = events.notifier();
                            while !stop.load(Ordering::Relaxed) {
                                notifier.notify();
                                epoch += 1;
                                busy(20_000);
                            }
                        });
                        // Longer if the machine is so busy that no task was asked yet.
                        let enough = if apart_ms == 0 { 26 } else { 2 };
                        for round in 0..1000 {
                            exec.wait(Some(Time::from_millis(10)));
                            if round >= 5 && looked.load(Ordering::Relaxed) >= enough {
                                break;
                            }
                        }
                        stop.store(true, Ordering::Relaxed);
                    });
                })
                .unwrap();
            let looked = looked.into_inner();
            match (begun.elapsed().as_millis() as u64).checked_div(apart_ms) {
                None => assert!(looked > 25, "{looked} of {epoch}: every one is answered"),
                Some(most) => {
                    assert!((2..=most + 2).contains(&looked), "{looked} of {epoch}, {most} times apart");
                }
            }
        }
    }
}
