// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MPCP: global resources by suspension, queues by priority, boosted sections. The default for MPCP.
//!
//! ```text
//! Equation    w_i = C_i + B_i + L_i + Σ_{h∈hp} ⌈(w_i + δ_h) / T_h⌉ · C_h;  R = w + J
//!             δ_h = R_h − C_h if h asks for a global resource, else J_h
//! Symbols     [ns] w from release, R from arrival, C cost with sections, J jitter, T period; hp: same core
//!             B, L: `mpcp_blocking`
//! Assumes     A1 D ≤ T, and all tasks keep their deadlines, or nothing is proven for any
//!             A2 what `mpcp_blocking` assumes
//! Verdict     sufficient
//! Cost        pseudo-polynomial
//! Source      [Lakshmanan09] B and L; [Chen19] R_h − C_h: how late a job that suspends can run
//! ```
//!
//! This is `mpcp_lnr09_paper` with one term corrected, and the difference is large: see the test `counterexample`
//! there.

use taut_model::TaskSet;

use super::bounds::Bounds;
use super::contention::Contention;
use super::fixed_point::{Basis, Deferral, State, solve};
use super::mpcp_blocking::waits;
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
    let waits = waits(&contention)?;
    let charge = |task: usize, _: &State| Ok(waits[task].charge);
    Ok(solve(&contention, Deferral::Response, Basis::Deadlines, charge)?.verdict())
}
