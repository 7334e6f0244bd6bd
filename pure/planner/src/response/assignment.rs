// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chooses cores and priorities.

use crate::overheads::{budget, watched};
use crate::placement::{CorePlacement, Placement, Placements, Who};
use crate::response::backlog;
use crate::response::shared;
use crate::response::waits;
use std::cmp::Ordering;
use taut_analysis::overheads::{Charges, probe};
use taut_analysis::uni::fp::assignment::{self, Candidate};
use taut_analysis::uni::utilisation::AtLeast;
use taut_analysis::{AnalysedCore, CoreTask, Overflow};
use taut_model::{Arrival, ArrivalPattern, Model, RealTime, SchedulingPolicy, Server};
use taut_time::Duration;

/// The least urgent priority of SCHED_FIFO.
const LOWEST: u8 = 1;

impl<'m> Placements<'m> {
    /// Takes the placements that the manifest fixes and chooses the others. `instead` replaces the execution time of
    /// one task, by its position among the placements, to find out what would be with it.
    pub(crate) fn choose(model: &'m Model, instead: Option<(usize, Duration)>) -> Self {
        let charges = Charges::of(&model.platform().overheads);
        let placement = |who, name, task: &'m RealTime| Placement {
            who,
            name,
            task,
            back_to_back: Duration::ZERO,
            cost: budget::charged(task, &charges, task.cost().unwrap_or(Duration::MAX)),
            core: 0,
            core_reason: None,
            priority: 0,
            priority_reason: None,
            at: 0,
            in_phase: None,
        };
        // A task that runs in a server has no placement of its own.
        let tasks = model.real_time().filter(|(.., task)| task.server.is_none());
        let tasks = tasks.map(|(id, task, real_time)| placement(Who::Task(id), &task.name, real_time));
        let server = |(at, server): (usize, &'m Server)| {
            let own = placement(Who::Server(at), &server.name, &server.as_task);
            let wakes = charges.switches(2 * backlog::wakes(model, at)).ok();
            let cost = wakes.and_then(|wakes| own.cost.checked_add(wakes)).unwrap_or(Duration::MAX);
            Placement { back_to_back: server.back_to_back(), cost, ..own }
        };
        let mut placements: Vec<Placement<'m>> =
            tasks.chain(model.servers().iter().enumerate().map(server)).collect();
        if let Some((task, cost)) = instead {
            placements[task].cost = budget::charged(placements[task].task, &charges, cost);
        }
        let members = place(model, &mut placements);
        let beyond: Vec<usize> =
            (0..placements.len()).filter(|&i| budget::is_not_enough(&placements, i)).collect();
        for i in beyond {
            let stated = instead.filter(|(task, _)| *task == i).map(|(_, cost)| cost);
            placements[i].cost = stated.or(placements[i].task.cost()).unwrap_or(Duration::MAX);
        }
        let cores = members.into_iter().map(|members| number(model, &mut placements, members)).collect();
        Self { placements, cores }
    }
}

/// Fills the cores: fixed tasks first, then the others by falling utilisation, each on the first core on which all
/// deadlines are then kept.
fn place(model: &Model, placements: &mut [Placement<'_>]) -> Vec<Vec<usize>> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); model.platform().cores.len()];
    let charges = Charges::of(&model.platform().overheads);
    // A cost that does not fit in 64 bits leaves no core room for anything else.
    let add = |load: AtLeast, cost: Duration, period: Duration| {
        load.and(charges.job(cost).unwrap_or(Duration::MAX), period).unwrap_or(load)
    };
    let with =
        |load: AtLeast, placement: &Placement<'_>| add(load, placement.cost, placement.task.arrival.period());
    let mut loads = vec![add(AtLeast::default(), probe::COST, probe::PERIOD); members.len()];
    let (fixed, mut open): (Vec<usize>, Vec<usize>) =
        (0..placements.len()).partition(|&i| placements[i].task.core.is_some());
    for i in fixed {
        placements[i].core = placements[i].task.core.map_or(0, |core| core.index());
        members[placements[i].core].push(i);
        loads[placements[i].core] = with(loads[placements[i].core], &placements[i]);
    }
    open.sort_by(|&a, &b| by_falling_utilisation(&placements[a], &placements[b]));
    for i in open {
        let found = if members.len() == 1 {
            placements[i].core_reason = Some("the only real-time core".into());
            Some(0)
        } else {
            let reason = "first fit: the first core that keeps all deadlines, tasks by falling utilisation";
            placements[i].core_reason = Some(reason.into());
            // Most cores are full by now, which a sum of utilisations shows at once, unless modes take turns.
            let room =
                |&core: &usize| !model.modes().is_empty() || !with(loads[core], &placements[i]).exceeds_one();
            (0..members.len()).filter(room).find(|&core| admits(model, placements, &members[core], i))
        };
        let core = found.unwrap_or_else(|| {
            placements[i].core_reason =
                Some("no core keeps all deadlines with this task; the least loaded core".into());
            let load = |&core: &usize| (taken(model, placements, &members[core], i), loads[core]);
            (0..members.len()).min_by_key(load).unwrap_or(0)
        });
        placements[i].core = core;
        loads[core] = with(loads[core], &placements[i]);
        members[core].push(i);
    }
    // Restore the manifest's order, so that ties are broken the same way for fixed and for placed tasks.
    for list in &mut members {
        list.sort_unstable();
    }
    members
}

/// C / T, the larger first, by cross-multiplication; then the manifest's order.
fn by_falling_utilisation(a: &Placement<'_>, b: &Placement<'_>) -> Ordering {
    let product = |a: Duration, b: Duration| u128::from(a.as_ns()) * u128::from(b.as_ns());
    let (ta, tb) = (a.task.arrival.period(), b.task.arrival.period());
    product(b.cost, ta).cmp(&product(a.cost, tb)).then(a.who.cmp(&b.who))
}

/// Whether all deadlines are kept on a core with one more task, in every mode in which that task runs.
fn admits(model: &Model, placements: &[Placement<'_>], members: &[usize], new: usize) -> bool {
    let runs = |at: usize, mode| match placements[at].who {
        Who::Task(id) => model.runs_in(id, mode),
        Who::Server(_) => true,
    };
    let here = |mode| members.iter().copied().filter(|at| runs(*at, mode)).collect::<Vec<_>>();
    if model.modes().is_empty() {
        return admits_all(model, placements, members, new);
    }
    model
        .mode_ids()
        .filter(|mode| runs(new, *mode))
        .all(|mode| admits_all(model, placements, &here(mode), new))
}

/// The same for tasks that all run at the same time.
fn admits_all(model: &Model, placements: &[Placement<'_>], members: &[usize], new: usize) -> bool {
    if model.platform().scheduler == SchedulingPolicy::Edf {
        return shared::fits(model, members.iter().chain([&new]).map(|&i| &placements[i])).unwrap_or(false);
    }
    if taken(model, placements, members, new) {
        return false;
    }
    let mut together = [members, &[new]].concat();
    together.sort_unstable();
    let Some(priorities) = assign(model, placements, &together) else { return false };
    let Ok(core) = analysis(model, placements, &together, &priorities) else { return false };
    core.fits() && core.holds()
}

/// Whether another task on the core has the same fixed priority; false under EDF, where priorities mean nothing.
fn taken(model: &Model, placements: &[Placement<'_>], members: &[usize], new: usize) -> bool {
    let priority = placements[new].task.priority;
    let counts = model.platform().scheduler == SchedulingPolicy::FixedPriority;
    counts && priority.is_some() && members.iter().any(|&i| placements[i].task.priority == priority)
}

fn analysis(
    model: &Model,
    placements: &[Placement<'_>],
    members: &[usize],
    priorities: &[u8],
) -> Result<AnalysedCore, Overflow> {
    let task = |(&i, &priority): (&usize, &u8)| {
        let placement = &placements[i];
        CoreTask {
            cost: placement.cost,
            period: placement.task.arrival.period(),
            deadline: placement.task.deadline,
            jitter: placement.task.delay(),
            back_to_back: placement.back_to_back,
            non_preemptive: placement.task.non_preemptive,
            priority,
            // A server uses its budget when there is work for it.
            arrivals: if placement.is_server() {
                ArrivalPattern::Driven
            } else {
                arrivals(model, placement.task)
            },
        }
    };
    let devices = watched::gaps(&watched::on_core(model, members.iter().map(|&i| &placements[i])));
    let tasks = members.iter().zip(priorities).map(task).collect();
    AnalysedCore::new(tasks, devices, model.platform().overheads)
}

/// What a task's arrivals follow: a task that only real-time tasks trigger follows those tasks, and so does a task that
/// waits for another.
fn arrivals(model: &Model, task: &RealTime) -> ArrivalPattern {
    match &task.arrival {
        // How long it waits for other tasks depends on those.
        Arrival::Periodic { .. } if task.waits.by > task.jitter => ArrivalPattern::Driven,
        Arrival::Periodic { offset, .. } => ArrivalPattern::Phased(*offset),
        Arrival::Clocked(_) | Arrival::Sporadic { device: Some(_), .. } | Arrival::Aperiodic { .. } => {
            ArrivalPattern::Sporadic
        }
        Arrival::Sporadic { triggers, .. } => {
            // An alarm releases its receiver at an instant that its setter chooses; and a receiver may fall behind a
            // sender that takes blocks back.
            let driven = |trigger: &taut_model::ChannelId| {
                let channel = model.channel(*trigger);
                let loses = channel.overflow == taut_model::OverflowPolicy::Recall;
                model.is_real_time(channel.writer) && !channel.is_timed() && !loses
            };
            if triggers.iter().all(driven) { ArrivalPattern::Driven } else { ArrivalPattern::Sporadic }
        }
    }
}

fn assign(model: &Model, placements: &[Placement<'_>], members: &[usize]) -> Option<Vec<u8>> {
    let mut candidates: Vec<Candidate> = members
        .iter()
        .map(|&i| Candidate {
            fixed: placements[i].task.priority,
            laxity: placements[i].task.deadline.saturating_sub(placements[i].task.delay()),
        })
        .collect();
    // Among equals the earlier one is more urgent.
    let order = waits::writers_first(model, placements, members, &mut candidates);
    let found = assignment::assign(&order.iter().map(|&at| candidates[at]).collect::<Vec<_>>())?;
    let mut priorities = vec![0; members.len()];
    order.iter().zip(found).for_each(|(&at, priority)| priorities[at] = priority);
    Some(priorities)
}

/// Gives the tasks of a core their priorities.
fn number(model: &Model, placements: &mut [Placement<'_>], members: Vec<usize>) -> CorePlacement {
    // EDF does not use priorities.
    let found = match model.platform().scheduler {
        SchedulingPolicy::Edf => Some(vec![0; members.len()]),
        SchedulingPolicy::FixedPriority => assign(model, placements, &members),
    };
    let numbered = found.is_some();
    // If there is no number for each, the tasks without one share the lowest: the analysis counts a tie against both
    // tasks.
    let priorities = found
        .unwrap_or_else(|| members.iter().map(|&i| placements[i].task.priority.unwrap_or(LOWEST)).collect());
    for (at, (&i, &priority)) in members.iter().zip(&priorities).enumerate() {
        let placement = &mut placements[i];
        (placement.at, placement.priority) = (at, priority);
        if placement.task.priority.is_none() && priority != 0 {
            let reason =
                if numbered { "deadline-monotonic, by deadline minus jitter" } else { "no number is left" };
            placement.priority_reason = Some(reason.into());
        }
    }
    let analysis = analysis(model, placements, &members, &priorities);
    CorePlacement { members, analysis, numbered }
}
