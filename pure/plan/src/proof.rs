// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is proven of an application: placements, tests, and a response bound per task.

use taut_analysis::{Core, Verdict, Why};
use taut_model::{Fault, Model, Severity};
use taut_time::Duration;

use crate::flow::{self, Realisation, ResponseBound, ResponseBounds};
use crate::make::memory;
use crate::placement::{Placements, Who};
use crate::shared::Shared;
use crate::{ChainPlan, chains, serve, timing, waits};

/// Placements, and what the tests say of them.
pub(crate) struct Proof<'m> {
    pub(crate) placements: Placements<'m>,
    pub(crate) shared: Option<Shared>,
    pub(crate) bounds: ResponseBounds,
    /// Whether all tasks and servers are shown to keep their deadlines.
    pub(crate) served: bool,
}

/// How much effort an answer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Everything, with a fault for each deadline that is not shown.
    Plan,
    /// Everything, but with faults of the whole only.
    Ask,
    /// The same, but with offsets only where that is fast: for callers that ask many times.
    Quick,
}

/// The most jobs with known phases for which quick answers use offsets: the cost rises with the third power of that
/// number.
pub(crate) const JOBS_ASKED_OFTEN: u64 = 12;

impl<'m> Proof<'m> {
    pub(crate) fn find(model: &'m Model, effort: Effort, faults: &mut Vec<Fault>) -> Self {
        let mut placements = Placements::choose(model, None);
        timing::cores(model, &placements, faults);
        waits::order(model, &placements, faults);
        let shared = Shared::analyse(model, &placements, faults);
        if shared.is_none() {
            placements.look_at_phases((effort == Effort::Quick).then_some(JOBS_ASKED_OFTEN));
        }
        let mut served = true;
        let mut bounds: ResponseBounds = vec![None; model.tasks().len()];
        for (i, placement) in placements.placements.iter().enumerate() {
            let bound = match &shared {
                Some(shared) => shared.response(&placements, i),
                None => placements.bound(i).map(|bound| bound.from_arrival),
            };
            let response = bound.unwrap_or(placement.task.deadline);
            if let Who::Task(id) = placement.who {
                let place = Some((placement.core, placement.priority));
                bounds[id.index()] = Some(ResponseBound { response, proven: bound.is_some(), place });
            }
            served &= bound.is_some();
            match &shared {
                _ if effort != Effort::Plan => {}
                Some(shared) => shared.deadline(model, &placements, i, faults),
                None => timing::deadline(model, &placements, i, faults),
            }
        }
        for (id, task, real_time) in model.real_time() {
            let Some(server) = real_time.server else { continue };
            let found = serve::response(model, &placements, shared.as_ref(), server, real_time);
            let response = found.response.unwrap_or(real_time.deadline);
            bounds[id.index()] =
                Some(ResponseBound { response, proven: found.response.is_some(), place: None });
            served &= found.response.is_some();
            if effort == Effort::Plan {
                serve::deadline(model, server, &task.name, real_time, &found, faults);
            }
        }
        Self { placements, shared, bounds, served }
    }

    /// R of a task that is past its deadline, as far as it is known.
    pub(crate) fn past(&self, name: &str) -> Option<Duration> {
        let placement = self
            .placements
            .placements
            .iter()
            .position(|placement| !placement.is_server() && placement.name == name)?;
        match &self.shared {
            Some(shared) => shared.past(placement),
            None => match self.placements.verdict(placement) {
                Ok(Verdict::Unschedulable(past) | Verdict::NotShown(Why::Passes(past))) => {
                    Some(past.from_arrival)
                }
                _ => None,
            },
        }
    }

    /// Whether quick answers may show less than others: offsets may help, but their analysis takes long.
    pub(crate) fn is_hasty(&self) -> bool {
        let slow = |core: &Core| core.jobs_in_phase().is_none_or(|jobs| jobs > JOBS_ASKED_OFTEN);
        let mut cores = self.placements.cores.iter().filter_map(|core| core.analysis.as_ref().ok());
        self.shared.is_none() && cores.any(|core| core.has_phases() && slow(core))
    }
}

/// What an application keeps, in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Feasibility {
    /// By task; a task without a deadline counts as kept.
    pub(crate) tasks: Vec<bool>,
    servers: Vec<bool>,
    chains: Vec<bool>,
    /// The number of errors other than those of a task.
    errors: usize,
}

impl Feasibility {
    /// Finds out what an application keeps.
    pub(crate) fn of(model: &Model, effort: Effort) -> Self {
        let mut faults = Vec::new();
        let model = &*waits::settle(model);
        let proof = Proof::find(model, effort, &mut faults);
        let channels = model.channel_ids().map(|id| flow::realise(model, id, &proof.bounds, &mut faults));
        let channels: Vec<Realisation> = channels.collect();
        // Queues, and with them memory, may have to grow with a response.
        memory(model, &channels, &proof.placements, proof.shared.as_ref(), &mut faults);
        let places = chains::Places::of(model, &proof.placements);
        let known = chains::Known { model, places: &places, bounds: &proof.bounds };
        let follow = |(at, chain)| chains::follow(&known, at, chain, &mut faults);
        let chains: Vec<ChainPlan> = model.chains().iter().enumerate().map(follow).collect();
        let server = |i: &usize| proof.shared.is_none() && proof.placements.bound(*i).is_some();
        let placements = &proof.placements.placements;
        Self {
            tasks: proof.bounds.iter().map(|bound| bound.is_none_or(|bound| bound.proven)).collect(),
            servers: (0..placements.len())
                .filter(|&i| placements[i].is_server())
                .map(|i| server(&i))
                .collect(),
            chains: chains.iter().map(ChainPlan::kept).collect(),
            errors: faults.iter().filter(|fault| fault.severity == Severity::Error).count(),
        }
    }

    /// Whether all is kept.
    pub(crate) fn is_proven(&self) -> bool {
        let Self { tasks, servers, chains, errors } = self;
        *errors == 0 && [tasks, servers, chains].iter().all(|list| !list.contains(&false))
    }

    /// Whether a task keeps its deadline, and nothing that was kept `before` is lost.
    pub(crate) fn serves(&self, task: usize, before: &Self) -> bool {
        let kept =
            |now: &[bool], before: &[bool]| now.iter().zip(before).all(|(now, before)| *now || !before);
        self.tasks[task]
            && self.errors <= before.errors
            && kept(&self.tasks, &before.tasks)
            && kept(&self.servers, &before.servers)
            && kept(&self.chains, &before.chains)
    }
}
