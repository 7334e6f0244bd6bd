// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The report for a browser: a page, its style and its code, hand-written and embedded here, around the data as JSON
//! in one script element. It loads nothing, so it will still open from a file or an archive in ten years.
//!
//! Texts from outside reach the page only as JSON with escaped `<`, `>` and `&`, and the code inserts them into the
//! document only as text.

use std::collections::BTreeMap;

use serde::Serialize;
use taut_plan::{ChannelPlan, ClassPlan, Input, MemoryMap, MemoryPlan, Region, TermPlan};

use crate::Ending;
use crate::figures::{ChainFigures, ChannelFigures, ProbeFigures, ResourceFigures, TaskFigures, Values};
use crate::jobs::Job;
use crate::report::{About, Lateness, Report};
use crate::schedule::slices;
use crate::verdict::RunVerdict;
use crate::wording::{breach_text, warning_text};

const PAGE: &str = include_str!("html/report.html");
const STYLE: &str = include_str!("html/report.css");
const CODE: &str = include_str!("html/report.js");

/// The most jobs in the schedule. Of a longer run the page shows the beginning, and the Perfetto file shows all of
/// it.
const SCHEDULE_JOBS: usize = 6_000;
/// The schedule's resolution.
const TICK_NS: u64 = 100;
const CURVE_POINTS: u32 = 80;
const ITEMS_SHOWN: usize = 24;
const STALLS_SHOWN: usize = 400;

#[derive(Serialize)]
struct Data<'a> {
    app: &'a str,
    description: &'a str,
    verdict: &'static str,
    late_machine: u64,
    breaches: Vec<String>,
    breaches_more: usize,
    warnings: Vec<String>,
    /// The signal that asked for an orderly end.
    signal: Option<u32>,
    proven: bool,
    /// The number of guesses on which the proof rests.
    guesses: usize,
    /// The length of the judged part of the run, and its start after release 0.
    duration_ns: u64,
    since_ns: u64,
    tick_ns: u64,
    /// The schedule contains the jobs released before this instant.
    shown_ns: u64,
    tasks: Vec<Task<'a>>,
    channels: Vec<Channel<'a>>,
    chains: &'a [ChainFigures],
    resources: &'a [ResourceFigures],
    probes: &'a [ProbeFigures],
    /// CPU, instant at which the stall ended, lateness of the probe; only the longest ones if there are many.
    stalls: Vec<(u16, u64, u64)>,
    memory: &'a MemoryPlan,
    regions: Vec<Stretch<'a>>,
    machine: &'a [(String, String)],
    inputs: &'a [Input],
    generated: &'a str,
    command: &'a str,
}

#[derive(Serialize)]
struct Task<'a> {
    #[serde(flatten)]
    figures: &'a TaskFigures,
    terms: &'a [TermPlan],
    response_curve: Vec<(u64, u64)>,
    jitter_curve: Vec<(u64, u64)>,
    /// Per job: release since the previous one, jitter, response, processor time, in ticks; then 0 in time, 1 the
    /// machine's fault, 2 ours, 3 not judged, 4 caused from outside.
    jobs: Vec<u64>,
    /// Per preempted job: its number in `jobs`, then start and end of each stretch since its release, in ticks.
    cuts: Vec<Vec<u64>>,
}

#[derive(Serialize)]
struct Channel<'a> {
    #[serde(flatten)]
    figures: &'a ChannelFigures,
    kind: taut_model::ChannelKind,
    layout: &'a str,
    reason: &'a str,
    place: MemoryMap,
    bytes: u64,
}

#[derive(Serialize)]
struct Stretch<'a> {
    place: MemoryMap,
    name: &'a str,
    what: &'static str,
    offset: u64,
    bytes: u64,
}

pub(crate) fn write(report: &Report, about: &About<'_>) -> String {
    let data = serde_json::to_string(&data(report, about)).unwrap_or_default();
    let safe = data.chars().fold(String::with_capacity(data.len()), |mut safe, c| {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
        safe
    });
    // The data come last, so that nothing in them is taken for a placeholder.
    PAGE.replacen("{{style}}", STYLE, 1).replacen("{{code}}", CODE, 1).replacen("{{data}}", &safe, 1)
}

fn data<'a>(report: &'a Report, about: &About<'a>) -> Data<'a> {
    let plan = &report.plan;
    let breaches = match &report.verdict {
        RunVerdict::Broken(breaches) => breaches.as_slice(),
        _ => &[],
    };
    let until = schedule_end(report);
    let cuts = cuts(report, until);
    let mut stalls: Vec<(u16, u64, u64)> = report
        .stalls
        .iter()
        .map(|&(cpu, at, lateness)| (cpu, at.saturating_sub(report.begin), lateness))
        .collect();
    stalls.sort_by_key(|stall| std::cmp::Reverse(stall.2));
    stalls.truncate(STALLS_SHOWN);
    Data {
        app: &plan.app,
        description: &plan.description,
        verdict: report.verdict.word(),
        late_machine: report.late_machine(),
        breaches: breaches.iter().take(ITEMS_SHOWN).map(breach_text).collect(),
        breaches_more: breaches.len().saturating_sub(ITEMS_SHOWN),
        warnings: report.warnings.iter().map(warning_text).collect(),
        signal: match report.ending {
            Ending::Signal(signal) => Some(signal),
            _ => None,
        },
        proven: plan.proven,
        guesses: plan.basis().map_or(0, |basis| basis.guesses),
        duration_ns: report.judged(),
        since_ns: report.since,
        tick_ns: TICK_NS,
        shown_ns: until.saturating_sub(report.begin).min(report.duration),
        tasks: cuts.into_iter().enumerate().map(|(at, cuts)| task(report, at, until, cuts)).collect(),
        channels: report.channels.iter().zip(&plan.channels).map(|(f, c)| channel(f, c)).collect(),
        chains: &report.chains,
        resources: &report.resources,
        probes: &report.probes,
        stalls,
        memory: &plan.memory,
        regions: regions(report),
        machine: &report.machine,
        inputs: &plan.inputs,
        generated: about.generated,
        command: about.command,
    }
}

/// The release at which the schedule reaches its most jobs.
fn schedule_end(report: &Report) -> u64 {
    let mut releases: Vec<u64> = report.jobs.iter().flatten().map(|(job, _)| job.release).collect();
    releases.sort_unstable();
    releases.get(SCHEDULE_JOBS).copied().unwrap_or(u64::MAX)
}

fn task<'a>(report: &'a Report, at: usize, until: u64, cuts: Vec<Vec<u64>>) -> Task<'a> {
    let jobs = &report.jobs[at];
    let ticks = |ns: u64| ns / TICK_NS;
    let mut previous = report.begin;
    let mut packed = Vec::with_capacity(jobs.len() * 5);
    for (job, lateness) in jobs.iter().take_while(|(job, _)| job.release < until) {
        // The difference of rounded times, so that rounding errors do not add up.
        let since =
            ticks(job.release - report.begin.min(job.release)) - ticks(previous - report.begin.min(previous));
        previous = job.release;
        let late = match lateness {
            Lateness::InTime => 0,
            Lateness::Machine => 1,
            Lateness::Ours => 2,
            Lateness::NotJudged => 3,
            Lateness::Outside => 4,
        };
        packed.extend([since, ticks(job.jitter()), ticks(job.response()), ticks(job.cpu), late]);
    }
    let terms = match &report.plan.tasks[at].class {
        ClassPlan::RealTime { terms, .. } => terms.as_slice(),
        ClassPlan::BestEffort {} => &[],
    };
    Task {
        figures: &report.tasks[at],
        terms,
        response_curve: Values::of(jobs.iter().map(|(job, _)| job.response())).curve(CURVE_POINTS),
        jitter_curve: Values::of(jobs.iter().map(|(job, _)| job.jitter())).curve(CURVE_POINTS),
        jobs: packed,
        cuts,
    }
}

/// Per task, the jobs that were preempted.
fn cuts(report: &Report, until: u64) -> Vec<Vec<Vec<u64>>> {
    let mut cuts: Vec<Vec<Vec<u64>>> = report.tasks.iter().map(|_| Vec::new()).collect();
    for (at, core) in report.plan.cores.iter().enumerate() {
        let mut jobs: Vec<(Job, u8)> = Vec::new();
        let mut places: Vec<u64> = Vec::new();
        let on_core = report.jobs.iter().zip(&report.tasks).filter(|(_, task)| task.cpu == Some(core.cpu));
        for (found, task) in on_core {
            for (place, (job, _)) in found.iter().enumerate().take_while(|(_, (job, _))| job.release < until)
            {
                jobs.push((*job, task.priority.unwrap_or(0)));
                places.push(place as u64);
            }
        }
        let mut of_job: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let place: BTreeMap<(usize, u64), usize> =
            jobs.iter().enumerate().map(|(at, (job, _))| ((job.task, job.number), at)).collect();
        let decided = report.decisions.slices(at, &place);
        for slice in decided.unwrap_or_else(|| slices(&jobs)) {
            let release = jobs[slice.job].0.release;
            let pieces = of_job.entry(slice.job).or_default();
            pieces.extend([slice.from, slice.to].map(|at| at.saturating_sub(release) / TICK_NS));
        }
        for (at, pieces) in of_job.into_iter().filter(|(_, pieces)| pieces.len() > 2) {
            let mut cut = vec![places[at]];
            cut.extend(pieces);
            cuts[jobs[at].0.task].push(cut);
        }
    }
    cuts
}

fn channel<'a>(figures: &'a ChannelFigures, plan: &'a ChannelPlan) -> Channel<'a> {
    let ChannelPlan { kind, layout, reason, place, region, .. } = plan;
    Channel { figures, kind: *kind, layout, reason, place: *place, bytes: region.size }
}

/// The memory map, by place and offset.
fn regions(report: &Report) -> Vec<Stretch<'_>> {
    let plan = &report.plan;
    let mut regions: Vec<Stretch<'_>> = Vec::new();
    let mut put = |place, name, what, region: Region| {
        if region.size > 0 {
            regions.push(Stretch { place, name, what, offset: region.offset, bytes: region.size });
        }
    };
    for service in &plan.services {
        put(MemoryMap::Process, &service.name, "service, persistent scope", service.persistent);
    }
    for task in &plan.tasks {
        if let ClassPlan::RealTime { persistent, release, .. } = &task.class {
            put(MemoryMap::Process, &task.name, "persistent scope", *persistent);
            put(MemoryMap::Process, &task.name, "release scope", *release);
        }
    }
    for channel in &plan.channels {
        put(channel.place, &channel.name, "channel", channel.region);
    }
    regions.sort_by_key(|region| (region.place == MemoryMap::Segment, region.offset));
    regions
}
