// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_event::{Event as Recorded, Record};
use taut_time::Instant;

use crate::{RunEnd, SimEvent, SimEventKind};

/// The first record that the simulator does not produce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The core.
    pub core: usize,
    /// How many records of that core are equal before it.
    pub index: u64,
    /// The record, with its position among those given.
    pub recorded: (usize, Record),
    /// The simulated event in its place; none if the running jobs just continue.
    pub simulated: Option<SimEvent>,
    /// Why a rule refused the record, if one did: [`RunEnd::Broken`] means that a job would use a resource beside its
    /// holder.
    pub refused: Option<RunEnd>,
    /// The equal records of that core before the difference, the last at the end, with their simulated events.
    pub before: Vec<(Record, SimEvent)>,
    /// The records of that core after the difference.
    pub recorded_after: Vec<Record>,
    /// The other simulated events of that core at that instant.
    pub simulated_after: Vec<SimEvent>,
    /// Per core, the state of its jobs in the simulation.
    pub cores: Vec<CoreState>,
    /// Per resource, its holder in the simulation: task and job.
    pub held: Vec<Option<(usize, u64)>>,
}

/// The jobs on a core: task and job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreState {
    /// The job that runs or spins.
    pub runs: Option<(usize, u64)>,
    /// The jobs that are ready.
    pub ready: Vec<(usize, u64)>,
    /// The jobs that wait without running, each with its resource.
    pub waits: Vec<(usize, u64, usize)>,
}

/// The names of tasks and resources, for a readable report.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// By position in the set.
    pub tasks: &'a [String],
    /// By position in the set.
    pub resources: &'a [String],
    /// The instant that reported times count from.
    pub begin: Instant,
}

impl Names<'_> {
    fn job(&self, (task, job): (usize, u64)) -> String {
        let name = self.tasks.get(task).map_or("?", |name| name);
        format!("{name} {job}")
    }

    fn resource(&self, at: usize) -> &str {
        self.resources.get(at).map_or("?", |name| name)
    }

    /// A record in words, such as `log 3 is preempted`.
    pub fn record(&self, record: &Record) -> String {
        let job = self.job((record.subject.into(), record.job));
        let other = format!("{job}: {:?}", record.kind);
        let Ok(event) = Recorded::of(record) else { return other };
        match event {
            Recorded::Release { .. } => format!("{job} is released"),
            Recorded::Start { .. } => format!("{job} starts"),
            Recorded::Preempt { .. } => format!("{job} is preempted"),
            Recorded::Resume { .. } => format!("{job} resumes"),
            Recorded::Locked { resource, .. } => format!("{job} holds {}", self.resource(resource.into())),
            Recorded::Granted { resource, .. } => {
                format!("{job} is granted {}", self.resource(resource.into()))
            }
            Recorded::Unlock { resource, .. } => {
                format!("{job} gives back {}", self.resource(resource.into()))
            }
            Recorded::Spin { resource, .. } => format!("{job} spins for {}", self.resource(resource.into())),
            Recorded::Suspend { resource, .. } => {
                format!("{job} waits for {}", self.resource(resource.into()))
            }
            Recorded::Complete { .. } => format!("{job} is complete"),
            Recorded::Level { level, .. } => format!("{job} has the level {level}"),
            Recorded::Ceiling { resource, ceiling } => {
                format!("{} has the ceiling {ceiling}", self.resource(resource.into()))
            }
            Recorded::Looked { .. } => "the core checks its calendar".to_owned(),
            Recorded::Exhausted { .. } => format!("{job} has used up its budget"),
            // A replay compares none of these.
            Recorded::Begin { .. } | Recorded::End { .. } | Recorded::Miss { .. } => other,
            Recorded::Overrun { .. } | Recorded::Skip { .. } | Recorded::Failed { .. } => other,
            Recorded::Panicked { .. } | Recorded::ModeFollowed { .. } => other,
            Recorded::ValuesRecorded { .. } | Recorded::ValuesLost { .. } | Recorded::Followed { .. } => {
                other
            }
            Recorded::ScopeExceeded { .. } | Recorded::Slept { .. } | Recorded::Service { .. } => other,
            Recorded::Send { .. } | Recorded::Receive { .. } => other,
            Recorded::ReceivedBy { .. } | Recorded::LostBy { .. } => other,
            Recorded::Drop { .. } | Recorded::TooMany { .. } | Recorded::HeapUsed { .. } => other,
            Recorded::Stall { .. } | Recorded::ChainEnd { .. } | Recorded::Budget { .. } => other,
            Recorded::Counted { .. } | Recorded::CoreCounted { .. } => other,
            Recorded::Lost { .. } | Recorded::CoreLost { .. } | Recorded::Beside { .. } => other,
            Recorded::Moved { .. } | Recorded::ProbeMoved { .. } | Recorded::CoreMoved { .. } => other,
            Recorded::SafeState { .. } | Recorded::Stood { .. } => other,
            Recorded::Stopped { .. } | Recorded::Foreign { .. } => other,
        }
    }

    /// A simulated event in the same words.
    pub fn event(&self, event: &SimEvent) -> String {
        let job = self.job((event.task, event.job));
        match event.kind {
            SimEventKind::Release { .. } => format!("{job} is released"),
            SimEventKind::Drop => format!("{job} is dropped"),
            SimEventKind::Start => format!("{job} starts"),
            SimEventKind::Preempt => format!("{job} is preempted"),
            SimEventKind::Resume => format!("{job} resumes"),
            SimEventKind::Suspend(resource) => format!("{job} waits for {}", self.resource(resource)),
            SimEventKind::Spin(resource) => format!("{job} spins for {}", self.resource(resource)),
            SimEventKind::Locked(resource) => format!("{job} holds {}", self.resource(resource)),
            SimEventKind::Unlock(resource) => format!("{job} gives back {}", self.resource(resource)),
            SimEventKind::Complete { .. } => format!("{job} is complete"),
            SimEventKind::Exhausted => format!("{job} has used up its budget"),
            SimEventKind::Kill => format!("{job} is ended"),
            SimEventKind::Miss => format!("{job} is late"),
        }
    }

    /// The instant of a record's event, in ns since `begin`; for a release, the instant of its delivery to the core.
    pub fn when(&self, record: &Record) -> u64 {
        let delay = match Recorded::of(record) {
            Ok(Recorded::Release { delay, .. }) => delay.as_ns(),
            _ => 0,
        };
        record.at.as_ns().saturating_add(delay).saturating_sub(self.begin.as_ns())
    }
}

impl Difference {
    /// The simulated event in place of the record, in words.
    pub fn instead(&self, names: &Names<'_>) -> String {
        match (&self.simulated, self.refused) {
            (_, Some(RunEnd::Broken { task, resource })) => {
                let holder = self.held.get(resource).copied().flatten();
                let holder = holder.map_or_else(|| "another job".to_owned(), |holder| names.job(holder));
                let (task, resource) =
                    (names.tasks.get(task).map_or("?", |name| name), names.resource(resource));
                format!("{task} would use {resource} while {holder} holds it")
            }
            (_, Some(_)) => "no rule allows that".to_owned(),
            (Some(event), None) => names.event(event),
            (None, None) => match self.cores.get(self.core).and_then(|core| core.runs) {
                Some(runs) => format!("{} continues to run", names.job(runs)),
                None => "no job runs".to_owned(),
            },
        }
    }

    /// A table for readers: the recorded and the simulated events around the difference, in µs, then the state of
    /// each core. Every line ends with a line break.
    pub fn table(&self, names: &Names<'_>) -> String {
        let micros = |ns: u64| format!("{}.{:03}", ns / 1_000, ns % 1_000);
        let record = |record: &Record| (micros(names.when(record)), names.record(record));
        let mut rows: Vec<[String; 4]> = Vec::new();
        let mut row = |mark: &str, recorded: Option<&Record>, simulated: String| {
            let (at, recorded) = recorded.map(record).unwrap_or_default();
            rows.push([mark.to_owned(), at, recorded, simulated]);
        };
        for (recorded, simulated) in &self.before {
            row(" ", Some(recorded), names.event(simulated));
        }
        row(">", Some(&self.recorded.1), self.instead(names));
        for at in 0..self.recorded_after.len().max(self.simulated_after.len()) {
            let simulated = self.simulated_after.get(at).map(|event| names.event(event));
            row(" ", self.recorded_after.get(at), simulated.unwrap_or_default());
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (at, recorded) = (width(1).max(2), width(2).max(8));
        let mut text = format!("    {:>at$}  {:<recorded$}  simulated\n", "us", "recorded");
        for [mark, time, was, is] in &rows {
            let line = format!("  {mark} {time:>at$}  {was:<recorded$}  {is}");
            text += line.trim_end();
            text.push('\n');
        }
        for (core, state) in self.cores.iter().enumerate() {
            let runs = state.runs.map_or_else(|| "no job".to_owned(), |runs| names.job(runs));
            let list = |jobs: Vec<String>| if jobs.is_empty() { "-".to_owned() } else { jobs.join(", ") };
            let ready = list(state.ready.iter().map(|job| names.job(*job)).collect());
            let waits = state.waits.iter().map(|&(task, job, resource)| {
                format!("{} for {}", names.job((task, job)), names.resource(resource))
            });
            let waits = list(waits.collect());
            text += &format!("  core {core}: {runs} runs; ready: {ready}; waiting: {waits}\n");
        }
        let held = self.held.iter().enumerate().filter_map(|(at, holder)| {
            holder.map(|holder| format!("{} by {}", names.resource(at), names.job(holder)))
        });
        let held: Vec<String> = held.collect();
        text +=
            &format!("  held: {}\n", if held.is_empty() { "nothing".to_owned() } else { held.join(", ") });
        text
    }
}
