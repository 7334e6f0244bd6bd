// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the runtime derives from a plan: a core's rule, the devices that it watches, how many of its jobs can have
//! begun at one time, and what happens
//! when a component fails.

use std::collections::BTreeSet;

use taut_policy::{
    AfterFailure, Arrival, Flow, LocalRule, LockingProtocol, OnFailure, Overrun, SchedulingPolicy,
};

use crate::{ClassPlan, CorePlan, Plan, ResourcePlan, TaskPlan};

impl Plan {
    /// What happens when a component of a service fails, given by its position; `None` for a component that belongs to
    /// no service.
    pub fn on_failure(&self, service: Option<usize>) -> OnFailure {
        let then = self.on_failure.unwrap_or(AfterFailure::by_default(self.safe_state.is_some()));
        let service = service.and_then(|at| self.services.get(at));
        service.and_then(|service| service.on_failure).unwrap_or(OnFailure::never(then))
    }

    /// The rule of a core: if one of its tasks uses a resource under deadline floors, all of its resources have
    /// deadline floors.
    pub fn local_rule(&self, core: &CorePlan) -> LocalRule {
        let here =
            |user: &String| self.task(user).and_then(|task| self.cpu_of(&self.tasks[task])) == Some(core.cpu);
        let floors = self.resources.iter().filter(|resource| resource.protocol == LockingProtocol::Dfp);
        LocalRule::of(core.scheduler, floors.into_iter().any(|resource| resource.users.iter().any(here)))
    }

    /// Whether the device thread of its core watches the device that releases a task. The task's own thread waits for the
    /// device if Linux schedules the task and nothing else releases it.
    pub fn is_watched(&self, task: &TaskPlan) -> bool {
        let ClassPlan::RealTime { cpu, arrival, .. } = &task.class else { return false };
        let dispatched = || self.cores.iter().any(|core| core.cpu == *cpu && core.dispatched.is_some());
        arrival.device().is_some() && (!arrival.triggers().is_empty() || dispatched())
    }

    /// The most jobs of a dispatched core that may have begun and not be complete at one time, as its executor counts
    /// them: one for each level of the periodic tasks that never leave the scheduling rule (a level is a priority,
    /// under EDF a relative deadline), and one for each other task, tasks in servers included.
    pub(crate) fn begun_at_once(&self, core: &CorePlan) -> usize {
        let servers = self.servers.iter().filter(|server| server.cpu == core.cpu);
        let served: BTreeSet<_> = servers.flat_map(|server| &server.tasks).collect();
        let (mut levels, mut others) = (BTreeSet::new(), served.len());
        for task in self.tasks.iter().filter(|task| !served.contains(&task.name)) {
            let ClassPlan::RealTime { cpu, priority, deadline, .. } = &task.class else { continue };
            if *cpu != core.cpu {
                continue;
            }
            if self.stays(task) {
                let by_deadline = core.scheduler == SchedulingPolicy::Edf;
                levels.insert(if by_deadline { deadline.as_ns() } else { u64::from(*priority) });
            } else {
                others += 1;
            }
        }
        levels.len() + others
    }

    /// Whether the task never leaves the scheduling rule. Of all such tasks of one level, at most one job has begun at
    /// a time.
    fn stays(&self, task: &TaskPlan) -> bool {
        let ClassPlan::RealTime { arrival, on_overrun, budget, .. } = &task.class else { return false };
        let across = |protocol: LockingProtocol| !protocol.is_local();
        let locks = |at: &ResourcePlan| across(at.protocol) && at.users.contains(&task.name);
        let channels = self.channels.iter().filter(|channel| {
            let reads = channel.readers.iter().any(|reader| reader.name == task.name);
            reads || channel.writer.name == task.name
        });
        matches!(arrival, Arrival::Periodic { .. })
            && budget.is_none()
            && !matches!(on_overrun, Overrun::KillJob | Overrun::Demote)
            && !self.resources.iter().any(locks)
            && channels.into_iter().all(|channel| {
                channel.flow != Flow::Synchronous && !channel.mechanism.locking().is_some_and(across)
            })
    }
}
