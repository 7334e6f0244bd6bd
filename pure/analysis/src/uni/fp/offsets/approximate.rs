// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response time of an activity with offsets: the worst candidate of each transaction at every instant.
//!
//! ```text
//! Equation    w = B + q·C + W_ac(w) + Σ_{i≠a} max_k W_ik(w),  W, φ and R as in [`super::exact`]
//! Symbols     [ns] a the activity's own transaction, c the candidate in it, k candidates of another
//! Assumes     A1 to A4 of [`super`]
//! Verdict     sufficient: the worst candidate of one instant need not be that of another
//! Cost        candidates of the own transaction · activities², pseudo-polynomial
//! Source      [Tindell94b]; [Palencia98]
//! ```

use super::scenario::{Table, solve};
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
    table.worst(&mut 0, |own, fixed, from, steps| {
        solve(from, steps, |t| {
            let mut sum = fixed.checked_add(own.demand(t)?).ok_or(Overflow)?;
            for candidates in &table.others {
                let most = candidates.iter().try_fold(0, |most, k| Ok(k.demand(t)?.max(most)))?;
                sum = sum.checked_add(most).ok_or(Overflow)?;
            }
            Ok(sum)
        })
    })
}
