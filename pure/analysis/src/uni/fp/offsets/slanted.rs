// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response time of an activity with offsets: the worst candidate of each transaction, counted as it runs.
//!
//! ```text
//! Equation    w = B + q·C + Σ_i I_i,  I_i = max_k I_ik(w − I_i) (of the own transaction, the candidate c only)
//!             I_ik(x) = y − x for the least y with y = x + W_ik(y);  W, φ and R as in [`super::exact`]
//! Symbols     [ns] I_ik(x) by how much transaction i delays x of other work, in a window that its activity k starts
//! Assumes     A1 to A4 of [`super`]
//! Verdict     sufficient; never above [`super::approximate`]
//! Cost        as [`super::approximate`], with an equation solved in each step
//! Source      [MakiTurja04], [MakiTurja08]: interference as imposed, a staircase with slants
//! ```
//!
//! W jumps by C when a job comes, though none of that job has run at that instant. If another transaction's window
//! ends within the jump, W counts the whole job there. I counts by how much the rest of the window is delayed: that
//! is how far the work of the others, w − I, is stretched.

use super::scenario::{Candidate, Table, solve};
use super::{ActivityPosition, ActivityResponse, Transaction};
use crate::{Overflow, Verdict};

/// Bounds the response time of the activity `of`.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn response(
    transactions: &[Transaction],
    of: ActivityPosition,
) -> Result<Verdict<ActivityResponse>, Overflow> {
    if let Some(refused) = super::refuses_offsets(transactions, of) {
        return Ok(refused);
    }
    let table = Table::of(transactions, of)?;
    // The imposed interference: of the own transaction first, then of each other one.
    let mut imposed = vec![0u64; table.others.len() + 1];
    table.worst(&mut 0, |own, fixed, _, steps| {
        imposed.fill(0);
        let mut sum = fixed;
        loop {
            let before = sum;
            // All of these only grow, so each may use the new values of those before it.
            let rest = sum - imposed[0];
            let Some(delay) = delays(own, rest, steps)? else { return Ok(None) };
            sum = rest.checked_add(delay).ok_or(Overflow)?;
            imposed[0] = delay;
            for (at, candidates) in table.others.iter().enumerate() {
                let rest = sum - imposed[at + 1];
                let mut most = 0;
                for k in candidates {
                    let Some(delay) = delays(k, rest, steps)? else { return Ok(None) };
                    most = most.max(delay);
                }
                sum = rest.checked_add(most).ok_or(Overflow)?;
                imposed[at + 1] = most;
            }
            if sum == before {
                return Ok(Some(sum));
            }
        }
    })
}

/// I_ik(x).
fn delays(candidate: &Candidate, x: u64, steps: &mut u32) -> Result<Option<u64>, Overflow> {
    let end = solve(x, steps, |t| x.checked_add(candidate.demand(t)?).ok_or(Overflow))?;
    Ok(end.map(|end| end - x))
}
