// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs of task sets under policy in virtual time, each determined by a seed.
//!
//! A run shows a lower bound: a response time that can happen. If a run exceeds a claimed bound, the bound is wrong;
//! if no run does, it may still be wrong. [`Hunt`] searches for such runs.
//!
//! ```
//! use taut_model::{ArrivalPattern, Body, SchedulingPolicy, SetTask, TaskSet};
//! use taut_sim::{GlobalRule, Rules, Scenario, Simulation};
//! use taut_time::Duration;
//!
//! let task = |name: &str, priority, cost, period| SetTask {
//!     name: name.into(),
//!     core: 0,
//!     priority,
//!     arrivals: ArrivalPattern::Periodic,
//!     period: Duration::from_ms(period),
//!     deadline: Duration::from_ms(period),
//!     jitter: Duration::ZERO,
//!     body: Body::Anywhere { cost: Duration::from_ms(cost), requests: Vec::new() },
//! };
//! let tasks = vec![task("a", 2, 1, 4), task("b", 1, 3, 8)];
//! let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![], tasks).unwrap();
//! let mut simulation = Simulation::new(&set, &Rules::of(&set, GlobalRule::Mpcp)).unwrap();
//! let outcome = simulation.run(&Scenario::worst(Duration::from_ms(8)), &mut ()).unwrap();
//! assert_eq!(outcome.tasks[1].response_max, Duration::from_ms(4));
//! ```
//!
//! Jobs may exceed their declared cost ([`Scenario::excess`]), and may have budgets ([`Simulation::limited`]): so a
//! run shows which tasks a faulty job delays, and which it does not. [`replay`] replays a run that was recorded on
//! threads, and reports where the simulator decides otherwise.
//!
//! In a run, tasks share resources. For channels there is [`flow::Flows`]: it listens to a run and reports which job
//! reads which value, how old data are at the end of a chain, and whether a flow is preserved.
#![forbid(unsafe_code)]

mod any;
mod arrivals;
mod calendar;
mod event;
pub mod flow;
mod outcome;
pub mod planned;
mod program;
mod random;
mod refute;
pub mod replay;
mod rules;
mod run;
mod scenario;
pub mod server;

pub use event::{SimEvent, SimEventKind, Sink};
pub use outcome::{Outcome, RunEnd, TaskOutcome};
pub use refute::{Best, Hunt, HuntProgress, Witness, is_legal};
pub use rules::{Rules, RulesFault};
pub use run::{BACKLOG_MAX, Limit, RecordedServer, Simulation};
pub use scenario::{Execution, Gaps, Jitter, Placement, Scenario, SectionPosition, Shares, Start};
pub use taut_policy::{GlobalRule, LocalRule, Overrun, ServerPolicy};
