// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The jobs of other cores for which a job waited, and when: stalls of their cores delayed the job as well.
//!
//! ```text
//! lock   from its request for a resource to the grant, the job waits for the jobs of other cores that held the
//!        resource meanwhile. Stalls count from the instant at which the first of them acquired it
//! flow   from its release to its start, the job waits for the last job of each other task of its synchronous flows
//!        that was released at its instant or before: if it reads that task's value without a delay, until that job is
//!        complete, else until that job has started. Stalls count from the start of that job's busy window on its
//!        core, and so do the stalls of what that job waited for
//! ```
//!
//! A wait that ended after the job continued was not a wait of this job.

use std::collections::{BTreeMap, BTreeSet};

use taut_plan::{Flow, Plan};
use taut_sim::SimEventKind;

use crate::blame::CoreJobs;
use crate::decisions::Decisions;
use crate::jobs::{Job, TaskJobs};

/// A stretch of time in which another core's inactivity delayed a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) cpu: u16,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// All waits of a run.
pub(crate) struct Waits<'a> {
    jobs: &'a [TaskJobs],
    cores: &'a BTreeMap<u16, CoreJobs>,
    /// By task, its CPU and priority.
    places: Vec<Option<(u16, u8)>>,
    /// By task, the tasks of its flows, and whether it needs the value that each writes at the same instant.
    flows: Vec<BTreeMap<usize, bool>>,
    /// By job that waited for a resource of several cores.
    locks: BTreeMap<(usize, u64), Vec<Awaited>>,
}

impl<'a> Waits<'a> {
    pub(crate) fn new(
        plan: &Plan,
        places: Vec<Option<(u16, u8)>>,
        jobs: &'a [TaskJobs],
        cores: &'a BTreeMap<u16, CoreJobs>,
        (decisions, whole): (&Decisions, bool),
    ) -> Self {
        let locks = locks(&places, decisions, whole);
        Self { jobs, cores, flows: flows(plan), places, locks }
    }

    /// The stretches in which a job waited for other cores, directly or behind other jobs.
    pub(crate) fn of(&self, task: usize, number: u64) -> Vec<Awaited> {
        let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
        let mut open = vec![(task, number)];
        while let Some((task, number)) = open.pop() {
            if !seen.insert((task, number)) {
                continue;
            }
            all.extend(self.locks.get(&(task, number)).into_iter().flatten());
            // By release, and so by number.
            let jobs = self.jobs.get(task).map_or(&[][..], |of| &of.jobs);
            let Some(job) = jobs.binary_search_by_key(&number, |job| job.number).ok().map(|at| &jobs[at])
            else {
                continue;
            };
            all.extend(self.behind_early(job));
            for (other, until) in self.behind(job) {
                let Some(&Some((cpu, priority))) = self.places.get(other.task) else { continue };
                let from = self
                    .cores
                    .get(&cpu)
                    .map_or(other.release, |core| core.busy_since(priority, other.release));
                all.push(Awaited { cpu, from, to: until });
                open.push((other.task, other.number));
            }
        }
        let own = self.places.get(task).copied().flatten().map(|(cpu, _)| cpu);
        all.retain(|awaited| Some(awaited.cpu) != own);
        all
    }

    /// The same for jobs that were released before the records begin: it is not known when such a wait began.
    fn behind_early(&self, job: &Job) -> Vec<Awaited> {
        let Some(flows) = self.flows.get(job.task) else { return Vec::new() };
        let behind = flows.iter().filter_map(|(other, needs)| {
            let last = self.jobs.get(*other)?.early.last()?;
            let (cpu, _) = self.places.get(*other).copied().flatten()?;
            let to = if *needs { last.complete } else { last.start }?;
            (job.release < to && to <= job.start).then_some(Awaited { cpu, from: 0, to })
        });
        behind.collect()
    }

    /// The jobs of its flows that kept a job from starting, and until when.
    fn behind(&self, job: &Job) -> Vec<(&'a Job, u64)> {
        let Some(flows) = self.flows.get(job.task) else { return Vec::new() };
        let behind = flows.iter().filter_map(|(other, needs)| {
            let jobs = &self.jobs.get(*other)?.jobs;
            let other = jobs[..jobs.partition_point(|other| other.release <= job.release)].last()?;
            let until = if *needs { other.complete } else { other.start };
            (job.release < until && until <= job.start).then_some((other, until))
        });
        behind.collect()
    }
}

fn flows(plan: &Plan) -> Vec<BTreeMap<usize, bool>> {
    let mut flows = vec![BTreeMap::new(); plan.tasks.len()];
    for channel in plan.channels.iter().filter(|channel| channel.flow == Flow::Synchronous) {
        let Some(writer) = plan.task(&channel.writer.name) else { continue };
        let readers =
            channel.readers.iter().filter_map(|reader| Some((plan.task(&reader.name)?, reader.delayed)));
        let members: Vec<(usize, bool)> = readers.chain([(writer, true)]).collect();
        for &(task, delayed) in &members {
            for &(other, _) in members.iter().filter(|(other, _)| *other != task) {
                *flows[task].entry(other).or_insert(false) |= other == writer && !delayed;
            }
        }
    }
    flows
}

/// Which job waited for which at a resource. In records that are not `whole`, a job may release a resource that it had
/// acquired before the records begin.
fn locks(
    places: &[Option<(u16, u8)>],
    decisions: &Decisions,
    whole: bool,
) -> BTreeMap<(usize, u64), Vec<Awaited>> {
    let cpu_of = |task: usize| places.get(task).copied().flatten().map(|(cpu, _)| cpu);
    // By resource: the spans of its holders, and the waiters.
    let mut holds: BTreeMap<usize, Vec<Awaited>> = BTreeMap::new();
    let mut waits: Vec<(usize, (usize, u64), u64, u64)> = Vec::new();
    let mut asked: BTreeMap<(usize, u64, usize), u64> = BTreeMap::new();
    let mut held = asked.clone();
    for event in decisions.events() {
        let at = event.at.as_ns();
        match event.kind {
            SimEventKind::Suspend(resource) | SimEventKind::Spin(resource) => {
                asked.insert((event.task, event.job, resource), at);
            }
            SimEventKind::Locked(resource) => {
                if let Some(from) = asked.remove(&(event.task, event.job, resource)) {
                    waits.push((resource, (event.task, event.job), from, at));
                }
                held.insert((event.task, event.job, resource), at);
            }
            SimEventKind::Unlock(resource) => {
                let taken = held.remove(&(event.task, event.job, resource));
                if let Some(from) = taken.or((!whole).then_some(0))
                    && let Some(cpu) = cpu_of(event.task)
                {
                    holds.entry(resource).or_default().push(Awaited { cpu, from, to: at });
                }
            }
            _ => {}
        }
    }
    // In the order in which they ended.
    let mut found: BTreeMap<(usize, u64), Vec<Awaited>> = BTreeMap::new();
    for (resource, waiter, from, to) in waits {
        let Some(holds) = holds.get(&resource) else { continue };
        let first = holds.partition_point(|hold| hold.to <= from);
        let meanwhile = || holds[first..].iter().take_while(|hold| hold.to <= to);
        let Some(begin) = meanwhile().map(|hold| hold.from).min() else { continue };
        let cpus: BTreeSet<u16> = meanwhile().map(|hold| hold.cpu).collect();
        let awaited = cpus.into_iter().map(|cpu| Awaited { cpu, from: begin, to });
        found.entry(waiter).or_default().extend(awaited);
    }
    found
}
