// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A simulated run as a file for Perfetto.

use std::path::{Path, PathBuf};

use taut_model::TaskSet;
use taut_plan::{ChannelKind, ClassPlan, OverflowPolicy, Plan};
use taut_report::{Focus, Simulated, Window};
use taut_sim::flow::{Delivery, FlowChannel, Flows, OnFull, Queue, SamplingPoint};
use taut_sim::{Limit, Rules, Scenario, SimEvent, Simulation};
use taut_time::{Duration, Instant};

use crate::outcome::{Failure, Outcome};
use crate::say::errln;

/// How to view a trace; the text follows the trace's name.
pub(crate) const HOW: &str = ": open it at https://ui.perfetto.dev (it stays in your browser)";
/// The most events of a run that are shown: some 70 MB.
const EVENTS_MAX: u64 = 500_000;
/// The most jobs whose values are followed through channels.
const JOBS_MAX: u64 = 1_000_000;

/// A run, and the response in it that the trace focuses on.
pub(crate) struct Shown<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) set: &'a TaskSet,
    pub(crate) rules: &'a Rules,
    pub(crate) scenario: &'a Scenario,
    pub(crate) limits: &'a [(usize, Limit)],
    /// By position in the set.
    pub(crate) bounds: &'a [Option<Duration>],
    pub(crate) task: usize,
    pub(crate) job: u64,
    /// The title of the track that shows the response.
    pub(crate) title: &'a str,
    /// The most virtual time that is shown.
    pub(crate) most: Duration,
}

/// A trace, and which part of the run it shows.
pub(crate) struct Trace {
    pub(crate) bytes: Vec<u8>,
    pub(crate) from: Instant,
    pub(crate) until: Instant,
    /// The end of the run.
    pub(crate) run: Instant,
    /// The reasons why it shows less than the whole run.
    pub(crate) less: Vec<String>,
}

impl Trace {
    /// The values of the run's channels with the names of the channels, and what is left out.
    fn flows<'s>(shown: &Shown<'s>) -> (Option<Flows>, Vec<(usize, &'s str)>, Vec<String>) {
        let (channels, names) = channels(shown.plan, shown.set);
        match Flows::new(shown.set, channels) {
            Ok(flows) if names.is_empty() || few_jobs(shown) => (Some(flows), names, Vec::new()),
            Ok(_) => {
                let less = format!("channel values are left out: the run may have more than {JOBS_MAX} jobs");
                (None, names, vec![less])
            }
            Err(fault) => (None, names, vec![format!("channel values are left out: {fault}")]),
        }
    }

    /// Repeats the run, and shows the time around the response in focus.
    pub(crate) fn make(shown: &Shown<'_>) -> Result<Self, Failure> {
        let unfit =
            |fault: &dyn std::fmt::Display| Failure::Internal(format!("a run cannot be shown: {fault}"));
        let mut simulation = Simulation::new(shown.set, shown.rules).map_err(|fault| unfit(&fault))?;
        if !shown.limits.is_empty() {
            let limited = simulation.limited(shown.limits);
            simulation = limited.map_err(|fault| unfit(&fault))?;
        }
        let mut complete = Instant::from_ns(0);
        let mut look = |event: SimEvent| {
            if (event.task, event.job) == (shown.task, shown.job) {
                complete = event.at;
            }
        };
        let run = simulation.run(shown.scenario, &mut look).map_err(|fault| unfit(&fault))?.last;
        let (mut flows, names, mut less) = Self::flows(shown);
        let mut most = shown.most.as_ns().max(1);
        loop {
            // What comes before the response matters more than what follows it.
            let until = complete.as_ns().saturating_add(most / 4).max(most);
            let from = until - most;
            let focus = Focus { task: shown.task, job: shown.job, title: shown.title };
            let window = Window {
                from: Instant::from_ns(from),
                until: Instant::from_ns(until),
                events_max: EVENTS_MAX,
                bounds: shown.bounds,
                focus: Some(focus),
            };
            let mut seen = Simulated::new(shown.plan, shown.set, &window);
            let ran = match &mut flows {
                Some(flows) => flows.run(&mut simulation, shown.scenario, &mut seen).map(|_| ()),
                None => simulation
                    .run(shown.scenario, &mut seen)
                    .map(|_| ())
                    .map_err(taut_sim::flow::FlowFault::Run),
            };
            ran.map_err(|fault| unfit(&fault))?;
            if seen.cut().is_some() && !seen.has_focus() && most > 1 {
                most /= 2;
                continue;
            }
            if seen.cut().is_some() || most < shown.most.as_ns() {
                less.push(format!("no more than {EVENTS_MAX} events are shown"));
            } else if run.as_ns() > until || from > 0 {
                less.push("`--trace-for` shows more".to_owned());
            }
            if let Some(flows) = &flows {
                seen.values(flows, &names);
            }
            let until = seen.last();
            return Ok(Self { bytes: seen.into_perfetto(), from: Instant::from_ns(from), until, run, less });
        }
    }

    /// A text that says which part of the run it shows.
    pub(crate) fn extent(&self) -> String {
        let mut text = if self.from.as_ns() == 0 && self.until >= self.run {
            format!("the whole run, {}", millis(self.run))
        } else {
            format!("{} to {} of the run's {}", millis(self.from), millis(self.until), millis(self.run))
        };
        for less in &self.less {
            text = format!("{text}; {less}");
        }
        text
    }

    /// As JSON.
    pub(crate) fn json(&self, path: &Path) -> serde_json::Value {
        serde_json::json!({
            "path": path,
            "from_ns": self.from.as_ns(),
            "until_ns": self.until.as_ns(),
            "run_ns": self.run.as_ns(),
            "left_out": self.less,
        })
    }
}

fn millis(at: Instant) -> String {
    let micros = at.as_ns().div_ceil(1000);
    format!("{}.{:03} ms", micros / 1000, micros % 1000)
}

fn few_jobs(shown: &Shown<'_>) -> bool {
    let horizon = shown.scenario.horizon.as_ns();
    let jobs = shown.set.tasks().iter().map(|task| horizon / task.period.as_ns().max(1));
    jobs.fold(0, u64::saturating_add) <= JOBS_MAX
}

/// The channels of a plan between tasks of a set, each with its position in the plan and its name.
fn channels<'p>(plan: &'p Plan, set: &TaskSet) -> (Vec<FlowChannel>, Vec<(usize, &'p str)>) {
    let position = |name: &str| set.tasks().iter().position(|task| task.name == name);
    let (mut channels, mut names) = (Vec::new(), Vec::new());
    for (at, channel) in plan.channels.iter().enumerate() {
        let Some(writer) = position(&channel.writer.name).filter(|_| !channel.is_timed()) else { continue };
        let readers: Vec<usize> =
            channel.readers.iter().filter_map(|reader| position(&reader.name)).collect();
        if readers.is_empty() {
            continue;
        }
        let full = match channel.overflow {
            OverflowPolicy::Reject => OnFull::Refuse,
            OverflowPolicy::DropOldest | OverflowPolicy::Recall => OnFull::Replace,
            // A simulated queue does not support this policy.
            OverflowPolicy::Clear => continue,
        };
        // A task that one queue releases takes one value in each job; others take what waits.
        let one_by_one = |reader: &taut_plan::ReaderPlan| {
            channel.hands_over() && reader.triggered && has_one_trigger(plan, &reader.name)
        };
        let queue = |takes: u32| {
            // A simulated reader holds nothing that it has taken.
            Delivery::Queue(Queue { capacity: channel.capacity as usize, sends: 1, takes, full })
        };
        let takes = |one_by_one: bool| if one_by_one { 1 } else { channel.capacity };
        if channel.broadcast {
            // Each reader takes as if it had a queue of its own.
            for reader in &channel.readers {
                let Some(task) = position(&reader.name) else { continue };
                let delivery = queue(takes(one_by_one(reader)));
                channels.push(FlowChannel { writer, readers: vec![task], delivery });
                names.push((at, channel.name.as_str()));
            }
            continue;
        }
        let delivery = match channel.kind {
            ChannelKind::State => Delivery::Newest(SamplingPoint::Start),
            ChannelKind::Queue => queue(takes(channel.readers.iter().any(one_by_one))),
            ChannelKind::Bulk => queue(channel.takes_per_release),
        };
        channels.push(FlowChannel { writer, readers, delivery });
        names.push((at, channel.name.as_str()));
    }
    (channels, names)
}

/// Whether exactly one channel releases a task, and nothing else.
fn has_one_trigger(plan: &Plan, task: &str) -> bool {
    let class = plan.task(task).map(|at| &plan.tasks[at].class);
    matches!(class, Some(ClassPlan::RealTime { arrival, .. }) if arrival.sole_trigger().is_some())
}

/// Checks that a trace can be written to a path, before hours are spent on the run.
///
/// # Errors
/// [`Failure::Write`] if nothing can be written there.
pub(crate) fn writable(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::Write(path.to_owned(), std::io::ErrorKind::IsADirectory.into()));
    }
    if path.exists() {
        let file = std::fs::OpenOptions::new().write(true).open(path);
        return file.map(drop).map_err(Failure::write(path));
    }
    std::fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(Failure::write(path))?;
    std::fs::remove_file(path).map_err(Failure::write(path))
}

/// Writes a trace, and reports its path. A device or a pipe is written to directly; a file is written whole or not at
/// all.
pub(crate) fn write(path: &Path, trace: &Trace) -> Result<(), Failure> {
    if path.exists() && !path.is_file() {
        std::fs::write(path, &trace.bytes).map_err(Failure::write(path))?;
    } else {
        crate::plan::write(path, &trace.bytes)?;
    }
    errln!("wrote {}{HOW}", path.display());
    Ok(())
}

/// The default path of a trace: in the folder that `taut run` writes to.
pub(crate) fn default_path(folder: &Path, name: &str) -> PathBuf {
    crate::report::output_folder(folder).join(name)
}

/// The exit code for an answer, or for an interruption.
pub(crate) fn unless(interrupted: bool, outcome: Outcome) -> Outcome {
    if interrupted { Outcome::Interrupted } else { outcome }
}
