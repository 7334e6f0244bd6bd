// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response time of an activity with offsets, as if all other activities had none.
//!
//! ```text
//! Equation    that of [`crate::uni::fp::arbitrary`] for w, with all activities that are more urgent;  R = O + J + w
//! Symbols     [ns] as there; O is the least time to the release, and J how much later it can be
//! Assumes     A1 to A3 of [`super`]
//! Verdict     sufficient
//! Cost        pseudo-polynomial
//! Source      [TindellClark94], with O taken out of the jitter
//! ```

use taut_model::ArrivalPattern;
use taut_time::Duration;

use super::{ActivityPosition, ActivityResponse, Transaction};
use crate::uni::fp::preemptive::FpTask;
use crate::uni::fp::window::{self, Question};
use crate::{Overflow, Verdict, Why};

/// Bounds the response time of the activity `of`.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn response(
    transactions: &[Transaction],
    of: ActivityPosition,
) -> Result<Verdict<ActivityResponse>, Overflow> {
    if let Some(refused) = super::refuses(transactions, of) {
        return Ok(refused);
    }
    let task = |(period, a): (Duration, &super::Activity)| FpTask {
        cost: a.cost,
        period,
        jitter: a.jitter,
        arrivals: ArrivalPattern::Driven,
    };
    let own = &transactions[of.transaction].activities[of.activity];
    let all = transactions
        .iter()
        .enumerate()
        .flat_map(|(i, t)| t.activities.iter().enumerate().map(move |(j, a)| (i, j, t.period, a)));
    let others =
        all.filter(|&(i, j, _, a)| a.priority >= own.priority && (i, j) != (of.transaction, of.activity));
    let higher: Vec<FpTask> = others.map(|(_, _, period, a)| task((period, a))).collect();
    let answer = |r: &window::WindowResponse| {
        let from_event = r.from_arrival.checked_add(own.offset).ok_or(Overflow)?;
        Ok(ActivityResponse { from_event, steps: r.steps })
    };
    let found = window::search(&Question {
        task: task((transactions[of.transaction].period, own)),
        deadline: own.deadline.saturating_sub(own.offset),
        blocking: own.blocking,
        last: 1,
        higher: &higher,
    })?;
    Ok(match found {
        // The window keeps what is left of the deadline, which is zero; the release alone is past it.
        Verdict::Schedulable(r) if own.offset > own.deadline => Verdict::NotShown(Why::Passes(answer(&r)?)),
        Verdict::Schedulable(r) => Verdict::Schedulable(answer(&r)?),
        Verdict::Unschedulable(r) | Verdict::NotShown(Why::Passes(r)) => {
            Verdict::NotShown(Why::Passes(answer(&r)?))
        }
        Verdict::NotShown(Why::Rate) => Verdict::NotShown(Why::Rate),
        Verdict::NotShown(Why::Steps(n)) => Verdict::NotShown(Why::Steps(n)),
        Verdict::NotApplicable(why) => Verdict::NotApplicable(why),
    })
}
