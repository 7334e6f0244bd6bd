// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A core's dispatcher. It schedules real threads by the rules of `taut-policy`, the same rules that are analysed and
//! simulated.
//!
//! ```
//! use taut_exec::{Overrun, Release, LocalRule, Setup, TaskSetup, Wanted};
//! use taut_time::Duration;
//!
//! let mut setup = Setup::new();
//! let core = setup.core(0, LocalRule::Srp);
//! let count = setup.resource(core, 0_u64);
//! let (ours, theirs) = (count.clone(), count.clone());
//! let period = |ms| Release::Periodic { period: Duration::from_ms(ms), offset: Duration::ZERO };
//! let fast = TaskSetup::new("fast", period(5)).uses(&count);
//! setup.task(core, fast, move |job: &mut taut_exec::Job<'_>| {
//!     job.lock(&ours, |count, _| *count += 1).unwrap();
//! });
//! let slow = TaskSetup::new("slow", period(20)).deadline(Duration::from_ms(10)).uses(&count);
//! setup.task(core, slow, move |job: &mut taut_exec::Job<'_>| {
//!     job.lock(&theirs, |count, _| *count += 100).unwrap();
//! });
//! let (_, outcome) = setup
//!     .run(Wanted::Best, |exec| {
//!         exec.wait(Some(std::time::Duration::from_millis(50)))
//!     })
//!     .unwrap();
//! let jobs = |task: usize| outcome.tasks[task].completed;
//! assert_eq!(count.into_value(), Some(jobs(0) + 100 * jobs(1)));
//! ```
//!
//! A [`LocalRule`] decides which job runs and guards the resources. [`Setup`] takes cores, resources and tasks, and
//! checks them. [`Setup::run`] starts a dispatcher and a pool of worker threads per core, and returns the outcome of all
//! jobs. docs/decisions/0039 explains how it works.

mod error;
mod job;
mod key;
mod locks;
mod question;
mod ready;
mod resource;
mod run;
mod server;
mod setup;
mod shared;
mod task;
#[cfg(test)]
mod tests;
mod threads;
mod violation;

pub use error::{Enforcement, LockError, SetupError, Wanted};
pub use job::{Job, Killed, Work};
pub use locks::global::GlobalResource;
pub use question::ChangeError;
pub use ready::jobs::ExecTaskOutcome;
pub use ready::log::RecordingLevel;
pub use ready::state::BACKLOG_MAX;
pub use resource::CoreResource;
pub use run::exec::{Exec, ExecOutcome, StopReason};
pub use server::{ServerId, ServerSetup};
pub use setup::Setup;
pub use setup::between::Between;
pub use task::{CoreId, Release, TaskId, TaskSetup};
pub use taut_policy::Attribute;
pub use taut_policy::{GlobalRule, LocalRule, ServerPolicy};
/// What happens to a job that uses up its budget, or is late.
pub use taut_policy::{Overrun, Remedy, Trouble};
pub use violation::{Outside, Violation, ViolationHandler, ViolationKind, Who};
