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
//! The work is asked whenever the dispatcher looks, and when a job of the task is complete. While something waits, the
//! dispatcher listens to the bells of [`Setup::admission_bell`](crate::Setup::admission_bell).

use taut_event::Kind;
use taut_policy::Misuse;

use crate::jobs::{Arrived, Task};
use crate::shared::Inside;
use crate::state::{BACKLOG_MAX, NEVER, State};
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
}

impl Task {
    /// A job of it that is not complete, the first.
    pub(crate) fn unfinished(&self) -> Option<u64> {
        let waits = || (self.waiting > 0).then(|| self.behind[usize::from(self.first)].number);
        if self.active { Some(self.job.number) } else { waits() }
    }

    /// Takes the first of those that wait.
    pub(crate) fn take_waiting(&mut self) -> Option<Arrived> {
        self.waiting = self.waiting.checked_sub(1)?;
        let arrived = self.behind[usize::from(self.first)];
        self.first = (self.first + 1) % BACKLOG_MAX as u8;
        Some(arrived)
    }
}

impl State {
    /// A release of a task whose jobs have to be admitted; whether it was dropped.
    pub(crate) fn note_release(&mut self, task: u32, arrived: Arrived, dropped: bool) {
        let admission = &mut self.tasks[task as usize].admission;
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
        let waiting = u64::from(std::mem::take(&mut slot.waiting));
        slot.outcome.released -= waiting;
        slot.outcome.skipped += waiting;
        self.record_dropped(task, u64::MAX, now_ns);
    }

    /// Records the releases before one that were dropped.
    fn record_dropped(&mut self, task: u32, before: u64, now_ns: u64) {
        let slot = &mut self.tasks[task as usize];
        let Admission { last, recorded, .. } = slot.admission;
        let period_ns = if let Release::Periodic { period, .. } = slot.release { period.as_ns() } else { 0 };
        let end = before.min(slot.next);
        slot.admission.recorded = recorded.max(end);
        for number in recorded..end {
            let behind_ns = period_ns.saturating_mul(last.number.saturating_sub(number));
            let arrival_ns = last.arrival_ns.saturating_sub(behind_ns);
            self.log.job(arrival_ns.min(now_ns), Kind::Skip, task, number, 0);
        }
    }

    /// Its work has admitted what it was asked for.
    fn admitted(&mut self, task: u32, now_ns: u64) -> Result<(), Misuse> {
        let slot = &mut self.tasks[task as usize];
        slot.admission.dropped = false;
        let next = slot.next;
        let Some(arrived) = slot.take_waiting() else {
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
        self.open(task, arrived)?;
        self.refloor();
        Ok(())
    }

    /// The first arrival of what waits to be admitted.
    pub(crate) fn first_waiting(&self) -> u64 {
        if !self.admits {
            return NEVER;
        }
        let waiting = self.tasks.iter().filter(|slot| slot.admission.asked && slot.waiting > 0);
        waiting.map(|slot| slot.behind[usize::from(slot.first)].arrival_ns).min().unwrap_or(NEVER)
    }
}

impl Works<'_> {
    /// Asks a task's work what it is to be asked; whether it is to be asked again.
    pub(crate) fn admit(&self, inside: &mut Inside<'_>, task: u32, now_ns: u64) -> Result<bool, Misuse> {
        let Some((next, begins)) = inside.state().at_admission(task, now_ns) else { return Ok(false) };
        // SAFETY: as in `poll`: the task has no job, and cannot get one before we leave the core's state.
        let work = unsafe { &mut *self.works[task as usize].get() };
        if !work.admit(next, begins) {
            return Ok(true);
        }
        inside.state().admitted(task, now_ns)?;
        Ok(false)
    }

    /// The dispatcher asks all that are to be asked; whether some are to be asked again.
    pub(crate) fn admit_all(&self, inside: &mut Inside<'_>, now_ns: u64) -> Result<bool, Misuse> {
        let mut again = false;
        if inside.state().admits {
            for task in 0..self.works.len() as u32 {
                again |= self.admit(inside, task, now_ns)?;
            }
        }
        Ok(again)
    }
}
