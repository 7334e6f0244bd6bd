// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::cmp::Reverse;

use taut_model::{Aim, Fault, Model, Severity};
use taut_plan::ChainPlan;
use taut_time::Duration;
use taut_time::shown::percent;

use crate::channels::chains::{self, Known, Places};
use crate::channels::flow::{self, Realisation};
use crate::memory::memory;
use crate::response::bounds::ResponseBounds;
use crate::response::proof::{Effort, Proof};
use crate::response::settle;

/// What a set of decisions results in.
#[derive(Clone, Debug)]
pub(super) struct Measure {
    /// Whether every deadline and every chain is kept, and there is no other error.
    pub(super) kept: bool,
    /// Bytes of all that the plan needs: what `platform.memory` limits.
    pub(super) bytes: u64,
    /// Σ R / D in millionths, rounded up one by one.
    relative: u64,
    /// The least (D − R) / D in millionths, rounded down.
    slack: u64,
    /// The name of a task that is not shown to keep its deadline.
    pub(super) late: Option<String>,
    /// The first chain that is not kept.
    pub(super) chain: Option<ChainPlan>,
    /// The first other error.
    pub(super) fault: Option<String>,
}

impl Measure {
    /// Measures an application whose mechanisms are decided.
    pub(super) fn of(model: &Model) -> Self {
        let mut faults = Vec::new();
        let model = &*settle::settle(model);
        let proof = Proof::find(model, Effort::Quick, &mut faults);
        let channels = model.channel_ids().map(|id| flow::realise(model, id, &proof.bounds, &mut faults));
        let channels: Vec<Realisation> = channels.collect();
        let (_, memory) = memory(model, &channels, &proof.placements, proof.shared.as_ref(), &mut faults);
        let places = Places::of(model, &proof.placements);
        let known = Known { model, places: &places, bounds: &proof.bounds };
        let mut ignored = Vec::new();
        let mut chains = model.chains().iter().enumerate();
        let chain = chains.find_map(|(at, chain)| {
            let plan = chains::follow(&known, at, chain, &mut ignored);
            (!plan.kept()).then_some(plan)
        });
        let fault = faults.iter().find(|fault: &&Fault| fault.severity == Severity::Error);
        let tasks = proof.bounds.iter().zip(model.tasks());
        let late = || {
            let unproven = tasks.clone().filter(|(bound, _)| bound.is_some_and(|bound| !bound.proven));
            unproven.map(|(_, task)| &task.name)
        };
        // The bounds of other tasks may rest on a task that is past its deadline: name that task.
        let late = late().find(|name| proof.past(name).is_some()).or_else(|| late().next()).cloned();
        let (relative, slack) = response(model, &proof.bounds);
        Self {
            kept: proof.served && late.is_none() && chain.is_none() && fault.is_none(),
            bytes: memory.total.as_bytes(),
            relative,
            slack,
            late,
            chain,
            fault: fault.map(|fault| fault.message.clone()),
        }
    }

    /// The measure by an aim, in words; empty for bytes, which are shown anyway.
    pub(super) fn described(&self, aim: Aim) -> String {
        match aim {
            Aim::Memory => String::new(),
            Aim::Response => format!("; responses are {} of deadlines in all", percent(self.relative)),
            Aim::Slack => format!("; {} slack at least", percent(self.slack / 1_000 * 1_000)),
        }
    }

    /// Whether this is nearer to the aim than `other`.
    pub(super) fn is_better(&self, other: &Self, aim: Aim) -> bool {
        let key = |measure: &Self| {
            let (kept, slack) = (Reverse(measure.kept), Reverse(measure.slack));
            let (bytes, relative) = (measure.bytes, measure.relative);
            // The greatest slack has the least shortfall, since the keys are minimised.
            let short = u64::MAX - slack.0;
            match aim {
                Aim::Memory => (kept, bytes, short, relative),
                Aim::Response => (kept, relative, bytes, short),
                Aim::Slack => (kept, short, bytes, relative),
            }
        };
        key(self) < key(other)
    }
}

const MILLION: u128 = 1_000_000;

/// Σ R / D, and the least (D − R) / D.
fn response(model: &Model, bounds: &ResponseBounds) -> (u64, u64) {
    let (mut sum, mut least) = (0u128, u128::from(u64::MAX));
    for (id, _, task) in model.real_time() {
        let Some(bound) = bounds[id.index()] else { continue };
        let (r, d) = (bound.response, task.deadline);
        let parts = |time: Duration| u128::from(time.as_ns()) * MILLION;
        let whole = u128::from(d.as_ns()).max(1);
        sum += parts(r).div_ceil(whole);
        least = least.min(parts(d.saturating_sub(r)) / whole);
    }
    let short = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
    (short(sum), short(least))
}
