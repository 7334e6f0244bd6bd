// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which task runs on which core at which priority, and what the analysis of that core says about it.

pub(crate) mod dispatch;

use taut_analysis::{AnalysedCore, Bound, Overflow, Verdict};
use taut_model::{KeyPath, RealTime, TaskId};
use taut_time::Duration;

/// The task or server of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// A task.
    Task(TaskId),
    /// A server: its position in the model's list.
    Server(usize),
}

/// A real-time task, or a server, with its core and priority.
#[derive(Clone, Debug)]
pub(crate) struct Placement<'m> {
    pub(crate) who: Who,
    pub(crate) name: &'m str,
    /// The task's parameters; of a server, those of the task that its core sees.
    pub(crate) task: &'m RealTime,
    /// How much sooner than a period after the last budget a server can use the next one; zero for a task.
    pub(crate) back_to_back: Duration,
    /// C, margin included, or what an enforced budget lets the task have: see [`crate::overheads::budget`]. The longest
    /// duration if it does not fit in 64 bits.
    pub(crate) cost: Duration,
    /// Position of the core in the platform's list.
    pub(crate) core: usize,
    pub(crate) core_reason: Option<String>,
    /// 0 under EDF.
    pub(crate) priority: u8,
    pub(crate) priority_reason: Option<String>,
    /// Position among the tasks of its core.
    pub(crate) at: usize,
    /// The verdict with the offsets of its core, if the test without them shows no bound.
    pub(crate) in_phase: Option<Verdict<Bound>>,
}

impl Placement<'_> {
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.who, Who::Server(_))
    }

    /// The place of a task's key in the manifest; of a server, the place of the corresponding key.
    pub(crate) fn place(&self, key: &str) -> KeyPath {
        let name = self.name;
        KeyPath::value(match (self.who, key) {
            (Who::Task(_), key) => format!("tasks.{name}.{key}"),
            (Who::Server(_), "wcet.value") => format!("servers.{name}.budget"),
            (Who::Server(_), _) => format!("servers.{name}.period"),
        })
    }
}

/// All real-time tasks and servers with their placements.
pub(crate) struct Placements<'m> {
    /// In the manifest's order, servers last.
    pub(crate) placements: Vec<Placement<'m>>,
    pub(crate) cores: Vec<CorePlacement>,
}

/// The tasks of one core.
pub(crate) struct CorePlacement {
    /// Positions in [`Placements::placements`].
    pub(crate) members: Vec<usize>,
    /// The same tasks for the analysis, in the same order.
    pub(crate) analysis: Result<AnalysedCore, Overflow>,
    /// Whether each task has a priority of its own, or needs none.
    pub(crate) numbered: bool,
}

impl Placements<'_> {
    /// Repeats the analysis with offsets for each task whose bound is not shown without; with `most`, only on cores
    /// with at most that many jobs.
    pub(crate) fn look_at_phases(&mut self, most: Option<u64>) {
        let few = |core: &&AnalysedCore| {
            most.is_none_or(|most| core.jobs_in_phase().is_some_and(|jobs| jobs <= most))
        };
        for at in 0..self.placements.len() {
            if !matches!(self.verdict(at), Ok(Verdict::NotShown(_))) {
                continue;
            }
            let placement = &self.placements[at];
            let core = self.cores[placement.core]
                .analysis
                .as_ref()
                .ok()
                .filter(|core| core.has_phases())
                .filter(few);
            self.placements[at].in_phase = core.and_then(|core| core.response_in_phase(placement.at).ok());
        }
    }

    /// R of a task, if it is shown.
    pub(crate) fn bound(&self, placement: usize) -> Option<Bound> {
        let without = self.verdict(placement).ok().and_then(|verdict| verdict.bound().cloned());
        without.or_else(|| self.placements[placement].in_phase.as_ref()?.bound().cloned())
    }

    /// The analysis's verdict on a task, whatever the offsets.
    pub(crate) fn verdict(&self, placement: usize) -> Result<Verdict<Bound>, Overflow> {
        let placement = &self.placements[placement];
        self.cores[placement.core].analysis.as_ref().map_err(|e| *e)?.response(placement.at)
    }
}
