// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Delivery of an alarm: from the time for which it was set to the end of its callback.
//!
//! ```text
//! Equation    w = Σ_{p>j} S_last^p + S_i^j + B + Σ_{p<j} waiting_p · deq_p
//!                 + Σ_{p>j} ⌈w / G_p⌉ (h + deq + enq)_p + Σ_{p≤j} ⌈w / G_p⌉ (deq + enq)_p
//!             printed: the phases of [`super::phases`]
//! Symbols     those of [`super::phases`], read as: h the callback, deq delivering an alarm (starting its thread), enq
//!             registering one; waiting: alarms that are due at the start, G_p between two that are registered or due
//! Assumes     A1 to A3 of [`super::phases`]   A5 callbacks run at their level's priority, in a level first in, first out
//!             A6 one thread above all levels delivers, and does the manager's part of registering
//! Verdict     sufficient
//! Cost        pseudo-polynomial; stops past the deadline
//! Source      [Yan18, section 3.6.3], which takes over equations 3.1 to 3.4 with the symbols read as above
//! ```
//!
//! **How it differs from the print.** Section 3.6.2 gives the manager's thread the highest priority, so its work for
//! less urgent alarms delays more urgent callbacks; the printed sums begin at p = j and leave it out. That less
//! urgent alarms do not delay more urgent ones is true of callbacks only. The text does not say whether the caller or
//! the manager does a registration: here the manager does, which is worse.

use taut_time::Duration;

use super::phases::{self, DeliverySubject, DeliveryWindow, Phases, PriorityLevel, Recurring};
use crate::wide::ns;
use crate::{Overflow, Verdict};

/// Bounds the delivery of an alarm.
///
/// # Errors
/// [`Overflow`].
pub fn bound(
    levels: &[PriorityLevel],
    subject: &DeliverySubject,
    blocking: Duration,
) -> Result<Verdict<DeliveryWindow>, Overflow> {
    if let Some(assumption) = phases::broken(levels, subject) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    let above = |i: usize| phases::is_above(levels, subject, i);
    let mut at_start = phases::stock(levels, subject)?.checked_add(ns(blocking)).ok_or(Overflow)?;
    for (_, level) in levels.iter().enumerate().filter(|&(i, _)| i != subject.level && !above(i)) {
        let delivering = ns(level.take_out).checked_mul(level.waiting.into()).ok_or(Overflow)?;
        at_start = at_start.checked_add(delivering).ok_or(Overflow)?;
    }
    let recurring: Vec<_> = levels
        .iter()
        .enumerate()
        .filter_map(|(i, level)| {
            let callback = if above(i) { ns(level.handle) } else { 0 };
            Some(Recurring { gap: level.gap?, cost: callback + ns(level.take_out) + ns(level.put_in) })
        })
        .collect();
    phases::window(at_start, &recurring, subject.deadline)
}

/// The phases as printed: unsound, see [`super::phases`] and above.
///
/// # Errors
/// [`Overflow`].
pub fn printed(levels: &[PriorityLevel], subject: &DeliverySubject) -> Result<Verdict<Phases>, Overflow> {
    super::message::printed(levels, subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    fn level(priority: u32, waiting: u64, gap: u64, costs: [u64; 3]) -> PriorityLevel {
        let [handle, take_out, put_in] = costs.map(Duration::from_ns);
        let gap = (gap > 0).then(|| Duration::from_ns(gap));
        PriorityLevel { priority, waiting, gap, handle, take_out, put_in }
    }

    /// Runs a delivery: the manager above all, then callbacks by level.
    fn run(
        levels: &[PriorityLevel],
        subject: &DeliverySubject,
        first: &[u64],
        mut gap: impl FnMut(usize) -> u64,
    ) -> u64 {
        let mut manager: u64 = 0;
        let mut callbacks: Vec<u64> = Vec::new();
        for (i, l) in levels.iter().enumerate() {
            let due = if i == subject.level { subject.ahead + 1 } else { l.waiting };
            manager += due * l.take_out.as_ns();
            callbacks.push(due * l.handle.as_ns());
        }
        let mut next = first.to_vec();
        let mut now = 0;
        while callbacks[subject.level] > 0 {
            for (i, l) in levels.iter().enumerate().filter(|(_, l)| l.gap.is_some()) {
                while next[i] <= now {
                    manager += l.take_out.as_ns() + l.put_in.as_ns();
                    // Alarms of the same level are behind the subject.
                    callbacks[i] += if i == subject.level { 0 } else { l.handle.as_ns() };
                    next[i] += gap(i);
                }
            }
            if manager > 0 {
                manager -= 1;
            } else {
                let busy = (0..levels.len()).filter(|&i| callbacks[i] > 0);
                let i = busy.max_by_key(|&i| levels[i].priority).expect("the subject is there");
                callbacks[i] -= 1;
            }
            now += 1;
        }
        now
    }

    #[test]
    fn run_tick_by_tick() {
        let mut source = Draw::new(23);
        let mut draw = |low, high| source.pick(low, high);
        let mut shown = 0;
        for _ in 0..400 {
            let count = draw(1, 4) as usize;
            let levels: Vec<_> = (0..count)
                .map(|p| level(p as u32, draw(0, 3), draw(0, 60), [draw(1, 6), draw(0, 2), draw(0, 2)]))
                .collect();
            let subject = DeliverySubject {
                level: draw(0, count as u64 - 1) as usize,
                ahead: draw(0, 3),
                deadline: Duration::from_ns(5_000),
            };
            let Verdict::Schedulable(found) = bound(&levels, &subject, Duration::ZERO).expect("small") else {
                continue;
            };
            shown += 1;
            let gaps: Vec<u64> = levels.iter().map(|l| l.gap.map_or(0, Duration::as_ns)).collect();
            let dense = run(&levels, &subject, &vec![0; count], |i| gaps[i]);
            assert_eq!(dense, found.total.as_ns(), "{levels:?} {subject:?}");
            for _ in 0..10 {
                let first: Vec<u64> = gaps.iter().map(|gap| draw(0, *gap)).collect();
                let seen = run(&levels, &subject, &first, |i| gaps[i] + draw(0, gaps[i]));
                assert!(seen <= found.total.as_ns(), "{levels:?} {subject:?}");
            }
        }
        assert!(shown > 250, "{shown}");
    }

    /// Ten less urgent alarms due at the same time take the manager 30, which the print leaves out.
    #[test]
    fn printed_leaves_out_the_manager() {
        let levels = [level(1, 10, 0, [100, 3, 0]), level(2, 0, 0, [20, 3, 0])];
        let subject = DeliverySubject { level: 1, ahead: 0, deadline: Duration::from_ns(1_000) };
        let total = |phases: Option<&Phases>| phases.map(|phases| phases.total.as_ns());
        assert_eq!(total(printed(&levels, &subject).expect("small").bound()), Some(23));
        let found = bound(&levels, &subject, Duration::ZERO).expect("small");
        assert_eq!(found.bound().map(|window| window.total.as_ns()), Some(53));
        assert_eq!(run(&levels, &subject, &[0, 0], |_| 1), 53);
    }
}
