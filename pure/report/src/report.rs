// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_event::Ending;
use taut_plan::Plan;

use crate::decisions::Decisions;
use crate::figures::{
    ChainFigures, ChannelFigures, ClockFigures, CoreFigures, ModeChangeFigures, ProbeFigures,
    ResourceFigures, ServiceChange, TaskFigures, ValuesFileFigures,
};
use crate::jobs::Job;
use crate::notes::Notes;
use crate::observations::ValueEnd;
use crate::verdict::{RunVerdict, Warning};

/// A plan and a recorded run of it.
#[derive(Clone, Debug)]
pub struct Report {
    pub(crate) plan: Plan,
    pub(crate) verdict: RunVerdict,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) tasks: Vec<TaskFigures>,
    pub(crate) channels: Vec<ChannelFigures>,
    pub(crate) chains: Vec<ChainFigures>,
    pub(crate) resources: Vec<ResourceFigures>,
    pub(crate) cores: Vec<CoreFigures>,
    pub(crate) probes: Vec<ProbeFigures>,
    pub(crate) services: Vec<ServiceChange>,
    pub(crate) changes: Vec<ModeChangeFigures>,
    pub(crate) clocks: Vec<ClockFigures>,
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
    /// The file of recorded values, if a channel is recorded.
    pub(crate) values_file: Option<ValuesFileFigures>,
    /// Complete jobs per task, by release, with the finding about each.
    pub(crate) jobs: Vec<Vec<(Job, Lateness)>>,
    /// The probe's records: CPU, instant of the wake, lateness; by time.
    pub(crate) stalls: Vec<(u16, u64, u64)>,
    /// Sends and receives, by time.
    pub(crate) values: Vec<ValueEnd>,
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
    /// Whether the run kept every bound that the plan proves.
    pub fn verdict(&self) -> &RunVerdict {
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

    /// Per change of mode that the run made, in the plan's order.
    pub fn changes(&self) -> &[ModeChangeFigures] {
        &self.changes
    }

    /// Per device's clock that a task follows, in the plan's order of those tasks.
    pub fn clocks(&self) -> &[ClockFigures] {
        &self.clocks
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
        let changes = self.changes.iter().map(|change| change.late_machine);
        tasks.chain(channels).chain(chains).chain(changes).sum()
    }
}
