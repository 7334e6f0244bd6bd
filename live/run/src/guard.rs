// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Counts heap uses per thread, so that a run can show that its real-time threads had none; and bytes, which say what the
//! set-up of a component took.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator with counters per thread; `taut::main!` installs it.
#[derive(Debug, Default)]
pub struct CountingAllocator;

static INSTALLED: AtomicBool = AtomicBool::new(false);

thread_local! {
    // Constant and without Drop: reading it never allocates and never fails.
    static USES: Cell<u64> = const { Cell::new(0) };
    // Bytes that the thread has allocated and not freed, since the measure that is under way began.
    static IN_USE: Cell<i64> = const { Cell::new(0) };
    // The most of them at one time.
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count() {
    if !INSTALLED.load(Ordering::Relaxed) {
        INSTALLED.store(true, Ordering::Relaxed);
    }
    USES.with(|uses| uses.set(uses.get().wrapping_add(1)));
}

/// Allocations, reallocations and frees of the calling thread since it began; `None` if the allocator is not
/// installed, and so nothing counts them.
pub fn heap_uses() -> Option<u64> {
    INSTALLED.load(Ordering::Relaxed).then(|| USES.with(Cell::get))
}

/// Counts the bytes that a successful request took.
fn take(pointer: *mut u8, size: usize) -> *mut u8 {
    if !pointer.is_null() {
        let in_use = IN_USE.get().wrapping_add(size.cast_signed() as i64);
        IN_USE.set(in_use);
        PEAK.set(PEAK.get().max(in_use));
    }
    pointer
}

fn free(size: usize) {
    IN_USE.set(IN_USE.get().wrapping_sub(size.cast_signed() as i64));
}

/// What code took from the heap (bytes, as the code asked for them, without what the allocator adds).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeapTaken {
    /// What it allocated, without what it freed. Below 0 if it freed more, which others had allocated.
    pub(crate) in_use: i64,
    /// The most that it had in use at one time.
    pub(crate) peak: i64,
}

impl HeapTaken {
    /// What both took, this one first.
    pub(crate) fn then(self, next: Self) -> Self {
        let peak = self.peak.max(self.in_use.saturating_add(next.peak));
        Self { in_use: self.in_use.saturating_add(next.in_use), peak }
    }
}

/// A measure of what the calling thread takes from the heap while the value lives. For a measure around this one, the
/// thread took nothing meanwhile.
#[derive(Debug)]
pub(crate) struct Measure {
    /// Of the measure around this one.
    in_use: i64,
    peak: i64,
    /// Of one thread.
    _local: std::marker::PhantomData<*mut ()>,
}

impl Measure {
    /// Begins.
    pub(crate) fn begin() -> Self {
        let (in_use, peak) = (IN_USE.replace(0), PEAK.replace(0));
        Self { in_use, peak, _local: std::marker::PhantomData }
    }

    /// What the thread has taken so far, inner measures left out; `None` if nothing counts.
    pub(crate) fn taken(&self) -> Option<HeapTaken> {
        let taken = || HeapTaken { in_use: IN_USE.get(), peak: PEAK.get() };
        INSTALLED.load(Ordering::Relaxed).then(taken)
    }
}

impl Drop for Measure {
    fn drop(&mut self) {
        IN_USE.set(self.in_use);
        PEAK.set(self.peak);
    }
}

// SAFETY:
// - every method forwards to `System` with the arguments it got, so `System`'s guarantees are ours
// - counting touches thread-local integers only
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's duties are those of `System`
        take(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's duties are those of `System`
        take(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's duties are those of `System`
        unsafe { System.dealloc(pointer, layout) };
        free(layout.size());
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's duties are those of `System`
        let moved = unsafe { System.realloc(pointer, layout, size) };
        if !moved.is_null() {
            free(layout.size());
        }
        take(moved, size)
    }
}
