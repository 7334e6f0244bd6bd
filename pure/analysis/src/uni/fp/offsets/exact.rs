// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response time of an activity with offsets: all combinations of candidates.
//!
//! ```text
//! Equation    w = B + q·C + Σ_i W_iν(i)(w),  W_ik(t) = Σ_{j∈hp_i} (⌊(J_j + φ_jk)/T_i⌋ + ⌈(t − φ_jk)/T_i⌉) · C_j
//!             R = max over ν and q of w − φ_ν − (p − 1)·T + O,  φ_jk = T_i − (O_k + J_k − O_j) mod T_i
//! Symbols     [ns] w window, ν which activity of each transaction starts it, hp_i the more urgent ones of transaction i
//! Assumes     A1 to A4 of [`super`]; A5 the phases between transactions are free; A6 jitters are independent
//! Verdict     exact if B is attained and no other activity is as urgent; else sufficient
//! Cost        the product of the candidates of all transactions, up to the caller's limit; each pseudo-polynomial
//! Source      [Tindell94b]; [Palencia98]
//! ```

use super::scenario::{Table, solve};
use super::{ActivityPosition, ActivityResponse, Transaction};
use crate::{Assumption, Overflow, Verdict, Why};

/// Bounds the response time of the activity `of`, if there are at most `limit` scenarios; else
/// [`Assumption::FewScenarios`]. Without blocking and equally urgent activities, a bound past the deadline means that
/// some run misses it.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn response(
    transactions: &[Transaction],
    of: ActivityPosition,
    limit: u64,
) -> Result<Verdict<ActivityResponse>, Overflow> {
    if let Some(refused) = super::refuses_offsets(transactions, of) {
        return Ok(refused);
    }
    let table = Table::of(transactions, of)?;
    let count = table.others.iter().try_fold(1u64, |n, c| n.checked_mul(c.len() as u64));
    if count.is_none_or(|count| count > limit) {
        return Ok(Verdict::NotApplicable(Assumption::FewScenarios));
    }
    let mut chosen = vec![0; table.others.len()];
    let mut steps = 0;
    let mut worst: Option<ActivityResponse> = None;
    loop {
        let found = table.worst(&mut steps, |own, fixed, from, steps| {
            solve(from, steps, |t| {
                let mut sum = fixed.checked_add(own.demand(t)?).ok_or(Overflow)?;
                for (candidates, &at) in table.others.iter().zip(&chosen) {
                    sum = sum.checked_add(candidates[at].demand(t)?).ok_or(Overflow)?;
                }
                Ok(sum)
            })
        })?;
        match found {
            Verdict::Schedulable(r) => {
                let most = worst.map_or(r.from_event, |w| w.from_event.max(r.from_event));
                worst = Some(ActivityResponse { from_event: most, steps });
            }
            Verdict::NotShown(Why::Passes(late)) => {
                let own = &transactions[of.transaction].activities[of.activity];
                // The equation counts later jobs of equals, which no run needs to run first.
                let as_urgent = |a: &&super::Activity| a.priority == own.priority;
                let equals = transactions.iter().flat_map(|t| &t.activities).filter(as_urgent).count();
                return Ok(if own.blocking.is_zero() && equals == 1 {
                    Verdict::Unschedulable(late)
                } else {
                    Verdict::NotShown(Why::Passes(late))
                });
            }
            other => return Ok(other),
        }
        // The next combination: a counter with a digit per transaction.
        let more = chosen.iter_mut().zip(&table.others).any(|(at, candidates)| {
            *at += 1;
            let fits = *at < candidates.len();
            if !fits {
                *at = 0;
            }
            fits
        });
        if !more {
            return worst.map(Verdict::Schedulable).ok_or(Overflow);
        }
    }
}
