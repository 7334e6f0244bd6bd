// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the parts of an application borrow: its plan, memory, scopes and control, in the heap of one process.

use std::ptr::NonNull;
use std::sync::Arc;

use taut_boot::{LoadedPlan, Maps};
use taut_lock::EventCount;
use taut_scope::Scope;

use crate::clock::BenchClock;
use crate::control::Control;
use crate::supervisor::scopes;
use crate::{Error, flow};

/// A value at a fixed address, which is freed when this is dropped.
struct Fixed<T>(NonNull<T>);

impl<T> Fixed<T> {
    fn new(value: T) -> Self {
        Self(NonNull::from(Box::leak(Box::new(value))))
    }

    /// The value.
    ///
    /// # Safety
    /// Nobody uses the result once `self` is dropped.
    unsafe fn get<'a>(&self) -> &'a T {
        // SAFETY:
        // - `new` made it from a box, and only `drop` frees it: the caller's duty; nobody has it mutably
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY:
        // - `new` made it from a box, and nobody uses it any more: the duty of the callers of `get`
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

struct Base {
    loaded: LoadedPlan,
    maps: Maps,
    control: Control,
    event_counts: Vec<EventCount>,
}

struct Scopes {
    services: Vec<Scope<'static>>,
    tasks: Vec<Scope<'static>>,
}

/// The environment of an application in a bench.
pub(crate) struct Environment {
    // Dropped in this order: scopes lie in the maps.
    scopes: Fixed<Scopes>,
    base: Fixed<Base>,
}

/// What an application gets from its environment.
pub(crate) struct Parts {
    pub(crate) loaded: &'static LoadedPlan,
    pub(crate) maps: &'static Maps,
    pub(crate) control: &'static Control,
    pub(crate) event_counts: &'static [EventCount],
    pub(crate) service_scopes: &'static [Scope<'static>],
    pub(crate) task_scopes: &'static [Scope<'static>],
}

impl Environment {
    /// Allocates the memory of a plan for this process alone: no client finds it.
    pub(crate) fn new(loaded: LoadedPlan, clock: Arc<BenchClock>) -> Result<Self, Error> {
        let (maps, control) = (Maps::private(&loaded.plan)?, Control::in_bench(&loaded.plan, clock));
        let event_counts = flow::event_counts(&loaded.plan);
        let base = Fixed::new(Base { loaded, maps, control, event_counts });
        // SAFETY:
        // - what is made from it here is kept in `scopes`, which is dropped before `base`, or dropped in this call
        let parts = unsafe { base.get() };
        let (services, tasks) = scopes(&parts.loaded.plan, &parts.maps)?;
        Ok(Self { scopes: Fixed::new(Scopes { services, tasks }), base })
    }

    /// Its parts.
    ///
    /// # Safety
    /// Nobody uses them once `self` is dropped.
    pub(crate) unsafe fn parts(&self) -> Parts {
        // SAFETY:
        // - the caller's duty
        let (base, scopes) = unsafe { (self.base.get(), self.scopes.get()) };
        Parts {
            loaded: &base.loaded,
            maps: &base.maps,
            control: &base.control,
            event_counts: &base.event_counts,
            service_scopes: &scopes.services,
            task_scopes: &scopes.tasks,
        }
    }
}
