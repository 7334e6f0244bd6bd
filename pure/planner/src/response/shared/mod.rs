// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications with resources, or with cores under EDF: analyses all of their tasks as one set.

pub(crate) mod charge;
pub(crate) mod choose;
mod edf;
pub(crate) mod explain;
mod layout;
mod local;
mod nested;
pub(crate) mod protocols;
mod work;

use taut_analysis::multi::Status;
use taut_analysis::{Overflow, memory};
use taut_model::{Fault, LockingProtocol, Model, ResourceId, SchedulingPolicy, Waiting};
use taut_time::Duration;

use crate::placement::{Placement, Placements};
pub(crate) use choose::users;
use choose::{Answer, by_priority, fit, is_global};
use edf::Guards;
pub(crate) use edf::fits;
use explain::{due, term, terms};
pub(crate) use layout::Layout;
use taut_plan::{ResourcePlan, TermPlan};

/// What the analysis of servers covers.
const UNDER_EDF: &str = "servers are analysed under fixed priority";

/// Why a resource has its protocol. `global`: its users are on several cores; `floors`: resources of one core have deadline
/// floors.
fn reason(
    model: &Model,
    (at, protocol): (usize, LockingProtocol),
    global: bool,
    floors: bool,
) -> &'static str {
    let edf = model.platform().scheduler == SchedulingPolicy::Edf;
    match (model.resources()[at].protocol, model.protocol(at), global, edf) {
        (Some(_), ..) => "as the manifest says",
        (None, Some(_), ..) => "users on several cores: chosen together with the mechanisms of the states",
        (None, None, false, true) if floors => {
            "a deadline floor, because other resources of this manifest have one"
        }
        (None, None, false, _) => "all of its users are on one core: a ceiling is enough",
        (None, None, true, true) => "users on several cores, under EDF: spinning",
        (None, None, true, false) if protocol == LockingProtocol::Msrp => {
            "users on several cores: spinning; suspending is tried only if that does not fit"
        }
        (None, None, true, false) => "users on several cores: spinning does not fit, this does",
    }
}

/// What the analysis found about the whole application.
pub(crate) struct Shared {
    /// The protocol of each resource, and why that one.
    pub(crate) protocols: Vec<(LockingProtocol, String)>,
    pub(crate) test: &'static str,
    pub(crate) answer: Answer,
}

impl Shared {
    /// Analyses the whole application; none if no task locks and the cores are under fixed priorities: then each core
    /// is analysed by itself.
    pub(crate) fn analyse(
        model: &Model,
        placements: &Placements<'_>,
        faults: &mut Vec<Fault>,
    ) -> Option<Self> {
        let edf = model.platform().scheduler == SchedulingPolicy::Edf;
        // A resource that no task uses gets a warning, and takes no bound away.
        if !edf && placements.placements.iter().all(|placement| placement.task.sections.is_empty()) {
            return None;
        }
        let global: Vec<bool> = (0..model.resources().len()).map(|at| is_global(placements, at)).collect();
        let floors = fit(model, placements, &global, faults);
        let any = global.contains(&true);
        let open = |other: LockingProtocol| {
            let of = |(at, global): (usize, &bool)| {
                model.protocol(at).unwrap_or(match (global, floors) {
                    (true, _) => other,
                    (false, true) => LockingProtocol::Dfp,
                    (false, false) => LockingProtocol::Srp,
                })
            };
            global.iter().enumerate().map(of).collect::<Vec<LockingProtocol>>()
        };
        let (locking, test, answer) = if edf && placements.placements.iter().any(Placement::is_server) {
            (open(LockingProtocol::Msrp), "none", Answer::Servers(UNDER_EDF))
        } else if nested::refuse(model, placements, &global, faults) {
            (open(LockingProtocol::Msrp), "none", Answer::Refused)
        } else if edf {
            let guards = match (any, floors, model.resources().is_empty()) {
                (true, true, _) => Guards::Mixed,
                (true, false, _) => Guards::Spinning,
                (false, true, _) => Guards::Floors,
                (false, false, false) => Guards::Ceilings,
                (false, false, true) => Guards::Nothing,
            };
            (open(LockingProtocol::Msrp), guards.test(), edf::analyse(model, placements, &global, guards))
        } else {
            by_priority(model, placements, &global)
        };
        let reason = |(at, protocol): (usize, &LockingProtocol)| {
            (*protocol, reason(model, (at, *protocol), global[at], floors).to_owned())
        };
        let protocols = locking.iter().enumerate().map(reason).collect();
        Some(Self { protocols, test, answer })
    }

    /// Bytes of the locks between cores; 0 if there is no shared analysis.
    pub(crate) fn locks(shared: Option<&Self>, placements: &Placements<'_>) -> u64 {
        let protocols = shared.into_iter().flat_map(|shared| shared.protocols.iter().enumerate());
        let words =
            protocols.map(|(at, (protocol, _))| Self::words(placements, at, *protocol).unwrap_or(u64::MAX));
        words.fold(0, u64::saturating_add)
    }

    /// Bytes of a resource's lock between cores; 0 if its protocol is for one core.
    pub(crate) fn words(
        placements: &Placements<'_>,
        at: usize,
        protocol: LockingProtocol,
    ) -> Result<u64, Overflow> {
        let mut cores: Vec<usize> = choose::users(placements, at).map(|placement| placement.core).collect();
        let tasks = cores.len();
        cores.sort_unstable();
        cores.dedup();
        let parties = match protocol.waiting() {
            Some(Waiting::Spinning) => cores.len(),
            Some(Waiting::Suspended) => tasks,
            None => return Ok(0),
        };
        memory::lock(parties as u64)
    }

    /// R of a placement, if it is proven. Under EDF it is D if no less is known.
    pub(crate) fn response(&self, placements: &Placements<'_>, placement: usize) -> Option<Duration> {
        match &self.answer {
            Answer::Bounds(bounds, ..) => {
                let bound = &bounds.tasks[placement];
                (bound.status == Status::Proven).then_some(bound.from_arrival)
            }
            Answer::Kept(due, _) => {
                let deadline = placements.placements[placement].task.deadline;
                Some(due.as_ref().map_or(deadline, |due| due[placement].response.from_arrival.min(deadline)))
            }
            Answer::Short(..) | Answer::Nothing(_) | Answer::Servers(_) | Answer::Refused => None,
        }
    }

    /// The set that was analysed, with all charges; none if there are no bounds.
    pub(crate) fn charged(&self) -> Option<&charge::Charged> {
        match &self.answer {
            Answer::Bounds(_, charged, _) | Answer::Kept(_, charged) => Some(charged),
            Answer::Short(..) | Answer::Nothing(_) | Answer::Servers(_) | Answer::Refused => None,
        }
    }

    /// R of a placement that is past its deadline, as far as it is known.
    pub(crate) fn past(&self, placement: usize) -> Option<Duration> {
        let Answer::Bounds(bounds, ..) = &self.answer else { return None };
        let bound = &bounds.tasks[placement];
        (bound.status == Status::Passes).then_some(bound.from_arrival)
    }

    /// R of a placement, the test, and the terms of R.
    pub(crate) fn found(
        &self,
        model: &Model,
        placements: &Placements<'_>,
        placement: usize,
    ) -> (Option<Duration>, String, Vec<TermPlan>) {
        let response = self.response(placements, placement);
        let deadline = placements.placements[placement].task.deadline;
        let demanded = || vec![term("demand", Some("all that is due no later"), deadline)];
        let mut test = format!("{} (sufficient)", self.test);
        let terms = match &self.answer {
            Answer::Bounds(bounds, charged, _) => {
                terms(model, placements, placement, &bounds.tasks[placement], charged)
            }
            Answer::Kept(Ok(found), charged) if found[placement].response.from_arrival <= deadline => {
                test = format!("response times, EDF (Spuri 1996; George et al. 1996); {test}");
                due(model, placements, placement, &found[placement], charged)
            }
            Answer::Kept(Ok(found), _) => {
                let time = found[placement].response.from_arrival.rounded();
                test = format!("{test}; the bound on response times is longer, {time}");
                demanded()
            }
            Answer::Kept(Err(why), _) => {
                test = format!("{test}; response times: {why}");
                demanded()
            }
            Answer::Short(..) | Answer::Nothing(_) | Answer::Servers(_) | Answer::Refused => Vec::new(),
        };
        (response, test, terms)
    }

    /// What the plan says of resources.
    pub(crate) fn resources(&self, model: &Model) -> Vec<ResourcePlan> {
        let all = model.resources().iter().zip(&self.protocols).enumerate();
        // The plan of a channel covers the resource that guards its state.
        all.filter(|(at, _)| model.guarding(*at).is_none())
            .map(|(at, (resource, (protocol, reason)))| {
                let uses = |id: &ResourceId| id.index() == at;
                let users =
                    model.real_time().filter(|(.., task)| task.sections.iter().any(|s| uses(&s.resource)));
                ResourcePlan {
                    name: resource.name.clone(),
                    protocol: *protocol,
                    reason: reason.clone(),
                    users: users.map(|(_, task, _)| task.name.clone()).collect(),
                }
            })
            .collect()
    }
}
