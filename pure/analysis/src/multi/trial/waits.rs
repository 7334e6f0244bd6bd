// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! W, b, B and L of `mpcp_blocking`, kept up to date.

use super::Trial;
use crate::multi::guarded::Guard;

/// Steps of a wait before `mixed` takes over.
const STEPS: u32 = 500;

/// The result of an update.
pub(super) enum Fresh {
    All,
    /// Some wait is longer than its task's period, so that task passes its deadline.
    Past,
}

impl Trial {
    /// Updates what does not depend on windows. `None` if a value does not fit, or if it takes too long.
    pub(super) fn refresh(&mut self) -> Option<Fresh> {
        if self.suspending > 0 {
            for core in 0..self.cores.len() {
                if std::mem::take(&mut self.stale.held[core]) {
                    self.hold(core)?;
                }
            }
            let mut past = false;
            for resource in 0..self.of_resource.len() {
                if self.guarded.guards()[resource] == Guard::Suspending && self.stale.wait[resource] {
                    past |= self.wait_for(resource)?;
                    self.stale.wait[resource] = past;
                    self.stale.remote = true;
                    if past {
                        return Some(Fresh::Past);
                    }
                }
            }
        }
        if std::mem::take(&mut self.stale.remote) {
            for (place, row) in self.rows.iter().enumerate() {
                let mut sum = 0u64;
                if self.now.requests[place] > 0 {
                    for at in row.requests.clone().filter(|&at| self.requests[at].guard == Guard::Suspending)
                    {
                        sum = sum.checked_add(self.requests[at].count.checked_mul(self.now.wait[at])?)?;
                    }
                }
                self.now.remote[place] = sum;
            }
        }
        for core in 0..self.cores.len() {
            if self.stale.local[core] {
                self.block(core)?;
                self.stale.local[core] = false;
            }
        }
        Some(Fresh::All)
    }

    /// W of the requests of a core.
    fn hold(&mut self, core: usize) -> Option<()> {
        let places = self.cores[core].clone();
        let first = places.start;
        let mut longest = vec![0u64; places.len()];
        let mut sections = 0u64;
        let spans = &self.now.span[places];
        let spins = spans.iter().any(|span| *span > 0);
        let requests = &self.by_ceiling[core];
        let mut from = 0;
        while from < requests.len() {
            let ceiling = self.requests[requests[from]].ceiling;
            let group = requests[from..].partition_point(|&at| self.requests[at].ceiling == ceiling);
            let group = from..from + group;
            from = group.end;
            let suspends = |at: &&usize| self.requests[**at].guard == Guard::Suspending;
            let mut any = false;
            // 1. g, and their sum.
            for &at in requests[group.clone()].iter().filter(suspends) {
                let request = &self.requests[at];
                let longest = &mut longest[request.place - first];
                sections = sections.checked_add(request.length.saturating_sub(*longest))?;
                *longest = request.length.max(*longest);
                any = true;
            }
            if !any {
                continue;
            }
            // 2. The longest p − g, and the longest of another task.
            let (mut most, mut second) = ((0, usize::MAX), 0);
            if spins {
                for (at, (span, longest)) in spans.iter().zip(&longest).enumerate() {
                    let more = span.saturating_sub(*longest);
                    if more > most.0 {
                        second = most.0;
                        most = (more, at);
                    } else {
                        second = more.max(second);
                    }
                }
            }
            // 3. W.
            for &at in requests[group].iter().filter(suspends) {
                let request = &self.requests[at];
                let own = request.place - first;
                let span = if most.1 == own { second } else { most.0 };
                let held = request.length.checked_add(sections - longest[own])?.checked_add(span)?;
                if self.now.held[at] != held {
                    self.now.held[at] = held;
                    self.stale.wait[request.resource] = true;
                }
            }
        }
        Some(())
    }

    /// b of the requests for a resource. Returns whether one is past its task's period.
    fn wait_for(&mut self, resource: usize) -> Option<bool> {
        for &at in &self.of_resource[resource].requests {
            let request = &self.requests[at];
            let period = self.rows[request.place].period;
            let first = request.lower.iter().map(|&other| self.now.held[other]).max().unwrap_or(0);
            let mut wait = 1u64;
            let mut steps = 0;
            wait = loop {
                let mut next = first;
                for &other in &request.higher {
                    let theirs = &self.requests[other];
                    let jobs = wait.div_ceil(self.rows[theirs.place].period) + 1;
                    let time = jobs.checked_mul(theirs.count)?.checked_mul(self.now.held[other])?;
                    next = next.checked_add(time)?;
                }
                if next <= wait {
                    break next;
                }
                if next > period {
                    return Some(true);
                }
                wait = next;
                steps += 1;
                if steps == STEPS {
                    return None;
                }
            };
            self.now.wait[at] = wait;
        }
        Some(false)
    }

    /// L of the tasks of a core.
    fn block(&mut self, core: usize) -> Option<()> {
        let places = self.cores[core].clone();
        let any_local = self.rows[places.clone()].iter().any(|row| !row.local.is_empty());
        let (mut sections, mut more, mut from) = (0u64, 0u64, places.end);
        for place in places.clone().rev() {
            let row = &self.rows[place];
            while from > row.higher.end {
                from -= 1;
                let longest = self.now.longest[from];
                sections = sections.checked_add(longest)?;
                more = self.now.span[from].saturating_sub(longest).max(more);
            }
            let mut more = more;
            if any_local {
                for lower in from..places.end {
                    let blocks = |(resource, _, ceiling): &&(usize, u64, Option<u32>)| {
                        self.guarded.guards()[*resource] != Guard::Absent && *ceiling >= Some(row.priority)
                    };
                    let section = self.rows[lower].local.iter().filter(blocks).map(|section| section.1).max();
                    more = section.unwrap_or(0).saturating_sub(self.now.longest[lower]).max(more);
                }
            }
            let once = sections.checked_add(more)?;
            self.now.local[place] = once.checked_mul(self.now.requests[place].checked_add(1)?)?;
        }
        Some(())
    }
}
