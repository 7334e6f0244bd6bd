// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Delivery of a message through a real-time looper.
//!
//! ```text
//! Equation    w = Σ_{p>j} S_last^p + S_i^j + B + Σ_{p>j} ⌈w / G_p⌉ (h + deq + enq)_p + ⌈w / G_j⌉ enq_j
//!             printed: the phases of [`super::phases`]
//! Symbols     those of [`super::phases`]; [ns] B the longest time for which a less urgent handler is not preempted
//! Assumes     A1 to A3 of [`super::phases`]   A5 one looper and queue per level, which run at its priority; in a level
//!             first in, first out   A6 a sender enqueues at the level's priority
//! Verdict     exact if arrivals are free, B is attained, and a sender goes before a looper of its level; else
//!             sufficient
//! Cost        pseudo-polynomial; stops past the deadline
//! Source      [Yan18, section 3.5.3]; the busy window: [JosephPandya86]
//! ```
//!
//! **How it differs from the print.** Later messages of the same level queue behind the subject: only their
//! enqueueing counts, while the print counts them whole. Everything that comes while the message waits counts, while
//! the print leaves out what comes in the last phase. So neither of the two is always the larger.

use taut_time::Duration;

use super::phases::{self, DeliverySubject, DeliveryWindow, Phases, PriorityLevel, Recurring};
use crate::wide::ns;
use crate::{Overflow, Verdict};

/// Bounds the delivery of a message.
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
    let at_start = phases::stock(levels, subject)?.checked_add(ns(blocking)).ok_or(Overflow)?;
    let recurring: Vec<_> = levels
        .iter()
        .enumerate()
        .filter(|&(i, _)| i == subject.level || above(i))
        .filter_map(|(i, level)| {
            let more = if above(i) { level.served() } else { 0 };
            Some(Recurring { gap: level.gap?, cost: more + ns(level.put_in) })
        })
        .collect();
    phases::window(at_start, &recurring, subject.deadline)
}

/// The phases as printed: unsound, see [`super::phases`].
///
/// # Errors
/// [`Overflow`].
pub fn printed(levels: &[PriorityLevel], subject: &DeliverySubject) -> Result<Verdict<Phases>, Overflow> {
    if let Some(assumption) = phases::broken(levels, subject) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    phases::printed(phases::stock(levels, subject)?, levels, subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::{Assumption, Why};

    fn level(priority: u32, waiting: u64, gap: u64, costs: [u64; 3]) -> PriorityLevel {
        let [handle, take_out, put_in] = costs.map(Duration::from_ns);
        let gap = (gap > 0).then(|| Duration::from_ns(gap));
        PriorityLevel { priority, waiting, gap, handle, take_out, put_in }
    }

    fn subject(level: usize, ahead: u64) -> DeliverySubject {
        DeliverySubject { level, ahead, deadline: Duration::from_ns(5_000) }
    }

    /// Runs a delivery, a tick at a time: the more urgent level first, within a level enqueueing before handling.
    /// `gap` says how long after its last message the next message of a level comes.
    fn run(
        levels: &[PriorityLevel],
        subject: &DeliverySubject,
        first: &[u64],
        mut gap: impl FnMut(usize) -> u64,
    ) -> u64 {
        let served =
            |level: &PriorityLevel| (level.handle.as_ns() + level.take_out.as_ns(), level.put_in.as_ns());
        // Per level: time to handle before the subject, time to enqueue, and time to handle behind the subject.
        let mut left: Vec<[u64; 3]> = levels
            .iter()
            .enumerate()
            .map(|(i, l)| {
                let before = if i == subject.level { subject.ahead + 1 } else { l.waiting };
                [before * served(l).0, 0, 0]
            })
            .collect();
        let mut next = first.to_vec();
        let mut now = 0;
        while left[subject.level][0] > 0 {
            for (i, l) in levels.iter().enumerate().filter(|(_, l)| l.gap.is_some()) {
                while next[i] <= now {
                    left[i][1] += served(l).1;
                    left[i][if i == subject.level { 2 } else { 0 }] += served(l).0;
                    next[i] += gap(i);
                }
            }
            let busy = (0..levels.len()).filter(|&i| left[i][0] + left[i][1] > 0);
            let i = busy.max_by_key(|&i| levels[i].priority).expect("the subject is there");
            let part = usize::from(left[i][1] > 0);
            left[i][part] -= 1;
            now += 1;
        }
        now
    }

    /// With arrivals as dense as possible the run attains the bound; with other gaps and starts it does not exceed
    /// it.
    #[test]
    fn run_tick_by_tick() {
        let mut source = Draw::new(11);
        let mut draw = |low, high| source.pick(low, high);
        let mut shown = 0;
        for _ in 0..600 {
            let count = draw(1, 4) as usize;
            let levels: Vec<_> = (0..count)
                .map(|p| level(p as u32, draw(0, 4), draw(0, 60), [draw(1, 6), draw(0, 2), draw(0, 2)]))
                .collect();
            let subject = subject(draw(0, count as u64 - 1) as usize, draw(0, 3));
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
        assert!(shown > 400, "{shown}");
    }

    /// Four messages of 44 wait above one of 10, and one of 44 comes every 100: phases of 186 and 98, but truly 362.
    #[test]
    fn printed_phases_are_exceeded() {
        let levels = [level(1, 0, 1_000_000, [10, 0, 0]), level(2, 4, 100, [44, 0, 0])];
        let subject = subject(0, 0);
        let is = printed(&levels, &subject).expect("small");
        let phases = [186, 2 * 44 + 10].map(Duration::from_ns).to_vec();
        assert_eq!(is, Verdict::Schedulable(Phases { phases, total: Duration::from_ns(284) }));
        let seen = run(&levels, &subject, &[1_000_000, 0], |_| 100);
        assert_eq!(seen, 362);
        let found = bound(&levels, &subject, Duration::ZERO).expect("small");
        assert_eq!(found.bound().map(|window| window.total), Some(Duration::from_ns(362)));
    }

    /// Phases that do not shrink, although the load above is one half.
    #[test]
    fn printed_convergence_refuses_what_converges() {
        let levels = [level(1, 0, 1_000, [60, 0, 0]), level(2, 2, 100, [50, 0, 0])];
        assert_eq!(printed(&levels, &subject(0, 0)), Ok(Verdict::NotShown(Why::Rate)));
        let found = bound(&levels, &subject(0, 0), Duration::ZERO).expect("small");
        // 160 + 50 ⌈w / 100⌉
        assert_eq!(found.bound().map(|window| window.total), Some(Duration::from_ns(360)));
    }

    #[test]
    fn extremes() {
        let one = [level(1, 1, 10, [20, 0, 0]), level(0, 0, 0, [1, 0, 0])];
        let passes = bound(&one, &subject(1, 0), Duration::ZERO).expect("small");
        assert!(matches!(passes, Verdict::NotShown(Why::Passes(_))));
        assert_eq!(
            bound(&one, &subject(2, 0), Duration::ZERO),
            Ok(Verdict::NotApplicable(Assumption::Listed))
        );
        let never = PriorityLevel { gap: Some(Duration::ZERO), ..one[0] };
        assert_eq!(printed(&[never], &subject(0, 0)), Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
        let endless =
            PriorityLevel { waiting: u64::MAX, handle: Duration::MAX, take_out: Duration::MAX, ..one[0] };
        assert_eq!(bound(&[endless, one[1]], &subject(1, 0), Duration::ZERO), Err(Overflow));
        let late = DeliverySubject { deadline: Duration::MAX, ..subject(1, u64::MAX) };
        let full = [one[0], level(0, 0, 0, [u64::MAX, 0, 0])];
        assert_eq!(bound(&full, &late, Duration::ZERO), Err(Overflow));
        assert_eq!(printed(&full, &late), Err(Overflow));
    }
}
