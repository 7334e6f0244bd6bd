// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};
use taut_time::Duration;

use crate::{Arrival, Cost, Evidence, Overrun, RealTime, Size};

/// A share of a core: a budget per period, at a priority of its own, for tasks that promise nothing or for one that does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name in the manifest.
    pub name: String,
    /// How a budget is lost and comes back.
    pub policy: ServerPolicy,
    /// As its core sees it: a task that uses up the budget (`wcet`) once per `arrival`, and has until its end.
    pub as_task: RealTime,
}

/// How a budget is lost and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerPolicy {
    /// Looks for work when its period begins, and gives up what it does not use then.
    Polling,
    /// Keeps its budget until its period ends.
    Deferrable,
    /// Gets back what it used, a period after.
    Sporadic,
}

impl Server {
    /// How much sooner than a period after the one before a budget can be used: for less urgent tasks that is jitter.
    pub fn back_to_back(&self) -> Duration {
        match self.policy {
            ServerPolicy::Deferrable => self.as_task.arrival.period().saturating_sub(self.as_task.wcet.value),
            ServerPolicy::Polling | ServerPolicy::Sporadic => Duration::ZERO,
        }
    }

    /// C_s.
    pub fn budget(&self) -> Duration {
        self.as_task.wcet.value
    }

    /// T_s.
    pub fn period(&self) -> Duration {
        self.as_task.arrival.period()
    }
}

/// A server as a task, whose core and priority are still open.
pub(crate) fn as_task(budget: Duration, period: Duration) -> RealTime {
    RealTime {
        arrival: Arrival::Periodic { period, offset: Duration::ZERO },
        deadline: period,
        jitter: Duration::ZERO,
        wcet: Cost { value: budget, source: Evidence::Static, margin_permille: 0 },
        non_preemptive: Duration::ZERO,
        sections: Vec::new(),
        segments: Vec::new(),
        server: None,
        core: None,
        priority: None,
        persistent: Size::ZERO,
        release: Size::ZERO,
        on_overrun: Overrun::RunOn,
        budget: None,
        copying: Duration::ZERO,
        waits: crate::Waits::default(),
    }
}
