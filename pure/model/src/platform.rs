// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};
use taut_time::Duration;

use crate::{Evidence, Size};

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
    /// What mechanisms are chosen for.
    pub minimise: Aim,
    /// Who decides which job runs.
    pub executor: Executor,
}

/// Who decides which job of a core runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// Linux where it can do all that is proven of the core, and a dispatcher of ours elsewhere.
    #[default]
    Auto,
    /// Linux: a thread per task at its priority. Under fixed priorities, without locks, servers and budgets.
    Native,
    /// A dispatcher of ours: the rule that was analysed, on threads.
    Dispatched,
}

impl Executor {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Native, Self::Dispatched];

    /// The word that stands for it in a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Dispatched => "dispatched",
        }
    }

    /// What a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|executor| executor.word() == word)
    }
}

/// What mechanisms are chosen for, among those that keep every deadline and every chain; ties go to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Least memory; then slack, then response.
    #[default]
    Memory,
    /// The least sum of R / D over all tasks; then memory.
    Response,
    /// The greatest least (D − R) / D of any task; then memory.
    Slack,
}

impl Aim {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Response, Self::Slack];

    /// The word that stands for it in a manifest and on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Response => "response",
            Self::Slack => "slack",
        }
    }

    /// What a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aim| aim.word() == word)
    }
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
    /// Copying 1 KiB of a value that no cache of the core holds.
    pub copy: Duration,
    /// Where these come from.
    pub sources: OverheadSources,
}

/// Where each of [`Overheads`] comes from; none if nobody stated it, so that it is a default: a guess of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverheadSources {
    /// Of [`Overheads::release`].
    pub release: Option<Evidence>,
    /// Of [`Overheads::context_switch`].
    pub context_switch: Option<Evidence>,
    /// Of [`Overheads::kernel_blocking`].
    pub kernel_blocking: Option<Evidence>,
    /// Of [`Overheads::lock`]. Of a lock whose cost nobody stated none is chosen: it only is taken where it is asked for.
    pub lock: Option<Evidence>,
    /// Of [`Overheads::copy`].
    pub copy: Option<Evidence>,
}

impl OverheadSources {
    /// Nobody stated any.
    pub const NONE: Self =
        Self { release: None, context_switch: None, kernel_blocking: None, lock: None, copy: None };
}

impl Overheads {
    /// Each by its key in a manifest, with where it comes from.
    pub fn each(&self) -> [(&'static str, Duration, Option<Evidence>); 5] {
        let of = &self.sources;
        [
            ("release", self.release, of.release),
            ("context-switch", self.context_switch, of.context_switch),
            ("kernel-blocking", self.kernel_blocking, of.kernel_blocking),
            ("lock", self.lock, of.lock),
            ("copy", self.copy, of.copy),
        ]
    }

    /// How long copying a value of so many bytes takes; rounded up, 1 ns at least. `None` on overflow.
    pub fn copying(&self, bytes: u32) -> Option<Duration> {
        let time = u128::from(self.copy.as_ns()) * u128::from(bytes);
        u64::try_from(time.div_ceil(1_024)).ok().map(|ns| Duration::from_ns(ns.max(1)))
    }
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
