// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chooses the core whose next record comes first.

use taut_policy::QueueOrder;

use super::log::{Item, What};
use super::replayer::{Replayer, Reservation};
use crate::Sink;

/// What the replay takes before an item, by core and position.
#[derive(Clone, Copy, Debug)]
enum Before {
    /// Another item, and all items of its core before it.
    Goes(usize, usize),
    /// The request of another item; the record that its job holds the resource comes in its own turn.
    QueuesRequest(usize, usize),
}

impl<S: Sink> Replayer<'_, S> {
    /// The core whose next record the replay takes.
    pub(super) fn next_core(&mut self) -> Option<usize> {
        while let Some(&(core, place)) = self.first.last() {
            if self.cursors[core].next <= place && self.item(core).is_some() {
                return Some(core);
            }
            self.first.pop();
        }
        let next = (0..self.cursors.len()).filter_map(|core| Some((self.item(core)?.at, core))).min();
        let mut core = next?.1;
        // At most two rounds per core: an item that goes first, or is lined up, is not returned again.
        while let Some(before) = self.before(core) {
            self.reordered += 1;
            match before {
                Before::Goes(other, place) => {
                    self.first.push((other, place));
                    core = other;
                }
                Before::QueuesRequest(other, place) => self.queue_request_early(other, place),
            }
        }
        Some(core)
    }

    fn item(&self, core: usize) -> Option<Item> {
        let cursor = &self.cursors[core];
        if cursor.found.stop.is_some() { None } else { self.log.items[core].get(cursor.next).copied() }
    }

    /// What must come before the next item of this core: an item of another core that may have come first, and did,
    /// as the order of the holders shows.
    fn before(&self, core: usize) -> Option<Before> {
        let item = self.item(core)?;
        if let What::Locked(resource) | What::Granted(resource) = item.what
            && let Some(unlock) = self.unlock_of(resource, core, item.at)
        {
            return Some(unlock);
        }
        let rank = self.log.ranks.get(&(core, self.cursors[core].next)).copied();
        let (resource, rank) = match item.what {
            // A job that waited has requested before.
            What::Locked(resource) => (resource, rank?),
            What::Spin(resource) | What::Suspend(resource) => {
                (resource, rank.unwrap_or(self.log.sure[resource]))
            }
            _ => return None,
        };
        // The requests whose jobs get the resource before this one.
        let holds = self.log.holds[resource].iter().take(rank).skip(self.turn(resource)).copied();
        let holds = || {
            holds.clone().filter_map(|(core, place)| Some((core, place, self.log.items[core].get(place)?)))
        };
        let priority = |item: &Item| self.set.tasks()[item.task].priority;
        let queues = |asks: &Item| !self.by_priority(resource) || priority(asks) == priority(&item);
        // Such a request would not be next if this item had come first: so this item comes while the job of that
        // request holds the resource.
        let had_it = |asks: &Item| !item.what.waits() || !queues(asks) && priority(asks) < priority(&item);
        let has_holder = self.has_holder(resource);
        let waits_for =
            holds().any(|(.., asks)| had_it(asks) || !has_holder && queues(asks) && !asks.what.waits());
        if waits_for && has_holder {
            return self.unlock_of(resource, core, item.at);
        }
        if waits_for {
            let (other, place, asks) = holds().next()?;
            return self.may_go(core, item, other, place, asks).then_some(Before::Goes(other, place));
        }
        // In a queue, requests come in the order of the holders. A job that got the resource before it looked has
        // waited too.
        holds().filter(|(.., asks)| queues(asks)).find_map(|(other, place, asks)| {
            if !self.may_go(core, item, other, place, asks) {
                None
            } else if asks.what.waits() {
                Some(Before::Goes(other, place))
            } else {
                (self.cursors[other].next == place).then_some(Before::QueuesRequest(other, place))
            }
        })
    }

    /// Whether the request of another core may come before this item, and has not come yet.
    fn may_go(&self, core: usize, item: Item, other: usize, place: usize, asks: &Item) -> bool {
        other != core
            && !self.has_asked(&(other, place))
            && self.item(other).is_some()
            && asks.at <= item.at.saturating_add(self.slack)
            && !self.is_busy(other)
    }

    fn has_asked(&self, (core, place): &(usize, usize)) -> bool {
        let cursor = &self.cursors[*core];
        cursor.next > *place || cursor.queued_early == Some(*place)
    }

    fn is_busy(&self, core: usize) -> bool {
        self.first.iter().any(|(busy, _)| *busy == core)
    }

    /// How many jobs were granted a resource in the simulation, whether or not their cores have received the grants.
    fn turn(&self, resource: usize) -> usize {
        self.grants[resource] + usize::from(self.simulation.on_the_way(resource).is_some())
    }

    fn has_holder(&self, resource: usize) -> bool {
        self.held[resource].is_some() || self.simulation.on_the_way(resource).is_some()
    }

    /// Whether no job may have the resource that is released now, because the request of its next holder has not come
    /// yet.
    pub(super) fn is_to_be_reserved(&self, resource: usize) -> bool {
        let turn = self.turn(resource);
        match self.log.holds[resource].get(turn..) {
            None | Some([]) => false,
            // It is not known which of the requests that wait at the end is next.
            Some(next) if turn >= self.log.sure[resource] => !next.iter().any(|next| self.has_asked(next)),
            Some([next, ..]) => !self.has_asked(next),
        }
    }

    /// Whether the next item of a core may be the request for which a resource is reserved.
    pub(super) fn is_next_holder(&self, core: usize, resource: usize) -> bool {
        let turn = self.turn(resource);
        let next = self.log.holds[resource].get(turn);
        turn >= self.log.sure[resource] || next == Some(&(core, self.cursors[core].next))
    }

    /// Whether the next request of a core may wait although no job holds the resource: the job that unlocked it may
    /// not have released it yet, or another job requests it at the same time, and hands it over to the first of all
    /// waiters.
    pub(super) fn may_find_it_reserved(&self, core: usize, resource: usize, reserved: Reservation) -> bool {
        let place = self.cursors[core].next;
        let Some((from, until)) = self.span(core, place) else { return false };
        if let Reservation::By(giver, unlock) = reserved
            && giver != core
            && let Some(gave) = self.log.items[giver].get(unlock)
            && until <= gave.at.saturating_add(self.patience)
            && self.log.items[giver][unlock + 1..]
                .iter()
                .find(|next| is_clock(next))
                .is_none_or(|next| from <= next.at)
        {
            return true;
        }
        let rivals = |other: usize| {
            let items = &self.log.items[other];
            // From the first item that may have come as late as this one.
            let first = items.partition_point(|item| item.at < from);
            (first..items.len())
                .map(move |place| (place, items[place]))
                .take_while(move |(place, item)| {
                    let before = place.checked_sub(1).map_or(0, |before| items[before].at);
                    before <= until && item.at <= until.saturating_add(self.slack)
                })
                .filter(move |(_, item)| item.at.saturating_add(self.slack) >= until)
                .map(move |(place, item)| (other, place, item))
        };
        (0..self.cursors.len()).filter(|other| *other != core).flat_map(rivals).any(|(other, place, item)| {
            let asks = match item.what {
                What::Locked(of) | What::Spin(of) | What::Suspend(of) => of == resource,
                _ => false,
            };
            let rank = self.log.ranks.get(&(other, place)).copied();
            let rank = rank.or_else(|| item.what.waits().then_some(self.log.sure[resource]));
            asks && rank.is_some_and(|rank| rank >= self.turn(resource))
        })
    }

    /// The interval in which a request may have come: after the previous item of its core, and before its own record.
    fn span(&self, core: usize, place: usize) -> Option<(u64, u64)> {
        let items = &self.log.items[core];
        let before = place.checked_sub(1).map_or(0, |before| items[before].at);
        Some((before, items.get(place)?.at))
    }

    fn by_priority(&self, resource: usize) -> bool {
        match self.rules.resources[resource].order() {
            QueueOrder::Priority => true,
            QueueOrder::Request => false,
        }
    }

    /// The item in which a holder on another core unlocks a resource: the holder may have released the resource before
    /// it read the clock.
    fn unlock_of(&self, resource: usize, core: usize, at: u64) -> Option<Before> {
        let task =
            self.held[resource].map(|(task, _)| task).or_else(|| self.simulation.on_the_way(resource))?;
        let other = self.set.tasks()[task].core;
        if other == core || self.item(other).is_none() || self.is_busy(other) {
            return None;
        }
        let from = self.cursors[other].next;
        let close = |item: &&Item| item.at <= at.saturating_add(self.overlap);
        let mut items = self.log.items[other][from..].iter().take_while(close);
        let place = items.position(|item| item.task == task && item.what == What::Unlock(resource))?;
        Some(Before::Goes(other, from + place))
    }
}

/// Whether the item's instant is that of its record. The item of a dropped job has the instant of its arrival.
fn is_clock(item: &Item) -> bool {
    !matches!(item.what, What::Skip(_) | What::Nothing)
}
