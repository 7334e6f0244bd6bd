// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a simulation takes: the tasks of a model, and execution times of a recorded run.

use std::path::Path;

use taut_event::Event;
use taut_model::{Model, TaskSet};
use taut_planner::Planned;
use taut_sim::Shares;
use taut_time::Duration;

use crate::outcome::Failure;
use crate::report;

/// The execution times of jobs in a recorded run, each with the task's position in the set; without tasks
/// that have no completed job there.
pub(crate) fn executions(path: &Path, set: &TaskSet) -> Result<Vec<(usize, Shares)>, Failure> {
    let recording = report::find(path)?;
    let (run, plan) = report::read(&recording)?;
    let mut all = Vec::new();
    for (at, task) in set.tasks().iter().enumerate() {
        let Some(subject) = plan.task(&task.name) else { continue };
        let mut jobs: Vec<(u64, Duration)> = run
            .records
            .iter()
            .filter_map(|record| match Event::of(record) {
                Ok(Event::Complete { task, job, used }) if usize::from(task) == subject => Some((job, used)),
                _ => None,
            })
            .collect();
        jobs.sort_by_key(|(job, _)| *job);
        let times: Vec<Duration> = jobs.into_iter().map(|(_, used)| used).collect();
        if !times.is_empty() {
            all.push((at, Shares::recorded(&times, set.cost(at))));
        }
    }
    if all.is_empty() {
        let message =
            format!("{}: the recording has no job of this application's tasks", recording.display());
        return Err(Failure::Usage(message));
    }
    Ok(all)
}

/// The application in a mode.
pub(crate) fn in_mode<'p>(planned: &'p Planned, mode: Option<&str>) -> Result<&'p Model, Failure> {
    planned.model_in(mode).ok_or_else(|| {
        let modes: Vec<&str> = planned.plan.modes.iter().map(|mode| mode.name.as_str()).collect();
        let there = if modes.is_empty() { "none".to_owned() } else { modes.join(", ") };
        Failure::Usage(format!("there is no mode `{}`; there is: {there}", mode.unwrap_or_default()))
    })
}

/// The task set of a model, which must have a real-time task.
pub(crate) fn set(model: &Model) -> Result<TaskSet, Failure> {
    let set = taut_planner::task_set(model).map_err(|faults| {
        let fault = faults.first().map(|fault| fault.what.to_string());
        Failure::Usage(format!("this cannot be simulated: {}", fault.unwrap_or_default()))
    })?;
    if set.tasks().is_empty() {
        return Err(Failure::Usage("there is no real-time task to simulate".into()));
    }
    Ok(set)
}
