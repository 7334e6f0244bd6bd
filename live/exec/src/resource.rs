// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use taut_policy::Uncontended;

use crate::key::key;

/// A value that several tasks of one core use, one at a time: see [`Job::lock`](crate::Job::lock).
///
/// This is a handle; clones refer to the same resource.
pub struct CoreResource<T> {
    pub(crate) cell: Arc<Cell<T>>,
    pub(crate) brand: u64,
    /// Its position on its core, as the rule takes it.
    pub(crate) uncontended: Uncontended,
    pub(crate) key: u64,
}

/// The guarded value, and whether it is whole.
pub(crate) struct Cell<T> {
    value: UnsafeCell<T>,
    pub(crate) poison: Poison,
}

/// The task or party that left the value in the middle of a change, plus 1; 0 if the value is whole. Read and written
/// only by the job that holds the lock, which orders the accesses.
#[derive(Debug, Default)]
pub(crate) struct Poison(AtomicU32);

impl Poison {
    #[inline(always)]
    pub(crate) fn by(&self) -> Option<u32> {
        self.0.load(Ordering::Relaxed).checked_sub(1)
    }

    #[cold]
    pub(crate) fn put(&self, by: u32) {
        self.0.store(by.saturating_add(1), Ordering::Relaxed);
    }

    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

// SAFETY: the value is touched by one thread at a time: by the job that holds the resource (`Job::lock`), or by the
// owner of the last handle (`into_value`). It goes from thread to thread, so it must be Send.
unsafe impl<T: Send> Sync for Cell<T> {}

impl<T> Cell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: UnsafeCell::new(value), poison: Poison::default() }
    }

    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
    }

    pub(crate) fn get(&self) -> *mut T {
        self.value.get()
    }
}

impl<T: Send> CoreResource<T> {
    pub(crate) fn new(brand: u64, index: u32, value: T) -> Self {
        let cell = Arc::new(Cell::new(value));
        Self { cell, brand, uncontended: Uncontended::new(index), key: key(brand, index) }
    }

    /// The value, if this is the last handle: no job can use it any more. If a job panicked in a section, the value
    /// is as the panic left it.
    pub fn into_value(self) -> Option<T> {
        Arc::into_inner(self.cell).map(Cell::into_inner)
    }
}

impl<T> CoreResource<T> {
    /// Its position on its core, as in records and errors.
    pub fn index(&self) -> u32 {
        self.uncontended.resource()
    }
}

impl<T> Clone for CoreResource<T> {
    fn clone(&self) -> Self {
        let Self { cell, brand, uncontended, key } = self;
        Self { cell: Arc::clone(cell), brand: *brand, uncontended: *uncontended, key: *key }
    }
}

impl<T> fmt::Debug for CoreResource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreResource").field("index", &self.uncontended.resource()).finish_non_exhaustive()
    }
}
