// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A real-time task of a bench, and its job.

use std::collections::{BTreeMap, VecDeque};

use taut_plan::{Arrival, ClassPlan, Overrun, Plan};
use taut_policy::Budget;
use taut_time::{Duration, Instant};
use taut_trace::Drain;

use super::ORIGIN_NS;
use super::execution::{ExecutionTime, Random};
use crate::body::Body;
use crate::lifecycle::{JobContext, Released};

/// A release that is to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// The nominal instant (ns): the deadline counts from it.
    pub(super) arrival_ns: u64,
    /// When the core learns of it (ns).
    pub(super) at_ns: u64,
}

/// A real-time task.
pub(super) struct BenchTask {
    pub(super) in_plan: usize,
    /// Its core, and its position there.
    pub(super) core: usize,
    pub(super) local: usize,
    pub(super) body: Box<dyn Body + 'static>,
    pub(super) context: JobContext<'static>,
    pub(super) drain: Drain,
    /// The period and the offset of a periodic task (ns).
    periodic: Option<(u64, u64)>,
    /// Whether alarms release it.
    by_alarms: bool,
    pub(super) due: Option<Due>,
    /// The number of the next release.
    pub(super) number: u64,
    pub(super) job: Option<BenchJobState>,
    /// Released jobs behind the one that is not complete.
    pub(super) waiting: VecDeque<Released>,
    /// Whether releases were skipped whose places in flows are not taken yet.
    pub(super) has_skipped: bool,
    /// Whether the task has no further job.
    pub(super) is_over: bool,
    pub(super) on_overrun: Overrun,
    pub(super) budget: Option<Duration>,
    pub(super) execution: ExecutionTime,
    pub(super) random: Random,
    /// Faults by job: how late the core learns of its release, and how long it executes.
    pub(super) late: BTreeMap<u64, Duration>,
    pub(super) takes: BTreeMap<u64, Duration>,
}

/// The job of a task, from its release to its completion.
pub(super) struct BenchJobState {
    pub(super) released: Released,
    /// Whether it is ready: its place in its flows is taken.
    pub(super) is_admitted: bool,
    pub(super) has_started: bool,
    /// How long it executes in all, and how much of it is left (ns).
    pub(super) execution_ns: u64,
    pub(super) left_ns: u64,
    pub(super) budget: Option<Budget>,
    pub(super) is_exhausted: bool,
    /// Whether the overrun policy ends it as soon as it runs.
    pub(super) is_killed: bool,
    /// Whether the overrun policy lets it run below all others.
    pub(super) sinks: bool,
}

impl BenchJobState {
    /// The instant at which the job ends or uses up its budget, if it runs since `since_ns`.
    pub(super) fn next_ns(&self, since_ns: u64) -> u64 {
        let end_ns = since_ns.saturating_add(self.left_ns);
        let budget = self.budget.as_ref().filter(|_| !self.is_exhausted);
        budget.and_then(Budget::used_up).map_or(end_ns, |at| at.as_ns().min(end_ns))
    }

    /// Charges the time for which the job ran.
    pub(super) fn charge(&mut self, since_ns: u64, now_ns: u64) {
        self.left_ns = self.left_ns.saturating_sub(now_ns.saturating_sub(since_ns));
    }
}

impl BenchTask {
    /// The task at a position of the plan; `place` is its core, and its position there.
    pub(super) fn new(
        plan: &Plan,
        in_plan: usize,
        place: (usize, usize),
        body: Box<dyn Body + 'static>,
        mut context: JobContext<'static>,
        drain: Drain,
    ) -> Option<Self> {
        let ClassPlan::RealTime { arrival, wcet, on_overrun, budget, .. } = &plan.tasks[in_plan].class else {
            return None;
        };
        let periodic = match arrival {
            Arrival::Periodic { period, offset } => Some((period.as_ns(), offset.as_ns())),
            Arrival::Clocked(_) | Arrival::Sporadic { .. } | Arrival::Aperiodic { .. } => None,
        };
        if arrival.clock().is_some() {
            context.set_next_release(ORIGIN_NS);
        }
        let mut triggers = arrival.triggers().iter().filter_map(|trigger| plan.channel(trigger));
        let by_alarms = triggers.any(|channel| plan.channels[channel].is_timed());
        let (core, local) = place;
        let mut task = Self {
            in_plan,
            core,
            local,
            body,
            context,
            drain,
            periodic,
            by_alarms,
            due: None,
            number: 0,
            job: None,
            waiting: VecDeque::new(),
            has_skipped: false,
            is_over: false,
            on_overrun: *on_overrun,
            budget: *budget,
            execution: ExecutionTime::always(*wcet),
            random: Random::of_task(0, in_plan),
            late: BTreeMap::new(),
            takes: BTreeMap::new(),
        };
        task.set_due();
        Some(task)
    }

    /// Sets the next release of a periodic task.
    pub(super) fn set_due(&mut self) {
        let Some((period_ns, offset_ns)) = self.periodic.filter(|_| !self.is_over) else { return };
        let behind_ns = self.number.saturating_mul(period_ns).saturating_add(offset_ns);
        let arrival_ns = ORIGIN_NS.saturating_add(behind_ns);
        self.due = Some(Due { arrival_ns, at_ns: arrival_ns.saturating_add(self.late_ns()) });
    }

    /// How late the core learns of the next release (ns).
    fn late_ns(&self) -> u64 {
        self.late.get(&self.number).map_or(0, |late| late.as_ns())
    }

    /// Looks whether a channel, or a change of the service, releases the task, which has no job. If an alarm
    /// is found that is not due yet, the next call looks again: a setter may set an earlier one, or cancel
    /// it.
    pub(super) fn poll(&mut self, now_ns: u64) {
        let is_found = self.due.is_some_and(|due| !self.by_alarms || due.arrival_ns <= now_ns);
        if self.periodic.is_some() || self.is_over || is_found || self.job.is_some() {
            return;
        }
        let arrival_ns = self.body.poll(&mut self.context, now_ns);
        let late_ns = self.late_ns();
        self.due = arrival_ns
            .map(|arrival_ns| Due { arrival_ns, at_ns: arrival_ns.max(now_ns).saturating_add(late_ns) });
    }

    /// The number of a job that is released and not complete.
    pub(super) fn unfinished(&self) -> Option<u64> {
        self.job.as_ref().map(|job| job.released.number)
    }

    /// A released job becomes the task's job.
    pub(super) fn begin(&mut self, released: Released) {
        let given = self.takes.remove(&released.number);
        // Drawn in any case, so that a fault changes no other job.
        let drawn = self.execution.of_job(released.number, &mut self.random);
        let execution_ns = given.unwrap_or(drawn).as_ns().max(1);
        self.job = Some(BenchJobState {
            released,
            is_admitted: false,
            has_started: false,
            execution_ns,
            left_ns: execution_ns,
            budget: self.budget.map(Budget::new),
            is_exhausted: false,
            is_killed: false,
            sinks: false,
        });
    }

    /// The job runs from now on, or stops.
    pub(super) fn run_budget(&mut self, now_ns: u64, runs: bool) {
        let budget = self.job.as_mut().and_then(|job| job.budget.as_mut());
        if let Some(budget) = budget {
            let now = Instant::from_ns(now_ns);
            if runs { budget.start(now) } else { budget.stop(now) }
        }
    }
}
