// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks under immediate ceilings, deadline floors and SRP: one implementation for all three.
//!
//! ```text
//! Ceiling     a ready task preempts the running one only if its key is below the ceiling:
//!
//!             rule        key                 ceiling                       limit of a resource
//!             Immediate   rank                the rank of the running task  its ceiling's rank
//!             Dfp         absolute deadline   the running task's deadline   base + floor
//!             Srp         relative deadline   the system ceiling            its ceiling
//!
//! Lock        sets the ceiling to min(ceiling, limit) and saves the previous ceiling with the resource
//! Unlock      releases the resource that the job locked last and restores the previous ceiling
//! Open        the fast path is open while no task, running or not, holds a resource, and next ≥ ceiling. Then every
//!             resource is free, and the running task continues unless some event comes before its unlock: lock and
//!             unlock need to check none of this
//! Uncontended a section that begins while the fast path is open: the lock notes it in one word. As soon as the ready
//!             tasks change, the base that limits count from changes, or the job locks another resource, the rule
//!             records the section in its resource, lowers the ceiling and closes the fast path. Most sections end
//!             before that
//! Next        a lower bound on the keys of ready tasks that could preempt the running one: while next ≥ ceiling, the
//!             running task continues, and no call needs to look at the ready tasks. Only `decide` raises it
//! Cost        O(1), whatever the number of ready tasks
//! ```

use crate::{LocalAnswer, Misuse, Store};

const NONE: u32 = u32::MAX;

/// `last`: the running task holds nothing and the fast path is open. As a position (the low 32 bits), this value and
/// the next two are [`NONE`].
const FREE: u64 = u64::MAX;
/// `last`: the running task holds nothing.
const NOTHING: u64 = FREE - UNCONTENDED;
/// `last`: no task runs.
const IDLE: u64 = NOTHING - UNCONTENDED;
/// Added to the position of the resource of an uncontended section.
const UNCONTENDED: u64 = 1 << 32;

/// The word by which an uncontended section notes its resource. The caller makes it once, for
/// [`AnyLocal::lock_uncontended`](crate::AnyLocal::lock_uncontended).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncontended(u64);

impl Uncontended {
    /// For the resource at this position of its core.
    pub const fn new(resource: u32) -> Self {
        Self(resource as u64 | UNCONTENDED)
    }

    /// The resource's position.
    pub const fn resource(self) -> u32 {
        self.0 as u32
    }
}

/// A resource of one core, as its rule knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// 32 bytes, so that a shift finds its place in the slice.
#[repr(align(32))]
pub struct LocalResource {
    /// Its ceiling or floor, as the number that the rule keeps.
    pub(crate) limit: u64,
    /// The ceiling before the lock.
    before: u64,
    holder: u32,
    /// The resource that the holder locked last before this one.
    below: u32,
}

impl LocalResource {
    /// No resource yet.
    pub const EMPTY: Self = Self { limit: u64::MAX, before: u64::MAX, holder: NONE, below: NONE };

    pub(crate) fn holder(&self) -> Option<usize> {
        (self.holder != NONE).then_some(self.holder as usize)
    }

    /// The ceiling before the resource was locked.
    pub(crate) fn before(&self) -> u64 {
        self.before
    }
}

/// The resource that a job locked last, while the job does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last(u32);

impl Last {
    pub(crate) const NOTHING: Self = Self(NONE);

    fn widen(self) -> u64 {
        if self.0 == NONE { NOTHING } else { self.0.into() }
    }
}

/// A core's resources, and the state that locks and unlocks of the running task use.
#[derive(Clone, Debug)]
pub(crate) struct Sections<R> {
    resources: R,
    /// The resource locked last, [`NOTHING`], [`IDLE`], [`FREE`], or the resource of an uncontended section plus
    /// [`UNCONTENDED`].
    last: u64,
    /// The base that limits count from on the fast path.
    from: u64,
    next: u64,
    /// An uncontended section does not lower it.
    ceiling: u64,
    /// The ceiling after the running task has released everything.
    outer: u64,
    runner: u32,
    /// How many tasks hold a resource and do not run.
    others: u32,
}

impl<R: Store<LocalResource>> Sections<R> {
    /// One resource for each limit; no task runs.
    pub(crate) fn new(mut resources: R, limits: impl Iterator<Item = u64>) -> Result<Self, Misuse> {
        let places = resources.as_mut();
        if places.len() >= NONE as usize {
            return Err(Misuse::Resource);
        }
        places.fill(LocalResource::EMPTY);
        for (at, limit) in limits.enumerate() {
            places.get_mut(at).ok_or(Misuse::Resource)?.limit = limit;
        }
        let (ceiling, outer) = (u64::MAX, u64::MAX);
        Ok(Self { resources, last: IDLE, from: 0, next: 0, ceiling, outer, runner: NONE, others: 0 })
    }

    pub(crate) fn resources(&self) -> &[LocalResource] {
        self.resources.as_ref()
    }

    /// The resources that are held.
    pub(crate) fn held(&self) -> impl Iterator<Item = LocalResource> + Clone {
        let uncontended = self.uncontended().and_then(|at| self.whole(at));
        self.resources().iter().copied().filter(|place| place.holder != NONE).chain(uncontended)
    }

    /// The resource of the uncontended section, if there is one.
    fn uncontended(&self) -> Option<usize> {
        self.is_uncontended().then_some(self.last as u32 as usize)
    }

    #[inline(always)]
    fn is_uncontended(&self) -> bool {
        self.last >> 32 == UNCONTENDED >> 32
    }

    /// The record of the resource of an uncontended section, which is the only section of the running task.
    fn whole(&self, resource: usize) -> Option<LocalResource> {
        let place = self.resources().get(resource)?;
        Some(LocalResource { before: self.ceiling, holder: self.runner, below: NONE, ..*place })
    }

    /// The ceiling, including that of an uncontended section.
    #[inline(always)]
    pub(crate) fn ceiling(&self) -> u64 {
        if self.is_uncontended() { self.ceiling_of_uncontended() } else { self.ceiling }
    }

    #[cold]
    fn ceiling_of_uncontended(&self) -> u64 {
        let uncontended = self.uncontended().and_then(|at| self.resources().get(at));
        uncontended.map_or(self.ceiling, |place| self.ceiling.min(self.from.saturating_add(place.limit)))
    }

    /// Sets the base that limits count from on the fast path.
    pub(crate) fn count_from(&mut self, from: u64) {
        if self.from != from {
            self.write();
            self.from = from;
        }
    }

    /// Keeps the fast path closed forever, for a rule that has none.
    pub(crate) fn close_fast_path(&mut self) {
        // As if another task always held a resource.
        self.others = 1;
    }

    /// Opens the fast path if its conditions hold.
    #[inline(always)]
    pub(crate) fn open_fast_path(&mut self) {
        if self.last == NOTHING && self.others == 0 && self.next >= self.ceiling {
            self.last = FREE;
        }
    }

    /// Records an uncontended section as any other section.
    #[inline(always)]
    fn write(&mut self) {
        if self.is_uncontended() {
            self.write_uncontended();
        }
    }

    #[cold]
    fn write_uncontended(&mut self) {
        let Some(resource) = self.uncontended() else { return };
        let (ceiling, whole) = (self.ceiling(), self.whole(resource));
        if let (Some(place), Some(whole)) = (self.resources.as_mut().get_mut(resource), whole) {
            *place = whole;
        }
        (self.ceiling, self.last) = (ceiling, resource as u64);
    }

    #[inline]
    pub(crate) fn running(&self) -> Option<usize> {
        (self.runner != NONE).then_some(self.runner as usize)
    }

    /// The running task, or [`Misuse::State`] if there is none.
    #[inline]
    pub(crate) fn runner(&self) -> Result<usize, Misuse> {
        self.running().ok_or(Misuse::State)
    }

    /// Whether a task runs that no ready task can preempt.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        self.runner != NONE && self.next >= self.ceiling
    }

    /// Takes note of a decision: no ready task that could preempt the running one has a key below `next`.
    pub(crate) fn decided(&mut self, next: u64) {
        self.next = next;
        self.open_fast_path();
    }

    /// Sets the ceiling of the running task; if the task holds nothing, also the outer ceiling.
    pub(crate) fn settle_at(&mut self, ceiling: u64) {
        self.ceiling = ceiling;
        if !self.holds() {
            self.outer = ceiling;
        }
    }

    /// The set of ready tasks has changed.
    pub(crate) fn ask_anew(&mut self) {
        self.write();
        if self.last == FREE {
            self.last = NOTHING;
        }
        self.next = 0;
    }

    /// A task starts to run under this ceiling; no task ran before.
    pub(crate) fn start(&mut self, task: usize, last: Last, ceiling: u64) {
        (self.runner, self.last, self.ceiling, self.outer) = (task as u32, last.widen(), ceiling, ceiling);
        if last != Last::NOTHING {
            self.others = self.others.saturating_sub(1);
        }
        let mut at = last.0;
        // One step for each resource that the task holds.
        while let Some(place) = self.resources.as_ref().get(at as usize) {
            (self.outer, at) = (place.before, place.below);
        }
    }

    /// The running task stops. It is in no uncontended section: during such a section the running task always
    /// continues.
    pub(crate) fn stop(&mut self) -> Last {
        (self.runner, self.next) = (NONE, 0);
        let last = Last(core::mem::replace(&mut self.last, IDLE) as u32);
        self.others += u32::from(last != Last::NOTHING);
        last
    }

    /// Whether the running task holds a resource.
    pub(crate) fn holds(&self) -> bool {
        self.last < IDLE
    }

    /// The running task locks a resource if the fast path is open. Returns whether it has locked it; if not, nothing
    /// has changed.
    #[inline(always)]
    pub(crate) fn lock_uncontended(&mut self, resource: Uncontended) -> bool {
        let uncontended = self.last == FREE && (resource.resource() as usize) < self.resources.as_ref().len();
        if uncontended {
            self.last = resource.0;
        }
        uncontended
    }

    /// The running task ends its uncontended section of this resource, if it is in one, and continues. Returns whether
    /// it has ended one; if not, nothing has changed.
    #[inline(always)]
    pub(crate) fn unlock_uncontended(&mut self, resource: Uncontended) -> bool {
        let uncontended = self.last == resource.0;
        if uncontended {
            self.last = FREE;
        }
        uncontended
    }

    /// The running task locks a resource. `limit` computes the ceiling from the resource's own limit; `None`, for a
    /// ceiling that does not fit, leaves the ceiling as it is.
    #[inline(always)]
    pub(crate) fn lock(
        &mut self,
        resource: usize,
        limit: impl Fn(u64) -> Option<u64>,
    ) -> Result<LocalAnswer, Misuse> {
        if self.last < NOTHING {
            self.write();
            self.runner()?;
        }
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        if place.holder != NONE {
            return if place.holder == self.runner { Err(Misuse::Again) } else { Ok(LocalAnswer::Broken) };
        }
        (place.holder, place.before, place.below) = (self.runner, self.ceiling, self.last as u32);
        self.last = resource as u64;
        if let Some(limit) = limit(place.limit)
            && limit < self.ceiling
        {
            self.ceiling = limit;
        }
        Ok(LocalAnswer::Granted)
    }

    /// The running task locks a resource, under a rule that has a fast path.
    pub(crate) fn lock_fast(&mut self, resource: usize) -> Result<LocalAnswer, Misuse> {
        let from = self.from;
        self.lock(resource, |limit| from.checked_add(limit))
    }

    /// The running task releases the resource that it locked last. Returns whether it continues.
    pub(crate) fn unlock_fast(&mut self, resource: usize) -> Result<bool, Misuse> {
        let goes_on = self.unlock_and_look(resource);
        self.open_fast_path();
        goes_on
    }

    /// The running task releases the resource that it locked last.
    ///
    /// For an outermost section the previous ceiling and the previous `last` are known without loading the values
    /// that the lock has just stored: the new stores depend on no load, and the processor can overlap one section
    /// with the next.
    #[inline]
    pub(crate) fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        self.unlock_and_look(resource).map(|_| ())
    }

    /// As [`Self::unlock`]. Returns whether the task continues.
    #[inline(always)]
    pub(crate) fn unlock_and_look(&mut self, resource: usize) -> Result<bool, Misuse> {
        let Some(place) = self.resources.as_mut().get_mut(resource).filter(|_| self.last == resource as u64)
        else {
            return self.not_last(resource);
        };
        place.holder = NONE;
        if place.below != NONE {
            return Ok(self.unlock_inner(resource));
        }
        (self.ceiling, self.last) = (self.outer, NOTHING);
        Ok(self.next >= self.outer)
    }

    /// Unlocks a section inside another.
    #[cold]
    #[inline(never)]
    fn unlock_inner(&mut self, resource: usize) -> bool {
        if let Some(place) = self.resources.as_ref().get(resource) {
            (self.ceiling, self.last) = (place.before, Last(place.below).widen());
        }
        self.goes_on()
    }

    /// Ends an uncontended section, or finds the error.
    #[cold]
    fn not_last(&mut self, resource: usize) -> Result<bool, Misuse> {
        match (self.running(), self.resources().get(resource)) {
            (None, _) => Err(Misuse::State),
            (_, None) => Err(Misuse::Resource),
            _ if self.uncontended() != Some(resource) => Err(Misuse::NotHolder),
            _ => {
                self.last = FREE;
                Ok(true)
            }
        }
    }

    /// A resource's own limit.
    pub(crate) fn limit(&self, resource: usize) -> Result<u64, Misuse> {
        self.resources().get(resource).map(|place| place.limit).ok_or(Misuse::Resource)
    }

    /// Changes a resource's limit, if no task holds the resource.
    pub(crate) fn set_limit(&mut self, resource: usize, limit: u64) -> Result<(), Misuse> {
        let held = self.holder(resource).is_some();
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        if held {
            return Err(Misuse::Holding);
        }
        place.limit = limit;
        Ok(())
    }

    pub(crate) fn holder(&self, resource: usize) -> Option<usize> {
        if self.uncontended() == Some(resource) {
            return self.running();
        }
        self.resources().get(resource)?.holder()
    }

    /// Checks that `next` is not above the key of the first ready task that could preempt the running one, and that
    /// the ceiling is not above its previous value.
    pub(crate) fn check_next(&self, key: Option<u64>) -> Result<(), &'static str> {
        if self.last == FREE || self.uncontended().is_some() {
            let holders = self.resources().iter().filter(|place| place.holder != NONE);
            if holders.count() > 0 || !self.goes_on() {
                return Err("the fast path is open although a resource is held or a ready task may preempt");
            }
        }
        if self.runner != NONE && (self.ceiling > self.outer || !self.holds() && self.ceiling < self.outer) {
            return Err("a lock has relaxed the ceiling, or an unlock has not restored it");
        }
        match key {
            Some(key) if self.runner != NONE && self.next > key => Err(
                "the bound on the keys of ready tasks is above the first key, so a preemption would be missed",
            ),
            _ => Ok(()),
        }
    }
}
