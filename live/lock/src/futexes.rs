// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One word per party for the party to sleep on: a futex, or in a model a stand-in for one.

use taut_atomic::StridedWords;

/// One futex for each party. `shared` says that parties may be in other processes.
#[derive(Clone, Copy)]
pub(crate) struct Futexes<'m> {
    words: StridedWords<'m>,
    shared: bool,
}

impl<'m> Futexes<'m> {
    pub(crate) fn new(words: StridedWords<'m>, shared: bool) -> Self {
        Self { words, shared }
    }

    /// Sleeps while the lower half of the party's word equals that of `expected`, until woken or until the
    /// deadline. May return in vain.
    #[cfg(not(any(loom, shuttle, miri)))]
    pub(crate) fn sleep(&self, party: u32, expected: u64, deadline_ns: Option<u64>) {
        if let Some(word) = self.half(party) {
            // An error could only mean that the word is not mapped.
            let _ = taut_sys::futex::wait(word, expected as u32, deadline_ns, self.shared);
        }
    }

    /// Wakes the threads that sleep on a party's word.
    #[cfg(not(any(loom, shuttle, miri)))]
    pub(crate) fn wake(&self, party: u32) {
        if let Some(word) = self.half(party) {
            // An error could only mean that the word is not mapped.
            let _ = taut_sys::futex::wake(word, u32::MAX, self.shared);
        }
    }

    /// The half of a word that holds the lowest bits. It is used for its address only: the kernel reads the half,
    /// as it reads all of a word.
    #[cfg(not(any(loom, shuttle, miri)))]
    fn half(&self, party: u32) -> Option<&'m std::sync::atomic::AtomicU32> {
        let word = self.words.get(party as usize)?.as_ptr().cast::<u32>();
        // SAFETY: the pointer is to one of the two halves of a word, which lives for 'm and has a stricter
        // alignment; all accesses are atomic.
        Some(unsafe {
            std::sync::atomic::AtomicU32::from_ptr(word.add(usize::from(cfg!(target_endian = "big"))))
        })
    }

    /// A model has no clock, so a sleep until a deadline does not sleep.
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

    /// Miri's futex treats half of a word as a partial access. So under Miri a sleep does not sleep, and returns in
    /// vain.
    #[cfg(miri)]
    pub(crate) fn sleep(&self, _: u32, _: u64, _: Option<u64>) {
        let _ = (self.words.count(), self.shared);
        std::thread::yield_now();
    }

    #[cfg(miri)]
    pub(crate) fn wake(&self, _: u32) {}
}
