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

    /// The request of another core that the next of this core may have come after, and did, as the resource shows.
    fn before(&self, core: usize) -> Option<(usize, usize)> {
        let item = self.item(core)?;
        let rank = self.tape.ranks.get(&(core, self.lanes[core].next));
        let (resource, rank) = match item.what {
            // One that waited has asked before.
            What::Locked(resource) => (resource, rank.copied()?),
            What::Spin(resource) | What::Suspend(resource) => {
                (resource, rank.copied().unwrap_or(self.tape.sure[resource]))
            }
            What::Unlock(resource) => {
                let sure = self.grants[resource] < self.tape.sure[resource];
                (resource, if sure { self.grants[resource] + 1 } else { usize::MAX })
            }
            _ => return None,
        };
        // Those that held it before this one, or hold it next; more than there are tasks do not wait.
        let holds = self.tape.holds[resource].iter().take(rank).skip(self.grants[resource]);
        let mut holds = holds.take(self.granted.len()).copied();
        holds.find(|&(other, place)| {
            let Some(asks) = self.tape.items[other].get(place) else { return false };
            let waits = matches!(asks.what, What::Spin(_) | What::Suspend(_));
            // By priority, who came first says nothing of who goes first, but among equals.
            let by_priority = self.rules.resources[resource] == GlobalRule::Mpcp;
            let says_nothing = by_priority
                && waits
                && !matches!(item.what, What::Unlock(_))
                && self.set.tasks()[asks.task].priority != self.set.tasks()[item.task].priority;
            other != core
                && !says_nothing
                && self.lanes[other].next <= place
                && self.item(other).is_some()
                && asks.at <= item.at.saturating_add(self.slack)
                && !self.first.iter().any(|(busy, _)| *busy == other)
                // One that was granted at once came after the unlock.
                && (waits || !matches!(item.what, What::Unlock(_)))
        })
    }
}
