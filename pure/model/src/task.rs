// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};
use taut_time::Duration;

use crate::{ChannelId, CoreId, Section, Segment, ServiceId, Size, Waits};

/// The most urgent priority of a task. SCHED_FIFO on Linux has 1 to 99, sched(7); 99 is the platform probe's, which
/// must be above every task to tell a stall of the machine from one of the application.
pub const PRIORITY_MAX: u8 = 98;

/// A recurring activity of ours: a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name in the manifest.
    pub name: String,
    /// What is promised about it.
    pub class: Class,
    /// The service that it starts, pauses and stops with; none if it stands alone.
    pub service: Option<ServiceId>,
}

/// Whether a task has a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Its response time is bounded and its deadline proven.
    RealTime(RealTime),
    /// An ordinary thread on a housekeeping core; it may allocate and block.
    BestEffort(BestEffort),
}

/// The promise of a real-time task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealTime {
    /// When jobs arrive.
    pub arrival: Arrival,
    /// Relative deadline D, more than 0. Longer than T only with [`Overrun::RunOn`]: then jobs may wait for the one
    /// before.
    pub deadline: Duration,
    /// Release jitter J: the longest time from an arrival to its release.
    pub jitter: Duration,
    /// Execution time and where it comes from.
    pub wcet: Cost,
    /// Longest stretch that a more urgent task on the core must wait for, 0 if preemptible throughout.
    pub non_preemptive: Duration,
    /// Its critical sections, at most one entry per resource; those of its segments, if it has some.
    pub sections: Vec<Section>,
    /// What a job does, in order, without the margin; empty if that is not said. What of the execution time is left
    /// comes last. Resources are positions in [`crate::Model::resources`].
    pub segments: Vec<Segment>,
    /// The server that it runs in, alone: a position in [`crate::Model::servers`]. Then core and priority are the
    /// server's, and `core` and `priority` are `None`.
    pub server: Option<usize>,
    /// The core; `None` lets the plan choose.
    pub core: Option<CoreId>,
    /// 1 to [`PRIORITY_MAX`], larger = more urgent; `None` lets the plan choose.
    pub priority: Option<u8>,
    /// Memory that lives as long as the task (or its service).
    pub persistent: Size,
    /// Memory that a job allocates from and that is empty again at the next.
    pub release: Size,
    /// What happens when a release falls due while the previous job still runs, or when a job has used up its budget.
    pub on_overrun: Overrun,
    /// How long a job may execute, at least C; then it overruns. `None` sets no limit but the next release.
    pub budget: Option<Duration>,
    /// What the mechanisms of its states copy in a job beyond once per access, which the execution time includes; 0
    /// until they are decided: [`crate::Model::decided`].
    pub copying: Duration,
    /// What synchronous flows make it wait and take; nothing until that is known: [`crate::Model::waiting`].
    pub waits: Waits,
}

impl RealTime {
    /// C: the execution time with its margin, what is copied beyond it, and what it takes to wait and to wake others;
    /// `None` on overflow.
    pub fn cost(&self) -> Option<Duration> {
        self.wcet.bound()?.checked_add(self.copying)?.checked_add(self.waits.switching)
    }

    /// The longest time from an arrival until the job can begin, if nothing else runs: its release jitter, or until what
    /// it reads is there.
    pub fn delay(&self) -> Duration {
        self.jitter.max(self.waits.by)
    }
}

/// A task without a deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BestEffort {
    /// The least time between two of its activations, if it promises one; bounds what it sends.
    pub min_gap: Option<Duration>,
    /// The name of the server that it runs in, on a real-time core; none for an ordinary thread on a housekeeping core.
    pub server: Option<String>,
}

/// When jobs arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// At `offset + k · period` after release 0.
    Periodic {
        /// T.
        period: Duration,
        /// The first arrival.
        offset: Duration,
    },
    /// At most one per `min_gap`, which the runtime enforces; a receiver.
    Sporadic {
        /// T: the least time between two releases.
        min_gap: Duration,
        /// The channel whose values release it.
        trigger: ChannelId,
    },
}

impl Arrival {
    /// T: the period, or the least time between two releases.
    pub fn period(&self) -> Duration {
        match self {
            Self::Periodic { period, .. } => *period,
            Self::Sporadic { min_gap, .. } => *min_gap,
        }
    }
}

/// An execution time with its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// As stated.
    pub value: Duration,
    /// Where it comes from.
    pub source: Evidence,
    /// Safety margin in thousandths of the value.
    pub margin_permille: u32,
}

impl Cost {
    /// C: the value with its margin, rounded up; `None` on overflow.
    pub fn bound(&self) -> Option<Duration> {
        self.with_margin(self.value)
    }

    /// A part of the execution with the margin of the whole, rounded up; `None` on overflow.
    pub fn with_margin(&self, part: Duration) -> Option<Duration> {
        let extra = u128::from(part.as_ns()) * u128::from(self.margin_permille);
        let extra = u64::try_from(extra.div_ceil(1_000)).ok()?;
        part.checked_add(Duration::from_ns(extra))
    }
}

/// Where an execution time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The largest of many runs.
    Measured,
    /// A static analysis.
    Static,
    /// Nobody measured it.
    Guess,
}

/// What happens when a release falls due while the previous job still runs, or when a job has used up its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overrun {
    /// The late job goes on; the next starts right after it.
    RunOn,
    /// The late job goes on; releases that fell due meanwhile are dropped.
    SkipNext,
    /// The late job is ended at a safe point.
    KillJob,
    /// The application stops.
    StopApp,
    /// The late job goes on when nothing else of its core does; releases that fall due meanwhile are dropped.
    Demote,
}

impl Overrun {
    /// Whether it needs somebody who may take a job off its core.
    pub fn needs_dispatcher(self) -> bool {
        matches!(self, Self::KillJob | Self::Demote)
    }
}
