// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times under fixed priorities if each resource is used on one core only, for deadlines of any length.

use taut_analysis::multi::{
    Bounds, Contribution, Contributions, ResponseTerms, Status, TaskBound, msrp_gai01,
};
use taut_analysis::uni::fp::local_locks::{self, TaskResult};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::TaskSet;
use taut_time::Duration;

/// Bounds the response times of all tasks. For deadlines up to the period, the analysis of MSRP without global
/// resources is the same, and this function uses it.
pub(crate) fn response_times(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    if set.tasks().iter().all(|task| task.deadline <= task.period) {
        return msrp_gai01::response_times(set);
    }
    let mut tasks: Vec<Option<TaskBound>> = vec![None; set.tasks().len()];
    for core in 0..set.cores().len() {
        for found in local_locks::responses(set, core)? {
            let (response, status) = match &found.verdict {
                Verdict::Schedulable(response) => (response, Status::Proven),
                Verdict::Unschedulable(response) | Verdict::NotShown(Why::Passes(response)) => {
                    (response, Status::Passes)
                }
                Verdict::NotShown(Why::Rate) => return Ok(Verdict::NotShown(Why::Rate)),
                Verdict::NotShown(Why::Steps(n)) => return Ok(Verdict::NotShown(Why::Steps(*n))),
                Verdict::NotApplicable(assumption) => return Ok(Verdict::NotApplicable(*assumption)),
            };
            tasks[found.task] = Some(TaskBound {
                from_release: response.from_release,
                from_arrival: response.from_arrival,
                status,
                terms: terms(set, &found, response.from_arrival),
                witnesses: witnesses(set, &found, &response.jobs),
            });
        }
    }
    let bounds = Bounds { tasks: tasks.into_iter().flatten().collect(), rounds: 1 };
    let proven = bounds.tasks.iter().all(|task| task.status == Status::Proven);
    Ok(if proven { Verdict::Schedulable(bounds) } else { Verdict::NotShown(Why::Passes(bounds)) })
}

/// The terms of R. If R is not that of the first job of a busy window, part of the blocking and interference is
/// over when the job arrives; R is at least that of the first job, C + B + J.
fn terms(set: &TaskSet, found: &TaskResult, response: Duration) -> ResponseTerms {
    let (own, jitter) = (set.cost(found.task), set.tasks()[found.task].jitter);
    let rest = response.saturating_sub(own).saturating_sub(jitter);
    let local_blocking = found.blocking.time.min(rest);
    ResponseTerms {
        own,
        local_blocking,
        interference: rest.saturating_sub(local_blocking),
        jitter,
        ..ResponseTerms::default()
    }
}

fn witnesses(set: &TaskSet, found: &TaskResult, jobs: &[u64]) -> Contributions {
    let (task, resource) = found.blocking.of.unzip();
    let time = |(&task, &jobs): (&usize, &u64)| {
        let time = set.cost(task).checked_mul(jobs).unwrap_or(Duration::MAX);
        Contribution { task: Some(task), resource: None, time }
    };
    let interference = found.higher.iter().zip(jobs).map(time).max_by_key(|witness| witness.time);
    Contributions {
        local_blocking: Contribution { task, resource, time: found.blocking.time },
        interference: interference.unwrap_or_default(),
        ..Contributions::default()
    }
}
