// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a proof rests on: execution times, costs of the machine, and assumptions about the machine.

use serde::{Deserialize, Serialize};
use taut_policy::{Evidence, EvidenceFile};
use taut_time::Duration;

use crate::{ClassPlan, Plan};

/// A cost of the machine that the proof includes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OverheadPlan {
    /// The key of the cost in a manifest.
    pub name: String,
    /// How long it takes.
    pub time: Duration,
    /// Where the time comes from; none if no manifest states it, so that it is a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Evidence>,
}

/// What the proof of a plan rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Basis {
    /// The execution times of real-time tasks, in the plan's order.
    pub execution_times: Vec<TimeBasis>,
    /// The costs of the machine that the proof includes.
    pub overheads: Vec<OverheadBasis>,
    /// What the proof assumes of the machine; a run looks for violations.
    pub assumptions: Vec<String>,
    /// How many of these figures are guesses, defaults included.
    pub guesses: usize,
}

/// An execution time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimeBasis {
    /// The name of the task.
    pub task: String,
    /// C with its margin, in ns.
    pub time_ns: u64,
    /// Where it comes from.
    pub source: Evidence,
    /// The recordings in which it was measured, as the manifest states them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceFile>,
    /// How many jobs were measured in these recordings; none if the manifest does not state it for each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u64>,
}

/// A cost of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverheadBasis {
    /// The key of the cost in a manifest.
    pub name: String,
    /// How long it takes, in ns.
    pub time_ns: u64,
    /// `measured`, `static`, `guess`, or `default` if no manifest states it.
    pub source: &'static str,
}

fn word(source: Evidence) -> &'static str {
    match source {
        Evidence::Measured => "measured",
        Evidence::Static => "static",
        Evidence::Guess => "guess",
    }
}

/// The jobs of all recordings; none if there is no recording, or one that does not state its jobs.
fn jobs(evidence: &[EvidenceFile]) -> Option<u64> {
    let all = evidence.iter().try_fold(0_u64, |sum, of| Some(sum.saturating_add(of.jobs?)));
    all.filter(|_| !evidence.is_empty())
}

impl Plan {
    /// What the proof of the plan rests on; none if there is no real-time task, so that there is nothing to prove.
    pub fn basis(&self) -> Option<Basis> {
        let time = |task: &crate::TaskPlan| match &task.class {
            ClassPlan::RealTime { wcet, wcet_source, wcet_evidence, .. } => Some(TimeBasis {
                task: task.name.clone(),
                time_ns: wcet.as_ns(),
                source: *wcet_source,
                evidence: wcet_evidence.clone(),
                jobs: jobs(wcet_evidence),
            }),
            ClassPlan::BestEffort {} => None,
        };
        let execution_times: Vec<TimeBasis> = self.tasks.iter().filter_map(time).collect();
        if execution_times.is_empty() {
            return None;
        }
        let overhead = |overhead: &OverheadPlan| OverheadBasis {
            name: overhead.name.clone(),
            time_ns: overhead.time.as_ns(),
            source: overhead.source.map_or("default", word),
        };
        let overheads: Vec<OverheadBasis> = self.overheads.iter().map(overhead).collect();
        let guessed = execution_times.iter().filter(|time| time.source == Evidence::Guess).count();
        let defaults = overheads.iter().filter(|of| matches!(of.source, "guess" | "default")).count();
        let cores: Vec<String> = self.cores.iter().map(|core| core.cpu.to_string()).collect();
        let cores = format!("{} {}", if cores.len() == 1 { "core" } else { "cores" }, cores.join(", "));
        Some(Basis {
            execution_times,
            overheads,
            assumptions: vec![
                format!(
                    "no other real-time thread, interrupt or hypervisor takes more of {cores} than is stated"
                ),
                "Linux grants SCHED_FIFO and locked memory".to_owned(),
            ],
            guesses: guessed + defaults,
        })
    }
}

impl Basis {
    /// A summary for people: one line for execution times, one for the recordings that they were measured in and one
    /// for costs of the machine, if there are any, and one for assumptions.
    pub fn lines(&self) -> Vec<String> {
        let count = |source| self.execution_times.iter().filter(|time| time.source == source).count();
        let mut times: Vec<String> = [Evidence::Measured, Evidence::Static, Evidence::Guess]
            .into_iter()
            .filter(|source| count(*source) > 0)
            .map(|source| format!("{} {}", count(source), word(source)))
            .collect();
        if let (Some(measured), Some(jobs)) = (times.first_mut(), self.measured_jobs()) {
            *measured += &format!(" ({jobs})");
        }
        let guessed = self.execution_times.iter().filter(|time| time.source == Evidence::Guess);
        let guessed: Vec<&str> = guessed.map(|time| time.task.as_str()).collect();
        if !guessed.is_empty() && guessed.len() < self.execution_times.len() {
            let more = guessed.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named = guessed.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
            times.last_mut().into_iter().for_each(|last| *last += &format!(" ({named}{more})"));
        }
        let mut sources: Vec<(&str, Vec<&str>)> = Vec::new();
        for of in &self.overheads {
            match sources.iter_mut().find(|(source, _)| *source == of.source) {
                Some((_, names)) => names.push(&of.name),
                None => sources.push((of.source, vec![&of.name])),
            }
        }
        let source = |(source, names): (&str, Vec<&str>)| format!("{} {source}", names.join(", "));
        let overheads: Vec<String> = sources.into_iter().map(source).collect();
        let mut lines = vec![format!("execution times: {}", times.join(", "))];
        let mut files: Vec<&str> = Vec::new();
        for of in self.execution_times.iter().flat_map(|time| &time.evidence) {
            if !files.contains(&of.file.as_str()) {
                files.push(&of.file);
            }
        }
        if !files.is_empty() {
            let more = files.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!("recordings: {}{more}", files[..files.len().min(NAMED)].join(", ")));
        }
        if !overheads.is_empty() {
            lines.push(format!("costs of the machine: {}", overheads.join("; ")));
        }
        lines.push(format!("the machine: {}", self.assumptions.join("; ")));
        lines
    }
}

impl Basis {
    /// In how many jobs the execution times were measured, in words; `None` if none was measured.
    fn measured_jobs(&self) -> Option<String> {
        let measured = || self.execution_times.iter().filter(|time| time.source == Evidence::Measured);
        measured().next()?;
        let unstated: Vec<&str> =
            measured().filter(|time| time.jobs.is_none()).map(|time| time.task.as_str()).collect();
        let fewest = measured().filter_map(|time| Some((time.jobs?, time.task.as_str()))).min();
        Some(match (fewest, unstated.as_slice()) {
            (None, _) => "in how many jobs is not stated".to_owned(),
            (Some((jobs, _)), []) if measured().count() == 1 => format!("in {jobs} jobs"),
            (Some((jobs, task)), []) => format!("in {jobs} jobs or more, `{task}` in fewest"),
            (Some((jobs, task)), unstated) => {
                let more = unstated.len().saturating_sub(NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let named = unstated.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
                format!("in {jobs} jobs or more, `{task}` in fewest; not stated for {named}{more}")
            }
        })
    }
}

/// How many tasks with guessed execution times, and how many recordings, a summary names; it counts the others.
const NAMED: usize = 4;
