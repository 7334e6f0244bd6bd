// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which job ran and which job held what, core by core, as dispatchers decided and recorded it.
//!
//! For a core that Linux schedules, this is derived: from the records of waiting and holding where threads wrote them
//! ([`crate::threads`]), otherwise from starts and completions alone ([`crate::schedule`]).
//! records ([`crate::threads`]), else from starts and completions alone ([`crate::schedule`]).

use std::collections::BTreeMap;

use taut_event::{Kind, Record};
use taut_plan::Plan;
use taut_sim::{Event, Kind as Simulated};
use taut_time::{Duration, Instant};

use crate::figures::{ResourceFigures, Values};
use crate::schedule::Slice;
use crate::threads;

/// A record of a core and its instant. On a dispatched core no instant is before that of an earlier record of the
/// core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) at: u64,
    pub(crate) record: Record,
}

/// By core of the plan, in the order in which each core wrote its records. A core without a dispatcher has none if
/// its threads recorded no locks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions {
    pub(crate) cores: Vec<Vec<Decision>>,
}

/// The names of the resources by their numbers in records: those of the manifest, then states that have a lock.
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
        // Cores with records that only a dispatcher writes, and cores with records of locks, which threads write,
        // too.
        let (mut dispatched, mut locked) = (vec![false; plan.cores.len()], vec![false; plan.cores.len()]);
        for record in records {
            let reported = match record.kind {
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
            dispatched[core] |=
                reported > 0 || matches!(record.kind, Kind::Preempt | Kind::Resume | Kind::Granted);
            locked[core] |= record.kind as u8 >= Kind::Locked as u8;
            cores[core].push(Decision { at: record.at.as_ns().saturating_add(reported), record: *record });
        }
        let urgency = |task: u16| match plan.tasks.get(usize::from(task)).map(|task| &task.class) {
            Some(taut_plan::ClassPlan::RealTime { priority, .. }) => *priority,
            _ => 0,
        };
        for (at, core) in cores.iter_mut().enumerate() {
            if dispatched[at] || plan.cores[at].dispatched.is_some() && !locked[at] {
                let mut before = 0;
                for decision in core {
                    before = decision.at.max(before);
                    decision.at = before;
                }
            } else if locked[at] {
                // The sort is stable: records of a thread stay in order.
                core.sort_by_key(|decision| decision.at);
                *core = threads::with_switches(std::mem::take(core), urgency);
            } else {
                core.clear();
            }
        }
        Self { cores }
    }

    /// The decisions as events of a simulated run, by time; tasks are the plan's, by position.
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
                    // The thread that waited records the lock once more.
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
        // The sort is stable: events of a core stay in order.
        all.sort_by_key(|event| event.at);
        all
    }

    /// By job: how much later than the arrival its core was notified of the release (ns).
    pub(crate) fn delays(&self) -> BTreeMap<(usize, u64), u64> {
        let all = self.cores.iter().flatten().filter(|decision| decision.record.kind == Kind::Release);
        all.map(|Decision { record, .. }| ((record.subject.into(), record.job), record.value)).collect()
    }

    /// The stretches in which jobs ran on a core, in the form of [`crate::schedule::slices`]: `places` are the
    /// positions of jobs, by task and number. `None` for a core without decisions.
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

    /// By resource that a job asked for: how long jobs waited for it, and how long they held it.
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
