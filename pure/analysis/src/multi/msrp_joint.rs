// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MSRP, spinning counted for a core, not for each job: no remote section is charged twice in a window.
//!
//! ```text
//! Equation    w_i = C_i + V_i + Σ_{h∈hp} m_h · C_h;  R = w + J;  m_h = ⌈(w_i + J_h) / T_h⌉
//!             V_i = min( S_i + Σ_{h∈hp} m_h · S_h + L_i,  V'_i );  S of `msrp_holistic`, L of `msrp_gai01`
//!             V'_i = Σ_q Σ_{E ≠ E_i} top(F_q)  +  max( c_i,  max { Σ_{E ≠ E_i} next(F_q) + w_lq : l∈lp, q } )
//!             F_q = N_iq + Σ_{h∈hp} m_h · N_hq
//!             of the sections on q that tasks of E can have in the window, x ⌈(w_i + R_x) / T_x⌉ · N_xq of length w_xq:
//!             top(F) the sum of the F longest, next(F) the longest but F
//! Symbols     [ns] w_i from release, R_x from arrival, C cost without spinning, J jitter, T period, N requests of a job,
//!             w_lq longest section, E core, c_i longest section of a less urgent task on a local resource with a ceiling
//!             as urgent as i; hp, lp: same core
//! Assumes     as `msrp_holistic`
//! Verdict     sufficient; never more than `msrp_holistic`
//! Cost        rounds of the outer iteration, few
//! Source      [Wieder13] blocking as a mixed-integer linear program, with these rows; its solution is ours
//! ```
//!
//! **Why.** Let a job be released in a stretch, from t on, in which some job of i or hp is pending at all times, and none
//! just before t. While it lasts the core executes these jobs, or spins for them, or executes or spins for the one less
//! urgent job that was in a section or spinning at t. Up to t + w, m_h jobs of h are released and, as w + J ≤ D ≤ T, one
//! of i; they ask for q F_q times, and the less urgent job once, if it did not hold a local resource. Each such request
//! waits for one section of each other core at most, as it is not preempted and queues are first come, first served, and
//! no section is executed twice. So w bounds all that the stretch holds, and it ends by t + w.
//!
//! As a program: X the parts of remote requests that delay one of the F_q requests, Y those that delay the less urgent
//! job's, and A_q whether that was for q: Σ_{x on E} X_xq ≤ F_q, Σ_{x on E} Y_xq ≤ A_q, X + Y ≤ requests, Σ A ≤ 1. For
//! each choice of A, its rows speak of one q and E each, so that the longest sections are the maximum: no solver is
//! needed. The other operand of min counts what each job can meet in its own window, which may be less.

use taut_model::TaskSet;

use super::bounds::Bounds;
use super::contention::{Contention, Part, Use};
use super::fixed_point::{Basis, Charge, Deferral, State, solve};
use super::msrp_gai01::arrival_blocking;
use super::msrp_holistic;
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
    let mut asked = vec![0; contention.resources];
    let charge = |task: usize, state: &State| {
        let joint = joint(&contention, task, state, &mut asked)?;
        let each = each(&contention, task, state)?;
        let total = |charge: &Charge| charge.shared.time.checked_add(charge.local.time).ok_or(Overflow);
        Ok(if total(&each)? < total(&joint)? { each } else { joint })
    };
    Ok(solve(&contention, Deferral::Never, Basis::Responses, charge)?.verdict())
}

/// m.
fn jobs(contention: &Contention, task: usize, other: usize, state: &State) -> u64 {
    contention.jobs(other, state.window[task], contention.tasks[other].jitter).max(1)
}

/// S and L, job by job.
fn each(contention: &Contention, task: usize, state: &State) -> Result<Charge, Overflow> {
    let mut shared = msrp_holistic::spin(contention, task, state, |_| true)?;
    for higher in contention.higher(task) {
        let spin = msrp_holistic::spin(contention, higher, state, |_| true)?;
        let jobs = jobs(contention, task, higher, state);
        shared.add(jobs, spin.time, None, spin.peak.resource)?;
    }
    Ok(Charge { shared, local: arrival_blocking(contention, task)?, ..Charge::default() })
}

/// V'. `asked` is room for F.
fn joint(contention: &Contention, task: usize, state: &State, asked: &mut [u64]) -> Result<Charge, Overflow> {
    // 1. F.
    asked.fill(0);
    let own = contention.tasks[task].core;
    for request in contention.global_of(task) {
        asked[request.resource] = request.count;
    }
    for higher in contention.higher(task) {
        let jobs = jobs(contention, task, higher, state);
        for request in contention.global_of(higher) {
            let count =
                jobs.checked_mul(request.count).and_then(|count| count.checked_add(asked[request.resource]));
            asked[request.resource] = count.ok_or(Overflow)?;
        }
    }
    // 2. The longest, and the one after them that a less urgent request may meet.
    let (mut shared, mut local) = (Part::default(), Part::default());
    for &lower in contention.lower(task) {
        local = local.larger(contention.ceiling_section(task, lower));
    }
    for (resource, &count) in asked.iter().enumerate() {
        let (mut longest, mut next) = (Part::default(), 0u64);
        for core in (0..contention.cores).filter(|&core| core != own) {
            let mut left = count;
            for theirs in contention.uses(resource, core) {
                let window = state.window[task];
                let most = contention.jobs(theirs.task, window, state.response[theirs.task]);
                let most = most.saturating_mul(theirs.count);
                let taken = most.min(left);
                longest.add(taken, theirs.length, None, None)?;
                left -= taken;
                if most > taken {
                    next = next.checked_add(theirs.length).ok_or(Overflow)?;
                    break;
                }
            }
        }
        shared.add(1, longest.time, None, Some(resource))?;
        // 3. The less urgent one that is in the way.
        let lower = |use_: &&Use| contention.tasks[use_.task].priority < contention.tasks[task].priority;
        if let Some(section) = contention.uses(resource, own).iter().find(lower) {
            let time = next.checked_add(section.length).ok_or(Overflow)?;
            local = local.larger(Part::of(time, section.task, resource));
        }
    }
    Ok(Charge { shared, local, ..Charge::default() })
}
