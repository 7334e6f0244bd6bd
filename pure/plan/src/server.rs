// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};
use taut_policy::ServerPolicy;
use taut_time::Duration;

use crate::{ClassPlan, Plan, TaskPlan};

/// A server: a share of a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServerPlan {
    /// Its name.
    pub name: String,
    /// When it loses its budget and when it gets it back.
    pub policy: ServerPolicy,
    /// The CPU that it runs on.
    pub cpu: u16,
    /// Why that CPU, if the plan chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_reason: Option<String>,
    /// Its priority, 1 to 98.
    pub priority: u8,
    /// Why that priority, if the plan chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_reason: Option<String>,
    /// C_s: the longest time for which its tasks run in a period.
    pub budget: Duration,
    /// T_s.
    pub period: Duration,
    /// R_s: bound on the time from a replenishment until the budget is used up, if there is that much work; none if no
    /// such bound within the period is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Duration>,
    /// Bound on the time from a request of a whole budget until it is served, if nothing is queued ahead of it. For
    /// best-effort tasks the bound counts from the instant at which the thread becomes ready; the server looks for
    /// ready threads once per period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Duration>,
    /// Of the aperiodic task in it: how long its values wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backlog: Vec<BacklogPlan>,
    /// The tasks that run in it.
    pub tasks: Vec<String>,
}

/// A bound for a value that is sent to an aperiodic task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BacklogPlan {
    /// How many values wait in front of it, beside those that a job in progress has taken.
    pub behind: u32,
    /// Bound on the time from its send to the end of the job that takes it.
    pub within: Duration,
}

impl Plan {
    /// The server that a task runs in; none if the task runs in no server.
    pub fn server_of(&self, task: &str) -> Option<&ServerPlan> {
        self.servers.iter().find(|server| server.tasks.iter().any(|other| other == task))
    }

    /// The CPU that a task runs on: that of a real-time task, or that of the server of a best-effort task; none if it
    /// has no server.
    pub fn cpu_of(&self, task: &TaskPlan) -> Option<u16> {
        match &task.class {
            ClassPlan::RealTime { cpu, .. } => Some(*cpu),
            ClassPlan::BestEffort {} => self.server_of(&task.name).map(|server| server.cpu),
        }
    }
}
