// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The phases of a delivery, as printed, and the busy window that they stand for.
//!
//! ```text
//! Equation    S_i^j = Σ_{l=0}^{i} (h_l^j + deq(T_l^j))                                              (3.1)
//!             phase_0 = Σ_{p>j} S_last^p + S_i^j                                                    (3.2)
//!             phase_n = Σ_{p≥j} Σ_{i=0}^{phase_{n−1} · R_p} (h_i^p + deq(i) + enq(i))               (3.3)
//!             WCET = phase_0 + phase_1 + .. + phase_n, until phase_n < the time unit of R_p         (3.4)
//!             well defined if phase_n < phase_{n−1}, and WCET < the deadline
//!             busy window   w = F + Σ_k ⌈w / G_k⌉ · c_k
//! Symbols     [ns] j the level (priority) of what is delivered, i how many of its level are in front of it;
//!             h handling, deq taking out, enq putting in; R_p arrivals per time at level p, here G_p = 1 / R_p, the least
//!             time between two; F what is there at the start, G_k and c_k how often what comes later, and its cost
//! Assumes     A1 one core, on which nothing else runs that is as urgent   A2 costs of a level are their largest
//!             A3 arrivals of a level are G_p or more apart   A4 sums are read as they stand: from 0 to the whole part of
//!             phase · R_p, so that one more is counted than R_p says
//! Verdict     phases: unsound; busy window: see the files that use it
//! Cost        phases shrink, or the search ends; the window grows to the deadline; both limited by steps. A step of the
//!             window goes to where all that is frequent is served, so that only rare arrivals cost steps: 1 ns beside
//!             1 h takes tens
//! Source      [Yan18, section 3.5.3, equations 3.1 to 3.4]
//! ```
//!
//! **What is wrong with the phases.** They stop when a phase is shorter than the time between two arrivals, and what
//! arrives in that last phase is left out, although it delays the message as well. Because of A4 there is some slack,
//! one arrival per phase and level, and it is not enough: [`super::message`] has an example, run tick by tick.
//! For the same slack a phase is never shorter than one message of each level, so that the condition of convergence
//! refuses much that does converge. Both are gone in the busy window, where arrivals of all phases are counted at once.

use taut_time::Duration;

use crate::wide::{count, duration, ns};
use crate::{Assumption, Overflow, Verdict, Why};

/// Iterations, and phases, after which the search is given up.
pub const STEPS_MAX: u32 = 1_000_000;

/// A priority level, with the largest costs of what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// p: larger is more urgent.
    pub priority: u32,
    /// Deliveries of it that are there at the start; not looked at for the level of what is delivered.
    pub waiting: u64,
    /// G_p: the least time between two that come later; none if no more come.
    pub gap: Option<Duration>,
    /// h.
    pub handle: Duration,
    /// deq.
    pub take_out: Duration,
    /// enq.
    pub put_in: Duration,
}

/// What is delivered: behind `ahead` others (i) of the level at `level` in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its level: a position in the list.
    pub level: usize,
    /// i: others of its level in front of it.
    pub ahead: u64,
    /// From its arrival in the queue to the end of its handling, at most.
    pub deadline: Duration,
}

/// The phases of a delivery as printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phases {
    /// phase_0, phase_1, ..
    pub phases: Vec<Duration>,
    /// Their sum.
    pub total: Duration,
}

/// A busy window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// w: from the arrival to the end of the handling.
    pub total: Duration,
    /// F: of it, what was there at the start.
    pub at_start: Duration,
    /// Steps of the iteration.
    pub steps: u32,
}

/// Something that comes again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recurring {
    pub(super) gap: Duration,
    pub(super) cost: u128,
}

impl Level {
    /// h + deq.
    pub(super) fn served(&self) -> u128 {
        ns(self.handle) + ns(self.take_out)
    }

    /// S_last: all that is there at the start.
    pub(super) fn stock(&self) -> Result<u128, Overflow> {
        self.served().checked_mul(self.waiting.into()).ok_or(Overflow)
    }
}

/// Whether a level goes before the subject's: it is more urgent, or as urgent and another.
pub(super) fn is_above(levels: &[Level], subject: &Subject, level: usize) -> bool {
    level != subject.level && levels[level].priority >= levels[subject.level].priority
}

/// S_i^j and Σ_{p>j} S_last^p: what is there at the start, and is handled before the subject or is it.
pub(super) fn stock(levels: &[Level], subject: &Subject) -> Result<u128, Overflow> {
    let own = &levels[subject.level];
    let mut sum = own.served().checked_mul(u128::from(subject.ahead) + 1).ok_or(Overflow)?;
    for (_, level) in levels.iter().enumerate().filter(|&(i, _)| is_above(levels, subject, i)) {
        sum = sum.checked_add(level.stock()?).ok_or(Overflow)?;
    }
    Ok(sum)
}

/// What the input must have; none if it has it.
pub(super) fn broken(levels: &[Level], subject: &Subject) -> Option<Assumption> {
    if levels.iter().any(|level| level.gap.is_some_and(Duration::is_zero)) {
        return Some(Assumption::PositivePeriod);
    }
    (subject.level >= levels.len()).then_some(Assumption::Listed)
}

/// The sum of phases from a phase 0: unsound, as the file says.
pub(super) fn printed(
    phase_0: u128,
    levels: &[Level],
    subject: &Subject,
) -> Result<Verdict<Phases>, Overflow> {
    let lowest = levels[subject.level].priority;
    let urgent = |level: &&Level| level.priority >= lowest;
    let unit = levels.iter().filter(urgent).filter_map(|level| level.gap).min();
    let mut found = Phases { phases: vec![duration(phase_0)?], total: duration(phase_0)? };
    let mut phase = found.total;
    for _ in 0..STEPS_MAX {
        if found.total > subject.deadline {
            return Ok(Verdict::NotShown(Why::Passes(found)));
        }
        if unit.is_none_or(|unit| phase < unit) {
            return Ok(Verdict::Schedulable(found));
        }
        let mut next = 0_u128;
        for level in levels.iter().filter(urgent) {
            if let Some(gap) = level.gap {
                let arrived = ns(phase) / ns(gap) + 1;
                let time = arrived.checked_mul(level.served() + ns(level.put_in)).ok_or(Overflow)?;
                next = next.checked_add(time).ok_or(Overflow)?;
            }
        }
        let next = duration(next)?;
        if next >= phase {
            return Ok(Verdict::NotShown(Why::Rate));
        }
        phase = next;
        found.total = found.total.checked_add(phase).ok_or(Overflow)?;
        found.phases.push(phase);
    }
    Ok(Verdict::NotShown(Why::Steps(STEPS_MAX)))
}

/// The least w = at_start + Σ ⌈w / gap⌉ · cost, if it is within the deadline.
pub(super) fn window(
    at_start: u128,
    recurring: &[Recurring],
    deadline: Duration,
) -> Result<Verdict<Window>, Overflow> {
    let answer = |w: u128, steps: u32| -> Result<Window, Overflow> {
        Ok(Window { total: duration(w)?, at_start: duration(at_start.min(w))?, steps })
    };
    // Costs that fit are what `ahead` needs.
    asked(at_start, recurring, at_start)?;
    // At a distance only rates count.
    let mut w = at_start.max(ahead(at_start, recurring, 0, u128::MAX)).min(ns(deadline) + 1);
    for steps in 1..=STEPS_MAX {
        let next = asked(at_start, recurring, w)?;
        if next == w && w <= ns(deadline) {
            return Ok(Verdict::Schedulable(answer(w, steps)?));
        }
        // Not before `next`, and not before the rates that are in force there allow.
        w = if next > ns(deadline) { next } else { ahead(at_start, recurring, w, next).max(next) };
        if w > ns(deadline) {
            // No w up to the deadline is long enough: it asks for more than itself, and the truth is no less.
            let late = asked(at_start, recurring, ns(deadline))?;
            return Ok(Verdict::NotShown(Why::Passes(answer(late, steps)?)));
        }
    }
    Ok(Verdict::NotShown(Why::Steps(STEPS_MAX)))
}

/// at_start + Σ ⌈w / gap⌉ · cost; a window is longer than nothing.
fn asked(at_start: u128, recurring: &[Recurring], w: u128) -> Result<u128, Overflow> {
    let sum = recurring.iter().try_fold(at_start, |sum, one| {
        let jobs = w.div_ceil(ns(one.gap)).max(1);
        jobs.checked_mul(one.cost).and_then(|time| sum.checked_add(time))
    });
    let sum = sum.ok_or(Overflow)?;
    count(sum)?;
    Ok(sum)
}

/// A time before which no solution lies, if none lies before `next`: each term is at least what it is in `w`, and at
/// least cost / gap of the window. As a function of the window that is convex, and above its tangent at `next`, so that
/// it is solved no sooner than the tangent. 2⁶⁴, past all deadlines, if that never is.
fn ahead(at_start: u128, recurring: &[Recurring], w: u128, next: u128) -> u128 {
    // Of the tangent: its height at 0, and its slope in units of 2⁻⁶⁴, rounded down. All costs and sums are below 2⁶⁴,
    // since `next` is.
    let (mut height, mut slope) = (at_start, 0u128);
    for one in recurring {
        let gap = ns(one.gap);
        let jobs = w.div_ceil(gap).max(1);
        if jobs * gap < next {
            slope = slope.saturating_add((one.cost << 64) / gap);
        } else {
            height += jobs * one.cost;
        }
    }
    if height == 0 {
        return 0;
    }
    match (1u128 << 64).checked_sub(slope) {
        Some(rest) if rest > 0 => (height << 64) / rest,
        _ => 1 << 64,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One value after the other.
    fn plain(at_start: u128, recurring: &[Recurring], deadline: u128) -> Option<u128> {
        let mut w = at_start;
        loop {
            let next = asked(at_start, recurring, w).expect("small");
            if next > deadline {
                return None;
            }
            if next == w {
                return Some(w);
            }
            w = next;
        }
    }

    fn recurring(list: &[(u64, u64)]) -> Vec<Recurring> {
        list.iter().map(|&(gap, cost)| Recurring { gap: Duration::from_ns(gap), cost: cost.into() }).collect()
    }

    proptest! {
        #[test]
        fn the_same_as_one_value_after_the_other(
            at_start in 0..200_u128,
            list in prop::collection::vec((1..60_u64, 0..25_u64), 0..5),
            deadline in 0..4_000_u64,
        ) {
            let list = recurring(&list);
            let found = window(at_start, &list, Duration::from_ns(deadline)).expect("small");
            let total = |window: &Window| u128::from(window.total.as_ns());
            match (&found, plain(at_start, &list, deadline.into())) {
                (Verdict::Schedulable(found), Some(w)) => prop_assert_eq!(total(found), w),
                (Verdict::NotShown(Why::Passes(late)), None) => {
                    prop_assert!(late.total.as_ns() > deadline);
                    // No more than the truth, if there is one.
                    if let Some(w) = plain(at_start, &list, 1_000_000) {
                        prop_assert!(total(late) <= w);
                    }
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    /// 1 ns every 2 ns, and nearly all of the rest in pieces of most of an hour; and a stream that leaves a millionth.
    #[test]
    fn one_nanosecond_beside_an_hour() {
        const HOUR: u64 = 3_600_000_000_000;
        let shown = |at_start: u64, list: &[(u64, u64)]| {
            let found = window(at_start.into(), &recurring(list), Duration::MAX).expect("it fits");
            let Verdict::Schedulable(found) = found else { panic!("{found:?}") };
            assert!(found.steps < 1_000, "{}", found.steps);
            found.total.as_ns()
        };
        // 1 h + 0.49 h · 99 + ⌈w / 2⌉ ns, and the last piece has come.
        let w = shown(HOUR, &[(2, 1), (HOUR, HOUR / 100 * 49)]);
        assert_eq!(w, HOUR + w.div_ceil(2) + HOUR / 100 * 49 * w.div_ceil(HOUR));
        assert!(w / HOUR >= 98, "{w}");
        let w = shown(HOUR, &[(1_000_000, 999_999)]);
        assert_eq!(w, HOUR * 1_000_000);
        // As much comes as is served.
        let full = window(1, &recurring(&[(2, 1), (HOUR, HOUR / 2)]), Duration::MAX);
        assert!(matches!(full, Ok(Verdict::NotShown(Why::Passes(_))) | Err(Overflow)), "{full:?}");
    }
}
