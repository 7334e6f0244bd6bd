// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Duration;

use super::waits::Fresh;
use super::{GlobalRequests, Period, SHARE, Solution, Trial};
use crate::multi::guarded::Guard;
use crate::multi::mixed;
use crate::{Overflow, Verdict};

/// Steps of all windows of a judgement before [`mixed`] takes over. Real sets need hundreds.
const STEPS: u32 = 100_000;

/// The result of an attempt without checks of limits.
enum Attempt {
    Fits,
    Passes,
    /// A value does not fit in 64 bits, or the attempt takes too long.
    Unknown,
}

impl Trial {
    /// Whether every task is shown to keep its deadline; then [`Trial::solution`] and [`Trial::responses`] are those of
    /// [`mixed`]. `above` is a solution of this set with no more guards and no higher costs: it saves steps.
    ///
    /// # Errors
    /// [`Overflow`] if a bound does not fit in 64 bits.
    pub fn fits(&mut self, above: Option<&Solution>) -> Result<bool, Overflow> {
        self.judge(above, true)
    }

    /// The same verdict, faster, for a caller that needs no response times: there are none after it.
    ///
    /// # Errors
    /// [`Overflow`] if a bound does not fit in 64 bits.
    pub fn keeps_deadlines(&mut self, above: Option<&Solution>) -> Result<bool, Overflow> {
        self.judge(above, false)
    }

    fn judge(&mut self, above: Option<&Solution>, exact: bool) -> Result<bool, Overflow> {
        let above = above.filter(|above| above.window.len() == self.rows.len());
        if self.plain {
            match self.attempt(above, exact) {
                Attempt::Fits => return Ok(true),
                Attempt::Passes => return Ok(false),
                Attempt::Unknown => {}
            }
        }
        let least = |above: &Solution| {
            self.place.iter().map(|&place| Duration::from_ns(above.window[place])).collect::<Vec<_>>()
        };
        let least = above.map(least).unwrap_or_default();
        let Verdict::Schedulable(bounds) = mixed::response_times_above(&self.guarded, &least)? else {
            return Ok(false);
        };
        self.solution.clear();
        for (&task, row) in self.order.iter().zip(&self.rows) {
            self.solution.window.push(bounds.tasks[task].from_release.as_ns());
            // Never equal to a real value, so that everything below it is computed anew.
            self.solution.fixed.push(u64::MAX);
            self.solution.busy.push(u64::MAX);
            self.solution.deferred.push(row.jitter);
        }
        Ok(true)
    }

    fn attempt(&mut self, above: Option<&Solution>, exact: bool) -> Attempt {
        match self.refresh() {
            None => return Attempt::Unknown,
            Some(Fresh::Past) => return Attempt::Passes,
            Some(Fresh::All) => {}
        }
        // 1. Where all windows start: below the least solution.
        let mut solution = std::mem::take(&mut self.solution);
        solution.clear();
        for (place, row) in self.rows.iter().enumerate() {
            let busy = self.now.cost[place].saturating_add(self.now.spin[place]);
            let waits = self.now.local[place].saturating_add(self.now.remote[place]);
            let fixed = busy.saturating_add(waits);
            if row.limit.is_none_or(|limit| fixed > limit) {
                self.solution = solution;
                return Attempt::Passes;
            }
            solution.busy.push(busy);
            solution.fixed.push(fixed);
            solution.window.push(above.map_or(0, |above| above.window[place]).max(fixed));
            solution.deferred.push(above.map_or(row.jitter, |above| above.deferred[place]));
        }
        let attempt = self.iterate(&mut solution, above, exact);
        self.solution = solution;
        attempt
    }

    fn iterate(&mut self, solution: &mut Solution, above: Option<&Solution>, exact: bool) -> Attempt {
        let steps = &mut 0;
        // 2. The task that failed last comes first: if it fails already, the rest need not be known.
        let suspect = self.suspect;
        if above.is_some() && suspect < self.rows.len() {
            match self.window(suspect, solution, steps) {
                Some(Some(window)) => solution.window[suspect] = window,
                Some(None) => return Attempt::Passes,
                None => return Attempt::Unknown,
            }
        }
        // 3. The most urgent of each core first; a task whose inputs are as in `above` keeps its window.
        let again = self.moving > 0 || self.equals;
        loop {
            let mut changed = false;
            for core in 0..self.cores.len() {
                let mut same = !again;
                for place in self.cores[core].clone() {
                    let row = &self.rows[place];
                    let before = (solution.window[place], solution.busy[place], solution.deferred[place]);
                    if self.moving > 0 && !self.spin(place, solution) {
                        self.suspect = place;
                        return Attempt::Passes;
                    }
                    same &= above.is_some_and(|above| {
                        above.fixed[place] == solution.fixed[place]
                            && above.busy[place] == solution.busy[place]
                    });
                    // For a task that defers nothing, it is enough that some window is long enough.
                    let rough = !exact && !again && self.now.remote[place] == 0;
                    let window = match same || (rough && self.is_enough(place, solution)) {
                        true => before.0,
                        false => match self.window(place, solution, steps) {
                            Some(Some(window)) => window,
                            Some(None) => {
                                self.suspect = place;
                                return Attempt::Passes;
                            }
                            None => return Attempt::Unknown,
                        },
                    };
                    let deferred = match self.now.remote[place] {
                        0 => row.jitter,
                        _ => (window - solution.busy[place] + row.jitter).max(row.jitter),
                    };
                    same &= above.is_some_and(|above| above.deferred[place] == deferred);
                    changed |= before != (window, solution.busy[place], deferred);
                    solution.window[place] = window;
                    solution.deferred[place] = deferred;
                }
            }
            if !again || !changed {
                return Attempt::Fits;
            }
        }
    }

    /// The least w from its current value on. The inner option is none if w passes the deadline, the outer if the
    /// search takes too long.
    fn window(&self, place: usize, solution: &Solution, steps: &mut u32) -> Option<Option<u64>> {
        let row = &self.rows[place];
        let limit = row.limit.unwrap_or(0);
        let fixed = solution.fixed[place];
        let mut window = solution.window[place].max(fixed);
        if self.short {
            match self.start(place, solution) {
                Some(start) => window = start.max(window),
                None => return Some(None),
            }
        }
        let others = [row.higher.start..place, place + 1..row.higher.end];
        while window <= limit {
            let mut sum = fixed;
            for others in &others {
                let others = self.periods[others.clone()]
                    .iter()
                    .zip(&solution.busy[others.clone()])
                    .zip(&solution.deferred[others.clone()]);
                for ((period, busy), deferred) in others {
                    sum += period.jobs(window + deferred) * busy;
                    if sum > limit {
                        return Some(None);
                    }
                }
            }
            if sum == window {
                return Some(Some(window));
            }
            window = sum;
            *steps += 1;
            if *steps > STEPS {
                return None;
            }
        }
        Some(None)
    }

    /// Whether the longest window that keeps the deadline covers the demand in it.
    fn is_enough(&self, place: usize, solution: &Solution) -> bool {
        let row = &self.rows[place];
        let Some(limit) = row.limit else { return false };
        let mut left = limit - solution.fixed[place];
        for others in [row.higher.start..place, place + 1..row.higher.end] {
            let others = self.periods[others.clone()]
                .iter()
                .zip(&solution.busy[others.clone()])
                .zip(&solution.deferred[others.clone()]);
            for ((period, busy), deferred) in others {
                let asked = period.jobs(limit + deferred) * busy;
                if asked > left {
                    return false;
                }
                left -= asked;
            }
        }
        true
    }

    /// A lower bound of w: the solution if jobs could come in parts, w = fixed + Σ (w + δ) / T · busy. None if there
    /// is no w.
    fn start(&self, place: usize, solution: &Solution) -> Option<u64> {
        let row = &self.rows[place];
        let (mut share, mut first) = (0, solution.fixed[place] << SHARE);
        for other in row.higher.clone().filter(|&other| other != place) {
            let of_other = self.periods[other].share(solution.busy[other]);
            share += of_other;
            first += solution.deferred[other] * of_other;
        }
        // None if the others take all of the core or more, even with shares rounded down.
        first.checked_div((1u64 << SHARE).checked_sub(share)?)
    }

    /// Adds spinning that depends on windows. Returns whether the terms that do not depend on w still keep the
    /// deadline.
    fn spin(&self, place: usize, solution: &mut Solution) -> bool {
        let row = &self.rows[place];
        let mut spin = self.now.spin[place];
        let moving = |request: &&GlobalRequests| request.guard == Guard::Spinning && request.spin.is_none();
        for request in self.requests[row.requests.clone()].iter().filter(moving) {
            let (mut core, mut left) = (usize::MAX, 0);
            for rival in &request.rivals {
                if rival.core != core {
                    (core, left) = (rival.core, request.count);
                }
                if left > 0 {
                    let theirs = &self.rows[rival.place];
                    let reach = solution.window[place] + solution.window[rival.place] + theirs.jitter;
                    let count = self.periods[rival.place].jobs(reach).saturating_mul(rival.count).min(left);
                    spin += count * rival.length;
                    left -= count;
                }
            }
        }
        let waits = solution.fixed[place] - solution.busy[place];
        solution.busy[place] = self.now.cost[place] + spin;
        solution.fixed[place] = solution.busy[place] + waits;
        row.limit.is_some_and(|limit| solution.fixed[place] <= limit)
    }
}

impl Solution {
    fn clear(&mut self) {
        for part in [&mut self.window, &mut self.fixed, &mut self.busy, &mut self.deferred] {
            part.clear();
        }
    }
}

impl Period {
    pub(super) fn new(period: u64) -> Self {
        Self { period, inverse: u64::MAX / period.max(1) }
    }

    /// ⌈reach / T⌉, for a reach of less than 2⁶³.
    #[inline]
    fn jobs(self, reach: u64) -> u64 {
        let reach = reach + (self.period - 1);
        // The inverse is rounded down by less than 1, so `jobs` is too small by less than 2.
        let jobs = high(reach, self.inverse);
        jobs + u64::from(reach - jobs * self.period >= self.period)
    }

    /// busy / T in units of 2⁻²⁰, rounded down; for busy below 2⁴⁴.
    fn share(self, busy: u64) -> u64 {
        high(busy << SHARE, self.inverse)
    }
}

/// The upper half of the product.
#[inline]
fn high(one: u64, other: u64) -> u64 {
    ((u128::from(one) * u128::from(other)) >> 64) as u64
}
