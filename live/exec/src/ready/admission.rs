// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs that begin when their work admits them: the calendar releases them, and the dispatcher reports them to the
//! rule later.
//!
//! ```text
//! A1  Releases wait in the order of their arrival. The dispatcher reports the first of them to the rule when its
//!     task has no job and the task's work admits it. Its arrival is still its release.
//! A2  The work learns of a dropped release before the next one that was not dropped, and once its task has no job.
//! A3  The next-release bound includes the releases that wait: none of those reported later arrived before it.
//! ```
//!
//! The dispatcher asks the works outside the core's state, between two scans. So a work may wait for a short lock,
//! which no thread may do inside the state, and no other thread asks the work. A thread that completes a job with
//! another release behind it calls the dispatcher. While a release waits, the dispatcher also listens to the event
//! counts of [`Setup::listen_for_admission`](crate::Setup::listen_for_admission).

use taut_event::Kind;
use taut_policy::Misuse;

use crate::ready::jobs::{Arrived, Task};
use crate::ready::state::{BEYOND_BACKLOG, NEVER, State};
use crate::task::Release;

/// Whether a task's jobs need admission, and what is still open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Admission {
    /// Whether the task's jobs need admission.
    pub(crate) asked: bool,
    /// Whether releases were dropped that the work has not learned of.
    dropped: bool,
    /// The last release.
    last: Arrived,
    /// Releases before this one have been recorded, as admitted or as dropped.
    recorded: u64,
    /// The first and the last of the releases that found no room to wait and are not yet recorded.
    beyond: Option<(u64, u64)>,
}

impl Task {
    /// The first job of the task that is not complete, or else the first release that waits.
    pub(crate) fn unfinished(&self) -> Option<u64> {
        if self.active { Some(self.job.number) } else { self.backlog.next().map(|arrived| arrived.number) }
    }

    /// Whether the dispatcher must ask the task's work once the task has no job.
    pub(crate) fn is_open(&self) -> bool {
        self.admission.asked && (self.backlog.count() > 0 || self.admission.dropped)
    }
}

impl State {
    /// Registers a release of a task whose jobs need admission; it is recorded later. `dropped`: the release was dropped;
    /// `beyond`: because no more may wait.
    pub(crate) fn record_release(&mut self, task: u32, arrived: Arrived, (dropped, beyond): (bool, bool)) {
        let admission = &mut self.tasks[task as usize].admission;
        if beyond {
            let first = admission.beyond.map_or(arrived.number, |(first, _)| first);
            admission.beyond = Some((first, arrived.number));
        }
        admission.last = arrived;
        admission.dropped |= dropped;
    }

    /// What to ask the task's work: the next release, and whether it begins a job. `None` if nothing is open or the
    /// task has a job.
    pub(crate) fn at_admission(&mut self, task: u32, now_ns: u64) -> Option<(u64, bool)> {
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

    /// Drops all releases that wait: no job begins any more.
    fn drop_waiting(&mut self, task: u32, now_ns: u64) {
        let slot = &mut self.tasks[task as usize];
        let waiting = u64::from(slot.backlog.clear());
        slot.outcome.released -= waiting;
        slot.outcome.skipped += waiting;
        self.record_dropped(task, u64::MAX, now_ns);
    }

    /// Records the dropped releases before `before`.
    fn record_dropped(&mut self, task: u32, before: u64, now_ns: u64) {
        let slot = &mut self.tasks[task as usize];
        let Admission { last, recorded, beyond, .. } = slot.admission;
        let period_ns = if let Release::Periodic { period, .. } = slot.release { period.as_ns() } else { 0 };
        let end = before.min(slot.next);
        slot.admission.recorded = recorded.max(end);
        slot.admission.beyond = beyond.filter(|(_, last)| *last >= end);
        // A release in this range that a pause dropped is recorded as if there had been no room.
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

    /// The task's work has admitted the release that the dispatcher asked it about.
    pub(crate) fn admitted(&mut self, task: u32, now_ns: u64) -> Result<(), Misuse> {
        let slot = &mut self.tasks[task as usize];
        slot.admission.dropped = false;
        let next = slot.next;
        let Some(arrived) = slot.backlog.pop() else {
            self.record_dropped(task, next, now_ns);
            return Ok(());
        };
        // If releases behind it were dropped, the dispatcher asks about them when this job is complete.
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

    /// The first arrival among the releases that wait for admission.
    pub(crate) fn first_waiting(&self) -> u64 {
        if !self.needs.admission {
            return NEVER;
        }
        let waiting = self.tasks.iter().filter(|slot| slot.admission.asked);
        waiting.filter_map(|slot| slot.backlog.next()).map(|next| next.arrival_ns).min().unwrap_or(NEVER)
    }
}
