// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which thread ran on a core that Linux schedules, where waiting jobs recorded it.
//!
//! A thread records its own actions: that it starts, waits, holds, releases, completes. No record there shows that it
//! is preempted or resumes. Both follow from which thread recorded what, whatever the priorities were at that time (a
//! mutex with priority inheritance changes them):
//!
//! ```text
//! E1  A thread that records runs at that instant.
//! E2  A job that is more urgent than another stays so until a job waits or releases. So a job that starts or acquires
//!     something continues, and after a job completes the job that ran before it continues.
//! E3  Where a job waits or releases, the ready job that is the first to record again continues; if none does (the
//!     records end), the most urgent one.
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use crate::decisions::{Decision, DecisionKind};

/// Whether a thread itself records such a decision, while it runs and at the instant of the decision.
fn by_itself(what: DecisionKind) -> bool {
    match what {
        DecisionKind::Start | DecisionKind::Complete => true,
        DecisionKind::Suspend(_) | DecisionKind::Spin(_) => true,
        DecisionKind::Locked(_) | DecisionKind::Unlock(_) => true,
        DecisionKind::Release { .. } | DecisionKind::Granted(_) => false,
        DecisionKind::Preempt | DecisionKind::Resume => false,
    }
}

/// A core's records, by time, with the preemptions and resumptions that must have happened in between; `urgency` gives
/// the urgency of a task.
pub(crate) fn with_switches(said: Vec<Decision>, urgency: impl Fn(u16) -> u8) -> Vec<Decision> {
    let mut ahead: BTreeMap<(u16, u64), VecDeque<usize>> = BTreeMap::new();
    for (at, Decision { task, job, .. }) in said.iter().enumerate().filter(|(_, of)| by_itself(of.what)) {
        ahead.entry((*task, *job)).or_default().push_back(at);
    }
    let mut all = Vec::with_capacity(said.len());
    let mut ready: Vec<(u16, u64)> = Vec::new();
    let mut runs: Option<(u16, u64)> = None;
    for decision in said {
        let Decision { at, task, job, what } = decision;
        if !by_itself(what) {
            all.push(decision);
            continue;
        }
        let me = (task, job);
        ahead.get_mut(&me).map(VecDeque::pop_front);
        let switch = |what, (task, job)| Decision { at, task, job, what };
        if runs != Some(me) || what == DecisionKind::Start {
            all.extend(runs.map(|other| switch(DecisionKind::Preempt, other)));
            if what != DecisionKind::Start {
                all.push(switch(DecisionKind::Resume, me));
            }
        }
        all.push(decision);
        // If another job of the same task is still there, the record of its end was lost.
        ready.retain(|(other, _)| *other != task);
        let stays = !matches!(what, DecisionKind::Suspend(_) | DecisionKind::Complete);
        ready.extend(stays.then_some(me));
        let again = |job: &(u16, u64)| ahead.get(job).and_then(|ahead| ahead.front()).copied();
        let rank = |job: &&(u16, u64)| (again(job).unwrap_or(usize::MAX), Reverse(urgency(job.0)));
        let next = match what {
            DecisionKind::Suspend(_) | DecisionKind::Unlock(_) => ready.iter().min_by_key(rank).copied(),
            _ => ready.last().copied(),
        };
        runs = stays.then_some(me);
        if next != runs {
            all.extend(runs.map(|other| switch(DecisionKind::Preempt, other)));
            all.extend(next.map(|next| switch(DecisionKind::Resume, next)));
        }
        // The jobs that ran before it come before it in `ready`.
        ready.retain(|job| Some(*job) != next);
        ready.extend(next);
        runs = next;
    }
    all
}

#[cfg(test)]
mod tests {
    use taut_time::{Duration, Instant};

    use super::*;

    const LOCKED: DecisionKind = DecisionKind::Locked(0);
    const UNLOCK: DecisionKind = DecisionKind::Unlock(0);
    const SPIN: DecisionKind = DecisionKind::Spin(0);
    const SUSPEND: DecisionKind = DecisionKind::Suspend(0);

    const LOW: u16 = 0;
    const MEDIUM: u16 = 1;
    const HIGH: u16 = 2;

    /// Takes the threads' records as `(at, task, kind)`; returns which task runs from when on, `None` for an idle
    /// core.
    fn runs(said: &[(u64, u16, DecisionKind)]) -> Vec<(u64, Option<u16>)> {
        let decision = |&(at, task, what): &(u64, u16, DecisionKind)| Decision { at, task, job: 7, what };
        let mut runs: Vec<(u64, Option<u16>)> = Vec::new();
        for Decision { at, task, what, .. } in
            with_switches(said.iter().map(decision).collect(), |task| task as u8)
        {
            let now = runs.last().and_then(|last| last.1);
            let next = match what {
                DecisionKind::Start | DecisionKind::Resume => {
                    assert_eq!(now, None, "at {at} nobody else runs");
                    Some(task)
                }
                DecisionKind::Preempt | DecisionKind::Suspend(_) | DecisionKind::Complete => {
                    assert_eq!(now, Some(task), "at {at} who leaves is who ran");
                    None
                }
                _ => {
                    assert!(!by_itself(what) || now == Some(task), "who records runs");
                    continue;
                }
            };
            runs.retain(|(before, _)| *before < at);
            runs.push((at, next));
        }
        runs.dedup_by_key(|(_, who)| *who);
        runs
    }

    /// `low` holds the resource that `high` waits for, and `medium` comes between.
    fn inversion(boosted: bool) -> Vec<(u64, u16, DecisionKind)> {
        let mut said = vec![
            (0, LOW, DecisionKind::Start),
            (1, LOW, LOCKED),
            (10, MEDIUM, DecisionKind::Start),
            (20, HIGH, DecisionKind::Start),
            (25, HIGH, SUSPEND),
        ];
        let high = [(60, HIGH, LOCKED), (61, HIGH, UNLOCK), (70, HIGH, DecisionKind::Complete)];
        if boosted {
            said.push((60, LOW, UNLOCK));
            said.extend(high);
            said.extend([(90, MEDIUM, DecisionKind::Complete), (95, LOW, DecisionKind::Complete)]);
        } else {
            said.extend([(50, MEDIUM, DecisionKind::Complete), (60, LOW, UNLOCK)]);
            said.extend(high);
            said.push((95, LOW, DecisionKind::Complete));
        }
        said
    }

    #[test]
    fn who_waits_does_not_run() {
        let expected = [(0, LOW), (10, MEDIUM), (20, HIGH), (25, MEDIUM), (50, LOW), (60, HIGH), (70, LOW)];
        let expected = expected.map(|(at, who)| (at, Some(who)));
        assert_eq!(runs(&inversion(false)), [&expected[..], &[(95, None)]].concat());
    }

    /// No record shows that the holder inherits a priority, and the derivation finds it all the same.
    #[test]
    fn who_inherits_goes_on() {
        let expected = [(0, LOW), (10, MEDIUM), (20, HIGH), (25, LOW), (60, HIGH), (70, MEDIUM), (90, LOW)];
        let expected = expected.map(|(at, who)| (at, Some(who)));
        assert_eq!(runs(&inversion(true)), [&expected[..], &[(95, None)]].concat());
    }

    #[test]
    fn who_waits_for_ever_never_runs_again() {
        let said = [
            (0, LOW, DecisionKind::Start),
            (5, HIGH, DecisionKind::Start),
            (6, HIGH, SUSPEND),
            (9, LOW, SUSPEND),
            (20, MEDIUM, DecisionKind::Start),
            (22, MEDIUM, DecisionKind::Complete),
        ];
        let expected =
            [(0, Some(LOW)), (5, Some(HIGH)), (6, Some(LOW)), (9, None), (20, Some(MEDIUM)), (22, None)];
        assert_eq!(runs(&said), expected);
    }

    /// The records end in the middle of a run, and the end of a job was lost.
    #[test]
    fn what_is_not_said_is_the_most_urgent() {
        let said = [
            (0, LOW, DecisionKind::Start),
            (5, HIGH, DecisionKind::Start),
            (8, MEDIUM, DecisionKind::Start),
            (9, MEDIUM, DecisionKind::Complete),
        ];
        let expected = [(0, Some(LOW)), (5, Some(HIGH)), (8, Some(MEDIUM)), (9, Some(HIGH))];
        assert_eq!(runs(&said), expected);
    }

    /// For any order of records: the thread that leaves ran before, and only one runs at a time.
    #[test]
    fn any_records_give_one_at_a_time() {
        let kinds = [
            DecisionKind::Start,
            SUSPEND,
            SPIN,
            LOCKED,
            UNLOCK,
            DecisionKind::Complete,
            DecisionKind::Release { arrival: Instant::from_ns(0), delay: Duration::ZERO },
        ];
        let mut chance = 7_u64;
        for _ in 0..2_000 {
            let said: Vec<_> = (0..12)
                .map(|at| {
                    chance = chance
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let choice = (chance >> 33) as usize;
                    (at, (choice % 3) as u16, kinds[choice / 3 % kinds.len()])
                })
                .collect();
            runs(&said);
        }
    }
}
