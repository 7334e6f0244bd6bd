// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A simulated run as a trace, with the tracks of a recorded one.
//!
//! [`Simulated`] receives the events of a run and keeps those in a window, so a long run takes no more memory than a
//! short one. It adds what a simulation knows and a recording does not: sections held and waited for, the delay from a
//! job's arrival to its release, jobs that are not complete, dropped jobs. An arrival here is what a recording calls
//! the release: the nominal instant from which responses count.

mod follow;
mod values;

use std::collections::VecDeque;

use taut_model::TaskSet;
use taut_plan::{ClassPlan, Plan};
use taut_sim::Sink;
use taut_time::{Duration, Instant};

use crate::decisions;
use crate::jobs::Job;
use crate::perfetto;
use crate::report::Report;
use crate::tracks::{InstantEvent, Resource, Task, Track, Tracks};

/// The part of a run to show.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Earlier events are left out. Anything that still lasts at this instant is shown from then on, jobs from their
    /// arrival.
    pub from: Instant,
    /// Later events are left out.
    pub until: Instant,
    /// The most events of the window, after which it ends: about 130 bytes of trace each.
    pub events_max: u64,
    /// The response bound of each task, by position in the set; tasks past the end of the list have none.
    pub bounds: &'a [Option<Duration>],
    /// The response in focus.
    pub focus: Option<Focus<'a>>,
}

/// A response in focus: it gets a track of its own, on top, which shows it beside its bound.
#[derive(Clone, Copy, Debug)]
pub struct Focus<'a> {
    /// The task: a position in the set.
    pub task: usize,
    /// The number of its job, as in [`taut_sim::SimEvent::job`].
    pub job: u64,
    /// The reason, in a few words: the name of the track, after the task's name.
    pub title: &'a str,
}

/// Records a simulated run of a plan as a trace. Pass it to [`taut_sim::Simulation::run`], then take the trace.
///
/// ```text
/// let mut shown = Simulated::new(&plan, &set, &window);
/// simulation.run(&scenario, &mut shown)?;
/// let bytes = shown.into_perfetto();
/// ```
#[derive(Clone, Debug)]
pub struct Simulated {
    tracks: Tracks,
    from: u64,
    until: u64,
    events_max: u64,
    events: u64,
    open: bool,
    /// The instant at which the window ended early.
    cut: Option<u64>,
    last: u64,
    /// Per task of the set.
    tasks: Vec<Live>,
    /// Per core of the set.
    cores: Vec<Core>,
    /// Per resource: the task and job that hold it, and since when.
    held: Vec<Option<(usize, u64, u64)>>,
}

/// The current state of a task.
#[derive(Clone, Debug)]
struct Live {
    /// Its position among the tracks.
    track: usize,
    core: usize,
    /// Released jobs that are not complete, the oldest first.
    jobs: VecDeque<Begun>,
    /// Since when it runs.
    runs: Option<u64>,
    waits: bool,
    /// The resources that it holds or waits for.
    sections: Vec<String>,
}

impl Live {
    /// A task without jobs.
    fn new(track: usize, core: usize) -> Self {
        Self { track, core, jobs: VecDeque::new(), runs: None, waits: false, sections: Vec::new() }
    }
}

/// The tracks of a plan's tasks, empty.
fn planned_tracks(plan: &Plan) -> Tracks {
    let task = |task: &taut_plan::TaskPlan| match &task.class {
        ClassPlan::RealTime { priority, deadline, .. } => Task {
            name: task.name.clone(),
            priority: *priority,
            deadline: Some(deadline.as_ns()),
            ..Task::default()
        },
        ClassPlan::BestEffort {} => Task { name: task.name.clone(), ..Task::default() },
    };
    Tracks { app: plan.app.clone(), tasks: plan.tasks.iter().map(task).collect(), ..Tracks::default() }
}

#[derive(Clone, Copy, Debug)]
struct Begun {
    job: Job,
    delay: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Core {
    runs: Option<usize>,
    /// The task that just left the core, while the next one is not known yet.
    left: Option<Left>,
}

#[derive(Clone, Copy, Debug)]
struct Left {
    at: u64,
    by: usize,
    sleeps: bool,
}

impl Simulated {
    /// A run of a plan's tasks that has not begun. Tasks and cores of the set go to the tracks of the plan's tasks,
    /// by name, and cores, by position; tasks that the plan does not have come after those of the plan.
    pub fn new(plan: &Plan, set: &TaskSet, window: &Window<'_>) -> Self {
        let mut tracks = planned_tracks(plan);
        let tasks: Vec<Live> = set
            .tasks()
            .iter()
            .enumerate()
            .map(|(at, task)| {
                let track = plan.task(&task.name).unwrap_or_else(|| {
                    tracks.tasks.push(Task { name: task.name.clone(), ..Task::default() });
                    tracks.tasks.len() - 1
                });
                let shown = &mut tracks.tasks[track];
                shown.bound = window.bounds.get(at).copied().flatten().map(Duration::as_ns);
                shown.deadline = Some(task.deadline.as_ns());
                Live::new(track, task.core)
            })
            .collect();
        let cpu = |core: usize| {
            plan.cores.get(core).map_or(u16::try_from(core).unwrap_or(u16::MAX), |core| core.cpu)
        };
        let cpu_tracks = 0..set.cores().len().max(plan.cores.len());
        tracks.cpu_tracks = cpu_tracks.map(|core| Track { cpu: cpu(core), steps: Vec::new() }).collect();
        let resource = |of: &taut_model::Resource| Resource { name: of.name.clone(), ..Resource::default() };
        tracks.resources = set.resources().iter().map(resource).collect();
        tracks.mark = window.focus.filter(|focus| focus.task < tasks.len()).map(|focus| InstantEvent {
            task: tasks[focus.task].track,
            job: focus.job,
            title: focus.title.to_owned(),
            bound: window.bounds.get(focus.task).copied().flatten().map(Duration::as_ns),
            seen: None,
        });
        Self {
            cores: vec![Core::default(); tracks.cpu_tracks.len()],
            tracks,
            from: window.from.as_ns(),
            until: window.until.as_ns(),
            events_max: window.events_max,
            events: 0,
            open: false,
            cut: None,
            last: window.from.as_ns(),
            tasks,
            held: vec![None; set.resources().len()],
        }
    }

    /// The tracks of what dispatchers recorded, without the tracks of jobs.
    pub(crate) fn decided(report: &Report) -> Tracks {
        let plan = &report.plan;
        let task = |(at, task): (usize, &taut_plan::TaskPlan)| {
            let cpu = plan.cpu_of(task);
            let core = cpu.and_then(|cpu| plan.cores.iter().position(|core| core.cpu == cpu));
            // A task without a core is in no event.
            Live::new(at, core.unwrap_or(0))
        };
        let resource = |(name, _)| Resource { name, ..Resource::default() };
        let resources: Vec<Resource> = decisions::resources(plan).into_iter().map(resource).collect();
        let tracks = Tracks {
            tasks: vec![Task::default(); plan.tasks.len()],
            cpu_tracks: plan.cores.iter().map(|core| Track { cpu: core.cpu, steps: Vec::new() }).collect(),
            ..Tracks::default()
        };
        let mut seen = Self {
            cores: vec![Core::default(); plan.cores.len()],
            held: vec![None; resources.len()],
            tracks: Tracks { resources, ..tracks },
            from: 0,
            until: u64::MAX,
            events_max: u64::MAX,
            events: 0,
            open: false,
            cut: None,
            last: 0,
            tasks: plan.tasks.iter().enumerate().map(task).collect(),
        };
        for event in report.decisions.events() {
            seen.event(event);
        }
        if seen.open {
            seen.close();
        }
        seen.tracks
    }

    /// Whether the response in focus was complete in the window.
    pub fn has_focus(&self) -> bool {
        self.tracks.mark.as_ref().is_some_and(|mark| mark.seen.is_some())
    }

    /// The instant at which the window ended early, because it had too many events.
    pub fn cut(&self) -> Option<Instant> {
        self.cut.map(Instant::from_ns)
    }

    /// The instant of the last event that is shown.
    pub fn last(&self) -> Instant {
        Instant::from_ns(self.last)
    }

    /// For Perfetto, as [`crate::Report::perfetto`]; Protobuf bytes.
    pub fn into_perfetto(mut self) -> Vec<u8> {
        if self.open {
            self.close();
        }
        perfetto::write(&self.tracks)
    }
}

#[cfg(test)]
mod tests;
