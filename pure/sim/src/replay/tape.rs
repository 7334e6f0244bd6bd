// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Records, core by core, as a replay takes them.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use taut_event::{Kind, Record};
use taut_model::{Arrivals, TaskSet};

use super::Why;
use crate::Fault;
use crate::program::Guard;
use crate::run::END_OF_TIME;

/// What records say that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The record: a position in what was given; none if it is none of theirs.
    pub record: Option<usize>,
    /// What is wrong.
    pub flaw: Flaw,
}

/// What is wrong with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is no such task in the set.
    Task(usize),
    /// There is no such resource in the set.
    Resource(u64),
    /// This task uses a resource that its set does not say of it.
    Undeclared(usize, usize),
    /// Later than any clock: 2⁶² ns or more.
    Time,
    /// The set cannot be run under the rules.
    Rules(Fault),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(record) = self.record {
            write!(f, "record {record}: ")?;
        }
        self.flaw.fmt(f)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(f, "there is no task {task}"),
            Self::Resource(resource) => write!(f, "there is no resource {resource}"),
            Self::Undeclared(task, resource) => {
                write!(f, "task {task} uses resource {resource}, which nothing says that it does")
            }
            Self::Time => f.write_str("later than any clock"),
            Self::Rules(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for Malformed {}

/// A record of a core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Its position in what was given.
    pub(super) record: usize,
    /// Never before one that the core wrote earlier.
    pub(super) at: u64,
    pub(super) task: usize,
    pub(super) job: u64,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Its core is told of a job that arrived then.
    Told(u64),
    /// It was not told of one that arrived then, and will not be.
    Skip(u64),
    /// Its core is told that it was granted.
    Granted(usize),
    /// It asks, and is granted: at once, or after it waited.
    Locked(usize),
    Spin(usize),
    Suspend(usize),
    Unlock(usize),
    Complete,
    Start,
    Preempt,
    Resume,
    /// It says nothing that was not said before.
    Nothing,
    End(Why),
}

impl What {
    /// Something that a core is told and that no job of it does.
    pub(super) fn is_told(self) -> bool {
        matches!(self, Self::Told(_) | Self::Granted(_))
    }
}

/// All that a run's cores wrote.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    /// Per core.
    pub(super) items: Vec<Vec<Item>>,
    /// Per core, whether a dispatcher wrote something.
    pub(super) dispatched: Vec<bool>,
    /// Per core, records that are left out at its beginning.
    pub(super) before: Vec<u64>,
    /// Per task, when its jobs arrive that its core is told of or that are dropped, in that order.
    pub(super) arrivals: Vec<Vec<u64>>,
    /// Per core, whether its jobs may lock, and no lock was recorded anywhere.
    pub(super) silent: Vec<bool>,
    /// Per core, the cores that it shares resources with, itself included.
    pub(super) component: Vec<usize>,
    /// Per global resource, who comes to hold it, in that order, then who still waits at the end: core and place of the
    /// request among its items.
    pub(super) holds: Vec<Vec<(usize, usize)>>,
    /// Of these, how many come to hold it.
    pub(super) sure: Vec<usize>,
    /// Which of its resource's holds a request came to, by core and place; none of one that still waits at the end.
    pub(super) ranks: BTreeMap<(usize, usize), usize>,
}

impl Tape {
    pub(super) fn read(
        set: &TaskSet,
        guard: impl Fn(usize) -> Option<Guard>,
        (dispatched, demoting): (&[usize], bool),
        records: &[Record],
    ) -> Result<Self, Malformed> {
        let cores = set.cores().len();
        let mut tape = Self {
            items: vec![Vec::new(); cores],
            dispatched: (0..cores).map(|core| dispatched.contains(&core)).collect(),
            before: vec![0; cores],
            arrivals: vec![Vec::new(); set.tasks().len()],
            silent: vec![false; cores],
            component: components(set),
            holds: vec![Vec::new(); set.resources().len()],
            sure: vec![0; set.resources().len()],
            ranks: BTreeMap::new(),
        };
        let users: Vec<BTreeSet<usize>> =
            (0..set.resources().len()).map(|resource| set.users(resource).collect()).collect();
        for (at, record) in records.iter().enumerate() {
            let wrong = |flaw| Malformed { record: Some(at), flaw };
            let resource = |task: usize| {
                let position = usize::try_from(record.value).ok().filter(|place| *place < users.len());
                let position = position.ok_or(wrong(Flaw::Resource(record.value)))?;
                let uses = users[position].contains(&task);
                if uses { Ok(position) } else { Err(wrong(Flaw::Undeclared(task, position))) }
            };
            let task = usize::from(record.subject);
            let time = record.at.as_ns();
            let what = match record.kind {
                // A server is no task.
                Kind::Budget => {
                    for core in (0..cores).filter(|_| time < END_OF_TIME) {
                        tape.put(
                            core,
                            Item { record: at, at: time, task: 0, job: 0, what: What::End(Why::Server) },
                        );
                    }
                    continue;
                }
                Kind::Release => What::Told(time),
                Kind::Skip => What::Skip(time),
                Kind::Start => What::Start,
                Kind::Preempt => What::Preempt,
                Kind::Resume => What::Resume,
                Kind::Locked => What::Locked(resource(task)?),
                Kind::Unlock => What::Unlock(resource(task)?),
                Kind::Spin => What::Spin(resource(task)?),
                Kind::Suspend => What::Suspend(resource(task)?),
                Kind::Granted => What::Granted(resource(task)?),
                Kind::Complete => What::Complete,
                Kind::Lost => What::End(Why::Lost(record.value)),
                Kind::Exhausted if demoting => What::End(Why::Demoted(task)),
                _ => continue,
            };
            let told = if matches!(what, What::Told(_)) { record.value } else { 0 };
            let time = time.checked_add(told).filter(|time| *time < END_OF_TIME).ok_or(wrong(Flaw::Time))?;
            let core = set.tasks().get(task).ok_or(wrong(Flaw::Task(task)))?.core;
            tape.dispatched[core] |= told > 0 || record.kind as u8 >= Kind::Preempt as u8;
            tape.put(core, Item { record: at, at: time, task, job: record.job, what });
        }
        for core in 0..cores {
            if !tape.dispatched[core] {
                tape.items[core].clear();
            }
        }
        let locks = |item: &Item| matches!(item.what, What::Unlock(_) | What::Locked(_) | What::Granted(_));
        if !tape.items.iter().flatten().any(locks) {
            let may = |task: usize| !set.requests(task).is_empty();
            tape.silent = (0..cores).map(|core| set.on_core(core).any(may)).collect();
        }
        if !records.iter().any(|record| record.kind == Kind::Begin) {
            tape.begin_where_nothing_is_under_way();
        }
        tape.withdraw();
        tape.note_arrivals(set);
        tape.note_holds(guard);
        Ok(tape)
    }

    fn put(&mut self, core: usize, item: Item) {
        let items = &mut self.items[core];
        let before = items.last().map_or(0, |last| last.at);
        items.push(Item { at: item.at.max(before), ..item });
    }

    /// All items of a component, by time: core and place.
    fn by_time(&self, component: usize) -> Vec<(usize, usize)> {
        let cores = (0..self.items.len()).filter(|core| self.component[*core] == component);
        let mut all: Vec<_> =
            cores.flat_map(|core| (0..self.items[core].len()).map(move |place| (core, place))).collect();
        // Stable: items of a core stay in order.
        all.sort_by_key(|&(core, place)| self.items[core][place].at);
        all
    }

    /// Leaves out what comes before the first instant at which no job is under way whose release was not recorded.
    fn begin_where_nothing_is_under_way(&mut self) {
        for component in 0..self.items.len() {
            let order = self.by_time(component);
            let mut told = BTreeSet::new();
            let mut orphan = 0;
            for (place, &(core, at)) in order.iter().enumerate() {
                let item = self.items[core][at];
                match item.what {
                    What::Told(_) => drop(told.insert((item.task, item.job))),
                    What::Skip(_) | What::Nothing | What::End(_) => {}
                    _ if told.contains(&(item.task, item.job)) => {}
                    _ => orphan = place + 1,
                }
            }
            if orphan == 0 {
                continue;
            }
            let mut open = BTreeSet::new();
            let mut begin = order.len();
            for (place, &(core, at)) in order.iter().enumerate() {
                if place >= orphan && open.is_empty() {
                    begin = place;
                    break;
                }
                let item = self.items[core][at];
                match item.what {
                    What::Told(_) => drop(open.insert((item.task, item.job))),
                    What::Complete => drop(open.remove(&(item.task, item.job))),
                    _ => {}
                }
            }
            let mut cut = vec![0; self.items.len()];
            order[..begin].iter().for_each(|(core, at)| cut[*core] = at + 1);
            for (core, cut) in cut.into_iter().enumerate().filter(|(_, cut)| *cut > 0) {
                let all = cut == self.items[core].len();
                let last = self.items[core][cut - 1];
                self.items[core].drain(..cut);
                self.before[core] = cut as u64;
                if all {
                    self.items[core].push(Item { what: What::End(Why::NoBeginning), ..last });
                }
            }
        }
    }

    /// What waited behind another job and was dropped before it began has never been told to the rule.
    fn withdraw(&mut self) {
        for items in &mut self.items {
            let mut told: BTreeMap<(usize, u64), usize> = BTreeMap::new();
            let mut gone = Vec::new();
            for (place, item) in items.iter().enumerate() {
                match item.what {
                    What::Told(_) => drop(told.insert((item.task, item.job), place)),
                    What::Skip(_) => {
                        gone.extend(told.remove(&(item.task, item.job)).map(|told| (told, place)))
                    }
                    _ => {}
                }
            }
            for (told, skipped) in gone {
                if let What::Told(arrival) = items[told].what {
                    items[told].what = What::Skip(arrival);
                }
                items[skipped].what = What::Nothing;
            }
        }
    }

    fn note_arrivals(&mut self, set: &TaskSet) {
        for item in self.items.iter().flatten() {
            if let What::Told(arrival) | What::Skip(arrival) = item.what {
                self.arrivals[item.task].push(arrival);
            }
        }
        // What would have come next: a driver that knows it counts from there.
        for (task, arrivals) in set.tasks().iter().zip(&mut self.arrivals) {
            if task.arrivals != Arrivals::Sporadic {
                let next = arrivals.last().map(|last| last.saturating_add(task.period.as_ns()));
                arrivals.extend(next);
            }
        }
    }

    fn note_holds(&mut self, guard: impl Fn(usize) -> Option<Guard>) {
        let is_global = |resource| matches!(guard(resource), Some(Guard::Spin | Guard::Suspend));
        // When a request was granted, its resource, where it was made.
        let mut holds = Vec::new();
        for (core, items) in self.items.iter().enumerate() {
            let mut asked: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
            let mut granted = BTreeMap::new();
            for (place, item) in items.iter().enumerate() {
                match item.what {
                    What::Spin(resource) | What::Suspend(resource) => {
                        asked.insert(item.task, (resource, place));
                    }
                    // Said once more by the thread that waited.
                    What::Locked(resource) if granted.remove(&item.task) == Some(resource) => {}
                    What::Locked(resource) | What::Granted(resource) => {
                        if matches!(item.what, What::Granted(_)) {
                            granted.insert(item.task, resource);
                        }
                        let (_, asked) = asked
                            .remove(&item.task)
                            .filter(|(of, _)| *of == resource)
                            .unwrap_or((resource, place));
                        if is_global(resource) {
                            holds.push((item.at, resource, core, asked));
                        }
                    }
                    What::Unlock(_) => drop(granted.remove(&item.task)),
                    _ => {}
                }
            }
            let left = asked.into_values().filter(|(resource, _)| is_global(*resource));
            holds.extend(left.map(|(resource, place)| (u64::MAX, resource, core, place)));
        }
        // Who waits at the end would have come later.
        holds.sort_by_key(|&(at, _, core, place)| (at, self.items[core][place].at));
        for (at, resource, core, place) in holds {
            if at < u64::MAX {
                self.ranks.insert((core, place), self.holds[resource].len());
                self.sure[resource] += 1;
            }
            self.holds[resource].push((core, place));
        }
    }
}

/// Per core, the lowest of those with which it shares resources, by others in between too.
fn components(set: &TaskSet) -> Vec<usize> {
    let mut of: Vec<usize> = (0..set.cores().len()).collect();
    for resource in (0..set.resources().len()).filter(|resource| !set.is_local(*resource)) {
        let cores: BTreeSet<usize> = set.users(resource).map(|task| of[set.tasks()[task].core]).collect();
        let Some(lowest) = cores.first().copied() else { continue };
        of.iter_mut().filter(|core| cores.contains(core)).for_each(|core| *core = lowest);
    }
    of
}
