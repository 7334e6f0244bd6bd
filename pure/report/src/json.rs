// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::Serialize;
use taut_plan::Basis;

use crate::Ending;
use crate::figures::{
    ChainFigures, ChannelFigures, ClockFigures, CoreFigures, ModeChangeFigures, ProbeFigures,
    ResourceFigures, ServiceChange, TaskFigures, ValuesFileFigures,
};
use crate::report::Report;
use crate::verdict::{Breach, RunVerdict, Warning};

/// Changes when a field changes its meaning or is removed; a new field does not change it.
const SCHEMA_VERSION: u32 = 1;

/// The content of `report.json`.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    app: &'a str,
    /// `kept`, `kept-but-machine` or `broken`.
    verdict: &'static str,
    /// Responses, latencies and ages beyond their bound that the machine accounts for.
    late_machine: u64,
    breaches: &'a [Breach],
    warnings: &'a [Warning],
    /// Whether the plan proves every deadline and chain.
    proven: bool,
    /// The evidence on which the proof rests; null if there is nothing to prove.
    rests_on: Option<Basis>,
    /// From release 0 to the last record.
    duration_ns: u64,
    /// Start of the judged part of the run, after release 0: later than 0 if the recording has a limit.
    judged_from_ns: u64,
    /// Earlier records, which newer ones replaced.
    records_dropped: u64,
    /// `done`; `signal`: a signal asked for an orderly end; `overrun`, `panic`: a job of the task below; `killed`: by
    /// the signal below, or by an unknown cause; `exited`: with the code below, before its end or not in order. Ended
    /// without waiting for jobs: `limit` (a job of the task below), `jobs`, `finish`, `start`, `again` (the second
    /// signal, below), `left` (by `exit`). `best-effort`: without the task below, which did not return.
    ending: &'static str,
    /// The number of the signal that ended the run, if it is known.
    signal: Option<u32>,
    /// The task whose overrun, panic or limit ended the run, or that did not return.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_by: Option<&'a str>,
    /// The exit code of a process that ended before its run did.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u32>,
    /// How long it took to bring the outputs to their safe state, if that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    rested_ns: Option<u64>,
    /// The file of recorded values, if a channel is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    values_file: Option<ValuesFileFigures>,
    tasks: &'a [TaskFigures],
    channels: &'a [ChannelFigures],
    chains: &'a [ChainFigures],
    /// Resources whose locks were recorded.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    resources: &'a [ResourceFigures],
    /// Counts of dispatched cores as a whole.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cores: &'a [CoreFigures],
    probes: &'a [ProbeFigures],
    services: &'a [ServiceChange],
    /// Changes of mode that the run made.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    changes: &'a [ModeChangeFigures],
    /// Devices' clocks that tasks follow.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    clocks: &'a [ClockFigures],
    /// Paths and digests of the plan's inputs.
    inputs: &'a [taut_plan::Input],
    /// Keys and values as the run recorded them.
    machine: &'a [(String, String)],
}

pub(crate) fn write(report: &Report) -> String {
    let (late_machine, breaches) = match &report.verdict {
        RunVerdict::Kept => (0, [].as_slice()),
        RunVerdict::KeptButMachine(late) => (*late, [].as_slice()),
        RunVerdict::Broken(breaches) => (report.late_machine(), breaches.as_slice()),
    };
    let task = |task: u32| report.plan.tasks.get(task as usize).map(|task| task.name.as_str());
    let (ending, signal, ended_by, exit_code) = match report.ending {
        Ending::Done => ("done", None, None, None),
        Ending::Signal(signal) => ("signal", Some(signal), None, None),
        Ending::Overrun(of) => ("overrun", None, task(of), None),
        Ending::Panic(of) => ("panic", None, task(of), None),
        Ending::Killed(signal) => ("killed", Some(signal), None, None),
        Ending::Exited(code) => ("exited", None, None, Some(code)),
        Ending::Limit(of) => ("limit", None, task(of), None),
        Ending::Jobs => ("jobs", None, None, None),
        Ending::Finish => ("finish", None, None, None),
        Ending::Start => ("start", None, None, None),
        Ending::Again(signal) => ("again", Some(signal), None, None),
        Ending::Left => ("left", None, None, None),
        Ending::BestEffort(of) => ("best-effort", None, task(of), None),
        Ending::Unwritten => ("unwritten", None, None, None),
        _ => ("killed", None, None, None),
    };
    let document = Document {
        schema_version: SCHEMA_VERSION,
        app: &report.plan.app,
        verdict: report.verdict.word(),
        late_machine,
        breaches,
        warnings: &report.warnings,
        proven: report.plan.proven,
        rests_on: report.plan.basis(),
        duration_ns: report.duration,
        judged_from_ns: report.since,
        records_dropped: report.dropped,
        ending,
        signal,
        ended_by,
        exit_code,
        rested_ns: report.rested_ns,
        values_file: report.values_file,
        tasks: &report.tasks,
        channels: &report.channels,
        chains: &report.chains,
        resources: &report.resources,
        cores: &report.cores,
        probes: &report.probes,
        services: &report.services,
        changes: &report.changes,
        clocks: &report.clocks,
        inputs: &report.plan.inputs,
        machine: &report.machine,
    };
    // The document has only strings and integers, so serialization cannot fail.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
