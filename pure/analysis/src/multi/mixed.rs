// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Some global resources under MSRP, the others under MPCP: the analysis that judges a selection of mechanisms.
//!
//! ```text
//! Equation    w_i = C_i + S_i + B_i + L_i + Σ_{h∈hp} ⌈(w_i + δ_h) / T_h⌉ · (C_h + S_h);  R = w + J
//!             S: resources that are spun for, as in `msrp_holistic`
//!             B, L: the others, as in `mpcp_blocking`, with p_u the longest s + w of u on a resource that is spun for
//!             δ_h = R_h − (C_h + S_h) if h asks for a resource that suspends, else J_h
//! Symbols     [ns] w from release, R from arrival, C cost with sections, S spinning, B suspended waiting, L local
//!             blocking, s spinning for one request as in `msrp_gai01`, J jitter, T period; hp: same core
//! Assumes     A1 D ≤ T, and all tasks keep their deadlines, or nothing is proven for any   A2 a job that spins is not
//!             preempted from its request to its release, not even by the holder of a resource of the other kind
//!             A3 what `mpcp_blocking` assumes
//! Verdict     sufficient
//! Cost        rounds of the outer iteration, few
//! Source      [Brandenburg11] S; [Lakshmanan09], [Chen19] B, L and δ; ours: p, how each kind delays the other, below
//! ```
//!
//! **Suspension does not delay spinning**: nothing preempts a job from its request to its release (A2), so a section
//! that others spin for lasts w, whatever the holders of the other kind on its core do.
//!
//! **Spinning delays suspension** at one instant only, when the suspended job continues, and by one stretch at most:
//! `mpcp_blocking` says why.
//!
//! If all resources spin it is `msrp_holistic`, and if none does `mpcp_lnr09_sound`.

use taut_time::Duration;

use super::bounds::Bounds;
use super::fixed_point::{Basis, Charge, Deferral, State, solve_from};
use super::guarded::{Guard, GuardedSet};
use super::mpcp_blocking::{Suspension, waits_among};
use super::msrp_gai01::span;
use super::msrp_holistic;
use crate::{Overflow, Verdict};

/// Bounds the response times of all tasks of a set; every core is of fixed priority.
///
/// # Errors
/// [`Overflow`] if a bound, or the first value past a deadline, does not fit in 64 bits.
pub fn response_times(set: &GuardedSet) -> Result<Verdict<Bounds>, Overflow> {
    response_times_above(set, &[])
}

/// The same, for a caller that knows that no task's w is less than `least`, by position: bounds of the set with fewer
/// guards or lower costs. Saves steps, and changes nothing.
///
/// # Errors
/// [`Overflow`] as for [`response_times`].
pub fn response_times_above(set: &GuardedSet, least: &[Duration]) -> Result<Verdict<Bounds>, Overflow> {
    let contention = &set.contention;
    let spins = |at: usize| set.is(at, Guard::Spinning);
    let spans = (0..contention.tasks.len()).map(|task| span(contention, task, spins));
    let spans = spans.collect::<Result<Vec<_>, Overflow>>()?;
    let waits = waits_among(contention, Suspension { suspends: &set.suspending(), spans: &spans })?;
    let charges = |state: &State| {
        let spins = msrp_holistic::spins(contention, state, spins)?.into_iter().zip(&waits);
        Ok(spins.map(|(spin, waits)| Charge { spin, ..waits.charge }).collect())
    };
    let least: Vec<u64> = least.iter().map(|window| window.as_ns()).collect();
    Ok(solve_from(contention, &least, Deferral::Response, Basis::Responses, charges)?.verdict())
}
