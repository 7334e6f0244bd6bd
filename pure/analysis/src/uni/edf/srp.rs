// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processor demand, EDF, local resources under the stack resource policy.
//!
//! ```text
//! Equation    h(t) + b(t) ≤ t at every deadline t ≤ max(L, D_max)
//!             b(t) = max { w_jq : D_j > t, q used by some k with D_k ≤ t }
//! Symbols     [ns] h and the horizon L as in `demand`; w_jq longest section of j on q, D deadline
//! Assumes     A1 preemption levels by D, shorter is higher   A2 all resources are local   A3 no release jitter
//!             A4 no self-suspension   A5 C_j ≥ w_jq, which a `TaskSet` guarantees
//! Verdict     sufficient for b; h(t) > t alone is exact where `demand` is
//! Cost        pseudo-polynomial; limited
//! Source      [Baker91] the policy; [Baruah06] b; [ZhangBurns09] QPA
//! ```
//!
//! **The horizon** of `demand` is not enough: a section blocks windows up to the longest deadline. From there on b = 0.
//!
//! **QPA may jump over h + b**, because it never falls. Let t' < t. If b(t') > b(t), the section of b(t') is of a j
//! with t' < D_j ≤ t, so that h(t) ≥ h(t') + C_j ≥ h(t') + b(t'), by A5.
//!
//! **Why no jitter.** A1 promises that whoever is released later and due earlier has the higher level. With jitter
//! that fails: a task with a long D can be released late and be due first. Two sections can then block it.

use taut_model::TaskSet;
use taut_time::Duration;

use super::demand::{self, Blocking, Demand, Found, Row};
use crate::{Assumption, Overflow, Verdict, Why};

/// Whether the tasks of a core of a set keep their deadlines.
///
/// # Errors
/// [`Overflow`] if a horizon or the demand of a window does not fit in 64 bits.
pub fn core(set: &TaskSet, core: usize) -> Result<Verdict<Demand>, Overflow> {
    if !demand::is_edf(set, core) {
        return Ok(Verdict::NotApplicable(Assumption::Edf));
    }
    // 1. Nothing is shared: no assumption is needed.
    let requests = || set.on_core(core).flat_map(|at| set.requests(at));
    if requests().next().is_none() {
        return demand::core(set, core);
    }
    let mut elsewhere = vec![false; set.resources().len()];
    for at in (0..set.tasks().len()).filter(|&at| set.tasks()[at].core != core) {
        set.requests(at).iter().for_each(|request| elsewhere[request.resource] = true);
    }
    if requests().any(|request| elsewhere[request.resource]) {
        return Ok(Verdict::NotApplicable(Assumption::LocalResources));
    }
    if set.on_core(core).any(|at| !set.tasks()[at].jitter.is_zero()) {
        return Ok(Verdict::NotApplicable(Assumption::NoJitter));
    }
    // 2. The search.
    let row = |at| Row {
        cost: set.cost(at).as_ns(),
        period: set.tasks()[at].period.as_ns(),
        due: set.tasks()[at].deadline.as_ns(),
        jitter: 0,
    };
    let rows: Vec<Row> = set.on_core(core).map(row).collect();
    let mut sections = sections(set, core);
    sort(&mut sections);
    match demand::search(&rows, longest_deadline(set, core), |window| blocking(&sections, window))? {
        Found::Fits(found) => Ok(Verdict::Schedulable(found)),
        Found::Steps(steps) => Ok(Verdict::NotShown(Why::Steps(steps))),
        // 3. If it fails without blocking too, that may be exact.
        found => match (demand::core(set, core)?, found) {
            (Verdict::Unschedulable(found), _) => Ok(Verdict::Unschedulable(found)),
            (_, Found::Short(found)) => Ok(Verdict::NotShown(Why::Passes(found))),
            _ => Ok(Verdict::NotShown(Why::Rate)),
        },
    }
}

/// A section that blocks windows with `from` ≤ t < `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) time: u64,
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) task: usize,
    pub(crate) resource: usize,
}

/// The sections on local resources of a core's tasks.
pub(crate) fn sections(set: &TaskSet, core: usize) -> Vec<Section> {
    let deadline = |at: usize| set.tasks()[at].deadline.as_ns();
    // The shortest deadline of each resource's users, which is its ceiling.
    let mut ceilings = vec![u64::MAX; set.resources().len()];
    for at in set.on_core(core) {
        for request in set.requests(at) {
            ceilings[request.resource] = ceilings[request.resource].min(deadline(at));
        }
    }
    let of_task = |task: usize| {
        let ceilings = &ceilings;
        set.requests(task).iter().map(move |request| Section {
            time: request.length.as_ns(),
            from: ceilings[request.resource],
            until: deadline(task),
            task,
            resource: request.resource,
        })
    };
    set.on_core(core).flat_map(of_task).filter(|section| section.from < section.until).collect()
}

/// The longest first.
pub(crate) fn sort(sections: &mut [Section]) {
    sections.sort_by_key(|section| core::cmp::Reverse(section.time));
}

/// b(t): the first that blocks is the longest.
pub(crate) fn blocking(sections: &[Section], window: u64) -> Blocking {
    let blocks = |section: &&Section| section.from <= window && window < section.until;
    sections.iter().find(blocks).map(|section| (section.time, section.task, section.resource))
}

pub(crate) fn longest_deadline(set: &TaskSet, core: usize) -> Duration {
    set.on_core(core).map(|at| set.tasks()[at].deadline).max().unwrap_or(Duration::ZERO)
}
