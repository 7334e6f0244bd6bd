// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Counts heap uses per thread, so that a run can show that its real-time threads had none.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator with a counter per thread; `taut::main!` installs it.
#[derive(Debug, Default)]
pub struct CountingAllocator;

static INSTALLED: AtomicBool = AtomicBool::new(false);

thread_local! {
    // Constant and without Drop: reading it never allocates and never fails.
    static USES: Cell<u64> = const { Cell::new(0) };
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

// SAFETY:
// - every method forwards to `System` with the arguments it got, so `System`'s guarantees are ours
// - counting touches a thread-local integer only
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's duties are those of `System`
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's duties are those of `System`
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's duties are those of `System`
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's duties are those of `System`
        unsafe { System.realloc(pointer, layout, size) }
    }
}
