// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Stack resource policy on one list, as in MaRTE OS. **Wrong for nested locks**.
//!
//! ```text
//! Rule        a job is inserted from the tail, behind the first job T that it does not go before:
//!             new before T  iff  d_new < d_T and (T holds nothing, or level(new) > level(T) now);
//!             the head runs; a holder's level is at least the ceilings of what it holds; an unlock removes the holder
//!             and inserts it again
//! Status      unsound: see below
//! Cost        release, unlock O(n); lock, complete O(1)
//! Source      [Gutierrez13, Figure 1 and Appendix A]
//! ```
//!
//! Correct as long as no section is inside another and no deadlines are equal: then the schedules are those of
//! [`Srp`](taut_policy::Srp). With nested sections they are not: after the inner unlock the job still holds the outer
//! resource, but the comparison looks at what the *other* job holds. So a job that the outer ceiling should keep out
//! is inserted before the holder, and locks the held resource. [`Locking::lock`] then answers [`LocalAnswer::Broken`].
//! At equal deadlines an unlock puts the job behind its equals, which is not a mistake but not FIFO.

use taut_policy::queue::{LinkedList, Node, ReadyQueue};
use taut_policy::{LocalAnswer, Locking, Misuse, Scheduler, Store};
use taut_time::{Duration, Instant};

/// What the rule knows about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrpListTask {
    relative: u64,
    absolute: u64,
    /// As a relative deadline: the least of the task's own and the ceilings of the resources that it holds.
    level: u64,
    held: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Ready,
    Suspended,
}

impl SrpListTask {
    /// No task yet.
    pub const EMPTY: Self =
        Self { relative: u64::MAX, absolute: u64::MAX, level: u64::MAX, held: 0, state: State::Idle };
}

/// A resource: its ceiling and its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrpListResource {
    ceiling: u64,
    holder: u32,
    /// The holder's level before the lock.
    before: u64,
    /// Its nesting depth among the holder's resources, counted from 1.
    depth: u32,
}

const NONE: u32 = u32::MAX;

impl SrpListResource {
    /// No resource yet.
    pub const EMPTY: Self = Self { ceiling: u64::MAX, holder: NONE, before: u64::MAX, depth: 0 };

    fn holder(&self) -> Option<usize> {
        (self.holder != NONE).then_some(self.holder as usize)
    }
}

/// EDF with the stack resource policy on one list.
#[derive(Clone, Debug)]
pub struct SrpList<N, S, R> {
    list: LinkedList<N>,
    tasks: S,
    resources: R,
    running: Option<usize>,
}

impl<N: Store<Node>, S: Store<SrpListTask>, R: Store<SrpListResource>> SrpList<N, S, R> {
    /// A task per relative deadline, and a resource per least relative deadline of its users.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all.
    pub fn new(
        nodes: N,
        mut tasks: S,
        deadlines: &[Duration],
        mut resources: R,
        ceilings: &[Duration],
    ) -> Result<Self, Misuse> {
        let list = LinkedList::new(nodes);
        let (capacity, slots) = (list.capacity(), tasks.as_mut());
        slots.fill(SrpListTask::EMPTY);
        for (task, deadline) in deadlines.iter().enumerate() {
            let slot = slots.get_mut(task).filter(|_| task < capacity).ok_or(Misuse::Task)?;
            (slot.relative, slot.level) = (deadline.as_ns(), deadline.as_ns());
        }
        let places = resources.as_mut();
        places.fill(SrpListResource::EMPTY);
        for (resource, ceiling) in ceilings.iter().enumerate() {
            places.get_mut(resource).ok_or(Misuse::Resource)?.ceiling = ceiling.as_ns();
        }
        Ok(Self { list, tasks, resources, running: None })
    }

    /// The ready queue, with the running task at its head, to look at.
    pub fn queue(&self) -> &LinkedList<N> {
        &self.list
    }

    fn enter(&mut self, task: usize) -> Result<(), Misuse> {
        let tasks = self.tasks.as_ref();
        let new = tasks[task];
        self.list.insert_from_tail(task, new.absolute, |other, _| {
            let other = &tasks[other];
            new.absolute < other.absolute && (other.held == 0 || new.level < other.level)
        })
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
        self.list.remove(task);
        self.running = None;
        Ok(task)
    }
}

impl<N: Store<Node>, S: Store<SrpListTask>, R: Store<SrpListResource>> Scheduler for SrpList<N, S, R> {
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
        self.running = self.list.first().map(|(task, _)| task);
        self.running
    }

    fn running(&self) -> Option<usize> {
        self.running
    }
}

impl<N: Store<Node>, S: Store<SrpListTask>, R: Store<SrpListResource>> Locking for SrpList<N, S, R> {
    fn lock(&mut self, _: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        match place.holder() {
            Some(holder) if holder == task => return Err(Misuse::Again),
            Some(_) => return Ok(LocalAnswer::Broken),
            None => {}
        }
        let slot = &mut self.tasks.as_mut()[task];
        slot.held += 1;
        (place.holder, place.before, place.depth) = (task as u32, slot.level, slot.held);
        slot.level = slot.level.min(place.ceiling);
        Ok(LocalAnswer::Granted)
    }

    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        let slot = &mut self.tasks.as_mut()[task];
        if place.holder() != Some(task) || place.depth != slot.held {
            return Err(Misuse::NotHolder);
        }
        slot.level = place.before;
        slot.held -= 1;
        place.holder = NONE;
        self.list.remove(task);
        self.enter(task)
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.resources.as_ref().get(resource)?.holder()
    }

    fn check_state(&self) -> Result<(), &'static str> {
        for place in self.resources.as_ref() {
            let kept_out = |task: usize| {
                place.holder() != Some(task) && self.tasks.as_ref()[task].relative >= place.ceiling
            };
            if place.holder != NONE && self.running.is_some_and(kept_out) {
                return Err("a task runs although its priority does not exceed the ceiling");
            }
        }
        Ok(())
    }
}
