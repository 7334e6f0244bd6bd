// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Some global resources under MSRP, the others under MPCP, by the published equations. **Unsound**: for reproducing
//! published results, never for a proof.
//!
//! ```text
//! Equation    w_i = C_i + S_i + B_i + L_i + Σ_{h∈hp} ⌈(w_i + J_h + B_h) / T_h⌉ · (C_h + S_h);  R = w + J
//!             S: resources that are spun for, as in `msrp_gai01`
//!             B: the others, as in `mpcp_blocking` with every p = 0
//!             L_i: that of the others, and once the longest stretch that spins, as in `msrp_gai01`
//! Symbols     [ns] as in `mixed`
//! Assumes     as `mixed`
//! Verdict     unsound: research. As `mpcp_lnr09_paper`; in addition, a holder that suspends is not charged for
//!             stretches that spin on its core
//! Cost        pseudo-polynomial
//! Source      [Han14, equations 2 to 11]; how to combine the two sets of equations is not printed: ours
//! ```
//!
//! The result is no [`crate::Verdict`], so that no caller that needs a proof can take it for one.

use super::mpcp_lnr09_paper::{Claims, claimed};
use crate::Overflow;
use crate::multi::contention::BlockingTerm;
use crate::multi::fixed_point::{Basis, Charge, Deferral, State, solve};
use crate::multi::guarded::{Guard, GuardedSet};
use crate::multi::mpcp_blocking::{Suspension, waits_among};
use crate::multi::msrp_gai01::{span, spin};

/// What the published equations claim.
///
/// # Errors
/// [`Overflow`] if a claim, or the first value past a deadline, does not fit in 64 bits.
pub fn claims(set: &GuardedSet) -> Result<Claims, Overflow> {
    let contention = &set.contention;
    let spins = |at: usize| set.is(at, Guard::Spinning);
    let none = vec![BlockingTerm::default(); contention.tasks.len()];
    let waits = waits_among(contention, Suspension { suspends: &set.suspending(), spans: &none })?;
    let charge = |task: usize, _: &State| {
        let Charge { mut local, remote, .. } = waits[task].charge;
        let mut longest = BlockingTerm::default();
        for &lower in contention.lower(task) {
            longest = longest.larger(span(contention, lower, spins)?);
        }
        local.time = local.time.checked_add(longest.time).ok_or(Overflow)?;
        local.raise(longest.time, longest.peak.task, longest.peak.resource);
        Ok(Charge { spin: spin(contention, task, spins)?, local, remote, ..Charge::default() })
    };
    Ok(claimed(contention, &waits, solve(contention, Deferral::Blocking, Basis::Parameters, charge)?))
}
