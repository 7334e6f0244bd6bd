// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The releases to come, and the bound on arrivals that locks rely on: see [`crate::ready::rule`].

use taut_policy::queue::{QueueEnd, ReadyQueue};
use taut_policy::{AnyQueue, Misuse};

/// No release.
pub(crate) const NEVER: u64 = u64::MAX;

/// The next release of each task that has one at a known instant.
#[derive(Debug)]
pub(crate) struct Calendar {
    queue: AnyQueue,
    /// Whether there are releases that no calendar knows.
    pub(crate) untimed: bool,
    /// Whether each scan must be recorded, because floors count from it.
    shows_scans: bool,
    last_scan_ns: u64,
    /// The instant of the scan before the last one.
    scan_before_ns: u64,
    /// The dispatcher reports no release of the calendar from this instant on.
    pub(crate) end_ns: u64,
}

impl Calendar {
    /// `shows_scans`: floors count from scans, and records are wanted.
    pub(crate) fn new(queue: AnyQueue, untimed: bool, shows_scans: bool) -> Self {
        let shows_scans = untimed && shows_scans;
        Self { queue, untimed, shows_scans, last_scan_ns: 0, scan_before_ns: 0, end_ns: NEVER }
    }

    /// Puts the last scan just before `origin_ns`, and returns its instant (ns).
    pub(crate) fn begin_at(&mut self, origin_ns: u64) -> u64 {
        self.last_scan_ns = origin_ns.saturating_sub(1);
        self.last_scan_ns
    }

    /// Enters the next release of a task that has none here.
    pub(crate) fn insert(&mut self, task: u32, at_ns: u64) -> Result<(), Misuse> {
        self.queue.insert(task as usize, at_ns, QueueEnd::Back)
    }

    /// Takes out the release of a task that has one here.
    pub(crate) fn remove(&mut self, task: u32) {
        self.queue.remove(task as usize);
    }

    /// The dispatcher scans. Returns whether the scan needs a record of its own, if it reports no release that is recorded.
    pub(crate) fn scan(&mut self, now_ns: u64) -> bool {
        self.scan_before_ns = std::mem::replace(&mut self.last_scan_ns, now_ns);
        self.shows_scans
    }

    /// Takes out the first release, if it is due.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Option<(u32, u64)> {
        let (task, at_ns) = self.queue.first()?;
        if at_ns > now_ns || at_ns >= self.end_ns {
            return None;
        }
        self.queue.take_first();
        Some((task as u32, at_ns))
    }

    /// The next release, and the one after it (ns). `again` gives the release of the same task after this one.
    pub(crate) fn next_two(&mut self, again: impl FnOnce(u32, u64) -> u64) -> (u64, u64) {
        if self.queue.first().is_none_or(|(_, first)| first >= self.end_ns) {
            return (NEVER, NEVER);
        }
        let Some((task, first)) = self.queue.take_first() else { return (NEVER, NEVER) };
        let second = self.queue.first().map_or(NEVER, |(_, at)| at).min(again(task as u32, first));
        // Its entry has just been taken out, so there is room.
        let _ = self.queue.insert(task, first, QueueEnd::Front);
        (first, second)
    }

    /// A lower bound of the next arrival that the dispatcher has not reported. `waiting_ns` is the first arrival of
    /// those that wait for admission.
    pub(crate) fn next_arrival_bound(&self, waiting_ns: u64) -> u64 {
        let first = self.queue.first().map_or(NEVER, |(_, at)| at).min(waiting_ns);
        if self.untimed { first.min(self.last_scan_ns) } else { first }
    }

    /// The earliest arrival that a release may still be given (ns). `above`: the caller is the dispatcher, on whose
    /// current scan no lock relies yet.
    pub(crate) fn earliest_arrival(&self, above: bool) -> u64 {
        if above { self.scan_before_ns } else { self.last_scan_ns }
    }
}
