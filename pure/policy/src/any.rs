// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Any local rule, chosen when a core is set up: the same for who simulates it and for who runs threads by it.

use alloc::boxed::Box;
use alloc::vec;

use taut_time::{Duration, Instant};

use crate::ceiling::{Immediate, Original};
use crate::queue::{Heap, HeapSlot, Node};
use crate::{
    Answer, Core, Dfp, LocalResource, Locking, Misuse, Scheduler, Slot, Srp, SrpList, SrpListResource,
    SrpListTask, SrpTask,
};

/// A queue of any ranks.
pub type AnyQueue = Heap<Box<[HeapSlot]>>;

type Slots = Box<[Slot]>;
type Resources = Box<[LocalResource]>;
type OneList = SrpList<Box<[Node]>, Box<[SrpListTask]>, Box<[SrpListResource]>>;

/// A local rule, not knowing which.
#[derive(Clone, Debug)]
// With a tag of its own, which is one comparison; hidden in a field it would be some steps.
#[repr(u8)]
pub enum AnyLocal {
    /// [`Immediate`].
    Immediate(Immediate<AnyQueue, Slots, Resources>),
    /// [`Original`].
    Original(Original<AnyQueue, Slots, Resources>),
    /// [`Srp`].
    Srp(Srp<AnyQueue, Box<[SrpTask]>, Resources>),
    /// [`SrpList`].
    SrpList(OneList),
    /// [`Dfp`].
    Dfp(Dfp<AnyQueue, Slots, Resources>),
}

/// A core with any local rule.
pub type AnyCore = Core<AnyLocal, AnyQueue, Slots>;

/// Which local rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalRule {
    /// [`Immediate`].
    Immediate,
    /// [`Original`].
    Original,
    /// [`Srp`].
    Srp,
    /// [`SrpList`].
    SrpList,
    /// [`Dfp`].
    Dfp {
        /// The longest time from an arrival to the instant at which the rule is told; 0 if floors count from the next
        /// release.
        jitter: Duration,
    },
}

/// What a local rule goes by; each looks at some of it.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Of each task of the core, larger = more urgent.
    pub priorities: &'a [u32],
    /// Of each of these tasks, relative.
    pub deadlines: &'a [Duration],
    /// Of each resource, the largest priority of its users.
    pub ceilings: &'a [u32],
    /// Of each resource, the least relative deadline of its users.
    pub floors: &'a [Duration],
}

fn places<T: Clone>(empty: T, count: usize) -> Box<[T]> {
    vec![empty; count].into_boxed_slice()
}

/// An empty queue for so many tasks.
pub fn queue(tasks: usize) -> AnyQueue {
    Heap::new(places(HeapSlot::EMPTY, tasks))
}

impl AnyLocal {
    /// A fresh rule. Allocates what it will ever need.
    ///
    /// # Errors
    /// [`Misuse`], as the rule has it.
    pub fn new(rule: LocalRule, of: Attributes<'_>) -> Result<Self, Misuse> {
        let Attributes { priorities, deadlines, ceilings, floors } = of;
        let count = priorities.len().max(deadlines.len());
        let (slots, ready) = (places(Slot::EMPTY, count), queue(count));
        let resources = places(LocalResource::EMPTY, ceilings.len().max(floors.len()));
        Ok(match rule {
            LocalRule::Immediate => {
                Self::Immediate(Immediate::new(ready, slots, priorities, resources, ceilings)?)
            }
            LocalRule::Original => {
                Self::Original(Original::new(ready, slots, priorities, resources, ceilings)?)
            }
            LocalRule::Srp => {
                Self::Srp(Srp::new(ready, places(SrpTask::EMPTY, count), deadlines, resources, floors)?)
            }
            LocalRule::SrpList => {
                let (nodes, tasks) = (places(Node::EMPTY, count), places(SrpListTask::EMPTY, count));
                let resources = places(SrpListResource::EMPTY, floors.len());
                Self::SrpList(SrpList::new(nodes, tasks, deadlines, resources, floors)?)
            }
            LocalRule::Dfp { jitter } => {
                Self::Dfp(Dfp::new(ready, slots, deadlines, resources, floors, jitter)?)
            }
        })
    }

    /// The same, with bands above it for what other cores use.
    ///
    /// # Errors
    /// As [`AnyLocal::new`].
    pub fn core(rule: LocalRule, of: Attributes<'_>) -> Result<AnyCore, Misuse> {
        let count = of.priorities.len().max(of.deadlines.len());
        Core::new(Self::new(rule, of)?, queue(count), places(Slot::EMPTY, count), count)
    }

    /// [`Locking::lock`] under the rules that let nobody wait: whether it was granted. If not nothing has happened, and the
    /// long way tells why. Under the others it is never granted here.
    #[inline(always)]
    pub fn lock_short(&mut self, now: Instant, resource: usize) -> bool {
        let answer = match self {
            Self::Srp(rule) => rule.lock(now, resource),
            Self::Dfp(rule) => rule.lock(now, resource),
            Self::Immediate(rule) => rule.lock(now, resource),
            Self::Original(_) | Self::SrpList(_) => return false,
        };
        answer == Ok(Answer::Granted)
    }

    /// [`Locking::unlock`], and whether what runs goes on; if not [`Scheduler::decide`] must be asked.
    ///
    /// # Errors
    /// As [`Locking::unlock`].
    #[inline(always)]
    pub fn unlock_short(&mut self, resource: usize) -> Result<bool, Misuse> {
        match self {
            Self::Srp(rule) => rule.unlock(resource).map(|()| rule.goes_on()),
            Self::Dfp(rule) => rule.unlock(resource).map(|()| rule.goes_on()),
            Self::Immediate(rule) => rule.unlock(resource).map(|()| rule.goes_on()),
            Self::Original(rule) => rule.unlock(resource).map(|()| false),
            Self::SrpList(rule) => rule.unlock(resource).map(|()| false),
        }
    }
}

/// Calls the rule that there is.
macro_rules! each {
    ($self:ident, $rule:ident => $call:expr) => {
        match $self {
            Self::Immediate($rule) => $call,
            Self::Original($rule) => $call,
            Self::Srp($rule) => $call,
            Self::SrpList($rule) => $call,
            Self::Dfp($rule) => $call,
        }
    };
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

    fn decide(&mut self) -> Option<usize> {
        each!(self, rule => rule.decide())
    }

    fn running(&self) -> Option<usize> {
        each!(self, rule => rule.running())
    }
}

impl Locking for AnyLocal {
    fn lock(&mut self, now: Instant, resource: usize) -> Result<Answer, Misuse> {
        each!(self, rule => rule.lock(now, resource))
    }

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
