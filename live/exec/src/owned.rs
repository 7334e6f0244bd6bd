// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks between cores that own their memory.

use std::ptr::NonNull;

use taut_lock::{LayoutError, Line, Memory, PARTIES_LIMIT, queued, spin};

use crate::global::Global;
use taut_policy::GlobalRule;

/// Lines on the heap, freed when this is dropped.
pub(crate) struct Lines(NonNull<[Line]>);

// SAFETY: `Lines` owns the lines, whichever thread has it.
unsafe impl Send for Lines {}
// SAFETY: a shared reference to `Lines` gives no reference to the lines.
unsafe impl Sync for Lines {}

impl Lines {
    /// At least `bytes` bytes of zeros.
    fn new(bytes: usize) -> Self {
        let lines: Box<[Line]> = (0..bytes.div_ceil(size_of::<Line>())).map(|_| Line::new()).collect();
        Self(NonNull::from(Box::leak(lines)))
    }

    /// All of the memory.
    ///
    /// # Safety
    /// It is taken at most once, and all that is made from it is gone when this is dropped.
    unsafe fn memory(&self) -> Memory<'static> {
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

impl<T: Send> Global<'static, T> {
    pub(crate) fn owned(
        protocol: GlobalRule,
        parties: u32,
        number: u32,
        value: T,
    ) -> Result<Self, LayoutError> {
        let most = parties.min(PARTIES_LIMIT);
        let lines = Lines::new(match protocol {
            GlobalRule::Msrp => spin::bytes(most),
            GlobalRule::Mpcp | GlobalRule::FmlpLong => queued::bytes(most),
        });
        // SAFETY: taken once, for the parties of a `Global` that also gets the lines, and drops them after the
        // parties.
        let memory = unsafe { lines.memory() };
        Self::new(protocol, memory, parties, number, value, Some(lines))
    }
}
