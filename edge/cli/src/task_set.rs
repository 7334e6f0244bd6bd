// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a simulation takes: the tasks of a model, and execution times of a recorded run.

use std::path::Path;

use taut_event::{Kind, Record};
use taut_model::{Model, TaskSet};
use taut_sim::Shares;
use taut_time::Duration;

use crate::outcome::Failure;
use crate::report;

/// The execution times of jobs in a recorded run, by task.
pub(crate) fn executions(path: &Path, set: &TaskSet) -> Result<Vec<(usize, Shares)>, Failure> {
    let recording = report::find(path)?;
    let (run, plan) = report::read(&recording)?;
    let mut all = Vec::new();
    for (at, task) in set.tasks().iter().enumerate() {
        let Some(subject) = plan.task(&task.name) else { continue };
        let of_task =
            |record: &&Record| record.kind == Kind::Complete && usize::from(record.subject) == subject;
        let mut jobs: Vec<&Record> = run.records.iter().filter(of_task).collect();
        jobs.sort_by_key(|record| record.job);
        let times: Vec<Duration> = jobs.iter().map(|record| Duration::from_ns(record.value)).collect();
        if !times.is_empty() {
            all.push((at, Shares::recorded(&times, set.cost(at))));
        }
    }
    if all.is_empty() {
        let message = format!("{}: no job of a task of this application is in it", recording.display());
        return Err(Failure::Usage(message));
    }
    Ok(all)
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
