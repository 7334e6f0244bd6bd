// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MSRP: global resources by non-preemptive spinning, first come, first served; as published.
//!
//! ```text
//! Equation    s_iq = Σ_{E ≠ E_i} max { w_jq : j on E };  S_i = Σ_q N_iq · s_iq
//!             L_i = max( max { w_lq : q local, l ∈ lp, ceiling(q) ≥ priority of i },
//!                        max { s_lq + w_lq : q global, l ∈ lp } )
//!             w = C + S + L + Σ_{h∈hp} ⌈(w + J_h) / T_h⌉ · (C_h + S_h);  R = w + J
//! Symbols     [ns] s spinning for one request, N requests of a job, w_jq longest section, S spinning of a job,
//!             L local blocking, C cost with sections, T period, J jitter, E core; hp, lp: same core
//! Assumes     A1 D ≤ T   A2 no self-suspension   A3 a job that spins for or holds a global resource is not preempted
//!             A4 local resources under SRP or immediate ceilings   A5 global sections do not nest
//! Verdict     sufficient: the same remote section is charged to every request
//! Cost        one pass over requests, then response times
//! Source      [Gai01] P. Gai, G. Lipari, M. Di Natale, RTSS 2001; [Han14, equations 6 to 11]
//! ```
//!
//! No bound depends on another task's bound: each is proven or not by itself.
//!
//! A4 is no formality: under the original ceilings a task is blocked at its arrival *and* when it locks, and a simulation
//! of small sets exceeds the bound (`msrp_needs_immediate_ceilings`, in the tests of `taut-sim`).

use taut_model::TaskSet;

use super::bounds::Bounds;
use super::contention::{BlockingTerm, Contention};
use super::fixed_point::{Basis, Charge, Deferral, solve};
use crate::{Overflow, Verdict};

/// Bounds the response times of all tasks of a set; every core is of fixed priority.
///
/// # Errors
/// [`Overflow`] if a bound, or the first value past a deadline, does not fit in 64 bits.
pub fn response_times(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    let contention = match Contention::new(set)? {
        Ok(contention) => contention,
        Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
    };
    let local = arrival_blockings(&contention)?;
    let charge = |task: usize| {
        Ok(Charge { spin: spin(&contention, task, |_| true)?, local: local[task], ..Charge::default() })
    };
    Ok(solve(&contention, Deferral::Never, Basis::Parameters, |task, _| charge(task))?.verdict())
}

/// S: the spinning of a job, with a remote section for every request; `spins` says for which global resources jobs
/// spin.
pub(crate) fn spin(
    contention: &Contention,
    task: usize,
    spins: impl Fn(usize) -> bool,
) -> Result<BlockingTerm, Overflow> {
    let mut sum = BlockingTerm::default();
    for request in contention.global_of(task).iter().filter(|request| spins(request.resource)) {
        let once = contention.spin_once(request.resource, contention.tasks[task].core);
        sum.add(request.count, once, None, Some(request.resource))?;
    }
    Ok(sum)
}

/// L of all tasks: one section of a less urgent task that has just started; a global one includes its spinning.
pub(crate) fn arrival_blockings(contention: &Contention) -> Result<Vec<BlockingTerm>, Overflow> {
    let tasks = || 0..contention.tasks.len();
    let spans = tasks().map(|task| span(contention, task, |_| true)).collect::<Result<Vec<_>, Overflow>>()?;
    let longest = |task: usize| {
        contention.lower(task).iter().fold(BlockingTerm::default(), |longest, &lower| {
            longest.larger(contention.ceiling_section(task, lower)).larger(spans[lower])
        })
    };
    Ok(tasks().map(longest).collect())
}

/// How long one request of a task can keep all other tasks off its core: the spinning and the section.
pub(crate) fn span(
    contention: &Contention,
    task: usize,
    spins: impl Fn(usize) -> bool,
) -> Result<BlockingTerm, Overflow> {
    let mut longest = BlockingTerm::default();
    for request in contention.global_of(task).iter().filter(|request| spins(request.resource)) {
        let once = contention.spin_once(request.resource, contention.tasks[task].core);
        let time = once.checked_add(request.length).ok_or(Overflow)?;
        longest = longest.larger(BlockingTerm::of(time, task, request.resource));
    }
    Ok(longest)
}
