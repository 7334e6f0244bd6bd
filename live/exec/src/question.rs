// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Questions to a core about levels, ceilings, floors and pauses.

use std::fmt;

use taut_policy::Attribute;

/// Why an attribute was neither read nor changed. The call had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The task or resource is of no core of this executor; if a job asks, it is of another core than the job's.
    Foreign,
    /// A deadline was given where the core's rule schedules by priorities, or the other way round; or the deadline is
    /// 0.
    Kind,
    /// The task has a job, or a release that waits.
    Active {
        /// Its position on its core.
        task: u32,
    },
    /// A job holds the resource.
    Held {
        /// Its position on its core.
        resource: u32,
        /// The holder: the task's position on its core.
        task: u32,
    },
    /// The ceiling or floor of a resource would be less urgent than the level of a task that lists it.
    Ceiling {
        /// Its position on its core.
        resource: u32,
        /// The task's position on its core.
        task: u32,
    },
    /// The task's priority counts among the users of a resource of several cores.
    Global {
        /// Its position on its core.
        task: u32,
    },
    /// The task would need a level of its own. Then more jobs could have begun at once than the core has threads: it has
    /// 90, and more tasks.
    Levels {
        /// Its position on its core.
        task: u32,
    },
    /// The task runs in a server, and so has no level of its own.
    Served {
        /// Its position on its core.
        task: u32,
    },
    /// The core has stopped.
    Stopped,
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str(
                "the task or resource belongs to another executor, or to another core than the calling job",
            ),
            Self::Kind => f.write_str(
                "wrong attribute: fixed-priority rules take priorities, EDF rules take relative deadlines \
                 above 0",
            ),
            Self::Active { task } => {
                write!(
                    f,
                    "task {task} has a job or a waiting release: pause the task, and try again when its jobs \
                     are complete"
                )
            }
            Self::Held { resource, task } => {
                write!(f, "task {task} holds resource {resource}: try again when the task has released it")
            }
            Self::Ceiling { resource, task } => write!(
                f,
                "the ceiling of resource {resource} would be below task {task}, which uses it: raise the ceiling first"
            ),
            Self::Global { task } => write!(
                f,
                "the priority of task {task} cannot change: the users of a resource of several cores count \
                 with it"
            ),
            Self::Levels { task } => write!(
                f,
                "task {task} would need a level of its own, for which its core has no thread: use the level \
                 of another task"
            ),
            Self::Served { task } => write!(f, "task {task} runs in a server, and has no level of its own"),
            Self::Stopped => f.write_str("the core has stopped"),
        }
    }
}

impl std::error::Error for ChangeError {}

/// A question to a core. Tasks and resources are given by their positions there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Level(u32),
    SetLevel(u32, Attribute),
    Ceiling(u32),
    SetCeiling(u32, Attribute),
    Pause(u32, bool),
}

impl Question {
    /// The task that this resumes.
    pub(crate) fn resumed(self) -> Option<u32> {
        if let Self::Pause(task, false) = self { Some(task) } else { None }
    }
}

/// The attribute as it is, or was set to; `None` for a pause.
pub(crate) type Answer = Result<Option<Attribute>, ChangeError>;

/// The attribute of an answer that has one.
pub(crate) fn read(answer: Answer) -> Result<Attribute, ChangeError> {
    answer?.ok_or(ChangeError::Stopped)
}
