// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Follows the events: which task runs, which task holds and waits for what, and which jobs are under way.

use taut_sim::{SimEvent, SimEventKind, Sink};

use super::{Begun, Core, Left, Live, Simulated};
use crate::jobs::Job;
use crate::tracks::{Held, Section, Step, What, Work};

impl Simulated {
    /// Opens the window: anything that lasts is shown from here on.
    fn begin(&mut self) {
        self.open = true;
        for (at, task) in self.tasks.iter().enumerate() {
            let track = &mut self.tracks.cpu_tracks[task.core].steps;
            if !task.jobs.is_empty() && !task.waits {
                track.push(Step { at: self.from, what: What::Wakes(task.track) });
            }
            if self.cores[task.core].runs == Some(at) {
                let what = What::Switch { to: Some(task.track), sleeps: false };
                track.push(Step { at: self.from, what });
            }
            for name in &task.sections {
                let section = Section { at: self.from, begins: Some(name.clone()) };
                self.tracks.tasks[task.track].sections.push(section);
            }
        }
    }

    /// Closes the window: no task runs, no resource is held, and incomplete jobs are shown as such.
    pub(super) fn close(&mut self) {
        let at = self.last;
        self.tracks.end = at;
        for core in 0..self.cores.len() {
            self.settle(core, at);
            if self.cores[core].runs.is_some() {
                self.step(core, at, What::Switch { to: None, sleeps: false });
            }
        }
        for resource in 0..self.held.len() {
            self.holds(resource, at, None);
        }
        for task in &self.tasks {
            let track = &mut self.tracks.tasks[task.track];
            track.sections.extend(task.sections.iter().map(|_| Section { at, begins: None }));
            track.open.extend(task.jobs.iter().map(|begun| (begun.job.number, begun.job.release)));
        }
    }

    fn step(&mut self, core: usize, at: u64, what: What) {
        if self.open {
            self.tracks.cpu_tracks[core].steps.push(Step { at, what });
        }
    }

    /// If no task followed the one that left a core, the core becomes idle.
    fn settle(&mut self, core: usize, now: u64) {
        if let Some(Left { at, sleeps, .. }) = self.cores[core].left.take() {
            self.step(core, at.min(now), What::Switch { to: None, sleeps });
        }
    }

    /// A task becomes ready on its core.
    fn wakes(&mut self, task: usize, at: u64) {
        let Live { core, track, .. } = self.tasks[task];
        if self.cores[core].left.is_some_and(|left| left.at < at || left.by == task) {
            self.settle(core, at);
        }
        self.step(core, at, What::Wakes(track));
    }

    fn runs(&mut self, task: usize, at: u64) {
        let Live { core, track, .. } = self.tasks[task];
        self.tasks[task].runs = Some(at);
        self.tasks[task].waits = false;
        if self.cores[core].left.is_some_and(|left| left.at < at) {
            self.settle(core, at);
        }
        let sleeps = self.cores[core].left.take().is_some_and(|left| left.sleeps);
        self.cores[core].runs = Some(task);
        self.step(core, at, What::Switch { to: Some(track), sleeps });
    }

    fn leaves(&mut self, task: usize, at: u64, sleeps: bool) {
        let live = &mut self.tasks[task];
        if let (Some(since), Some(begun)) = (live.runs.take(), live.jobs.front_mut()) {
            begun.job.cpu += at - since;
        }
        let core = live.core;
        if self.cores[core].runs == Some(task) {
            self.cores[core] = Core { runs: None, left: Some(Left { at, by: task, sleeps }) };
        }
    }

    fn resource(&self, at: usize) -> &str {
        self.tracks.resources.get(at).map_or("?", |resource| &resource.name)
    }

    fn section(&mut self, task: usize, at: u64, begins: Option<String>) {
        let live = &mut self.tasks[task];
        match &begins {
            Some(name) => live.sections.push(name.clone()),
            None => drop(live.sections.pop()),
        }
        if self.open {
            self.tracks.tasks[live.track].sections.push(Section { at, begins });
        }
    }

    /// Another task, or none, holds a resource.
    fn holds(&mut self, resource: usize, at: u64, by: Option<(usize, u64)>) {
        let Some(place) = self.held.get_mut(resource) else { return };
        let before = std::mem::replace(place, by.map(|(task, job)| (task, job, at)));
        if let Some((task, job, since)) = before
            && self.open
        {
            let from = since.max(self.from).min(at);
            self.tracks.resources[resource].held.push(Held { task, job, from, to: at });
        }
    }

    /// A job that arrived before is released, and its task becomes ready if no job of it is under way.
    fn released(&mut self, task: usize, number: u64, arrival: u64, at: u64) {
        let track = self.tasks[task].track;
        let job =
            Job { task: track, number, release: arrival, start: at, complete: at, cpu: 0, missed: false };
        self.tasks[task].jobs.push_back(Begun { job, delay: at - arrival });
        if self.tasks[task].jobs.len() == 1 {
            self.wakes(task, at);
        }
    }

    fn suspended(&mut self, task: usize, resource: usize, at: u64) {
        self.leaves(task, at, true);
        self.tasks[task].waits = true;
        let name = format!("waits for {}", self.resource(resource));
        self.section(task, at, Some(name));
    }

    /// A job holds a resource, for which it may have waited until now.
    fn locked(&mut self, task: usize, job: u64, resource: usize, at: u64) {
        let Live { core, track, .. } = self.tasks[task];
        let waited = self.tasks[task].sections.last().is_some_and(|name| !name.starts_with(HOLDS));
        if waited {
            self.section(task, at, None);
        }
        if self.tasks[task].waits && self.cores[core].runs != Some(task) {
            self.tasks[task].waits = false;
            self.wakes(task, at);
        }
        let name = format!("{HOLDS}{}", self.resource(resource));
        self.section(task, at, Some(name));
        self.holds(resource, at, Some((track, job)));
    }

    fn complete(&mut self, task: usize, at: u64) {
        let Some(Begun { mut job, delay }) = self.tasks[task].jobs.pop_front() else { return };
        job.complete = at;
        let track = self.tasks[task].track;
        if let Some(mark) = self.tracks.mark.as_mut()
            && self.open
            && (mark.task, mark.job) == (track, job.number)
        {
            mark.seen = Some((job.release, at));
        }
        let shown = &mut self.tracks.tasks[track];
        job.missed = shown.deadline.is_some_and(|deadline| job.response() > deadline);
        if self.open {
            shown.jobs.push(Work { job, late: job.missed.then_some("ours"), delay: Some(delay) });
        }
        if !self.tasks[task].jobs.is_empty() {
            self.wakes(task, at);
        }
    }
}

impl Sink for Simulated {
    fn event(&mut self, event: SimEvent) {
        let at = event.at.as_ns();
        if self.cut.is_some() {
            return;
        }
        if at > self.until {
            // Anything that still lasts, lasts to the window's end.
            if !self.open {
                self.begin();
            }
            self.last = self.until;
            return;
        }
        if at >= self.from {
            if !self.open {
                self.begin();
            }
            if self.events >= self.events_max {
                self.cut = Some(self.last);
                return;
            }
            (self.events, self.last) = (self.events + 1, at);
        }
        let task = event.task;
        let Some(&Live { track, .. }) = self.tasks.get(task) else { return };
        match event.kind {
            SimEventKind::Release { arrival } => self.released(task, event.job, arrival.as_ns(), at),
            SimEventKind::Drop => {
                if self.open {
                    self.tracks.tasks[track].dropped.push((event.job, at));
                }
            }
            SimEventKind::Start => {
                if let Some(begun) = self.tasks[task].jobs.front_mut() {
                    begun.job.start = at;
                }
                self.runs(task, at);
            }
            SimEventKind::Resume => self.runs(task, at),
            SimEventKind::Preempt => self.leaves(task, at, false),
            SimEventKind::Suspend(resource) => self.suspended(task, resource, at),
            SimEventKind::Spin(resource) => {
                let name = format!("spins for {}", self.resource(resource));
                self.section(task, at, Some(name));
            }
            SimEventKind::Locked(resource) => self.locked(task, event.job, resource, at),
            SimEventKind::Unlock(resource) => {
                self.section(task, at, None);
                self.holds(resource, at, None);
            }
            SimEventKind::Complete { .. } | SimEventKind::Kill => {
                self.leaves(task, at, true);
                self.complete(task, at);
            }
            // The completion shows it, or nothing changes by it.
            SimEventKind::Miss | SimEventKind::Exhausted => {}
        }
    }
}

const HOLDS: &str = "holds ";
