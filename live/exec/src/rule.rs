// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rule of a core, chosen when it is set up.
//!
//! # Deadline floors on a real clock
//!
//! Under [`Rule::Dfp`] a job that locks at t is due no later than t + floor, and whoever may ask for the resource must be
//! due no sooner. `taut-policy` asks for t and for J, the longest time from an arrival to the instant at which the rule
//! is told. A machine promises no J. So t is not a clock here, but the **next arrival that has not been told**, and J is
//! 0.
//!
//! Let N be that instant when a job locks a resource of floor F.
//!
//! 1. Every release that the rule is told of later has an arrival a ≥ N. Timed ones: they are told in the order of the
//!    calendar, and N is the first of it. Others (by a bell, by hand, by a job): their arrival is the clock when they
//!    are told, which has not gone back since the instant at which anything was told last; where a core has such tasks,
//!    N is that instant if it comes before the calendar's first.
//! 2. A user of the resource that arrives at a is due at a + D ≥ N + F, which is not before its holder, who is due at N + F
//!    at the latest. Preemption is strict, so it does not run beside the holder, also if both are due at the same
//!    instant.
//! 3. One that was told before the lock and is ready is due no sooner than the holder was at the lock, for the holder
//!    ran; and the lock makes the holder due no later than that.
//! 4. One that waits for an earlier job of its own task is told when that one completes. That one is a user too, told
//!    before the lock, so by 3 it does not run, and completes, before the unlock.
//!
//! So the dispatcher may be late by any time without a lock losing its meaning. `late` in `src/tests` injects it. A clock
//! in place of N fails there.

use taut_policy::ceiling::{Immediate, ImmediateResource, Original, OriginalResource};
use taut_policy::queue::{Heap, HeapSlot};
use taut_policy::{
    Answer, Core, Dfp, DfpResource, Locking, Misuse, Scheduler, Slot, Srp, SrpResource, SrpTask,
};
use taut_time::{Duration, Instant};

/// Who runs on a core, and how its resources are guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Fixed priorities, immediate ceilings. Without resources: fixed priorities.
    Immediate,
    /// Fixed priorities, the priority ceiling protocol with inheritance. A job may wait at each lock.
    Original,
    /// Earliest deadline first, the stack resource policy. Without resources: earliest deadline first.
    Srp,
    /// Earliest deadline first, deadline floors.
    Dfp,
}

pub(crate) type Queue = Heap<Box<[HeapSlot]>>;

pub(crate) fn places<T: Clone>(empty: T, count: usize) -> Box<[T]> {
    vec![empty; count].into()
}

pub(crate) fn queue(count: usize) -> Queue {
    Heap::new(places(HeapSlot::EMPTY, count))
}

/// A core's local rule.
#[derive(Clone, Debug)]
pub(crate) enum AnyLocal {
    Immediate(Immediate<Queue, Box<[Slot]>, Box<[ImmediateResource]>>),
    Original(Original<Queue, Box<[Slot]>, Box<[OriginalResource]>>),
    Srp(Srp<Queue, Box<[SrpTask]>, Box<[SrpResource]>>),
    Dfp(Dfp<Queue, Box<[Slot]>, Box<[DfpResource]>>),
}

/// A core with its bands.
pub(crate) type AnyCore = Core<AnyLocal, Queue, Box<[Slot]>>;

/// What a rule is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    /// Per task.
    pub(crate) priorities: Vec<u32>,
    /// Per task.
    pub(crate) deadlines: Vec<Duration>,
    /// Per resource: the largest priority of its users.
    pub(crate) ceilings: Vec<u32>,
    /// Per resource: the least relative deadline of its users.
    pub(crate) floors: Vec<Duration>,
}

impl Attributes {
    /// A fresh rule for them.
    pub(crate) fn rule(&self, rule: Rule) -> Result<AnyCore, Misuse> {
        let Self { priorities, deadlines, ceilings, floors } = self;
        let (count, resources) = (priorities.len(), ceilings.len());
        let (slots, ready) = (places(Slot::EMPTY, count), queue(count));
        let local = match rule {
            Rule::Immediate => {
                let resources = places(ImmediateResource::EMPTY, resources);
                AnyLocal::Immediate(Immediate::new(ready, slots, priorities, resources, ceilings)?)
            }
            Rule::Original => {
                let resources = places(OriginalResource::EMPTY, resources);
                AnyLocal::Original(Original::new(ready, slots, priorities, resources, ceilings)?)
            }
            Rule::Srp => {
                let tasks = places(SrpTask::EMPTY, count);
                let resources = places(SrpResource::EMPTY, resources);
                AnyLocal::Srp(Srp::new(ready, tasks, deadlines, resources, floors)?)
            }
            Rule::Dfp => {
                let resources = places(DfpResource::EMPTY, resources);
                AnyLocal::Dfp(Dfp::new(ready, slots, deadlines, resources, floors, Duration::ZERO)?)
            }
        };
        Core::new(local, queue(count), places(Slot::EMPTY, count), count)
    }
}

/// Calls the rule that there is.
macro_rules! each {
    ($self:ident, $rule:ident => $call:expr) => {
        match $self {
            Self::Immediate($rule) => $call,
            Self::Original($rule) => $call,
            Self::Srp($rule) => $call,
            Self::Dfp($rule) => $call,
        }
    };
}

impl AnyLocal {
    /// Gives back, and says who runs then.
    #[inline(always)]
    pub(crate) fn unlock_and_decide(&mut self, resource: usize) -> Result<Option<usize>, Misuse> {
        each!(self, rule => {
            rule.unlock(resource)?;
            Ok(rule.decide())
        })
    }
}

impl Scheduler for AnyLocal {
    fn release(&mut self, task: usize, arrival: Instant) -> Result<(), Misuse> {
        each!(self, rule => rule.release(task, arrival))
    }

    fn suspend(&mut self) -> Result<usize, Misuse> {
        each!(self, rule => rule.suspend())
    }

    fn resume(&mut self, task: usize) -> Result<(), Misuse> {
        each!(self, rule => rule.resume(task))
    }

    fn complete(&mut self) -> Result<usize, Misuse> {
        each!(self, rule => rule.complete())
    }

    fn retire(&mut self, task: usize) -> Result<(), Misuse> {
        each!(self, rule => rule.retire(task))
    }

    #[inline(always)]
    fn decide(&mut self) -> Option<usize> {
        each!(self, rule => rule.decide())
    }

    #[inline]
    fn running(&self) -> Option<usize> {
        each!(self, rule => rule.running())
    }
}

impl Locking for AnyLocal {
    #[inline(always)]
    fn lock(&mut self, now: Instant, resource: usize) -> Result<Answer, Misuse> {
        each!(self, rule => rule.lock(now, resource))
    }

    #[inline(always)]
    fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        each!(self, rule => rule.unlock(resource))
    }

    fn holder(&self, resource: usize) -> Option<usize> {
        each!(self, rule => rule.holder(resource))
    }

    fn check_state(&self) -> Result<(), &'static str> {
        each!(self, rule => rule.check_state())
    }
}
