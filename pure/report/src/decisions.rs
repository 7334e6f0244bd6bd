// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What dispatchers recorded: who ran and who held what, as it was decided, core by core.
//!
//! On a core that Linux schedules none of this is recorded, and who ran is derived ([`crate::schedule`]).

use std::collections::BTreeMap;

use taut_event::{Kind, Record};
use taut_plan::Plan;
use taut_sim::{Event, Kind as Simulated};
use taut_time::{Duration, Instant};

use crate::figures::{ResourceFigures, Values};
use crate::schedule::Slice;

/// A record of a dispatched core, and when it was: never before one that the core wrote earlier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) at: u64,
    pub(crate) record: Record,
}

/// By core of the plan, in the order in which each wrote them; none of a core that has no dispatcher.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions {
    pub(crate) cores: Vec<Vec<Decision>>,
}

/// The names of what records call a resource: those of the manifest, then states that have a lock.
pub(crate) fn resources(plan: &Plan) -> Vec<(String, &'static str)> {
    let own = plan.resources.iter().map(|resource| (resource.name.clone(), resource.protocol.paper_name()));
    let states = plan
        .channels
        .iter()
        .filter_map(|channel| Some((channel.name.clone(), channel.mechanism.locking()?.paper_name())));
    own.chain(states).collect()
}

impl Decisions {
    pub(crate) fn of(plan: &Plan, records: &[Record]) -> Self {
        let position = |cpu: u16| plan.cores.iter().position(|core| core.cpu == cpu);
        let core_of: Vec<Option<usize>> =
            plan.tasks.iter().map(|task| plan.cpu_of(task).and_then(position)).collect();
        let mut cores: Vec<Vec<Decision>> = vec![Vec::new(); plan.cores.len()];
        let mut dispatched: Vec<bool> = plan.cores.iter().map(|core| core.dispatched.is_some()).collect();
        for record in records {
            let told = match record.kind {
                Kind::Release => record.value,
                Kind::Start
                | Kind::Complete
                | Kind::Preempt
                | Kind::Resume
                | Kind::Locked
                | Kind::Unlock
                | Kind::Spin
                | Kind::Suspend
                | Kind::Granted => 0,
                _ => continue,
            };
            let Some(core) = core_of.get(usize::from(record.subject)).copied().flatten() else { continue };
            dispatched[core] |= told > 0 || record.kind as u8 >= Kind::Preempt as u8;
            let before = cores[core].last().map_or(0, |last| last.at);
            let at = record.at.as_ns().saturating_add(told).max(before);
            cores[core].push(Decision { at, record: *record });
        }
        for (core, dispatched) in cores.iter_mut().zip(dispatched) {
            if !dispatched {
                core.clear();
            }
        }
        Self { cores }
    }

    /// In the words of a simulated run, by time; tasks are the plan's, by position.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut all = Vec::new();
        for core in &self.cores {
            let mut granted: BTreeMap<u16, u64> = BTreeMap::new();
            for Decision { at, record } in core {
                let resource = usize::try_from(record.value).unwrap_or(usize::MAX);
                let kind = match record.kind {
                    Kind::Release => Simulated::Release { arrival: record.at },
                    Kind::Start => Simulated::Start,
                    Kind::Preempt => Simulated::Preempt,
                    Kind::Resume => Simulated::Resume,
                    Kind::Suspend => Simulated::Suspend(resource),
                    Kind::Spin => Simulated::Spin(resource),
                    Kind::Granted => {
                        granted.insert(record.subject, record.value);
                        Simulated::Locked(resource)
                    }
                    // Said once more by the thread that waited.
                    Kind::Locked if granted.remove(&record.subject) == Some(record.value) => continue,
                    Kind::Locked => Simulated::Locked(resource),
                    Kind::Unlock => {
                        granted.remove(&record.subject);
                        Simulated::Unlock(resource)
                    }
                    _ => Simulated::Complete { response: Duration::ZERO },
                };
                let at = Instant::from_ns(*at);
                all.push(Event { at, task: record.subject.into(), job: record.job, kind });
            }
        }
        // Stable: events of a core stay in order.
        all.sort_by_key(|event| event.at);
        all
    }

    /// How much later than its arrival a core was told of each job.
    pub(crate) fn delays(&self) -> BTreeMap<(usize, u64), u64> {
        let all = self.cores.iter().flatten().filter(|decision| decision.record.kind == Kind::Release);
        all.map(|Decision { record, .. }| ((record.subject.into(), record.job), record.value)).collect()
    }

    /// The stretches in which jobs ran on a core, as [`crate::schedule::slices`] gives them: `places` are the positions
    /// of jobs, by task and number. None of a core without a dispatcher.
    pub(crate) fn slices(&self, core: usize, places: &BTreeMap<(usize, u64), usize>) -> Option<Vec<Slice>> {
        let decisions = self.cores.get(core).filter(|core| !core.is_empty())?;
        let mut slices = Vec::new();
        let mut runs: Option<(u16, u64, u64)> = None;
        for Decision { at, record } in decisions {
            match record.kind {
                Kind::Start | Kind::Resume => runs = Some((record.subject, record.job, *at)),
                Kind::Preempt | Kind::Suspend | Kind::Complete => {
                    let Some((task, job, from)) = runs.take() else { continue };
                    let completes = record.kind == Kind::Complete;
                    let job = places.get(&(task.into(), job)).filter(|_| from < *at);
                    slices.extend(job.map(|job| Slice { job: *job, from, to: *at, completes }));
                }
                _ => {}
            }
        }
        Some(slices)
    }

    /// Of each resource that was asked for: how long jobs waited for it, and how long they held it.
    pub(crate) fn resources(&self, plan: &Plan) -> Vec<ResourceFigures> {
        let names = resources(plan);
        let mut waits: Vec<Vec<u64>> = vec![Vec::new(); names.len()];
        let mut holds = waits.clone();
        let mut since: BTreeMap<(usize, usize), (u64, bool)> = BTreeMap::new();
        for event in self.events() {
            let at = event.at.as_ns();
            match event.kind {
                Simulated::Suspend(resource) | Simulated::Spin(resource) => {
                    since.insert((event.task, resource), (at, false));
                }
                Simulated::Locked(resource) if resource < names.len() => {
                    let waited = since.insert((event.task, resource), (at, true));
                    waits[resource].push(waited.map_or(0, |(asked, _)| at - asked));
                }
                Simulated::Unlock(resource) if resource < names.len() => {
                    if let Some((from, true)) = since.remove(&(event.task, resource)) {
                        holds[resource].push(at - from);
                    }
                }
                _ => {}
            }
        }
        let figures = |((name, protocol), (waits, holds)): (_, (Vec<u64>, Vec<u64>))| ResourceFigures {
            name,
            protocol,
            waited: waits.iter().filter(|wait| **wait > 0).count() as u64,
            wait: Values::of(waits).spread(),
            held: Values::of(holds).spread(),
        };
        let all = names.into_iter().zip(waits.into_iter().zip(holds)).map(figures);
        all.filter(|resource| resource.wait.is_some()).collect()
    }
}
