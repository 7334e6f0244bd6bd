// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processor demand, EDF on every core, MSRP for global resources.
//!
//! ```text
//! Equation    h(t) + b(t) ≤ t at every deadline t ≤ max(L, D_max) of each core; h and L with C'_i = C_i + S_i
//!             b(t) = max( that of `uni::edf::srp` for local q, levels by D, with C' for C,
//!                         max { s_jq + w_jq : D_j − J_j > t, q global, some D_k − J_k ≤ t } )
//! Symbols     [ns] h, L as in `uni::edf::demand`; s, S as in `msrp_gai01`; w longest section, D deadline, J jitter;
//!             j, k: tasks of the core
//! Assumes     A1 what `uni::edf::srp` assumes, except for global resources   A2 a job that spins for or holds a global
//!             resource is not preempted   A3 global sections do not nest, neither in local ones nor around them
//! Verdict     sufficient
//! Cost        pseudo-polynomial; limited
//! Source      [Gai01] spinning as cost; [Baruah06] b; [BiondiBrandenburg16] the same as a baseline; jitter as in
//!             `uni::edf::srp`
//! ```
//!
//! **Why the larger of the two.** As in `uni::edf::srp`, only jobs on the stack when the window starts can block. If
//! one of them holds a local q that keeps a good job out, all jobs above it are charged whole, with their global
//! sections; the holder itself is in no global section, by A3. If none does, only the job at the top blocks, while it
//! spins or holds.
//!
//! QPA may jump: C'_j ≥ s_jq + w_jq, because a job that requests q once spins for it once.

use taut_model::TaskSet;
use taut_time::Duration;

use super::bounds::Contribution;
use super::contention::Contention;
use super::msrp_gai01::spin;
use crate::uni::edf::demand::{Demand, EdfTask, Found, Row, is_edf, search};
use crate::uni::edf::response::{self, Blocker, EdfResponse};
use crate::uni::edf::sections::{Member, Section, blocking, by_ceilings, sort};
use crate::uni::edf::srp::longest_deadline;
use crate::{Assumption, Overflow, Verdict, Why};

/// The demand of each core, in the set's order, up to the first core whose deadlines could not be shown.
pub type CoreDemands = Vec<Demand>;

/// Whether all tasks of a set keep their deadlines; every core is under EDF.
///
/// # Errors
/// [`Overflow`] if a horizon or the demand of a window does not fit in 64 bits.
pub fn cores(set: &TaskSet) -> Result<Verdict<CoreDemands>, Overflow> {
    let contention = Contention::any_deadline(set)?;
    let mut found = Vec::with_capacity(contention.cores);
    for core in 0..contention.cores {
        if !is_edf(set, core) {
            return Ok(Verdict::NotApplicable(Assumption::Edf));
        }
        let (rows, sections) = of_core(set, &contention, core)?;
        match search(&rows, longest_deadline(set, core), &[], |window| blocking(&sections, window))? {
            Found::Fits(demand) => found.push(demand),
            Found::Short(demand) => {
                found.push(demand);
                return Ok(Verdict::NotShown(Why::Passes(found)));
            }
            Found::Rate => return Ok(Verdict::NotShown(Why::Rate)),
            Found::Steps(steps) => return Ok(Verdict::NotShown(Why::Steps(steps))),
        }
    }
    Ok(Verdict::Schedulable(found))
}

/// Bounds the response times of all tasks of a set, in its order; every core is under EDF. Values past a deadline are
/// still bounds.
///
/// # Errors
/// [`Overflow`] if a busy period or what blocks it does not fit in 64 bits.
pub fn response_times(set: &TaskSet) -> Result<Verdict<Vec<EdfResponse>>, Overflow> {
    let contention = Contention::any_deadline(set)?;
    let mut found = vec![None; set.tasks().len()];
    let mut late = false;
    for core in 0..contention.cores {
        if !is_edf(set, core) {
            return Ok(Verdict::NotApplicable(Assumption::Edf));
        }
        let before_release = |at: usize| set.tasks()[at].jitter > set.tasks()[at].deadline;
        if set.on_core(core).any(before_release) {
            return Ok(Verdict::NotApplicable(Assumption::TimeOrder));
        }
        let (rows, sections) = of_core(set, &contention, core)?;
        let charged = set.on_core(core).zip(&rows);
        let charged =
            charged.map(|(at, row)| EdfTask { cost: Duration::from_ns(row.cost), ..EdfTask::of(set, at) });
        let blockers: Vec<Blocker> = sections.iter().map(Blocker::of).collect();
        let of_core = match response::all(&charged.collect::<Vec<_>>(), &blockers)? {
            Verdict::Schedulable(of_core) => of_core,
            Verdict::NotShown(Why::Passes(of_core)) => {
                late = true;
                of_core
            }
            other => return Ok(other),
        };
        set.on_core(core).zip(of_core).for_each(|(at, response)| found[at] = Some(response));
    }
    // Every task is on a core.
    let found = found.into_iter().flatten().collect();
    Ok(if late { Verdict::NotShown(Why::Passes(found)) } else { Verdict::Schedulable(found) })
}

/// S of all tasks of a set, in its order: how long a job spins at most, and the resource that it spins longest for.
///
/// # Errors
/// [`Overflow`] if a sum does not fit in 64 bits.
pub fn spinning(set: &TaskSet) -> Result<Vec<(Duration, Contribution)>, Overflow> {
    let contention = Contention::any_deadline(set)?;
    let of_task = |at| spin(&contention, at, |_| true).map(|part| (Duration::from_ns(part.time), part.peak));
    (0..set.tasks().len()).map(of_task).collect()
}

/// The tasks of a core and the sections that block, the longest first.
fn of_core(
    set: &TaskSet,
    contention: &Contention,
    core: usize,
) -> Result<(Vec<Row>, Vec<Section>), Overflow> {
    // 1. C + S.
    let row = |at: usize| {
        let task = &contention.tasks[at];
        let cost = task.cost.checked_add(spin(contention, at, |_| true)?.time).ok_or(Overflow)?;
        let due = task.deadline.saturating_sub(task.jitter);
        Ok(Row { cost, period: task.period, due, jitter: task.jitter })
    };
    let rows = set.on_core(core).map(row).collect::<Result<Vec<_>, Overflow>>()?;
    // 2. b: local sections by ceiling, global ones from the shortest window in which a job is due.
    let member = |(task, row): (usize, &Row)| {
        let deadline = contention.tasks[task].deadline;
        Member { task, cost: row.cost, level: deadline, deadline, due: row.due }
    };
    let members: Vec<Member> = set.on_core(core).zip(&rows).map(member).collect();
    let mut all = by_ceilings(set, &members, |resource| contention.all_uses(resource).is_empty())?;
    let from = rows.iter().map(|row| row.due).min().unwrap_or(0);
    for member in &members {
        for request in contention.global_of(member.task) {
            let once = contention.spin_once(request.resource, core);
            let time = once.checked_add(request.length).ok_or(Overflow)?;
            let (task, resource, until) = (member.task, request.resource, member.due);
            all.push(Section { time, from, until, task, resource });
        }
    }
    sort(&mut all);
    Ok((rows, all))
}
