// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_model::{Scheduler, TaskSet};
use taut_time::Duration;

/// The scheduler of a core, with its rule for local resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreRule {
    /// Fixed priority, immediate ceiling.
    Immediate,
    /// Fixed priority, priority ceiling with inheritance.
    Original,
    /// EDF, stack resource policy.
    Srp,
    /// EDF, stack resource policy on one list: wrong for nested locks.
    SrpList,
    /// EDF, deadline floor. If no jitter is given, it is the longest of the core's tasks.
    Dfp {
        /// J of the floor.
        jitter: Option<Duration>,
    },
    /// EDF, deadline floor that counts from the next release not yet reported to the rule, not from the clock: so it
    /// holds however late releases are reported. For a sporadic task this is the earliest possible one.
    DfpNext,
}

impl CoreRule {
    pub(crate) fn bears_suspension(self) -> bool {
        matches!(self, Self::Immediate | Self::Original | Self::Srp)
    }
}

/// The rule for a resource that several cores use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalRule {
    /// Tasks spin in order of request, pinned. Also FMLP for short resources.
    Msrp,
    /// Tasks suspend by priority; the holder is boosted to a ceiling.
    Mpcp,
    /// Tasks suspend in order of request; the holder is boosted.
    FmlpLong,
}

/// The rules of a run. They determine how a core is scheduled, whatever the set says: so one set can run under
/// several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The rule of each core.
    pub cores: Vec<CoreRule>,
    /// The rule of each resource; without meaning for local ones.
    pub resources: Vec<GlobalRule>,
}

impl Rules {
    /// The default rule of each core's scheduler, and one rule for all global resources.
    pub fn of(set: &TaskSet, global: GlobalRule) -> Self {
        let rule = |scheduler: &Scheduler| match scheduler {
            Scheduler::FixedPriority => CoreRule::Immediate,
            Scheduler::Edf => CoreRule::Srp,
        };
        Self { cores: set.cores().iter().map(rule).collect(), resources: vec![global; set.resources().len()] }
    }

    /// One rule for all cores, and one for all global resources.
    pub fn all(set: &TaskSet, core: CoreRule, global: GlobalRule) -> Self {
        Self { cores: vec![core; set.cores().len()], ..Self::of(set, global) }
    }
}

/// Why a set cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is not one rule per core.
    Cores,
    /// There is not one rule per resource.
    Resources,
    /// Tasks of this core may suspend, which its rule does not allow: only [`CoreRule::Immediate`],
    /// [`CoreRule::Original`] and [`CoreRule::Srp`] do.
    Suspends {
        /// The core.
        core: usize,
    },
    /// A task's limit is not valid: there is no such task, its budget is 0, or its jobs would be demoted under
    /// [`CoreRule::SrpList`].
    Limit {
        /// The task.
        task: usize,
    },
    /// There are too many tasks, or sections of jobs.
    TooMany,
    /// Times do not fit in 64 bits.
    Overflow,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cores => f.write_str("there must be one rule per core"),
            Self::Resources => f.write_str("there must be one rule per resource"),
            Self::Suspends { core } => {
                write!(f, "tasks of core {core} may be suspended, which its rule does not bear")
            }
            Self::Limit { task } => write!(f, "task {task} cannot have that limit"),
            Self::TooMany => f.write_str("too many tasks or sections"),
            Self::Overflow => f.write_str("times that do not fit in 64 bits"),
        }
    }
}

impl core::error::Error for Fault {}
