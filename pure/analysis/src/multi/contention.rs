// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which tasks contend for which resources: a [`TaskSet`] laid out once, so that the equations only walk over slices.

use core::cmp::Reverse;
use core::ops::Range;

use taut_model::{SchedulingPolicy, TaskSet};

use super::bounds::Contribution;
use crate::{Assumption, Overflow};

/// A task as the equations see it. Times in ns.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) core: usize,
    pub(crate) priority: u32,
    pub(crate) cost: u64,
    pub(crate) period: u64,
    pub(crate) deadline: u64,
    pub(crate) jitter: u64,
    /// Its requests for global resources, positions in [`Contention::global`]; the longest section first.
    pub(crate) global: Range<usize>,
    /// N_i: how many requests for global resources a job makes.
    pub(crate) count: u64,
    /// Its critical sections on local resources, positions in [`Contention::local`].
    pub(crate) local: Range<usize>,
    /// Tasks of its core that are at least as urgent, itself included, positions in [`Contention::order`].
    pub(crate) higher: Range<usize>,
    /// Less urgent tasks of its core, positions in [`Contention::order`].
    pub(crate) lower: Range<usize>,
}

/// Requests of one task for one resource, as it or another task sees them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) task: usize,
    pub(crate) resource: usize,
    /// N: at most this many per job.
    pub(crate) count: u64,
    /// w: the longest section.
    pub(crate) length: u64,
    /// Its position in [`Contention::global`], if the resource is global.
    pub(crate) request: usize,
}

/// A term of a bound, with its largest contribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockingTerm {
    pub(crate) time: u64,
    pub(crate) peak: Contribution,
}

/// The whole set.
#[derive(Clone)]
pub(crate) struct Contention {
    pub(crate) cores: usize,
    pub(crate) resources: usize,
    pub(crate) tasks: Vec<Row>,
    /// Tasks by core, the most urgent first.
    pub(crate) order: Vec<usize>,
    pub(crate) global: Vec<Use>,
    pub(crate) local: Vec<Use>,
    /// Per resource and core, the requests for the resource from the core, the longest first.
    uses: Vec<Use>,
    uses_at: Vec<usize>,
    /// Per resource and core, how long all other cores together can hold the resource, once each.
    spin: Vec<u64>,
    /// Per local resource, the most urgent user's priority; none if the resource is not guarded.
    pub(crate) ceilings: Vec<Option<u32>>,
}

impl Contention {
    /// Lays out a set. The inner error names the assumption that does not hold: fixed priorities, D ≤ T.
    pub(crate) fn new(set: &TaskSet) -> Result<Result<Self, Assumption>, Overflow> {
        if set.tasks().iter().any(|task| set.cores()[task.core] != SchedulingPolicy::FixedPriority) {
            return Ok(Err(Assumption::FixedPriority));
        }
        if set.tasks().iter().any(|task| task.deadline > task.period) {
            return Ok(Err(Assumption::ConstrainedDeadline));
        }
        Self::any_deadline(set).map(Ok)
    }

    /// The same for deadlines of any length and cores of any scheduler.
    pub(crate) fn any_deadline(set: &TaskSet) -> Result<Self, Overflow> {
        let (cores, resources) = (set.cores().len(), set.resources().len());
        // 1. Which resources are used on more than one core, and the ceilings of the others.
        let (is_global, ceilings) = users(set);
        // 2. Requests per task, one per resource; a nested section of a local resource is a section of its own.
        let (mut global, mut local) = (Vec::<Use>::new(), Vec::<Use>::new());
        let mut tasks = Vec::with_capacity(set.tasks().len());
        for (at, task) in set.tasks().iter().enumerate() {
            let starts = (global.len(), local.len());
            for request in set.requests(at) {
                let list = if is_global[request.resource] { &mut global } else { &mut local };
                let (count, length) = (u64::from(request.count), request.length.as_ns());
                match list.last_mut() {
                    Some(last) if (last.task, last.resource) == (at, request.resource) => {
                        last.count += count;
                        last.length = last.length.max(length);
                    }
                    _ => list.push(Use { task: at, resource: request.resource, count, length, request: 0 }),
                }
            }
            let own = starts.0..global.len();
            global[own.clone()].sort_by_key(|request| Reverse(request.length));
            tasks.push(Row {
                core: task.core,
                priority: task.priority,
                cost: set.cost(at).as_ns(),
                period: task.period.as_ns(),
                deadline: task.deadline.as_ns(),
                jitter: task.jitter.as_ns(),
                count: global[own.clone()].iter().map(|request| request.count).sum(),
                global: own,
                local: starts.1..local.len(),
                higher: 0..0,
                lower: 0..0,
            });
        }
        // 3. Which tasks are above and below each task.
        let order = rank(&mut tasks);
        // 4. Per resource and core: the requests, and the sum of the other cores' longest ones.
        global.iter_mut().enumerate().for_each(|(at, request)| request.request = at);
        let mut uses = global.clone();
        let place = |request: &Use| request.resource * cores + tasks[request.task].core;
        uses.sort_by_key(|request| (place(request), Reverse(request.length)));
        let mut uses_at = vec![0; resources * cores + 1];
        for request in &uses {
            uses_at[place(request) + 1] += 1;
        }
        for at in 1..uses_at.len() {
            uses_at[at] += uses_at[at - 1];
        }
        let spin = spin_once(&uses, &uses_at, resources, cores)?;
        Ok(Self { cores, resources, tasks, order, global, local, uses, uses_at, spin, ceilings })
    }

    /// Makes all sections on a resource `now` ns longer than when they were laid out; until now they are `before` ns
    /// longer.
    pub(crate) fn lengthen(&mut self, resource: usize, before: u64, now: u64) -> Result<(), Overflow> {
        let sections =
            || self.global.iter().chain(&self.local).filter(|section| section.resource == resource);
        let all = sections().map(|section| u128::from(section.length - before) + u128::from(now));
        // Each length may count towards how long other cores can hold the resource.
        if all.sum::<u128>() > u64::MAX.into() {
            return Err(Overflow);
        }
        let changed = |length: u64| length - before + now;
        for section in self.local.iter_mut().filter(|section| section.resource == resource) {
            section.length = changed(section.length);
        }
        let at = resource * self.cores..(resource + 1) * self.cores;
        let users: Vec<usize> = self.all_uses(resource).iter().map(|user| user.task).collect();
        self.uses[self.uses_at[at.start]..self.uses_at[at.end]]
            .iter_mut()
            .for_each(|user| user.length = changed(user.length));
        for core in 0..self.cores {
            let others = (0..self.cores).filter(|&other| other != core);
            let longest =
                others.map(|other| self.uses(resource, other).first().map_or(0, |user| user.length));
            self.spin[at.start + core] = longest.sum();
        }
        // The longest section of each user first, as before.
        for task in users {
            let own = self.tasks[task].global.clone();
            let of_resource =
                self.global[own.clone()].iter_mut().find(|request| request.resource == resource);
            of_resource.into_iter().for_each(|request| request.length = changed(request.length));
            self.global[own.clone()].sort_by_key(|request| Reverse(request.length));
            for at in own {
                self.global[at].request = at;
                let Use { task, resource, .. } = self.global[at];
                let from = self.uses_at[resource * self.cores];
                let to = self.uses_at[(resource + 1) * self.cores];
                let user = self.uses[from..to].iter_mut().find(|user| user.task == task);
                user.into_iter().for_each(|user| user.request = at);
            }
        }
        Ok(())
    }

    /// Requests for a resource from a core, the longest first.
    pub(crate) fn uses(&self, resource: usize, core: usize) -> &[Use] {
        let at = resource * self.cores + core;
        &self.uses[self.uses_at[at]..self.uses_at[at + 1]]
    }

    /// Requests for a resource from all cores, by core.
    pub(crate) fn all_uses(&self, resource: usize) -> &[Use] {
        &self.uses[self.uses_at[resource * self.cores]..self.uses_at[(resource + 1) * self.cores]]
    }

    /// How long one request from a core can wait in a first come, first served queue, if every other core has at most
    /// one request in the queue and nothing delays the sections that it waits for.
    pub(crate) fn spin_once(&self, resource: usize, core: usize) -> u64 {
        self.spin[resource * self.cores + core]
    }

    /// A task's requests for global resources.
    pub(crate) fn global_of(&self, task: usize) -> &[Use] {
        &self.global[self.tasks[task].global.clone()]
    }

    /// Tasks of the core that may preempt a task: the others that are at least as urgent.
    pub(crate) fn higher(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        self.order[self.tasks[task].higher.clone()].iter().copied().filter(move |&other| other != task)
    }

    /// Less urgent tasks of the core.
    pub(crate) fn lower(&self, task: usize) -> &[usize] {
        &self.order[self.tasks[task].lower.clone()]
    }

    /// The longest section of `of` that blocks `task` by a local resource's ceiling.
    pub(crate) fn ceiling_section(&self, task: usize, of: usize) -> BlockingTerm {
        let mut longest = BlockingTerm::default();
        for section in &self.local[self.tasks[of].local.clone()] {
            let blocks = self.ceilings[section.resource] >= Some(self.tasks[task].priority);
            if blocks && section.length > longest.time {
                longest = BlockingTerm::of(section.length, section.task, section.resource);
            }
        }
        longest
    }

    /// How many jobs of `other` can make requests within `window` ns, if each ends within `response` ns of its
    /// arrival: ⌈(window + response) / T⌉.
    pub(crate) fn jobs(&self, other: usize, window: u64, response: u64) -> u64 {
        let period = self.tasks[other].period;
        match window.checked_add(response) {
            Some(reach) => reach.div_ceil(period),
            // Both are less than 2⁶⁴; the caller's own number of requests limits a value that does not fit here.
            None => u64::try_from((u128::from(window) + u128::from(response)).div_ceil(period.into()))
                .unwrap_or(u64::MAX),
        }
    }
}

impl BlockingTerm {
    pub(crate) fn of(time: u64, task: usize, resource: usize) -> Self {
        Self { time, peak: Contribution::new(time, Some(task), Some(resource)) }
    }

    /// Adds `count` times `time`.
    pub(crate) fn add(
        &mut self,
        count: u64,
        time: u64,
        task: Option<usize>,
        resource: Option<usize>,
    ) -> Result<(), Overflow> {
        let time = count.checked_mul(time).ok_or(Overflow)?;
        self.time = self.time.checked_add(time).ok_or(Overflow)?;
        self.raise(time, task, resource);
        Ok(())
    }

    /// Makes this the peak if it is larger.
    pub(crate) fn raise(&mut self, time: u64, task: Option<usize>, resource: Option<usize>) {
        if time > self.peak.time.as_ns() {
            self.peak = Contribution::new(time, task, resource);
        }
    }

    /// The larger term.
    pub(crate) fn larger(self, other: Self) -> Self {
        if other.time > self.time { other } else { self }
    }
}

/// By resource, whether tasks of several cores use it, and the most urgent user's priority.
fn users(set: &TaskSet) -> (Vec<bool>, Vec<Option<u32>>) {
    let resources = set.resources().len();
    let mut used_on = vec![None; resources];
    let mut is_global = vec![false; resources];
    let mut ceilings = vec![None; resources];
    for (at, task) in set.tasks().iter().enumerate() {
        for request in set.requests(at) {
            let resource = request.resource;
            is_global[resource] |= *used_on[resource].get_or_insert(task.core) != task.core;
            ceilings[resource] = Some(task.priority).max(ceilings[resource]);
        }
    }
    (is_global, ceilings)
}

/// Sets which tasks are above and below each; the tasks by core, the most urgent first.
fn rank(tasks: &mut [Row]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| (tasks[at].core, Reverse(tasks[at].priority)));
    let mut core_start = 0;
    while core_start < order.len() {
        let core = tasks[order[core_start]].core;
        let core_end = core_start + order[core_start..].partition_point(|&at| tasks[at].core == core);
        for position in core_start..core_end {
            let priority = tasks[order[position]].priority;
            let as_urgent = |&at: &usize| tasks[at].priority >= priority;
            let split = core_start + order[core_start..core_end].partition_point(as_urgent);
            tasks[order[position]].higher = core_start..split;
            tasks[order[position]].lower = split..core_end;
        }
        core_start = core_end;
    }
    order
}

/// Per resource and core, the sum of the other cores' longest requests. `uses` are sorted by resource, core and length, and
/// `uses_at` has where each begins.
fn spin_once(uses: &[Use], uses_at: &[usize], resources: usize, cores: usize) -> Result<Vec<u64>, Overflow> {
    let mut spin = vec![0; resources * cores];
    for (resource, of_resource) in spin.chunks_mut(cores.max(1)).enumerate() {
        let longest = |core| {
            let at = resource * cores + core;
            uses[uses_at[at]..uses_at[at + 1]].first().map_or(0, |request| u128::from(request.length))
        };
        let all: u128 = (0..cores).map(longest).sum();
        for (core, others) in of_resource.iter_mut().enumerate() {
            *others = u64::try_from(all - longest(core)).map_err(|_| Overflow)?;
        }
    }
    Ok(spin)
}
