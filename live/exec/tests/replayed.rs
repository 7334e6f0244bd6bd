// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Same code, same schedule: random sets run on threads, and the simulator replays the records event by event.
//!
//! Loose enforcement everywhere; strict where the system allows fixed priorities, otherwise the test reports that it
//! skips it. No test here checks how long anything took. `REPLAYED_SETS` and `REPLAYED_MS` make the test longer, and
//! `TAUT_LOOSE` leaves out the strict runs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration as Time;

use taut_event::{Kind, Record};
use taut_exec::{
    CoreResource, Enforcement, GlobalResource, GlobalRule, Job, LocalRule, Overrun, RecordingLevel, Release,
    Setup, TaskId, TaskSetup, Wanted,
};
use taut_lock::{Line, Memory};
use taut_model::{ArrivalPattern, Body, Request, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::replay::{Names, Replay, Replayed};
use taut_sim::{Limit, Rules};
use taut_sys::{clock, thread};
use taut_time::Duration;

/// Pseudo-random numbers; the same for the same seed.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A part of a job: it computes, then enters a section, which may have an inner one.
#[derive(Clone, Debug)]
struct Section {
    /// Its position on its core.
    resource: usize,
    before_ns: u64,
    inside_ns: u64,
    inner: Option<Box<Section>>,
}

#[derive(Clone, Debug)]
struct Task {
    core: usize,
    priority: u32,
    deadline: Duration,
    /// `None` if the task is released by hand.
    period: Option<Duration>,
    offset: Duration,
    overrun: Overrun,
    budget: Option<Duration>,
    sections: Vec<Section>,
    /// Sections of resources that several cores use: which resource, and how long, ns.
    across: Vec<(usize, u64)>,
    after_ns: u64,
    /// After this many jobs it releases the core's task that is released by hand; 0 for never.
    releases: u64,
}

/// A set: the rules of the cores, the protocols of the resources of several cores, and the tasks.
struct Drawn {
    rules: Vec<LocalRule>,
    protocols: Vec<GlobalRule>,
    tasks: Vec<Task>,
}

/// The number of resources per core.
const RESOURCES: usize = 3;
/// The most tasks that may use a resource of several cores.
const PARTIES: u32 = 16;

fn draw(random: &mut Random, cores: usize) -> Drawn {
    let protocols = [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong];
    let count = if cores > 1 { random.below(3).max(random.below(3)) } else { 0 };
    let protocols: Vec<GlobalRule> = (0..count).map(|_| protocols[random.below(3) as usize]).collect();
    let suspends = protocols.iter().any(|protocol| *protocol != GlobalRule::Msrp);
    let rules = [LocalRule::Immediate, LocalRule::Original, LocalRule::Srp, LocalRule::Dfp];
    // Floors do not support suspended jobs.
    let kinds = if suspends { 3 } else { 4 };
    let rules: Vec<LocalRule> = (0..cores).map(|_| rules[random.below(kinds) as usize]).collect();
    let mut tasks = Vec::new();
    for core in 0..cores {
        let count = 3 + random.below(4);
        let by_hand = random.below(2) == 0;
        for at in 0..count {
            let period_us = 500 * (1 + random.below(12));
            let work_ns = period_us * (500 + random.below(500)) / count;
            let sections = 1 + random.below(3);
            let part = work_ns / (sections * 2 + 1);
            let section = |random: &mut Random| {
                let resource = random.below(RESOURCES as u64) as usize;
                let other = (resource + 1 + random.below(RESOURCES as u64 - 1) as usize) % RESOURCES;
                let inner = Section { resource: other, before_ns: 0, inside_ns: part / 2, inner: None };
                let nests = random.below(3) == 0;
                Section {
                    resource,
                    before_ns: random.below(part + 1),
                    inside_ns: part / 2,
                    inner: nests.then(|| Box::new(inner)),
                }
            };
            let policies = [Overrun::RunOn, Overrun::SkipNext, Overrun::KillJob, Overrun::Demote];
            let hand = by_hand && at == 0;
            tasks.push(Task {
                core,
                priority: 1 + random.below(6) as u32,
                deadline: Duration::from_us(period_us / 2 + random.below(period_us)),
                period: (!hand).then(|| Duration::from_us(period_us)),
                offset: Duration::from_us(random.below(period_us)),
                overrun: policies[random.below(4) as usize],
                // For many jobs this budget is too small.
                budget: (random.below(2) == 0).then(|| Duration::from_us(1 + random.below(work_ns / 1000))),
                sections: (0..sections).map(|_| section(random)).collect(),
                across: (0..2 * protocols.len())
                    .filter(|_| random.below(3) > 0)
                    .map(|at| (at % protocols.len(), part / 3))
                    .collect(),
                after_ns: random.below(part + 1),
                releases: if by_hand && !hand { 3 + random.below(6) } else { 0 },
            });
        }
    }
    Drawn { rules, protocols, tasks }
}

/// The same set for the simulator. Execution times come from the recording.
fn model(drawn: &Drawn) -> (TaskSet, Rules) {
    let Drawn { rules, protocols, tasks } = drawn;
    let locals = rules.len() * RESOURCES;
    let task = |(at, task): (usize, &Task)| {
        let own = task.sections.iter().flat_map(resources).map(|own| task.core * RESOURCES + own);
        let mut used: Vec<usize> = own.chain(task.across.iter().map(|(which, _)| locals + which)).collect();
        used.sort_unstable();
        used.dedup();
        let request =
            |resource: usize| Request { resource, count: 1, length: Duration::from_ns(1), outermost: true };
        SetTask {
            name: format!("t{at}"),
            core: task.core,
            priority: task.priority,
            arrivals: if task.period.is_some() { ArrivalPattern::Periodic } else { ArrivalPattern::Sporadic },
            period: task.period.unwrap_or(Duration::from_ns(1)),
            deadline: task.deadline,
            jitter: Duration::ZERO,
            body: Body::Anywhere {
                cost: Duration::from_us(1),
                requests: used.into_iter().map(request).collect(),
            },
        }
    };
    let resource = |at| taut_model::Resource { name: format!("r{at}") };
    let resources = (0..locals + protocols.len()).map(resource).collect();
    let tasks = tasks.iter().enumerate().map(task).collect();
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority; rules.len()], resources, tasks).unwrap();
    let mut resources = vec![GlobalRule::Msrp; locals];
    resources.extend(protocols);
    let rules = Rules { cores: rules.clone(), resources };
    (set, rules)
}

fn limits(drawn: &Drawn) -> Vec<(usize, Limit)> {
    let limit = |task: &Task| Limit { overrun: task.overrun, budget: task.budget };
    drawn.tasks.iter().map(limit).enumerate().collect()
}

fn resources(section: &Section) -> Vec<usize> {
    let inner = section.inner.as_deref().map(resources);
    [vec![section.resource], inner.unwrap_or_default()].concat()
}

fn busy(ns: u64) {
    let end = clock::monotonic_ns() + ns;
    while clock::monotonic_ns() < end {
        std::hint::spin_loop();
    }
}

fn inside(section: &Section, all: &[CoreResource<u64>], job: &mut Job<'_>) {
    busy(section.before_ns);
    // A job that was asked to end goes on without the section.
    let _ = job.lock(&all[section.resource], |value, job| {
        let before = *value;
        busy(section.inside_ns);
        section.inner.iter().for_each(|inner| inside(inner, all, job));
        *value = before + 1;
    });
}

/// Runs a set on threads. Returns the records, core by core, the enforcement, and the number of completed jobs.
fn record(drawn: &Drawn, wanted: Wanted, time: Time) -> (Vec<Record>, Enforcement, u64) {
    let Drawn { rules, protocols, tasks } = drawn;
    let cpus = thread::affinity().unwrap();
    let mut lines = [const { [const { Line::new() }; PARTIES as usize + 1] }; 2];
    let mut setup = Setup::new();
    let (mut drains, mut locks, mut cores) = (Vec::new(), Vec::new(), Vec::new());
    for (core, rule) in rules.iter().enumerate() {
        let id = setup.core(cpus[core], *rule);
        locks.push((0..RESOURCES).map(|_| setup.resource(id, 0_u64)).collect::<Vec<_>>());
        drains.push(setup.record(id, RecordingLevel::All, 1 << 16));
        cores.push(id);
    }
    let globals: Vec<GlobalResource<'_, u64>> = protocols
        .iter()
        .zip(&mut lines)
        .map(|(protocol, lines)| setup.global(*protocol, Memory::new(lines), PARTIES, 0).unwrap())
        .collect();
    let mut by_hand: Vec<Option<TaskId>> = vec![None; cores.len()];
    for (at, task) in tasks.iter().enumerate() {
        let all = locks[task.core].clone();
        let release = match task.period {
            Some(period) => Release::Periodic { period, offset: task.offset },
            None => Release::ByHand,
        };
        let mut own = TaskSetup::new(&format!("t{at}"), release)
            .priority(task.priority)
            .deadline(task.deadline)
            .overrun(task.overrun);
        if let Some(budget) = task.budget {
            own = own.budget(budget);
        }
        for resource in task.sections.iter().flat_map(resources) {
            own = own.uses(&all[resource]);
        }
        let (sections, after_ns, releases) = (task.sections.clone(), task.after_ns, task.releases);
        let (hand, across, shared) = (by_hand[task.core], task.across.clone(), globals.clone());
        let work = move |job: &mut Job<'_>| {
            for section in &sections {
                inside(section, &all, job);
                if job.checkpoint().is_err() {
                    return;
                }
            }
            for (which, length_ns) in &across {
                // A job that was asked to end goes on without the section.
                let _ = job.lock_global(&shared[*which], |value, _| {
                    let before = *value;
                    busy(*length_ns);
                    *value = before + 1;
                });
            }
            if let Some(hand) = hand
                && releases > 0
                && job.number().is_multiple_of(releases)
            {
                job.release(hand).unwrap();
            }
            busy(after_ns);
        };
        let id = setup.task(cores[task.core], own, work);
        for (which, _) in &task.across {
            setup.uses_global(id, &globals[*which]).unwrap();
        }
        if task.period.is_none() {
            by_hand[task.core] = Some(id);
        }
    }
    let run = setup.run(wanted, |exec| {
        exec.wait(Some(time));
        exec.origin()
    });
    let (origin, outcome) = run.unwrap();
    let begin = Record { at: origin, kind: Kind::Begin, cpu: 0, subject: 0, job: 0, value: 0 };
    let mut records = vec![begin];
    for drain in &mut drains {
        drain.drain(|record| records.push(record));
    }
    (records, outcome.enforcement, outcome.tasks.iter().map(|task| task.completed).sum())
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The set, and where the replay differs.
fn reported(set: &TaskSet, rules: &Rules, replayed: &Replayed, records: &[Record]) -> String {
    let tasks: Vec<String> = set.tasks().iter().map(|task| task.name.clone()).collect();
    let resources: Vec<String> = set.resources().iter().map(|resource| resource.name.clone()).collect();
    let names = Names { tasks: &tasks, resources: &resources, begin: records[0].at };
    let table = replayed.difference.as_ref().map(|found| found.table(&names)).unwrap_or_default();
    format!("{:?}\n{table}{:?} {:?}", rules.cores, replayed.cores, replayed.pending)
}

/// What was seen in all sets.
#[derive(Debug, Default)]
struct Seen {
    sets: u64,
    events: u64,
    jobs: u64,
    preempted: u64,
    /// Waits off the core, for resources of any kind.
    waited: u64,
    spun: u64,
    granted: u64,
    exhausted: u64,
    reordered: u64,
    /// Sets that lost records; the rest of such a set cannot be compared.
    lost: u64,
}

fn campaign(wanted: Wanted, cores: usize, sets: u64, seed: u64) -> Option<Seen> {
    let time = Time::from_millis(number("REPLAYED_MS", 30));
    let mut seen = Seen::default();
    for at in 0..sets {
        let mut random = Random(seed + at);
        let drawn = draw(&mut random, cores);
        let (records, enforcement, completed) = record(&drawn, wanted, time);
        if wanted == Wanted::Best && enforcement != Enforcement::Strict {
            println!("skipped: strict runs: {enforcement}");
            return None;
        }
        let (set, rules) = model(&drawn);
        // Linux, or the machine, may stop a thread between a step of a lock and its record. The tests inside the
        // crate check exclusion.
        let slack = Duration::from_ms(100);
        let limits = limits(&drawn);
        let replay = Replay::new(&set, &rules).limits(&limits).slack(slack).patience(Duration::from_s(1));
        let replayed = replay.run(&records, &mut ()).unwrap();
        let lost = records.iter().any(|record| record.kind == Kind::Lost);
        seen.lost += u64::from(lost);
        let reported = || reported(&set, &rules, &replayed, &records);
        assert!(replayed.is_equal() || lost, "seed {}: {}", seed + at, reported());
        assert_eq!(replayed.pending, [], "seed {}: {}", seed + at, reported());
        let jobs = replayed.cores.iter().map(|core| core.jobs).sum::<u64>();
        assert!(jobs == completed || lost, "seed {}: {jobs} of {completed}", seed + at);
        let count = |kind| records.iter().filter(|record| record.kind == kind).count() as u64;
        seen.sets += 1;
        seen.events += replayed.events();
        seen.jobs += jobs;
        seen.preempted += count(Kind::Preempt);
        seen.waited += count(Kind::Suspend);
        seen.spun += count(Kind::Spin);
        seen.granted += count(Kind::Granted);
        seen.exhausted += count(Kind::Exhausted);
        seen.reordered += replayed.reordered;
    }
    Some(seen)
}

/// Serialises the tests: two at once would take each other's processors.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn recorded_runs_equal_the_simulation() {
    let _alone = alone();
    let sets = number("REPLAYED_SETS", 20);
    let cpus = thread::affinity().unwrap().len().min(2);
    if cpus < 2 {
        println!("skipped: runs of two cores: no second processor");
    }
    for (wanted, cores) in
        [(Wanted::Loose, 1), (Wanted::Loose, cpus), (Wanted::Best, 1), (Wanted::Best, cpus)]
    {
        // Strict runs exclude by priorities, which race detectors do not know.
        if wanted == Wanted::Best && std::env::var_os("TAUT_LOOSE").is_some() {
            continue;
        }
        let Some(seen) = campaign(wanted, cores, sets, 1 + 1_000 * cores as u64) else { continue };
        println!("{wanted:?}, {cores} cores: {seen:?}");
        assert!(seen.events > 20 * sets && seen.preempted > 0 && seen.exhausted > 0, "{seen:?}");
        // A set that lost records is not judged.
        assert!(4 * seen.lost <= sets, "{seen:?}");
    }
}

/// The check finds a recording in which one decision is replaced by another.
#[test]
fn a_changed_decision_is_found() {
    let _alone = alone();
    let mut found = 0;
    for seed in 0..5 {
        let drawn = draw(&mut Random(77 + seed), 1);
        let (mut records, ..) = record(&drawn, Wanted::Loose, Time::from_millis(30));
        let (set, rules) = model(&drawn);
        let Some(at) = records.iter().position(|record| record.kind == Kind::Resume) else { continue };
        records[at].subject = (records[at].subject + 1) % drawn.tasks.len() as u16;
        let limits = limits(&drawn);
        let replayed = Replay::new(&set, &rules).limits(&limits).run(&records, &mut ()).unwrap();
        let difference = replayed.difference.expect("one");
        assert_eq!(difference.recorded.0, at);
        found += 1;
    }
    assert!(found > 0);
}

/// The check finds demoted jobs if the simulation lets jobs run on.
#[test]
fn a_job_that_should_not_have_sunk_is_found() {
    let _alone = alone();
    let mut found = 0;
    for seed in 0..8 {
        let mut drawn = draw(&mut Random(177 + seed), 1);
        drawn.tasks.iter_mut().for_each(|task| task.overrun = Overrun::Demote);
        let (records, ..) = record(&drawn, Wanted::Loose, Time::from_millis(30));
        let (set, rules) = model(&drawn);
        drawn.tasks.iter_mut().for_each(|task| task.overrun = Overrun::RunOn);
        let limits = limits(&drawn);
        let replayed = Replay::new(&set, &rules).limits(&limits).run(&records, &mut ()).unwrap();
        found += u64::from(replayed.difference.is_some());
    }
    assert!(found > 0);
}
