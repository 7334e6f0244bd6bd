// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads a manifest as a scenario: when jobs are released, and what each of them does.

use std::path::{Path, PathBuf};

use taut_manifest::{SourceText, load, render};
use taut_model::{Arrival, Model, Segment};
use taut_plan::{ClassPlan, Input, Plan, digest};
use taut_planner::Planned;

/// A step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Executes for so many ns.
    Run(u64),
    /// Locks a resource.
    Lock(usize),
    /// Releases it.
    Unlock(usize),
}

/// A task of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Participant {
    pub(crate) name: String,
    pub(crate) cpu: u16,
    pub(crate) priority: u8,
    pub(crate) period_ns: u64,
    pub(crate) offset_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) steps: Vec<Step>,
}

/// A scenario.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) plan: Plan,
    /// In the order of the plan's tasks.
    pub(crate) players: Vec<Participant>,
}

impl Scenario {
    /// Reads `NAME/taut.toml` in a folder.
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self, String> {
        let path: PathBuf = folder.join(name).join("taut.toml");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let hash = digest(text.as_bytes());
        let source = SourceText { name: path.display().to_string(), text };
        let loaded = load(&source, &[]);
        let Some(model) = loaded.model else {
            return Err(render(&loaded.diagnostics, &[&source], false, 100));
        };
        let players = players(&model)?;
        let planned = Planned::make(&model, vec![Input { path: "taut.toml".into(), hash }]);
        if !planned.plan.proven {
            return Err(format!("{name} is not proven, so there is nothing to show"));
        }
        let mut scenario = Self { plan: planned.plan, players };
        scenario.place();
        Ok(scenario)
    }

    /// Assigns the cores and priorities of the plan.
    fn place(&mut self) {
        for participant in &mut self.players {
            let task = self.plan.tasks.iter().find(|task| task.name == participant.name);
            if let Some(ClassPlan::RealTime { cpu, priority, .. }) = task.map(|task| &task.class) {
                (participant.cpu, participant.priority) = (*cpu, *priority);
            }
        }
    }

    /// The longest period, after which everything repeats.
    pub(crate) fn cycle_ns(&self) -> u64 {
        self.players.iter().map(|participant| participant.period_ns).max().unwrap_or(0)
    }

    /// R of a task according to the plan.
    pub(crate) fn bound_ns(&self, participant: usize) -> Option<u64> {
        match &self.plan.tasks[participant].class {
            ClassPlan::RealTime { response, .. } => response.map(|response| response.as_ns()),
            ClassPlan::BestEffort {} => None,
        }
    }
}

fn players(model: &Model) -> Result<Vec<Participant>, String> {
    let mut players = Vec::new();
    for (_, task, real_time) in model.real_time() {
        let Arrival::Periodic { period, offset } = &real_time.arrival else {
            return Err(format!("task `{}` is not periodic", task.name));
        };
        let mut steps = Vec::new();
        walk(&real_time.segments, &mut steps);
        let said: u64 = steps.iter().map(|step| if let Step::Run(ns) = step { *ns } else { 0 }).sum();
        let rest = real_time.wcet.value.as_ns().saturating_sub(said);
        if rest > 0 {
            steps.push(Step::Run(rest));
        }
        players.push(Participant {
            name: task.name.clone(),
            cpu: 0,
            priority: 0,
            period_ns: period.as_ns(),
            offset_ns: offset.as_ns(),
            deadline_ns: real_time.deadline.as_ns(),
            steps,
        });
    }
    Ok(players)
}

fn walk(segments: &[Segment], steps: &mut Vec<Step>) {
    for segment in segments {
        match segment {
            Segment::Normal(time) => steps.push(Step::Run(time.as_ns())),
            Segment::Section { resource, inside } => {
                steps.push(Step::Lock(*resource));
                walk(inside, steps);
                steps.push(Step::Unlock(*resource));
            }
        }
    }
}
