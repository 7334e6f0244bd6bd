// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Stack resource policy under EDF: a heap of jobs that have not started, a stack of those that have.
//!
//! ```text
//! Rule        let J be the first of the heap by (deadline, order of release) and S the top of the stack:
//!             J starts if there is no S, or if d_J < d_S and level(J) > system ceiling; else S runs
//! Symbols     d absolute deadline, D relative deadline; level: larger for smaller D; ceiling of a resource: the
//!             largest level of its users; system ceiling: the largest ceiling of the held resources
//! Guarantee   no job waits at a lock; a job that preempts a started job ends before the started job continues
//! Needs       ceilings that are true; unlock in reverse order; no suspension inside a section
//! Cost        release, start O(log n); lock, unlock, complete O(1)
//! Source      [Baker91]; the order by two structures is ours
//! ```
//!
//! Both comparisons are strict. With ≥ between level and ceiling, as in a text on an implementation [Gutierrez13,
//! expression 1], a task whose own level is the ceiling preempts the holder and locks the held resource. Levels are
//! stored as relative deadlines: level(J) > ceiling means that D_J < the least D of the users.
//!
//! A job that resumes after a suspension counts as not started: it holds nothing, so the test keeps it out as long as
//! it would keep out a new job.

use taut_time::{Duration, Instant};

use crate::queue::{QueueEnd, ReadyQueue};
use crate::sections::{Last, Sections};
use crate::{LocalAnswer, LocalResource, Locking, Misuse, Scheduler, Store};

/// What the rule knows about a task, and one place of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrpTask {
    relative: u64,
    absolute: u64,
    state: State,
    /// The resource that the task locked last, while it does not run.
    last: Last,
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
    pub const EMPTY: Self = Self {
        relative: u64::MAX,
        absolute: u64::MAX,
        state: State::Idle,
        last: Last::NOTHING,
        stacked: u32::MAX,
    };
}

/// EDF with the stack resource policy.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Srp<Q, S, R> {
    /// Its ceiling is the system ceiling: the least relative deadline among the users of held resources.
    pub(crate) sections: Sections<R>,
    unstarted: Q,
    tasks: S,
    /// Jobs on the stack.
    height: usize,
}

impl<Q: ReadyQueue, S: Store<SrpTask>, R: Store<LocalResource>> Srp<Q, S, R> {
    /// One task for each relative deadline, and one resource for each ceiling: the least relative deadline of its
    /// users. The queue must take any rank.
    ///
    /// # Errors
    /// [`Misuse::Task`] and [`Misuse::Resource`] if there is no place for all, [`Misuse::Rank`] if the queue has too
    /// few ranks.
    pub fn new(
        unstarted: Q,
        mut tasks: S,
        deadlines: &[Duration],
        resources: R,
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
        let sections = Sections::new(resources, ceilings.iter().map(|ceiling| ceiling.as_ns()))?;
        Ok(Self { unstarted, tasks, sections, height: 0 })
    }

    /// A task's relative deadline.
    pub(crate) fn base(&self, task: usize) -> Result<u64, Misuse> {
        self.tasks.as_ref().get(task).map(|slot| slot.relative).ok_or(Misuse::Task)
    }

    /// Changes the relative deadline of a task that has no job.
    pub(crate) fn set_base(&mut self, task: usize, relative: u64) -> Result<(), Misuse> {
        let slot = self.tasks.as_mut().get_mut(task).ok_or(Misuse::Task)?;
        if slot.state != State::Idle {
            return Err(Misuse::State);
        }
        slot.relative = relative;
        Ok(())
    }

    pub(crate) fn sections(&self) -> &Sections<R> {
        &self.sections
    }

    pub(crate) fn sections_mut(&mut self) -> &mut Sections<R> {
        &mut self.sections
    }

    /// Jobs that have not started, for reading.
    pub fn unstarted(&self) -> &Q {
        &self.unstarted
    }

    /// Jobs that have started, the last one first: the running job, the job it preempted, and so on.
    pub fn started(&self) -> impl Iterator<Item = usize> + Clone {
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
        self.unstarted.insert(task, deadline, QueueEnd::Back)?;
        (slot.absolute, slot.state) = (deadline, State::Waiting);
        self.sections.ask_anew();
        Ok(())
    }

    /// The first job of the heap, if its deadline is before that of the top of the stack: then only the system ceiling
    /// can keep it from starting.
    fn sooner(&self) -> Option<usize> {
        let (task, deadline) = self.unstarted.first()?;
        self.top().is_none_or(|top| deadline < self.task(top).absolute).then_some(task)
    }

    #[inline(never)]
    fn decide_anew(&mut self) -> Option<usize> {
        // The key of the job that only the system ceiling keeps from starting, if there is one.
        let mut next = u64::MAX;
        if let Some(task) = self.sooner() {
            next = self.task(task).relative;
            if self.height == 0 || next < self.sections.ceiling() {
                self.start(task);
                // It was the first of the heap, so no other job there has an earlier deadline.
                next = u64::MAX;
            }
        }
        let top = self.top()?;
        if self.sections.running().is_none() {
            self.sections.start(top, self.task(top).last, self.sections.ceiling());
        }
        self.sections.decided(next);
        Some(top)
    }

    /// Moves the first job of the heap to the top of the stack.
    fn start(&mut self, task: usize) {
        self.unstarted.take_first();
        if let Some(running) = self.sections.running() {
            self.tasks.as_mut()[running].last = self.sections.stop();
        }
        let slots = self.tasks.as_mut();
        slots[task].state = State::Started;
        slots[self.height].stacked = task as u32;
        self.height += 1;
    }

    /// The running job, which is the top of the stack, leaves the stack.
    fn leave(&mut self, to: State) -> Result<usize, Misuse> {
        let task = self.sections.runner()?;
        if self.sections.holds() {
            return Err(Misuse::Holding);
        }
        let last = self.sections.stop();
        let slot = &mut self.tasks.as_mut()[task];
        (slot.state, slot.last) = (to, last);
        self.height -= 1;
        Ok(task)
    }
}

impl<Q: ReadyQueue, S: Store<SrpTask>, R: Store<LocalResource>> Scheduler for Srp<Q, S, R> {
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
        if self.sections.goes_on() { self.sections.running() } else { self.decide_anew() }
    }

    #[inline]
    fn running(&self) -> Option<usize> {
        self.sections.running()
    }
}

impl<Q: ReadyQueue, S: Store<SrpTask>, R: Store<LocalResource>> Locking for Srp<Q, S, R> {
    #[inline]
    fn lock(&mut self, _: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
        self.sections.lock(resource, Some)
    }

    #[inline]
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        self.sections.unlock(resource)
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        self.sections.holder(resource)
    }

    fn check_state(&self) -> Result<(), &'static str> {
        let held = self.sections.held();
        if held.clone().map(|place| place.limit).min().unwrap_or(u64::MAX) != self.sections.ceiling() {
            return Err("the system ceiling is not the highest ceiling of the held resources");
        }
        for place in held {
            let above = self.started().take_while(|task| Some(*task) != place.holder());
            if above.map(|task| self.task(task).relative).any(|relative| relative >= place.limit) {
                return Err("a job has started although its level does not exceed the ceiling");
            }
        }
        let stack = self.started().map(|task| self.task(task).absolute);
        if stack.clone().zip(stack.skip(1)).any(|(above, below)| above >= below) {
            return Err("the stack is not in deadline order");
        }
        if self.sections.running() != self.top() {
            return Err("the running job is not the top of the stack");
        }
        self.sections.check_next(self.sooner().map(|task| self.task(task).relative))
    }
}
