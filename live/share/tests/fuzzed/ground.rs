// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory of an object, a stranger that writes there, and which operation interrupts which.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use taut_share::{LINE_BYTES, Memory};

use super::events;
use super::input::{Spoil, What};

/// The content of the lines around the object.
const GUARD: u64 = 0x6A55_1E55;

pub(crate) struct Ground {
    guarded: bool,
    place: OnceCell<(NonNull<u8>, Layout)>,
    /// How many words a stranger has written.
    spoils: Cell<u64>,
    /// The values that it wrote.
    garbage: RefCell<HashSet<u64>>,
    /// Operations that are in progress.
    inside: Cell<u32>,
    /// How many operations have begun.
    begun: Cell<u64>,
}

/// The outcome of an operation.
pub(super) struct Done<R> {
    pub(super) result: R,
    /// No other operation took place during it, and it did not take place during another.
    pub(super) alone: bool,
    /// In addition, no stranger wrote during it.
    pub(super) still: bool,
}

impl Ground {
    /// Memory between lines that must not change; or with nothing around it, so that an address sanitizer detects
    /// accesses outside.
    pub(super) fn new(guarded: bool) -> Self {
        Self {
            guarded,
            place: OnceCell::new(),
            spoils: Cell::new(0),
            garbage: RefCell::default(),
            inside: Cell::new(0),
            begun: Cell::new(0),
        }
    }

    fn margin(&self) -> usize {
        if self.guarded { LINE_BYTES } else { 0 }
    }

    /// Takes memory for an object of `bytes`, all zeros.
    pub(super) fn take(&self, bytes: usize) {
        let layout = Layout::from_size_align(bytes + 2 * self.margin(), LINE_BYTES).unwrap();
        // SAFETY: not of no bytes.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        let start = start.unwrap_or_else(|| handle_alloc_error(layout));
        assert!(bytes > 0 && self.place.set((start, layout)).is_ok(), "taken once");
        self.guards().for_each(|word| word.store(GUARD, Relaxed));
    }

    fn everything(&self) -> &[AtomicU64] {
        let (start, layout) = self.place.get().unwrap();
        // SAFETY: allocated, aligned, initialised, alive as long as self, and every party that shares them accesses
        // them atomically.
        unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), layout.size() / 8) }
    }

    fn guards(&self) -> impl Iterator<Item = &AtomicU64> {
        let (all, margin) = (self.everything(), self.margin() / 8);
        all[..margin].iter().chain(&all[all.len() - margin..])
    }

    /// The words of the object.
    pub(super) fn words(&self) -> &[AtomicU64] {
        let (all, margin) = (self.everything(), self.margin() / 8);
        &all[margin..all.len() - margin]
    }

    /// The value of word `index` of the object.
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words()[index].load(Relaxed)
    }

    /// The whole object, for one end.
    pub(super) fn memory(&self) -> Memory<'static> {
        let (start, layout) = self.place.get().unwrap();
        // SAFETY: allocated and aligned, the margin is a line; a scene drops its ends before its ground, and attaches
        // only ends that may be.
        unsafe { Memory::from_raw(start.add(self.margin()), layout.size() - 2 * self.margin()) }
    }

    /// A stranger writes a word.
    pub(super) fn spoil(&self, spoil: Spoil) {
        let word = &self.words()[self.place_of(spoil.at)];
        let old = word.load(Relaxed);
        let new = match spoil.what {
            What::Value(value) => value,
            What::Beside(far) => old.wrapping_add(far),
            What::BesideAbove(far) => old.wrapping_add(far << 8),
            What::Flipped(bit) => old ^ 1 << (bit % 64),
            What::Other(at) => self.word(self.place_of(at)),
        };
        word.store(new, Relaxed);
        self.garbage.borrow_mut().insert(new);
        self.spoils.set(self.spoils.get() + 1);
    }

    /// Half of the values of `at` select one of the first two words of a line, where control words are; a quarter one
    /// of the first 64 words; a quarter any word.
    fn place_of(&self, at: u8) -> usize {
        let (at, words) = (usize::from(at), self.words().len());
        let lines = words.div_ceil(16);
        let place = match at {
            0..128 => at % lines * 16 + at / lines % 2,
            128..192 => at - 128,
            _ => (at - 192) * words / 64,
        };
        place % words
    }

    /// How often a stranger has written.
    pub(super) fn spoils(&self) -> u64 {
        self.spoils.get()
    }

    /// Whether only the ends have written.
    pub(super) fn is_honest(&self) -> bool {
        self.spoils.get() == 0
    }

    /// Whether a stranger has written one of these words anywhere.
    pub(super) fn is_garbage(&self, words: &[u64]) -> bool {
        let garbage = self.garbage.borrow();
        words.iter().any(|word| garbage.contains(word))
    }

    /// Runs an operation of at most `limit` steps.
    pub(super) fn run<R>(&self, limit: u64, operation: impl FnOnce() -> R) -> Done<R> {
        let outermost = self.inside.get() == 0;
        let spoils = self.spoils.get();
        self.inside.set(self.inside.get() + 1);
        self.begun.set(self.begun.get() + 1);
        let begun = self.begun.get();
        let result = events::bounded(limit, operation);
        self.inside.set(self.inside.get() - 1);
        let alone = outermost && self.begun.get() == begun;
        Done { result, alone, still: alone && self.spoils.get() == spoils }
    }

    /// # Panics
    ///
    /// If something was written around the object.
    pub(super) fn check(&self) {
        assert!(self.guards().all(|word| word.load(Relaxed) == GUARD), "an access outside");
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some((start, layout)) = self.place.take() {
            // SAFETY: allocated with this layout; the ends are gone.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
    }
}
