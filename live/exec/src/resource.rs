// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use taut_policy::Uncontended;

use crate::key::key;

/// Something that several tasks of one core use, one at a time: see [`Job::lock`](crate::Job::lock).
///
/// A handle; clones are of the same resource.
pub struct Resource<T> {
    pub(crate) cell: Arc<Cell<T>>,
    pub(crate) brand: u64,
    /// Its position on its core, as the rule notes it.
    pub(crate) uncontended: Uncontended,
    pub(crate) key: u64,
}

/// What is guarded, and whether it is whole.
pub(crate) struct Cell<T> {
    value: UnsafeCell<T>,
    pub(crate) poison: Poison,
}

/// Who left a value in the middle of a change, from 1; 0: it is whole. Read and written by the job that holds its lock, which
/// orders that.
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

// SAFETY: the value is touched by one thread at a time: by the job that holds the resource (`Job::lock`), or by who has
// the last handle (`into_value`). It goes from thread to thread, so it must be Send.
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

impl<T: Send> Resource<T> {
    pub(crate) fn new(brand: u64, index: u32, value: T) -> Self {
        let cell = Arc::new(Cell::new(value));
        Self { cell, brand, uncontended: Uncontended::new(index), key: key(brand, index) }
    }

    /// The value, if this is the last handle: no job can have it any more. As a panic left it, if one did.
    pub fn into_value(self) -> Option<T> {
        Arc::into_inner(self.cell).map(Cell::into_inner)
    }
}

impl<T> Resource<T> {
    /// Its position on its core, as in records and errors.
    pub fn index(&self) -> u32 {
        self.uncontended.resource()
    }
}

impl<T> Clone for Resource<T> {
    fn clone(&self) -> Self {
        let Self { cell, brand, uncontended, key } = self;
        Self { cell: Arc::clone(cell), brand: *brand, uncontended: *uncontended, key: *key }
    }
}

impl<T> fmt::Debug for Resource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("index", &self.uncontended.resource()).finish_non_exhaustive()
    }
}
