// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs that begin when their work lets them: released by the calendar, told to the rule later.
//!
//! ```text
//! A1  Releases wait in the order in which they came. The first of them is told to the rule when its task has no job and
//!     its work admits it; it arrived at its release all the same.
//! A2  Of a release that was dropped the work hears before the next that was not, and once its task has no job.
//! A3  What waits is counted in the floor: nothing is told later that arrived before it.
//! ```
//!
//! The dispatcher asks the works, between two visits of the core's state: so that a work may wait for a short lock, which
//! nobody may inside, and so that nobody else asks. Whoever completes a job behind which another waits calls it. While
//! something waits, it listens to the bells of [`Setup::listen_for_admission`](crate::Setup::admission_bell).

use taut_event::Kind;
use taut_policy::Misuse;

use crate::jobs::{Arrived, Task};
use crate::state::{BEYOND_BACKLOG, NEVER, State};
use crate::task::Release;
use crate::worker::Works;

/// Of a task, whether its jobs have to be admitted, and what of that is open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Admission {
    /// Whether they have to be.
    pub(crate) asked: bool,
    /// Whether there are releases that were dropped, of which the work has not heard.
    dropped: bool,
    /// The last release.
    last: Arrived,
    /// Releases before this one have been recorded, as admitted or as dropped.
    recorded: u64,
    /// From the first to the last of those that found no room to wait, as long as they are not recorded.
    beyond: Option<(u64, u64)>,
}

impl Task {
    /// A job of it that is not complete, the first.
    pub(crate) fn unfinished(&self) -> Option<u64> {
        if self.active { Some(self.job.number) } else { self.backlog.next().map(|arrived| arrived.number) }
    }

    /// Whether its work is to be asked, when it has no job.
    pub(crate) fn is_open(&self) -> bool {
        self.admission.asked && (self.backlog.count() > 0 || self.admission.dropped)
    }
}

impl State {
    /// A release of a task whose jobs have to be admitted; whether it was dropped.
    /// `beyond`: as no more may wait.
    pub(crate) fn record_release(&mut self, task: u32, arrived: Arrived, (dropped, beyond): (bool, bool)) {
        let admission = &mut self.tasks[task as usize].admission;
        if beyond {
            let first = admission.beyond.map_or(arrived.number, |(first, _)| first);
            admission.beyond = Some((first, arrived.number));
        }
        admission.last = arrived;
        admission.dropped |= dropped;
    }

    /// What its work is to be asked: the next release, and whether that is to begin a job; none if nothing is open or the task
    /// has a job.
    fn at_admission(&mut self, task: u32, now_ns: u64) -> Option<(u64, bool)> {
        let slot = &mut self.tasks[task as usize];
        if !slot.admission.asked || slot.active {
            return None;
        }
        if self.stopping {
            self.drop_waiting(task, now_ns);
            return None;
        }
        match slot.unfinished() {
            Some(number) => Some((number, true)),
            None => slot.admission.dropped.then_some((slot.next, false)),
        }
    }

    /// Nothing begins any more.
    fn drop_waiting(&mut self, task: u32, now_ns: u64) {
        let slot = &mut self.tasks[task as usize];
        let waiting = u64::from(slot.backlog.clear());
        slot.outcome.released -= waiting;
        slot.outcome.skipped += waiting;
        self.record_dropped(task, u64::MAX, now_ns);
    }

    /// Records the releases before one that were dropped.
    fn record_dropped(&mut self, task: u32, before: u64, now_ns: u64) {
        let slot = &mut self.tasks[task as usize];
        let Admission { last, recorded, beyond, .. } = slot.admission;
        let period_ns = if let Release::Periodic { period, .. } = slot.release { period.as_ns() } else { 0 };
        let end = before.min(slot.next);
        slot.admission.recorded = recorded.max(end);
        slot.admission.beyond = beyond.filter(|(_, last)| *last >= end);
        // One that was paused meanwhile looks as if there had been no room.
        let is_beyond = |number: u64| beyond.is_some_and(|(first, last)| (first..=last).contains(&number));
        for number in recorded..end {
            let behind_ns = period_ns.saturating_mul(last.number.saturating_sub(number));
            let arrival_ns = last.arrival_ns.saturating_sub(behind_ns);
            self.log.job(
                arrival_ns.min(now_ns),
                Kind::Skip,
                task,
                number,
                if is_beyond(number) { BEYOND_BACKLOG } else { 0 },
            );
        }
    }

    /// Its work has admitted what it was asked for.
    fn admitted(&mut self, task: u32, now_ns: u64) -> Result<(), Misuse> {
        let slot = &mut self.tasks[task as usize];
        slot.admission.dropped = false;
        let next = slot.next;
        let Some(arrived) = slot.backlog.pop() else {
            self.record_dropped(task, next, now_ns);
            return Ok(());
        };
        // Those behind it, if there are any, are asked for when it is complete.
        slot.admission.dropped = arrived.number + 1 < next;
        self.record_dropped(task, arrived.number, now_ns);
        let slot = &mut self.tasks[task as usize];
        slot.admission.recorded = arrived.number + 1;
        let late_ns = now_ns.saturating_sub(arrived.arrival_ns);
        slot.outcome.lateness_max_ns = slot.outcome.lateness_max_ns.max(late_ns);
        self.log.job(arrived.arrival_ns, Kind::Release, task, arrived.number, late_ns);
        self.open(task, arrived, now_ns)?;
        self.update_next_release_bound();
        Ok(())
    }

    /// The first arrival of what waits to be admitted.
    pub(crate) fn first_waiting(&self) -> u64 {
        if !self.admits {
            return NEVER;
        }
        let waiting = self.tasks.iter().filter(|slot| slot.admission.asked);
        waiting.filter_map(|slot| slot.backlog.next()).map(|next| next.arrival_ns).min().unwrap_or(NEVER)
    }
}

/// What the works of a core are asked, by its dispatcher alone.
#[derive(Debug)]
pub(crate) struct Admissions {
    asked: Vec<Asked>,
}

/// What a work is asked, and whether it has admitted it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    task: u32,
    next: u64,
    begins: bool,
    admitted: bool,
}

impl Admissions {
    /// Room for all that so many tasks can be asked.
    pub(crate) fn new(tasks: usize) -> Self {
        Self { asked: Vec::with_capacity(tasks) }
    }

    /// Tells the rule of what was admitted, and notes what is to be asked next.
    pub(crate) fn apply(&mut self, state: &mut State, now_ns: u64) -> Result<(), Misuse> {
        for asked in self.asked.drain(..).filter(|asked| asked.admitted) {
            state.admitted(asked.task, now_ns)?;
        }
        Ok(())
    }

    /// Notes what is to be asked, when all that was admitted has been told.
    pub(crate) fn collect(&mut self, state: &mut State, now_ns: u64) {
        if !state.admits {
            return;
        }
        for task in 0..state.tasks.len() as u32 {
            if let Some((next, begins)) = state.at_admission(task, now_ns) {
                // As many as there is room for.
                self.asked.push(Asked { task, next, begins, admitted: false });
            }
        }
    }

    /// Asks, outside of the core's state, for a work may wait for a lock; whether there is something to tell. A work that
    /// panics admits nothing, and calls `panicked`.
    pub(crate) fn ask(&mut self, works: &Works<'_>, panicked: &(dyn Fn() + Sync)) -> bool {
        for asked in &mut self.asked {
            // SAFETY: the task has no job, and gets none before we tell of it; so nobody else has its work, and what the
            // last job did came before the visit in which this was noted.
            let work = unsafe { &mut *works.works[asked.task as usize].get() };
            asked.admitted = works.call(panicked, || work.admit(asked.next, asked.begins)) == Some(true);
        }
        self.asked.iter().any(|asked| asked.admitted)
    }

    /// Whether something waits.
    pub(crate) fn wait(&self) -> bool {
        !self.asked.is_empty()
    }
}
