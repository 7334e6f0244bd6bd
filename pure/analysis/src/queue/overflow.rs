// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! When a queue of given capacity overflows: whether it can, not before which time, and certainly by which time.
//!
//! ```text
//! Equation    suffices      the capacity of [`super`] is c or less
//!             not before    s_j for the first j with n (j + 1) − m · max(0, ⌈(s_j − R_r) / T_r⌉ − 1) > c
//!                           s_j = max(0, j · T_w − R_w), counted from the last send that found the queue empty
//!             certainly by  ⌈(T_w T_r (c + m (1 + ⌈R_r / T_r⌉)) + n T_r R_w) / (n T_r − m T_w)⌉, from the arrival of a
//!                           job of the writer, if n T_r > m T_w
//! Symbols     those of [`super`]; c capacity
//! Assumes     A1 to A4 of [`super`]   certainly by: A5 the writer is periodic and sends n values in every job
//! Verdict     suffices: sufficient. Not before: a lower bound. Certainly by: an upper bound
//! Cost        a pass over j, limited in steps: the time reached at the limit is a bound as well
//! Source      own, as [`super`]
//! ```
//!
//! **Not before.** This is the backlog of [`super`]: at a send j jobs after the send at u, at most n (j + 1) values
//! have been sent. It happens at u + s_j or later, and the readers that arrived early enough have taken their values.
//!
//! **Certainly by.** By t the writer has sent more than n (t − R_w) / T_w values. At most t / T_r + 1 + ⌈R_r / T_r⌉
//! reader's jobs have arrived by t or were under way before. If the difference were c or more with nothing lost, more
//! than c values would wait.

use taut_time::Duration;

use super::{Figures, SendingTask, TakingTask, capacity};
use crate::wide::duration;
use crate::{Assumption, Overflow, Verdict, Why};

/// Steps of the pass over j.
pub const STEPS_MAX: u32 = 1 << 16;

/// Whether a queue of `values` places is never full at a send; the bound is the capacity that it needs.
///
/// # Errors
/// [`Overflow`].
pub fn suffices(writer: &SendingTask, reader: &TakingTask, values: u64) -> Result<Verdict<u64>, Overflow> {
    Ok(match capacity(writer, reader)? {
        Verdict::Schedulable(needed) if needed > values => Verdict::NotShown(Why::Passes(needed)),
        other => other,
    })
}

/// A lower bound on the time from a send to the empty queue to a send that finds the queue full; none if no send ever
/// does.
///
/// # Errors
/// [`Overflow`].
pub fn not_before(
    writer: &SendingTask,
    reader: &TakingTask,
    values: u64,
) -> Result<Verdict<Option<Duration>>, Overflow> {
    match suffices(writer, reader, values)? {
        Verdict::Schedulable(_) => return Ok(Verdict::Schedulable(None)),
        Verdict::NotApplicable(assumption) => return Ok(Verdict::NotApplicable(assumption)),
        _ => {}
    }
    let q = Figures::of(writer, reader);
    let sent_at = |j: u128| (j * q.tw).saturating_sub(q.rw);
    let fits = |j: &u128| {
        let takes = sent_at(*j).saturating_sub(q.rr).div_ceil(q.tr).saturating_sub(1);
        (q.n * (j + 1)).saturating_sub(q.m * takes) <= u128::from(values)
    };
    let first = (0..u128::from(STEPS_MAX)).take_while(fits).count() as u128;
    match duration(sent_at(first)) {
        Ok(time) => Ok(Verdict::Schedulable(Some(time))),
        // That is later than any time.
        Err(Overflow) => Ok(Verdict::Schedulable(Some(Duration::MAX))),
    }
}

/// An upper bound on the time from an arrival of a periodic writer to a send that finds the queue full; not shown if
/// the rates allow that no send ever does.
///
/// # Errors
/// [`Overflow`].
pub fn certainly_by(
    writer: &SendingTask,
    reader: &TakingTask,
    values: u64,
) -> Result<Verdict<Duration>, Overflow> {
    if writer.period.is_zero() || reader.period.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if writer.sends == 0 || reader.takes == 0 {
        return Ok(Verdict::NotApplicable(Assumption::PositiveCount));
    }
    let q = Figures::of(writer, reader);
    let Some(surplus) = (q.n * q.tr).checked_sub(q.m * q.tw).filter(|surplus| *surplus > 0) else {
        return Ok(Verdict::NotShown(Why::Rate));
    };
    let carried = q.rr.div_ceil(q.tr) + 1;
    let most = u128::from(values) + q.m * carried;
    let sum = (q.tw * q.tr)
        .checked_mul(most)
        .and_then(|sum| sum.checked_add((q.n * q.tr).checked_mul(q.rw)?))
        .ok_or(Overflow)?;
    duration(sum.div_ceil(surplus)).map(Verdict::Schedulable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    fn ns(ns: u64) -> Duration {
        Duration::from_ns(ns)
    }

    /// When a send first finds `values` waiting: counted from the writer's first arrival, and from the last send that
    /// found the queue empty. Both ends are periodic; a job sends or takes all its values at once, anywhere within
    /// its response time.
    fn first_full(w: &SendingTask, r: &TakingTask, values: u64, draw: &mut Draw) -> Option<(u64, u64)> {
        let end = 1_500;
        let style = draw.pick(0, 3);
        let mut events: Vec<(u64, u8)> = Vec::new();
        let turn = draw.pick(0, 200);
        let mut add = |period: u64, offset: u64, response: u64, kind: u8, draw: &mut Draw| {
            let mut last = 0;
            for arrival in (0..end / period).map(|job| offset + job * period) {
                // Random, or the writer is late and then early while the reader is early and then late.
                let late = (arrival < turn) == (kind == 1);
                let within = match style {
                    0 => draw.pick(0, response),
                    _ if late => response,
                    _ => 0,
                };
                // Jobs of a task are in order.
                last = (arrival + within).max(last);
                events.push((last, kind));
            }
        };
        add(w.period.as_ns(), 0, w.response.as_ns(), 1, draw);
        let offset = draw.pick(0, r.period.as_ns() - 1);
        add(r.period.as_ns(), offset, r.response.as_ns(), if draw.pick(0, 1) == 0 { 0 } else { 2 }, draw);
        events.sort_unstable();
        let (mut waiting, mut since) = (0_u64, 0);
        for (at, kind) in events {
            if kind == 1 {
                for _ in 0..w.sends {
                    if waiting == 0 {
                        since = at;
                    }
                    if waiting == values {
                        return Some((at, at - since));
                    }
                    waiting += 1;
                }
            } else {
                waiting = waiting.saturating_sub(r.takes.into());
            }
        }
        None
    }

    #[test]
    fn runs_overflow_between_the_two() {
        let mut draw = Draw::new(99);
        let (mut full, mut certain, mut near) = (0, 0, 0);
        for _ in 0..200 {
            let (tw, tr) = (draw.pick(2, 12), draw.pick(2, 20));
            let w =
                SendingTask { period: ns(tw), response: ns(draw.pick(1, tw)), sends: draw.pick(1, 3) as u32 };
            let (takes, rr) = (draw.pick(1, 3) as u32, draw.pick(1, tr));
            let r = TakingTask { period: ns(tr), response: ns(rr), takes, triggered: false };
            let values = draw.pick(1, 9);
            let early = *not_before(&w, &r, values).expect("small").bound().expect("valid");
            let late = certainly_by(&w, &r, values).expect("small").bound().copied();
            assert_eq!(early.is_none(), suffices(&w, &r, values).expect("small").holds());
            let mut least = None;
            for _ in 0..30 {
                let seen = first_full(&w, &r, values, &mut draw);
                if let Some((_, since)) = seen {
                    let early = early.expect("it overflowed");
                    assert!(since >= early.as_ns(), "{w:?} {r:?} {values}: {since} < {early}");
                    least = Some(least.map_or(since, |least: u64| least.min(since)));
                }
                if let Some(late) = late.filter(|late| late.as_ns() < 1_200) {
                    let (at, _) = seen.expect("certain");
                    assert!(at <= late.as_ns(), "{w:?} {r:?} {values}: {at} > {late}");
                    certain += 1;
                }
            }
            full += u32::from(least.is_some());
            near += u32::from(least.zip(early).is_some_and(|(seen, early)| seen <= early.as_ns() + tw));
        }
        assert!(full > 80 && certain > 1_000 && near * 2 > full, "{full} {certain} {near}");
    }

    #[test]
    fn by_hand() {
        // One value every 10, one taken every 20: a place is lost every 20.
        let w = SendingTask { period: ns(10), response: ns(1), sends: 1 };
        let r = TakingTask { period: ns(20), response: ns(1), takes: 1, triggered: false };
        assert_eq!(suffices(&w, &r, 5), Ok(Verdict::NotShown(Why::Rate)));
        let early = not_before(&w, &r, 5).expect("small").bound().copied().flatten().expect("it overflows");
        let brute = (0_u64..).find(|j| {
            let at = (10 * j).saturating_sub(1);
            j + 1 - at.saturating_sub(1).div_ceil(20).saturating_sub(1) > 5
        });
        assert_eq!(early.as_ns(), 10 * brute.expect("it overflows") - 1);
        // (200 · 7 + 20) / 10
        assert_eq!(certainly_by(&w, &r, 5), Ok(Verdict::Schedulable(ns(142))));
        let slower = SendingTask { period: ns(20), ..w };
        assert_eq!(certainly_by(&slower, &r, 5), Ok(Verdict::NotShown(Why::Rate)));
        assert_eq!(not_before(&slower, &r, 5), Ok(Verdict::Schedulable(None)));
        assert_eq!(suffices(&slower, &r, 5), Ok(Verdict::Schedulable(2)));
        assert_eq!(suffices(&slower, &r, 1), Ok(Verdict::NotShown(Why::Passes(2))));
    }

    #[test]
    fn extremes() {
        let w = SendingTask { period: Duration::MAX, response: Duration::MAX, sends: u32::MAX };
        let r = TakingTask { period: Duration::MAX, response: Duration::MAX, takes: 1, triggered: false };
        assert_eq!(certainly_by(&w, &r, u64::MAX), Err(Overflow));
        assert!(not_before(&w, &r, u64::MAX).is_ok());
        let none = SendingTask { sends: 0, ..w };
        assert_eq!(certainly_by(&none, &r, 1), Ok(Verdict::NotApplicable(Assumption::PositiveCount)));
        assert_eq!(not_before(&none, &r, 1), Ok(Verdict::NotApplicable(Assumption::PositiveCount)));
        let zero = SendingTask { period: Duration::ZERO, ..w };
        assert_eq!(certainly_by(&zero, &r, 1), Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
    }
}
