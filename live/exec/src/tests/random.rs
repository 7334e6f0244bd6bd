// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random sets on threads, replayed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_time::Duration;

use super::replay::{Seen, replay};
use super::{Canary, Fault, Random, alone, busy, cpu, drained, postures};
use crate::{CoreResource, Job, LocalRule, RecordingLevel, Release, Setup, TaskSetup, Wanted};

const RULES: [LocalRule; 4] = [LocalRule::Immediate, LocalRule::Original, LocalRule::Srp, LocalRule::Dfp];

/// A section: its resource, the time before it and inside it, and an inner section.
#[derive(Clone, Debug)]
struct Section {
    resource: usize,
    before_ns: u64,
    inside_ns: u64,
    inner: Option<Box<Section>>,
}

#[derive(Clone, Debug)]
struct Plan {
    period: Duration,
    offset: Duration,
    deadline: Duration,
    priority: u32,
    sections: Vec<Section>,
    after_ns: u64,
}

#[derive(Clone, Copy)]
struct Shape {
    /// The most that a job computes, in per mille of its period, divided by the number of tasks.
    load: u64,
    sections: u64,
    least_period_us: u64,
}

fn draw(random: &mut Random, resources: usize, shape: Shape) -> Vec<Plan> {
    let count = 3 + random.below(4);
    (0..count)
        .map(|_| {
            let period_us = shape.least_period_us * (1 + random.below(8));
            let work_ns = period_us * shape.load / count;
            let sections = 1 + random.below(shape.sections);
            let part = work_ns / (sections * 2 + 1);
            let section = |random: &mut Random| {
                let resource = random.below(resources as u64) as usize;
                // Sections nest in any order: the local rules have no deadlock.
                let inner = (resources > 1 && random.below(3) == 0).then(|| {
                    let other = (resource + 1 + random.below(resources as u64 - 1) as usize) % resources;
                    Box::new(Section { resource: other, before_ns: 0, inside_ns: part / 2, inner: None })
                });
                Section { resource, before_ns: random.below(part + 1), inside_ns: part / 2, inner }
            };
            let sections = (0..sections).map(|_| section(random)).collect();
            Plan {
                period: Duration::from_us(period_us),
                offset: Duration::from_us(random.below(period_us)),
                deadline: Duration::from_us(period_us - random.below(period_us / 3)),
                priority: 1 + random.below(5) as u32,
                sections,
                after_ns: random.below(part + 1),
            }
        })
        .collect()
}

fn section(
    job: &mut Job<'_>,
    me: u64,
    resources: &[CoreResource<Canary>],
    section_: &Section,
    torn: &AtomicU64,
) {
    busy(section_.before_ns);
    let locked = job.lock(&resources[section_.resource], |canary, job| {
        let inside = || {
            busy(section_.inside_ns);
            if let Some(inner) = &section_.inner {
                section(job, me, resources, inner, torn);
            }
        };
        if !canary.change(me, inside) {
            torn.fetch_add(1, Ordering::Relaxed);
        }
    });
    locked.unwrap();
}

/// Runs a set and replays it.
pub(super) fn run(
    rule: LocalRule,
    wanted: Wanted,
    seed: u64,
    time: Time,
    late_ns: u64,
    dense: bool,
    fault: Fault,
) -> Result<Seen, String> {
    let mut random = Random(seed);
    let resources = 1 + random.below(3) as usize;
    let shape = if dense {
        Shape { load: 500, sections: 12, least_period_us: 150 }
    } else {
        Shape { load: 600, sections: 3, least_period_us: 500 }
    };
    let plans = draw(&mut random, resources, shape);
    let (torn, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut setup = Setup::new();
    setup.delay_ns = late_ns;
    setup.fault = fault;
    let core = setup.core(cpu(), rule);
    let shared: Vec<_> = (0..resources).map(|_| setup.resource(core, Canary::default())).collect();
    for (at, plan) in plans.iter().enumerate() {
        let release = Release::Periodic { period: plan.period, offset: plan.offset };
        let mut task = TaskSetup::new("t", release).deadline(plan.deadline).priority(plan.priority);
        for outer in &plan.sections {
            task = task.uses(&shared[outer.resource]);
            if let Some(inner) = &outer.inner {
                task = task.uses(&shared[inner.resource]);
            }
        }
        let (plan, shared, torn, done) = (plan.clone(), shared.clone(), &torn, &done);
        setup.task(core, task, move |job: &mut Job<'_>| {
            for outer in &plan.sections {
                section(job, at as u64, &shared, outer, torn);
            }
            busy(plan.after_ns);
            done.fetch_add(1, Ordering::Relaxed);
        });
    }
    let attributes = setup.cores[0].attributes();
    let mut drain = setup.record(core, RecordingLevel::All, 1 << 17);
    let (origin, outcome) = setup
        .run(wanted, |exec| {
            exec.wait(Some(time));
            // On a busy machine ordinary threads may not have run the jobs yet.
            for _ in 0..1000 {
                if done.load(Ordering::Relaxed) >= 30 {
                    break;
                }
                exec.wait(Some(Time::from_millis(10)));
            }
            exec.origin()
        })
        .map_err(|error| error.to_string())?;
    let records = drained(&mut drain);
    if records.iter().any(|record| record.kind == taut_event::Kind::Lost) {
        return Err("the ring was too small".to_owned());
    }
    let periods: Vec<_> = plans.iter().map(|plan| Some((plan.offset, plan.period))).collect();
    let seen = replay(&records, rule, &attributes, origin, &periods)?;
    let completed: u64 = outcome.tasks.iter().map(|task| task.completed).sum();
    let released: u64 = outcome.tasks.iter().map(|task| task.released).sum();
    if completed != released || completed != seen.completed || completed == 0 {
        return Err(format!("{released} released, {completed} complete, {} recorded", seen.completed));
    }
    match torn.into_inner() {
        0 => Ok(seen),
        torn => Err(format!("{torn} sections were not alone")),
    }
}

fn all(sets: u64, time: Time, dense: bool) {
    let _alone = alone();
    for wanted in postures() {
        for rule in RULES {
            let mut total = Seen::default();
            // More sets if the machine is so busy that no job preempted another.
            for seed in 0..sets + 40 {
                let shown = total.locked > 0
                    && total.preempted > 0
                    && (rule != LocalRule::Original || total.waited > 0);
                if seed >= sets && shown {
                    break;
                }
                let seen = run(rule, wanted, seed + 1, time, 0, dense, Fault::None)
                    .unwrap_or_else(|what| panic!("{rule:?}, {wanted:?}, set {seed}: {what}"));
                total.completed += seen.completed;
                total.locked += seen.locked;
                total.preempted += seen.preempted;
                total.at_unlock += seen.at_unlock;
                total.waited += seen.waited;
            }
            println!("{wanted:?} {rule:?}: {total:?}");
            assert!(total.locked > 0 && total.preempted > 0, "{total:?}");
            assert!(rule != LocalRule::Original || total.waited > 0, "nobody waited");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes more than 90 s")]
fn random_sets_run_as_the_rule_says() {
    all(8, Time::from_millis(60), false);
}

#[test]
#[cfg_attr(miri, ignore = "takes more than 90 s")]
fn dense_locks_run_as_the_rule_says() {
    all(2, Time::from_millis(80), true);
}

/// The check finds a missing decision after an unlock.
#[test]
#[cfg_attr(miri, ignore = "takes more than 90 s")]
fn a_deaf_unlock_is_found() {
    let _alone = alone();
    for wanted in postures() {
        let found = (1..20).any(|seed| {
            run(LocalRule::Srp, wanted, seed, Time::from_millis(50), 0, true, Fault::Deaf).is_err()
        });
        assert!(found, "{wanted:?}");
    }
}
