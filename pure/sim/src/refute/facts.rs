// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a set leaves open, and which tasks affect which.

use taut_model::{ArrivalPattern, Body, Segment, TaskSet};
use taut_time::Duration;

use crate::program::{self, Guard};
use crate::random::Random;
use crate::{LocalRule, Rules, Scenario, SectionPosition};

/// The most arrivals of a task in a search.
const ARRIVALS_MAX: usize = 4096;

/// A task, as the search sees it.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) core: usize,
    pub(super) arrivals: ArrivalPattern,
    /// T.
    pub(super) period: u64,
    /// J.
    pub(super) jitter: u64,
    /// C.
    pub(super) cost: u64,
    /// Whether it may suspend for a resource that several cores share.
    pub(super) suspends: bool,
    /// Whether its core runs EDF.
    pub(super) edf: bool,
    /// How many tasks of its core are at least as urgent, itself included.
    urgent: usize,
    /// Sections without fixed places: resource and length.
    open: Vec<(usize, u64)>,
    /// Sections with fixed places: resource, and the execution before them.
    places: Vec<(usize, u64)>,
    /// How long a body without fixed places executes outside of sections, in ns.
    rest: u64,
}

/// A set, as the search sees it.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) tasks: Vec<Fact>,
    /// Per core, its tasks, the most urgent first.
    cores: Vec<Vec<usize>>,
    /// The users of each resource.
    pub(super) users: Vec<Vec<usize>>,
}

impl Facts {
    pub(super) fn of(set: &TaskSet, rules: &Rules) -> Self {
        let users: Vec<Vec<usize>> =
            (0..set.resources().len()).map(|resource| set.users(resource).collect()).collect();
        let guards: Vec<_> = (0..users.len()).map(|at| program::guard(set, &rules.resources, at)).collect();
        let is_edf = |core: usize| {
            matches!(rules.cores[core], LocalRule::Srp | LocalRule::DfpByClock { .. } | LocalRule::Dfp)
        };
        // Smaller = more urgent.
        let urgency = |at: usize| {
            let task = &set.tasks()[at];
            if is_edf(task.core) { task.deadline.as_ns() } else { u64::from(u32::MAX - task.priority) }
        };
        let mut cores: Vec<Vec<usize>> = vec![Vec::new(); set.cores().len()];
        set.tasks().iter().enumerate().for_each(|(at, task)| cores[task.core].push(at));
        cores.iter_mut().for_each(|tasks| tasks.sort_by_key(|at| urgency(*at)));
        let tasks = set.tasks().iter().enumerate().map(|(at, task)| {
            let own = urgency(at);
            let urgent = cores[task.core].partition_point(|other| urgency(*other) <= own);
            let (mut open, mut places, mut rest) = (Vec::new(), Vec::new(), 0);
            match &task.body {
                Body::Segments(segments) => {
                    requests(segments, &mut 0, &mut places);
                }
                Body::Anywhere { cost, requests } => {
                    for request in requests {
                        let section = (request.resource, request.length.as_ns());
                        open.extend(core::iter::repeat_n(section, request.count as usize));
                    }
                    rest = cost.as_ns() - open.iter().map(|(_, length)| length).sum::<u64>();
                }
            }
            Fact {
                core: task.core,
                arrivals: task.arrivals,
                period: task.period.as_ns(),
                jitter: task.jitter.as_ns(),
                cost: set.cost(at).as_ns(),
                suspends: set.requests(at).iter().any(|r| guards[r.resource] == Guard::Suspend),
                edf: is_edf(task.core),
                urgent,
                open,
                places,
                rest,
            }
        });
        let tasks = tasks.collect();
        Self { tasks, cores, users }
    }

    /// The tasks that may run in place of this task on its core, the task itself included.
    pub(super) fn rivals(&self, task: usize) -> &[usize] {
        let Fact { core, edf, urgent, .. } = self.tasks[task];
        if edf { &self.cores[core] } else { &self.cores[core][..urgent] }
    }

    /// The tasks of its core that are less urgent than this task.
    pub(super) fn lower(&self, task: usize) -> &[usize] {
        let Fact { core, urgent, .. } = self.tasks[task];
        &self.cores[core][urgent..]
    }

    /// How long a job executes before one of its requests for this resource, chosen at random.
    pub(super) fn before(
        &self,
        task: usize,
        resource: usize,
        scenario: &Scenario,
        random: &mut Random,
    ) -> Option<u64> {
        let fact = &self.tasks[task];
        let (mut found, mut count) = (None, 0);
        let mut see = |of: usize, at: u64| {
            if of == resource {
                count += 1;
                if random.up_to(count - 1) == 0 {
                    found = Some(at);
                }
            }
        };
        if fact.open.is_empty() {
            fact.places.iter().for_each(|(of, at)| see(*of, *at));
        } else {
            let mut at = 0_u64;
            for place in &scenario.placed[task].1 {
                at = at.saturating_add(place.before.as_ns());
                see(place.resource, at);
                let length = fact.open.iter().find(|(of, _)| *of == place.resource);
                at = at.saturating_add(length.map_or(0, |(_, length)| *length));
            }
        }
        found
    }

    /// The resource of one of the task's requests, at random.
    pub(super) fn any_resource(&self, task: usize, random: &mut Random) -> Option<usize> {
        let fact = &self.tasks[task];
        let list = if fact.open.is_empty() { &fact.places } else { &fact.open };
        random.pick(list).map(|(resource, _)| *resource)
    }

    /// Places for a task's sections, by one of the patterns that have turned out to matter.
    pub(super) fn places(&self, task: usize, way: Way, random: &mut Random) -> Vec<SectionPosition> {
        let fact = &self.tasks[task];
        let mut places: Vec<_> = fact
            .open
            .iter()
            .map(|(resource, _)| SectionPosition { resource: *resource, before: Duration::ZERO })
            .collect();
        let Some(last) = places.len().checked_sub(1) else { return places };
        if random.up_to(1) == 0 {
            for at in (1..=last).rev() {
                places.swap(at, random.up_to(at as u64) as usize);
            }
        }
        match way {
            Way::First => {}
            Way::Last => places[0].before = Duration::from_ns(fact.rest),
            Way::Even => {
                let share = Duration::from_ns(fact.rest / (places.len() as u64 + 1));
                places.iter_mut().for_each(|place| place.before = share);
            }
            Way::Random => {
                let mut left = fact.rest;
                for place in &mut places {
                    let some = random.up_to(left);
                    place.before = Duration::from_ns(some);
                    left -= some;
                }
            }
        }
        places
    }

    /// Whether the task's sections have no fixed places.
    pub(super) fn is_open(&self, task: usize) -> bool {
        !self.tasks[task].open.is_empty()
    }

    /// How long a task executes outside of its open sections, in ns.
    pub(super) fn rest(&self, task: usize) -> u64 {
        self.tasks[task].rest
    }

    /// Lets a task arrive at `at`, or as near as its pattern allows. Arrivals in the way are moved or dropped.
    pub(super) fn put(&self, task: usize, at: u64, move_others: bool, scenario: &mut Scenario) {
        let Fact { period, arrivals, .. } = self.tasks[task];
        let horizon = scenario.horizon.as_ns();
        if at >= horizon {
            return;
        }
        let list = &mut scenario.exactly[task].1;
        match arrivals {
            ArrivalPattern::Phased(_) => {}
            ArrivalPattern::Periodic => {
                fill(list, if move_others { at } else { at % period }, period, horizon)
            }
            ArrivalPattern::Sporadic | ArrivalPattern::Driven if move_others => {
                let place = list.partition_point(|time| time.as_ns() < at);
                // The next arrival moves here, and pushes the others.
                if place < list.len() {
                    list[place] = Duration::from_ns(at);
                } else {
                    list.push(Duration::from_ns(at));
                }
                for later in place + 1..list.len() {
                    let least = list[later - 1].as_ns() + period;
                    list[later] = list[later].max(Duration::from_ns(least));
                }
                let mut first = place;
                while first > 0 {
                    let Some(most) = list[first].as_ns().checked_sub(period) else { break };
                    list[first - 1] = list[first - 1].min(Duration::from_ns(most));
                    first -= 1;
                }
                list.drain(..first);
                list.retain(|time| time.as_ns() < horizon);
            }
            ArrivalPattern::Sporadic | ArrivalPattern::Driven => {
                list.retain(|time| time.as_ns().abs_diff(at) >= period);
                let place = list.partition_point(|time| time.as_ns() < at);
                if list.len() < ARRIVALS_MAX {
                    list.insert(place, Duration::from_ns(at));
                }
            }
        }
    }

    /// Lets a task arrive from `from` on as often as it may, and keeps its arrivals a period or more before `from`.
    pub(super) fn dense(&self, task: usize, from: u64, scenario: &mut Scenario) {
        let Fact { period, arrivals, .. } = self.tasks[task];
        let horizon = scenario.horizon.as_ns();
        let list = &mut scenario.exactly[task].1;
        match arrivals {
            ArrivalPattern::Phased(offset) => fill(list, offset.as_ns(), period, horizon),
            ArrivalPattern::Periodic => fill(list, from, period, horizon),
            ArrivalPattern::Sporadic | ArrivalPattern::Driven => {
                let keep = from.checked_sub(period);
                list.retain(|time| keep.is_some_and(|keep| time.as_ns() <= keep));
                let mut at = from;
                while at < horizon && list.len() < ARRIVALS_MAX {
                    list.push(Duration::from_ns(at));
                    at = at.saturating_add(period);
                }
            }
        }
    }

    /// Removes a task's arrivals in an interval; all arrivals if it is periodic.
    pub(super) fn silence(&self, task: usize, from: u64, to: u64, scenario: &mut Scenario) {
        let list = &mut scenario.exactly[task].1;
        match self.tasks[task].arrivals {
            ArrivalPattern::Phased(_) => {}
            ArrivalPattern::Periodic => list.clear(),
            ArrivalPattern::Sporadic | ArrivalPattern::Driven => {
                list.retain(|time| !(from..=to).contains(&time.as_ns()))
            }
        }
    }

    /// A scenario in which only phased tasks arrive, and sections come first.
    pub(super) fn silent(&self, horizon: u64) -> Scenario {
        let mut scenario = Scenario::worst(Duration::from_ns(horizon));
        for (at, fact) in self.tasks.iter().enumerate() {
            scenario.exactly.push((at, Vec::new()));
            scenario.delays.push((at, Vec::new()));
            let place = |(resource, _): &(usize, u64)| SectionPosition {
                resource: *resource,
                before: Duration::ZERO,
            };
            scenario.placed.push((at, fact.open.iter().map(place).collect()));
            if matches!(fact.arrivals, ArrivalPattern::Phased(_)) {
                self.dense(at, 0, &mut scenario);
            }
        }
        scenario
    }
}

/// Where a task's sections are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    First,
    Last,
    Even,
    Random,
}

impl Way {
    pub(super) fn any(random: &mut Random) -> Self {
        [Self::First, Self::Last, Self::Even, Self::Random][random.up_to(3) as usize]
    }
}

fn fill(list: &mut Vec<Duration>, from: u64, period: u64, horizon: u64) {
    list.clear();
    let mut at = from;
    while at < horizon && list.len() < ARRIVALS_MAX {
        list.push(Duration::from_ns(at));
        at = at.saturating_add(period);
    }
}

/// Appends each section's resource and the execution before it.
fn requests(segments: &[Segment], at: &mut u64, places: &mut Vec<(usize, u64)>) {
    for segment in segments {
        match segment {
            Segment::Normal(time) => *at += time.as_ns(),
            Segment::Section { resource, inside } => {
                places.push((*resource, *at));
                requests(inside, at, places);
            }
        }
    }
}
