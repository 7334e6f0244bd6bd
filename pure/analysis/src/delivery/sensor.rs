// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Delivery of a sensor's event to a listener: from the poll that finds it to the end of the callback.
//!
//! ```text
//! Equation    w = S_i^j + B + ⌈w / T_q⌉ (Σ_q P_q + Σ_{p>j} S_last^p)
//!                 + Σ_{p>j} ⌈w / G_p⌉ (h + deq + enq)_p + ⌈w / G_j⌉ (deq + enq)_j
//!             printed: phase_0 = Σ_{p≥j} P_p + Σ_{p>j} S_last^p + S_i^j                                (3.5)
//!             phase_n = Σ_{p≥j} Σ_{i=0}^{phase_{n−1} · R_p} (h_i^p + deq + enq)                        (3.6)
//! Symbols     those of [`super::phases`], read as: h the callback of a listener, with what processing an event for it
//!             costs, deq registering a listener; G_p between two new listeners; waiting: listeners of the level;
//!             [ns] P_q polling one sensor; T_q the time between two polls of all
//! Assumes     A1 to A3 of [`super::phases`]   A5 a level's listeners are called at its priority, in order
//!             A6 one thread above all levels polls all sensors   A7 an event at every poll for every listener
//! Verdict     sufficient
//! Cost        pseudo-polynomial; stops past the deadline
//! Source      [Yan18, section 3.7.3, equations 3.5 and 3.6]
//! ```
//!
//! **How it differs from the print.** The polling thread has the highest priority (section 3.7.2) and polls all
//! sensors, so the sensors of less urgent listeners count, too. Polls repeat, and each one brings more urgent
//! listeners another event: the print counts one poll and one event. The print also stops too early, as
//! [`super::phases`] says. The cost of processing threads has no symbol in the text and is taken as a part of h; enq
//! has none in its list for sensors and is taken as given.

use taut_time::Duration;

use super::phases::{self, DeliverySubject, DeliveryWindow, Phases, PriorityLevel, Recurring};
use crate::wide::ns;
use crate::{Assumption, Overflow, Verdict};

/// How sensors are polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensorPolling<'a> {
    /// T_q.
    pub period: Duration,
    /// P of each sensor, with the priority of its most urgent listener.
    pub sensors: &'a [(u32, Duration)],
}

/// Bounds the delivery of a sensor's event.
///
/// # Errors
/// [`Overflow`].
pub fn bound(
    levels: &[PriorityLevel],
    polling: &SensorPolling<'_>,
    subject: &DeliverySubject,
    blocking: Duration,
) -> Result<Verdict<DeliveryWindow>, Overflow> {
    if polling.period.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if let Some(assumption) = phases::broken(levels, subject) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    let above = |i: usize| phases::is_above(levels, subject, i);
    let stock = levels[subject.level].served().checked_mul(u128::from(subject.ahead) + 1).ok_or(Overflow)?;
    let at_start = stock.checked_add(ns(blocking)).ok_or(Overflow)?;
    // Fits: a sum of fewer than 2^64 numbers of 64 bits.
    let mut each_poll: u128 = polling.sensors.iter().map(|(_, cost)| ns(*cost)).sum();
    for (_, level) in levels.iter().enumerate().filter(|&(i, _)| above(i)) {
        each_poll = each_poll.checked_add(level.stock()?).ok_or(Overflow)?;
    }
    let urgent = levels.iter().enumerate().filter(|&(i, _)| i == subject.level || above(i));
    let registered = urgent.filter_map(|(i, level)| {
        let callback = if above(i) { ns(level.handle) } else { 0 };
        Some(Recurring { gap: level.gap?, cost: callback + ns(level.take_out) + ns(level.put_in) })
    });
    let recurring: Vec<_> =
        [Recurring { gap: polling.period, cost: each_poll }].into_iter().chain(registered).collect();
    phases::window(at_start, &recurring, subject.deadline)
}

/// The phases as printed: unsound, see [`super::phases`] and above.
///
/// # Errors
/// [`Overflow`].
pub fn printed(
    levels: &[PriorityLevel],
    polling: &SensorPolling<'_>,
    subject: &DeliverySubject,
) -> Result<Verdict<Phases>, Overflow> {
    if let Some(assumption) = phases::broken(levels, subject) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    let own = levels[subject.level].priority;
    let polled: u128 = polling.sensors.iter().filter(|(p, _)| *p >= own).map(|(_, cost)| ns(*cost)).sum();
    let phase_0 = phases::stock(levels, subject)?.checked_add(polled).ok_or(Overflow)?;
    phases::printed(phase_0, levels, subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(priority: u32, waiting: u64, costs: [u64; 2]) -> PriorityLevel {
        let [handle, take_out] = costs.map(Duration::from_ns);
        PriorityLevel { priority, waiting, gap: None, handle, take_out, put_in: Duration::ZERO }
    }

    /// Runs polls every `period`. Each takes its time above all levels and brings every listener above the subject an
    /// event.
    fn run(levels: &[PriorityLevel], polling: &SensorPolling<'_>, subject: &DeliverySubject) -> u64 {
        let own = &levels[subject.level];
        let poll: u64 = polling.sensors.iter().map(|(_, cost)| cost.as_ns()).sum();
        let served = |l: &PriorityLevel| l.handle.as_ns() + l.take_out.as_ns();
        let above: u64 =
            levels.iter().filter(|l| l.priority > own.priority).map(|l| l.waiting * served(l)).sum();
        let (mut urgent, mut left, mut now) = (0, (subject.ahead + 1) * served(own), 0);
        while left > 0 {
            if now % polling.period.as_ns() == 0 {
                urgent += poll + above;
            }
            if urgent > 0 {
                urgent -= 1;
            } else {
                left -= 1;
            }
            now += 1;
        }
        now
    }

    #[test]
    fn run_tick_by_tick() {
        let mut shown = 0;
        for (above, own, ahead) in [(1, 5, 0), (2, 9, 1), (3, 40, 0), (1, 70, 2), (0, 100, 3)] {
            for period in [20, 50, 90, 400] {
                let levels = [level(1, 0, [own, 1]), level(5, above, [3, 1])];
                let sensors =
                    [(1, Duration::from_ns(2)), (5, Duration::from_ns(4)), (0, Duration::from_ns(3))];
                let polling = SensorPolling { period: Duration::from_ns(period), sensors: &sensors };
                let subject = DeliverySubject { level: 0, ahead, deadline: Duration::from_ns(10_000) };
                let found = bound(&levels, &polling, &subject, Duration::ZERO).expect("small");
                if let Verdict::Schedulable(window) = found {
                    assert_eq!(window.total.as_ns(), run(&levels, &polling, &subject));
                    shown += 1;
                }
            }
        }
        assert!(shown >= 15, "{shown}");
    }

    /// A callback of 100 with a poll of 10 every 40, and a listener of 5 above: the print counts one poll and one
    /// call.
    #[test]
    fn printed_counts_one_poll() {
        let levels = [level(1, 0, [100, 0]), level(2, 1, [5, 0])];
        let sensors = [(2, Duration::from_ns(10))];
        let polling = SensorPolling { period: Duration::from_ns(40), sensors: &sensors };
        let subject = DeliverySubject { level: 0, ahead: 0, deadline: Duration::from_ns(1_000) };
        let is = printed(&levels, &polling, &subject).expect("small");
        assert_eq!(is.bound().map(|phases| phases.total.as_ns()), Some(115));
        let found = bound(&levels, &polling, &subject, Duration::ZERO).expect("small");
        // 100 + 15 ⌈w / 40⌉
        assert_eq!(found.bound().map(|window| window.total.as_ns()), Some(160));
        assert_eq!(run(&levels, &polling, &subject), 160);
    }

    #[test]
    fn extremes() {
        let levels = [level(1, 0, [100, 0])];
        let polling = SensorPolling { period: Duration::ZERO, sensors: &[] };
        let subject = DeliverySubject { level: 0, ahead: 0, deadline: Duration::MAX };
        let none = bound(&levels, &polling, &subject, Duration::ZERO);
        assert_eq!(none, Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
        let sensors = [(1, Duration::MAX); 3];
        let full = SensorPolling { period: Duration::from_ns(1), sensors: &sensors };
        assert_eq!(bound(&levels, &full, &subject, Duration::ZERO), Err(Overflow));
        assert_eq!(printed(&levels, &full, &subject), Err(Overflow));
    }
}
