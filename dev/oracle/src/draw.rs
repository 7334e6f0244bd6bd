// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random task sets; the same seed gives the same set.
//!
//! ```text
//! cores       1 to 4, with 1 to 6 tasks each
//! load        30 to 95 % of each core, in one set of four 90 to 100 %; cut at uniform points, so that all ways to
//!             share it are equally likely
//! T           log-uniform by octaves from 1 to 128 ms in whole microseconds, or one of 1, 2, 5, ... 100 ms
//! D           T; or from half way between C and T up to T; without global resources also up to 3 T
//! J           in one set of three up to a fifth of T for half of the tasks
//! priorities  by D, or in one set of five at random; in one of ten with ties
//! resources   none, local ones, or local and global ones: up to 3 of a core, up to 4 of all
//! sections    on each resource with 40 %, 1 to 3 of up to 50 us, or C / 10, or in one set of five C / 2, as long as they
//!             fit; anywhere, or in one set of four in places that are fixed, where those on a core's own resources may nest
//! arrivals    sporadic or periodic; in one set of five more than half of the tasks begin at given offsets
//! ```

use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_time::Duration;

/// Numbers that a seed reproduces (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// `low` to `high`, both included; `low` if there is nothing between.
    pub(crate) fn pick(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high.saturating_sub(low) + 1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.pick(0, 99) < percent
    }

    /// One element of `all`, each equally likely.
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.pick(0, all.len() as u64 - 1) as usize]
    }

    /// Cuts `whole` into `parts`, with every cut equally likely.
    pub(crate) fn cut(&mut self, whole: u64, parts: usize) -> Vec<u64> {
        let mut cuts: Vec<u64> = (1..parts).map(|_| self.pick(0, whole)).collect();
        cuts.push(whole);
        cuts.sort_unstable();
        let mut before = 0;
        cuts.iter().map(|&cut| cut - std::mem::replace(&mut before, cut)).collect()
    }
}

/// Periods in ms as people choose them.
const LISTED: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];

/// Which resources the tasks of a set share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shares {
    Nothing,
    Local,
    Global,
}

/// The requirements on a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requirements {
    pub(crate) cores: usize,
    /// The most tasks on each core.
    pub(crate) tasks: u64,
    /// The fewest tasks on each core.
    pub(crate) tasks_least: u64,
    /// Periods are from 1 ms to 2^`octaves` ms.
    pub(crate) octaves: u64,
    /// The load of a core, least and most, in percent.
    pub(crate) load: (u64, u64),
    pub(crate) shares: Shares,
    /// Resources that all cores may use. All users of such a resource may happen to be on one core.
    pub(crate) global: u64,
    /// The least and the most resources of each core alone; drawn only if there are global resources too.
    pub(crate) local: (u64, u64),
    /// The chance that a task uses a resource that it may use, in percent.
    pub(crate) uses: u64,
    /// Whether sections have fixed places in the job; those on a core's own resources may then nest.
    pub(crate) placed: bool,
    /// Whether some tasks begin at given offsets.
    pub(crate) phased: bool,
}

/// Draws the requirements on a set of the campaign.
pub(crate) fn requirements(draw: &mut Draw) -> Requirements {
    let shares = draw.of(&[Shares::Nothing, Shares::Local, Shares::Global, Shares::Global]);
    let cores = draw.pick(if shares == Shares::Global { 2 } else { 1 }, 4) as usize;
    let load = if draw.chance(25) { (90, 100) } else { (30, 95) };
    let (global, placed, phased) = (draw.pick(1, 4), draw.chance(25), draw.chance(20));
    Requirements {
        cores,
        tasks: 6,
        tasks_least: 1,
        octaves: 7,
        load,
        shares,
        global,
        local: (0, 2),
        uses: 40,
        placed,
        phased,
    }
}

/// Draws the tasks; returns them and the number of resources.
pub(crate) fn tasks(draw: &mut Draw, requirements: &Requirements) -> (Vec<SetTask>, usize) {
    let shape = Shape::drawn(draw, requirements);
    let resources = (shape.global + shape.local * requirements.cores as u64) as usize;
    let mut all = Vec::new();
    for core in 0..requirements.cores {
        let count = draw.pick(requirements.tasks_least, requirements.tasks) as usize;
        let load = draw.pick(requirements.load.0, requirements.load.1);
        // Divide the load among the tasks, in units of 1/100 000.
        for share in draw.cut(load * 1000, count) {
            let name = all.len().to_string();
            all.push(SetTask { name, ..shape.task(draw, requirements, core, share) });
        }
    }
    set_priorities(draw, &mut all);
    (all, resources)
}

/// What all tasks of a set have in common.
struct Shape {
    /// Whether periods are those that people choose.
    listed: bool,
    /// Whether deadlines equal periods.
    implicit: bool,
    jittery: bool,
    /// The longest section is the cost divided by this; 50 us if it is 0.
    part: u64,
    /// How many resources all cores may use; they come first.
    global: u64,
    /// How many more resources each core may use.
    local: u64,
}

impl Shape {
    fn drawn(draw: &mut Draw, requirements: &Requirements) -> Self {
        let listed = draw.chance(50);
        let implicit = draw.chance(50);
        let jittery = draw.chance(33);
        let part = draw.of(&[0, 0, 10, 10, 2]);
        let (global, local) = match requirements.shares {
            Shares::Nothing => (0, 0),
            Shares::Local => (0, draw.pick(1, 3)),
            Shares::Global => (requirements.global, draw.pick(requirements.local.0, requirements.local.1)),
        };
        Self { listed, implicit, jittery, part, global, local }
    }

    /// A task of a core with a share of its processor, in units of 1/100 000; without a name and a priority.
    fn task(&self, draw: &mut Draw, requirements: &Requirements, core: usize, share: u64) -> SetTask {
        let period = if self.listed {
            draw.of(&LISTED[..requirements.octaves.min(7) as usize]) * 1000
        } else {
            let octave = draw.pick(0, requirements.octaves - 1);
            draw.pick(1000 << octave, 2000 << octave)
        };
        let cost = (period * share / 100_000).max(1);
        let deadline = match requirements.shares {
            _ if self.implicit => period,
            Shares::Nothing | Shares::Local if draw.chance(40) => draw.pick(period, 3 * period),
            _ => draw.pick(u64::midpoint(cost, period), period),
        };
        let (requests, left) = self.requests(draw, requirements, core, cost);
        let jitter = if self.jittery && draw.chance(50) { draw.pick(0, period / 5) } else { 0 };
        let arrivals = if requirements.phased && draw.chance(60) {
            ArrivalPattern::Phased(Duration::from_us(draw.pick(0, period - 1)))
        } else if draw.chance(50) {
            ArrivalPattern::Sporadic
        } else {
            ArrivalPattern::Periodic
        };
        let body = if requirements.placed && !requests.is_empty() {
            Body::Segments(segments(draw, left, &requests, self.global))
        } else {
            Body::Anywhere { cost: Duration::from_us(cost), requests }
        };
        SetTask {
            name: String::new(),
            core,
            priority: 0,
            arrivals,
            period: Duration::from_us(period),
            deadline: Duration::from_us(deadline),
            jitter: Duration::from_us(jitter),
            body,
        }
    }

    /// The sections of a task of a core, and how much of its cost, in us, is outside of them.
    fn requests(
        &self,
        draw: &mut Draw,
        requirements: &Requirements,
        core: usize,
        cost: u64,
    ) -> (Vec<Request>, u64) {
        let own = self.global + self.local * core as u64;
        let usable = (0..self.global).chain(own..own + self.local);
        let mut left = cost;
        let mut requests = Vec::new();
        for resource in usable {
            let length = draw.pick(1, cost.checked_div(self.part).map_or(50, |most| most.max(1)));
            let count = draw.pick(1, 3);
            if draw.chance(requirements.uses) && length * count <= left {
                left -= length * count;
                requests.push(Request {
                    resource: resource as usize,
                    count: count as u32,
                    length: Duration::from_us(length),
                    outermost: true,
                });
            }
        }
        (requests, left)
    }
}

/// Gives priorities by deadline, or at random: each priority to one task, or each to two tasks.
fn set_priorities(draw: &mut Draw, all: &mut [SetTask]) {
    let at_random = draw.chance(20);
    let mut order: Vec<(u64, usize)> = all
        .iter()
        .enumerate()
        .map(|(at, task)| (if at_random { draw.next() } else { u64::MAX - task.deadline.as_ns() }, at))
        .collect();
    order.sort_unstable();
    let share = if draw.chance(10) { 2 } else { 1 };
    for (rank, (_, at)) in order.into_iter().enumerate() {
        all[at].priority = 1 + rank as u32 / share;
    }
}

/// Sections in a random order, with `rest` us of other execution around them. Sections on resources from `own` on may
/// nest, but never within a section on the same resource.
fn segments(draw: &mut Draw, rest: u64, requests: &[Request], own: u64) -> Vec<Segment> {
    // 1. Each section, with all the resources that a job holds in it.
    let mut sections: Vec<(Vec<usize>, Segment)> = Vec::new();
    for request in requests {
        for _ in 0..request.count {
            let inside = vec![Segment::Normal(request.length)];
            let section = Segment::Section { resource: request.resource, inside };
            let place = draw.pick(0, sections.len() as u64) as usize;
            sections.insert(place, (vec![request.resource], section));
        }
    }
    // 2. Move some sections into the section that follows them.
    let mut at = 0;
    while at + 1 < sections.len() {
        let may = |held: &[usize]| held.iter().all(|&resource| resource as u64 >= own);
        let apart = sections[at].0.iter().all(|resource| !sections[at + 1].0.contains(resource));
        if apart && may(&sections[at].0) && may(&sections[at + 1].0) && draw.chance(50) {
            let (held, section) = sections.remove(at);
            let (outer, around) = &mut sections[at];
            outer.extend(held);
            if let Segment::Section { inside, .. } = around {
                inside.insert(draw.pick(0, inside.len() as u64) as usize, section);
            }
        } else {
            at += 1;
        }
    }
    // 3. Distribute the rest before, between and after the sections.
    let parts = draw.cut(rest, sections.len() + 1);
    let mut all = vec![Segment::Normal(Duration::from_us(parts[0]))];
    for ((_, section), part) in sections.into_iter().zip(&parts[1..]) {
        all.extend([section, Segment::Normal(Duration::from_us(*part))]);
    }
    all
}

/// The set, with `scheduler` on every core.
pub(crate) fn set(
    cores: usize,
    scheduler: SchedulingPolicy,
    tasks: &[SetTask],
    resources: usize,
) -> Result<TaskSet, String> {
    let resources = (0..resources).map(|at| Resource { name: at.to_string() }).collect();
    TaskSet::new(vec![scheduler; cores], resources, tasks.to_vec())
        .map_err(|faults| format!("the generator made a set that is not valid: {faults:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_the_whole() {
        let mut draw = Draw::new(7);
        for parts in 1..9 {
            let cut = draw.cut(1000, parts);
            assert_eq!((cut.len(), cut.iter().sum::<u64>()), (parts, 1000));
        }
    }

    #[test]
    fn sets_are_sets_and_a_seed_gives_the_same() {
        for seed in 0..200 {
            let made = |mut draw: Draw| {
                let requirements = requirements(&mut draw);
                let (all, resources) = tasks(&mut draw, &requirements);
                set(requirements.cores, SchedulingPolicy::FixedPriority, &all, resources)
            };
            let one = made(Draw::new(seed));
            assert!(one.is_ok(), "{seed}: {one:?}");
            assert_eq!(one, made(Draw::new(seed)));
        }
    }
}
