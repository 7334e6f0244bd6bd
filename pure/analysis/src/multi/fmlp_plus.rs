// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! FMLP+: global resources by suspension, first come, first served everywhere; holders boosted by request time.
//!
//! ```text
//! Equation    d_iE = Σ_q Σ_{x on E, x ≠ i} min(N_iq, n_x · N_xq);  n_x = ⌈(w_i + R_x) / T_x⌉
//!             a_iE = Σ_q N_iq over resources that E uses
//!             B_i = Σ_{E ≠ E_i} Σ_{x on E} the min(d_iE, a_iE) longest of n_x jobs' sections
//!             k_i = min(1 + Σ_q N_iq, 1 + Σ_E d_iE)
//!             L_i = Σ_{l∈lp} the k_i longest of n_l jobs' sections + k_i · max { c_l : l ∈ lp }
//!             w_i = C_i + B_i + L_i + Σ_{h∈hp} ⌈(w_i + δ_h) / T_h⌉ · C_h;  R = w + J
//!             δ_h = R_h − C_h if h asks for a global resource, else J_h
//! Symbols     [ns] d how often requests for the same resources come first, a how often i requests what E uses,
//!             B suspended waiting, L local blocking, c_l longest section of l on a local resource with a ceiling at
//!             least as urgent as i, N requests of a job, T period, J jitter, E core; hp, lp: same core
//! Assumes     A1 D ≤ T, and all tasks keep their deadlines, or nothing is proven for any   A2 waiting suspends;
//!             queues, and the order among boosted holders of a core, by time of request   A3 holders run before others
//!             A4 local resources under PCP or immediate ceilings   A5 global sections do not nest
//! Verdict     sufficient
//! Cost        rounds of the outer iteration, few
//! Source      [Brandenburg11] the protocol and its bound; [Chen19] R_h − C_h; c is ours: at each of the k_i instants
//!             one less urgent task can be inside such a section
//! ```
//!
//! It is not the FMLP of 2007; for that see `fmlp07`.

use taut_model::TaskSet;
use taut_time::Duration;

use super::bounds::{Bounds, ResponseTerms};
use super::contention::{BlockingTerm, Contention, Use};
use super::fixed_point::{Basis, Charge, Deferral, State, solve, terms_at};
use crate::{Assumption, Overflow, Verdict};

/// Bounds the response times of all tasks of a set; every core is of fixed priority.
///
/// # Errors
/// [`Overflow`] if a bound, or the first value past a deadline, does not fit in 64 bits.
pub fn response_times(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    let contention = match Contention::new(set)? {
        Ok(contention) => contention,
        Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
    };
    Ok(solve(&contention, Deferral::Response, Basis::Responses, charges(&contention))?.verdict())
}

/// Only B and L, of all tasks, if each job ends within `windows` of its release.
///
/// # Errors
/// [`Overflow`] as for [`response_times`].
pub fn blocking(
    set: &TaskSet,
    windows: &[Duration],
) -> Result<Result<Vec<ResponseTerms>, Assumption>, Overflow> {
    match Contention::new(set)? {
        Ok(contention) => {
            let (mut charge, tasks) = (charges(&contention), 0..contention.tasks.len());
            terms_at(&contention, windows, |state| tasks.map(|task| charge(task, state)).collect()).map(Ok)
        }
        Err(assumption) => Ok(Err(assumption)),
    }
}

fn charges(contention: &Contention) -> impl FnMut(usize, &State) -> Result<Charge, Overflow> {
    let by_core = by_core(contention);
    let mut limits = vec![0; contention.cores];
    move |task: usize, state: &State| {
        let jobs = |other: usize| contention.jobs(other, state.window[task], state.response[other]);
        // 1. How often another task's request can come first, per core.
        let mut first = 0u64;
        let own = contention.tasks[task].core;
        for (core, limit) in limits.iter_mut().enumerate() {
            let (mut direct, mut asked) = (0u64, 0u64);
            for request in contention.global_of(task) {
                let theirs = contention.uses(request.resource, core);
                let count = |use_: &Use| jobs(use_.task).saturating_mul(use_.count).min(request.count);
                let others = theirs.iter().filter(|use_| use_.task != task).map(count);
                direct = others.fold(direct, u64::saturating_add);
                asked = asked.saturating_add(if theirs.is_empty() { 0 } else { request.count });
            }
            first = first.saturating_add(direct);
            *limit = if core == own { 0 } else { direct.min(asked) };
        }
        // 2. Each task of another core comes before the job at most that often.
        let mut remote = BlockingTerm::default();
        for (core, &limit) in limits.iter().enumerate().filter(|&(_, &limit)| limit > 0) {
            for &other in &contention.order[by_core[core]..by_core[core + 1]] {
                longest(contention, &mut remote, other, limit, jobs(other))?;
            }
        }
        // 3. Less urgent tasks of its own core: one section each time that the job becomes ready.
        let arrivals = contention.tasks[task].count.min(first).saturating_add(1);
        let (mut local, mut ceiling) = (BlockingTerm::default(), BlockingTerm::default());
        for &lower in contention.lower(task) {
            longest(contention, &mut local, lower, arrivals, jobs(lower))?;
            ceiling = ceiling.larger(contention.ceiling_section(task, lower));
        }
        local.add(arrivals, ceiling.time, ceiling.peak.task, ceiling.peak.resource)?;
        Ok(Charge { local, remote, ..Charge::default() })
    }
}

/// Where the tasks of each core start in [`Contention::order`].
fn by_core(contention: &Contention) -> Vec<usize> {
    let start = |core| contention.order.partition_point(|&task| contention.tasks[task].core < core);
    (0..=contention.cores).map(start).collect()
}

/// Adds the `limit` longest sections of `jobs` jobs of a task.
fn longest(
    contention: &Contention,
    sum: &mut BlockingTerm,
    task: usize,
    limit: u64,
    jobs: u64,
) -> Result<(), Overflow> {
    let mut left = limit;
    for request in contention.global_of(task) {
        if left == 0 {
            break;
        }
        let count = jobs.saturating_mul(request.count).min(left);
        sum.add(count, request.length, Some(task), Some(request.resource))?;
        left -= count;
    }
    Ok(())
}
