// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random sets with servers and budgets on threads, also with a late dispatcher. The simulator replays them with the
//! same state machines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_event::{Kind, Record};
use taut_model::{ArrivalPattern, Body, Request, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::replay::{Names, Replay};
use taut_sim::{GlobalRule, Limit, RecordedServer, Rules};
use taut_time::Duration;

use super::{Canary, Random, alone, busy, cpu, drained, postures};
use crate::{
    Job, LocalRule, Overrun, RecordingLevel, Release, ServerPolicy, ServerSetup, Setup, SetupError,
    TaskSetup, Wanted,
};

#[derive(Clone, Debug)]
struct Task {
    period: Duration,
    offset: Duration,
    priority: u32,
    work_ns: u64,
    /// How long it holds the resource; there is only one.
    section_ns: u64,
    overrun: Overrun,
    budget: Option<Duration>,
    server: Option<usize>,
}

#[derive(Clone, Debug)]
struct Server {
    policy: ServerPolicy,
    budget: Duration,
    period: Duration,
    priority: u32,
}

fn draw(random: &mut Random) -> (Vec<Task>, Vec<Server>) {
    let us = Duration::from_us;
    let servers: Vec<Server> = (0..1 + random.below(2))
        .map(|_| {
            let period = 1_000 + 500 * random.below(6);
            Server {
                policy: [ServerPolicy::Polling, ServerPolicy::Deferrable, ServerPolicy::Sporadic]
                    [random.below(3) as usize],
                budget: us(100 + random.below(period / 3)),
                period: us(period),
                priority: 1 + random.below(8) as u32,
            }
        })
        .collect();
    let mut tasks = Vec::new();
    for at in 0..4 + random.below(3) {
        let period = 1_000 + 500 * random.below(8);
        let server = (at < 3).then(|| random.below(servers.len() as u64) as usize);
        let policies = [Overrun::RunOn, Overrun::SkipNext, Overrun::KillJob, Overrun::Demote];
        let kinds = if server.is_some() { 3 } else { 4 };
        let work_ns = period * (50 + random.below(200));
        tasks.push(Task {
            period: us(period),
            offset: us(random.below(period)),
            priority: 1 + random.below(8) as u32,
            work_ns,
            section_ns: if server.is_none() && random.below(2) == 0 { work_ns / 3 } else { 0 },
            overrun: policies[random.below(kinds) as usize],
            budget: (server.is_none() && random.below(2) == 0).then(|| us(1 + random.below(work_ns / 800))),
            server,
        });
    }
    (tasks, servers)
}

fn model(
    rule: LocalRule,
    tasks: &[Task],
    servers: &[Server],
) -> (TaskSet, Rules, Vec<RecordedServer>, Vec<(usize, Limit)>) {
    let set_task = |name: String, priority, period, arrivals, requests| SetTask {
        name,
        core: 0,
        priority,
        arrivals,
        period,
        deadline: period,
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost: Duration::from_us(1), requests },
    };
    let request = Request { resource: 0, count: 1, length: Duration::from_ns(1), outermost: true };
    let uses = |task: &Task| if task.section_ns > 0 { vec![request] } else { Vec::new() };
    let own = tasks.iter().enumerate().map(|(at, task)| {
        set_task(format!("t{at}"), task.priority, task.period, ArrivalPattern::Periodic, uses(task))
    });
    let theirs = servers.iter().enumerate().map(|(at, server)| {
        set_task(format!("s{at}"), server.priority, server.period, ArrivalPattern::Sporadic, Vec::new())
    });
    let resource = taut_model::Resource { name: "r".into() };
    let set =
        TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![resource], own.chain(theirs).collect())
            .unwrap();
    let rules = Rules { cores: vec![rule], resources: vec![GlobalRule::Msrp] };
    let served = |(at, server): (usize, &Server)| RecordedServer {
        task: tasks.len() + at,
        policy: server.policy,
        budget: server.budget,
        period: server.period,
        serves: (0..tasks.len()).filter(|task| tasks[*task].server == Some(at)).collect(),
    };
    let served = servers.iter().enumerate().map(served).collect();
    let limit = |task: &Task| Limit { overrun: task.overrun, budget: task.budget };
    (set, rules, served, tasks.iter().map(limit).enumerate().collect())
}

fn record(
    rule: LocalRule,
    tasks: &[Task],
    servers: &[Server],
    wanted: Wanted,
    late_ns: u64,
) -> (Vec<Record>, u64) {
    let done = AtomicU64::new(0);
    let torn = AtomicU64::new(0);
    let mut setup = Setup::new();
    setup.delay_ns = late_ns;
    let core = setup.core(cpu(), rule);
    let shared = setup.resource(core, Canary::default());
    let mut ids = Vec::new();
    for (at, server) in servers.iter().enumerate() {
        let of = ServerSetup::new(&format!("s{at}"), server.policy, server.budget, server.period);
        ids.push(setup.server(core, of.priority(server.priority)));
    }
    for (at, task) in tasks.iter().enumerate() {
        let release = Release::Periodic { period: task.period, offset: task.offset };
        let mut own =
            TaskSetup::new(&format!("t{at}"), release).priority(task.priority).overrun(task.overrun);
        if let Some(budget) = task.budget {
            own = own.budget(budget);
        }
        if let Some(server) = task.server {
            own = own.served_by(ids[server]);
        }
        if task.section_ns > 0 {
            own = own.uses(&shared);
        }
        let (task, shared, done, torn) = (task.clone(), shared.clone(), &done, &torn);
        setup.task(core, own, move |job: &mut Job<'_>| {
            for _ in 0..4 {
                busy(task.work_ns / 4);
                if job.checkpoint().is_err() {
                    return;
                }
            }
            if task.section_ns > 0 {
                let alone = job.lock(&shared, |canary, _| canary.change(at as u64, || busy(task.section_ns)));
                torn.fetch_add(u64::from(alone == Ok(false)), Ordering::Relaxed);
            }
            done.fetch_add(1, Ordering::Relaxed);
        });
    }
    let mut drain = setup.record(core, RecordingLevel::All, 1 << 16);
    let (origin, outcome) = setup
        .run(wanted, |exec| {
            exec.wait(Some(Time::from_millis(40)));
            for _ in 0..1000 {
                if done.load(Ordering::Relaxed) >= 20 {
                    break;
                }
                exec.wait(Some(Time::from_millis(10)));
            }
            exec.origin()
        })
        .unwrap();
    assert_eq!(torn.into_inner(), 0);
    let mut records = vec![Record { at: origin, kind: Kind::Begin, cpu: 0, subject: 0, job: 0, value: 0 }];
    records.extend(drained(&mut drain));
    (records, outcome.tasks.iter().map(|task| task.completed).sum())
}

#[derive(Debug, Default)]
struct Seen {
    events: u64,
    jobs: u64,
    turns: u64,
    exhausted: u64,
    preempted: u64,
}

#[test]
#[cfg_attr(miri, ignore = "takes more than 90 s")]
fn servers_and_budgets_run_as_simulated() {
    let _alone = alone();
    for wanted in postures() {
        let mut seen = Seen::default();
        for seed in 1..=16 {
            let mut random = Random(seed);
            let (tasks, servers) = draw(&mut random);
            let rule = [LocalRule::Immediate, LocalRule::Original, LocalRule::Srp, LocalRule::Dfp]
                [random.below(4) as usize];
            let late_ns = [0, 0, 200_000][random.below(3) as usize];
            let (records, completed) = record(rule, &tasks, &servers, wanted, late_ns);
            let (set, rules, served, limits) = model(rule, &tasks, &servers);
            let replay = Replay::new(&set, &rules).limits(&limits).servers(&served);
            let replayed = replay.run(&records, &mut ()).unwrap();
            let names: Vec<String> = set.tasks().iter().map(|task| task.name.clone()).collect();
            let names = Names { tasks: &names, resources: &["r".to_owned()], begin: records[0].at };
            let table = replayed.difference.as_ref().map(|found| found.table(&names)).unwrap_or_default();
            let lost = records.iter().any(|record| record.kind == Kind::Lost);
            assert!(
                replayed.is_equal() || lost,
                "seed {seed}, {wanted:?} {rule:?}, {late_ns} ns late: {tasks:#?} {servers:#?}\n{table}{:?}",
                replayed.cores
            );
            let jobs = replayed.cores[0].jobs;
            assert!(jobs == completed || lost, "seed {seed}: {jobs} of {completed}");
            let count = |kind| records.iter().filter(|record| record.kind == kind).count() as u64;
            seen.events += replayed.events();
            seen.jobs += jobs;
            seen.turns += count(Kind::Budget);
            seen.exhausted += count(Kind::Exhausted);
            seen.preempted += count(Kind::Preempt);
        }
        println!("{wanted:?}: {seen:?}");
        assert!(seen.turns > 50 && seen.exhausted > 0 && seen.preempted > 0 && seen.jobs > 300, "{seen:?}");
    }
}

/// The check finds a server that got less than the simulated budget.
#[test]
#[cfg_attr(miri, ignore = "takes more than 90 s")]
fn another_budget_is_found() {
    let _alone = alone();
    let mut found = 0;
    for seed in 1..=4 {
        let (tasks, mut servers) = draw(&mut Random(seed));
        let (records, _) = record(LocalRule::Immediate, &tasks, &servers, Wanted::Loose, 0);
        servers[0].budget = servers[0].budget.checked_mul(2).unwrap();
        let (set, rules, served, limits) = model(LocalRule::Immediate, &tasks, &servers);
        let replay = Replay::new(&set, &rules).limits(&limits).servers(&served);
        found += u64::from(replay.run(&records, &mut ()).unwrap().difference.is_some());
    }
    assert!(found > 0);
}

#[test]
fn impossible_servers_are_refused() {
    let us = Duration::from_us;
    let nothing = |_: &mut Job<'_>| {};
    let refused = |setup: Setup<'_>| setup.run(Wanted::Loose, |_| ()).unwrap_err();
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Immediate);
    setup.server(core, ServerSetup::new("s", ServerPolicy::Polling, us(2), us(1)));
    assert_eq!(refused(setup), SetupError::Server { server: "s".to_owned() });
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Immediate);
    let server = setup.server(core, ServerSetup::new("s", ServerPolicy::Sporadic, us(1), us(2)));
    setup.task(core, TaskSetup::new("t", Release::ByHand).served_by(server).budget(us(1)), nothing);
    assert_eq!(refused(setup), SetupError::Served { task: "t".to_owned() });
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Immediate);
    let shared = setup.resource(core, ());
    let server = setup.server(core, ServerSetup::new("s", ServerPolicy::Deferrable, us(1), us(2)));
    setup.task(core, TaskSetup::new("t", Release::ByHand).served_by(server).uses(&shared), nothing);
    assert_eq!(refused(setup), SetupError::Served { task: "t".to_owned() });
}
