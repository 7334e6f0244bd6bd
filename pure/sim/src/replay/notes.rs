// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a replay must know in advance: where to begin, which jobs were dropped, which requests were granted which
//! resource.

use std::collections::{BTreeMap, BTreeSet};

use taut_model::TaskSet;

use super::EarlyEnd;
use super::log::{Item, Log, What};
use crate::program::Guard;

impl Log {
    /// All items of a component by time, each as core and position.
    fn by_time(&self, component: usize) -> Vec<(usize, usize)> {
        let cores = (0..self.items.len()).filter(|core| self.component[*core] == component);
        let mut all: Vec<_> =
            cores.flat_map(|core| (0..self.items[core].len()).map(move |place| (core, place))).collect();
        // Stable: items of a core stay in order.
        all.sort_by_key(|&(core, place)| self.items[core][place].at);
        all
    }

    /// Leaves out the items before the first instant at which every job under way has a recorded release. `untimed`
    /// says which cores have tasks outside the calendar: such a core must also have looked at its calendar before
    /// that instant.
    pub(super) fn begin_where_nothing_is_under_way(&mut self, untimed: &[bool]) {
        for component in 0..self.items.len() {
            let order = self.by_time(component);
            let earliest = self.after_orphans(&order, untimed);
            if earliest > 0 {
                let begin = self.first_idle(&order, earliest);
                self.leave_out(&order[..begin]);
            }
        }
    }

    /// The position behind the last item of a job without a recorded release, and behind the first look of each core
    /// that must have looked at its calendar; the end, if such a core never did.
    fn after_orphans(&self, order: &[(usize, usize)], untimed: &[bool]) -> usize {
        let mut delivered = BTreeSet::new();
        let mut orphan = 0;
        let mut unseen: BTreeSet<usize> = order.iter().map(|(core, _)| *core).collect();
        unseen.retain(|core| untimed[*core]);
        for (place, &(core, at)) in order.iter().enumerate() {
            let item = self.items[core][at];
            if item.checks_calendar(&self.timed) && unseen.remove(&core) {
                orphan = place + 1;
            }
            match item.what {
                What::Delivered(_) => drop(delivered.insert((item.task, item.job))),
                What::Level(_) | What::Ceiling(..) => {}
                What::Skip(_) | What::Looked | What::Turn(..) | What::Beside { .. } => {}
                What::Nothing | What::End(_) => {}
                _ if delivered.contains(&(item.task, item.job)) => {}
                _ => orphan = place + 1,
            }
        }
        if unseen.is_empty() { orphan } else { order.len() }
    }

    /// The first position from `earliest` on at which no job is under way.
    fn first_idle(&self, order: &[(usize, usize)], earliest: usize) -> usize {
        let mut open = BTreeSet::new();
        for (place, &(core, at)) in order.iter().enumerate() {
            if place >= earliest && open.is_empty() {
                return place;
            }
            let item = self.items[core][at];
            match item.what {
                What::Delivered(_) => drop(open.insert((item.task, item.job))),
                What::Complete => drop(open.remove(&(item.task, item.job))),
                _ => {}
            }
        }
        order.len()
    }

    /// Leaves out the first items of some cores; keeps the changes of levels and ceilings among them, which still
    /// hold.
    fn leave_out(&mut self, first: &[(usize, usize)]) {
        let mut cut = vec![0; self.items.len()];
        first.iter().for_each(|(core, at)| cut[*core] = at + 1);
        for (core, cut) in cut.into_iter().enumerate().filter(|(_, cut)| *cut > 0) {
            let all = cut == self.items[core].len();
            let last = self.items[core][cut - 1];
            let mut changes = Vec::new();
            for item in self.items[core].drain(..cut) {
                if matches!(item.what, What::Level(_) | What::Ceiling(..)) {
                    changes.push(item);
                }
                if matches!(item.what, What::Delivered(_) | What::Skip(_)) {
                    self.arrived[item.task] += 1;
                }
                if item.checks_calendar(&self.timed) {
                    self.looked[core] = item.at;
                }
            }
            self.before[core] = (cut - changes.len()) as u64;
            self.items[core].splice(..0, changes);
            if all {
                self.items[core].push(Item { what: What::End(EarlyEnd::NoBeginning), ..last });
            }
        }
    }

    /// Turns the delivery of a job that was dropped before it began into a skip: such a job waited behind another job,
    /// and the rule never received it.
    pub(super) fn withdraw(&mut self) {
        for items in &mut self.items {
            let mut delivered: BTreeMap<(usize, u64), usize> = BTreeMap::new();
            let mut gone = Vec::new();
            for (place, item) in items.iter().enumerate() {
                match item.what {
                    What::Delivered(_) => drop(delivered.insert((item.task, item.job), place)),
                    What::Skip(_) => gone
                        .extend(delivered.remove(&(item.task, item.job)).map(|delivered| (delivered, place))),
                    _ => {}
                }
            }
            for (delivered, skipped) in gone {
                if let What::Delivered(arrival) = items[delivered].what {
                    items[delivered].what = What::Skip(arrival);
                }
                items[skipped].what = What::Nothing;
            }
        }
    }

    pub(super) fn note_arrivals(&mut self, set: &TaskSet) {
        for item in self.items.iter().flatten() {
            if let What::Delivered(arrival) | What::Skip(arrival) = item.what {
                self.arrivals[item.task].push(arrival);
            }
        }
        // The arrival that would have come next: a driver that knows it counts from there.
        for (task, arrivals) in set.tasks().iter().zip(&mut self.arrivals) {
            if !task.arrivals.is_sporadic() {
                let next = arrivals.last().map(|last| last.saturating_add(task.period.as_ns()));
                arrivals.extend(next);
            }
        }
    }

    pub(super) fn note_holds(&mut self, guard: impl Fn(usize) -> Option<Guard>) {
        let is_global = |resource| matches!(guard(resource), Some(Guard::Spin | Guard::Suspend));
        // The instant of the grant, the resource, and where the request was made.
        let mut holds = Vec::new();
        for (core, items) in self.items.iter().enumerate() {
            let mut asked: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
            let mut granted = BTreeMap::new();
            for (place, item) in items.iter().enumerate() {
                match item.what {
                    What::Spin(resource) | What::Suspend(resource) => {
                        asked.insert(item.task, (resource, place));
                    }
                    // The thread that waited records it once more.
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
        // A request that waits at the end would have been granted later.
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

/// Per core, the lowest core that shares resources with it, directly or through others.
pub(super) fn components(set: &TaskSet) -> Vec<usize> {
    let mut of: Vec<usize> = (0..set.cores().len()).collect();
    for resource in (0..set.resources().len()).filter(|resource| !set.is_local(*resource)) {
        let cores: BTreeSet<usize> = set.users(resource).map(|task| of[set.tasks()[task].core]).collect();
        let Some(lowest) = cores.first().copied() else { continue };
        of.iter_mut().filter(|core| cores.contains(core)).for_each(|core| *core = lowest);
    }
    of
}
