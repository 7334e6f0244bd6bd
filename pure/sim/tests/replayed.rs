// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Replays records of a machine that runs under the rules: they are equal, and differ once a record is changed.

mod machine;
mod random;

use machine::{Case, Machine, case, change, counts, instant, of_core};
use random::Random;
use taut_event::{Kind, Record};
use taut_model::{ArrivalPattern, Body, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::replay::{EarlyEnd, Flaw, Names, Replay, Replayed};
use taut_sim::{LocalRule, RecordedServer, Rules, RunEnd, ServerPolicy};
use taut_time::{Duration, Instant};

/// The number of cases of a test; the long form asks for more.
fn cases(of: u64) -> u64 {
    std::env::var("REPLAY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(of)
}

fn recorded(seed: u64, steps: u64) -> (Case, Vec<Record>) {
    let case = case(&mut Random(seed * 7919));
    let records = Machine::new(&case, seed).run(steps);
    (case, records)
}

fn replay(case: &Case, records: &[Record], slack: u64) -> Replayed {
    let cores: Vec<usize> = (0..case.set.cores().len()).collect();
    let slack = Duration::from_ns(slack);
    let replay = Replay::new(&case.set, &case.rules).slack(slack).patience(slack).overlap(slack);
    let replay = replay.dispatched(&cores);
    replay.run(records, &mut ()).expect("well-formed")
}

/// A replay in readable form.
fn reported(replayed: &Replayed) -> String {
    let names = |what: &str| (0..16).map(|at| format!("{what}{at}")).collect::<Vec<_>>();
    let (tasks, resources) = (names("t"), names("r"));
    let names = Names { tasks: &tasks, resources: &resources, begin: Instant::from_ns(0) };
    let table = replayed.difference.as_ref().map(|found| found.table(&names));
    format!("{}{:?} {:?}", table.unwrap_or_default(), replayed.cores, replayed.pending)
}

#[test]
fn what_a_machine_records_is_what_is_simulated() {
    let (mut events, mut jobs, mut preempted, mut waited) = (0, 0, 0, 0);
    let (mut dropped, mut looked, mut deep) = (0, 0, 0);
    for seed in 1..=cases(2_000) {
        let case = case(&mut Random(seed * 7919));
        let mut machine = Machine::new(&case, seed);
        let records = machine.run(400);
        let replayed = replay(&case, &records, 0);
        assert!(replayed.is_equal(), "seed {seed}, {:?}:\n{}", case.rules, reported(&replayed));
        assert_eq!(replayed.reordered, 0);
        // Releases behind a job that were dropped at the end do not count.
        assert_eq!(replayed.events() + machine.dropped, records.iter().filter(counts).count() as u64);
        events += replayed.events();
        jobs += replayed.cores.iter().map(|core| core.jobs).sum::<u64>();
        (preempted, waited) = (preempted + machine.preempted, waited + machine.waited);
        (dropped, looked) = (dropped + machine.dropped, looked + machine.looked);
        deep += machine.deep;
    }
    assert!(deep > 20, "{deep}");
    println!("{events} events, {jobs} jobs, {preempted} preemptions, {waited} waits");
    let enough = jobs > 20_000 && preempted > 5_000 && waited > 1_500 && dropped > 200 && looked > 5_000;
    assert!(enough, "{jobs} {preempted} {waited} {dropped} {looked}");
}

/// A dispatcher that charges a server without a record, then finds that others had the core since then, across the
/// beginning of a period: what it charged belongs to the period before.
#[test]
fn a_server_is_charged_up_to_where_others_began() {
    let us = Duration::from_us;
    let task = |name: &str, priority| SetTask {
        name: name.to_owned(),
        core: 0,
        priority,
        arrivals: ArrivalPattern::Sporadic,
        period: us(10_000),
        deadline: us(10_000),
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost: us(1), requests: Vec::new() },
    };
    let tasks = vec![task("t", 1), task("s", 1)];
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority], Vec::new(), tasks).expect("valid");
    let served = [RecordedServer {
        task: 1,
        policy: ServerPolicy::Polling,
        budget: us(300),
        period: us(1_500),
        serves: vec![0],
    }];
    let rules = Rules { cores: vec![LocalRule::Immediate], resources: Vec::new() };
    // Charged from 1000 to 1020; then others had the core until 1600, and a period began at 1500.
    let replayed = |charged_ago_us: u64, left_us: u64| {
        let record = |at_us: u64, kind, job, value_us: u64| Record {
            at: Instant::from_ns(at_us * 1_000),
            kind,
            cpu: 0,
            subject: 0,
            job,
            value: value_us * 1_000,
        };
        let records = [
            record(0, Kind::Begin, 0, 0),
            record(1_000, Kind::Release, 0, 0),
            record(1_000, Kind::Start, 0, 0),
            record(1_600, Kind::Beside, charged_ago_us * 1_000, 580),
            record(1_600, Kind::Budget, 0, left_us),
            record(1_700, Kind::Complete, 0, 0),
        ];
        Replay::new(&set, &rules)
            .servers(&served)
            .dispatched(&[0])
            .run(&records, &mut ())
            .expect("well-formed")
    };
    assert!(replayed(580, 300).is_equal(), "{}", reported(&replayed(580, 300)));
    assert!(!replayed(580, 280).is_equal(), "the 20 are of the period before");
    assert!(replayed(0, 280).is_equal(), "if that is not stated, others were the first to have the core");
}

#[test]
fn what_is_changed_is_found_first() {
    let mut random = Random(0xD1FF);
    let mut changed = 0;
    for seed in 1..=cases(700) {
        let (case, records) = recorded(seed, 250);
        if !records.iter().any(|record| record.kind == Kind::Unlock) {
            // A difference may then come from locks that were not recorded.
            continue;
        }
        for _ in 0..20 {
            let mut other = records.clone();
            let Some(wrong) = change(&mut random, &case, &mut other) else { continue };
            if other[wrong] == records[wrong] && other.len() == records.len() {
                continue;
            }
            let replayed = replay(&case, &other, 0);
            let found = replayed.difference.as_ref().map(|found| found.recorded.0);
            assert_eq!(found, Some(wrong), "seed {seed}, {:?}:\n{}", case.rules, reported(&replayed));
            changed += 1;
        }
    }
    println!("{changed} changes");
    assert!(changed > 700, "{changed}");
}

/// Requests and unlocks of global resources are recorded later than they happen, by `late`, but before the next
/// record of their core.
fn record_late(case: &Case, records: &mut [Record], mut late: impl FnMut() -> u64) {
    let global = |record: &Record| {
        let lock = matches!(record.kind, Kind::Locked | Kind::Spin | Kind::Suspend | Kind::Unlock);
        lock && !case.set.is_local(record.value as usize)
    };
    for core in 0..case.set.cores().len() {
        for pair in of_core(case, records, core).windows(2) {
            let (record, next) = (records[pair[0]], records[pair[1]]);
            if global(&record) {
                let later = late().min((instant(&next) - record.at.as_ns()).saturating_sub(1));
                records[pair[0]].at = Instant::from_ns(record.at.as_ns() + later);
            }
        }
    }
}

/// The instants of requests and unlocks are read beside the step, as jobs on several cores do it.
#[test]
fn what_is_too_close_to_tell_is_told_by_who_holds() {
    let (mut reordered, mut differ) = (0, 0);
    for seed in 1..=cases(700) {
        let (case, mut records) = recorded(seed, 400);
        let mut random = Random(seed);
        record_late(&case, &mut records, || random.below(41));
        let replayed = replay(&case, &records, 100);
        assert!(replayed.is_equal(), "seed {seed}, {:?}:\n{}", case.rules, reported(&replayed));
        reordered += replayed.reordered;
        differ += u64::from(!replay(&case, &records, 0).is_equal());
    }
    println!("{reordered} steps in the other order, {differ} cases differ without");
    assert!(reordered > 20 && differ > 10, "{reordered} {differ}");
}

/// The same with threads that stall between a step and its record, for so long that another core does much.
#[test]
fn what_was_recorded_much_later_is_told_by_who_holds() {
    let mut reordered = 0;
    for seed in 1..=cases(1_500) {
        let (case, mut records) = recorded(seed, 400);
        let mut random = Random(seed);
        record_late(&case, &mut records, || if random.below(4) == 0 { random.below(100_000) } else { 0 });
        let replayed = replay(&case, &records, 1_000_000);
        assert!(replayed.is_equal(), "seed {seed}, {:?}:\n{}", case.rules, reported(&replayed));
        reordered += replayed.reordered;
    }
    println!("{reordered} steps in the other order");
    assert!(reordered > 100, "{reordered}");
}

/// Locks that take steps, with threads that stall between any two steps: several threads may request a lock at once,
/// a resource is released later than its unlock is recorded, and a thread that takes a free lock may do so for
/// another one.
#[test]
fn what_threads_do_at_a_lock_is_told_by_who_holds() {
    let (mut reordered, mut waited) = (0, 0);
    for seed in 1..=cases(3_000) {
        let case = case(&mut Random(seed * 7919));
        // A thread that stalls anywhere receives releases later than any clock promises.
        if case.rules.cores.iter().any(|rule| matches!(rule, LocalRule::DfpByClock { .. })) {
            continue;
        }
        let mut machine = Machine::new(&case, seed).by_steps();
        let records = machine.run(600);
        let replayed = replay(&case, &records, 1_000_000);
        assert!(replayed.is_equal(), "seed {seed}, {:?}:\n{}", case.rules, reported(&replayed));
        reordered += replayed.reordered;
        waited += machine.waited;
    }
    println!("{reordered} steps in the other order, {waited} waits");
    assert!(reordered > 100 && waited > 1_000, "{reordered} {waited}");
}

/// However close the instants: a holder beside another is a difference.
#[test]
fn slack_is_no_licence() {
    let (mut found, slack) = (0, 1_000_000);
    for seed in 1..=cases(300) {
        let (case, mut records) = recorded(seed, 400);
        let waits = |record: &Record| {
            matches!(record.kind, Kind::Spin | Kind::Suspend) && !case.set.is_local(record.value as usize)
        };
        let Some(at) = records.iter().position(waits) else { continue };
        // A task that waits at the end may have come later, as close as this is.
        let (subject, from) = (records[at].subject, records[at].at);
        let comes = |record: &Record| {
            matches!(record.kind, Kind::Locked | Kind::Granted)
                && record.subject == subject
                && record.at > from
        };
        if !records.iter().any(comes) {
            continue;
        }
        records[at].kind = Kind::Locked;
        let replay =
            Replay::new(&case.set, &case.rules).slack(Duration::from_ns(slack)).overlap(Duration::ZERO);
        let replayed = replay.run(&records, &mut ()).expect("well-formed");
        let place = replayed.difference.as_ref().map(|found| found.recorded.0);
        assert!(place.is_some(), "seed {seed}: {}", reported(&replayed));
        found += 1;
    }
    assert!(found > 30, "{found}");
}

#[test]
fn a_recording_may_end_anywhere_and_begin_late() {
    let mut skipped = 0;
    for seed in 1..=cases(300) {
        let (case, records) = recorded(seed, 300);
        // As with a drain that was killed: each ring up to that instant.
        let mut random = Random(seed);
        let last = records.iter().map(|record| record.at.as_ns()).max().unwrap_or(0);
        let cut = |from: u64, until: u64| {
            let mut now = vec![0; case.set.cores().len()];
            let mut in_time = |record: &&Record| {
                let now = &mut now[case.set.tasks()[usize::from(record.subject)].core];
                *now = instant(record).max(*now);
                record.kind != Kind::Begin && (from..until).contains(now)
            };
            records.iter().filter(&mut in_time).copied().collect::<Vec<Record>>()
        };
        let until = random.below(last + 1);
        let begin = records[0];
        let mut killed = vec![begin];
        killed.extend(cut(0, until));
        let replayed = replay(&case, &killed, 0);
        assert!(replayed.is_equal(), "seed {seed}: {}", reported(&replayed));
        // Decided, and not recorded by then: only what follows from one instant.
        assert!(replayed.pending.iter().all(|event| event.at.as_ns() < until));
        let from = 1_000 + random.below(last.saturating_sub(1_000) / 2 + 1);
        let replayed = replay(&case, &cut(from, u64::MAX), 0);
        assert!(replayed.difference.is_none(), "seed {seed}, from {from}: {}", reported(&replayed));
        let stops = replayed.cores.iter().filter_map(|core| core.stop);
        assert!(stops.clone().all(|stop| matches!(stop.why, EarlyEnd::NoBeginning | EarlyEnd::With(_))));
        skipped += replayed.cores.iter().map(|core| core.before).sum::<u64>();
    }
    assert!(skipped > 1_000, "{skipped}");
}

#[test]
fn what_is_lost_is_not_compared() {
    let mut lost = 0;
    for seed in 1..=cases(300) {
        let (case, mut records) = recorded(seed, 300);
        let own = of_core(&case, &records, 0);
        let Some(&gone) = own.get(own.len() / 2) else { continue };
        let told_at = own[(own.len() / 2 + 5).min(own.len() - 1)];
        let record = records[told_at];
        // A dispatcher's ring reports losses of its core, a thread's ring losses of its task.
        let (kind, subject) = if seed % 2 == 0 { (Kind::CoreLost, 0) } else { (Kind::Lost, record.subject) };
        records.insert(told_at + 1, Record { kind, subject, value: 1, job: 0, ..record });
        records.remove(gone);
        let replayed = replay(&case, &records, 0);
        assert_eq!(replayed.difference, None, "seed {seed}: {}", reported(&replayed));
        let stop = replayed.cores[0].stop.expect("it lost something");
        assert_eq!(stop.why, EarlyEnd::Lost(1));
        assert!(!replayed.is_equal() && replayed.cores[0].events + 10 >= own.len() as u64 / 2);
        lost += 1;
    }
    assert!(lost > 200, "{lost}");
}

/// A recording may lack locks: then no consequence of a lock is a difference.
#[test]
fn locks_that_are_not_recorded_are_told() {
    let (mut told_of, mut equal) = (0, 0);
    for seed in 1..=cases(300) {
        let (case, mut records) = recorded(seed, 300);
        records.retain(|record| {
            !matches!(record.kind, Kind::Locked | Kind::Unlock | Kind::Spin | Kind::Suspend | Kind::Granted)
        });
        let replayed = replay(&case, &records, 0);
        assert_eq!(replayed.difference, None, "seed {seed}: {}", reported(&replayed));
        let stops = replayed.cores.iter().filter_map(|core| core.stop);
        assert!(stops.clone().all(|stop| matches!(stop.why, EarlyEnd::NoLocks | EarlyEnd::With(_))));
        told_of += u64::from(stops.count() > 0);
        equal += u64::from(replayed.is_equal());
    }
    assert!(told_of > 30 && equal > 30, "{told_of} {equal}");
}

/// Whatever the bytes are, the replay returns.
#[test]
fn nonsense_is_answered() {
    let mut random = Random(0xBAD);
    let (mut malformed, mut differ) = (0, 0);
    for seed in 1..=cases(400) {
        let (case, mut records) = recorded(seed, 150);
        for _ in 0..1 + random.below(8) {
            let at = random.below(records.len() as u64) as usize;
            let record = &mut records[at];
            match random.below(6) {
                0 => record.kind = Kind::from_number(1 + random.below(31) as u8).expect("one of them"),
                1 => record.subject = random.below(20) as u16,
                2 => record.job = [0, 1, u64::MAX][random.below(3) as usize],
                3 => record.value = [0, 3, 99, u64::MAX][random.below(4) as usize],
                4 => record.at = Instant::from_ns([0, 2_000, u64::MAX, 1 << 61][random.below(4) as usize]),
                _ => drop(records.remove(at)),
            }
            if records.is_empty() {
                break;
            }
        }
        match Replay::of(&case.set, &case.rules, &records) {
            Err(fault) => {
                assert!(!fault.to_string().is_empty() && fault.flaw != Flaw::Time || fault.record.is_some());
                malformed += 1;
            }
            Ok(replayed) => {
                assert!(!reported(&replayed).is_empty());
                differ += u64::from(replayed.difference.is_some());
            }
        }
    }
    assert!(malformed > 100 && differ > 50, "{malformed} {differ}");
}

/// A floor from the clock, and a release that is reported later than J says: two jobs would hold the resource, and
/// the replay says so.
#[test]
fn a_clock_that_knows_nothing_of_lateness_breaks() {
    use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
    use taut_sim::{GlobalRule, Rules};
    let ns = Duration::from_ns;
    let task = |deadline| SetTask {
        name: String::new(),
        core: 0,
        priority: 1,
        arrivals: ArrivalPattern::Periodic,
        period: ns(1_000),
        deadline: ns(deadline),
        jitter: ns(0),
        body: Body::Anywhere {
            cost: ns(100),
            requests: vec![Request { resource: 0, count: 1, length: ns(50), outermost: true }],
        },
    };
    let resource = Resource { name: String::new() };
    let set =
        TaskSet::new(vec![SchedulingPolicy::Edf], vec![resource], vec![task(500), task(300)]).expect("valid");
    let record =
        |at, kind, subject, value| Record { at: Instant::from_ns(at), kind, cpu: 0, subject, job: 0, value };
    let records = [
        record(0, Kind::Begin, 0, 0),
        record(0, Kind::Release, 0, 10),
        record(11, Kind::Start, 0, 0),
        record(100, Kind::Locked, 0, 0),
        // It was due at 90, before the lock, and is reported at 120.
        record(90, Kind::Release, 1, 30),
        record(121, Kind::Preempt, 0, 0),
        record(122, Kind::Start, 1, 0),
        record(130, Kind::Locked, 1, 0),
    ];
    let with =
        |rule| Replay::of(&set, &Rules::all(&set, rule, GlobalRule::Msrp), &records).expect("well-formed");
    let broken = with(LocalRule::DfpByClock { jitter: None }).difference.expect("broken");
    assert_eq!((broken.recorded.0, broken.refused), (7, Some(RunEnd::Broken { task: 1, resource: 0 })));
    // With the next release this would not have happened.
    let kept = with(LocalRule::Dfp).difference.expect("the holder goes on");
    assert_eq!((kept.recorded.0, kept.simulated, kept.held[0]), (5, None, Some((0, 0))));
}

/// Two tasks request a free resource at once; the one that is recorded first waits, because the other one is more
/// urgent and gets it. Within the slack this is what happened; 1 ns further apart, there was no task to wait for.
#[test]
fn who_waits_for_a_rival_is_as_close_as_the_slack() {
    use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
    use taut_sim::{GlobalRule, Rules};
    let ns = Duration::from_ns;
    let task = |core: usize| SetTask {
        name: String::new(),
        core,
        priority: 1 + core as u32,
        arrivals: ArrivalPattern::Periodic,
        period: ns(1_000),
        deadline: ns(1_000),
        jitter: ns(0),
        body: Body::Anywhere {
            cost: ns(300),
            requests: vec![Request { resource: 0, count: 1, length: ns(50), outermost: true }],
        },
    };
    let cores = vec![SchedulingPolicy::FixedPriority; 2];
    let resource = Resource { name: String::new() };
    let set = TaskSet::new(cores, vec![resource], vec![task(0), task(1)]).expect("valid");
    let rules = Rules::all(&set, LocalRule::Immediate, GlobalRule::Mpcp);
    let record = |at, kind, core: u8| Record {
        at: Instant::from_ns(at),
        kind,
        cpu: core,
        subject: core.into(),
        job: 0,
        value: 0,
    };
    let records = [
        record(0, Kind::Begin, 0),
        record(0, Kind::Release, 0),
        record(0, Kind::Release, 1),
        record(1, Kind::Start, 0),
        record(1, Kind::Start, 1),
        record(100, Kind::Suspend, 0),
        record(105, Kind::Locked, 1),
    ];
    let with = |slack| {
        let replay = Replay::new(&set, &rules).slack(ns(slack)).patience(ns(0)).overlap(ns(0));
        replay.dispatched(&[0, 1]).run(&records, &mut ()).expect("well-formed")
    };
    assert!(with(5).is_equal(), "{}", reported(&with(5)));
    let difference = with(4).difference.expect("nobody had it");
    assert_eq!(difference.recorded.0, 5);
}
