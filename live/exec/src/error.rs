// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use crate::ready::worker_priorities::WORKERS_MAX;

/// The enforcement that a caller wants: whether Linux enforces the rule's decisions, or jobs give way at their next
/// call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Only as [`Enforcement::Strict`].
    Strict,
    /// Only as [`Enforcement::Loose`].
    Loose,
    /// Strict if possible, else loose.
    Best,
}

/// How the decisions are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// Threads are pinned and have fixed priorities: the chosen thread runs at once, alone on its core.
    Strict,
    /// Threads are ordinary ones: a thread that is not chosen stops at its next lock, unlock or completion. The
    /// decisions are the same, and locks exclude other jobs, but timing is not guaranteed.
    Loose {
        /// What strict enforcement lacked; `None` if loose was asked for.
        why: Option<taut_sys::Error>,
    },
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strict => f.write_str("strict: fixed priorities on pinned threads"),
            Self::Loose { why: None } => f.write_str("loose, as requested: jobs give way at their next call"),
            Self::Loose { why: Some(why) } => {
                write!(
                    f,
                    "loose: jobs give way at their next call, because strict enforcement failed ({why}); \
                     strict needs CAP_SYS_NICE, or rtprio 98"
                )
            }
        }
    }
}

/// Why a call failed. It had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockError {
    /// The task does not list the resource, so no ceiling or floor accounts for the task. Add it by
    /// [`TaskSetup::uses`](crate::TaskSetup::uses), or by [`Setup::uses_global`](crate::Setup::uses_global) if
    /// several cores use the resource.
    NotListed {
        /// The task's position on its core.
        task: u32,
        /// The resource's position on its core; if several cores use it, the number by which it is recorded.
        resource: u32,
    },
    /// The job holds it already.
    Held {
        /// The resource's position on its core.
        resource: u32,
    },
    /// The resource or task is not of this core, or the task is not released by hand.
    Foreign,
    /// The overrun policy has asked the job to end.
    Killed,
    /// The dispatcher has not yet seen as many releases of the task as can wait.
    Full,
    /// The job requests a local resource inside a section of a resource of several cores, or the other way round, or a
    /// resource of several cores inside a section of another such resource.
    Nested,
    /// A job panicked, or its process died, in the middle of a change of the value, and no job has repaired it since:
    /// see [`Job::recover`](crate::Job::recover), or [`Job::recover_global`](crate::Job::recover_global) if several
    /// cores use it.
    Poisoned {
        /// The task's position on its core; if several cores use the resource, the party of the lock.
        by: u32,
    },
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed { task, resource } => {
                write!(
                    f,
                    "task {task} does not list resource {resource}: add it with `TaskSetup::uses`, or \
                     `Setup::uses_global`"
                )
            }
            Self::Held { resource } => {
                write!(f, "the job already holds resource {resource}: pass its value on")
            }
            Self::Foreign => {
                f.write_str("the resource or task belongs to another core or executor: use one of this core")
            }
            Self::Nested => f.write_str(
                "the section of a resource of several cores must not nest with another section: lock one \
                 resource after the other",
            ),
            Self::Poisoned { by } => write!(
                f,
                "job or party {by} panicked or died while it changed the value: repair the value with \
                 `Job::recover`"
            ),
            Self::Full => f.write_str(
                "the dispatcher has not yet seen as many releases of the task as can wait: this release is \
                 dropped",
            ),
            Self::Killed => f.write_str("the overrun policy requested the end of this job: return"),
        }
    }
}

impl std::error::Error for LockError {}

/// Why a set-up was not started. Nothing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// Two cores have the same CPU.
    SameCpu(u16),
    /// Another process that shares resources with this one, or another set-up of this process, has a strict core on
    /// this CPU.
    CpuElsewhere(u16),
    /// More jobs of a core may have begun at once than the core can have threads: 90. Each task needs one thread, but
    /// periodic tasks of one level that are never suspended, demoted nor ended early share one.
    TooManyTasks {
        /// The core's CPU.
        cpu: u16,
    },
    /// A task's period, deadline or budget is 0.
    ZeroTime {
        /// The task's name.
        task: String,
    },
    /// A task lists a resource of another core, or set-up.
    ForeignResource {
        /// The task's name.
        task: String,
    },
    /// The ceiling or floor stated for a resource is less urgent than a task that uses the resource.
    Ceiling {
        /// The task's name.
        task: String,
        /// The number by which the resource is recorded.
        resource: u32,
    },
    /// A priority is stated too late: the task already uses a resource of several cores, which counts with the earlier
    /// one.
    Shares {
        /// The task's name.
        task: String,
    },
    /// A priority was given where the rule schedules by deadlines, or the other way round.
    Attribute {
        /// The core's CPU.
        cpu: u16,
    },
    /// A core has more event counts than a thread can wait for: 127.
    Listeners {
        /// The core's CPU.
        cpu: u16,
    },
    /// A task uses a resource of several cores that has no party left for it.
    Users {
        /// The task's name.
        task: String,
    },
    /// A task uses a resource for which it may be suspended, on a core whose rule does not support that:
    /// [`LocalRule::Dfp`](crate::LocalRule::Dfp).
    Suspends {
        /// The core's CPU.
        cpu: u16,
    },
    /// A core's rule holds in simulations only: see [`LocalRule::is_for_machines`](crate::LocalRule::is_for_machines).
    Rule {
        /// The core's CPU.
        cpu: u16,
    },
    /// A server's budget is 0, or more than its period.
    Server {
        /// The server's name.
        server: String,
    },
    /// A task in a server is on another core, locks, has a budget of its own, or demotes late jobs; or a task donates
    /// without a server.
    Served {
        /// The task's name.
        task: String,
    },
    /// Strict enforcement was wanted, and the system refused it.
    Enforcement(taut_sys::Error),
    /// A thread could not be started.
    Thread(String),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameCpu(cpu) => write!(f, "two cores have CPU {cpu}: give each its own"),
            Self::CpuElsewhere(cpu) => write!(
                f,
                "CPU {cpu} has a core of another executor that uses the same resources: give each process its own CPUs"
            ),
            Self::TooManyTasks { cpu } => {
                write!(
                    f,
                    "more than {WORKERS_MAX} jobs of the core on CPU {cpu} may have begun at once: move \
                     tasks to other cores, or give periodic tasks without budgets and global locks the same \
                     priority or deadline"
                )
            }
            Self::ZeroTime { task } => {
                write!(f, "the period, deadline or budget of `{task}` is 0: set a duration above 0")
            }
            Self::ForeignResource { task } => {
                write!(
                    f,
                    "`{task}` lists a local resource of another core: list one of its own core, or use \
                     `Setup::uses_global`"
                )
            }
            Self::Ceiling { task, resource } => write!(
                f,
                "the ceiling stated for resource {resource} is below `{task}`, which uses it: raise the \
                 ceiling, or leave it out"
            ),
            Self::Shares { task } => {
                write!(
                    f,
                    "the priority of `{task}` is stated after a use of a resource of several cores, which \
                     counts with it: state the priority first"
                )
            }
            Self::Attribute { cpu } => write!(
                f,
                "a task of the core on CPU {cpu} has the wrong attribute: fixed-priority rules take \
                 priorities, EDF rules take deadlines"
            ),
            Self::Listeners { cpu } => {
                write!(f, "the core on CPU {cpu} has more than 127 event counts: move tasks to other cores")
            }
            Self::Users { task } => {
                write!(
                    f,
                    "`{task}` uses a resource of several cores that has no party left for it: create the \
                     resource with more parties"
                )
            }
            Self::Rule { cpu } => {
                write!(
                    f,
                    "the core on CPU {cpu} has a rule that is for simulations only: choose Immediate, \
                     Original, Srp or Dfp"
                )
            }
            Self::Suspends { cpu } => {
                write!(
                    f,
                    "jobs of the core on CPU {cpu} may be suspended, which deadline floors do not support: \
                     use SRP"
                )
            }
            Self::Server { server } => {
                write!(
                    f,
                    "the budget of server `{server}` is 0 or more than its period: set one above 0 and at \
                     most the period"
                )
            }
            Self::Served { task } => write!(
                f,
                "`{task}` runs in a server or donates bandwidth: it needs a server on its own core, and no \
                 locks, no budget and no demotion of its own"
            ),
            Self::Enforcement(error) => {
                write!(f, "{error}: strict enforcement needs CAP_SYS_NICE; otherwise use `Wanted::Best`")
            }
            Self::Thread(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for SetupError {}
