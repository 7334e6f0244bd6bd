// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a lock is under immediate ceilings, deadline floors and SRP: one text for all.
//!
//! ```text
//! Bar         what is ready goes before what runs only if its key is below the bar:
//!
//!             rule        key                 bar                           limit of a resource
//!             Immediate   rank                the rank of what runs         its ceiling's rank
//!             Dfp         absolute deadline   the deadline of what runs     base + floor
//!             Srp         relative deadline   the system ceiling            its ceiling
//!
//! Lock        the bar becomes min(bar, limit); what it was is kept with the resource
//! Unlock      of what the job took last: the bar is what it was
//! Open        what runs holds nothing, nobody else holds anything, and next ≥ bar. So whatever it takes is free, and if
//!             nothing else happens until it gives that back, it goes on: nothing of this has to be looked at then
//! Light       a section that began while it was open is noted in one word. It is written where it belongs, the bar lowered
//!             and the short way closed, as soon as anything happens to what is ready or to what limits count from. Mostly
//!             nothing has when it ends
//! Next        no key that could go before what runs is below `next`: as long as next ≥ bar, what runs goes on, and nobody
//!             need look at what is ready. Only `decide` raises it
//! Cost        O(1), and no more for what is ready
//! ```

use crate::{Answer, Misuse, Store};

const NONE: u32 = u32::MAX;

/// What was taken last: nothing, and the short way is open. As a position, like the next two, it is [`NONE`].
const FREE: u64 = u64::MAX;
/// Nothing.
const NOTHING: u64 = FREE - UNCONTENDED;
/// Nothing, as nothing runs.
const IDLE: u64 = NOTHING - UNCONTENDED;
/// Added to the resource of a light section.
const UNCONTENDED: u64 = 1 << 32;

/// A resource as a light section notes it: made once, for [`AnyLocal::lock_uncontended`](crate::AnyLocal::lock_light).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncontended(u64);

impl Uncontended {
    /// Of the resource at a position of its core.
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
// So that its place is found by a shift.
#[repr(align(32))]
pub struct LocalResource {
    /// Its ceiling or floor, as the rule counts it.
    pub(crate) limit: u64,
    /// The bar before.
    before: u64,
    holder: u32,
    /// What its holder had taken last before it.
    below: u32,
}

impl LocalResource {
    /// No resource yet.
    pub const EMPTY: Self = Self { limit: u64::MAX, before: u64::MAX, holder: NONE, below: NONE };

    pub(crate) fn holder(&self) -> Option<usize> {
        (self.holder != NONE).then_some(self.holder as usize)
    }

    /// The bar before it was locked.
    pub(crate) fn before(&self) -> u64 {
        self.before
    }
}

/// What a job has taken last, while it does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last(u32);

impl Last {
    pub(crate) const NOTHING: Self = Self(NONE);

    fn widen(self) -> u64 {
        if self.0 == NONE { NOTHING } else { self.0.into() }
    }
}

/// A core's resources, and what is looked at when what runs takes or gives back one.
#[derive(Clone, Debug)]
pub(crate) struct Sections<R> {
    resources: R,
    /// What was taken last, [`NOTHING`], [`IDLE`], [`FREE`], or what is held by a light section and [`UNCONTENDED`].
    last: u64,
    /// What limits count from in the short way.
    from: u64,
    next: u64,
    /// But for what a light section makes of it.
    ceiling: u64,
    /// What the bar is once what runs has given all back.
    outer: u64,
    runner: u32,
    /// How many hold something and do not run.
    others: u32,
}

impl<R: Store<LocalResource>> Sections<R> {
    /// A resource per limit; nothing runs.
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

    /// What is held.
    pub(crate) fn held(&self) -> impl Iterator<Item = LocalResource> + Clone {
        let uncontended = self.uncontended().and_then(|at| self.whole(at));
        self.resources().iter().copied().filter(|place| place.holder != NONE).chain(uncontended)
    }

    /// What a light section holds.
    fn uncontended(&self) -> Option<usize> {
        self.is_uncontended().then_some(self.last as u32 as usize)
    }

    #[inline(always)]
    fn is_uncontended(&self) -> bool {
        self.last >> 32 == UNCONTENDED >> 32
    }

    /// A resource as it is written, if what runs holds nothing else.
    fn whole(&self, resource: usize) -> Option<LocalResource> {
        let place = self.resources().get(resource)?;
        Some(LocalResource { before: self.ceiling, holder: self.runner, below: NONE, ..*place })
    }

    /// The bar.
    #[inline(always)]
    pub(crate) fn ceiling(&self) -> u64 {
        if self.is_uncontended() { self.ceiling_of_uncontended() } else { self.ceiling }
    }

    #[cold]
    fn ceiling_of_uncontended(&self) -> u64 {
        let uncontended = self.uncontended().and_then(|at| self.resources().get(at));
        uncontended.map_or(self.ceiling, |place| self.ceiling.min(self.from.saturating_add(place.limit)))
    }

    /// What limits count from in the short way, from now on.
    pub(crate) fn count_from(&mut self, from: u64) {
        if self.from != from {
            self.write();
            self.from = from;
        }
    }

    /// The short way is never opened: under a rule that has none.
    pub(crate) fn close_fast_path(&mut self) {
        // As if another one always held something.
        self.others = 1;
    }

    /// Opens the short way if it may be.
    #[inline(always)]
    pub(crate) fn open_fast_path(&mut self) {
        if self.last == NOTHING && self.others == 0 && self.next >= self.ceiling {
            self.last = FREE;
        }
    }

    /// A light section becomes one like all others.
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

    /// What runs, or that nothing does.
    #[inline]
    pub(crate) fn runner(&self) -> Result<usize, Misuse> {
        self.running().ok_or(Misuse::State)
    }

    /// Whether something runs that nothing ready can go before.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        self.runner != NONE && self.next >= self.ceiling
    }

    /// It has been decided who runs: nothing that is ready goes before it below this key.
    pub(crate) fn decided(&mut self, next: u64) {
        self.next = next;
        self.open_fast_path();
    }

    /// What runs holds nothing, and stands here from now on.
    pub(crate) fn settle_at(&mut self, ceiling: u64) {
        self.ceiling = ceiling;
        if !self.holds() {
            self.outer = ceiling;
        }
    }

    /// Something has happened to what is ready.
    pub(crate) fn ask_anew(&mut self) {
        self.write();
        if self.last == FREE {
            self.last = NOTHING;
        }
        self.next = 0;
    }

    /// A task runs, where none did, under this bar.
    pub(crate) fn start(&mut self, task: usize, last: Last, ceiling: u64) {
        (self.runner, self.last, self.ceiling, self.outer) = (task as u32, last.widen(), ceiling, ceiling);
        if last != Last::NOTHING {
            self.others = self.others.saturating_sub(1);
        }
        let mut at = last.0;
        // As many steps as it holds resources.
        while let Some(place) = self.resources.as_ref().get(at as usize) {
            (self.outer, at) = (place.before, place.below);
        }
    }

    /// What runs does so no longer. It is in no light section: those are of who goes on.
    pub(crate) fn stop(&mut self) -> Last {
        (self.runner, self.next) = (NONE, 0);
        let last = Last(core::mem::replace(&mut self.last, IDLE) as u32);
        self.others += u32::from(last != Last::NOTHING);
        last
    }

    /// Whether what runs holds anything.
    pub(crate) fn holds(&self) -> bool {
        self.last < IDLE
    }

    /// What runs takes a resource, if the short way is open: whether it is so; if not nothing has happened.
    #[inline(always)]
    pub(crate) fn lock_uncontended(&mut self, resource: Uncontended) -> bool {
        let uncontended = self.last == FREE && (resource.resource() as usize) < self.resources.as_ref().len();
        if uncontended {
            self.last = resource.0;
        }
        uncontended
    }

    /// What runs gives back all that it holds, which is this, and goes on: whether it is so; if not nothing has happened.
    #[inline(always)]
    pub(crate) fn unlock_uncontended(&mut self, resource: Uncontended) -> bool {
        let uncontended = self.last == resource.0;
        if uncontended {
            self.last = FREE;
        }
        uncontended
    }

    /// What runs takes a resource; `limit` makes the limit from the resource's own, `None` where it does not fit.
    #[inline(always)]
    pub(crate) fn lock(
        &mut self,
        resource: usize,
        limit: impl Fn(u64) -> Option<u64>,
    ) -> Result<Answer, Misuse> {
        if self.last < NOTHING {
            self.write();
            self.runner()?;
        }
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        if place.holder != NONE {
            return if place.holder == self.runner { Err(Misuse::Again) } else { Ok(Answer::Broken) };
        }
        (place.holder, place.before, place.below) = (self.runner, self.ceiling, self.last as u32);
        self.last = resource as u64;
        if let Some(limit) = limit(place.limit)
            && limit < self.ceiling
        {
            self.ceiling = limit;
        }
        Ok(Answer::Granted)
    }

    /// What runs takes a resource, under a rule that has a short way.
    pub(crate) fn lock_fast(&mut self, resource: usize) -> Result<Answer, Misuse> {
        let from = self.from;
        self.lock(resource, |limit| from.checked_add(limit))
    }

    /// What runs gives back what it took last, and whether it goes on.
    pub(crate) fn unlock_fast(&mut self, resource: usize) -> Result<bool, Misuse> {
        let goes_on = self.unlock_and_look(resource);
        self.open_fast_path();
        goes_on
    }

    /// What runs gives back what it took last.
    ///
    /// Of a section that is in no other, the bar and what was taken before are known without reading back what the lock
    /// has just written: what is written then waits for nothing, and one section can overlap the next.
    #[inline]
    pub(crate) fn unlock(&mut self, resource: usize) -> Result<(), Misuse> {
        self.unlock_and_look(resource).map(|_| ())
    }

    /// The same, and whether it goes on.
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

    /// Of a section inside of another.
    #[cold]
    #[inline(never)]
    fn unlock_inner(&mut self, resource: usize) -> bool {
        if let Some(place) = self.resources.as_ref().get(resource) {
            (self.ceiling, self.last) = (place.before, Last(place.below).widen());
        }
        self.goes_on()
    }

    /// Of a light section, or of none.
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

    /// Changes it, if nobody holds the resource.
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

    /// That `next` is not above the key of what could go before what runs, and the bar not above what it was.
    pub(crate) fn check_next(&self, key: Option<u64>) -> Result<(), &'static str> {
        if self.last == FREE || self.uncontended().is_some() {
            let holders = self.resources().iter().filter(|place| place.holder != NONE);
            if holders.count() > 0 || !self.goes_on() {
                return Err("the short way is open, and must not be");
            }
        }
        if self.runner != NONE && (self.ceiling > self.outer || !self.holds() && self.ceiling < self.outer) {
            return Err("a lock has raised the bar, or an unlock has not");
        }
        match key {
            Some(key) if self.runner != NONE && self.next > key => {
                Err("what is ready may go before what runs, and nobody would look")
            }
            _ => Ok(()),
        }
    }
}
