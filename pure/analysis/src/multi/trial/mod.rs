// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The equations of [`super::mixed`], solved for one set again and again with other guards and costs: for searches.
//!
//! ```text
//! Equation    as `mixed`; without terms and witnesses
//! Kept        S without windows, p, W, b and L: each is computed anew only if one of its inputs has changed
//! Start       from the solution of a set with fewer guards or lower costs, if there is one; a task keeps its w if its
//!             parameters and those of its more urgent tasks are the same in that set
//! Verdict     the same as `mixed`, and the same w: there is one least solution, whatever the order of the steps. The
//!             search ends at the first task that passes its deadline, and does not look for overflows after that
//! Cost        one pass over the tasks, if S does not depend on w and no two tasks of a core are as urgent; else rounds
//! Checked     against `mixed`, w by w, on random sets and random changes: `trial` in the tests
//! ```
//!
//! **Where S does not depend on w**: of the tasks of another core, the task with the longest section counts with at
//! least one job while a job is pending. So if that one job makes at least as many requests as the pending job does,
//! its sections are the longest and no others count.
//!
//! [`super::mixed`] itself judges sets whose numbers could overflow.

mod layout;
mod solve;
mod waits;

use core::ops::Range;

use taut_time::Duration;

use super::guarded::{Guard, GuardedSet};
use crate::Overflow;

/// Times in ns, and sums of times over a whole set, can be added without a check if they are below this limit.
const PLAIN: u128 = 1 << 60;

/// Shares of a core are counted in units of 2⁻²⁰.
const SHARE: u32 = 20;

/// Times in ns can be multiplied by shares if they are below this limit.
const SHORT: u128 = 1 << 42;

/// A set whose guards and costs change from one judgement to the next.
#[derive(Clone, Debug)]
pub struct Trial {
    guarded: GuardedSet,
    /// Whether all sums and products fit in 64 bits, so that they need no checks.
    plain: bool,
    /// Whether products with shares do.
    short: bool,
    /// The sum in ns from which `plain` and `short` follow.
    total: u128,
    /// Tasks by core, the most urgent first. All lists below are by place in this order.
    order: Vec<usize>,
    /// The place of each task.
    place: Vec<usize>,
    rows: Vec<Row>,
    periods: Vec<Period>,
    /// The places of each core.
    cores: Vec<Range<usize>>,
    /// Requests by task, the longest first.
    requests: Vec<GlobalRequests>,
    /// Per resource, its requests, and its core if it is local.
    of_resource: Vec<Users>,
    /// Per core, its requests by ceiling, the most urgent first.
    by_ceiling: Vec<Vec<usize>>,
    /// Whether some tasks of a core are equally urgent.
    equals: bool,
    /// How many requests spin for a time that depends on windows.
    moving: usize,
    /// How many requests suspend.
    suspending: usize,
    now: Parameters,
    stale: Stale,
    /// The place at which the last judgement failed.
    suspect: usize,
    solution: Solution,
}

/// Windows that solve the equations, and the terms for which they solve them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Solution {
    window: Vec<u64>,
    fixed: Vec<u64>,
    busy: Vec<u64>,
    deferred: Vec<u64>,
}

/// What does not depend on windows; by place, except `held` and `wait`, which are by request.
#[derive(Clone, Debug)]
struct Parameters {
    cost: Vec<u64>,
    /// S, without requests whose spinning depends on windows.
    spin: Vec<u64>,
    /// N over requests that suspend.
    requests: Vec<u64>,
    /// p.
    span: Vec<u64>,
    /// The longest section that jobs suspend for.
    longest: Vec<u64>,
    /// L.
    local: Vec<u64>,
    /// B.
    remote: Vec<u64>,
    /// W.
    held: Vec<u64>,
    /// b.
    wait: Vec<u64>,
}

/// Which parameters are out of date.
#[derive(Clone, Debug)]
struct Stale {
    /// L, by core.
    local: Vec<bool>,
    /// W, by core.
    held: Vec<bool>,
    /// b, by resource.
    wait: Vec<bool>,
    /// B.
    remote: bool,
}

/// A task.
#[derive(Clone, Debug)]
struct Row {
    period: u64,
    jitter: u64,
    /// D − J; none if no job can be in time.
    limit: Option<u64>,
    priority: u32,
    core: usize,
    requests: Range<usize>,
    /// Places of its core that are at least as urgent, itself included.
    higher: Range<usize>,
    /// Sections on local resources: resource, length, ceiling.
    local: Vec<(usize, u64, Option<u32>)>,
}

/// T, and 2⁶⁴ / T, so that a multiplication replaces the division by T.
#[derive(Clone, Copy, Debug)]
struct Period {
    period: u64,
    inverse: u64,
}

/// Requests of a task for a global resource.
#[derive(Clone, Debug)]
struct GlobalRequests {
    place: usize,
    resource: usize,
    count: u64,
    length: u64,
    /// The ceiling of the resource on the task's core.
    ceiling: u32,
    guard: Guard,
    /// s + w.
    stretch: u64,
    /// Its spinning, if that does not depend on windows.
    spin: Option<u64>,
    /// Requests for the same resource from other cores, those of a core together, the longest first.
    rivals: Vec<Rival>,
    /// Requests of others for the same resource: of less urgent tasks, and of tasks that are at least as urgent.
    lower: Vec<usize>,
    higher: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Rival {
    place: usize,
    core: usize,
    count: u64,
    length: u64,
}

#[derive(Clone, Debug, Default)]
struct Users {
    requests: Vec<usize>,
    /// Its core, if it is local.
    core: Option<usize>,
    /// By how much its sections are longer than in the set.
    longer: u64,
}

impl Trial {
    /// The set with its guards and costs as they are now.
    pub fn guarded(&self) -> &GuardedSet {
        &self.guarded
    }

    /// Changes the guard of a resource, given by its position.
    pub fn guard(&mut self, resource: usize, by: Guard) {
        if self.guarded.guards()[resource] == by {
            return;
        }
        self.guarded.guard(resource, by);
        if let Some(core) = self.of_resource[resource].core {
            self.stale.local[core] = true;
        }
        if !self.plain {
            return;
        }
        for at in 0..self.of_resource[resource].requests.len() {
            let request = self.of_resource[resource].requests[at];
            self.set(request, by);
        }
        self.stale.wait[resource] = true;
    }

    /// Makes each section on a resource, given by its position, longer than in the set by `by`; this replaces an
    /// earlier `by`. The caller must change the costs of the resource's users.
    ///
    /// # Errors
    /// [`Overflow`] if a time does not fit in 64 bits; nothing has changed then.
    pub fn lengthen(&mut self, resource: usize, by: Duration) -> Result<(), Overflow> {
        let before = self.of_resource[resource].longer;
        let now = by.as_ns();
        if before == now {
            return Ok(());
        }
        self.guarded.lengthen(resource, by)?;
        self.of_resource[resource].longer = now;
        if let Some(core) = self.of_resource[resource].core {
            self.stale.local[core] = true;
            for place in self.cores[core].clone() {
                let sections = self.rows[place].local.iter_mut().filter(|section| section.0 == resource);
                sections.for_each(|section| section.1 = section.1 - before + now);
            }
        }
        for at in 0..self.of_resource[resource].requests.len() {
            let request = self.of_resource[resource].requests[at];
            self.total -= self.requests[request].weight();
            let guard = self.requests[request].guard;
            if self.plain {
                self.set(request, Guard::Absent);
            }
            self.requests[request].lengthen(before, now);
            self.total += self.requests[request].weight();
            self.plain &= self.total < PLAIN;
            self.short &= self.total < SHORT;
            if self.plain {
                self.set(request, guard);
            }
        }
        self.stale.wait[resource] = true;
        Ok(())
    }

    /// Changes C of a task, given by its position; `cost` is at least the C with which the set was laid out.
    pub fn cost(&mut self, task: usize, cost: Duration) {
        self.guarded.cost(task, cost);
        self.now.cost[self.place[task]] = cost.as_ns();
    }

    /// R of each task, by position in the set; valid after a judgement that all tasks fit.
    pub fn responses(&self) -> impl Iterator<Item = Duration> + '_ {
        let response =
            |place: usize| Duration::from_ns(self.solution.window[place] + self.rows[place].jitter);
        self.place.iter().map(move |&place| response(place))
    }

    /// The solution that the last judgement found, if all tasks fit.
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    fn set(&mut self, request: usize, by: Guard) {
        let GlobalRequests { place, count, spin, .. } = self.requests[request];
        let core = self.rows[place].core;
        match self.requests[request].guard {
            Guard::Absent => {}
            Guard::Spinning => match spin {
                Some(spin) => self.now.spin[place] -= spin,
                None => self.moving -= 1,
            },
            Guard::Suspending => {
                self.now.requests[place] -= count;
                self.suspending -= 1;
            }
        }
        match by {
            Guard::Absent => {}
            Guard::Spinning => match spin {
                Some(spin) => self.now.spin[place] += spin,
                None => self.moving += 1,
            },
            Guard::Suspending => {
                self.now.requests[place] += count;
                self.suspending += 1;
            }
        }
        let changes = self.requests[request].guard == Guard::Suspending || by == Guard::Suspending;
        self.requests[request].guard = by;
        self.stale.remote |= changes;
        self.stale.held[core] |= changes;
        self.stale.local[core] |= changes;
        let (mut span, mut longest) = (0, 0);
        for request in &self.requests[self.rows[place].requests.clone()] {
            match request.guard {
                Guard::Absent => {}
                Guard::Spinning => span = request.stretch.max(span),
                Guard::Suspending => longest = request.length.max(longest),
            }
        }
        if span != self.now.span[place] {
            self.now.span[place] = span;
            self.stale.held[core] = true;
            self.stale.local[core] = true;
        }
        self.now.longest[place] = longest;
    }
}

impl GlobalRequests {
    /// The most that these requests can add to any sum, in ns.
    fn weight(&self) -> u128 {
        u128::from(self.stretch) * (u128::from(self.count) + 1)
    }

    fn lengthen(&mut self, before: u64, now: u64) {
        let change = |time: u64, count: u64| {
            let time = time.saturating_sub(before.saturating_mul(count));
            time.saturating_add(now.saturating_mul(count))
        };
        let mut cores = 0;
        let mut last = None;
        for rival in &mut self.rivals {
            cores += u64::from(last != Some(rival.core));
            last = Some(rival.core);
            rival.length = change(rival.length, 1);
        }
        self.length = change(self.length, 1);
        self.stretch = change(self.stretch, cores.saturating_add(1));
        self.spin = self.spin.map(|spin| change(spin, cores.saturating_mul(self.count)));
    }
}
