// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Zeroed memory of this process to which several ends attach, at once or one after the other, in every build.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

use taut_share::{LINE_BYTES, Line, Memory};

/// The memory; it is freed when dropped, so declare it before the ends.
pub(crate) struct Place {
    lines: *mut [Line],
    #[cfg(any(loom, shuttle))]
    memory: Memory<'static>,
}

impl Place {
    pub(crate) fn new(bytes: usize) -> Self {
        let lines: Box<[Line]> = (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect();
        let lines = Box::into_raw(lines);
        Self {
            lines,
            // SAFETY: just allocated, and nothing else uses it.
            #[cfg(any(loom, shuttle))]
            memory: Memory::new(unsafe { &mut *lines }),
        }
    }

    /// All of the memory, for one end.
    pub(crate) fn memory(&self) -> Memory<'static> {
        #[cfg(any(loom, shuttle))]
        return self.memory.again();
        #[cfg(not(any(loom, shuttle)))]
        {
            let start = std::ptr::NonNull::new(self.lines.cast::<u8>()).unwrap();
            // SAFETY: aligned, of that length, alive until self is dropped, which is after the ends; the tests attach
            // only ends that may exist together.
            unsafe { Memory::from_raw(start, self.lines.len() * LINE_BYTES) }
        }
    }

    /// All of the memory as words, for tests that corrupt it.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn words(&self) -> &[std::sync::atomic::AtomicU64] {
        // SAFETY: aligned, of that length, alive as long as self; in one thread.
        unsafe { std::slice::from_raw_parts(self.lines.cast(), self.lines.len() * LINE_BYTES / 8) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: from `into_raw`; the ends are gone.
        drop(unsafe { Box::from_raw(self.lines) });
    }
}
