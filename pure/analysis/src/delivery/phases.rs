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
//! Symbols     [ns] j the level (priority) of the subject, i how many of its level are in front of it; h handling,
//!             deq dequeueing, enq enqueueing; R_p arrivals per time at level p, here G_p = 1 / R_p, the least time
//!             between two; F work at the start, G_k and c_k the gap and the cost of what comes later
//! Assumes     A1 one core, on which nothing else runs that is as urgent   A2 costs of a level are their largest
//!             A3 arrivals of a level are G_p or more apart   A4 sums are taken literally: from 0 to the whole part of
//!             phase · R_p, so that they count one more than R_p says
//! Verdict     phases: unsound; busy window: see the files that use it
//! Cost        phases shrink, or the search ends; the window grows to the deadline; both limited by steps. A step of
//!             the window jumps to where all frequent streams are served, so that only rare arrivals cost steps: 1 ns
//!             beside 1 h takes tens
//! Source      [Yan18, section 3.5.3, equations 3.1 to 3.4]
//! ```
//!
//! **What is wrong with the phases.** They stop when a phase is shorter than the time between two arrivals, and leave
//! out what arrives in that last phase, although it delays the message as well. A4 gives some slack, one arrival per
//! phase and level, which is not enough: [`super::message`] has an example, run tick by tick. Because of the same
//! slack a phase is never shorter than one message of each level, so that the condition of convergence refuses much
//! that does converge. The busy window has neither fault: it counts the arrivals of all phases at once.

use taut_time::Duration;

pub(super) use crate::recurring::Recurring;
use crate::recurring::{self, Least};
use crate::wide::{duration, ns};
use crate::{Assumption, Overflow, Verdict, Why};

/// Iterations, and phases, after which the search gives up.
pub const STEPS_MAX: u32 = 1_000_000;

/// A priority level, with the largest costs of what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityLevel {
    /// p: larger is more urgent.
    pub priority: u32,
    /// Deliveries of it that wait at the start; ignored for the subject's own level.
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

/// What is delivered: behind `ahead` others (i) of its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliverySubject {
    /// Its level: a position in the list.
    pub level: usize,
    /// i: others of its level in front of it.
    pub ahead: u64,
    /// The longest allowed time from its arrival in the queue to the end of its handling.
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
pub struct DeliveryWindow {
    /// w: from the arrival to the end of the handling.
    pub total: Duration,
    /// F: the part of it that was there at the start.
    pub at_start: Duration,
    /// Steps of the iteration.
    pub steps: u32,
}

impl PriorityLevel {
    /// h + deq.
    pub(super) fn served(&self) -> u128 {
        ns(self.handle) + ns(self.take_out)
    }

    /// S_last: all work of the level that is there at the start.
    pub(super) fn stock(&self) -> Result<u128, Overflow> {
        self.served().checked_mul(self.waiting.into()).ok_or(Overflow)
    }
}

/// Whether a level goes before the subject's: another level that is at least as urgent.
pub(super) fn is_above(levels: &[PriorityLevel], subject: &DeliverySubject, level: usize) -> bool {
    level != subject.level && levels[level].priority >= levels[subject.level].priority
}

/// S_i^j and Σ_{p>j} S_last^p: the work at the start that is handled before the subject, and the subject.
pub(super) fn stock(levels: &[PriorityLevel], subject: &DeliverySubject) -> Result<u128, Overflow> {
    let own = &levels[subject.level];
    let mut sum = own.served().checked_mul(u128::from(subject.ahead) + 1).ok_or(Overflow)?;
    for (_, level) in levels.iter().enumerate().filter(|&(i, _)| is_above(levels, subject, i)) {
        sum = sum.checked_add(level.stock()?).ok_or(Overflow)?;
    }
    Ok(sum)
}

/// The assumption that the input does not satisfy; none if it satisfies all.
pub(super) fn broken(levels: &[PriorityLevel], subject: &DeliverySubject) -> Option<Assumption> {
    if levels.iter().any(|level| level.gap.is_some_and(Duration::is_zero)) {
        return Some(Assumption::PositivePeriod);
    }
    (subject.level >= levels.len()).then_some(Assumption::Listed)
}

/// The sum of phases from a phase 0: unsound, as the file says.
pub(super) fn printed(
    phase_0: u128,
    levels: &[PriorityLevel],
    subject: &DeliverySubject,
) -> Result<Verdict<Phases>, Overflow> {
    let lowest = levels[subject.level].priority;
    let urgent = |level: &&PriorityLevel| level.priority >= lowest;
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
) -> Result<Verdict<DeliveryWindow>, Overflow> {
    let answer = |w: u64, steps: u32| {
        let at_start = duration(at_start.min(w.into()))?;
        Ok(DeliveryWindow { total: Duration::from_ns(w), at_start, steps })
    };
    let streams = recurring.iter().copied();
    Ok(match recurring::least(at_start, streams, deadline.as_ns(), STEPS_MAX)? {
        Least::Found(w, steps) => Verdict::Schedulable(answer(w, steps)?),
        Least::Past(late, steps) => Verdict::NotShown(Why::Passes(answer(late, steps)?)),
        Least::Steps => Verdict::NotShown(Why::Steps(STEPS_MAX)),
    })
}
