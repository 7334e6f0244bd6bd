// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Any local rule, chosen when a core is set up: the same for who simulates it and for who runs threads by it.

use alloc::boxed::Box;
use alloc::vec;

use taut_time::{Duration, Instant};

use crate::ceiling::{Immediate, Original};
use crate::queue::{Fronted, Heap, HeapSlot, Node};
use crate::ranked::ByRank;
use crate::sections::{Sections, Uncontended};
use crate::{
    Answer, Core, Dfp, LocalResource, Locking, Misuse, Scheduler, Slot, Srp, SrpList, SrpListResource,
    SrpListTask, SrpTask,
};

/// A queue of any ranks.
pub type AnyQueue = Fronted<Heap<Box<[HeapSlot]>>>;

type Slots = Box<[Slot]>;
type Resources = Box<[LocalResource]>;
type OneList = SrpList<Box<[Node]>, Box<[SrpListTask]>, Box<[SrpListResource]>>;

/// A local rule, not knowing which.
///
/// The first three have a short way for locks: what a lock and an unlock look at stands at the same place in each (their
/// types are laid out so), so that one comparison with the tag finds it.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum AnyLocal {
    /// [`Srp`].
    Srp(Srp<AnyQueue, Box<[SrpTask]>, Resources>),
    /// [`Dfp`] whose floors count from the next release.
    DfpNext(Dfp<AnyQueue, Slots, Resources>),
    /// [`Immediate`].
    Immediate(Immediate<AnyQueue, Slots, Resources>),
    /// [`Original`].
    Original(Original<AnyQueue, Slots, Resources>),
    /// [`Dfp`] whose floors count from a clock.
    Dfp(Dfp<AnyQueue, Slots, Resources>),
    /// [`SrpList`].
    SrpList(OneList),
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
    /// [`Dfp`] whose floors count from a clock.
    Dfp {
        /// The longest time from an arrival to the instant at which the rule is told.
        jitter: Duration,
    },
    /// [`Dfp`] whose floors count from the next release.
    DfpNext,
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
    Fronted::new(Heap::new(places(HeapSlot::EMPTY, tasks)))
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
            LocalRule::DfpNext => {
                Self::DfpNext(Dfp::new(ready, slots, deadlines, resources, floors, Duration::ZERO)?)
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

    /// Whether this rule has a short way, and nobody waits for a lock.
    pub fn has_fast_path(&self) -> bool {
        matches!(self, Self::Srp(_) | Self::DfpNext(_) | Self::Immediate(_))
    }

    /// From now on the next release is not before an instant: floors count from then in [`AnyLocal::lock_fast`] and
    /// [`AnyLocal::lock_uncontended`].
    pub fn expect(&mut self, next: Instant) {
        if let Self::DfpNext(rule) = self {
            rule.ranked.sections.count_from(next.as_ns());
        }
    }

    /// Whether what runs holds anything.
    pub fn holds(&self) -> bool {
        match self {
            Self::Srp(rule) => rule.sections.holds(),
            Self::DfpNext(rule) | Self::Dfp(rule) => rule.ranked.sections.holds(),
            Self::Immediate(rule) => rule.ranked.sections.holds(),
            Self::Original(rule) => rule.ranked().sections.holds(),
            Self::SrpList(rule) => rule.holds(),
        }
    }

    #[inline(always)]
    fn fast_path(&mut self) -> Option<&mut Sections<Resources>> {
        match self {
            Self::Srp(rule) => Some(&mut rule.sections),
            Self::DfpNext(rule) => Some(&mut rule.ranked.sections),
            Self::Immediate(rule) => Some(&mut rule.ranked.sections),
            _ => None,
        }
    }

    /// [`Locking::lock`] by the short way, at the instant of [`AnyLocal::expect`]: whether it was granted. If not nothing has
    /// happened, and the long way tells why; without a short way it is never granted.
    pub fn lock_fast(&mut self, resource: usize) -> bool {
        self.fast_path().is_some_and(|sections| sections.lock_fast(resource) == Ok(Answer::Granted))
    }

    /// [`Locking::unlock`] by the short way, and whether what runs goes on: if not [`Scheduler::decide`] must be asked.
    ///
    /// # Errors
    /// As [`Locking::unlock`]; [`Misuse::State`] without a short way.
    pub fn unlock_fast(&mut self, resource: usize) -> Result<bool, Misuse> {
        self.fast_path().ok_or(Misuse::State)?.unlock_fast(resource)
    }

    /// The same as [`AnyLocal::lock_fast`] where nobody holds anything: it is only noted, until something happens. False, and
    /// nothing has been done, if somebody does, or it is not granted.
    #[inline(always)]
    pub fn lock_uncontended(&mut self, resource: Uncontended) -> bool {
        self.fast_path().is_some_and(|sections| sections.lock_uncontended(resource))
    }

    /// The same as [`AnyLocal::unlock_fast`] of what [`AnyLocal::lock_uncontended`] has noted, if nothing has happened since: then
    /// what runs goes on. Else false, and nothing has been done.
    #[inline(always)]
    pub fn unlock_uncontended(&mut self, resource: Uncontended) -> bool {
        self.fast_path().is_some_and(|sections| sections.unlock_uncontended(resource))
    }
}

/// Calls the rule that there is.
macro_rules! each {
    ($self:ident, $rule:ident => $call:expr) => {
        match $self {
            Self::Srp($rule) => $call,
            Self::DfpNext($rule) | Self::Dfp($rule) => $call,
            Self::Immediate($rule) => $call,
            Self::Original($rule) => $call,
            Self::SrpList($rule) => $call,
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
