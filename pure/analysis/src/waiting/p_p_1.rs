// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! P/P/1: periodic producers of one value per job, one periodic consumer of one value per job.
//!
//! ```text
//! Equation    values ≤ 2 n + 1;  wait < 2 n T_c + R_c ≤ (2 n + 1) T_c, from the send to the take
//!             printed, for harmonic periods   values 2 n, wait 2 n T_c: unsound
//! Flow        Σ_p 1 / T_p ≤ 1 / T_c, else there is no bound
//! Symbols     [ns] n producers; T_p their periods; T_c the consumer's, R_c its response time from arrival
//! Assumes     A1 T > 0   A2 R ≤ T for all   A3 a job sends after its arrival, not at the same instant
//!             A4 the buffer is empty at the start, and the consumer has started when the first value comes
//! Verdict     sufficient; 2 n + 1 is attained for n = 1, 2, 3
//! Cost        one pass
//! Source      [Legrand03], as in Cheddar; the proof here is own, and needs no harmonic periods
//! ```
//!
//! **Why.** Let u be the last send that found the buffer empty, and take an instant Δ after it. By A2 and A3 a
//! producer has sent at most ⌊(Δ + T_p − ε) / T_p⌋ + 1 < Δ / T_p + 2 values in between, both ends included. Each of
//! the consumer's jobs that arrived after u, and R_c or more before the end, has taken one: more than Δ / T_c − 2 of
//! them. So fewer than Σ (Δ / T_p + 2) − Δ / T_c + 2 ≤ 2 n + 2 values wait. The value sent at Δ is at most number
//! N < Δ / T_c + 2 n, and the N-th of the consumer's jobs that arrive after u takes it, by u + N T_c + R_c.
//!
//! **Harmonic periods** do not help: one producer and a consumer of equal periods need 3 places if the producer is
//! late once and the consumer early once, as a test shows by running. The 2 n in use assumes more about when jobs
//! run.

use taut_time::Duration;

use crate::wide::{duration, ns};
use crate::{Assumption, Overflow, Verdict, Why};

/// A task at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTask {
    /// T.
    pub period: Duration,
    /// R: from arrival to completion.
    pub response: Duration,
}

/// How many values can wait, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitBound {
    /// The most values that wait: a buffer of that capacity is never full at a send.
    pub values: u64,
    /// From a send to the take.
    pub wait: Duration,
}

/// The bound, if the flow condition holds.
///
/// # Errors
/// [`Overflow`].
pub fn bound(producers: &[FlowTask], consumer: &FlowTask) -> Result<Verdict<WaitBound>, Overflow> {
    if let Some(refused) = refusal(producers, consumer)? {
        return Ok(refused);
    }
    let twice = twice(producers)?;
    let values = if producers.is_empty() { 0 } else { twice.checked_add(1).ok_or(Overflow)? };
    let periods = ns(consumer.period).checked_mul(twice.into()).ok_or(Overflow)?;
    let wait = duration(periods.checked_add(ns(consumer.response)).ok_or(Overflow)?)?;
    Ok(Verdict::Schedulable(WaitBound { values, wait }))
}

/// The printed bound: 2 n and 2 n T_c for harmonic periods, else 2 n + 1 and (2 n + 1) T_c. Unsound in the first
/// case, kept for comparison.
///
/// # Errors
/// [`Overflow`].
pub fn printed(producers: &[FlowTask], consumer: &FlowTask) -> Result<Verdict<WaitBound>, Overflow> {
    if let Some(refused) = refusal(producers, consumer)? {
        return Ok(refused);
    }
    let mut periods: Vec<u64> = producers.iter().chain([consumer]).map(|task| task.period.as_ns()).collect();
    periods.sort_unstable();
    let harmonic = periods.windows(2).all(|pair| pair[1].is_multiple_of(pair[0]));
    let values = twice(producers)?.checked_add(u64::from(!harmonic)).ok_or(Overflow)?;
    let wait = consumer.period.checked_mul(values).ok_or(Overflow)?;
    Ok(Verdict::Schedulable(WaitBound { values, wait }))
}

fn twice(producers: &[FlowTask]) -> Result<u64, Overflow> {
    u64::try_from(producers.len()).ok().and_then(|n| n.checked_mul(2)).ok_or(Overflow)
}

fn refusal(producers: &[FlowTask], consumer: &FlowTask) -> Result<Option<Verdict<WaitBound>>, Overflow> {
    for task in producers.iter().chain([consumer]) {
        if task.period.is_zero() {
            return Ok(Some(Verdict::NotApplicable(Assumption::PositivePeriod)));
        }
        if task.response > task.period {
            return Ok(Some(Verdict::NotApplicable(Assumption::OneJobAtATime)));
        }
    }
    Ok((!flow_holds(producers, consumer)?).then_some(Verdict::NotShown(Why::Rate)))
}

/// Σ 1 / T_p ≤ 1 / T_c, exactly: sums T_c / T_p in units of 2⁻⁶³, rounded down and rounded up, and uses fractions
/// where neither sum decides.
fn flow_holds(producers: &[FlowTask], consumer: &FlowTask) -> Result<bool, Overflow> {
    let rate = |producer: &FlowTask| (ns(consumer.period), ns(producer.period));
    let (mut low, mut high) = (0_u128, 0_u128);
    for (above, below) in producers.iter().map(rate) {
        if above > below {
            return Ok(false);
        }
        low += (above << 63) / below;
        high += (above << 63).div_ceil(below);
    }
    if high <= 1 << 63 {
        return Ok(true);
    }
    if low > 1 << 63 {
        return Ok(false);
    }
    // Too close to 1 for that: by fractions, as far as they fit.
    let mut sum = (0_u128, 1_u128);
    for (above, below) in producers.iter().map(rate) {
        let by = crate::wide::greatest_common_divisor(sum.1, below).max(1);
        let below_both = (sum.1 / by).checked_mul(below).ok_or(Overflow)?;
        let left = sum.0.checked_mul(below / by).ok_or(Overflow)?;
        let right = above.checked_mul(sum.1 / by).ok_or(Overflow)?;
        let added = left.checked_add(right).ok_or(Overflow)?;
        let by = crate::wide::greatest_common_divisor(added, below_both).max(1);
        sum = (added / by, below_both / by);
    }
    Ok(sum.0 <= sum.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(period: u64) -> FlowTask {
        FlowTask { period: Duration::from_ns(period), response: Duration::from_ns(period) }
    }

    /// The most values that wait, and the longest wait. Producers' jobs that arrive before `late` send as late as
    /// they may, at the end of their period; later jobs send a tick after their arrival. The consumer's jobs that
    /// arrive before `early` take at their arrival, before what is sent then; later jobs take at the end of their
    /// period, after what is sent then.
    fn run(producers: &[(u64, u64)], consumer: (u64, u64), late: u64, early: u64, end: u64) -> (u64, u64) {
        // Time, and order at that time: take, send, late take.
        let mut events: Vec<(u64, u8)> = Vec::new();
        for &(period, offset) in producers {
            let sends = (0..).map(|job| offset + job * period).take_while(|&arrival| arrival < end);
            events.extend(sends.map(|a| if a < late { (a + period, 1) } else { (a + 1, 1) }));
        }
        let takes = (0..).map(|job| consumer.1 + job * consumer.0).take_while(|&arrival| arrival < end);
        events.extend(takes.map(|a| if a < early { (a, 0) } else { (a + consumer.0, 2) }));
        events.sort_unstable();
        let mut waiting = std::collections::VecDeque::new();
        let mut seen = (0, 0);
        for (at, kind) in events {
            if kind == 1 {
                waiting.push_back(at);
                seen.0 = seen.0.max(waiting.len() as u64);
            } else if let Some(sent) = waiting.pop_front() {
                seen.1 = seen.1.max(at - sent);
            }
        }
        seen
    }

    #[test]
    fn runs_need_as_much_and_no_more() {
        let mut attained = [0; 4];
        let sets: [(&[u64], u64); 9] = [
            (&[4], 4),
            (&[5], 4),
            (&[9], 3),
            (&[8, 8], 4),
            (&[5, 7], 2),
            (&[6, 12], 4),
            (&[6, 6, 6], 2),
            (&[5, 7, 9], 2),
            (&[8, 4, 8], 2),
        ];
        for (periods, period) in sets {
            let producers: Vec<_> = periods.iter().map(|&period| task(period)).collect();
            let consumer = task(period);
            let found = *bound(&producers, &consumer).expect("small").bound().expect("the flow fits");
            let end = 60;
            let mut seen = (0, 0);
            let offsets: u64 = periods.iter().product();
            for offset in 0..offsets {
                let mut rest = offset;
                let at = |&period: &u64| {
                    let own = rest % period;
                    rest /= period;
                    (period, own)
                };
                let with: Vec<_> = periods.iter().map(at).collect();
                for own in 0..period {
                    for late in [0_u64, 17, 18, 19, 20, 21, 22, 23, 24] {
                        for early in late.saturating_sub(4)..late + 9 {
                            let one = run(&with, (period, own), late, early, end);
                            seen = (seen.0.max(one.0), seen.1.max(one.1));
                        }
                    }
                }
            }
            assert!(seen.0 <= found.values, "{periods:?} {period}: {seen:?} {found:?}");
            assert!(seen.1 <= found.wait.as_ns(), "{periods:?} {period}: {seen:?} {found:?}");
            attained[periods.len()] += u32::from(seen.0 == found.values);
        }
        assert!(attained[1..].iter().all(|&times| times > 0), "{attained:?}");
    }

    /// Equal periods are harmonic: the printed bound is 2 places, and a run fills 3.
    #[test]
    fn printed_harmonic_is_exceeded() {
        let (producer, consumer) = (task(8), task(8));
        let is = printed(&[producer], &consumer).expect("small");
        assert_eq!(is, Verdict::Schedulable(WaitBound { values: 2, wait: Duration::from_ns(16) }));
        let worst = (0..8)
            .map(|own| run(&[(8, 0)], (8, own), 16, 24, 60))
            .fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)));
        assert_eq!(worst.0, 3);
        assert!(worst.1 > 16, "{worst:?}");
        let right = bound(&[producer], &consumer).expect("small");
        assert_eq!(right, Verdict::Schedulable(WaitBound { values: 3, wait: Duration::from_ns(24) }));
        // Not harmonic: the printed bound is 2 n + 1 as well.
        let is = printed(&[task(9)], &consumer).expect("small");
        assert_eq!(is.bound().map(|bound| bound.values), Some(3));
    }

    #[test]
    fn flow_condition_is_exact() {
        let all = |periods: &[u64], consumer: u64| {
            let producers: Vec<_> = periods.iter().map(|&period| task(period)).collect();
            bound(&producers, &task(consumer))
        };
        assert!(all(&[3, 3, 3], 1).expect("small").holds());
        assert!(all(&[2, 3, 6], 1).expect("small").holds());
        assert_eq!(all(&[2, 3, 6, u64::MAX], 1), Ok(Verdict::NotShown(Why::Rate)));
        assert_eq!(all(&[2, 3, 5], 1), Ok(Verdict::NotShown(Why::Rate)));
        assert!(all(&[2, 3, 7], 1).expect("small").holds());
        assert_eq!(all(&[7], 8), Ok(Verdict::NotShown(Why::Rate)));
        assert_eq!(all(&[], 8).map(|is| is.bound().map(|b| b.values)), Ok(Some(0)));
    }

    #[test]
    fn extremes() {
        let zero = FlowTask { period: Duration::ZERO, response: Duration::ZERO };
        assert_eq!(bound(&[zero], &task(1)), Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
        let slow = FlowTask { response: Duration::from_ns(9), ..task(8) };
        assert_eq!(bound(&[slow], &task(1)), Ok(Verdict::NotApplicable(Assumption::OneJobAtATime)));
        assert_eq!(bound(&[task(u64::MAX)], &task(u64::MAX)), Err(Overflow));
        assert_eq!(printed(&[task(u64::MAX)], &task(u64::MAX)), Err(Overflow));
    }
}
