// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which core's next record comes first.

use super::player::Player;
use super::tape::{Item, What};
use crate::{GlobalRule, Sink};

impl<S: Sink> Player<'_, S> {
    /// The core whose next record is to be taken.
    pub(super) fn next_core(&mut self) -> Option<usize> {
        while let Some(&(core, place)) = self.first.last() {
            if self.lanes[core].next <= place && self.item(core).is_some() {
                return Some(core);
            }
            self.first.pop();
        }
        let next = (0..self.lanes.len()).filter_map(|core| Some((self.item(core)?.at, core))).min();
        let mut core = next?.1;
        // At most as often as there are cores: one that goes first is not asked for again.
        while let Some((other, place)) = self.before(core) {
            self.reordered += 1;
            self.first.push((other, place));
            core = other;
        }
        Some(core)
    }

    fn item(&self, core: usize) -> Option<Item> {
        let lane = &self.lanes[core];
        if lane.found.stop.is_some() { None } else { self.tape.items[core].get(lane.next).copied() }
    }

    /// What of another core the next of this core may have come after, and did, as the resource shows.
    fn before(&self, core: usize) -> Option<(usize, usize)> {
        let item = self.item(core)?;
        if let What::Locked(resource) | What::Granted(resource) = item.what
            && let Some(unlock) = self.unlock_of(resource, core, item.at)
        {
            return Some(unlock);
        }
        let rank = self.tape.ranks.get(&(core, self.lanes[core].next));
        let (resource, rank) = match item.what {
            // One that waited has asked before.
            What::Locked(resource) => (resource, rank.copied()?),
            What::Spin(resource) | What::Suspend(resource) => {
                (resource, rank.copied().unwrap_or(self.tape.sure[resource]))
            }
            _ => return None,
        };
        // By priority, one that would be next and is not has come after the unlock.
        if self.by_priority(resource)
            && matches!(item.what, What::Suspend(_))
            && let Some(&(next, place)) = self.tape.holds[resource].get(self.grants[resource])
            && (next, place) != (core, self.lanes[core].next)
            && let Some(next) = self.tape.items[next].get(place)
            && self.set.tasks()[next.task].priority < self.set.tasks()[item.task].priority
            && let Some(unlock) = self.unlock_of(resource, core, item.at)
        {
            return Some(unlock);
        }
        // It was given back to one that had asked before: so before what the giver's core does then, and, by priority, before
        // who would be next and is not.
        if let Some(giver) = self.kept[resource]
            && let Some(heir) = self.heir(core, resource, item.at)
            && !self.first.iter().any(|(busy, _)| *busy == heir.0)
        {
            let tasks = self.set.tasks();
            let passed_over = self.by_priority(resource)
                && self.is_sure(resource)
                && tasks[item.task].priority > tasks[self.tape.items[heir.0][heir.1].task].priority;
            if tasks[giver].core == core || passed_over {
                return Some(heir);
            }
        }
        // Requests of those that held it before this one, or hold it next; more than there are tasks do not wait.
        let holds = self.tape.holds[resource].iter().take(rank).skip(self.grants[resource]);
        let mut holds = holds.take(self.granted.len()).copied();
        holds.find(|&(other, place)| {
            let Some(asks) = self.tape.items[other].get(place) else { return false };
            let waits = matches!(asks.what, What::Spin(_) | What::Suspend(_));
            // By priority, who came first says nothing of who goes first, but among equals.
            let says_nothing = self.by_priority(resource)
                && waits
                && self.set.tasks()[asks.task].priority != self.set.tasks()[item.task].priority;
            other != core
                && !says_nothing
                && self.lanes[other].next <= place
                && self.item(other).is_some()
                && asks.at <= item.at.saturating_add(self.slack)
                && !self.first.iter().any(|(busy, _)| *busy == other)
        })
    }

    /// Who of another core holds a resource next, if it has still to ask for it, and will wait: then a core lets it go
    /// after that, however much later than was recorded.
    pub(super) fn heir(&self, core: usize, resource: usize, at: u64) -> Option<(usize, usize)> {
        let until = at.saturating_add(self.patience);
        let holds = self.tape.holds[resource].iter().skip(self.grants[resource]);
        let mut next = holds.take(if self.is_sure(resource) { 1 } else { usize::MAX }).copied();
        if next.clone().any(|(other, place)| self.lanes[other].next > place) {
            return None;
        }
        next.find(|&(other, place)| {
            let asks = self.tape.items[other].get(place);
            let waits = asks.is_some_and(|asks| {
                asks.at <= until && matches!(asks.what, What::Spin(_) | What::Suspend(_))
            });
            other != core && waits && self.lanes[other].next <= place && self.item(other).is_some()
        })
    }

    /// Whether the next of a core may be the request for which a resource was kept.
    pub(super) fn inherits(&self, core: usize, resource: usize) -> bool {
        let next = self.tape.holds[resource].get(self.grants[resource]);
        !self.is_sure(resource) || next == Some(&(core, self.lanes[core].next))
    }

    /// Whether who holds a resource next is known: it came to hold it.
    fn is_sure(&self, resource: usize) -> bool {
        self.grants[resource] < self.tape.sure[resource]
    }

    fn by_priority(&self, resource: usize) -> bool {
        self.rules.resources[resource] == GlobalRule::Mpcp
    }

    /// Where another core's holder gives a resource back: it may have done so before it looked at the clock.
    fn unlock_of(&self, resource: usize, core: usize, at: u64) -> Option<(usize, usize)> {
        let (task, _) = self.held[resource]?;
        let other = self.set.tasks()[task].core;
        if other == core || self.item(other).is_none() || self.first.iter().any(|(busy, _)| *busy == other) {
            return None;
        }
        let from = self.lanes[other].next;
        let close = |item: &&Item| item.at <= at.saturating_add(self.overlap);
        let mut items = self.tape.items[other][from..].iter().take_while(close);
        let place = items.position(|item| item.task == task && item.what == What::Unlock(resource))?;
        Some((other, from + place))
    }
}
