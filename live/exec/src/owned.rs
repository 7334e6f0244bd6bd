// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks between cores on memory of their own.

use std::ptr::NonNull;

use taut_lock::{LayoutError, Line, Memory, PARTIES_LIMIT, queued, spin};

use crate::global::{Global, Protocol};

/// Lines of the heap, given back when this is dropped.
pub(crate) struct Lines(NonNull<[Line]>);

// SAFETY: whoever has it owns the lines.
unsafe impl Send for Lines {}
// SAFETY: it gives nobody a reference to them.
unsafe impl Sync for Lines {}

impl Lines {
    /// So many bytes of zeros, or some more.
    fn new(bytes: usize) -> Self {
        let lines: Box<[Line]> = (0..bytes.div_ceil(size_of::<Line>())).map(|_| Line::new()).collect();
        Self(NonNull::from(Box::leak(lines)))
    }

    /// All of it.
    ///
    /// # Safety
    /// It is taken once, and nothing that is made from it is there any more when this is dropped.
    unsafe fn memory(&self) -> Memory<'static> {
        // SAFETY:
        // - a line is aligned to 128, all of them are there until we are dropped, and zero
        // - nobody else touches them: they are ours, and given once, which is our caller's duty
        unsafe { Memory::from_raw(self.0.cast(), self.0.len() * size_of::<Line>()) }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // SAFETY: it comes from a box (`new`), and nobody uses it any more (`memory`).
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T: Send> Global<'static, T> {
    pub(crate) fn owned(
        protocol: Protocol,
        parties: u32,
        number: u32,
        value: T,
    ) -> Result<Self, LayoutError> {
        let most = parties.min(PARTIES_LIMIT);
        let lines = Lines::new(match protocol {
            Protocol::Msrp => spin::bytes(most),
            Protocol::Mpcp | Protocol::Fmlp => queued::bytes(most),
        });
        // SAFETY: once, and for the parties of what also gets the lines, and drops them after those.
        let memory = unsafe { lines.memory() };
        Self::new(protocol, memory, parties, number, value, Some(lines))
    }
}
