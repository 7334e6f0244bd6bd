// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The terms of bounds.

use taut_analysis::multi::{Contribution, TaskBound};
use taut_model::Model;
use taut_plan::TermPlan;
use taut_time::Duration;

use super::charge::Charged;
use super::edf::Due;
use crate::placement::Placements;
use crate::response::waits;

pub(crate) fn term(kind: &str, of: Option<&str>, time: Duration) -> TermPlan {
    TermPlan { kind: kind.to_owned(), of: of.map(str::to_owned), count: None, time }
}

/// The parts of a bound that other tasks cause.
pub(crate) fn parts(bound: &TaskBound) -> [(&'static str, Contribution, Duration); 4] {
    let (terms, witnesses) = (&bound.terms, &bound.witnesses);
    [
        ("spinning", witnesses.spin, terms.spin),
        ("blocking", witnesses.local_blocking, terms.local_blocking),
        ("waiting suspended", witnesses.remote_blocking, terms.remote_blocking),
        ("interference", witnesses.interference, terms.interference),
    ]
}

/// The name of a witness: its task, its resource, or both.
fn called(model: &Model, placements: &Placements<'_>, witness: Contribution) -> Option<String> {
    let task = witness
        .task
        .and_then(|at| placements.placements.get(at))
        .map(|placement| format!("`{}`", placement.name));
    let resource = witness.resource.map(|at| match model.resources().get(at) {
        Some(resource) => format!("`{}`", resource.name),
        None => "the core".to_owned(),
    });
    match (task, resource) {
        (Some(task), Some(resource)) => Some(format!("{task} in {resource}")),
        (one, other) => one.or(other),
    }
}

/// The terms of R of a task; they sum to R.
pub(crate) fn terms(
    model: &Model,
    placements: &Placements<'_>,
    placement: usize,
    bound: &TaskBound,
    charged: &Charged,
) -> Vec<TermPlan> {
    let at = &placements.placements[placement];
    let overheads = model.platform().overheads;
    let most = |witness| called(model, placements, witness).map(|who| format!("most by {who}"));
    let switching = at.task.waits.switching;
    let mut terms = vec![
        term("own", None, at.cost.saturating_sub(switching)),
        term("overhead", Some(waits::SWITCHING), switching),
    ];
    let kinds = ["spin", "blocking", "remote", "interference"];
    for (kind, (_, witness, time)) in kinds.into_iter().zip(parts(bound)) {
        terms.push(term(kind, most(witness).as_deref(), time));
    }
    terms.push(term("overhead", Some("locks"), charged.locks[placement]));
    terms.push(term("overhead", Some("context switch"), charged.switches[placement]));
    terms.push(term("overhead", Some(charged.above), charged.probe[placement]));
    terms.push(term("blocking", Some("kernel"), overheads.kernel_blocking));
    terms.push(term("jitter", waits::whose(model, at.task).as_deref(), at.task.delay()));
    terms.push(term("overhead", Some("release"), overheads.release));
    terms.retain(|term| !term.time.is_zero() || term.kind == "own");
    terms
}

/// The terms of R of a task under EDF; they sum to R.
///
/// What runs before a job is not listed by task: which jobs are due no later depends on when the job arrives.
pub(crate) fn due(
    model: &Model,
    placements: &Placements<'_>,
    placement: usize,
    found: &Due,
    charged: &Charged,
) -> Vec<TermPlan> {
    let at = &placements.placements[placement];
    let overheads = model.platform().overheads;
    let most = |witness| called(model, placements, witness).map(|who| format!("most by {who}"));
    let mut left = found.response.from_arrival;
    let mut terms = Vec::new();
    let mut add = |kind, of: Option<&str>, time: Duration| {
        // This cuts only blocking that was over when the job arrived.
        let time = time.min(left);
        left = left.saturating_sub(time);
        terms.push(term(kind, of, time));
    };
    // 1. What comes before the job's busy period.
    let mut before = found.response.before;
    let mut early = |part: Duration| {
        let time = part.min(before);
        before = before.saturating_sub(time);
        time
    };
    let waits = waits::whose(model, at.task);
    let late = [
        ("jitter", waits.as_deref(), early(at.task.delay())),
        ("overhead", Some("release"), early(overheads.release)),
        ("blocking", Some("kernel"), early(overheads.kernel_blocking)),
    ];
    let probe = charged.probe[placement].saturating_sub(charged.once).checked_add(before).unwrap_or(before);
    // 2. The job's own part, then what others cause.
    add("own", None, at.cost.saturating_sub(at.task.waits.switching));
    add("overhead", Some(waits::SWITCHING), at.task.waits.switching);
    add("spin", most(found.spins_for).as_deref(), found.spin);
    add("overhead", Some("locks"), charged.locks[placement]);
    add("overhead", Some("context switch"), charged.switches[placement]);
    add("overhead", Some(charged.above), probe);
    late.into_iter().for_each(|(kind, of, time)| add(kind, of, time));
    let (task, resource) = found.response.blocked_by.unzip();
    let blocks = Contribution { task, resource, time: found.response.blocking };
    add("blocking", most(blocks).as_deref(), found.response.blocking);
    terms.insert(1, term("interference", Some("jobs due no later"), left));
    terms.retain(|term| !term.time.is_zero() || term.kind == "own");
    terms
}
