// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! FMLP of 2007, partitioned, fixed priority: short resources by spinning, long ones by suspension, both first come,
//! first served.
//!
//! ```text
//! Equation    s, S: short resources, as in `msrp_gai01`
//!             H_xq = w_xq + Σ_{y ≠ x, same core} g_y + max { p_y : y ≠ x, same core }
//!             B_i = Σ_{q long} Σ_{x ≠ i} min(N_iq, ⌈(w_i + R_x) / T_x⌉ · N_xq) · H_xq
//!             L_i = (1 + Σ_{q long} N_iq) · ( Σ_{l∈lp} g_l + max { (max(p_l, c_l) − g_l)⁺ : l ∈ lp } )
//!             w_i = C_i + S_i + B_i + L_i + Σ_{h∈hp} ⌈(w_i + δ_h) / T_h⌉ · (C_h + S_h);  R = w + J
//!             δ_h = R_h − (C_h + S_h) if h asks for a long resource, else J_h
//! Symbols     [ns] H how long a holder keeps a long resource, g_y longest section of y on a long resource,
//!             p_y longest s + w of y on a short one, c_l longest section of l on a local resource with a ceiling at
//!             least as urgent as i, N requests of a job, S spinning, B suspended waiting, L local blocking, T period,
//!             J jitter, C cost with sections; hp, lp: same core
//! Assumes     A1 D ≤ T, and all tasks keep their deadlines, or nothing is proven for any   A2 short: a job is not
//!             preempted from the request to the release   A3 long: the holder runs before all jobs that hold none;
//!             among holders of a core any order   A4 local resources under immediate ceilings   A5 global sections do
//!             not nest: each resource is a group of its own
//! Verdict     sufficient
//! Cost        rounds of the outer iteration, few
//! Source      [Block07] the protocol; [BrandenburgAnderson08] boosting on partitions; the bound is ours, below
//! ```
//!
//! **H.** A non-preemptive section that runs just then, of which there is one, delays a ready holder, and so do other
//! holders of its core. No other job runs, so no other task of the core makes a request meanwhile: each adds at most
//! the one long section that it holds or waits for.
//!
//! **B.** The queue is first come, first served and a job has one request at a time, so each other task comes before
//! each request at most once.
//!
//! **L.** Each time that a job starts, or continues after a long request, a less urgent task of its core has at most
//! one request or local section open, and gets no further one before the job waits again. Only one of these tasks can
//! be in a non-preemptive section or in one with a ceiling, since neither starts while the other is on the core.
//!
//! With short resources only it is `msrp_gai01`.

use taut_model::TaskSet;

use super::bounds::Bounds;
use super::contention::{BlockingTerm, Contention};
use super::fixed_point::{Basis, Charge, Deferral, State, solve};
use super::msrp_gai01::{span, spin};
use crate::{Overflow, Verdict};

/// How jobs wait for a global resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FmlpResource {
    /// Spinning, not preempted.
    Short,
    /// Suspended.
    Long,
}

/// Bounds the response times of all tasks of a set; every core is of fixed priority. `kind` says how jobs wait for
/// each global resource, by its position.
///
/// # Errors
/// [`Overflow`] if a bound, or the first value past a deadline, does not fit in 64 bits.
pub fn response_times(
    set: &TaskSet,
    kind: impl Fn(usize) -> FmlpResource,
) -> Result<Verdict<Bounds>, Overflow> {
    let contention = match Contention::new(set)? {
        Ok(contention) => contention,
        Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
    };
    let is_long: Vec<bool> = (0..contention.resources).map(|at| kind(at) == FmlpResource::Long).collect();
    let tasks = || 0..contention.tasks.len();
    // 1. What does not depend on response times.
    let spins = tasks()
        .map(|task| spin(&contention, task, |at| !is_long[at]))
        .collect::<Result<Vec<_>, Overflow>>()?;
    let spans = tasks()
        .map(|task| span(&contention, task, |at| !is_long[at]))
        .collect::<Result<Vec<_>, Overflow>>()?;
    let longs: Vec<BlockingTerm> = tasks().map(|task| long(&contention, &is_long, task)).collect();
    let delays = delays(&contention, &spans, &longs)?;
    let locals = tasks()
        .map(|task| local(&contention, &is_long, &spans, &longs, task))
        .collect::<Result<Vec<_>, Overflow>>()?;
    // 2. What does depend on them.
    let charge = |task: usize, state: &State| {
        let mut remote = BlockingTerm::default();
        for request in contention.global_of(task).iter().filter(|request| is_long[request.resource]) {
            for theirs in contention.all_uses(request.resource).iter().filter(|theirs| theirs.task != task) {
                let jobs = contention.jobs(theirs.task, state.window[task], state.response[theirs.task]);
                let count = jobs.saturating_mul(theirs.count).min(request.count);
                let held = theirs.length.checked_add(delays[theirs.task]).ok_or(Overflow)?;
                remote.add(count, held, Some(theirs.task), Some(request.resource))?;
            }
        }
        Ok(Charge { spin: spins[task], local: locals[task], remote, ..Charge::default() })
    };
    // With short resources only, nothing depends on the deadlines of others.
    let any_long = contention.global.iter().any(|request| is_long[request.resource]);
    let basis = if any_long { Basis::Responses } else { Basis::Parameters };
    let deferral = if any_long { Deferral::Response } else { Deferral::Never };
    Ok(solve(&contention, deferral, basis, charge)?.verdict())
}

/// g.
fn long(contention: &Contention, is_long: &[bool], task: usize) -> BlockingTerm {
    let mut requests = contention.global_of(task).iter().filter(|request| is_long[request.resource]);
    requests
        .next()
        .map_or(BlockingTerm::default(), |request| BlockingTerm::of(request.length, task, request.resource))
}

/// H − w of each task: what other tasks of its core add to any of its long sections.
fn delays(
    contention: &Contention,
    spans: &[BlockingTerm],
    longs: &[BlockingTerm],
) -> Result<Vec<u64>, Overflow> {
    let mut sums = vec![0; contention.tasks.len()];
    let mut rest = &contention.order[..];
    while let Some(&first) = rest.first() {
        let row = &contention.tasks[first];
        let (core, others) = rest.split_at(row.lower.end - row.higher.start);
        rest = others;
        let sum =
            core.iter().try_fold(0u64, |sum, &task| sum.checked_add(longs[task].time)).ok_or(Overflow)?;
        // The longest span, and the longest of another task.
        let (mut most, mut second, mut whose) = (0, 0, usize::MAX);
        for &task in core {
            if spans[task].time > most {
                (second, most, whose) = (most, spans[task].time, task);
            } else {
                second = spans[task].time.max(second);
            }
        }
        for &task in core {
            let span = if task == whose { second } else { most };
            sums[task] = (sum - longs[task].time).checked_add(span).ok_or(Overflow)?;
        }
    }
    Ok(sums)
}

/// L.
fn local(
    contention: &Contention,
    is_long: &[bool],
    spans: &[BlockingTerm],
    longs: &[BlockingTerm],
    task: usize,
) -> Result<BlockingTerm, Overflow> {
    let requests = contention.global_of(task).iter().filter(|request| is_long[request.resource]);
    let times = requests.map(|request| request.count).sum::<u64>().checked_add(1).ok_or(Overflow)?;
    let mut sum = BlockingTerm::default();
    let mut more = 0;
    for &lower in contention.lower(task) {
        let section = contention.ceiling_section(task, lower).larger(spans[lower]);
        more = section.time.saturating_sub(longs[lower].time).max(more);
        sum.time = sum.time.checked_add(longs[lower].time).ok_or(Overflow)?;
        let peak = longs[lower].larger(section).peak;
        sum.raise(peak.time.as_ns(), peak.task, peak.resource);
    }
    sum.time = sum.time.checked_add(more).and_then(|once| once.checked_mul(times)).ok_or(Overflow)?;
    Ok(sum)
}
