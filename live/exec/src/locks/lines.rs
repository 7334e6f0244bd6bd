// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Memory of locks that own it.

use std::ptr::NonNull;

use taut_lock::{Line, Memory};

/// Lines on the heap, freed when this is dropped.
pub(crate) struct Lines(NonNull<[Line]>);

// SAFETY: `Lines` owns the lines, whichever thread has it.
unsafe impl Send for Lines {}
// SAFETY: a shared reference to `Lines` gives no reference to the lines.
unsafe impl Sync for Lines {}

impl Lines {
    /// At least `bytes` bytes of zeros.
    pub(crate) fn new(bytes: usize) -> Self {
        let lines: Box<[Line]> = (0..bytes.div_ceil(size_of::<Line>())).map(|_| Line::new()).collect();
        Self(NonNull::from(Box::leak(lines)))
    }

    /// All of the memory.
    ///
    /// # Safety
    /// It is taken at most once, and all that is made from it is gone when this is dropped.
    pub(crate) unsafe fn memory(&self) -> Memory<'static> {
        // SAFETY:
        // - a line is aligned to 128; all lines exist until we are dropped, and are zero
        // - nobody else touches them: we own them, and hand them out once, which is our caller's duty
        unsafe { Memory::from_raw(self.0.cast(), self.0.len() * size_of::<Line>()) }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from a box (`new`), and nobody uses it any more (`memory`).
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
