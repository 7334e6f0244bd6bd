// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Stack resource policy under EDF: a heap of jobs that have not started, a stack of those that have.
//!
//! ```text
//! Rule        let J be the first of the heap by (deadline, order of release) and S the top of the stack:
//!             J starts if there is no S, or if d_J < d_S and level(J) > system ceiling; else S runs
//! Symbols     d absolute deadline, D relative deadline; level: larger for smaller D; ceiling of a resource: the
//!             largest level of its users; system ceiling: the largest ceiling of what is held
//! Promise     no lock waits; a job that has started is only preempted by jobs that end before it goes on
//! Needs       ceilings that are true; unlock in reverse order; no suspension inside a section
//! Cost        release, start O(log n); lock, unlock, complete O(1)
//! Source      [Baker91]; the order by two structures is ours
//! ```
//!
//! Both comparisons are strict. With ≥ between level and ceiling, as a text on an implementation has it [Gutierrez13,
//! expression 1], a task whose own level is the ceiling preempts the holder and locks what is held. Levels are kept as
//! relative deadlines: level(J) > ceiling is D_J < the least D of the users.
//!
//! A job that was suspended counts as not started when it may run again: it holds nothing, so the test keeps it out as
//! long as it would keep out a new one.

use taut_time::{Duration, Instant};

use crate::queue::{End, ReadyQueue};
use crate::{Answer, Locking, Misuse, Scheduler, Store};

/// What the rule knows of a task, and a place of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrpTask {
    relative: u64,
    absolute: u64,
    state: State,
    held: u32,
    /// The task at this height of the stack.
    stacked: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Waiting,
    Started,
    Suspended,
}

impl SrpTask {
    /// No task yet.
    pub const EMPTY: Self =
        Self { relative: u64::MAX, absolute: u64::MAX, state: State::Idle, held: 0, stacked: u32::MAX };
}

/// A resource: its ceiling, and who holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrpResource {
    ceiling: u64,
    holder: u32,
    /// The system ceiling before.
    before: u64,
    /// Which one of all that are held it is, counted from 1.
    depth: u32,
}

const NONE: u32 = u32::MAX;

impl SrpResource {
    /// No resource yet.
    pub const EMPTY: Self = Self { ceiling: u64::MAX, holder: NONE, before: u64::MAX, depth: 0 };

    fn holder(&self) -> Option<usize> {
        (self.holder != NONE).then_some(self.holder as usize)
    }
}

/// EDF with the stack resource policy.
#[derive(Clone, Debug)]
pub struct Srp<Q, S, R> {
    unstarted: Q,
    tasks: S,
    resources: R,
    /// Jobs on the stack.
    height: usize,
    /// The least relative deadline among the users of what is held.
    ceiling: u64,
    /// Resources that are held.
    held: u32,
    running: Option<usize>,
}

impl<Q: ReadyQueue, S: Store<SrpTask>, R: Store<SrpResource>> Srp<Q, S, R> {
    /// A task per relative deadline, and a resource per least relative deadline of its users. The queue must take any
    /// rank.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too few
    /// ranks.
    pub fn new(
        unstarted: Q,
        mut tasks: S,
        deadlines: &[Duration],
        mut resources: R,
        ceilings: &[Duration],
    ) -> Result<Self, Misuse> {
        if unstarted.ranks() < u64::MAX {
            return Err(Misuse::Rank);
        }
        let (capacity, slots) = (unstarted.capacity(), tasks.as_mut());
        slots.fill(SrpTask::EMPTY);
        for (task, deadline) in deadlines.iter().enumerate() {
            slots.get_mut(task).filter(|_| task < capacity).ok_or(Misuse::Task)?.relative = deadline.as_ns();
        }
        let places = resources.as_mut();
        places.fill(SrpResource::EMPTY);
        for (resource, ceiling) in ceilings.iter().enumerate() {
            places.get_mut(resource).ok_or(Misuse::Resource)?.ceiling = ceiling.as_ns();
        }
        Ok(Self { unstarted, tasks, resources, height: 0, ceiling: u64::MAX, held: 0, running: None })
    }

    /// Jobs that have not started, to look at.
    pub fn unstarted(&self) -> &Q {
        &self.unstarted
    }

    /// Jobs that have started, the last one first: what runs, whom it preempted, and so on.
    pub fn started(&self) -> impl Iterator<Item = usize> {
        self.tasks.as_ref()[..self.height].iter().rev().map(|slot| slot.stacked as usize)
    }

    #[inline]
    fn task(&self, task: usize) -> &SrpTask {
        &self.tasks.as_ref()[task]
    }

    #[inline]
    fn top(&self) -> Option<usize> {
        Some(self.task(self.height.checked_sub(1)?).stacked as usize)
    }

    fn wait(&mut self, task: usize, from: State, deadline: impl Fn(&SrpTask) -> u64) -> Result<(), Misuse> {
        let slot = self.tasks.as_mut().get_mut(task).ok_or(Misuse::Task)?;
        if slot.state != from {
            return Err(Misuse::State);
        }
        let deadline = deadline(slot);
        self.unstarted.insert(task, deadline, End::Back)?;
        (slot.absolute, slot.state) = (deadline, State::Waiting);
        Ok(())
    }

    /// The first of the heap begins.
    #[inline(never)]
    fn start(&mut self, task: usize) {
        self.unstarted.take_first();
        let slots = self.tasks.as_mut();
        slots[task].state = State::Started;
        slots[self.height].stacked = task as u32;
        self.height += 1;
        self.running = Some(task);
    }

    /// What runs, which is the top of the stack, leaves.
    fn leave(&mut self, to: State) -> Result<usize, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let slot = &mut self.tasks.as_mut()[task];
        if slot.held > 0 {
            return Err(Misuse::Holding);
        }
        slot.state = to;
        self.height -= 1;
        self.running = None;
        Ok(task)
    }
}

impl<Q: ReadyQueue, S: Store<SrpTask>, R: Store<SrpResource>> Scheduler for Srp<Q, S, R> {
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse> {
        self.wait(task, State::Idle, |slot| arrival.as_ns().saturating_add(slot.relative))
    }

    fn suspend(&mut self) -> Result<usize, Misuse> {
        self.leave(State::Suspended)
    }

    fn resume(&mut self, task: usize) -> Result<(), Misuse> {
        self.wait(task, State::Suspended, |slot| slot.absolute)
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

    #[inline]
    fn decide(&mut self) -> Option<usize> {
        let top = self.top();
        self.running = top;
        // One start at most: a second would have to be before the first, which was first of the heap.
        if let Some((task, deadline)) = self.unstarted.first() {
            let starts = top.is_none_or(|top| {
                deadline < self.task(top).absolute && self.task(task).relative < self.ceiling
            });
            if starts {
                self.start(task);
            }
        }
        self.running
    }

    fn running(&self) -> Option<usize> {
        self.running
    }
}

impl<Q: ReadyQueue, S: Store<SrpTask>, R: Store<SrpResource>> Locking for Srp<Q, S, R> {
    #[inline]
    fn lock(&mut self, _: Instant, resource: usize) -> Result<Answer, Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        match place.holder() {
            Some(holder) if holder == task => return Err(Misuse::Again),
            Some(_) => return Ok(Answer::Broken),
            None => {}
        }
        self.held += 1;
        self.tasks.as_mut()[task].held += 1;
        (place.holder, place.before, place.depth) = (task as u32, self.ceiling, self.held);
        self.ceiling = self.ceiling.min(place.ceiling);
        Ok(Answer::Granted)
    }

    #[inline]
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        let task = self.running.ok_or(Misuse::State)?;
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        if place.holder() != Some(task) || place.depth != self.held {
            return Err(Misuse::NotHolder);
        }
        self.ceiling = place.before;
        place.holder = NONE;
        self.held -= 1;
        self.tasks.as_mut()[task].held -= 1;
        Ok(())
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.resources.as_ref().get(resource)?.holder()
    }

    fn check_state(&self) -> Result<(), &'static str> {
        let held = self.resources.as_ref().iter().filter(|place| place.holder != NONE);
        if held.clone().map(|place| place.ceiling).min().unwrap_or(u64::MAX) != self.ceiling {
            return Err("the system ceiling is not that of what is held");
        }
        for place in held {
            let above = self.tasks.as_ref()[..self.height].iter().rev().map(|slot| slot.stacked);
            for task in above.take_while(|task| *task != place.holder) {
                if self.task(task as usize).relative >= place.ceiling {
                    return Err("a job has started that the ceiling should keep out");
                }
            }
        }
        let stack = self.tasks.as_ref()[..self.height].iter().map(|slot| self.task(slot.stacked as usize));
        if stack.clone().zip(stack.skip(1)).any(|(below, above)| above.absolute >= below.absolute) {
            return Err("the stack is not in order of deadlines");
        }
        if self.running != self.top() {
            return Err("what runs is not the top of the stack");
        }
        Ok(())
    }
}
