// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A core of a bench: the local rule of the plan decides which of its tasks runs, as in the simulator and in a
//! dispatcher. Jobs execute for virtual time, hold nothing while they do, and may be preempted.

use taut_plan::{ClassPlan, CorePlan, Plan};
use taut_policy::{AnyLocal, AnyQueue, Attributes, Background, Scheduler, any_queue};
use taut_time::{Duration, Instant};

use super::refused;
use crate::Error;

/// A core with its ready jobs.
pub(super) struct Core {
    rule: AnyLocal,
    background: Background<AnyQueue>,
    /// The core's tasks, as positions among those of the bench.
    pub(super) tasks: Vec<usize>,
    /// The task that runs, and since when (ns).
    pub(super) running: Option<(usize, u64)>,
}

impl Core {
    /// A core of the plan; `in_plan` are its tasks, by position in the plan.
    pub(super) fn new(plan: &Plan, core: &CorePlan, in_plan: &[usize]) -> Result<Self, Error> {
        let (mut priorities, mut deadlines) = (Vec::new(), Vec::new());
        for &task in in_plan {
            if let ClassPlan::RealTime { priority, deadline, .. } = &plan.tasks[task].class {
                priorities.push(u32::from(*priority));
                deadlines.push(*deadline);
            }
        }
        let of = Attributes {
            priorities: &priorities,
            deadlines: &deadlines,
            // Sections take no time, so jobs never hold anything when the rule decides.
            ceilings: &[],
            floors: &[],
            jitter: Duration::ZERO,
        };
        let rule = AnyLocal::new(plan.local_rule(core), of).map_err(refused)?;
        let background = Background::new(any_queue(in_plan.len()));
        Ok(Self { rule, background, tasks: Vec::new(), running: None })
    }

    /// A job of a task becomes ready.
    pub(super) fn release(&mut self, local: usize, arrival_ns: u64) -> Result<(), Error> {
        self.rule.release(local, Instant::from_ns(arrival_ns)).map_err(refused)
    }

    /// The running job is over.
    pub(super) fn complete(&mut self) -> Result<(), Error> {
        self.running = None;
        self.background.complete(&mut self.rule).map(drop).map_err(refused)
    }

    /// The task that runs from now on, as a position among those of the bench. A job that `sinks` runs below all others.
    pub(super) fn decide(&mut self, sinks: impl Fn(usize) -> bool) -> Option<usize> {
        let tasks = &self.tasks;
        let chosen = self.background.decide_leaving(&mut self.rule, |local| sinks(tasks[local]));
        chosen.map(|local| self.tasks[local])
    }
}
