// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A plan as a simulation takes it: its tasks, its rules, and execution times of a recorded run.

use std::path::Path;

use taut_event::{Kind, Record};
use taut_model::{Model, TaskSet};
use taut_plan::{Locking, Plan, Planned, Scheduler};
use taut_sim::{CoreRule, GlobalRule, Rules, Shares};
use taut_time::Duration;

use crate::outcome::Failure;
use crate::report;

/// How long jobs took in a recorded run, by task.
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

/// The tasks of a model that has some.
pub(crate) fn set(model: &Model) -> Result<TaskSet, Failure> {
    let set = Plan::task_set(model).map_err(|faults| {
        let fault = faults.first().map(|fault| fault.what.to_string());
        Failure::Usage(format!("this cannot be simulated: {}", fault.unwrap_or_default()))
    })?;
    if set.tasks().is_empty() {
        return Err(Failure::Usage("there is no real-time task to simulate".into()));
    }
    Ok(set)
}

/// The locking rules of a plan.
pub(crate) fn rules(planned: &Planned, set: &TaskSet) -> Rules {
    let mut rules = Rules::of(set, GlobalRule::Msrp);
    let protocols = || planned.plan.resources.iter().map(|resource| resource.protocol);
    // In a set, resources that guard states come after the manifest's.
    let model = &planned.model;
    let states = (protocols().len()..model.resources().len()).filter_map(|at| model.protocol(at));
    for (rule, protocol) in rules.resources.iter_mut().zip(protocols().chain(states)) {
        *rule = match protocol {
            Locking::Mpcp => GlobalRule::Mpcp,
            Locking::FmlpPlus => GlobalRule::FmlpLong,
            Locking::Msrp | Locking::Srp | Locking::Dfp => GlobalRule::Msrp,
        };
    }
    // A floor goes for a whole core: where one is asked for, on all.
    if protocols().any(|protocol| protocol == Locking::Dfp) {
        for (rule, core) in rules.cores.iter_mut().zip(&planned.plan.cores) {
            if core.scheduler == Scheduler::Edf {
                *rule = CoreRule::Dfp { jitter: None };
            }
        }
    }
    rules
}
