// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The content of a trace, whatever its origin: filled from a recorded run here and from a simulated one in
//! [`crate::simulated`], written by [`crate::perfetto`]. So both open with the same tracks under the same names.
//!
//! Times are in ns on the run's clock. Tasks are those of the plan, by position.

use std::collections::BTreeMap;

use crate::jobs::Job;
use crate::notes::{Note, Subject};
use crate::observations::ValueEnd;
use crate::report::{Lateness, Report};
use crate::schedule::slices;
use crate::simulated::Simulated;
use crate::verdict::RunVerdict;
use crate::wording::breach_text;

/// All tracks of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracks {
    pub(crate) app: String,
    pub(crate) tasks: Vec<Task>,
    /// By core of the plan.
    pub(crate) cpu_tracks: Vec<Track>,
    /// CPU, instant of the probe's wake, its lateness; by time.
    pub(crate) stalls: Vec<(u16, u64, u64)>,
    /// Each resource's name and holders.
    pub(crate) resources: Vec<Resource>,
    /// By time.
    pub(crate) values: Vec<Value>,
    pub(crate) mark: Option<InstantEvent>,
    /// The notable events of subjects that are neither tasks nor resources, by name.
    pub(crate) others: Vec<(String, Vec<Note>)>,
    /// The verdict of the report and the breaches, after the last record.
    pub(crate) verdict: Vec<Note>,
    /// The instant of the last event; deadlines after that are not shown.
    pub(crate) end: u64,
}

/// The tracks of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    pub(crate) name: String,
    /// The priority as Linux takes it: 1 to 98; 0 under EDF, and for a task that is not real-time.
    pub(crate) priority: u8,
    pub(crate) bound: Option<u64>,
    pub(crate) deadline: Option<u64>,
    /// Complete jobs, by release.
    pub(crate) jobs: Vec<Work>,
    /// Jobs released and not complete at the end: number and release.
    pub(crate) open: Vec<(u64, u64)>,
    /// Jobs dropped instead of being released: number and instant.
    pub(crate) dropped: Vec<(u64, u64)>,
    /// The sections in which it holds or waits for resources; beginnings and ends nest.
    pub(crate) sections: Vec<Section>,
    /// Its notable events, by time.
    pub(crate) notes: Vec<Note>,
}

/// A job as it is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) job: Job,
    pub(crate) late: Option<&'static str>,
    /// The delay from its arrival until it could run, if known: a recorded run knows only the nominal release.
    pub(crate) delay: Option<u64>,
}

/// The begin or end of a critical section, or of waiting for one.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) at: u64,
    /// The name, as in `holds bus`; none for the end of the section that began last.
    pub(crate) begins: Option<String>,
}

/// The holders of a resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resource {
    pub(crate) name: String,
    /// By time.
    pub(crate) held: Vec<Held>,
    /// Its ceilings or floors, by time.
    pub(crate) notes: Vec<Note>,
}

/// The span in which a job holds a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) task: usize,
    pub(crate) job: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Which tasks ran on a CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    pub(crate) cpu: u16,
    /// In order.
    pub(crate) steps: Vec<Step>,
}

/// An event on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) at: u64,
    pub(crate) what: What,
}

/// The kinds of events on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A task becomes ready.
    Wakes(usize),
    /// Another task runs, or none of ours; the one that ran until then sleeps, or is ready.
    Switch { to: Option<usize>, sleeps: bool },
}

/// A value at one end of its channel.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) at: u64,
    pub(crate) task: usize,
    pub(crate) channel: usize,
    pub(crate) name: String,
    pub(crate) sequence: u64,
    pub(crate) sent: bool,
    /// Whether the value's other end is among the values, too.
    pub(crate) joined: bool,
}

/// A response in focus, beside its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstantEvent {
    pub(crate) task: usize,
    pub(crate) job: u64,
    pub(crate) title: String,
    pub(crate) bound: Option<u64>,
    /// Arrival and completion, once the run has shown them.
    pub(crate) seen: Option<(u64, u64)>,
}

impl Tracks {
    /// The tracks of a recorded run. The records of dispatchers are followed like the events of a simulated run.
    pub(crate) fn of(report: &Report) -> Self {
        let decided = Simulated::decided(report);
        let delays = report.decisions.delays();
        let task = |(at, figures): (usize, &crate::TaskFigures)| Task {
            name: figures.name.clone(),
            priority: figures.priority.unwrap_or(0),
            bound: figures.bound_ns,
            deadline: figures.deadline_ns,
            jobs: report.jobs[at]
                .iter()
                .map(|(job, late)| Work {
                    job: *job,
                    late: whose(*late),
                    delay: delays.get(&(at, job.number)).copied(),
                })
                .collect(),
            sections: decided.tasks.get(at).map_or_else(Vec::new, |task| task.sections.clone()),
            notes: report.notes.of(Subject::Task(at)),
            ..Task::default()
        };
        let track = |(at, core): (usize, &taut_plan::CorePlan)| Track {
            cpu: core.cpu,
            steps: match decided.cpu_tracks.get(at) {
                Some(track) if !track.steps.is_empty() => track.steps.clone(),
                _ => steps(report, core.cpu),
            },
        };
        let mut resources = decided.resources;
        for (at, resource) in resources.iter_mut().enumerate() {
            resource.notes = report.notes.of(Subject::Resource(at));
        }
        Self {
            app: report.plan.app.clone(),
            tasks: report.tasks.iter().enumerate().map(task).collect(),
            cpu_tracks: report.plan.cores.iter().enumerate().map(track).collect(),
            stalls: report.stalls.clone(),
            values: values(report),
            mark: None,
            others: report.notes.others(&report.plan),
            verdict: verdict(report),
            end: report.jobs.iter().flatten().map(|(job, _)| job.complete).max().unwrap_or(0),
            resources,
        }
    }
}

/// The most breaches shown in a trace.
const BREACHES_SHOWN: usize = 24;

fn verdict(report: &Report) -> Vec<Note> {
    let at = report.begin.saturating_add(report.duration);
    let breaches = match report.verdict() {
        RunVerdict::Broken(breaches) => breaches.as_slice(),
        RunVerdict::Kept | RunVerdict::KeptButMachine(_) => &[],
    };
    let note = |text, value| Note { at, text, category: "verdict", what: "number", value };
    let word = note(report.verdict().word().to_owned(), breaches.len() as u64);
    let reported = (1..).zip(breaches).take(BREACHES_SHOWN);
    std::iter::once(word).chain(reported.map(|(number, breach)| note(breach_text(breach), number))).collect()
}

fn whose(late: Lateness) -> Option<&'static str> {
    match late {
        Lateness::InTime => None,
        Lateness::Machine => Some("the machine's"),
        Lateness::Ours => Some("ours"),
        Lateness::NotJudged => Some("not judged"),
        Lateness::Outside => Some("caused from outside"),
    }
}

/// Which task ran on a CPU, from starts and completions.
fn steps(report: &Report, cpu: u16) -> Vec<Step> {
    let mut jobs: Vec<(Job, u8)> = Vec::new();
    let on_cpu = report.jobs.iter().zip(&report.tasks).filter(|(_, figures)| figures.cpu == Some(cpu));
    for (found, figures) in on_cpu {
        let priority = figures.priority.unwrap_or(0);
        jobs.extend(found.iter().map(|(job, _)| (*job, priority)));
    }
    let wake = |(job, _): &(Job, u8)| Step { at: job.release.min(job.start), what: What::Wakes(job.task) };
    let mut steps: Vec<Step> = jobs.iter().map(wake).collect();
    let switch = |at, to, sleeps| Step { at, what: What::Switch { to, sleeps } };
    let mut slices = slices(&jobs).into_iter().peekable();
    let mut sleeps = false;
    while let Some(slice) = slices.next() {
        steps.push(switch(slice.from, Some(jobs[slice.job].0.task), sleeps));
        sleeps = slice.completes;
        if slices.peek().is_none_or(|next| next.from > slice.to) {
            steps.push(switch(slice.to, None, sleeps));
            sleeps = false;
        }
    }
    steps.sort_by_key(|step| (step.at, !matches!(step.what, What::Wakes(_))));
    steps
}

/// Values at both ends, where these are recorded.
fn values(report: &Report) -> Vec<Value> {
    let mut ends: BTreeMap<(u16, u64), [bool; 2]> = BTreeMap::new();
    for end in &report.values {
        ends.entry((end.channel, end.sequence)).or_default()[usize::from(end.sent)] = true;
    }
    let value = |end: &ValueEnd| {
        let ValueEnd { at, channel, sequence, sent, reader } = *end;
        let plan = report.plan.channels.get(usize::from(channel))?;
        let task = match reader {
            Some(reader) => usize::from(reader),
            None if sent => report.plan.task(&plan.writer.name)?,
            None => report.plan.task(&plan.readers.first()?.name)?,
        };
        report.plan.tasks.get(task)?;
        Some(Value {
            at,
            task,
            channel: channel.into(),
            name: plan.name.clone(),
            sequence,
            sent,
            joined: ends.get(&(channel, sequence)) == Some(&[true; 2]),
        })
    };
    report.values.iter().filter_map(value).collect()
}
