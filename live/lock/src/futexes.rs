// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A word that one party sleeps on: a futex, or what stands for one in a model.

use taut_atomic::Words;

/// One for each party. `shared` says that parties may be in other processes.
#[derive(Clone, Copy)]
pub(crate) struct Futexes<'m> {
    words: Words<'m>,
    shared: bool,
}

impl<'m> Futexes<'m> {
    pub(crate) fn new(words: Words<'m>, shared: bool) -> Self {
        Self { words, shared }
    }

    /// Sleeps while the lower half of a party's word is that of `expected`, until woken or until an instant; may end in
    /// vain.
    #[cfg(not(any(loom, shuttle, miri)))]
    pub(crate) fn sleep(&self, party: u32, expected: u64, deadline_ns: Option<u64>) {
        if let Some(word) = self.half(party) {
            // An error could only mean that the word is not mapped.
            let _ = taut_sys::futex::wait(word, expected as u32, deadline_ns, self.shared);
        }
    }

    /// Wakes who sleeps on a party's word.
    #[cfg(not(any(loom, shuttle, miri)))]
    pub(crate) fn wake(&self, party: u32) {
        if let Some(word) = self.half(party) {
            // An error could only mean that the word is not mapped.
            let _ = taut_sys::futex::wake(word, u32::MAX, self.shared);
        }
    }

    /// The half of a word in which the lowest bits are. For its address: the kernel reads it, as it reads all of a word.
    #[cfg(not(any(loom, shuttle, miri)))]
    fn half(&self, party: u32) -> Option<&'m std::sync::atomic::AtomicU32> {
        let word = self.words.get(party as usize)?.as_ptr().cast::<u32>();
        // SAFETY: of the two halves of a word, which is there for 'm and aligned to more; all accesses are atomic.
        Some(unsafe {
            std::sync::atomic::AtomicU32::from_ptr(word.add(usize::from(cfg!(target_endian = "big"))))
        })
    }

    /// In a model, where there is no clock, a sleep until an instant is none.
    #[cfg(any(loom, shuttle))]
    pub(crate) fn sleep(&self, party: u32, expected: u64, deadline_ns: Option<u64>) {
        match self.words.futex(party as usize) {
            Some(futex) if deadline_ns.is_none() && !self.shared => futex.wait(expected),
            _ => taut_atomic::spin_loop(),
        }
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn wake(&self, party: u32) {
        if let Some(futex) = self.words.futex(party as usize) {
            futex.wake();
        }
    }

    /// Miri's futex takes half a word for half an access. There a sleep is none, and ends in vain.
    #[cfg(miri)]
    pub(crate) fn sleep(&self, _: u32, _: u64, _: Option<u64>) {
        let _ = (self.words.count(), self.shared);
        std::thread::yield_now();
    }

    #[cfg(miri)]
    pub(crate) fn wake(&self, _: u32) {}
}
