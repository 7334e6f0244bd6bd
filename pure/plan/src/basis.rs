// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a proof rests on: execution times, costs of the machine, and assumptions about the machine.

use serde::{Deserialize, Serialize};
use taut_model::{Class, Evidence, Fault, Model, Place, codes};
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
    /// What the proof assumes of the machine; a run looks for what breaks it.
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

/// The costs that the proof of a model includes: `lock` only if a task has sections, `copy` only if a lock guards a
/// state.
pub(crate) fn overheads(model: &Model) -> Vec<OverheadPlan> {
    let sections = model.real_time().any(|(_, _, task)| !task.sections.is_empty());
    let states = (0..model.resources().len()).any(|at| model.guarding(at).is_some());
    let counts = |name: &str| match name {
        "lock" => sections,
        "copy" => states,
        _ => true,
    };
    let all = model.platform().overheads.each().into_iter().filter(|(name, ..)| counts(name));
    all.map(|(name, time, source)| OverheadPlan { name: name.to_owned(), time, source }).collect()
}

impl Plan {
    /// What the proof of the plan rests on; none if there is no real-time task, so that there is nothing to prove.
    pub fn basis(&self) -> Option<Basis> {
        let time = |task: &crate::TaskPlan| match &task.class {
            ClassPlan::RealTime { wcet, wcet_source, .. } => {
                Some(TimeBasis { task: task.name.clone(), time_ns: wcet.as_ns(), source: *wcet_source })
            }
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

    /// A fault at each place where a manifest states a guess, or states nothing so that a default applies.
    pub fn guesses(model: &Model) -> Vec<Fault> {
        let mut faults = Vec::new();
        for task in model.tasks() {
            let Class::RealTime(of) = &task.class else { continue };
            if of.wcet.source == Evidence::Guess {
                let message = format!("the execution time of task `{}` is a guess", task.name);
                let place = Place::value(format!("tasks.{}.wcet.source", task.name));
                let help = "measure it, as `taut report` does in a run, and write `source = \"measured\"`";
                faults.push(Fault::error(codes::GUESSED, message, place, "nobody measured it").help(help));
            }
        }
        if model.real_time().next().is_none() {
            return faults;
        }
        let all = overheads(model);
        let names = |source: Option<Evidence>| {
            let of = all.iter().filter(|overhead| overhead.source == source);
            of.map(|overhead| format!("`{}`", overhead.name)).collect::<Vec<_>>().join(", ")
        };
        let bench = "let `taut bench --out machine.toml` measure them, and give that with `--overlay`";
        let (defaults, guessed) = (names(None), names(Some(Evidence::Guess)));
        if !defaults.is_empty() {
            let message = format!("costs of the machine are not stated: {defaults}");
            let place = Place::key("platform.overheads");
            faults.push(
                Fault::error(codes::GUESSED, message, place, "defaults stand for them, which are guesses")
                    .help(bench),
            );
        }
        if !guessed.is_empty() {
            let message = format!("costs of the machine are guesses: {guessed}");
            let place = Place::value("platform.overheads.source");
            let text = "`source` is `\"guess\"`, or left out";
            let help = format!("{bench}; or write `source = \"measured\"` if they were");
            faults.push(Fault::error(codes::GUESSED, message, place, text).help(help));
        }
        faults
    }
}

impl Basis {
    /// A summary for people: one line for execution times, one for costs of the machine if there are any, one for
    /// assumptions.
    pub fn lines(&self) -> Vec<String> {
        let count = |source| self.execution_times.iter().filter(|time| time.source == source).count();
        let mut times: Vec<String> = [Evidence::Measured, Evidence::Static, Evidence::Guess]
            .into_iter()
            .filter(|source| count(*source) > 0)
            .map(|source| format!("{} {}", count(source), word(source)))
            .collect();
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
        if !overheads.is_empty() {
            lines.push(format!("costs of the machine: {}", overheads.join("; ")));
        }
        lines.push(format!("the machine: {}", self.assumptions.join("; ")));
        lines
    }
}

/// How many tasks with guessed execution times a summary names; it counts the others.
const NAMED: usize = 4;
