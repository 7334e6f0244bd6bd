// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One file per language, and what they share.

pub(crate) mod cheddar;
pub(crate) mod mast;
pub(crate) mod rt_app;
pub(crate) mod simso;

use std::collections::BTreeSet;

use taut_model::{ArrivalPattern, Body, Class, Model, Request, Segment, SetTask, TaskSet};
use taut_time::Duration;

use crate::{ConversionLoss, ExportOptions, Target};

/// How many critical sections of one request are written one by one.
const SECTIONS_MAX: u32 = 64;

/// A step of an exported job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Run(Duration),
    Lock(usize),
    Unlock(usize),
}

/// The text written so far, and what could not be carried over.
pub(crate) struct Export<'m> {
    pub(crate) model: &'m Model,
    pub(crate) set: &'m TaskSet,
    pub(crate) options: ExportOptions,
    pub(crate) text: String,
    pub(crate) lost: Vec<ConversionLoss>,
    /// The names of the tasks in the other language.
    names: Vec<String>,
}

/// The tasks of one core.
pub(crate) fn alone(set: &TaskSet, core: usize) -> TaskSet {
    let tasks = set.on_core(core).map(|task| SetTask { core: 0, ..set.tasks()[task].clone() }).collect();
    let scheduler = set.cores().get(core).copied().into_iter().collect();
    // A subset of a valid task set is valid.
    TaskSet::new(scheduler, set.resources().to_vec(), tasks).unwrap_or_else(|_| set.clone())
}

impl<'m> Export<'m> {
    /// Starts an export; reports at once what no other language can express.
    pub(crate) fn new(model: &'m Model, set: &'m TaskSet, options: &ExportOptions) -> Self {
        let names = names(set, options.target);
        let (text, lost) = (String::new(), Vec::new());
        let mut export = Self { model, set, options: *options, text, lost, names };
        for task in model.tasks() {
            let name = &task.name;
            match &task.class {
                Class::BestEffort(_) => {
                    export.lose(format!("tasks.{name}"), "it has no deadline, and is left out");
                }
                Class::RealTime(task) => {
                    if task.server.is_some() {
                        export.lose(
                            format!("tasks.{name}"),
                            "it runs in a server, which is written in its place",
                        );
                    } else if !task.non_preemptive.is_zero() {
                        let what = "its non-preemptive stretch is left out";
                        export.lose(format!("tasks.{name}.non-preemptive"), what);
                    }
                }
            }
        }
        for server in model.servers() {
            export.lose(
                format!("servers.{}", server.name),
                "it is written as a task that uses all of its budget",
            );
        }
        for channel in model.channels() {
            export.lose(format!("channels.{}", channel.name), "data are left out");
        }
        for (at, chain) in model.chains().iter().enumerate() {
            export.lose(format!("chains.{at}"), format!("chain `{}` is left out", chain.name));
        }
        if let Some(core) = options.core {
            let cpu = model.cores().nth(core).map_or(0, |core| model.cpu(core));
            if model.cores().count() > 1 {
                export.lose("platform.cores", format!("of core {cpu} alone"));
            }
        }
        let overheads = model.platform().overheads;
        for (key, time, what) in [
            ("release", overheads.release, "the release latency is in jitter"),
            (
                "context-switch",
                overheads.context_switch,
                "context switches are in execution times, two a job",
            ),
            ("kernel-blocking", overheads.kernel_blocking, "delays by the kernel are left out"),
            ("lock", overheads.lock, "the cost of locking is left out"),
        ] {
            if !time.is_zero() {
                export.lose(format!("platform.overheads.{key}"), what);
            }
        }
        export
    }

    /// Reports what could not be carried over, by its path in the manifest.
    pub(crate) fn lose(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.lost.push(ConversionLoss { at: None, place: Some(place.into()), what: what.into() });
    }

    /// Reports what could not be carried over of a key of a task, or of the server that the task stands for.
    pub(crate) fn lose_of(&mut self, task: usize, key: &str, what: impl Into<String>) {
        let name = self.set.tasks()[task].name.as_str();
        let server = name
            .strip_prefix("server ")
            .filter(|name| self.model.servers().iter().any(|one| one.name == *name));
        let of = server.map_or_else(|| format!("tasks.{name}"), |name| format!("servers.{name}"));
        self.lose(if key.is_empty() { of } else { format!("{of}.{key}") }, what);
    }

    /// The name of a task in the other language.
    pub(crate) fn name(&self, task: usize) -> &str {
        self.names.get(task).map_or("", String::as_str)
    }

    /// The CPU of a task.
    pub(crate) fn cpu(&self, task: usize) -> u16 {
        let core = self.options.core.unwrap_or_else(|| self.set.tasks()[task].core);
        self.model.cores().nth(core).map_or(0, |core| self.model.cpu(core))
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// All tasks with their positions.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (usize, &'m SetTask)> + use<'m> {
        self.set.tasks().iter().enumerate()
    }

    /// The resources that some task uses, with their positions and names.
    pub(crate) fn resources(&self) -> Vec<(usize, &'m str)> {
        let all = self.set.resources().iter().enumerate();
        let used = all.filter(|(at, _)| self.set.users(*at).next().is_some());
        used.map(|(at, resource)| (at, resource.name.as_str())).collect()
    }

    /// Reports that sporadic tasks become periodic, and that jitter is left out.
    pub(crate) fn plain_periods(&mut self) {
        for (at, task) in self.tasks() {
            if task.arrivals.is_sporadic() {
                self.lose_of(at, "arrival", "sporadic, written as periodic");
            }
            if !task.jitter.is_zero() {
                self.lose_of(at, "jitter", "jitter is left out");
            }
        }
    }

    /// The steps of a job, in order. Sections that may be anywhere come first, one after the other; with `placed`, the
    /// other language fixes that order, and this reports it.
    pub(crate) fn steps(&mut self, at: usize, placed: bool) -> Vec<Step> {
        let (task, cost) = (&self.set.tasks()[at], self.set.cost(at));
        let mut steps = Vec::new();
        match &task.body {
            Body::Segments(segments) => walk(segments, &mut steps),
            Body::Anywhere { requests, .. } => {
                let mut left = cost;
                for request in requests {
                    let Request { resource, count, length, .. } = *request;
                    if count > SECTIONS_MAX {
                        let resource = &self.set.resources()[resource].name;
                        let what = format!("{SECTIONS_MAX} of {count} sections of `{resource}` are written");
                        self.lose_of(at, "sections", what);
                    }
                    for _ in 0..count.min(SECTIONS_MAX) {
                        steps.extend([Step::Lock(resource), Step::Run(length), Step::Unlock(resource)]);
                        left = left.saturating_sub(length);
                    }
                }
                steps.push(Step::Run(left));
                if placed && !requests.is_empty() {
                    self.lose_of(at, "sections", "they may be anywhere; they are written first");
                }
            }
        }
        steps.retain(|step| !matches!(step, Step::Run(time) if time.is_zero()));
        steps
    }
}

/// The names of the tasks without characters that the language does not take, each different. The name of a server's
/// task contains a space, and may equal a task's name once the space is replaced.
fn names(set: &TaskSet, target: Target) -> Vec<String> {
    let (from, to): (&[char], &str) = match target {
        Target::Mast | Target::Cheddar => (&['-', ' '], "_"),
        Target::SimSo | Target::RtApp => (&[' '], "-"),
    };
    let mut taken = BTreeSet::new();
    let mut give = |task: &SetTask| {
        let wanted = task.name.replace(from, to);
        let mut name = wanted.clone();
        for number in 2.. {
            if taken.insert(name.clone()) {
                break;
            }
            name = format!("{wanted}{to}{number}");
        }
        name
    };
    set.tasks().iter().map(&mut give).collect()
}

fn walk(segments: &[Segment], steps: &mut Vec<Step>) {
    for segment in segments {
        match segment {
            Segment::Normal(time) => steps.push(Step::Run(*time)),
            Segment::Section { resource, inside } => {
                steps.push(Step::Lock(*resource));
                walk(inside, steps);
                steps.push(Step::Unlock(*resource));
            }
        }
    }
}

/// A time as a number of units of `10^places` ns, exactly: `12.5`.
pub(crate) fn number(time: Duration, places: u32) -> String {
    let unit = 10u64.pow(places);
    let (whole, segment) = (time.as_ns() / unit, time.as_ns() % unit);
    let segment = format!("{segment:0digits$}", digits = places as usize);
    match segment.trim_end_matches('0') {
        "" => format!("{whole}.0"),
        segment => format!("{whole}.{segment}"),
    }
}

/// The offset of a task's first arrival.
pub(crate) fn offset(task: &SetTask) -> Duration {
    match task.arrivals {
        ArrivalPattern::Phased(offset) => offset,
        ArrivalPattern::Periodic | ArrivalPattern::Sporadic | ArrivalPattern::Driven => Duration::ZERO,
    }
}
