// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Executes a set on real threads: each job executes as long as the set says, and the probe runs beside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_event::{Kind, Record};
use taut_exec::{
    CoreId, CoreResource, Enforcement, ExecOutcome, GlobalResource, Job, RecordingLevel, Release, Setup,
    TaskSetup, Wanted,
};
use taut_lock::{Line, Memory};
use taut_model::{Body, Segment, TaskSet};
use taut_sim::Rules;
use taut_sys::thread;
use taut_time::Duration;

use super::load::Load;
use super::probe::{Seen, Sign, watch};
use crate::draw::Draw;

/// The most tasks that may use a global resource.
const PARTIES: u32 = 16;
/// Cache lines of a global resource.
const LINES: usize = PARTIES as usize + 1;
/// The capacity of a core's recording, in records.
const RECORDS: usize = 1 << 16;

/// A deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The executor sees each local resource as two, and the tasks use them alternately: no ceiling covers all users.
    Split,
    /// Sections of global resources take no lock and are not recorded. They are longer by [`UNLOCKED_NS`]: otherwise
    /// two sections would seldom overlap on two cores with little load.
    Unlocked,
}

const UNLOCKED_NS: u64 = 100_000;

/// A part of a job.
#[derive(Clone, Debug)]
enum Step {
    Spin(u64),
    Section(usize, Vec<Step>),
}

/// The outcome of a run.
pub(crate) struct Ran {
    pub(crate) records: Vec<Record>,
    pub(crate) enforcement: Enforcement,
    pub(crate) released: u64,
    pub(crate) completed: u64,
    /// How often two jobs were in a section at once.
    pub(crate) beside: u64,
    /// How often a lock was refused.
    pub(crate) refused: u64,
    /// Signs of life, by core.
    pub(crate) signs: Vec<Vec<Sign>>,
}

impl Ran {
    /// How many jobs were released and did not complete.
    pub(crate) fn lost(&self) -> u64 {
        self.released.saturating_sub(self.completed)
    }
}

/// The task in a section, plus 1; 0 if the section is empty.
#[derive(Debug, Default)]
struct Inside(AtomicU64);

impl Inside {
    /// Enters; returns whether the section was empty.
    fn enter(&self, me: u64) -> bool {
        self.0.swap(me + 1, Ordering::Relaxed) == 0
    }

    /// Leaves; returns whether no other job entered meanwhile.
    fn leave(&self, me: u64) -> bool {
        self.0.swap(0, Ordering::Relaxed) == me + 1
    }
}

/// How a job locks a resource.
#[derive(Clone)]
enum Guard<'m> {
    Local(CoreResource<()>),
    Global(GlobalResource<'m, ()>),
    Nothing,
}

/// What the jobs of a task use.
struct Needs<'m> {
    task: usize,
    guards: Vec<Guard<'m>>,
    inside: Arc<Vec<Inside>>,
    seen: Arc<Seen>,
    beside: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
}

impl Needs<'_> {
    fn execute(&self, steps: &[Step], job: &mut Job<'_>) {
        for step in steps {
            match step {
                Step::Spin(ns) => self.seen.spin(*ns),
                Step::Section(resource, inside) => {
                    let done = match &self.guards[*resource] {
                        Guard::Local(guard) => {
                            job.lock(guard, |(), job| self.section(*resource, inside, job)).is_ok()
                        }
                        Guard::Global(guard) => {
                            job.lock_global(guard, |(), job| self.section(*resource, inside, job)).is_ok()
                        }
                        Guard::Nothing => {
                            let longer: Vec<Step> =
                                inside.iter().cloned().chain([Step::Spin(UNLOCKED_NS)]).collect();
                            self.section(*resource, &longer, job);
                            true
                        }
                    };
                    if !done {
                        self.refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    fn section(&self, resource: usize, steps: &[Step], job: &mut Job<'_>) {
        let me = self.task as u64;
        let alone = self.inside[resource].enter(me);
        self.execute(steps, job);
        if !(self.inside[resource].leave(me) && alone) {
            self.beside.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The steps of a job. Sections without fixed places get random ones.
fn program(draw: &mut Draw, body: &Body) -> Vec<Step> {
    fn of(segments: &[Segment]) -> Vec<Step> {
        let step = |segment: &Segment| match segment {
            Segment::Normal(time) => Step::Spin(time.as_ns()),
            Segment::Section { resource, inside } => Step::Section(*resource, of(inside)),
        };
        let steps = segments.iter().map(step);
        steps.filter(|step| !matches!(step, Step::Spin(0))).collect()
    }
    match body {
        Body::Segments(segments) => of(segments),
        Body::Anywhere { cost, requests } => {
            let mut sections: Vec<Step> = Vec::new();
            let mut rest = cost.as_ns();
            for request in requests {
                for _ in 0..request.count {
                    let length = request.length.as_ns();
                    rest = rest.saturating_sub(length);
                    let place = draw.pick(0, sections.len() as u64) as usize;
                    sections.insert(place, Step::Section(request.resource, vec![Step::Spin(length)]));
                }
            }
            // One gap comes before all sections and one after each, so a job has no more parts than were charged.
            let mut all = vec![Step::Spin(0); 1 + sections.len()];
            let mut gaps: Vec<u64> = draw.cut(rest, sections.len() + 1);
            // A gap of less than a microsecond would consist of clock reads alone.
            for at in 1..gaps.len() {
                if gaps[at] < 1_000 {
                    gaps[0] += std::mem::take(&mut gaps[at]);
                }
            }
            for (step, ns) in all.iter_mut().zip(&gaps) {
                *step = Step::Spin(*ns);
            }
            let mut steps = vec![all.remove(0)];
            for (section, gap) in sections.into_iter().zip(all) {
                steps.extend([section, gap]);
            }
            steps.retain(|step| !matches!(step, Step::Spin(0)));
            steps
        }
    }
}

/// How to run a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requirements {
    pub(crate) time: Time,
    pub(crate) fault: Fault,
}

/// Runs a set while `load` watches its cores. The same draw gives the same jobs.
pub(crate) fn run(
    set: &TaskSet,
    rules: &Rules,
    requirements: Requirements,
    load: &Load,
    draw: &mut Draw,
) -> Result<Ran, String> {
    let reported = |error: &dyn std::fmt::Display| error.to_string();
    let cpus = thread::affinity().map_err(|error| reported(&error))?;
    let count = set.resources().len();
    let mut lines: Vec<[Line; LINES]> = (0..count).map(|_| [const { Line::new() }; LINES]).collect();
    let mut setup = Setup::new();
    let mut cores = Vec::new();
    for (core, rule_) in rules.cores.iter().enumerate() {
        let cpu = *cpus.get(core).ok_or("fewer processors than cores")?;
        cores.push(setup.core(cpu, *rule_));
    }
    let mut drains: Vec<_> =
        cores.iter().map(|core| setup.record(*core, RecordingLevel::All, RECORDS)).collect();
    let counted = Counted {
        inside: Arc::new((0..count).map(|_| Inside::default()).collect()),
        seen: cores.iter().map(|_| Arc::new(Seen::new())).collect(),
        beside: Arc::new(AtomicU64::new(0)),
        refused: Arc::new(AtomicU64::new(0)),
    };
    let guards = guards(set, rules, requirements.fault, &mut lines, (&mut setup, &cores))?;
    let calendars = tasks(set, &guards, &counted, (&mut setup, &cores), draw)?;
    load.watch(&counted.seen);
    let run = setup.run(Wanted::Best, |exec| {
        let stop = AtomicBool::new(false);
        let origin_ns = exec.origin().as_ns();
        std::thread::scope(|scope| {
            let places = cpus.iter().zip(&calendars).zip(&counted.seen);
            let probes: Vec<_> = places
                .map(|((cpu, calendar), seen)| {
                    let stop = &stop;
                    scope.spawn(move || watch(*cpu, origin_ns, calendar, seen, stop))
                })
                .collect();
            exec.wait(Some(requirements.time));
            exec.stop();
            // Jobs that have begun end meanwhile.
            std::thread::sleep(Time::from_millis(2));
            stop.store(true, Ordering::Relaxed);
            // The signs of a probe that failed excuse no response above its bound.
            probes.into_iter().for_each(|probe| drop(probe.join()));
        });
        exec.origin()
    });
    load.watch(&[]);
    let (origin, outcome) = run.map_err(|error| reported(&error))?;
    let begin = Record { at: origin, kind: Kind::Begin, cpu: 0, subject: 0, job: 0, value: 0 };
    let mut records = vec![begin];
    for drain in &mut drains {
        drain.drain(|record| records.push(record));
    }
    Ok(counted.ran(records, &outcome))
}

/// What jobs and probes count during a run.
struct Counted {
    inside: Arc<Vec<Inside>>,
    /// By core.
    seen: Vec<Arc<Seen>>,
    beside: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
}

impl Counted {
    fn ran(&self, records: Vec<Record>, outcome: &ExecOutcome) -> Ran {
        Ran {
            records,
            enforcement: outcome.enforcement,
            released: outcome.tasks.iter().map(|task| task.released).sum(),
            completed: outcome.tasks.iter().map(|task| task.completed).sum(),
            beside: self.beside.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            signs: self.seen.iter().map(|seen| seen.signs()).collect(),
        }
    }
}

/// Sets up the resources, each recorded under its position. Tasks at even positions use the first guard of a
/// resource, the others the second; the two differ only if the resource is split.
fn guards<'m>(
    set: &TaskSet,
    rules: &Rules,
    fault: Fault,
    lines: &'m mut [[Line; LINES]],
    (setup, cores): (&mut Setup<'m>, &[CoreId]),
) -> Result<Vec<[Guard<'m>; 2]>, String> {
    let mut guards: Vec<[Guard<'_>; 2]> = Vec::new();
    for (at, lines) in lines.iter_mut().enumerate() {
        if set.is_local(at) {
            let core = set.users(at).next().map_or(0, |user| set.tasks()[user].core);
            let one = Guard::Local(setup.resource(cores[core], ()));
            let other = match fault {
                Fault::Split => Guard::Local(setup.resource_recorded_as(cores[core], at as u32, ())),
                Fault::None | Fault::Unlocked => one.clone(),
            };
            guards.push([one, other]);
        } else {
            let kind = rules.resources[at];
            let global =
                setup.global(kind, Memory::new(lines), PARTIES, ()).map_err(|error| error.to_string())?;
            let guard = if fault == Fault::Unlocked { Guard::Nothing } else { Guard::Global(global) };
            guards.push([guard.clone(), guard]);
        }
    }
    Ok(guards)
}

/// Sets up the tasks. Returns the offset and the period of each task, in ns, by core.
fn tasks<'m>(
    set: &TaskSet,
    guards: &[[Guard<'m>; 2]],
    counted: &Counted,
    (setup, cores): (&mut Setup<'m>, &[CoreId]),
    draw: &mut Draw,
) -> Result<Vec<Vec<(u64, u64)>>, String> {
    // Releasing all tasks at once is the worst case for many rules, and seldom happens by chance.
    let together = draw.chance(50);
    let mut calendars = vec![Vec::new(); cores.len()];
    for (at, task) in set.tasks().iter().enumerate() {
        let offset = match task.arrivals {
            taut_model::ArrivalPattern::Phased(offset) => offset,
            _ if together => Duration::ZERO,
            _ => Duration::from_ns(draw.pick(0, task.period.as_ns() - 1)),
        };
        calendars[task.core].push((offset.as_ns(), task.period.as_ns()));
        let release = Release::Periodic { period: task.period, offset };
        let mut own = TaskSetup::new(&task.name, release).priority(task.priority).deadline(task.deadline);
        let mine: Vec<Guard<'_>> = guards.iter().map(|pair| pair[at % 2].clone()).collect();
        let used: Vec<usize> = set.requests(at).iter().map(|request| request.resource).collect();
        for resource in &used {
            if let Guard::Local(guard) = &mine[*resource] {
                own = own.uses(guard);
            }
        }
        let steps = program(draw, &task.body);
        let needs = Needs {
            task: at,
            guards: mine.clone(),
            inside: Arc::clone(&counted.inside),
            seen: Arc::clone(&counted.seen[task.core]),
            beside: Arc::clone(&counted.beside),
            refused: Arc::clone(&counted.refused),
        };
        let id = setup.task(cores[task.core], own, move |job: &mut Job<'_>| needs.execute(&steps, job));
        for resource in &used {
            if let Guard::Global(guard) = &mine[*resource] {
                setup.uses_global(id, guard).map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(calendars)
}
