// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Levels, ceilings and floors are stated, read and changed; releases are paused. Loose enforcement everywhere,
//! strict where the system allows fixed priorities.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration as Time, Instant};

use taut_event::{Kind, Record};
use taut_exec::{
    Attribute, ChangeError, CoreResource, Enforcement, Exec, GlobalRule, Job, LocalRule, RecordingLevel,
    Release, ServerPolicy, ServerSetup, Setup, SetupError, TaskId, TaskSetup, Wanted, Work,
};
use taut_model::{ArrivalPattern, Body, Request, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::Rules;
use taut_sim::replay::{Replay, Replayed};
use taut_sys::{clock, thread};
use taut_time::Duration;

const RULES: [LocalRule; 4] = [LocalRule::Immediate, LocalRule::Original, LocalRule::Srp, LocalRule::Dfp];

fn by_deadlines(rule: LocalRule) -> bool {
    matches!(rule, LocalRule::Srp | LocalRule::Dfp)
}

/// The level of step `step`; the higher, the more urgent. Deadlines are seconds apart, because a machine may stall.
fn step(rule: LocalRule, step: u64) -> Attribute {
    if by_deadlines(rule) {
        Attribute::Deadline(Duration::from_s(100 - 10 * step))
    } else {
        Attribute::Priority(step as u32)
    }
}

fn task(name: &str, release: Release, level: Attribute) -> TaskSetup {
    let task = TaskSetup::new(name, release);
    match level {
        Attribute::Priority(priority) => task.priority(priority),
        Attribute::Deadline(deadline) => task.deadline(deadline),
    }
}

fn every(us: u64) -> Release {
    Release::Periodic { period: Duration::from_us(us), offset: Duration::from_us(us / 2) }
}

/// Serialises the runs under SCHED_FIFO, because they share a CPU.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cpu() -> u16 {
    thread::affinity().unwrap()[0]
}

fn comes(what: &str, done: impl Fn() -> bool) {
    let limit = Instant::now() + Time::from_secs(20);
    while !done() {
        assert!(Instant::now() < limit, "{what} does not come");
        std::thread::sleep(Time::from_micros(200));
    }
}

#[test]
fn unstated_ceilings_follow_from_the_users() {
    for rule in RULES {
        let at = |number| step(rule, number);
        let mut setup = Setup::new();
        let core = setup.core(0, rule);
        let (first, second) = (setup.resource(core, ()), setup.resource(core, ()));
        let work = |_: &mut Job<'_>| {};
        let low = setup.task(core, task("low", Release::ByHand, at(2)).uses(&first).uses(&second), work);
        let high = setup.task(core, task("high", Release::ByHand, at(4)).uses(&first), work);
        assert_eq!((setup.level(low), setup.level(high)), (Some(at(2)), Some(at(4))));
        assert_eq!((setup.ceiling(&first), setup.ceiling(&second)), (Some(at(4)), Some(at(2))));
        setup.set_level(low, at(5)).unwrap();
        assert_eq!((setup.ceiling(&first), setup.ceiling(&second)), (Some(at(5)), Some(at(5))));
        setup.set_ceiling(&second, at(7)).unwrap();
        assert_eq!((setup.ceiling(&second), setup.level(low)), (Some(at(7)), Some(at(5))));

        let strange = step(if by_deadlines(rule) { LocalRule::Immediate } else { LocalRule::Srp }, 3);
        assert_eq!(setup.set_level(low, strange), Err(SetupError::Attribute { cpu: 0 }));
        assert_eq!(setup.set_ceiling(&first, strange), Err(SetupError::Attribute { cpu: 0 }));
        let mut other = Setup::new();
        assert_eq!((other.level(low), other.ceiling(&first)), (None, None));
        assert!(matches!(other.set_level(low, at(1)), Err(SetupError::ForeignResource { .. })));
        assert!(matches!(other.set_ceiling(&first, at(1)), Err(SetupError::ForeignResource { .. })));

        setup.set_ceiling(&first, at(4)).unwrap();
        let refused = setup.run(Wanted::Loose, |_| ()).map(|_| ()).unwrap_err();
        assert_eq!(refused, SetupError::Ceiling { task: "low".to_owned(), resource: 0 });
        assert!(refused.to_string().contains("below `low`"), "{refused}");
    }
}

/// What a job reads of its core's attributes, and what it may not change. All tasks are released by hand, on one
/// core.
fn rules_at_run_time(rule: LocalRule, wanted: Wanted) {
    let at = |number| step(rule, number);
    let mut setup = Setup::new();
    let core = setup.core(cpu(), rule);
    let shared = setup.resource(core, ());
    let (upper_ran, other_ran, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let (upper_ran, other_ran, done) = (&upper_ran, &other_ran, &done);
    let (ours, theirs) = (shared.clone(), shared.clone());
    let upper =
        setup.task(core, task("upper", Release::ByHand, at(4)).uses(&shared), move |job: &mut Job<'_>| {
            upper_ran.fetch_add(1, SeqCst);
            job.lock(&theirs, |(), _| ()).unwrap();
        });
    let other = setup.task(core, task("other", Release::ByHand, at(6)), move |_: &mut Job<'_>| {
        other_ran.fetch_add(1, SeqCst);
    });
    let own = std::sync::Arc::new(std::sync::OnceLock::new());
    let own_id = std::sync::Arc::clone(&own);
    let lower =
        setup.task(core, task("lower", Release::ByHand, at(2)).uses(&shared), move |job: &mut Job<'_>| {
            let lower: TaskId = *own_id.get().unwrap();
            assert_eq!((job.level(lower), job.level(upper)), (Ok(at(2)), Ok(at(4))));
            assert_eq!(job.ceiling(&ours), Ok(at(4)));
            assert_eq!(job.set_level(lower, at(3)), Err(ChangeError::Active { task: 2 }));
            let below = Err(ChangeError::Ceiling { resource: 0, task: 0 });
            assert_eq!((job.set_level(upper, at(5)), job.set_ceiling(&ours, at(3))), (below, below));
            let strange = step(if by_deadlines(rule) { LocalRule::Immediate } else { LocalRule::Srp }, 3);
            assert_eq!(job.set_level(upper, strange), Err(ChangeError::Kind));
            assert_eq!(job.set_ceiling(&ours, strange), Err(ChangeError::Kind));
            let none = if by_deadlines(rule) { Attribute::Deadline(Duration::ZERO) } else { strange };
            assert_eq!(job.set_level(upper, none), Err(ChangeError::Kind));

            let others = || other_ran.load(SeqCst);
            // A job that does not use the resource and is above the ceiling runs at once; a user does not.
            job.lock(&ours, |(), job| {
                let held = Err(ChangeError::Held { resource: 0, task: 2 });
                assert_eq!((job.set_ceiling(&ours, at(5)), job.ceiling(&ours)), (held, Ok(at(4))));
                assert_eq!(job.set_level(upper, at(5)), below, "of what is held too");
                job.release(other).unwrap();
                assert_eq!(others(), 1);
            })
            .unwrap();
            assert_eq!(job.set_ceiling(&ours, at(7)), Ok(()));
            assert_eq!(job.ceiling(&ours), Ok(at(7)));
            job.lock(&ours, |(), job| {
                // A user's level may be any that the ceiling is above, even while the resource is held.
                assert_eq!(job.set_level(upper, at(5)), Ok(()));
                job.release(upper).unwrap();
                job.release(other).unwrap();
                let kept_out = if rule == LocalRule::Original { 2 } else { 1 };
                assert_eq!(
                    (upper_ran.load(SeqCst), others()),
                    (u64::from(rule == LocalRule::Original), kept_out)
                );
            })
            .unwrap();
            assert_eq!((upper_ran.load(SeqCst), others()), (1, 2));
            assert_eq!((job.level(upper), job.set_ceiling(&ours, at(5))), (Ok(at(5)), Ok(())));
            // The job that is above now runs first.
            job.set_level(other, at(1)).unwrap();
            job.release(other).unwrap();
            assert_eq!(others(), 2, "it waits for the job of this task");
            done.store(true, SeqCst);
        });
    own.set(lower).unwrap();
    let run = setup.run(wanted, |exec: &Exec<'_>| {
        exec.release(lower).unwrap();
        comes("the job", || done.load(SeqCst) || exec.wait(Some(Time::ZERO)).is_some());
        comes("the other one", || other_ran.load(SeqCst) == 3 || exec.wait(Some(Time::ZERO)).is_some());
        assert_eq!((exec.level(upper), exec.ceiling(&shared)), (Ok(at(5)), Ok(at(5))));
        let set = || exec.set_level(lower, at(3));
        comes("the end of its job", || set() != Err(ChangeError::Active { task: 2 }));
        assert_eq!((set(), exec.level(lower)), (Ok(()), Ok(at(3))));
        assert_eq!(exec.set_ceiling(&shared, at(9)).and_then(|()| exec.ceiling(&shared)), Ok(at(9)));
        assert_eq!(exec.set_ceiling(&shared, at(4)), Err(ChangeError::Ceiling { resource: 0, task: 0 }));
        exec.stop();
        comes("the end", || exec.level(lower) == Err(ChangeError::Stopped));
        assert_eq!(exec.pause(lower), Err(ChangeError::Stopped));
        let mut foreign = Setup::new();
        let core = foreign.core(0, rule);
        let resource = foreign.resource(core, ());
        assert_eq!(exec.ceiling(&resource), Err(ChangeError::Foreign));
    });
    run.unwrap();
}

/// The kinds of enforcement that are available here.
fn postures() -> Vec<Wanted> {
    let mut setup = Setup::new();
    setup.core(cpu(), LocalRule::Srp);
    match setup.run(Wanted::Best, |exec| exec.enforcement()).unwrap().0 {
        Enforcement::Strict => vec![Wanted::Loose, Wanted::Strict],
        enforcement @ Enforcement::Loose { .. } => {
            println!("skipped: strict runs: {enforcement}");
            vec![Wanted::Loose]
        }
    }
}

#[test]
fn attributes_change_when_that_is_safe() {
    let _alone = alone();
    for wanted in postures() {
        for rule in RULES {
            rules_at_run_time(rule, wanted);
        }
    }
}

/// A task in a server has no level of its own, and other cores count with the priority of a task that uses their
/// resources.
#[test]
fn some_levels_cannot_change() {
    let mut lines = [const { taut_lock::Line::new() }; 3];
    let memory = taut_lock::Memory::new(&mut lines);
    let mut setup = Setup::new();
    let core = setup.core(0, LocalRule::Immediate);
    let (budget, period) = (Duration::from_ms(1), Duration::from_ms(10));
    let server = setup.server(core, ServerSetup::new("server", ServerPolicy::Polling, budget, period));
    let global = setup.global(GlobalRule::Mpcp, memory, 2, ()).unwrap();
    let work = |_: &mut Job<'_>| {};
    let served = setup.task(core, TaskSetup::new("served", Release::ByHand).served_by(server), work);
    let shares = setup.task(core, TaskSetup::new("shares", Release::ByHand), work);
    setup.uses_global(shares, &global).unwrap();
    let two = Attribute::Priority(2);
    assert_eq!(setup.set_level(shares, two), Err(SetupError::Shares { task: "shares".to_owned() }));
    let run = setup.run(Wanted::Loose, |exec| {
        let refused = ChangeError::Served { task: 0 };
        assert_eq!((exec.level(served), exec.set_level(served, two)), (Err(refused), Err(refused)));
        assert_eq!(exec.level(shares), Ok(Attribute::Priority(1)));
        assert_eq!(exec.set_level(shares, two), Err(ChangeError::Global { task: 1 }));
    });
    run.unwrap();
}

/// Pseudo-random numbers; the same for the same seed.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const TASKS: usize = 5;
const RESOURCES: usize = 3;

fn busy(ns: u64) {
    let end = clock::monotonic_ns() + ns;
    while clock::monotonic_ns() < end {
        std::hint::spin_loop();
    }
}

/// A level near that of others: fractions of a millisecond apart, as the periods are.
fn near(rule: LocalRule, random: &mut Random) -> Attribute {
    let number = random.below(12);
    if by_deadlines(rule) {
        Attribute::Deadline(Duration::from_us(400 + 400 * number))
    } else {
        Attribute::Priority(1 + number as u32)
    }
}

/// Jobs lock at random while attributes change at random. Returns the records, and the set for the simulator.
fn changes(rule: LocalRule, wanted: Wanted, seed: u64) -> (Vec<Record>, TaskSet, Rules) {
    let mut random = Random(seed);
    let mut setup = Setup::new();
    let core = setup.core(cpu(), rule);
    let resources: Vec<CoreResource<u64>> = (0..RESOURCES).map(|_| setup.resource(core, 0)).collect();
    let mut drain = setup.record(core, RecordingLevel::All, 1 << 16);
    let torn = AtomicU64::new(0);
    let (mut ids, mut tasks) = (Vec::new(), Vec::new());
    for at in 0..TASKS {
        let period_us = 700 + 400 * random.below(5);
        let level = near(rule, &mut random);
        let used: Vec<usize> = (0..RESOURCES).filter(|_| random.below(2) == 0).collect();
        let mut own = task("t", every(period_us), level);
        own = used.iter().fold(own, |own, at| own.uses(&resources[*at]));
        let all: Vec<_> = used.iter().map(|at| resources[*at].clone()).collect();
        let (torn, mut draws) = (&torn, Random(seed * 100 + at as u64));
        let others: Vec<TaskId> = ids.clone();
        let work = move |job: &mut Job<'_>| {
            for resource in &all {
                busy(draws.below(30_000));
                job.lock(resource, |value, job| {
                    let before = *value;
                    // For the held resource the change is refused; for others perhaps not.
                    if let Some(other) = others.get(draws.below(9) as usize) {
                        let _ = job.set_level(*other, near(rule, &mut draws));
                    }
                    assert!(job.set_ceiling(resource, near(rule, &mut draws)).is_err());
                    busy(draws.below(60_000));
                    torn.fetch_add(u64::from(*std::hint::black_box(&mut *value) != before), SeqCst);
                    *value = before + 1;
                })
                .unwrap();
                let _ = job.set_ceiling(resource, near(rule, &mut draws));
            }
        };
        ids.push(setup.task(core, own, work));
        let deadline =
            if let Attribute::Deadline(deadline) = level { deadline } else { Duration::from_us(period_us) };
        let request =
            |resource| Request { resource, count: 1, length: Duration::from_ns(1), outermost: true };
        tasks.push(SetTask {
            name: format!("t{at}"),
            core: 0,
            priority: if let Attribute::Priority(priority) = level { priority } else { 1 },
            arrivals: ArrivalPattern::Periodic,
            period: Duration::from_us(period_us),
            deadline,
            jitter: Duration::ZERO,
            body: Body::Anywhere {
                cost: Duration::from_us(1),
                requests: used.into_iter().map(request).collect(),
            },
        });
    }
    // One ceiling is stated, above all levels to come.
    let highest = if by_deadlines(rule) {
        Attribute::Deadline(Duration::from_us(100))
    } else {
        Attribute::Priority(99)
    };
    setup.set_ceiling(&resources[0], highest).unwrap();
    let run = setup.run(wanted, |exec| {
        for _ in 0..25 {
            exec.wait(Some(Time::from_micros(500 + random.below(800))));
            let (task, resource) = (random.below(TASKS as u64), random.below(RESOURCES as u64));
            let _ = exec.set_level(ids[task as usize], near(rule, &mut random));
            let _ = exec.set_ceiling(&resources[resource as usize], near(rule, &mut random));
            let task = ids[random.below(TASKS as u64) as usize];
            if random.below(2) == 0 { exec.pause(task).unwrap() } else { exec.resume(task).unwrap() }
        }
        exec.origin()
    });
    let (origin, _) = run.unwrap();
    assert_eq!(torn.into_inner(), 0, "sections were not alone");
    let mut records = vec![Record { at: origin, kind: Kind::Begin, cpu: 0, subject: 0, job: 0, value: 0 }];
    drain.drain(|record| records.push(record));
    let names = (0..RESOURCES).map(|at| taut_model::Resource { name: format!("r{at}") }).collect();
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority], names, tasks).unwrap();
    (records, set, Rules { cores: vec![rule], resources: vec![GlobalRule::Msrp; RESOURCES] })
}

#[test]
fn changes_are_replayed() {
    let _alone = alone();
    let replayed = |set: &TaskSet, rules: &Rules, records: &[Record]| -> Replayed {
        Replay::new(set, rules).run(records, &mut ()).unwrap()
    };
    let is_change = |record: &Record| matches!(record.kind, Kind::Level | Kind::Ceiling);
    for wanted in postures() {
        let (mut changed, mut missed, mut incomplete) = ([0, 0], 0, 0);
        for (at, rule) in (0..12).map(|at| (at, RULES[at as usize % 4])) {
            let (records, set, rules) = changes(rule, wanted, 300 + at);
            let lost = records.iter().any(|record| record.kind == Kind::Lost);
            incomplete += usize::from(lost);
            let found = replayed(&set, &rules, &records);
            assert!(found.is_equal() || lost, "{rule:?} {at}: {:#?}", found.difference);
            assert!(found.cores[0].stop.is_none() || lost, "{:?}", found.cores);
            for (count, kind) in changed.iter_mut().zip([Kind::Level, Kind::Ceiling]) {
                *count += records.iter().filter(|record| record.kind == kind).count();
            }
            let silent: Vec<_> = records.into_iter().filter(|record| !is_change(record)).collect();
            missed += usize::from(!replayed(&set, &rules, &silent).is_equal());
        }
        println!(
            "{wanted:?}: {changed:?} changes of levels and ceilings; without them {missed} of 12 runs differ"
        );
        assert!(changed.iter().all(|count| *count > 12) && missed > 0, "{changed:?} {missed}");
        // A run that lost records is not judged.
        assert!(incomplete <= 3, "{incomplete} of 12 runs lost records");
    }
}

/// A task that has something to do, as often as it is asked, while there is stock.
struct Polled<'p> {
    stock: &'p AtomicU64,
    done: &'p AtomicU64,
}

impl Work for Polled<'_> {
    fn run(&mut self, _: &mut Job<'_>) {
        self.stock.fetch_sub(1, SeqCst);
        self.done.fetch_add(1, SeqCst);
    }

    fn poll(&mut self, now_ns: u64) -> Option<u64> {
        (self.stock.load(SeqCst) > 0).then_some(now_ns)
    }
}

#[test]
fn a_pause_drops_releases_and_keeps_the_phase() {
    let _alone = alone();
    for wanted in postures() {
        let (stock, polled_done) = (AtomicU64::new(0), AtomicU64::new(0));
        let hand_done = AtomicU64::new(0);
        let arrivals = [const { Mutex::new(Vec::<(u64, u64)>::new()) }; 2];
        let events = taut_lock::EventCount::new();
        let mut notifier = events.notifier();
        let mut setup = Setup::new();
        let core = setup.core(cpu(), LocalRule::Immediate);
        let mut drain = setup.record(core, RecordingLevel::Jobs, 1 << 14);
        let periodic = [0, 1].map(|at: usize| {
            let arrivals = &arrivals[at];
            setup.task(core, TaskSetup::new("periodic", every(1_000)), move |job: &mut Job<'_>| {
                arrivals.lock().unwrap().push((job.number(), job.arrival().as_ns()));
            })
        });
        let hand = setup.task(core, TaskSetup::new("hand", Release::ByHand), |_: &mut Job<'_>| {
            hand_done.fetch_add(1, SeqCst);
        });
        let work = Polled { stock: &stock, done: &polled_done };
        let polled = setup.task(core, TaskSetup::new("polled", Release::Polled), work);
        setup.listen(polled, events.listener()).unwrap();
        let count = |at: usize| arrivals[at].lock().unwrap().len();
        let run = setup.run(wanted, |exec| {
            comes("jobs", || count(0) > 3 && count(1) > 3);
            [periodic[0], hand, polled].into_iter().for_each(|task| exec.pause(task).unwrap());
            // For the jobs that were released before.
            std::thread::sleep(Time::from_millis(5));
            comes("its last job", || exec.set_level(periodic[0], Attribute::Priority(1)).is_ok());
            let (before, others) = (count(0), count(1));
            exec.release(hand).unwrap();
            stock.store(2, SeqCst);
            notifier.notify();
            comes("the other's jobs", || count(1) > others + 5);
            assert_eq!((count(0), hand_done.load(SeqCst), polled_done.load(SeqCst)), (before, 0, 0));
            exec.resume(hand).unwrap();
            exec.release(hand).unwrap();
            exec.resume(polled).unwrap();
            comes("by hand and by itself", || hand_done.load(SeqCst) == 1 && polled_done.load(SeqCst) == 2);
            // A second pause has no further effect.
            exec.pause(periodic[0]).unwrap();
            exec.resume(periodic[0]).unwrap();
            comes("jobs again", || count(0) > before + 3);
            exec.origin().as_ns()
        });
        let (origin_ns, outcome) = run.unwrap();
        for of in &arrivals {
            for (number, arrival_ns) in of.lock().unwrap().iter() {
                assert_eq!(arrival_ns - origin_ns, 500_000 + number * 1_000_000, "the phase is kept");
            }
        }
        let (paused, other, hand) = (outcome.tasks[0], outcome.tasks[1], outcome.tasks[2]);
        let numbers: Vec<u64> = arrivals[0].lock().unwrap().iter().map(|(number, _)| *number).collect();
        let gaps: u64 = numbers.windows(2).map(|pair| pair[1] - pair[0] - 1).sum();
        assert!(gaps >= 5 && gaps <= paused.skipped, "{numbers:?} {paused:?}");
        assert_eq!((paused.completed, hand.completed, hand.skipped), (paused.released, 1, 1));
        assert!(other.completed > 5, "{other:?}");
        let mut kinds = Vec::new();
        drain.drain(|record| kinds.push((record.kind, record.subject)));
        let of =
            |wanted: Kind, task: u16| kinds.iter().filter(|found| **found == (wanted, task)).count() as u64;
        assert_eq!((of(Kind::Skip, 0), of(Kind::Skip, 2)), (paused.skipped, 1));
        assert_eq!(of(Kind::Overrun, 2), 0, "what a pause drops is no overrun");
    }
}
