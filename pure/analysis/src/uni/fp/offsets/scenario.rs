// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The work in a busy window that starts with a given activity of each transaction \[Palencia98\].
//!
//! If activity k is released at the start, J_k late, activity j of the same transaction comes at
//! φ_jk = T − (O_k + J_k − O_j) mod T and every T from there. Its earlier jobs that jitter can hold back until the
//! start, ⌊(J_j + φ_jk)/T⌋ of them, come at the start.

use taut_time::Duration;

use super::{ActivityPosition, ActivityResponse, Transaction};
use crate::uni::fp::preemptive::STEPS_MAX;
use crate::uni::fp::window;
use crate::{Overflow, Verdict, Why};

/// An activity in a window.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// φ: when the first job comes that jitter did not hold back; 1 to T.
    phase: u64,
    /// How many jobs come at the start.
    held: u64,
    period: u64,
    cost: u64,
}

impl Stream {
    /// The stream of activity j in a window that starts with k.
    fn of(transaction: &Transaction, j: usize, k: usize) -> Result<Self, Overflow> {
        let period = u128::from(transaction.period.as_ns());
        let (j, k) = (&transaction.activities[j], &transaction.activities[k]);
        let released = u128::from(k.offset.as_ns()) + u128::from(k.jitter.as_ns());
        let ahead = (released + period - u128::from(j.offset.as_ns()) % period) % period;
        let phase = period - ahead;
        let held = (u128::from(j.jitter.as_ns()) + phase) / period;
        Ok(Self {
            phase: u64::try_from(phase).map_err(|_| Overflow)?,
            held: u64::try_from(held).map_err(|_| Overflow)?,
            period: transaction.period.as_ns(),
            cost: j.cost.as_ns(),
        })
    }

    /// How many jobs come in a window of length t.
    fn jobs(&self, t: u64) -> Result<u64, Overflow> {
        self.held.checked_add(t.saturating_sub(self.phase).div_ceil(self.period)).ok_or(Overflow)
    }
}

/// The work of a transaction in a window that starts with one of its activities.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    streams: Vec<Stream>,
}

impl Candidate {
    /// The work in a window of length t.
    pub(super) fn demand(&self, t: u64) -> Result<u64, Overflow> {
        self.streams.iter().try_fold(0u64, |sum, stream| {
            let time = stream.jobs(t)?.checked_mul(stream.cost).ok_or(Overflow)?;
            sum.checked_add(time).ok_or(Overflow)
        })
    }
}

/// The activity under analysis, with all that can interfere.
pub(super) struct Table {
    own: Vec<(Stream, Candidate)>,
    /// The candidates of each other transaction that interferes, at least one each.
    pub(super) others: Vec<Vec<Candidate>>,
    cost: u64,
    offset: u64,
    blocking: u64,
    deadline: Duration,
    /// The number of jobs after which R repeats or falls, with U ≤ 1: a common multiple of all periods, divided by
    /// the own period; as in [`super::super::arbitrary`].
    most: Option<u64>,
}

impl Table {
    pub(super) fn of(transactions: &[Transaction], of: ActivityPosition) -> Result<Self, Overflow> {
        let ActivityPosition { transaction: a, activity: b } = of;
        let own = &transactions[a].activities[b];
        let counts =
            |i: usize, j: usize| transactions[i].activities[j].priority >= own.priority && (i, j) != (a, b);
        let candidate = |i: usize, k: usize| {
            let these = (0..transactions[i].activities.len()).filter(|&j| counts(i, j));
            let streams = these.map(|j| Stream::of(&transactions[i], j, k)).collect::<Result<_, _>>()?;
            Ok(Candidate { streams })
        };
        let starts = |i: usize| {
            (0..transactions[i].activities.len()).filter(move |&k| counts(i, k) || (i, k) == (a, b))
        };
        let own_candidates = starts(a).map(|c| Ok((Stream::of(&transactions[a], b, c)?, candidate(a, c)?)));
        let others = (0..transactions.len()).filter(|&i| i != a);
        let others = others.map(|i| starts(i).map(|k| candidate(i, k)).collect::<Result<Vec<_>, _>>());
        let mut others = others.collect::<Result<Vec<_>, _>>()?;
        let period = transactions[a].period.as_ns();
        let with = transactions.iter().enumerate().filter(|&(i, _)| starts(i).next().is_some());
        let common = window::common_multiple(with.map(|(_, t)| t.period.as_ns()), period);
        others.retain(|candidates| !candidates.is_empty());
        Ok(Self {
            own: own_candidates.collect::<Result<_, _>>()?,
            others,
            cost: own.cost.as_ns(),
            offset: own.offset.as_ns(),
            blocking: own.blocking.as_ns(),
            deadline: own.deadline,
            most: common.map(|h| h / period),
        })
    }

    /// The largest R over all candidates of the activity's own transaction and all jobs of the window. `window` is
    /// given the own candidate, B + q·C, and a length to start from. It returns the length of the window; `None` past
    /// the step limit.
    pub(super) fn worst(
        &self,
        steps: &mut u32,
        mut window: impl FnMut(&Candidate, u64, u64, &mut u32) -> Result<Option<u64>, Overflow>,
    ) -> Result<Verdict<ActivityResponse>, Overflow> {
        let mut worst = 0;
        for (stream, candidate) in &self.own {
            let mut length = 0;
            let mut fixed = self.blocking;
            for q in 1u64.. {
                fixed = fixed.checked_add(self.cost).ok_or(Overflow)?;
                length = length.max(fixed);
                let Some(end) = window(candidate, fixed, length, steps)? else {
                    return Ok(Verdict::NotShown(Why::Steps(*steps)));
                };
                length = end;
                // Job q came `held` − q + 1 periods before the first job that jitter did not hold back.
                let period = u128::from(stream.period);
                let late = u128::from(end) + u128::from(self.offset) + u128::from(stream.held) * period;
                let event = u128::from(stream.phase) + u128::from(q - 1) * period;
                worst = worst.max(late.saturating_sub(event));
                if worst > u128::from(self.deadline.as_ns()) {
                    return Ok(Verdict::NotShown(Why::Passes(answer(worst, *steps)?)));
                }
                // The next job is in the window if it comes before the end.
                let next = u128::from(stream.phase) + u128::from(q.saturating_sub(stream.held)) * period;
                let ends = q >= stream.held && u128::from(end) <= next;
                if ends || self.most.is_some_and(|most| q >= most) {
                    break;
                }
                *steps += 1;
                if *steps >= STEPS_MAX {
                    return Ok(Verdict::NotShown(Why::Steps(*steps)));
                }
            }
        }
        Ok(Verdict::Schedulable(answer(worst, *steps)?))
    }
}

fn answer(worst: u128, steps: u32) -> Result<ActivityResponse, Overflow> {
    let ns = u64::try_from(worst).map_err(|_| Overflow)?;
    Ok(ActivityResponse { from_event: Duration::from_ns(ns), steps })
}

/// The least t ≥ `from` with t = `demand`(t); `None` past the step limit.
pub(super) fn solve(
    from: u64,
    steps: &mut u32,
    mut demand: impl FnMut(u64) -> Result<u64, Overflow>,
) -> Result<Option<u64>, Overflow> {
    let mut t = from;
    while *steps < STEPS_MAX {
        *steps += 1;
        let next = demand(t)?;
        if next <= t {
            return Ok(Some(t));
        }
        t = next;
    }
    Ok(None)
}
