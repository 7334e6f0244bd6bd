// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times with known phases: the tasks of a core that have a common start become transactions with offsets.
//!
//! Tasks of [`ArrivalPattern::Phased`] keep the distances that their offsets give them, for ever. They form one
//! transaction of the length of their hyperperiod, with an activity for each job in it. That loses only one thing:
//! two jobs of one task count against each other as equally urgent. If the hyperperiod holds more than
//! `ACTIVITIES_MAX` jobs, the tasks of each period form a transaction, as if the phases between transactions were
//! free. Every other task, the platform probe and each device is a transaction of its own: its phase is free.

use taut_model::ArrivalPattern;
use taut_time::Duration;

use super::{AnalysedCore, Bound, BoundTerm, Term};
use crate::uni::fp::offsets::{self, Activity, ActivityPosition, OffsetTheorem, Transaction};
use crate::{Assumption, Overflow, Verdict, Why};

/// The most jobs of a hyperperiod that are analysed one by one.
const ACTIVITIES_MAX: u64 = 60;

/// The most scenarios of an exact answer; with more, the answer is only sufficient.
const SCENARIOS_MAX: u64 = 1_000;

/// Transactions, and the activities that are a task's jobs.
struct Phases {
    transactions: Vec<Transaction>,
    /// By task, then the probe, then the devices.
    jobs: Vec<Vec<ActivityPosition>>,
}

impl AnalysedCore {
    /// Bounds the response time of a task with its known phases. Less robust than [`AnalysedCore::response`]: without a
    /// common start the bound says nothing. Its `from_release` is equal to its `from_arrival`.
    ///
    /// # Errors
    /// [`Overflow`] if a window does not fit in 64 bits.
    pub fn response_in_phase(&self, task: usize) -> Result<Verdict<Bound>, Overflow> {
        if self.charged.iter().any(|task| task.period.is_zero()) {
            return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
        }
        let Phases { mut transactions, jobs } = self.phases()?;
        let higher: Vec<usize> = self.higher(task).collect();
        let (subject, ..) = self.question(task, &higher)?;
        let mut worst = Duration::ZERO;
        for &job in &jobs[task] {
            let activity = &mut transactions[job.transaction].activities[job.activity];
            let offset = activity.offset;
            activity.blocking = subject.blocking;
            activity.deadline = offset.checked_add(subject.deadline).ok_or(Overflow)?;
            let found = match offsets::response(OffsetTheorem::Exact(SCENARIOS_MAX), &transactions, job)? {
                Verdict::NotApplicable(Assumption::FewScenarios) => {
                    offsets::response(OffsetTheorem::Slanted, &transactions, job)?
                }
                found => found,
            };
            let response = |r: &offsets::ActivityResponse| r.from_event.saturating_sub(offset);
            match found {
                Verdict::Schedulable(r) => worst = worst.max(response(&r)),
                Verdict::Unschedulable(r) | Verdict::NotShown(Why::Passes(r)) => {
                    return Ok(Verdict::NotShown(Why::Passes(self.bound_in_phase(task, response(&r)))));
                }
                other => return Ok(other.map(|r| self.bound_in_phase(task, response(&r)))),
            }
        }
        Ok(Verdict::Schedulable(self.bound_in_phase(task, worst)))
    }

    /// Whether phases can make a difference on this core: at least two tasks have known ones.
    pub fn has_phases(&self) -> bool {
        self.tasks.iter().filter(|task| matches!(task.arrivals, ArrivalPattern::Phased(_))).count() > 1
    }

    fn phases(&self) -> Result<Phases, Overflow> {
        let common = self.common_period().map(|(common, _)| common);
        let mut phases = Phases { transactions: Vec::new(), jobs: Vec::with_capacity(self.charged.len()) };
        for (at, charged) in self.charged.iter().enumerate() {
            let priority = self.tasks.get(at).map_or(u32::MAX, |task| task.priority.into());
            let offset = match charged.arrivals {
                ArrivalPattern::Phased(offset) => {
                    Some(Duration::from_ns(offset.as_ns() % charged.period.as_ns()))
                }
                ArrivalPattern::Periodic | ArrivalPattern::Sporadic | ArrivalPattern::Driven => None,
            };
            // 1. Its transaction: one per period.
            let period = common.filter(|_| offset.is_some()).unwrap_or(charged.period);
            let same = |t: &Transaction| t.periodic && t.period == period;
            let found = phases.transactions.iter().position(same).filter(|_| offset.is_some());
            let transaction = found.unwrap_or_else(|| {
                let periodic = offset.is_some();
                phases.transactions.push(Transaction { period, periodic, activities: Vec::new() });
                phases.transactions.len() - 1
            });
            // 2. Its jobs in that transaction.
            let activities = &mut phases.transactions[transaction].activities;
            let mut jobs = Vec::new();
            let mut next = offset.unwrap_or(Duration::ZERO);
            while next < period || jobs.is_empty() {
                jobs.push(ActivityPosition { transaction, activity: activities.len() });
                activities.push(Activity {
                    cost: charged.cost,
                    cost_least: Duration::ZERO,
                    priority,
                    offset: next,
                    jitter: charged.jitter,
                    blocking: Duration::ZERO,
                    deadline: Duration::MAX,
                });
                next = next.checked_add(charged.period).ok_or(Overflow)?;
            }
            phases.jobs.push(jobs);
        }
        Ok(phases)
    }

    /// How many jobs of tasks with known phases are in their hyperperiod; none if those are too many to analyse one
    /// by one. The cost of an answer rises with the third power of this number.
    pub fn jobs_in_phase(&self) -> Option<u64> {
        self.common_period().map(|(_, jobs)| jobs)
    }

    /// The hyperperiod of all tasks with known phases, and the number of jobs in it, if those are few enough.
    fn common_period(&self) -> Option<(Duration, u64)> {
        let phased = || self.charged.iter().filter(|task| matches!(task.arrivals, ArrivalPattern::Phased(_)));
        let mut common = 1u64;
        for task in phased() {
            let (mut a, mut b) = (common, task.period.as_ns());
            while b != 0 {
                (a, b) = (b, a % b);
            }
            common = (common / a).checked_mul(task.period.as_ns())?;
        }
        let mut jobs = phased().map(|task| common / task.period.as_ns());
        let count = jobs.try_fold(0u64, u64::checked_add)?;
        (count <= ACTIVITIES_MAX).then_some((Duration::from_ns(common), count))
    }

    /// R in terms. They do not say whose jobs are in the worst window: each scenario has other ones.
    fn bound_in_phase(&self, task: usize, response: Duration) -> Bound {
        let cost = self.tasks[task].cost.min(response);
        let switches = self.charged[task].cost.saturating_sub(self.tasks[task].cost);
        let switches = switches.min(response.saturating_sub(cost));
        let rest = response.saturating_sub(cost).saturating_sub(switches);
        let mut terms = vec![
            Term { kind: BoundTerm::Own, count: None, time: cost },
            Term { kind: BoundTerm::InPhase, count: None, time: rest },
            Term { kind: BoundTerm::Switches, count: Some(2), time: switches },
        ];
        terms.retain(|term| !term.time.is_zero() || term.kind == BoundTerm::Own);
        Bound { from_release: response, from_arrival: response, terms }
    }
}
