// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory of an object, the stranger who writes there, and who was interrupted by whom.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use taut_share::{LINE_BYTES, Memory};

use super::events;
use super::input::{Spoil, What};

/// What stands in the lines around.
const GUARD: u64 = 0x6A55_1E55;

pub(crate) struct Ground {
    guarded: bool,
    place: OnceCell<(NonNull<u8>, Layout)>,
    /// Words that a stranger has written, ever.
    spoils: Cell<u64>,
    /// What it wrote.
    garbage: RefCell<HashSet<u64>>,
    /// Operations in whose middle we are.
    inside: Cell<u32>,
    /// Operations that have begun, ever.
    begun: Cell<u64>,
}

/// What an operation gave.
pub(super) struct Done<R> {
    pub(super) result: R,
    /// No other operation took place in it, and it took place in no other.
    pub(super) alone: bool,
    /// Nor did a stranger write in it.
    pub(super) still: bool,
}

impl Ground {
    /// Between lines that must stay as they are; or with nothing around, which an address sanitizer sees.
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
        // SAFETY: allocated, aligned, initialised, there while self is, and touched atomically by whoever shares them.
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

    /// What stands in word `index` of the object.
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words()[index].load(Relaxed)
    }

    /// All of the object, for one end.
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

    /// Half of all names are of the first two words of a line, where control words are; a quarter of the first 64
    /// words; a quarter of words all over.
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

    /// How often a stranger wrote.
    pub(super) fn spoils(&self) -> u64 {
        self.spoils.get()
    }

    /// Nobody but the ends wrote anything.
    pub(super) fn is_honest(&self) -> bool {
        self.spoils.get() == 0
    }

    /// Whether a stranger wrote one of these words somewhere.
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
