// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_model::TaskSet;
use taut_policy::{GlobalRule, LocalRule};

/// The rules of a run. They determine how a core is scheduled, whatever the set says: so one set can run under
/// several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The rule of each core.
    pub cores: Vec<LocalRule>,
    /// The rule of each resource; without meaning for local ones.
    pub resources: Vec<GlobalRule>,
}

impl Rules {
    /// The default rule of each core's scheduler, and one rule for all global resources.
    pub fn of(set: &TaskSet, global: GlobalRule) -> Self {
        let cores = set.cores().iter().map(|policy| LocalRule::of(*policy, false)).collect();
        Self { cores, resources: vec![global; set.resources().len()] }
    }

    /// One rule for all cores, and one for all global resources.
    pub fn all(set: &TaskSet, core: LocalRule, global: GlobalRule) -> Self {
        Self { cores: vec![core; set.cores().len()], ..Self::of(set, global) }
    }
}

/// Why a set cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesFault {
    /// There is not one rule per core.
    Cores,
    /// There is not one rule per resource.
    Resources,
    /// Tasks of this core may suspend, which its rule does not allow: only [`LocalRule::Immediate`],
    /// [`LocalRule::Original`] and [`LocalRule::Srp`] do, and no rule of [`Simulation::under`](crate::Simulation::under).
    Suspends {
        /// The core.
        core: usize,
    },
    /// A task's limit is not valid: there is no such task, or its budget is 0.
    Limit {
        /// The task.
        task: usize,
    },
    /// There are too many tasks, or sections of jobs.
    TooMany,
    /// Times do not fit in 64 bits.
    Overflow,
}

impl fmt::Display for RulesFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cores => f.write_str("there must be one rule per core"),
            Self::Resources => f.write_str("there must be one rule per resource"),
            Self::Suspends { core } => {
                write!(f, "tasks of core {core} may be suspended, which its rule does not support")
            }
            Self::Limit { task } => write!(f, "task {task} cannot have that limit"),
            Self::TooMany => f.write_str("too many tasks or sections"),
            Self::Overflow => f.write_str("times that do not fit in 64 bits"),
        }
    }
}

impl core::error::Error for RulesFault {}

/// Whether tasks on a core with this rule may suspend themselves.
pub(crate) fn bears_suspension(rule: LocalRule) -> bool {
    matches!(rule, LocalRule::Immediate | LocalRule::Original | LocalRule::Srp)
}
