// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Priority ceiling protocol as published: who is refused a lock lends its priority to who is in the way.
//!
//! ```text
//! Rule        a job gets a free resource if its priority now is above the ceiling of every resource that others hold;
//!             else it waits, and the holder of the highest such ceiling runs at its priority at least
//! Promise     at most one wait per job, of one section of a less urgent task; no deadlock
//! Needs       ceilings that are true; unlock in reverse order
//! Cost        lock O(resources); unlock O(tasks); decide as the ready queue, and a lock for each that waited
//! Source      [Sha90]
//! ```
//!
//! Who waits stays chosen by priority: at an unlock all whom the holder kept waiting become ready again, and ask anew
//! when they are chosen. So a task that waited and runs again holds what it asked for.

use taut_time::Instant;

use super::ranks;
use crate::queue::{End, ReadyQueue};
use crate::ranked::{ByRank, Held, Ranked, State};
use crate::{Answer, Locking, Misuse, Slot, Store};

/// A resource: its ceiling and who holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalResource {
    ceiling: u64,
    held: Held,
}

impl OriginalResource {
    /// No resource yet.
    pub const EMPTY: Self = Self { ceiling: u64::MAX, held: Held::FREE };
}

/// Fixed priority with the priority ceiling protocol.
#[derive(Clone, Debug)]
pub struct Original<Q, S, R> {
    ranked: Ranked<Q, S>,
    resources: R,
}

const NOTHING: u32 = u32::MAX;

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<OriginalResource>> Original<Q, S, R> {
    /// A task per priority and a resource per ceiling, larger = more urgent.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too few
    /// ranks.
    pub fn new(
        ready: Q,
        slots: S,
        priorities: &[u32],
        mut resources: R,
        ceilings: &[u32],
    ) -> Result<Self, Misuse> {
        let top = ranks(&ready, priorities, ceilings)?;
        let places = resources.as_mut();
        places.fill(OriginalResource::EMPTY);
        for (at, ceiling) in ceilings.iter().enumerate() {
            places.get_mut(at).ok_or(Misuse::Resource)?.ceiling = u64::from(top - ceiling);
        }
        let bases = priorities.iter().map(|priority| u64::from(top - priority));
        Ok(Self { ranked: Ranked::new(ready, slots, bases)?, resources })
    }

    /// Who is in the way of a task that asks for a resource: the holder of the highest ceiling among those that others
    /// hold, unless the task is above it.
    fn obstacle(&self, task: usize) -> Option<usize> {
        let others = |place: &&OriginalResource| place.held.holder().is_some_and(|holder| holder != task);
        let highest = self.resources.as_ref().iter().filter(others).min_by_key(|place| place.ceiling)?;
        if self.ranked.slot(task).rank < highest.ceiling { None } else { highest.held.holder() }
    }

    fn take(&mut self, task: usize, resource: usize) {
        let slot = self.ranked.slot_mut(task);
        slot.held += 1;
        slot.aux = NOTHING;
        self.resources.as_mut()[resource].held = Held { holder: task as u32, depth: slot.held, before: 0 };
    }

    /// What runs waits for `resource` because of `holder`, who inherits. A holder that is in the way waits for nobody
    /// itself ([Sha 1990]: no transitive blocking); where ceilings are not true it may, and then inherits all the same.
    fn wait(&mut self, task: usize, resource: usize, holder: usize) {
        self.ranked.running = None;
        let slot = self.ranked.slot_mut(task);
        (slot.state, slot.aux) = (State::Blocked, resource as u32);
        let rank = slot.rank;
        let heir = self.ranked.slot_mut(holder);
        if heir.rank <= rank {
            return;
        }
        heir.rank = rank;
        if self.ranked.ready.remove(holder) {
            let _ = self.ranked.ready.insert(holder, rank, End::Front);
        }
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<OriginalResource>> ByRank for Original<Q, S, R> {
    type Ready = Q;
    type Slots = S;

    fn ranked(&self) -> &Ranked<Q, S> {
        &self.ranked
    }

    fn ranked_mut(&mut self) -> &mut Ranked<Q, S> {
        &mut self.ranked
    }

    fn rank(base: u64, _: Instant) -> u64 {
        base
    }

    fn choose(&mut self) -> Option<usize> {
        // Each round but the last makes a task wait, so there are at most as many as tasks.
        loop {
            let task = self.ranked.decide()?;
            let wanted = self.ranked.slot(task).aux;
            if wanted == NOTHING {
                return Some(task);
            }
            match self.obstacle(task) {
                None => {
                    self.take(task, wanted as usize);
                    return Some(task);
                }
                Some(holder) => self.wait(task, wanted as usize, holder),
            }
        }
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<OriginalResource>> Locking for Original<Q, S, R> {
    #[inline]
    fn lock(&mut self, _: Instant, resource: usize) -> Result<Answer, Misuse> {
        let task = self.ranked.runner()?;
        let place = self.resources.as_ref().get(resource).ok_or(Misuse::Resource)?;
        if place.held.holder() == Some(task) {
            return Err(Misuse::Again);
        }
        match self.obstacle(task) {
            None if place.held.holder().is_some() => Ok(Answer::Broken),
            None => {
                self.take(task, resource);
                Ok(Answer::Granted)
            }
            Some(holder) => {
                self.wait(task, resource, holder);
                Ok(Answer::Waits)
            }
        }
    }

    #[inline]
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        let task = self.ranked.runner()?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        let slot = self.ranked.slot_mut(task);
        if place.held.holder() != Some(task) || place.held.depth != slot.held {
            return Err(Misuse::NotHolder);
        }
        slot.held -= 1;
        slot.rank = slot.base;
        place.held = Held::FREE;
        // Those that still cannot go on find out when they are chosen, and lend their priority again.
        for waiting in 0..self.ranked.slots.as_ref().len() {
            let slot = self.ranked.slot_mut(waiting);
            if slot.state == State::Blocked {
                slot.state = State::Ready;
                let rank = slot.rank;
                let _ = self.ranked.ready.insert(waiting, rank, End::Front);
            }
        }
        Ok(())
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.resources.as_ref().get(resource)?.held.holder()
    }

    fn check_state(&self) -> Result<(), &'static str> {
        self.ranked.check()?;
        let slots = self.ranked.slots.as_ref();
        for (task, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.state == State::Blocked) {
            match self.obstacle(task) {
                None => return Err("a task waits that nothing is in the way of"),
                Some(holder) if slots[holder].rank > slot.rank => {
                    return Err("a holder is below one that waits for it");
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
