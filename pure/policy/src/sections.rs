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
//! Next        no key that could go before what runs is below `next`: as long as next ≥ bar, what runs goes on, and nobody
//!             need look at what is ready. Only `decide` raises it
//! Cost        O(1), and no more for what is ready
//! ```

use crate::{Answer, Misuse, Store};

const NONE: u32 = u32::MAX;

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
}

/// A core's resources, and what is looked at when what runs takes or gives back one.
#[derive(Clone, Debug)]
pub(crate) struct Sections<R> {
    resources: R,
    pub(crate) bar: u64,
    next: u64,
    /// What the bar is once what runs has given all back.
    outer: u64,
    runner: u32,
    last: u32,
}

impl<R: Store<LocalResource>> Sections<R> {
    /// A resource per limit; nothing runs.
    pub(crate) fn new(mut resources: R, limits: impl Iterator<Item = u64>) -> Result<Self, Misuse> {
        let places = resources.as_mut();
        places.fill(LocalResource::EMPTY);
        for (at, limit) in limits.enumerate() {
            places.get_mut(at).ok_or(Misuse::Resource)?.limit = limit;
        }
        Ok(Self { resources, bar: u64::MAX, next: 0, outer: u64::MAX, runner: NONE, last: NONE })
    }

    pub(crate) fn resources(&self) -> &[LocalResource] {
        self.resources.as_ref()
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
        self.runner != NONE && self.next >= self.bar
    }

    /// It has been decided who runs: nothing that is ready goes before it below this key.
    pub(crate) fn decided(&mut self, next: u64) {
        self.next = next;
    }

    /// What runs holds nothing, and stands here from now on.
    pub(crate) fn settle_at(&mut self, bar: u64) {
        self.bar = bar;
        if self.last == NONE {
            self.outer = bar;
        }
    }

    /// Something has happened to what is ready.
    pub(crate) fn ask_anew(&mut self) {
        self.next = 0;
    }

    /// A task runs, where none did, under this bar.
    pub(crate) fn start(&mut self, task: usize, last: Last, bar: u64) {
        (self.runner, self.last, self.bar, self.outer) = (task as u32, last.0, bar, bar);
        let mut at = last.0;
        // As many steps as it holds resources.
        while let Some(place) = self.resources.as_ref().get(at as usize) {
            (self.outer, at) = (place.before, place.below);
        }
    }

    /// What runs does so no longer.
    pub(crate) fn stop(&mut self) -> Last {
        (self.runner, self.next) = (NONE, 0);
        Last(core::mem::replace(&mut self.last, NONE))
    }

    /// Whether what runs holds anything.
    pub(crate) fn holds(&self) -> bool {
        self.last != NONE
    }

    /// What runs takes a resource; `limit` makes the limit from the resource's own, `None` where it does not fit.
    #[inline(always)]
    pub(crate) fn lock(
        &mut self,
        resource: usize,
        limit: impl Fn(u64) -> Option<u64>,
    ) -> Result<Answer, Misuse> {
        let Some(place) = self.resources.as_mut().get_mut(resource).filter(|_| self.runner != NONE) else {
            return Err(if self.runner == NONE { Misuse::State } else { Misuse::Resource });
        };
        if place.holder != NONE {
            return if place.holder == self.runner { Err(Misuse::Again) } else { Ok(Answer::Broken) };
        }
        (place.holder, place.before, place.below) = (self.runner, self.bar, self.last);
        self.last = resource as u32;
        if let Some(limit) = limit(place.limit)
            && limit < self.bar
        {
            self.bar = limit;
        }
        Ok(Answer::Granted)
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
        let Some(place) = self.resources.as_mut().get_mut(resource).filter(|_| self.last == resource as u32)
        else {
            return Err(self.not_last(resource));
        };
        place.holder = NONE;
        if place.below != NONE {
            return Ok(self.unlock_inner(resource));
        }
        (self.bar, self.last) = (self.outer, NONE);
        Ok(self.next >= self.outer)
    }

    /// Of a section inside of another.
    #[cold]
    #[inline(never)]
    fn unlock_inner(&mut self, resource: usize) -> bool {
        if let Some(place) = self.resources.as_ref().get(resource) {
            (self.bar, self.last) = (place.before, place.below);
        }
        self.goes_on()
    }

    #[cold]
    fn not_last(&self, resource: usize) -> Misuse {
        match (self.running(), self.resources().get(resource)) {
            (None, _) => Misuse::State,
            (_, None) => Misuse::Resource,
            _ => Misuse::NotHolder,
        }
    }

    /// A resource's own limit.
    pub(crate) fn limit(&self, resource: usize) -> Result<u64, Misuse> {
        self.resources().get(resource).map(|place| place.limit).ok_or(Misuse::Resource)
    }

    /// Changes it, if nobody holds the resource.
    pub(crate) fn set_limit(&mut self, resource: usize, limit: u64) -> Result<(), Misuse> {
        let place = self.resources.as_mut().get_mut(resource).ok_or(Misuse::Resource)?;
        if place.holder != NONE {
            return Err(Misuse::Holding);
        }
        place.limit = limit;
        Ok(())
    }

    pub(crate) fn holder(&self, resource: usize) -> Option<usize> {
        self.resources().get(resource)?.holder()
    }

    /// That `next` is not above the key of what could go before what runs, and the bar not above what it was.
    pub(crate) fn check_next(&self, key: Option<u64>) -> Result<(), &'static str> {
        if self.runner != NONE && (self.bar > self.outer || self.last == NONE && self.bar < self.outer) {
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
