// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_model::{Scheduler, TaskSet};
use taut_time::Duration;

/// What schedules a core and guards its local resources.
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
    /// EDF, deadline floor. Its jitter is the longest of the core's tasks if it is not given.
    Dfp {
        /// J of the floor.
        jitter: Option<Duration>,
    },
    /// EDF, deadline floor that counts from the next release that the rule has not been told of, not from the clock: so
    /// it holds however late releases are told. Of a sporadic task that is the least that it can be.
    DfpNext,
}

impl CoreRule {
    pub(crate) fn bears_suspension(self) -> bool {
        matches!(self, Self::Immediate | Self::Original | Self::Srp)
    }
}

/// What guards a resource that several cores use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalRule {
    /// Spin in order of request, pinned. Also FMLP for short resources.
    Msrp,
    /// Suspended by priority, boosted to a ceiling.
    Mpcp,
    /// Suspended in order of request, boosted.
    FmlpLong,
}

/// The rules of a run. They say what schedules a core, whatever the set says: so one set can be run under several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Per core.
    pub cores: Vec<CoreRule>,
    /// Per resource; of no meaning for local ones.
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

/// Why a set cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is not one rule per core.
    Cores,
    /// There is not one rule per resource.
    Resources,
    /// Tasks of this core may be suspended, which its rule does not bear: only [`CoreRule::Immediate`],
    /// [`CoreRule::Original`] and [`CoreRule::Srp`] do.
    Suspends {
        /// The core.
        core: usize,
    },
    /// What is said of a task's limits: there is no such task, its budget is 0, or it would be demoted under
    /// [`CoreRule::SrpList`].
    Limit {
        /// The task.
        task: usize,
    },
    /// There is too much of something to be counted: tasks, or sections of jobs.
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
