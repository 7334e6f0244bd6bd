// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which job ran and which job held what, core by core, as dispatchers decided and recorded it.
//!
//! For a core that Linux schedules, this is derived: from the records of waiting and holding where threads wrote them
//! ([`crate::threads`]), otherwise from starts and completions alone ([`crate::schedule`]).

use std::collections::BTreeMap;

use taut_event::{Event as Recorded, Record};
use taut_plan::Plan;
use taut_sim::{SimEvent, SimEventKind as Simulated};
use taut_time::{Duration, Instant};

use crate::figures::{ResourceFigures, Values};
use crate::schedule::Slice;
use crate::threads;

/// A decision about a job, and its instant. On a dispatched core the instants of successive decisions never decrease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) at: u64,
    pub(crate) task: u16,
    pub(crate) job: u64,
    pub(crate) what: DecisionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionKind {
    /// The release was nominally at `arrival`; the core was notified of it `delay` later.
    Release {
        arrival: Instant,
        delay: Duration,
    },
    Start,
    Complete,
    Preempt,
    Resume,
    Locked(u16),
    Unlock(u16),
    Spin(u16),
    Suspend(u16),
    Granted(u16),
}

impl DecisionKind {
    /// Whether only dispatchers record it.
    fn is_of_dispatcher(self) -> bool {
        match self {
            Self::Release { delay, .. } => !delay.is_zero(),
            Self::Preempt | Self::Resume | Self::Granted(_) => true,
            Self::Start | Self::Complete => false,
            Self::Locked(_) | Self::Unlock(_) | Self::Spin(_) | Self::Suspend(_) => false,
        }
    }

    fn is_of_lock(self) -> bool {
        match self {
            Self::Locked(_) | Self::Unlock(_) | Self::Spin(_) | Self::Suspend(_) | Self::Granted(_) => true,
            Self::Release { .. } | Self::Start | Self::Complete | Self::Preempt | Self::Resume => false,
        }
    }
}

impl Decision {
    /// The decision that a record is about; `None` for a record of anything else.
    fn of(record: &Record) -> Option<Self> {
        let arrival = record.at;
        let (task, job, what) = match Recorded::of(record).ok()? {
            Recorded::Release { task, job, delay } => (task, job, DecisionKind::Release { arrival, delay }),
            Recorded::Start { task, job } => (task, job, DecisionKind::Start),
            Recorded::Complete { task, job, .. } => (task, job, DecisionKind::Complete),
            Recorded::Preempt { task, job } => (task, job, DecisionKind::Preempt),
            Recorded::Resume { task, job } => (task, job, DecisionKind::Resume),
            Recorded::Locked { task, job, resource } => (task, job, DecisionKind::Locked(resource)),
            Recorded::Unlock { task, job, resource } => (task, job, DecisionKind::Unlock(resource)),
            Recorded::Spin { task, job, resource } => (task, job, DecisionKind::Spin(resource)),
            Recorded::Suspend { task, job, resource } => (task, job, DecisionKind::Suspend(resource)),
            Recorded::Granted { task, job, resource } => (task, job, DecisionKind::Granted(resource)),
            _ => return None,
        };
        let delay = if let DecisionKind::Release { delay, .. } = what { delay.as_ns() } else { 0 };
        Some(Self { at: arrival.as_ns().saturating_add(delay), task, job, what })
    }
}

/// By core of the plan, in the order in which each core wrote its records. A core without a dispatcher has no decisions
/// if its threads recorded no locks.
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
        for decision in records.iter().filter_map(Decision::of) {
            let Some(core) = core_of.get(usize::from(decision.task)).copied().flatten() else { continue };
            dispatched[core] |= decision.what.is_of_dispatcher();
            locked[core] |= decision.what.is_of_lock();
            cores[core].push(decision);
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
    pub(crate) fn events(&self) -> Vec<SimEvent> {
        let mut all = Vec::new();
        for core in &self.cores {
            let mut granted: BTreeMap<u16, u16> = BTreeMap::new();
            for &Decision { at, task, job, what } in core {
                let kind = match what {
                    DecisionKind::Release { arrival, .. } => Simulated::Release { arrival },
                    DecisionKind::Start => Simulated::Start,
                    DecisionKind::Preempt => Simulated::Preempt,
                    DecisionKind::Resume => Simulated::Resume,
                    DecisionKind::Suspend(resource) => Simulated::Suspend(resource.into()),
                    DecisionKind::Spin(resource) => Simulated::Spin(resource.into()),
                    DecisionKind::Granted(resource) => {
                        granted.insert(task, resource);
                        Simulated::Locked(resource.into())
                    }
                    // The thread that waited records the lock once more.
                    DecisionKind::Locked(resource) if granted.remove(&task) == Some(resource) => continue,
                    DecisionKind::Locked(resource) => Simulated::Locked(resource.into()),
                    DecisionKind::Unlock(resource) => {
                        granted.remove(&task);
                        Simulated::Unlock(resource.into())
                    }
                    DecisionKind::Complete => Simulated::Complete { response: Duration::ZERO },
                };
                all.push(SimEvent { at: Instant::from_ns(at), task: task.into(), job, kind });
            }
        }
        // The sort is stable: events of a core stay in order.
        all.sort_by_key(|event| event.at);
        all
    }

    /// By job: how much later than the arrival its core was notified of the release (ns).
    pub(crate) fn delays(&self) -> BTreeMap<(usize, u64), u64> {
        let delay = |decision: &Decision| match decision.what {
            DecisionKind::Release { delay, .. } => {
                Some(((decision.task.into(), decision.job), delay.as_ns()))
            }
            _ => None,
        };
        self.cores.iter().flatten().filter_map(delay).collect()
    }

    /// The stretches in which jobs ran on a core, in the form of [`crate::schedule::slices`]: `places` are the
    /// positions of jobs, by task and number. `None` for a core without decisions.
    pub(crate) fn slices(&self, core: usize, places: &BTreeMap<(usize, u64), usize>) -> Option<Vec<Slice>> {
        let decisions = self.cores.get(core).filter(|core| !core.is_empty())?;
        let mut slices = Vec::new();
        let mut runs: Option<(u16, u64, u64)> = None;
        for &Decision { at, task, job, what } in decisions {
            match what {
                DecisionKind::Start | DecisionKind::Resume => runs = Some((task, job, at)),
                DecisionKind::Preempt | DecisionKind::Suspend(_) | DecisionKind::Complete => {
                    let Some((task, job, from)) = runs.take() else { continue };
                    let completes = what == DecisionKind::Complete;
                    let job = places.get(&(task.into(), job)).filter(|_| from < at);
                    slices.extend(job.map(|job| Slice { job: *job, from, to: at, completes }));
                }
                // A job that spins or holds something keeps its core.
                DecisionKind::Release { .. } | DecisionKind::Spin(_) | DecisionKind::Granted(_) => {}
                DecisionKind::Locked(_) | DecisionKind::Unlock(_) => {}
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
