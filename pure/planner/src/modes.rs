// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Modes: each is proven by itself, and so is each change from one to another.
//!
//! A change has three steps. First the tasks that the new mode does not have *stop*, each after its job; then the
//! runtime waits until every core on which tasks stop and start has had an *idle* instant; then the tasks that the
//! old mode did not have *start*.
//! Tasks of both modes, and of no service, are released throughout, in their phase.
//!
//! **Why this is sound.** Let t be the instant at which the last task that stops has stopped. Before t, only tasks of the
//! old mode execute. From t on, of those only the tasks of both modes are released, so a busy period of a core that contains
//! t contains no work that the old mode does not have, and ends within L of t, the longest busy period of the old mode on
//! that core ([`taut_analysis::uni::busy_period`]). No task of the new mode alone is released before t + L. So no busy
//! period contains jobs of tasks of both kinds: each is a busy period of the old mode or of the new one. The response time of a
//! job depends on its busy period alone, so it is within the bound of one of the modes in which its task runs. That holds
//! under fixed priorities and under EDF, since both keep a core busy while a job is pending; with resources of one core,
//! whose ceilings and floors count the users of all modes; and with servers, which count in every mode. [RealCrespo04]
//! call such a protocol synchronous, with periodicity for the tasks of both modes; waiting for an idle instant is from
//! [TindellAlonso96]. Without the wait it would be unsound: a job of both modes that is delayed by tasks that stop could be
//! delayed once more by tasks that start.
//!
//! **Where it does not hold.** If jobs of one core wait for jobs of another (a resource of several cores, a synchronous
//! flow), a busy period of one core depends on that of another, and cores need not be idle at once. A real-time task in a server is
//! served over many busy periods. Then the tasks of all modes are proven *together*, as if they all ran at once, which covers
//! every mode and every change, and no change waits for an idle instant.
//!
//! **A task that is idle in a mode** counts with its overheads, its deadline and its ceilings ([`Model::in_mode`]): its jobs are
//! released and end at once.

use taut_analysis::overheads::Charges;
use taut_analysis::uni::busy_period::{self, Load};
use taut_analysis::{Overflow, Verdict};
use taut_model::{Fault, KeyPath, ModeId, Model, RealTime, TaskId, codes};
use taut_plan::{ChangePlan, ModeBound, ModePlan};
use taut_time::Duration;

use crate::PPM_MAX;
use crate::advice::deadline;
use crate::placement::{Placements, Who};
use crate::response::bounds::{ResponseBound, ResponseBounds};
use crate::response::proof::{Effort, Proof};
use crate::response::shared::choose::is_global;

/// Why the tasks of all modes are proven together; none if each mode is proven by itself.
pub(crate) fn together(model: &Model, placements: &Placements<'_>) -> Option<String> {
    let global = (0..model.resources().len()).find(|at| is_global(placements, *at));
    if let Some(at) = global {
        return Some(format!("tasks of several cores use `{}`", model.resources()[at].name));
    }
    if let Some(link) = model.links().next() {
        return Some(format!("the flow of `{}` is synchronous", model.channel(link.channel).name));
    }
    let served = model.real_time().find_map(|(_, task, real_time)| Some((task, real_time.server?)));
    served.map(|(task, server)| {
        format!("task `{}` has a deadline and runs in server `{}`", task.name, model.servers()[server].name)
    })
}

/// The application in each of its modes, with the placements that it has in all of them.
pub(crate) fn models(model: &Model, placements: &Placements<'_>) -> Vec<Model> {
    let place = |who: Who| {
        let placement = placements.placements.iter().find(|placement| placement.who == who)?;
        Some((model.cores().nth(placement.core)?, placement.priority))
    };
    let placed = model.placed(|id| place(Who::Task(id)), |at| place(Who::Server(at)));
    model.mode_ids().map(|mode| placed.in_mode(mode)).collect()
}

/// Proves each mode by itself; `models` is what [`models`] returns.
pub(crate) fn prove<'m>(model: &Model, models: &'m [Model], faults: &mut Vec<Fault>) -> Vec<Proof<'m>> {
    let mut found: Vec<Vec<Fault>> = Vec::with_capacity(models.len());
    let mut proofs = Vec::with_capacity(models.len());
    for of in models {
        let mut faults = Vec::new();
        let proof = Proof::find(of, Effort::Whole, &mut faults);
        deadline::report(of, &proof, &mut faults);
        found.push(faults);
        proofs.push(proof);
    }
    let everywhere = |fault: &Fault| found.iter().all(|of| of.contains(fault));
    for (mode, of) in model.modes().iter().zip(&found) {
        for fault in of {
            if !everywhere(fault) {
                let message = format!("in mode `{}`, {}", mode.name, fault.message);
                faults.push(Fault { message, ..fault.clone() });
            } else if !faults.contains(fault) {
                faults.push(fault.clone());
            }
        }
    }
    proofs
}

/// Bounds that hold in every mode and during every change: of each task, the largest of the modes in which it runs.
pub(crate) fn bounds(model: &Model, proofs: &[Proof<'_>]) -> ResponseBounds {
    let largest = |a: ResponseBound, b: ResponseBound| ResponseBound {
        response: a.response.max(b.response),
        proven: a.proven && b.proven,
        place: a.place,
        supply: a.supply.max(b.supply),
    };
    let of = |id: TaskId| modes_of(model, id).filter_map(move |mode| proofs[mode.index()].bounds[id.index()]);
    model.task_ids().map(|id| of(id).reduce(largest)).collect()
}

/// The modes in which a task runs; all of them if it runs in none, where it is idle.
fn modes_of(model: &Model, task: TaskId) -> impl Iterator<Item = ModeId> {
    let never = !model.mode_ids().any(|mode| model.runs_in(task, mode));
    model.mode_ids().filter(move |mode| never || model.runs_in(task, *mode))
}

/// The mode in which the bound of a placement is largest; one without a bound counts as the largest.
pub(crate) fn worst(model: &Model, proofs: &[Proof<'_>], placement: usize) -> usize {
    let response = |mode: &ModeId| {
        let proof = &proofs[mode.index()];
        super::response::proof::response(&proof.placements, proof.shared.as_ref(), placement)
            .unwrap_or(Duration::MAX)
    };
    let who = proofs.first().map(|proof| proof.placements.placements[placement].who);
    let modes: Vec<ModeId> = match who {
        Some(Who::Task(id)) => modes_of(model, id).collect(),
        _ => model.mode_ids().collect(),
    };
    // Among equals, the first.
    modes.iter().rev().max_by_key(|mode| response(mode)).map_or(0, |mode| mode.index())
}

/// Σ C'/T of a core, in parts per million.
pub(crate) fn used(placements: &Placements<'_>, core: usize) -> u64 {
    let analysis = placements.cores[core].analysis.as_ref().ok();
    analysis.and_then(|core| core.utilisation()).map_or(PPM_MAX, |u| u.ppm().min(PPM_MAX))
}

/// What a plan says of the modes. Without `proofs` of each, they are proven together: by `whole`.
pub(crate) fn plans(model: &Model, proofs: &[Proof<'_>], whole: &Proof<'_>) -> Vec<ModePlan> {
    let mode = |id: ModeId| {
        let (mode, proof) = (model.mode(id), proofs.get(id.index()).unwrap_or(whole));
        let runs = model.real_time().filter(|(task, ..)| model.runs_in(*task, id));
        let bound = |(task, of, _): (TaskId, &taut_model::Task, &RealTime)| ModeBound {
            task: of.name.clone(),
            response: proof.bounds[task.index()].filter(|bound| bound.proven).map(|bound| bound.response),
        };
        ModePlan {
            name: mode.name.clone(),
            services: mode.services.iter().map(|id| model.services()[id.index()].name.clone()).collect(),
            utilisation_ppm: (0..proof.placements.cores.len())
                .map(|at| used(&proof.placements, at))
                .collect(),
            bounds: runs.map(bound).collect(),
        }
    };
    model.mode_ids().map(mode).collect()
}

/// What a plan says of the changes from each mode to each other one; reports those without a bound.
pub(crate) fn changes(
    model: &Model,
    proofs: &[Proof<'_>],
    bounds: &ResponseBounds,
    faults: &mut Vec<Fault>,
) -> Vec<ChangePlan> {
    let pairs = model.mode_ids().flat_map(|from| model.mode_ids().map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to);
    let change = |(from, to): (ModeId, ModeId)| {
        // A periodic task learns of the change at its next release, and a receiver at once; that job is its last one, or
        // its first.
        let within = |these: &[TaskId]| {
            let reaches = |id: &TaskId| {
                let real_time = model.real_time().find(|(task, ..)| task == id)?.2;
                let response = bounds[id.index()]?.response;
                let gap = real_time.arrival.max_gap().unwrap_or(real_time.arrival.period());
                Some(gap.checked_add(response).unwrap_or(Duration::MAX))
            };
            these.iter().filter_map(reaches).max().unwrap_or(Duration::ZERO)
        };
        let (stopping, starting) = (only_in(model, from, to), only_in(model, to, from));
        let idle = match proofs.get(from.index()) {
            None => Some(Duration::ZERO),
            Some(proof) => {
                let cores = (0..proof.placements.cores.len()).filter(|core| {
                    let here = |these: &[TaskId]| these.iter().any(|id| on_core(proof, *id) == Some(*core));
                    here(&stopping) && here(&starting)
                });
                let mut idle = |core: usize| {
                    let found = busy(model, proof, core).ok().and_then(|verdict| verdict.bound().copied());
                    if found.is_none() {
                        faults.push(never_idle(model, from, to, core));
                    }
                    found
                };
                // Each core without a bound is reported.
                let found: Vec<Option<Duration>> = cores.map(&mut idle).collect();
                found.into_iter().try_fold(Duration::ZERO, |longest, found| Some(longest.max(found?)))
            }
        };
        let name = |mode: ModeId| model.mode(mode).name.clone();
        ChangePlan { from: name(from), to: name(to), stop: within(&stopping), idle, start: within(&starting) }
    };
    pairs.map(change).collect()
}

/// The real-time tasks that run in one mode and not in the other.
fn only_in(model: &Model, mode: ModeId, other: ModeId) -> Vec<TaskId> {
    let ids = model.real_time().map(|(id, ..)| id);
    ids.filter(|id| model.runs_in(*id, mode) && !model.runs_in(*id, other)).collect()
}

fn on_core(proof: &Proof<'_>, id: TaskId) -> Option<usize> {
    let mut placements = proof.placements.placements.iter();
    placements.find(|placement| placement.who == Who::Task(id)).map(|placement| placement.core)
}

/// The longest busy period of a core in a mode, with all that its tasks are charged.
fn busy(model: &Model, proof: &Proof<'_>, core: usize) -> Result<Verdict<Duration>, Overflow> {
    let charged = proof.shared.as_ref().and_then(|shared| shared.charged());
    let loads: Vec<Load> = match charged {
        Some(charged) => {
            let load = |at: usize| {
                let task = &charged.set.tasks()[at];
                Load { cost: charged.set.cost(at), period: task.period, jitter: task.jitter }
            };
            charged.set.on_core(core).map(load).collect()
        }
        None => {
            let analysis = proof.placements.cores[core].analysis.as_ref().map_err(|overflow| *overflow)?;
            let load = |task: &taut_analysis::uni::fp::preemptive::FpTask| Load {
                cost: task.cost,
                period: task.period,
                jitter: task.jitter,
            };
            analysis.charged().iter().map(load).collect()
        }
    };
    busy_period::longest(&loads, Charges::of(&model.platform().overheads).kernel_blocking())
}

fn never_idle(model: &Model, from: ModeId, to: ModeId, core: usize) -> Fault {
    let (from, to) = (&model.mode(from).name, &model.mode(to).name);
    let cpu = model.platform().cores[core];
    let message = format!("the change from mode `{from}` to mode `{to}` has no bound");
    let place = KeyPath::key(format!("modes.{from}"));
    Fault::error(codes::NOT_SHOWN, message, place, format!("core {cpu} may never be idle in it"))
        .also(KeyPath::key(format!("modes.{to}")), "starts tasks on that core once it is idle")
        .note("test: the longest busy period (Lehoczky 1990)")
        .help(format!("leave some of core {cpu} unused in mode `{from}`"))
}
