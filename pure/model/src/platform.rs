// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::{Aim, Evidence, OnMissingPrivilege, SchedulingPolicy};
use taut_time::{Duration, Size};

/// The machine as the application uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// CPUs owned by real-time tasks, by number; at least one if there is a real-time task.
    pub cores: Vec<u16>,
    /// CPUs for everything else.
    pub housekeeping: Vec<u16>,
    /// The scheduling policy of the cores.
    pub scheduler: SchedulingPolicy,
    /// Memory that the application may lock.
    pub memory: Size,
    /// What the machine adds to every job; named, never silently zero.
    pub overheads: Overheads,
    /// What to do without the privilege for real-time scheduling.
    pub on_missing_privilege: OnMissingPrivilege,
    /// The group to which clients of another user may belong; none: only clients of the same user may attach.
    pub group: Option<String>,
    /// The objective in choosing mechanisms.
    pub minimise: Aim,
    /// What decides which job runs.
    pub executor: Executor,
}

/// What decides which job of a core runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Executor {
    /// Linux where it can enforce everything that the analysis assumes of the core, otherwise taut's dispatcher.
    #[default]
    Auto,
    /// Linux: one thread per task, at the task's priority. Fixed priorities only, without locks, servers and budgets.
    Native,
    /// taut's dispatcher: the scheduling policy that was analysed, on threads.
    Dispatched,
}

impl Executor {
    /// All executors.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Native, Self::Dispatched];

    /// Its word in a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Dispatched => "dispatched",
        }
    }

    /// The executor with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|executor| executor.word() == word)
    }
}

/// What the machine adds to every job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overheads {
    /// From the timer's expiry to the job's first instruction: adds to release jitter.
    pub release: Duration,
    /// One context switch; a job is charged two.
    pub context_switch: Duration,
    /// The longest time for which the kernel keeps a core from its most urgent thread: adds to blocking.
    pub kernel_blocking: Duration,
    /// Acquiring and releasing an uncontended lock; charged to every critical section.
    pub lock: Duration,
    /// Copying 1 KiB of a value that is in none of the core's caches.
    pub copy: Duration,
    /// What the device thread of a core executes each time that it wakes.
    pub device: Duration,
    /// Where these come from.
    pub sources: OverheadSources,
}

/// The source of each of [`Overheads`]; none if the manifest does not state one, so that the value is a default: our
/// guess.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverheadSources {
    /// Of [`Overheads::release`].
    pub release: Option<Evidence>,
    /// Of [`Overheads::context_switch`].
    pub context_switch: Option<Evidence>,
    /// Of [`Overheads::kernel_blocking`].
    pub kernel_blocking: Option<Evidence>,
    /// Of [`Overheads::lock`]. A plan chooses no lock whose cost is not stated; it uses a lock only where the
    /// manifest asks for one.
    pub lock: Option<Evidence>,
    /// Of [`Overheads::copy`].
    pub copy: Option<Evidence>,
    /// Of [`Overheads::device`].
    pub device: Option<Evidence>,
}

impl OverheadSources {
    /// No stated source.
    pub const NONE: Self = Self {
        release: None,
        context_switch: None,
        kernel_blocking: None,
        lock: None,
        copy: None,
        device: None,
    };
}

impl Overheads {
    /// Each overhead with its key in a manifest and its source.
    pub fn each(&self) -> [(&'static str, Duration, Option<Evidence>); 6] {
        let of = &self.sources;
        [
            ("release", self.release, of.release),
            ("context-switch", self.context_switch, of.context_switch),
            ("kernel-blocking", self.kernel_blocking, of.kernel_blocking),
            ("lock", self.lock, of.lock),
            ("copy", self.copy, of.copy),
            ("device", self.device, of.device),
        ]
    }

    /// The time to copy a value of this many bytes; rounded up, at least 1 ns. `None` on overflow.
    pub fn copying(&self, bytes: u32) -> Option<Duration> {
        let time = u128::from(self.copy.as_ns()) * u128::from(bytes);
        u64::try_from(time.div_ceil(1_024)).ok().map(|ns| Duration::from_ns(ns.max(1)))
    }
}
