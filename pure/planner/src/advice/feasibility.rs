// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which deadlines, budgets and latencies an application keeps.

use taut_model::{Model, Severity};
use taut_plan::ChainPlan;

use crate::channels::chains;
use crate::channels::flow::{self, Realisation};
use crate::memory::memory;
use crate::response::proof::{self, Effort, Proof};
use crate::response::settle;

/// Which deadlines, budgets and latencies an application keeps, in a form that can be compared.
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
    /// Analyses an application.
    pub(crate) fn of(model: &Model, effort: Effort) -> Self {
        let mut faults = Vec::new();
        let model = &*settle::settle(model);
        let proof = Proof::find(model, effort, &mut faults);
        let channels = model.channel_ids().map(|id| flow::realise(model, id, &proof.bounds, &mut faults));
        let channels: Vec<Realisation> = channels.collect();
        // Queues, and with them memory, may have to grow with a response.
        memory(model, &channels, &proof.placements, proof.shared.as_ref(), &mut faults);
        let places = chains::Places::of(model, &proof.placements);
        let known = chains::Known { model, places: &places, bounds: &proof.bounds };
        let follow = |(at, chain)| chains::follow(&known, at, chain, &mut faults);
        let chains: Vec<ChainPlan> = model.chains().iter().enumerate().map(follow).collect();
        let server = |i: usize| proof::response(&proof.placements, proof.shared.as_ref(), i).is_some();
        let placements = &proof.placements.placements;
        Self {
            tasks: proof.bounds.iter().map(|bound| bound.is_none_or(|bound| bound.proven)).collect(),
            servers: (0..placements.len()).filter(|&i| placements[i].is_server()).map(server).collect(),
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
