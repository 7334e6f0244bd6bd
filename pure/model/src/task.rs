// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::ops::{Deref, DerefMut};

use taut_policy::{Arrival, Evidence, EvidenceFile, HeapPolicy, Overrun};
use taut_time::Duration;

use crate::{ChannelId, CoreId, Section, Segment, ServiceId, Size};

/// A recurring activity of the application: a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its name in the manifest.
    pub name: String,
    /// Whether it has a deadline, and its parameters.
    pub class: Class,
    /// The service that it starts, pauses and stops with; none if it stands alone.
    pub service: Option<ServiceId>,
}

/// Whether a task has a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "most tasks are real-time, and all are few")]
pub enum Class {
    /// Its response time is bounded and its deadline proven.
    RealTime(RealTime),
    /// An ordinary thread on a housekeeping core; it may allocate and block.
    BestEffort(BestEffort),
}

/// The parameters of a real-time task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealTime {
    /// When jobs arrive.
    pub arrival: Arrival<ChannelId>,
    /// What the manifest states of it alone; read as if they were fields of this type.
    pub stated: Stated,
    /// The recordings in which its execution time was measured, as the manifest states them.
    pub evidence: Vec<EvidenceFile>,
    /// Its critical sections, at most one entry per resource; those of its segments, if it has any.
    pub sections: Vec<Section>,
    /// The segments of a job, in order, without the margin; empty if the manifest does not give them. The rest of the
    /// execution time comes last. Resources are positions in [`crate::Model::resources`].
    pub segments: Vec<Segment>,
    /// The server in which only this task runs: a position in [`crate::Model::servers`]. Core and priority are then
    /// the server's, and `core` and `priority` are `None`.
    pub server: Option<usize>,
    /// The core; `None` lets the plan choose.
    pub core: Option<CoreId>,
    /// 1 to [`PRIORITY_MAX`](crate::PRIORITY_MAX), larger = more urgent; `None` lets the plan choose.
    pub priority: Option<u8>,
    /// The time that a job spends on copies in the mechanisms of its states beyond the one per access that the
    /// execution time includes; 0 until [`crate::Model::decided`] sets the mechanisms.
    pub copying: Duration,
    /// The waiting and the cost that synchronous flows add; zero until [`crate::Model::waiting`] sets them.
    pub waits: Waits,
}

/// What a manifest states of a real-time task without naming anything else: the same in a draft and in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// Relative deadline D, more than 0. It is longer than T only with [`Overrun::RunOn`]: then a job may wait for
    /// the previous one. Of an aperiodic task it counts from the send of a value that the channel takes, whatever waits
    /// there; [`NO_DEADLINE`] if none is stated.
    pub deadline: Duration,
    /// Release jitter J: the longest time from an arrival to its release.
    pub jitter: Duration,
    /// Execution time and its source.
    pub wcet: Cost,
    /// The longest time for which a more urgent task on the core must wait for this task, 0 if it is preemptible
    /// throughout.
    pub non_preemptive: Duration,
    /// Memory that lives as long as the task (or its service).
    pub persistent: Size,
    /// Memory from which a job allocates; it is empty again for the next job.
    pub release: Size,
    /// The most of the heap that the set-up of its component may leave in use. `None` sets no bound.
    pub set_up: Option<Size>,
    /// What happens when a release falls due while the previous job still runs, or when a job exhausts its budget.
    pub on_overrun: Overrun,
    /// How long a job may execute before it overruns, at least C. `None` sets no limit but the next release.
    pub budget: Option<Duration>,
    /// What it means if a job uses the heap.
    pub heap: HeapPolicy,
}

/// The deadline of an aperiodic task that states none.
pub const NO_DEADLINE: Duration = Duration::MAX;

impl Stated {
    /// A task of which nothing else is stated: preemptible, released on time, without scopes and without a budget. Its
    /// late jobs run on, and it does not use the heap.
    pub const fn new(deadline: Duration, wcet: Cost) -> Self {
        Self {
            deadline,
            jitter: Duration::ZERO,
            wcet,
            non_preemptive: Duration::ZERO,
            persistent: Size::ZERO,
            release: Size::ZERO,
            set_up: None,
            on_overrun: Overrun::RunOn,
            budget: None,
            heap: HeapPolicy::Deny,
        }
    }
}

impl Deref for RealTime {
    type Target = Stated;

    fn deref(&self) -> &Stated {
        &self.stated
    }
}

impl DerefMut for RealTime {
    fn deref_mut(&mut self) -> &mut Stated {
        &mut self.stated
    }
}

impl RealTime {
    /// C: the execution time with its margin, the copying beyond it, and the cost of waiting and of waking others;
    /// `None` on overflow.
    pub fn cost(&self) -> Option<Duration> {
        self.wcet.bound()?.checked_add(self.copying)?.checked_add(self.waits.switching)
    }

    /// The longest time from an arrival until the job can start if nothing else runs: its release jitter, or the time
    /// until its input is there, whichever is longer.
    pub fn delay(&self) -> Duration {
        self.jitter.max(self.waits.by)
    }
}

/// A task without a deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BestEffort {
    /// The least time between two of its activations, if it guarantees one; it bounds what the task sends.
    pub min_gap: Option<Duration>,
    /// The name of the server in which it runs, on a real-time core; none for an ordinary thread on a housekeeping
    /// core.
    pub server: Option<String>,
}

/// An execution time with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The value in the manifest.
    pub value: Duration,
    /// The source of the value.
    pub source: Evidence,
    /// Safety margin in thousandths of the value.
    pub margin_permille: u32,
}

impl Cost {
    /// C: the value with its margin, rounded up; `None` on overflow.
    pub fn bound(&self) -> Option<Duration> {
        self.with_margin(self.value)
    }

    /// A part of the execution time with the margin of the whole, rounded up; `None` on overflow.
    pub fn with_margin(&self, part: Duration) -> Option<Duration> {
        let extra = u128::from(part.as_ns()) * u128::from(self.margin_permille);
        let extra = u64::try_from(extra.div_ceil(1_000)).ok()?;
        part.checked_add(Duration::from_ns(extra))
    }
}

/// The waiting and the cost that synchronous flows add to a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The longest time from an arrival until the job's input is there; the job starts no earlier.
    pub by: Duration,
    /// The channel that causes the longest wait; none if the task does not wait.
    pub of: Option<ChannelId>,
    /// Added to the cost of each job: sleeping and waking up, and waking others.
    pub switching: Duration,
}
