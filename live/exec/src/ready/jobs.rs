// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::LocalRule;
use taut_policy::{Budget, Overrun};
use taut_sys::account::Switches;
use taut_time::Duration;

use crate::ready::admission::Admission;
use crate::ready::limits::LOOKS;
use crate::ready::state::{BACKLOG_MAX, NEVER};
use crate::ready::worker_priorities::NONE;
use crate::task::{Release, TaskSetup};

/// A released job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) number: u64,
    pub(crate) arrival_ns: u64,
}

/// The maximum number of stretches of waiting releases. Within a stretch, releases follow one another as in the
/// calendar.
const STRETCHES_MAX: usize = 8;

/// Releases that follow one another by the calendar.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    first: Arrived,
    count: u32,
}

/// Releases that wait behind a job that is not complete, in their order. The memory they take does not depend on
/// their number: releases that follow one another by the calendar share one stretch. A pause starts a new stretch,
/// and each release outside the calendar is a stretch of its own. There is room for eight stretches.
#[derive(Clone, Debug)]
pub(crate) struct Backlog {
    stretches: [Stretch; STRETCHES_MAX],
    /// The first stretch in use.
    first: usize,
    used: usize,
    count: u32,
    limit: u32,
    /// 0 if these releases are in no calendar.
    period_ns: u64,
}

impl Backlog {
    fn new(limit: u32, release: Release) -> Self {
        let period_ns = if let Release::Periodic { period, .. } = release { period.as_ns() } else { 0 };
        let stretches = [Stretch::default(); STRETCHES_MAX];
        Self { stretches, first: 0, used: 0, count: 0, limit, period_ns }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The waiting release that arrived first.
    pub(crate) fn next(&self) -> Option<Arrived> {
        (self.used > 0).then(|| self.stretches[self.first].first)
    }

    /// Appends a release; returns whether there was room.
    pub(crate) fn push(&mut self, arrived: Arrived) -> bool {
        if self.count >= self.limit {
            return false;
        }
        let period_ns = self.period_ns;
        if let Some(at) = self.used.checked_sub(1) {
            let last = &mut self.stretches[(self.first + at) % STRETCHES_MAX];
            let behind = u64::from(last.count);
            let arrival_ns = last.first.arrival_ns.saturating_add(period_ns.saturating_mul(behind));
            if period_ns > 0 && arrived == (Arrived { number: last.first.number + behind, arrival_ns }) {
                last.count += 1;
                self.count += 1;
                return true;
            }
        }
        if self.used == STRETCHES_MAX {
            return false;
        }
        self.stretches[(self.first + self.used) % STRETCHES_MAX] = Stretch { first: arrived, count: 1 };
        self.used += 1;
        self.count += 1;
        true
    }

    pub(crate) fn pop(&mut self) -> Option<Arrived> {
        let arrived = self.next()?;
        self.count -= 1;
        let stretch = &mut self.stretches[self.first];
        stretch.count -= 1;
        stretch.first.number += 1;
        stretch.first.arrival_ns = stretch.first.arrival_ns.saturating_add(self.period_ns);
        if stretch.count == 0 {
            self.first = (self.first + 1) % STRETCHES_MAX;
            self.used -= 1;
        }
        Some(arrived)
    }

    /// Drops all waiting releases; returns how many there were.
    pub(crate) fn clear(&mut self) -> u32 {
        (self.first, self.used) = (0, 0);
        std::mem::take(&mut self.count)
    }
}

/// The outcome of a task's jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecTaskOutcome {
    /// Jobs that were released, including those that wait behind others.
    pub released: u64,
    /// Jobs that are complete, including killed ones.
    pub completed: u64,
    /// Jobs that completed after their deadline.
    pub missed: u64,
    /// Releases that the executor dropped, or that the overrun policy skipped.
    pub skipped: u64,
    /// Of those, the releases that the executor dropped because no more may wait behind a job that is not complete.
    pub beyond_backlog: u64,
    /// Jobs that the overrun policy asked to end early.
    pub killed: u64,
    /// Jobs that used up their budget before they were complete.
    pub exhausted: u64,
    /// The longest time from arrival to completion, ns.
    pub response_max_ns: u64,
    /// The longest time from an arrival to the instant at which the dispatcher reported it to the rule, ns.
    pub lateness_max_ns: u64,
    /// How often a job gave up its processor voluntarily where it must not: it slept, or waited for something that
    /// the executor does not know. Jobs that are stopped from outside count too. Counted where Linux enforces the
    /// dispatcher's decisions ([`Enforcement::Strict`](crate::Enforcement::Strict)); otherwise 0.
    pub blocked: u64,
    /// Of those, how often the job held a resource.
    pub blocked_inside: u64,
    /// How often Linux preferred another thread to a job, including the dispatcher. Counted where `blocked` is.
    pub preempted: u64,
}

impl ExecTaskOutcome {
    pub(crate) fn count(&mut self, switches: Switches) {
        self.blocked += switches.blocked;
        self.preempted += switches.preempted;
    }
}

/// A task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) release: Release,
    pub(crate) deadline_ns: u64,
    pub(crate) overrun: Overrun,
    /// The number of the next release.
    pub(crate) next: u64,
    /// Whether the rule knows a job of this task.
    pub(crate) active: bool,
    /// The thread that runs its job; [`NONE`] until the job has begun.
    pub(crate) worker: u32,
    pub(crate) job: Arrived,
    /// Releases that wait behind the job, or for admission.
    pub(crate) backlog: Backlog,
    /// The job's budget of processor time, and what it has used.
    pub(crate) budget: Budget,
    pub(crate) budget_ns: u64,
    /// By when its job must have ended, ns from its arrival.
    pub(crate) limit_ns: u64,
    /// The processor time that its thread had used when the job began; [`NEVER`] until then.
    pub(crate) began_ns: u64,
    /// How many more times the dispatcher may measure what the job has used of its budget.
    pub(crate) looks_left: u8,
    /// The processor time that its thread and the donee had used when its server was last advanced in time; none
    /// before the first time. Excludes what former donees used, so it may be below 0.
    pub(crate) seen_ns: Option<i64>,
    /// Whether the dispatcher has reported that the budget is used up.
    pub(crate) exhausted: bool,
    /// Whether the task's job is demoted: it goes on below all others, as soon as it holds nothing.
    pub(crate) sinks: bool,
    /// The local resource that its job waits for.
    pub(crate) wants: u32,
    /// The server in which the task runs; [`NONE`] if it runs in none.
    pub(crate) server: u32,
    /// Whether it has a job whenever its server has a budget.
    pub(crate) donates: bool,
    /// When the current donation began.
    pub(crate) donated_since_ns: u64,
    pub(crate) killed: bool,
    /// Whether the executor drops the task's releases.
    pub(crate) paused: bool,
    /// Whether its next release, which is polled, is in the calendar.
    pub(crate) put_off: bool,
    /// Whether its first job arrives at release 0, though it is polled.
    pub(crate) begins: bool,
    /// Whether the work is asked again while its release is in the calendar.
    pub(crate) reconsidered: bool,
    pub(crate) admission: Admission,
    /// Whether its job spins for or holds a resource of several cores.
    pub(crate) across: bool,
    /// The resource that its job is suspended for, and the rank that the job gets with it.
    pub(crate) away: (u32, u64),
    pub(crate) outcome: ExecTaskOutcome,
    /// Whether the task is plain: of the plain tasks of a level, at most one has a job that has begun (D1 of
    /// [`crate::ready::depth`]).
    pub(crate) plain: bool,
}

impl Task {
    pub(crate) fn new(setup: &TaskSetup, rule: LocalRule) -> Self {
        let (next, active, worker, job) = (0, false, NONE, Arrived::default());
        let (wants, killed, outcome) = (NONE, false, ExecTaskOutcome::default());
        let budget = setup.budget.unwrap_or(Duration::MAX);
        let mut admission = Admission::default();
        admission.asked = setup.admitted;
        Self {
            release: setup.release,
            deadline_ns: setup.relative().as_ns(),
            overrun: setup.overrun,
            next,
            active,
            worker,
            job,
            backlog: Backlog::new(setup.backlog.unwrap_or(BACKLOG_MAX as u32).max(1), setup.release),
            budget: Budget::new(budget),
            budget_ns: budget.as_ns(),
            limit_ns: setup.limit.map_or(u64::MAX, Duration::as_ns),
            began_ns: NEVER,
            looks_left: LOOKS,
            seen_ns: None,
            exhausted: false,
            sinks: false,
            wants,
            server: setup.server.map_or(NONE, |server| server.server),
            donates: setup.donates,
            donated_since_ns: 0,
            killed,
            paused: false,
            put_off: false,
            begins: setup.begins,
            reconsidered: setup.reconsidered,
            admission,
            across: false,
            away: (NONE, 0),
            outcome,
            plain: setup.is_plain(rule),
        }
    }

    /// Whether its jobs have a budget.
    pub(crate) fn has_budget(&self) -> bool {
        self.budget_ns != u64::MAX
    }

    /// Begins a job that the caller now reports to the rule.
    pub(crate) fn begin(&mut self, arrived: Arrived) {
        (self.job, self.active) = (arrived, true);
        (self.killed, self.exhausted, self.sinks) = (false, false, false);
        (self.began_ns, self.looks_left, self.seen_ns) = (NEVER, LOOKS, None);
        self.budget.renew();
    }

    /// The field [`Task::seen_ns`], or until it is set the processor time at the job's beginning; for a job that has
    /// begun.
    pub(crate) fn seen_ns(&self) -> i64 {
        self.seen_ns.unwrap_or(self.began_ns as i64)
    }

    /// Whether its locks need more than the local rule.
    pub(crate) fn is_special(&self) -> bool {
        self.killed || self.across || self.sinks
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Compares it with a plain queue, with gaps in the numbers.
    #[test]
    #[cfg_attr(miri, ignore = "about a minute: `cargo xtask miri` runs it")]
    fn a_backlog_is_a_queue_with_a_limit() {
        let periodic = Release::Periodic { period: Duration::from_ns(10), offset: Duration::ZERO };
        for (release, limit) in
            [(periodic, 5), (periodic, 1_000), (Release::ByHand, 1_000), (Release::ByHand, 3)]
        {
            let (mut backlog, mut queue) = (Backlog::new(limit, release), VecDeque::new());
            let (mut random, mut number, mut refused, mut most) = (7u64, 0, 0, 0);
            for _ in 0..20_000 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let step = random >> 33;
                // Long waves of growing and shrinking.
                if step % 100 < if number / 3_000 % 2 == 0 { 70 } else { 30 } {
                    number += u64::from(step % 997 == 0);
                    let arrived = Arrived { number, arrival_ns: 3 + 10 * number };
                    number += 1;
                    if backlog.push(arrived) {
                        queue.push_back(arrived);
                    } else {
                        refused += 1;
                        assert!(queue.len() >= (limit as usize).min(STRETCHES_MAX), "{limit}");
                    }
                } else {
                    assert_eq!(backlog.pop(), queue.pop_front());
                }
                assert_eq!((backlog.count() as usize, backlog.next()), (queue.len(), queue.front().copied()));
                most = most.max(queue.len());
            }
            assert!(most <= limit as usize);
            let calendar = release != Release::ByHand;
            assert!(
                if calendar && limit == 1_000 { most > 200 } else { refused > 0 },
                "{release:?} {most} {refused}"
            );
            assert_eq!(backlog.clear() as usize, queue.len());
            assert_eq!((backlog.pop(), backlog.count()), (None, 0));
        }
    }
}
