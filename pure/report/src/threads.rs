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

use taut_event::{Kind, Record};

use crate::decisions::Decision;

/// Whether a thread writes such a record itself, while it runs, at that instant.
fn by_itself(kind: Kind) -> bool {
    matches!(kind, Kind::Start | Kind::Suspend | Kind::Spin | Kind::Locked | Kind::Unlock | Kind::Complete)
}

/// A core's records, by time, with the [`Kind::Preempt`] and [`Kind::Resume`] records that must have happened in
/// between; `urgency` gives that of a task.
pub(crate) fn with_switches(said: Vec<Decision>, urgency: impl Fn(u16) -> u8) -> Vec<Decision> {
    let mut ahead: BTreeMap<(u16, u64), VecDeque<usize>> = BTreeMap::new();
    for (at, Decision { record, .. }) in said.iter().enumerate().filter(|(_, of)| by_itself(of.record.kind)) {
        ahead.entry((record.subject, record.job)).or_default().push_back(at);
    }
    let mut all = Vec::with_capacity(said.len());
    let mut ready: Vec<(u16, u64)> = Vec::new();
    let mut runs: Option<(u16, u64)> = None;
    for decision in said {
        let Decision { at, record } = decision;
        if !by_itself(record.kind) {
            all.push(decision);
            continue;
        }
        let me = (record.subject, record.job);
        ahead.get_mut(&me).map(VecDeque::pop_front);
        let switch =
            |kind, (subject, job)| Decision { at, record: Record { kind, subject, job, value: 0, ..record } };
        if runs != Some(me) || record.kind == Kind::Start {
            all.extend(runs.map(|other| switch(Kind::Preempt, other)));
            if record.kind != Kind::Start {
                all.push(switch(Kind::Resume, me));
            }
        }
        all.push(decision);
        // If another job of the same task is still there, the record of its end was lost.
        ready.retain(|(task, _)| *task != record.subject);
        let stays = !matches!(record.kind, Kind::Suspend | Kind::Complete);
        ready.extend(stays.then_some(me));
        let again = |job: &(u16, u64)| ahead.get(job).and_then(|ahead| ahead.front()).copied();
        let rank = |job: &&(u16, u64)| (again(job).unwrap_or(usize::MAX), Reverse(urgency(job.0)));
        let next = match record.kind {
            Kind::Suspend | Kind::Unlock => ready.iter().min_by_key(rank).copied(),
            _ => ready.last().copied(),
        };
        runs = stays.then_some(me);
        if next != runs {
            all.extend(runs.map(|other| switch(Kind::Preempt, other)));
            all.extend(next.map(|next| switch(Kind::Resume, next)));
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
    use taut_time::Instant;

    use super::*;

    const LOW: u16 = 0;
    const MEDIUM: u16 = 1;
    const HIGH: u16 = 2;

    /// Takes the threads' records as `(at, task, kind)`; returns which task runs from when on, `None` for an idle
    /// core.
    fn runs(said: &[(u64, u16, Kind)]) -> Vec<(u64, Option<u16>)> {
        let decision = |&(at, subject, kind): &(u64, u16, Kind)| {
            let record = Record { at: Instant::from_ns(at), kind, cpu: 0, subject, job: 7, value: 0 };
            Decision { at, record }
        };
        let mut runs: Vec<(u64, Option<u16>)> = Vec::new();
        for Decision { at, record } in with_switches(said.iter().map(decision).collect(), |task| task as u8) {
            let now = runs.last().and_then(|last| last.1);
            let next = match record.kind {
                Kind::Start | Kind::Resume => {
                    assert_eq!(now, None, "at {at} nobody else runs");
                    Some(record.subject)
                }
                Kind::Preempt | Kind::Suspend | Kind::Complete => {
                    assert_eq!(now, Some(record.subject), "at {at} who leaves is who ran");
                    None
                }
                _ => {
                    assert!(!by_itself(record.kind) || now == Some(record.subject), "who records runs");
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
    fn inversion(boosted: bool) -> Vec<(u64, u16, Kind)> {
        let mut said = vec![
            (0, LOW, Kind::Start),
            (1, LOW, Kind::Locked),
            (10, MEDIUM, Kind::Start),
            (20, HIGH, Kind::Start),
            (25, HIGH, Kind::Suspend),
        ];
        let high = [(60, HIGH, Kind::Locked), (61, HIGH, Kind::Unlock), (70, HIGH, Kind::Complete)];
        if boosted {
            said.push((60, LOW, Kind::Unlock));
            said.extend(high);
            said.extend([(90, MEDIUM, Kind::Complete), (95, LOW, Kind::Complete)]);
        } else {
            said.extend([(50, MEDIUM, Kind::Complete), (60, LOW, Kind::Unlock)]);
            said.extend(high);
            said.push((95, LOW, Kind::Complete));
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
            (0, LOW, Kind::Start),
            (5, HIGH, Kind::Start),
            (6, HIGH, Kind::Suspend),
            (9, LOW, Kind::Suspend),
            (20, MEDIUM, Kind::Start),
            (22, MEDIUM, Kind::Complete),
        ];
        let expected =
            [(0, Some(LOW)), (5, Some(HIGH)), (6, Some(LOW)), (9, None), (20, Some(MEDIUM)), (22, None)];
        assert_eq!(runs(&said), expected);
    }

    /// The records end in the middle of a run, and the end of a job was lost.
    #[test]
    fn what_is_not_said_is_the_most_urgent() {
        let said = [
            (0, LOW, Kind::Start),
            (5, HIGH, Kind::Start),
            (8, MEDIUM, Kind::Start),
            (9, MEDIUM, Kind::Complete),
        ];
        let expected = [(0, Some(LOW)), (5, Some(HIGH)), (8, Some(MEDIUM)), (9, Some(HIGH))];
        assert_eq!(runs(&said), expected);
    }

    /// For any order of records: the thread that leaves ran before, and only one runs at a time.
    #[test]
    fn any_records_give_one_at_a_time() {
        let kinds = [
            Kind::Start,
            Kind::Suspend,
            Kind::Spin,
            Kind::Locked,
            Kind::Unlock,
            Kind::Complete,
            Kind::Release,
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
