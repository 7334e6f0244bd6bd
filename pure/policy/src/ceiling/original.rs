// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Priority ceiling protocol as published: a task that is refused a lock lends its priority to the task that blocks
//! it.
//!
//! ```text
//! Rule        a job gets a free resource if its current priority is above the ceiling of every resource that other
//!             jobs hold; else it waits, and the holder of the highest such ceiling runs at least at its priority
//! Guarantee   at most one wait per job, of one section of a less urgent task; no deadlock
//! Needs       ceilings that are true; unlock in reverse order
//! Cost        lock O(resources); unlock O(tasks); decide as the ready queue, and a lock for each task that waited
//! Source      [Sha90]
//! ```
//!
//! The scheduler chooses waiting tasks by priority: an unlock makes all waiting tasks ready again, and each asks anew
//! when it is chosen. So a task that waited and runs again holds the resource that it asked for.

use taut_time::Instant;

use super::ranks;
use crate::queue::{QueueEnd, ReadyQueue};
use crate::ranked::{ByRank, Ranked, State};
use crate::{LocalAnswer, LocalResource, Locking, Misuse, Slot, Store};

/// Fixed priority with the priority ceiling protocol.
#[derive(Clone, Debug)]
pub struct Original<Q, S, R> {
    ranked: Ranked<Q, S, R>,
    /// The priority that has rank 0.
    pub(crate) top: u32,
}

const NOTHING: u32 = u32::MAX;

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> Original<Q, S, R> {
    /// A task per priority and a resource per ceiling, larger = more urgent.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too
    /// few ranks.
    pub fn new(
        ready: Q,
        slots: S,
        priorities: &[u32],
        resources: R,
        ceilings: &[u32],
    ) -> Result<Self, Misuse> {
        let top = ranks(&ready, priorities, ceilings)?;
        let bases = priorities.iter().map(|priority| u64::from(top - priority));
        let limits = ceilings.iter().map(|ceiling| u64::from(top - ceiling));
        let mut ranked = Ranked::new(ready, slots, bases, resources, limits)?;
        ranked.sections.close_fast_path();
        Ok(Self { ranked, top })
    }

    /// The task that blocks a request of `task`: the holder of the highest ceiling among the resources that other
    /// tasks hold, unless `task` is above that ceiling.
    fn obstacle(&self, task: usize) -> Option<usize> {
        let others = |place: &&LocalResource| place.holder().is_some_and(|holder| holder != task);
        let resources = self.ranked.sections.resources().iter();
        let highest = resources.filter(others).min_by_key(|place| place.limit)?;
        if self.ranked.rank(task) < highest.limit { None } else { highest.holder() }
    }

    /// The running task takes a resource and keeps its priority.
    fn take(&mut self, task: usize, resource: usize) -> Result<LocalAnswer, Misuse> {
        self.ranked.slot_mut(task).aux = NOTHING;
        self.ranked.sections.lock(resource, |_| None)
    }

    /// The running task waits for `resource` because of `holder`, which inherits its priority. Such a holder does not
    /// wait itself ([Sha 1990]: no transitive blocking); if ceilings are not true it may, and then inherits all the
    /// same.
    fn wait(&mut self, task: usize, resource: usize, holder: usize) {
        self.ranked.stop();
        let slot = self.ranked.slot_mut(task);
        (slot.state, slot.aux) = (State::Blocked, resource as u32);
        let rank = slot.rank;
        let heir = self.ranked.slot_mut(holder);
        if heir.rank <= rank {
            return;
        }
        heir.rank = rank;
        if self.ranked.ready.remove(holder) {
            let _ = self.ranked.ready.insert(holder, rank, QueueEnd::Front);
        }
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> ByRank for Original<Q, S, R> {
    type Ready = Q;
    type Slots = S;
    type Resources = R;

    fn ranked(&self) -> &Ranked<Q, S, R> {
        &self.ranked
    }

    fn ranked_mut(&mut self) -> &mut Ranked<Q, S, R> {
        &mut self.ranked
    }

    fn rank(base: u64, _: Instant) -> u64 {
        base
    }

    fn choose(&mut self) -> Option<usize> {
        // Each round but the last makes a task wait, so there are at most as many rounds as tasks.
        loop {
            let task = self.ranked.decide()?;
            let wanted = self.ranked.slot(task).aux;
            if wanted == NOTHING {
                return Some(task);
            }
            match self.obstacle(task) {
                None => {
                    // No other task holds it, nor does this task, which waited for it.
                    let _ = self.take(task, wanted as usize);
                    return Some(task);
                }
                Some(holder) => self.wait(task, wanted as usize, holder),
            }
        }
    }
}

impl<Q: ReadyQueue, S: Store<Slot>, R: Store<LocalResource>> Locking for Original<Q, S, R> {
    #[inline]
    fn lock(&mut self, _: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
        let task = self.ranked.sections.runner()?;
        let place = self.ranked.sections.resources().get(resource).ok_or(Misuse::Resource)?;
        if place.holder() == Some(task) {
            return Err(Misuse::Again);
        }
        match self.obstacle(task) {
            None => self.take(task, resource),
            Some(holder) => {
                self.wait(task, resource, holder);
                Ok(LocalAnswer::Waits)
            }
        }
    }

    #[inline]
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        self.ranked.sections.unlock(resource)?;
        let task = self.ranked.sections.runner()?;
        self.ranked.sections.settle_at(self.ranked.slot(task).base);
        self.ranked.sections.ask_anew();
        // Tasks that still cannot continue find out when they are chosen, and lend their priority again.
        for waiting in 0..self.ranked.slots.as_ref().len() {
            let slot = self.ranked.slot_mut(waiting);
            if slot.state == State::Blocked {
                slot.state = State::Ready;
                let rank = slot.rank;
                let _ = self.ranked.ready.insert(waiting, rank, QueueEnd::Front);
            }
        }
        Ok(())
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.ranked.sections.holder(resource)
    }

    fn check_state(&self) -> Result<(), &'static str> {
        self.ranked.check()?;
        let slots = self.ranked.slots.as_ref();
        for (task, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.state == State::Blocked) {
            match self.obstacle(task) {
                None => return Err("a task waits although no holder blocks it"),
                Some(holder) if self.ranked.rank(holder) > slot.rank => {
                    return Err("a holder has a lower priority than a task that waits for it");
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
