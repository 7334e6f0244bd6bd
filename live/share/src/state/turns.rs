// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which slot a writer fills next: some few in turn, so that what it writes to stays in the first cache, and others
//! in their place while a reader claims one.

use super::chen::{SLOT, slot};

const SLOTS_MAX: usize = SLOT as usize + 1;

/// The order in which slots are filled. A slot rests, from a write into it to the next, for as many writes as take
/// turns, or longer.
pub(super) struct Turns {
    /// All slots, each once: first those that take turns, then those that wait until one of them is claimed.
    order: [u8; SLOTS_MAX],
    /// Whose turn it is.
    next: u8,
    /// The last one that takes turns.
    last: u8,
}

impl Turns {
    /// Of `slots` slots, `few` take turns, at least 2 and no more than there are, at most 256. A writer that has ended
    /// published `newest` last. Where a slot's `stamp` is a word that it published, at most `few` writes ago, that slot
    /// rests accordingly; where stamps lie, another may rest for less than it ought to, once. The slot of `newest` comes
    /// last.
    pub(super) fn after(newest: u64, few: usize, slots: usize, stamp: impl Fn(usize) -> u64) -> Self {
        let number = newest >> 8;
        let place = |number: u64| (number % few as u64) as usize;
        let mut placed = [None; SLOTS_MAX];
        let mut used = [false; SLOTS_MAX];
        let mut put = |at: usize, slot: usize| {
            if placed[at].is_none() && !used[slot] {
                (placed[at], used[slot]) = (Some(slot as u8), true);
            }
        };
        put(place(number), slot(newest, slots));
        for slot in 0..slots {
            let written = stamp(slot) >> 8;
            if written != 0 && number.checked_sub(written).is_some_and(|age| age < few as u64) {
                put(place(written), slot);
            }
        }
        for at in 0..slots {
            (0..slots).for_each(|slot| put(at, slot));
        }
        let order = placed.map(Option::unwrap_or_default);
        Self { order, next: place(number + 1) as u8, last: (few - 1) as u8 }
    }

    /// The slot whose turn it is, or, if that is marked, another one, which takes its turns from now on. Marked are at
    /// most as many as do not take turns; 1 look at a mark, or 1 more for each of those.
    #[inline(always)]
    pub(super) fn unmarked(&mut self, marked: impl Fn(usize) -> bool) -> usize {
        let slot = self.order[usize::from(self.next)];
        if !marked(slot.into()) { slot.into() } else { self.replaced(marked) }
    }

    #[cold]
    #[inline(never)]
    fn replaced(&mut self, marked: impl Fn(usize) -> bool) -> usize {
        let (turns, others) = self.order.split_at_mut(usize::from(self.last) + 1);
        let place = &mut turns[usize::from(self.next)];
        // Of as many as wait and this one, of which this one is marked, one that waits is not. What stands behind
        // the last slot is never reached.
        if let Some(other) = others.iter_mut().find(|other| !marked((**other).into())) {
            core::mem::swap(place, other);
        }
        (*place).into()
    }

    /// The next one's turn: that slot has been published.
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        self.next = if self.next == self.last { 0 } else { self.next + 1 };
    }
}
