// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MPCP as it was published. **Unsound**: for reproducing published results, never for a proof.
//!
//! ```text
//! Equation    w_i = C_i + B_i + L_i + Σ_{h∈hp} ⌈(w_i + B_h) / T_h⌉ · C_h
//! Symbols     [ns] as in `mpcp_lnr09_sound`
//! Assumes     as `mpcp_lnr09_sound`
//! Verdict     unsound: research. A job that suspends can run later by R_h − C_h, which is more than B_h when
//!             others preempt it in between; test `counterexample`: claimed 12000, reached 21960, proven 22000
//! Cost        pseudo-polynomial
//! Source      [Lakshmanan09]; [Han14, equations 2 to 5]; refuted in [Chen19]
//! ```
//!
//! The result is no [`crate::Verdict`], so that no caller that needs a proof can take it for one. We know the
//! published δ_h = B_h and the factor 1 + N_i of L from other authors' texts and implementations.

use taut_model::TaskSet;
use taut_time::Duration;

use crate::multi::bounds::{ResponseTerms, TaskBound};
use crate::multi::contention::Contention;
use crate::multi::fixed_point::{Basis, Deferral, Solved, State, solve};
use crate::multi::mpcp_blocking::{Waits, waits};
use crate::{Assumption, Overflow};

/// What the published equations claim of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claims {
    /// One per task, in the set's order. No proof of anything.
    Unsound(Vec<ClaimedBound>),
    /// They claim nothing: an assumption does not hold.
    NotApplicable(Assumption),
    /// The iteration gave up after this many steps.
    Steps(u32),
}

/// What the published equations claim of a task. No proof of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedBound {
    /// The claimed bound from the arrival; meaningless if the deadline is not claimed to be kept.
    pub claimed: Duration,
    /// Whether the deadline is claimed to be kept.
    pub claimed_to_fit: bool,
    /// The claim in terms; they sum to it.
    pub terms: ResponseTerms,
}

/// What the published equations claim.
///
/// # Errors
/// [`Overflow`] if a claim, or the first value past a deadline, does not fit in 64 bits.
pub fn claims(set: &TaskSet) -> Result<Claims, Overflow> {
    let contention = match Contention::new(set)? {
        Ok(contention) => contention,
        Err(assumption) => return Ok(Claims::NotApplicable(assumption)),
    };
    let waits = waits(&contention)?;
    // As printed, B_h alone defers, and each task is analysed by itself.
    let charge = |task: usize, _: &State| Ok(waits[task].charge);
    Ok(claimed(&contention, &waits, solve(&contention, Deferral::Blocking, Basis::Parameters, charge)?))
}

/// The claims that a solution makes.
pub(crate) fn claimed(contention: &Contention, waits: &[Waits], solved: Solved) -> Claims {
    let bounds = match solved {
        Solved::Steps(steps) => return Claims::Steps(steps),
        Solved::Bounds(bounds) => bounds,
    };
    let claim = |(at, task): (usize, &TaskBound)| {
        let in_time = task.from_arrival.as_ns() <= contention.tasks[at].deadline;
        // Without a B there is no equation for the tasks below.
        let claimed_to_fit = in_time && !contention.higher(at).any(|higher| waits[higher].unbounded);
        ClaimedBound { claimed: task.from_arrival, claimed_to_fit, terms: task.terms }
    };
    Claims::Unsound(bounds.tasks.iter().enumerate().map(claim).collect())
}
