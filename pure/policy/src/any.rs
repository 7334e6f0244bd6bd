// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Any local rule, chosen when a core is set up. The simulator and the runtime use the same type.

use alloc::boxed::Box;
use alloc::vec;

use taut_time::{Duration, Instant};

use crate::ceiling::{Immediate, Original};
use crate::queue::{Fronted, Heap, HeapSlot};
use crate::ranked::ByRank;
use crate::sections::{Sections, Uncontended};
use crate::{
    Core, Dfp, LocalAnswer, LocalResource, LocalRule, Locking, Misuse, Scheduler, Slot, Srp, SrpTask,
};

/// A ready queue that takes any rank.
pub type AnyQueue = Fronted<Heap<Box<[HeapSlot]>>>;

type Slots = Box<[Slot]>;
type Resources = Box<[LocalResource]>;

/// One local rule out of all, chosen at construction.
///
/// The first three have a fast path for locks. The layout of their types puts the fields that a lock and an unlock use
/// at the same offset in each, so that one comparison with the tag finds them.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum AnyLocal {
    /// [`Srp`].
    Srp(Srp<AnyQueue, Box<[SrpTask]>, Resources>),
    /// [`Dfp`] whose floors count from the next release.
    Dfp(Dfp<AnyQueue, Slots, Resources>),
    /// [`Immediate`].
    Immediate(Immediate<AnyQueue, Slots, Resources>),
    /// [`Original`].
    Original(Original<AnyQueue, Slots, Resources>),
    /// [`Dfp`] whose floors count from a clock.
    DfpByClock(Dfp<AnyQueue, Slots, Resources>),
}

/// A core with any local rule.
pub type AnyCore = BandedCore<AnyLocal>;

/// A core with a local rule of any type, whose bands take any rank.
pub type BandedCore<L> = Core<L, AnyQueue, Slots>;

/// The attributes that local rules order tasks by; each rule uses some of them.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The priority of each task of the core, larger = more urgent.
    pub priorities: &'a [u32],
    /// The relative deadline of each of these tasks.
    pub deadlines: &'a [Duration],
    /// For each resource, the largest priority of its users.
    pub ceilings: &'a [u32],
    /// For each resource, the least relative deadline of its users.
    pub floors: &'a [Duration],
    /// The longest time from an arrival to the instant at which the caller reports its release to the rule. Only
    /// [`LocalRule::DfpByClock`] uses it.
    pub jitter: Duration,
}

fn places<T: Clone>(empty: T, count: usize) -> Box<[T]> {
    vec![empty; count].into_boxed_slice()
}

/// An empty queue with room for `tasks` tasks.
pub fn queue(tasks: usize) -> AnyQueue {
    Fronted::new(Heap::new(places(HeapSlot::EMPTY, tasks)))
}

impl<L: Locking> BandedCore<L> {
    /// A local rule with room for `tasks` tasks, and above it the bands for resources that several cores share.
    /// Allocates all the memory that the bands will need.
    ///
    /// # Errors
    /// As [`Core::new`].
    pub fn with_bands(local: L, tasks: usize) -> Result<Self, Misuse> {
        Self::new(local, queue(tasks), places(Slot::EMPTY, tasks), tasks)
    }
}

impl AnyLocal {
    /// A rule without jobs. Allocates all the memory that it will need.
    ///
    /// # Errors
    /// Any [`Misuse`] that the constructor of the rule returns.
    pub fn new(rule: LocalRule, of: Attributes<'_>) -> Result<Self, Misuse> {
        let Attributes { priorities, deadlines, ceilings, floors, jitter } = of;
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
            LocalRule::DfpByClock { jitter: given } => Self::DfpByClock(Dfp::new(
                ready,
                slots,
                deadlines,
                resources,
                floors,
                given.unwrap_or(jitter),
            )?),
            LocalRule::Dfp => {
                Self::Dfp(Dfp::new(ready, slots, deadlines, resources, floors, Duration::ZERO)?)
            }
        })
    }

    /// A core with this rule, and above it the bands for resources that several cores share.
    ///
    /// # Errors
    /// As [`AnyLocal::new`].
    pub fn core(rule: LocalRule, of: Attributes<'_>) -> Result<AnyCore, Misuse> {
        let count = of.priorities.len().max(of.deadlines.len());
        Core::with_bands(Self::new(rule, of)?, count)
    }

    /// Whether this rule has a fast path; then no job ever waits for a lock.
    pub fn has_fast_path(&self) -> bool {
        matches!(self, Self::Srp(_) | Self::Dfp(_) | Self::Immediate(_))
    }

    /// States that the next release is at `next` or later. From now on, floors count from `next` in
    /// [`AnyLocal::lock_fast`] and [`AnyLocal::lock_uncontended`].
    pub fn expect(&mut self, next: Instant) {
        if let Self::Dfp(rule) = self {
            rule.ranked.sections.count_from(next.as_ns());
        }
    }

    /// Whether the running task holds a resource.
    pub fn holds(&self) -> bool {
        match self {
            Self::Srp(rule) => rule.sections.holds(),
            Self::Dfp(rule) | Self::DfpByClock(rule) => rule.ranked.sections.holds(),
            Self::Immediate(rule) => rule.ranked.sections.holds(),
            Self::Original(rule) => rule.ranked().sections.holds(),
        }
    }

    #[inline(always)]
    fn fast_path(&mut self) -> Option<&mut Sections<Resources>> {
        match self {
            Self::Srp(rule) => Some(&mut rule.sections),
            Self::Dfp(rule) => Some(&mut rule.ranked.sections),
            Self::Immediate(rule) => Some(&mut rule.ranked.sections),
            _ => None,
        }
    }

    /// [`Locking::lock`] by the fast path, at the instant of [`AnyLocal::expect`]. Returns whether the lock was
    /// granted. If not, nothing has changed, and the slow path returns the reason; a rule without a fast path never
    /// grants here.
    pub fn lock_fast(&mut self, resource: usize) -> bool {
        self.fast_path().is_some_and(|sections| sections.lock_fast(resource) == Ok(LocalAnswer::Granted))
    }

    /// [`Locking::unlock`] by the fast path. Returns whether the running task continues; if not, the caller must call
    /// [`Scheduler::decide`].
    ///
    /// # Errors
    /// As [`Locking::unlock`]; [`Misuse::State`] if the rule has no fast path.
    pub fn unlock_fast(&mut self, resource: usize) -> Result<bool, Misuse> {
        self.fast_path().ok_or(Misuse::State)?.unlock_fast(resource)
    }

    /// As [`AnyLocal::lock_fast`] while no task holds anything, but only notes the lock until another event. Returns
    /// false, and changes nothing, if a task holds a resource or the lock is not granted.
    #[inline(always)]
    pub fn lock_uncontended(&mut self, resource: Uncontended) -> bool {
        self.fast_path().is_some_and(|sections| sections.lock_uncontended(resource))
    }

    /// As [`AnyLocal::unlock_fast`] for a lock that [`AnyLocal::lock_uncontended`] has noted, if no event has come
    /// since; the running task then continues. Otherwise returns false and changes nothing.
    #[inline(always)]
    pub fn unlock_uncontended(&mut self, resource: Uncontended) -> bool {
        self.fast_path().is_some_and(|sections| sections.unlock_uncontended(resource))
    }
}

/// Forwards a call to the chosen rule.
macro_rules! each {
    ($self:ident, $rule:ident => $call:expr) => {
        match $self {
            Self::Srp($rule) => $call,
            Self::Dfp($rule) | Self::DfpByClock($rule) => $call,
            Self::Immediate($rule) => $call,
            Self::Original($rule) => $call,
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
    fn lock(&mut self, now: Instant, resource: usize) -> Result<LocalAnswer, Misuse> {
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
