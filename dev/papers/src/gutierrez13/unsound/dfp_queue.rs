// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Deadline floor protocol with the running task at the head of the ready queue, as in MaRTE OS. **Wrong for nested
//! locks at equal deadlines**.
//!
//! ```text
//! Rule        the head runs; a lock shortens its deadline in place to min(current deadline, now + floor); an unlock
//!             restores the previous deadline, removes the task and inserts it again, behind its equals
//! Status      unsound: see below
//! Cost        on a list: release, unlock O(n), others O(1); on a heap: release, unlock, complete O(log n), lock O(1)
//! Source      [Gutierrez13, Figure 4 and section 4.2]
//! ```
//!
//! Any queue will do, as the order is that of deadlines alone. The schedules are those of [`Dfp`](taut_policy::Dfp) without
//! jitter, but for two differences. After an unlock the task stands behind its equals, which is not FIFO. And if it
//! still holds an outer resource, an equal that arrived in the tick of the outer lock goes before it and locks the
//! held resource. [`Locking::lock`] then answers [`LocalAnswer::Broken`].
//!
//! Keeping the running task in the queue makes the cost of an unlock depend on the number of ready tasks.
//! [`Dfp`](taut_policy::Dfp) keeps it outside, and compares it with the first.

use taut_policy::queue::{QueueEnd, ReadyQueue};
use taut_policy::{LocalAnswer, Locking, Misuse, Scheduler, Store};
use taut_time::{Duration, Instant};

/// What the rule knows about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DfpQueueTask {
    relative: u64,
    absolute: u64,
    held: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Ready,
    Suspended,
}

impl DfpQueueTask {
    /// No task yet.
    pub const EMPTY: Self = Self { relative: u64::MAX, absolute: u64::MAX, held: 0, state: State::Idle };
}

/// A resource: its floor and its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DfpQueueResource {
    floor: u64,
    holder: u32,
    /// The holder's deadline before the lock.
    before: u64,
    /// Its nesting depth among the holder's resources, counted from 1.
    depth: u32,
}

const NONE: u32 = u32::MAX;

impl DfpQueueResource {
    /// No resource yet.
    pub const EMPTY: Self = Self { floor: u64::MAX, holder: NONE, before: u64::MAX, depth: 0 };

    fn holder(&self) -> Option<usize> {
        (self.holder != NONE).then_some(self.holder as usize)
    }
}

/// EDF with deadline floors, with the running task at the head of the queue.
#[derive(Clone, Debug)]
pub struct DfpQueue<Q, S, R> {
    queue: Q,
    tasks: S,
    resources: R,
    running: Option<usize>,
}

impl<Q: ReadyQueue, S: Store<DfpQueueTask>, R: Store<DfpQueueResource>> DfpQueue<Q, S, R> {
    /// A task per relative deadline, and a resource per floor. The queue must take any rank.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too
    /// few ranks.
    pub fn new(
        queue: Q,
        mut tasks: S,
        deadlines: &[Duration],
        mut resources: R,
        floors: &[Duration],
    ) -> Result<Self, Misuse> {
        if queue.ranks() < u64::MAX {
            return Err(Misuse::Rank);
        }
        let (capacity, slots) = (queue.capacity(), tasks.as_mut());
        slots.fill(DfpQueueTask::EMPTY);
        for (task, deadline) in deadlines.iter().enumerate() {
            slots.get_mut(task).filter(|_| task < capacity).ok_or(Misuse::Task)?.relative = deadline.as_ns();
        }
        let places = resources.as_mut();
        places.fill(DfpQueueResource::EMPTY);
        for (resource, floor) in floors.iter().enumerate() {
            places.get_mut(resource).ok_or(Misuse::Resource)?.floor = floor.as_ns();
        }
        Ok(Self { queue, tasks, resources, running: None })
    }

    /// The ready queue, with the running task at its head, to look at.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    fn enter(&mut self, task: usize) -> Result<(), Misuse> {
        self.queue.insert(task, self.tasks.as_ref()[task].absolute, QueueEnd::Back)
    }

    fn ready(&mut self, task: usize, from: State, arrival: Option<Instant>) -> Result<(), Misuse> {
        let slot = self.tasks.as_mut().get_mut(task).ok_or(Misuse::Task)?;
        if slot.state != from {
            return Err(Misuse::State);
        }
        slot.state = State::Ready;
        if let Some(arrival) = arrival {
            slot.absolute = arrival.as_ns().saturating_add(slot.relative);
        }
        self.enter(task)
    }

    fn leave(&mut self, to: State) -> Result<usize, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let slot = &mut self.tasks.as_mut()[task];
        if slot.held > 0 {
            return Err(Misuse::Holding);
        }
        slot.state = to;
        self.queue.remove(task);
        self.running = None;
        Ok(task)
    }
}

impl<Q: ReadyQueue, S: Store<DfpQueueTask>, R: Store<DfpQueueResource>> Scheduler for DfpQueue<Q, S, R> {
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse> {
        self.ready(task, State::Idle, Some(arrival))
    }

    fn suspend(&mut self) -> Result<usize, Misuse> {
        self.leave(State::Suspended)
    }

    fn resume(&mut self, task: usize) -> Result<(), Misuse> {
        self.ready(task, State::Suspended, None)
    }

    fn complete(&mut self) -> Result<usize, Misuse> {
        self.leave(State::Idle)
    }

    fn retire(&mut self, task: usize) -> Result<(), Misuse> {
        let slot = self.tasks.as_mut().get_mut(task).ok_or(Misuse::Task)?;
        if slot.state != State::Suspended {
            return Err(Misuse::State);
        }
        slot.state = State::Idle;
        Ok(())
    }

    fn decide(&mut self) -> Option<usize> {
        self.running = self.queue.first().map(|(task, _)| task);
        self.running
    }

    fn running(&self) -> Option<usize> {
        self.running
    }
}

impl<Q: ReadyQueue, S: Store<DfpQueueTask>, R: Store<DfpQueueResource>> Locking for DfpQueue<Q, S, R> {
    fn lock(&mut self, now: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        match place.holder() {
            Some(holder) if holder == task => return Err(Misuse::Again),
            Some(_) => return Ok(LocalAnswer::Broken),
            None => {}
        }
        let slot = &mut self.tasks.as_mut()[task];
        let inherited = now.as_ns().saturating_add(place.floor);
        let shortens = inherited < slot.absolute;
        // If a more urgent task was released since the last decision, the caller must decide first.
        if shortens && self.queue.first().is_none_or(|(first, _)| first != task) {
            return Err(Misuse::State);
        }
        slot.held += 1;
        (place.holder, place.before, place.depth) = (task as u32, slot.absolute, slot.held);
        if shortens {
            slot.absolute = inherited;
            self.queue.hasten_first(inherited);
        }
        Ok(LocalAnswer::Granted)
    }

    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        let slot = &mut self.tasks.as_mut()[task];
        if place.holder() != Some(task) || place.depth != slot.held {
            return Err(Misuse::NotHolder);
        }
        slot.absolute = place.before;
        slot.held -= 1;
        place.holder = NONE;
        self.queue.remove(task);
        self.enter(task)
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.resources.as_ref().get(resource)?.holder()
    }

    fn check_state(&self) -> Result<(), &'static str> {
        if self.queue.first().is_some_and(|(task, rank)| self.tasks.as_ref()[task].absolute != rank) {
            return Err("the head of the queue stands at another deadline than its own");
        }
        if self.running != self.queue.first().map(|(task, _)| task) {
            return Err("what runs is not the head of the queue");
        }
        for place in self.resources.as_ref() {
            let Some(holder) = place.holder() else { continue };
            if self.tasks.as_ref()[holder].absolute > place.before {
                return Err("a lock has postponed a deadline");
            }
        }
        Ok(())
    }
}
