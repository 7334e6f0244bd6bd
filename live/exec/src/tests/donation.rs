// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Donation: two threads get a server's place, others run beside them, and the simulator decides the same.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_event::{Kind, Record};
use taut_model::{ArrivalPattern, Body, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::replay::Replay;
use taut_sim::{GlobalRule, RecordedServer, Rules};
use taut_sys::{clock, thread};
use taut_time::Duration;

use super::{alone, busy, cpu, drained, postures};
use crate::{
    Job, LocalRule, RecordingLevel, Release, ServerPolicy, ServerSetup, Setup, SetupError, TaskSetup, Wanted,
};

/// Budget and period. The server's priority is between those of the two tasks.
const BUDGET: Duration = Duration::from_us(600);
const PERIOD: Duration = Duration::from_us(3_000);
const TASKS: [(&str, u32, u64); 2] = [("above", 9, 2_100), ("below", 1, 5_300)];

/// The result of a run.
struct Ran {
    records: Vec<Record>,
    /// Jobs of `below` that saw one of the threads make progress meanwhile.
    seen: u64,
    /// The rounds of each thread.
    rounds: [u64; 2],
}

/// Two threads in one server. The first computes endlessly; the second sleeps now and then if it `sleeps`. The run
/// ends when `is_enough` accepts what `below` has seen and the threads' rounds.
fn run(
    policy: ServerPolicy,
    budget: Duration,
    wanted: Wanted,
    sleeps: bool,
    is_enough: impl Fn(u64, [u64; 2]) -> bool,
) -> Ran {
    let (tids, over) = ([const { AtomicI32::new(0) }; 2], AtomicBool::new(false));
    let enough = AtomicBool::new(false);
    let rounds = [const { AtomicU64::new(0) }; 2];
    let seen = AtomicU64::new(0);
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Immediate);
    let mut drain = setup.record(core, RecordingLevel::All, 1 << 16);
    for (name, priority, period) in TASKS {
        let release = Release::Periodic { period: Duration::from_us(period), offset: Duration::ZERO };
        let task = TaskSetup::new(name, release).priority(priority).overrun(crate::Overrun::SkipNext);
        let (rounds, seen, enough) = (&rounds, &seen, &enough);
        setup.task(core, task, move |_: &mut Job<'_>| {
            if name == "above" {
                return busy(200_000);
            }
            // It goes on until one of the threads makes progress. Without a place above this job they never would.
            let before = [0, 1].map(|at| rounds[at].load(Ordering::Relaxed));
            let give_up = clock::monotonic_ns() + 3_000_000_000;
            while clock::monotonic_ns() < give_up && !enough.load(Ordering::Relaxed) {
                if [0, 1].map(|at| rounds[at].load(Ordering::Relaxed)) != before {
                    seen.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            }
        });
    }
    let server = setup.server(core, ServerSetup::new("share", policy, budget, PERIOD).priority(5));
    for (at, tid) in tids.iter().enumerate() {
        let task = TaskSetup::new(&format!("lends {at}"), Release::Polled).served_by(server).donates();
        setup.task(core, task, move |job: &mut Job<'_>| job.donate(tid.load(Ordering::Acquire)));
    }
    let records = std::thread::scope(|threads| {
        for (at, tid) in tids.iter().enumerate() {
            let (rounds, over) = (&rounds, &over);
            threads.spawn(move || {
                thread::set_affinity(&[cpu()]).unwrap();
                tid.store(thread::tid(), Ordering::Release);
                while !over.load(Ordering::Acquire) {
                    busy(50_000);
                    rounds[at].fetch_add(1, Ordering::Relaxed);
                    if sleeps && at == 1 {
                        std::thread::sleep(Time::from_micros(300));
                    }
                }
            });
        }
        while tids.iter().any(|tid| tid.load(Ordering::Acquire) == 0) {
            std::thread::yield_now();
        }
        let ran = setup.run(wanted, |exec| {
            exec.wait(Some(Time::from_millis(40)));
            for _ in 0..200 {
                if is_enough(
                    seen.load(Ordering::Relaxed),
                    [0, 1].map(|at| rounds[at].load(Ordering::Relaxed)),
                ) {
                    break;
                }
                exec.wait(Some(Time::from_millis(10)));
            }
            enough.store(true, Ordering::Relaxed);
            exec.origin()
        });
        over.store(true, Ordering::Release);
        let (origin, _) = ran.unwrap();
        let mut records =
            vec![Record { at: origin, kind: Kind::Begin, cpu: 0, subject: 0, job: 0, value: 0 }];
        records.extend(drained(&mut drain));
        records
    });
    Ran { records, seen: seen.into_inner(), rounds: rounds.map(AtomicU64::into_inner) }
}

/// Whether the simulator decides as recorded, with this budget.
fn is_replayed(policy: ServerPolicy, budget: Duration, records: &[Record]) -> bool {
    let task = |name: &str, priority, period, arrivals| SetTask {
        name: name.to_owned(),
        core: 0,
        priority,
        arrivals,
        period,
        deadline: period,
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost: Duration::from_us(1), requests: Vec::new() },
    };
    let own = TASKS.map(|(name, priority, period)| {
        task(name, priority, Duration::from_us(period), ArrivalPattern::Periodic)
    });
    let donee = ["lends 0", "lends 1", "share"].map(|name| task(name, 5, PERIOD, ArrivalPattern::Sporadic));
    let set =
        TaskSet::new(vec![SchedulingPolicy::FixedPriority], Vec::new(), [&own[..], &donee].concat()).unwrap();
    let served = [RecordedServer { task: 4, policy, budget, period: PERIOD, serves: vec![2, 3] }];
    let rules = Rules { cores: vec![LocalRule::Immediate], resources: Vec::<GlobalRule>::new() };
    let replayed = Replay::new(&set, &rules).servers(&served).run(records, &mut ()).unwrap();
    if !replayed.is_equal() {
        println!("{policy:?}: {:?}", replayed.cores);
    }
    replayed.is_equal() || records.iter().any(|record| record.kind == Kind::Lost)
}

const POLICIES: [ServerPolicy; 3] = [ServerPolicy::Polling, ServerPolicy::Deferrable, ServerPolicy::Sporadic];

#[test]
#[cfg_attr(miri, ignore = "takes more than 90 s")]
fn threads_run_in_their_servers() {
    let _alone = alone();
    for wanted in postures() {
        for policy in POLICIES {
            let ran = run(policy, BUDGET, wanted, true, |seen, _| seen >= 15);
            assert!(is_replayed(policy, BUDGET, &ran.records), "{wanted:?}");
            let count = |kind, subject| {
                ran.records.iter().filter(|record| record.kind == kind && record.subject == subject).count()
            };
            println!(
                "{wanted:?} {policy:?}: {} of {:?}, {} and {} jobs, {} turns, {} preempted",
                ran.seen,
                ran.rounds,
                count(Kind::Complete, 2),
                count(Kind::Complete, 3),
                count(Kind::Budget, 0),
                count(Kind::Preempt, 2)
            );
            // The task below the server saw the threads above it run, and ran when they did not.
            assert!(ran.seen >= 15, "{wanted:?} {policy:?}: {}", ran.seen);
            assert!(count(Kind::Complete, 2) > 5 && count(Kind::Complete, 3) > 5);
        }
    }
}

/// The server gets its whole core: the jobs that wait in it still get their turn.
#[test]
fn threads_of_a_server_take_turns() {
    let _alone = alone();
    for wanted in postures().into_iter().filter(|wanted| *wanted == Wanted::Strict) {
        for policy in POLICIES {
            let ran =
                run(policy, PERIOD, wanted, false, |_, rounds| rounds.iter().all(|rounds| *rounds > 1_000));
            assert!(is_replayed(policy, PERIOD, &ran.records), "{wanted:?}");
            let starts = |subject| {
                let of = |record: &&Record| record.kind == Kind::Start && record.subject == subject;
                ran.records.iter().filter(of).count()
            };
            println!("{policy:?}: {} and {} turns, {:?}", starts(2), starts(3), ran.rounds);
            assert!(starts(2) > 2 && starts(3) > 2, "{policy:?}: {} and {}", starts(2), starts(3));
        }
    }
}

/// The check finds a replay with a smaller budget than the server had.
#[test]
fn another_budget_is_found() {
    let _alone = alone();
    for wanted in postures().into_iter().filter(|wanted| *wanted == Wanted::Strict) {
        let ran = run(ServerPolicy::Deferrable, BUDGET, wanted, true, |seen, _| seen >= 5);
        assert!(!is_replayed(ServerPolicy::Deferrable, Duration::from_us(300), &ran.records));
    }
}

#[test]
fn only_jobs_in_servers_donate() {
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Immediate);
    setup.task(core, TaskSetup::new("t", Release::Polled).donates(), |job: &mut Job<'_>| job.donate(0));
    let refused = setup.run(Wanted::Loose, |_| ()).unwrap_err();
    assert_eq!(refused, SetupError::Served { task: "t".to_owned() });
}
