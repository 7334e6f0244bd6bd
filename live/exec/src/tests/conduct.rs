// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the executor counts of jobs: their own processor time, and what they must not do.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration as Time;

use taut_event::{Counter, Kind, Record};
use taut_model::{ArrivalPattern, Body, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::replay::Replay;
use taut_sim::{RecordedServer, Rules};
use taut_sys::{clock, thread, usage::thread_usage};
use taut_time::Duration;

use super::{alone, busy, cpu, drained, postures};
use crate::{
    CoreResource, Enforcement, ExecOutcome, GlobalRule, Job, LocalRule, Overrun, RecordingLevel, Release,
    ServerPolicy, ServerSetup, Setup, TaskSetup, Wanted,
};

const RULES: [LocalRule; 4] = [LocalRule::Original, LocalRule::Immediate, LocalRule::Srp, LocalRule::Dfp];

fn every(us: u64) -> Release {
    Release::Periodic { period: Duration::from_us(us), offset: Duration::ZERO }
}

/// Sleeps once. A sleep whose timer expires before the thread has left the processor, because the machine stood still
/// in between, is none, and is repeated.
fn sleep(us: u64) {
    let switches = || thread_usage().voluntary_switches;
    let before = switches();
    while switches() == before {
        std::thread::sleep(Time::from_micros(us));
    }
}

fn sum(records: &[Record], kind: Kind, job: Option<u64>) -> u64 {
    let of = |record: &&Record| record.kind == kind && job.is_none_or(|job| record.job == job);
    records.iter().filter(of).map(|record| record.value).sum()
}

/// Runs one task's work for a time; returns the outcome and the records.
fn run<'w>(wanted: Wanted, mut setup: Setup<'w>, core: crate::CoreId, ms: u64) -> (ExecOutcome, Vec<Record>) {
    let mut drain = setup.record(core, RecordingLevel::All, 1 << 16);
    let (_, outcome) = setup.run(wanted, |_| std::thread::sleep(Time::from_millis(ms))).unwrap();
    (outcome, drained(&mut drain))
}

/// For each rule: a sleep while the job holds a resource is found although no other job runs, and a sleep without one
/// is counted.
#[test]
fn a_sleep_is_counted_and_found_where_something_is_held() {
    let _alone = alone();
    for wanted in postures().into_iter().filter(|wanted| *wanted == Wanted::Strict) {
        for rule in RULES {
            for (held, nested) in [(true, false), (true, true), (false, false)] {
                let mut setup = Setup::new();
                let core = setup.core(cpu(), rule);
                let (outer, inner) = (setup.resource(core, ()), setup.resource(core, ()));
                let uses = TaskSetup::new("t", every(5_000)).uses(&outer).uses(&inner);
                setup.task(core, uses, move |job: &mut Job<'_>| {
                    if !held {
                        sleep(200);
                    }
                    job.lock(&outer, |(), job| {
                        if held {
                            sleep(200);
                        }
                        if nested {
                            job.lock(&inner, |(), _| sleep(200)).unwrap();
                        }
                    })
                    .unwrap();
                    job.lock(&outer, |(), _| busy(10_000)).unwrap();
                });
                let (outcome, records) = run(wanted, setup, core, 60);
                let task = outcome.tasks[0];
                let each = 1 + u64::from(nested);
                assert!(task.completed > 3, "{outcome:?}");
                assert_eq!(task.blocked, task.completed * each, "{rule:?} {held} {nested}");
                let inside = if held { task.blocked } else { 0 };
                assert_eq!(task.blocked_inside, inside, "{rule:?} {held} {nested}");
                assert_eq!(sum(&records, Kind::Slept, None), inside);
                assert_eq!(sum(&records, Kind::Counted, Some(Counter::Blocked as u64)), task.blocked);
            }
        }
    }
}

/// The same with a resource of several cores.
#[test]
fn a_sleep_with_what_other_cores_use_is_found() {
    let _alone = alone();
    for wanted in postures().into_iter().filter(|wanted| *wanted == Wanted::Strict) {
        for protocol in [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong] {
            let mut setup = Setup::new();
            let core = setup.core(cpu(), LocalRule::Immediate);
            let global = setup.global_recorded_as(protocol, 1, 0, ()).unwrap();
            let lock = global.clone();
            let task = setup.task(core, TaskSetup::new("t", every(5_000)), move |job: &mut Job<'_>| {
                job.lock_global(&lock, |(), _| sleep(200)).unwrap();
                sleep(200);
            });
            setup.uses_global(task, &global).unwrap();
            let (outcome, records) = run(wanted, setup, core, 60);
            let task = outcome.tasks[0];
            assert!(task.completed > 3, "{outcome:?}");
            assert_eq!(
                (task.blocked, task.blocked_inside),
                (2 * task.completed, task.completed),
                "{protocol:?}"
            );
            assert_eq!(sum(&records, Kind::Slept, None), task.completed);
        }
    }
}

/// The same for sections that sleep and then panic, whatever the job does after it has caught the panic.
#[test]
fn a_sleep_before_a_panic_is_found() {
    let _alone = alone();
    let panics = |section: &mut dyn FnMut()| {
        assert!(catch_unwind(AssertUnwindSafe(section)).is_err());
        sleep(200);
    };
    let slept = |(outcome, records): (ExecOutcome, Vec<Record>), which: &str| {
        let task = outcome.tasks[0];
        assert!(task.completed > 3, "{outcome:?}");
        let counted = (task.blocked, task.blocked_inside);
        assert_eq!(counted, (2 * task.completed, task.completed), "{which}");
        assert_eq!(sum(&records, Kind::Slept, None), task.completed, "{which}");
    };
    for wanted in postures().into_iter().filter(|wanted| *wanted == Wanted::Strict) {
        for rule in RULES {
            let mut setup = Setup::new();
            let core = setup.core(cpu(), rule);
            let resource = setup.resource(core, ());
            let uses = TaskSetup::new("t", every(5_000)).uses(&resource);
            setup.task(core, uses, move |job: &mut Job<'_>| {
                panics(&mut || {
                    job.recover(&resource, |(), _, _| {
                        sleep(200);
                        // Without the message, because printing takes time.
                        resume_unwind(Box::new("inside"));
                    })
                    .unwrap();
                });
            });
            slept(run(wanted, setup, core, 60), &format!("{rule:?}"));
        }
        for protocol in [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong] {
            let mut setup = Setup::new();
            let core = setup.core(cpu(), LocalRule::Immediate);
            let global = setup.global_recorded_as(protocol, 1, 0, ()).unwrap();
            let lock = global.clone();
            let task = setup.task(core, TaskSetup::new("t", every(5_000)), move |job: &mut Job<'_>| {
                panics(&mut || {
                    job.recover_global(&lock, |(), _, _| {
                        sleep(200);
                        // Without the message, because printing takes time.
                        resume_unwind(Box::new("inside"));
                    })
                    .unwrap();
                });
            });
            setup.uses_global(task, &global).unwrap();
            slept(run(wanted, setup, core, 60), &format!("{protocol:?}"));
        }
    }
}

/// Jobs that preempt, wait for resources and are released late do not count as blocked.
#[test]
fn waits_of_the_executor_are_no_sleep() {
    let _alone = alone();
    for wanted in postures().into_iter().filter(|wanted| *wanted == Wanted::Strict) {
        for rule in RULES {
            let mut setup = Setup::new();
            let core = setup.core(cpu(), rule);
            let shared: CoreResource<u64> = setup.resource(core, 0);
            for (name, period, work) in
                [("a", 1_000, 100_000), ("b", 1_700, 300_000), ("c", 5_100, 1_500_000)]
            {
                let lock = shared.clone();
                let own = TaskSetup::new(name, every(period)).uses(&shared).priority(10_000 / period as u32);
                setup.task(core, own, move |job: &mut Job<'_>| {
                    busy(work / 2);
                    job.lock(&lock, |value, _| {
                        *value += 1;
                        busy(work / 2);
                    })
                    .unwrap();
                });
            }
            let (outcome, records) = run(wanted, setup, core, 300);
            assert!(outcome.tasks.iter().all(|task| task.completed > 20), "{outcome:?}");
            assert!(outcome.tasks.iter().all(|task| task.blocked == 0), "{rule:?} {outcome:?}");
            assert!(outcome.tasks[2].preempted > 20, "{outcome:?}");
            assert_eq!(sum(&records, Kind::Slept, None), 0);
        }
    }
}

/// Calls `run` beside a foreign thread, which takes the processor for 10 ms soon after `ours` is set. Returns how
/// often it did.
fn beside<R>(ours: &AtomicBool, run: impl FnOnce() -> R) -> (u32, R) {
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let hog = threads.spawn(|| {
            thread::set_affinity(&[cpu()]).unwrap();
            thread::set_fifo(97).unwrap();
            let mut times = 0;
            // Ends by itself, whatever happens to the others.
            let give_up_ns = clock::monotonic_ns() + 3_000_000_000;
            while !over.load(Ordering::Acquire) && clock::monotonic_ns() < give_up_ns {
                sleep(300);
                if ours.swap(false, Ordering::Acquire) {
                    busy(10_000_000);
                    times += 1;
                }
            }
            times
        });
        let ran = run();
        over.store(true, Ordering::Release);
        (hog.join().unwrap(), ran)
    })
}

/// A foreign thread has the processor meanwhile: that counts neither as the job's time nor against its budget.
#[test]
fn processor_time_of_other_threads_is_not_charged_to_jobs() {
    let _alone = alone();
    for wanted in postures().into_iter().filter(|wanted| *wanted == Wanted::Strict) {
        let ours = AtomicBool::new(false);
        let mut setup = Setup::new();
        let core = setup.core(cpu(), LocalRule::Immediate);
        let began = &ours;
        let own = TaskSetup::new("t", every(50_000)).budget(Duration::from_ms(4)).overrun(Overrun::KillJob);
        setup.task(core, own, move |_: &mut Job<'_>| {
            began.store(true, Ordering::Release);
            let end_ns = clock::thread_cpu_ns() + 2_000_000;
            while clock::thread_cpu_ns() < end_ns {}
        });
        let mut drain = setup.record(core, RecordingLevel::All, 1 << 16);
        let (stood, outcome) =
            beside(&ours, || setup.run(wanted, |_| std::thread::sleep(Time::from_millis(500))).unwrap().1);
        let task = outcome.tasks[0];
        assert!(stood > 3 && task.completed > 3, "{stood} {outcome:?}");
        assert!(task.response_max_ns > 12_000_000, "the hog was there: {outcome:?}");
        let records = drained(&mut drain);
        let complete = || records.iter().filter(|record| record.kind == Kind::Complete);
        // If the machine stands still, nobody can tell whose time that is: Linux counts it as the job's own.
        for ended in records.iter().filter(|record| record.kind == Kind::Exhausted) {
            let used = complete().find(|record| record.job == ended.job).map(|record| record.value);
            assert!(used.is_none_or(|used| used >= 3_900_000), "it had used less than its budget: {used:?}");
        }
        let mut used: Vec<u64> = complete().map(|record| record.value).collect();
        used.sort_unstable();
        let median = used[used.len() / 2];
        assert!((2_000_000..3_000_000).contains(&median), "{used:?}");
    }
}

const SHARE: (Duration, Duration) = (Duration::from_ms(4), Duration::from_ms(50));

/// One task in a server, or a thread that it donates its place to. Beside it run a foreign thread that has the
/// processor for 10 ms of each period, and a task below that takes what a server without a budget leaves. Returns how
/// often the foreign thread ran, and the records.
fn beside_a_server(wanted: Wanted, policy: ServerPolicy, donates: bool) -> (u32, Vec<Record>) {
    let (ours, over, tid) = (AtomicBool::new(false), AtomicBool::new(false), AtomicI32::new(0));
    let (ours, donee) = (&ours, &tid);
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Immediate);
    let server = setup.server(core, ServerSetup::new("s", policy, SHARE.0, SHARE.1).priority(5));
    let served = TaskSetup::new("t", if donates { Release::Polled } else { every(50_000) }).served_by(server);
    setup.task(core, if donates { served.donates() } else { served }, move |job: &mut Job<'_>| {
        ours.store(true, Ordering::Release);
        if donates {
            return job.donate(donee.load(Ordering::Acquire));
        }
        let end_ns = clock::thread_cpu_ns() + 2_000_000;
        while clock::thread_cpu_ns() < end_ns {}
    });
    let below = TaskSetup::new("below", every(50_000)).overrun(Overrun::SkipNext);
    setup.task(core, below, |_: &mut Job<'_>| busy(30_000_000));
    let mut drain = setup.record(core, RecordingLevel::All, 1 << 16);
    let (stood, begin) = std::thread::scope(|threads| {
        threads.spawn(|| {
            thread::set_affinity(&[cpu()]).unwrap();
            tid.store(thread::tid(), Ordering::Release);
            while donates && !over.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
        });
        while tid.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        let ran = beside(ours, || {
            let wait = |exec: &crate::Exec<'_>| {
                std::thread::sleep(Time::from_millis(500));
                exec.origin()
            };
            setup.run(wanted, wait)
        });
        over.store(true, Ordering::Release);
        (ran.0, ran.1.unwrap().0)
    });
    let mut records = vec![Record { at: begin, kind: Kind::Begin, cpu: 0, subject: 0, job: 0, value: 0 }];
    records.extend(drained(&mut drain));
    (stood, records)
}

/// Whether the simulator decides as recorded.
fn is_replayed(policy: ServerPolicy, donates: bool, records: &[Record]) -> bool {
    let task = |name: &str, priority, arrivals| SetTask {
        name: name.to_owned(),
        core: 0,
        priority,
        arrivals,
        period: SHARE.1,
        deadline: SHARE.1,
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost: Duration::from_us(1), requests: Vec::new() },
    };
    let served = task("t", 5, if donates { ArrivalPattern::Sporadic } else { ArrivalPattern::Periodic });
    let tasks =
        vec![served, task("below", 1, ArrivalPattern::Periodic), task("s", 5, ArrivalPattern::Sporadic)];
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority], Vec::new(), tasks).unwrap();
    let served = [RecordedServer { task: 2, policy, budget: SHARE.0, period: SHARE.1, serves: vec![0] }];
    let rules = Rules { cores: vec![LocalRule::Immediate], resources: Vec::new() };
    let replayed = Replay::new(&set, &rules).servers(&served).run(records, &mut ()).unwrap();
    if !replayed.is_equal() {
        println!("{policy:?} {donates}: {:?}", replayed.cores);
    }
    replayed.is_equal()
}

/// Processor time of a foreign thread is charged neither to a server nor to a donee in it. The simulator, which
/// learns of that time from the records, decides the same.
#[test]
fn processor_time_of_other_threads_is_not_charged_to_servers() {
    let _alone = alone();
    for wanted in postures().into_iter().filter(|wanted| *wanted == Wanted::Strict) {
        for (policy, donates) in [
            (ServerPolicy::Polling, false),
            (ServerPolicy::Deferrable, false),
            (ServerPolicy::Sporadic, false),
            (ServerPolicy::Deferrable, true),
        ] {
            let (stood, records) = beside_a_server(wanted, policy, donates);
            let at = |kind| {
                let of = records.iter().filter(move |record| (record.kind, record.subject) == (kind, 0));
                of.map(|record| record.at.as_ns())
            };
            let mut took: Vec<u64> =
                at(Kind::Start).zip(at(Kind::Complete)).map(|(start, complete)| complete - start).collect();
            took.sort_unstable();
            let beside = sum(&records, Kind::Beside, None);
            let which = format!("{policy:?} {donates}: {beside} ns in {stood} times, jobs took {took:?}");
            assert!(stood > 3 && took.len() > 3, "{which}");
            assert!(beside > 9_000_000 * u64::from(stood), "{which}");
            // If the machine stands still, nobody can tell whose time that is. Without donation a job completes after
            // its 2 ms and the 10 ms of the foreign thread. With donation the job uses the whole budget: the 4 ms and
            // the 10 ms, and the 30 ms of the task below.
            let (least, most) = if donates { (43_500_000, 46_000_000) } else { (12_000_000, 15_000_000) };
            assert!((least..most).contains(&took[took.len() / 2]), "{which}");
            assert!(is_replayed(policy, donates, &records), "{which}");
            let reported: Vec<Record> =
                records.iter().filter(|record| record.kind != Kind::Beside).copied().collect();
            assert!(!is_replayed(policy, donates, &reported), "without its records of others: {which}");
        }
    }
}

/// A job that takes more than its budget is still ended.
#[test]
#[cfg_attr(miri, ignore = "its budgets count processor time, which under Miri is that of the interpreter")]
fn a_budget_ends_beside_others_as_well() {
    let _alone = alone();
    for wanted in postures() {
        let mut setup = Setup::new();
        let core = setup.core(cpu(), LocalRule::Immediate);
        let own = TaskSetup::new("t", every(50_000)).budget(Duration::from_ms(2)).overrun(Overrun::KillJob);
        setup.task(core, own, |job: &mut Job<'_>| {
            let end_ns = clock::monotonic_ns() + 200_000_000;
            while job.checkpoint().is_ok() && clock::monotonic_ns() < end_ns {
                sleep(100);
                busy(100_000);
            }
        });
        let (enforcement, outcome) = setup
            .run(wanted, |exec| {
                std::thread::sleep(Time::from_millis(300));
                exec.enforcement()
            })
            .unwrap();
        let task = outcome.tasks[0];
        assert!(task.exhausted > 0 && task.killed == task.exhausted, "{outcome:?}");
        assert!(enforcement != Enforcement::Strict || task.exhausted == task.completed, "{outcome:?}");
    }
}
