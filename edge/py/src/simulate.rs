// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Seeded simulation runs.

use std::sync::Arc;

use arrow_array::builder::{StringDictionaryBuilder, UInt64Builder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use taut_model::TaskSet;
use taut_sim::{
    Execution, Gaps, GlobalRule, Jitter, LocalRule, Placement, Rules, RulesFault, RunEnd, Scenario, SimEvent,
    SimEventKind, Simulation, Start,
};

use crate::set::Set;
use crate::table::Table;
use crate::work::{free, time, times};

/// Adds the function of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(simulate, module)?)
}

/// Released, completed, missed, dropped, the longest response from an arrival, and from a release.
type TaskRow = (u64, u64, u64, u64, u64, u64);
/// How the run ended, the time of its last event, the number of events, tasks, events.
type RunRow = (String, u64, u64, Vec<TaskRow>, Option<Table>);
/// Start, start times, gaps in percent, jitter, execution, percent of execution, placement.
type ScenarioRow = (String, Vec<u64>, u32, String, String, u32, String);

fn unknown(what: &str, word: &str) -> PyErr {
    PyValueError::new_err(format!("`{word}` is not a {what}"))
}

fn core_rule(word: &str) -> PyResult<LocalRule> {
    Ok(match word {
        "immediate" => LocalRule::Immediate,
        "original" => LocalRule::Original,
        "srp" => LocalRule::Srp,
        "dfp" => LocalRule::DfpByClock { jitter: None },
        "dfp-next" => LocalRule::Dfp,
        other => return Err(unknown("rule of a core", other)),
    })
}

fn global_rule(word: &str) -> PyResult<GlobalRule> {
    GlobalRule::from_word(word).ok_or_else(|| unknown("rule of a resource", word))
}

fn scenario(seed: u64, horizon: u64, steps_max: u64, row: ScenarioRow) -> PyResult<Scenario> {
    let (start, starts, gaps, jitter, execution, percent, placement) = row;
    Ok(Scenario {
        seed,
        start: match start.as_str() {
            "synchronous" => Start::Synchronous,
            "critical" => Start::Critical,
            "random" => Start::Random,
            "at" => Start::At(times(&starts)),
            other => return Err(unknown("start", other)),
        },
        gaps: if gaps == 0 { Gaps::Least } else { Gaps::UpTo { percent: gaps } },
        jitter: match jitter.as_str() {
            "none" => Jitter::None,
            "first" => Jitter::First,
            "full" => Jitter::Full,
            "random" => Jitter::Random,
            other => return Err(unknown("jitter", other)),
        },
        execution: match execution.as_str() {
            "full" => Execution::Full,
            "scaled" => Execution::Scaled { percent },
            "random" => Execution::Random { least_percent: percent },
            other => return Err(unknown("execution", other)),
        },
        placement: match placement.as_str() {
            "front" => Placement::Front,
            "back" => Placement::Back,
            "even" => Placement::Even,
            "random" => Placement::Random,
            other => return Err(unknown("placement", other)),
        },
        steps_max,
        ..Scenario::worst(time(horizon))
    })
}

/// Growing columns of a table of events.
#[derive(Default)]
struct Columns {
    at: Vec<u64>,
    task: StringDictionaryBuilder<Int32Type>,
    job: Vec<u64>,
    kind: StringDictionaryBuilder<Int8Type>,
    resource: StringDictionaryBuilder<Int32Type>,
    arrival: UInt64Builder,
    response: UInt64Builder,
}

impl Columns {
    fn push(&mut self, event: SimEvent, set: &TaskSet) {
        let name = |resource: usize| set.resources().get(resource).map(|resource| resource.name.as_str());
        let (kind, resource, arrival, response) = match event.kind {
            SimEventKind::Release { arrival } => ("release", None, Some(arrival.as_ns()), None),
            SimEventKind::Drop => ("drop", None, None, None),
            SimEventKind::Start => ("start", None, None, None),
            SimEventKind::Preempt => ("preempt", None, None, None),
            SimEventKind::Resume => ("resume", None, None, None),
            SimEventKind::Suspend(on) => ("suspend", name(on), None, None),
            SimEventKind::Spin(on) => ("spin", name(on), None, None),
            SimEventKind::Locked(on) => ("locked", name(on), None, None),
            SimEventKind::Unlock(on) => ("unlock", name(on), None, None),
            SimEventKind::Complete { response } => ("complete", None, None, Some(response.as_ns())),
            SimEventKind::Exhausted => ("exhausted", None, None, None),
            SimEventKind::Kill => ("kill", None, None, None),
            SimEventKind::Miss => ("miss", None, None, None),
        };
        self.at.push(event.at.as_ns());
        self.task.append_option(set.tasks().get(event.task).map(|task| task.name.as_str()));
        self.job.push(event.job);
        self.kind.append_value(kind);
        self.resource.append_option(resource);
        self.arrival.append_option(arrival);
        self.response.append_option(response);
    }

    fn batch(mut self) -> PyResult<Table> {
        let columns: [(&str, ArrayRef); 7] = [
            ("at_ns", Arc::new(UInt64Array::from(self.at))),
            ("task", Arc::new(self.task.finish())),
            ("job", Arc::new(UInt64Array::from(self.job))),
            ("kind", Arc::new(self.kind.finish())),
            ("resource", Arc::new(self.resource.finish())),
            ("arrival_ns", Arc::new(self.arrival.finish())),
            ("response_ns", Arc::new(self.response.finish())),
        ];
        RecordBatch::try_from_iter(columns)
            .map(Table::new)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Runs a set under rules, one per core and one per resource, and keeps its events if `events` is set.
#[pyfunction]
#[pyo3(signature = (set, cores, resources, seed, horizon, steps_max, row, events))]
#[expect(clippy::too_many_arguments, reason = "the parts of one question, given names in Python")]
fn simulate(
    py: Python<'_>,
    set: &Bound<'_, Set>,
    cores: Vec<String>,
    resources: Vec<String>,
    seed: u64,
    horizon: u64,
    steps_max: u64,
    row: ScenarioRow,
    events: bool,
) -> PyResult<RunRow> {
    let set = &set.get().0;
    let rules = Rules {
        cores: cores.iter().map(|word| core_rule(word)).collect::<PyResult<_>>()?,
        resources: resources.iter().map(|word| global_rule(word)).collect::<PyResult<_>>()?,
    };
    let scenario = scenario(seed, horizon, steps_max, row)?;
    let mut columns = Columns::default();
    let outcome = free(py, || {
        let mut simulation = Simulation::new(set, &rules)?;
        let outcome = if events {
            simulation.run(&scenario, &mut |event| columns.push(event, set))
        } else {
            simulation.run(&scenario, &mut ())
        };
        outcome.cloned()
    })?;
    let outcome = outcome.map_err(|fault| match fault {
        RulesFault::Overflow => PyOverflowError::new_err(fault.to_string()),
        _ => PyValueError::new_err(fault.to_string()),
    })?;
    let end = match outcome.end {
        RunEnd::Complete => "complete".to_owned(),
        RunEnd::Steps => "steps".to_owned(),
        RunEnd::Stopped { .. } => "stopped".to_owned(),
        RunEnd::Stuck => "stuck".to_owned(),
        RunEnd::Broken { .. } => "broken".to_owned(),
        RunEnd::Misuse { .. } => "misuse".to_owned(),
    };
    let task = |task: &taut_sim::TaskOutcome| {
        let (response, release) = (task.response_max.as_ns(), task.from_release_max.as_ns());
        (task.released, task.completed, task.missed, task.dropped, response, release)
    };
    let tasks = outcome.tasks.iter().map(task).collect();
    let table = if events { Some(columns.batch()?) } else { None };
    Ok((end, outcome.last.as_ns(), outcome.events, tasks, table))
}
