// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which rule a core or a resource follows: the words of manifests and plans, and the rules that simulations and
//! executors run.

use taut_time::Duration;

/// The scheduling policy of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SchedulingPolicy {
    /// Fixed priority, preemptive.
    #[cfg_attr(feature = "serde", serde(rename = "fp"))]
    FixedPriority,
    /// Earliest deadline first, preemptive.
    Edf,
}

/// A locking protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum LockingProtocol {
    /// A job takes the resource's ceiling at once: the immediate ceiling protocol under fixed priority, the stack
    /// resource policy under EDF. Tasks of one core.
    Srp,
    /// The deadline floor protocol. Tasks of one core, under EDF.
    Dfp,
    /// Waiters spin in FIFO order, without preemption. Tasks of several cores.
    Msrp,
    /// Waiters suspend in priority order; holders run above all other jobs. Tasks of several cores, under fixed
    /// priority.
    Mpcp,
    /// Waiters suspend in FIFO order; holders run above all other jobs. Tasks of several cores, under fixed priority.
    FmlpPlus,
}

impl LockingProtocol {
    /// The name as its paper prints it.
    pub fn paper_name(self) -> &'static str {
        match self {
            Self::Srp => "SRP",
            Self::Dfp => "DFP",
            Self::Msrp => "MSRP",
            Self::Mpcp => "MPCP",
            Self::FmlpPlus => "FMLP+",
        }
    }

    /// The rule for a resource of several cores; `None` if the protocol is for resources of one core.
    pub const fn global(self) -> Option<GlobalRule> {
        match self {
            Self::Srp | Self::Dfp => None,
            Self::Msrp => Some(GlobalRule::Msrp),
            Self::Mpcp => Some(GlobalRule::Mpcp),
            Self::FmlpPlus => Some(GlobalRule::FmlpLong),
        }
    }
}

/// How a core schedules its jobs, and guards the resources that only they use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalRule {
    /// Fixed priorities, immediate ceilings: [`Immediate`](crate::ceiling::Immediate). Without resources: fixed
    /// priorities.
    Immediate,
    /// Fixed priorities, the priority ceiling protocol with inheritance: [`Original`](crate::ceiling::Original). A
    /// job may wait at each lock.
    Original,
    /// Earliest deadline first, the stack resource policy: [`Srp`](crate::Srp). Without resources: earliest deadline
    /// first.
    Srp,
    /// Earliest deadline first, deadline floors that count from the next arrival that the caller has not reported:
    /// [`Dfp`](crate::Dfp). So the floors hold however late releases are reported. For a sporadic task, the next
    /// arrival is the earliest possible one.
    Dfp,
    /// As `Dfp`, but the floors count from the clock, as published. They hold only if no release is reported later
    /// than a known time after its arrival: in simulations, not on a machine.
    DfpByClock {
        /// That time; `None` takes [`Attributes::jitter`](crate::Attributes::jitter).
        jitter: Option<Duration>,
    },
}

impl LocalRule {
    /// The rule of a core under `scheduling`; under EDF with deadline floors if `floors`.
    pub const fn of(scheduling: SchedulingPolicy, floors: bool) -> Self {
        match scheduling {
            SchedulingPolicy::FixedPriority => Self::Immediate,
            SchedulingPolicy::Edf if floors => Self::Dfp,
            SchedulingPolicy::Edf => Self::Srp,
        }
    }

    /// Whether its guarantee holds on a machine, where no bound is known on how late a release is reported.
    pub const fn is_for_machines(self) -> bool {
        !matches!(self, Self::DfpByClock { .. })
    }
}

/// How jobs wait for a resource that tasks of several cores use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalRule {
    /// Jobs spin in order of request, and no job of their core preempts one that asks for or holds the resource. Also
    /// FMLP for short resources.
    Msrp,
    /// Jobs are suspended while they wait; the most urgent waiter is next. A holder runs before all jobs of its core,
    /// by its ceiling.
    Mpcp,
    /// Jobs are suspended while they wait, in order of request. A holder runs before all jobs of its core. FMLP for
    /// long resources; FMLP+.
    FmlpLong,
}
