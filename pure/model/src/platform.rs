// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};
use taut_time::Duration;

use crate::Size;

/// The machine as the application uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// CPUs owned by real-time tasks, by number; at least one if there is a real-time task.
    pub cores: Vec<u16>,
    /// CPUs for everything else.
    pub housekeeping: Vec<u16>,
    /// The scheduling policy of the cores.
    pub scheduler: Scheduler,
    /// Memory that the application may lock.
    pub memory: Size,
    /// What the machine adds to every job; named, never silently zero.
    pub overheads: Overheads,
    /// What to do without the privilege to be real-time.
    pub on_missing_privilege: OnMissingPrivilege,
    /// The group that clients of another user may belong to; none: the same user only.
    pub group: Option<String>,
}

/// The scheduling policy of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Fixed priority, preemptive.
    #[serde(rename = "fp")]
    FixedPriority,
    /// Earliest deadline first, preemptive.
    Edf,
}

/// What the machine adds to every job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// From the timer's expiry to the job's first instruction: adds to release jitter.
    pub release: Duration,
    /// One context switch; a job is charged two.
    pub context_switch: Duration,
    /// Longest time that the kernel keeps a core from its most urgent thread: adds to blocking.
    pub kernel_blocking: Duration,
    /// Taking a lock and giving it back, when nobody waits; every critical section is charged it.
    pub lock: Duration,
}

/// What to do without the privilege to be real-time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnMissingPrivilege {
    /// Refuse to start.
    Fail,
    /// Start without the guarantee, and say which one is missing.
    Degrade,
}
