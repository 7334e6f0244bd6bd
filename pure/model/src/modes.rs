// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Modes: which services run together, and the application as it is in one of them.
//!
//! A task of no service runs in every mode. A task whose service is not in a mode is *idle* in it: its jobs are still
//! released, because that is how the task learns that its service starts, but they end at once. So an idle task costs
//! its overheads and no execution; it keeps its deadline, its priority, and the ceilings of its resources, which hold
//! for all modes.

use taut_time::Duration;

use crate::{Class, CoreId, ModeId, Model, RealTime, ServiceId, TaskId};

/// Services that run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Its name in the manifest.
    pub name: String,
    /// The services that run in it, as the manifest lists them. The others are stopped.
    pub services: Vec<ServiceId>,
}

/// The execution of a job that ends at once, and the length of each section that it does not enter: the least that a
/// set of tasks can hold.
const AT_ONCE: Duration = Duration::from_ns(1);

impl Model {
    /// The ids of all modes.
    pub fn mode_ids(&self) -> impl Iterator<Item = ModeId> + use<> {
        (0u16..).take(self.modes.len()).map(ModeId)
    }

    /// A mode.
    pub fn mode(&self, id: ModeId) -> &Mode {
        &self.modes[id.index()]
    }

    /// The mode at release 0: the one that the manifest names, otherwise its first one; none without modes.
    pub fn first_mode(&self) -> Option<ModeId> {
        let named = |mode: &ModeId| Some(&self.mode(*mode).name) == self.app.mode.as_ref();
        self.mode_ids().find(named).or(self.mode_ids().next())
    }

    /// Whether a task runs in a mode; otherwise it is idle there.
    pub fn runs_in(&self, task: TaskId, mode: ModeId) -> bool {
        self.task(task).service.is_none_or(|service| self.mode(mode).services.contains(&service))
    }

    /// The same application as it is in one mode, for response times and utilisation: tasks that are idle in it
    /// execute nothing.
    #[must_use]
    pub fn in_mode(&self, mode: ModeId) -> Self {
        let mut changed = self.clone();
        for id in self.task_ids().filter(|id| !self.runs_in(*id, mode)) {
            if let Class::RealTime(task) = &mut changed.tasks[id.index()].class {
                idle(task);
            }
        }
        changed
    }

    /// The same application with the cores and priorities of its real-time tasks and servers fixed: `task` and `server`
    /// give those of each, `None` where they stay open. A priority of 0 stays open, too.
    #[must_use]
    pub fn placed(
        &self,
        task: impl Fn(TaskId) -> Option<(CoreId, u8)>,
        server: impl Fn(usize) -> Option<(CoreId, u8)>,
    ) -> Self {
        let place = |of: &mut RealTime, at: Option<(CoreId, u8)>| {
            let Some((core, priority)) = at else { return };
            of.core = Some(core);
            of.priority = Some(priority).filter(|priority| *priority != 0);
        };
        let mut placed = self.clone();
        for id in self.task_ids() {
            if let Class::RealTime(real_time) = &mut placed.tasks[id.index()].class {
                place(real_time, task(id));
            }
        }
        for (at, of) in placed.servers.iter_mut().enumerate() {
            place(&mut of.as_task, server(at));
        }
        placed
    }
}

/// Makes a task execute nothing. The time for sleeping and waking stays: clients may notify a task that is idle.
fn idle(task: &mut RealTime) {
    task.segments.clear();
    for section in &mut task.sections {
        (section.longest, section.count) = (AT_ONCE, 1);
    }
    let sections = u64::try_from(task.sections.len()).unwrap_or(u64::MAX);
    task.wcet.margin_permille = 0;
    task.wcet.value = AT_ONCE.checked_mul(sections.max(1)).unwrap_or(Duration::MAX);
    task.non_preemptive = Duration::ZERO;
    task.copying = Duration::ZERO;
    task.budget = None;
}
