// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::ServerPolicy;
use taut_time::Duration;

use crate::{Arrival, Cost, Evidence, RealTime, Stated};

/// A share of a core: a budget per period, at a priority of its own, for best-effort tasks or for one real-time task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name in the manifest.
    pub name: String,
    /// How a budget is lost and replenished.
    pub policy: ServerPolicy,
    /// The server as a task of its core: it uses up the budget (`wcet`) once per `arrival`, and its deadline is the
    /// period's end.
    pub as_task: RealTime,
}

impl Server {
    /// By how much the time between two uses of the budget can be shorter than the period. Less urgent tasks see it
    /// as jitter.
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
        stated: Stated::new(period, Cost { value: budget, source: Evidence::Static, margin_permille: 0 }),
        evidence: Vec::new(),
        sections: Vec::new(),
        segments: Vec::new(),
        server: None,
        core: None,
        priority: None,
        copying: Duration::ZERO,
        waits: crate::Waits::default(),
    }
}
