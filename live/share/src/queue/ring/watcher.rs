// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An end that looks whether a value waits, and takes nothing: for whoever decides when the reader runs.

use taut_atomic::Ordering::{Acquire, Relaxed};
use taut_atomic::{AtomicU64, Memory};

use super::{HEAD, TAIL, believed, check};
use crate::{LayoutError, Plain};

/// The end that looks, see [`qrtwo::watcher`](super::super::qrtwo::watcher).
///
/// # Errors
///
/// As there.
pub(in crate::queue) fn watcher<T: Plain>(
    memory: Memory<'_>,
    capacity: u32,
    spare: u32,
) -> Result<Watcher<'_>, LayoutError> {
    let memory = memory.claim();
    check::<T>(&memory, capacity, spare)?;
    Ok(Watcher { tail: memory.word(TAIL), head: memory.word(HEAD) })
}

/// The end that looks.
#[derive(Debug)]
pub struct Watcher<'m> {
    tail: &'m AtomicU64,
    head: &'m AtomicU64,
}

impl Watcher<'_> {
    /// Whether no value waits for the reader that stores its head in the object: it has returned all that were pushed.
    /// False stays false until that reader's next pop. Wait-free: 2 loads.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Proof: Only the reader moves the head, and never beyond the tail; so once they differ, they do until it pops. What
        // it has copied ahead and not returned is not below the head that it stores.
        let head = believed(self.head.load(Relaxed));
        believed(self.tail.load(Acquire)) == head // O2 publish
    }
}
