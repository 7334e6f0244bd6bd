// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_event::file::Run;
use taut_event::{Ending, Kind, Record};
use taut_plan::Plan;
use taut_time::Instant;

use crate::decisions::Decisions;
use crate::figures::{
    ChainFigures, ChannelFigures, CoreFigures, ProbeFigures, ResourceFigures, ServiceChange, TaskFigures,
};
use crate::jobs::Job;
use crate::notes::Notes;
use crate::tracks::Tracks;
use crate::verdict::{Verdict, Warning};
use crate::{html, json, judge, perfetto, text};

/// A plan and a recorded run of it.
#[derive(Clone, Debug)]
pub struct Report {
    pub(crate) plan: Plan,
    pub(crate) verdict: Verdict,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) tasks: Vec<TaskFigures>,
    pub(crate) channels: Vec<ChannelFigures>,
    pub(crate) chains: Vec<ChainFigures>,
    pub(crate) resources: Vec<ResourceFigures>,
    pub(crate) cores: Vec<CoreFigures>,
    pub(crate) probes: Vec<ProbeFigures>,
    pub(crate) services: Vec<ServiceChange>,
    /// The machine's facts, as key and value.
    pub(crate) machine: Vec<(String, String)>,
    pub(crate) begin: u64,
    pub(crate) duration: u64,
    /// Start of the judged part of the run, after release 0: 0, or where a recording with a limit begins.
    pub(crate) since: u64,
    /// Records before that, which newer ones replaced.
    pub(crate) dropped: u64,
    pub(crate) ending: Ending,
    /// How long it took to bring the outputs to their safe state, if that succeeded.
    pub(crate) rested_ns: Option<u64>,
    /// Complete jobs per task, by release, with the finding about each.
    pub(crate) jobs: Vec<Vec<(Job, Lateness)>>,
    /// The probe's records: CPU, instant of the wake, lateness; by time.
    pub(crate) stalls: Vec<(u16, u64, u64)>,
    /// Sends and receives, by time.
    pub(crate) values: Vec<Record>,
    /// The decisions that dispatchers recorded.
    pub(crate) decisions: Decisions,
    pub(crate) notes: Notes,
}

/// Whether a job was late, and whose fault it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lateness {
    InTime,
    Machine,
    Ours,
    /// The cause may be before the recording begins.
    NotJudged,
    Outside,
}

/// What a report says about how it was made; the caller supplies the texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// When the report was made, in words; empty leaves it out.
    pub generated: &'a str,
    /// The command that reproduces the run; empty leaves it out.
    pub command: &'a str,
}

impl Report {
    /// Joins the plan with a run of it, and judges. Ignores records whose subject the plan does not have.
    pub fn new(plan: &Plan, run: &Run) -> Self {
        judge::judge(plan, run)
    }

    /// Whether the run kept every bound that the plan proves.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Facts that qualify the verdict.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Per task, in the plan's order.
    pub fn tasks(&self) -> &[TaskFigures] {
        &self.tasks
    }

    /// Per channel, in the plan's order.
    pub fn channels(&self) -> &[ChannelFigures] {
        &self.channels
    }

    /// Per chain, in the plan's order.
    pub fn chains(&self) -> &[ChainFigures] {
        &self.chains
    }

    /// Per resource whose locks were recorded, those of the manifest first.
    pub fn resources(&self) -> &[ResourceFigures] {
        &self.resources
    }

    /// Per dispatched core that was counted, in the plan's order.
    pub fn cores(&self) -> &[CoreFigures] {
        &self.cores
    }

    /// Per real-time core, in the plan's order.
    pub fn probes(&self) -> &[ProbeFigures] {
        &self.probes
    }

    /// The length of the judged part of the run (ns): from release 0, or from where a recording with a limit begins,
    /// to the last record.
    pub fn judged(&self) -> u64 {
        self.duration.saturating_sub(self.since)
    }

    /// How the run ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Responses, latencies and ages beyond their bound that the machine accounts for.
    pub fn late_machine(&self) -> u64 {
        let tasks = self.tasks.iter().map(|task| task.late_machine);
        let channels = self.channels.iter().map(|channel| channel.late_machine);
        let reaction = |chain: &ChainFigures| chain.reaction.as_ref().map_or(0, |late| late.late_machine);
        let chains = self.chains.iter().map(|chain| chain.late_machine + reaction(chain));
        tasks.chain(channels).chain(chains).sum()
    }

    /// For a terminal of `width` columns, at least 60; with ANSI colours if `color`. Ends with a line break.
    pub fn text(&self, width: usize, color: bool) -> String {
        text::write(self, width, color)
    }

    /// For programs: a JSON object with `schema_version` 1. The name of every time states its unit, ns; times of
    /// events count from release 0. Ends with a line break.
    pub fn json(&self) -> String {
        json::write(self)
    }

    /// For a browser: one file that loads nothing else.
    pub fn html(&self, about: &About<'_>) -> String {
        html::write(self, about)
    }

    /// For Perfetto: jobs per task, CPU tracks, response times, flows of values; Protobuf bytes.
    pub fn perfetto(&self) -> Vec<u8> {
        perfetto::write(&Tracks::of(self))
    }
}

/// Parses `key = value` lines, without quotes around the values.
pub(crate) fn facts(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let clean = |text: &str| text.trim().trim_matches('"').to_owned();
    lines.map(|(key, value)| (clean(key), clean(value))).collect()
}

/// The begin of the run, its end if that is recorded, and the instant of the last record.
pub(crate) fn frame(run: &Run, records: &[Record]) -> (u64, Option<u64>, u64) {
    let of = |kind| records.iter().find(move |record| record.kind == kind);
    let times = records.iter().filter(|record| record.kind != Kind::Counted).map(|record| record.at.as_ns());
    let begin = of(Kind::Begin).map(|record| record.at).or(run.begin).map(Instant::as_ns);
    let begin = begin.or_else(|| times.clone().min()).unwrap_or(0);
    let end = records.iter().filter(|record| record.kind == Kind::End).map(|record| record.at.as_ns()).max();
    (begin, end, end.or(times.max()).unwrap_or(begin))
}
