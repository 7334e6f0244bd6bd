// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The order in which a writer fills slots. A few slots take turns, so that the words that the writer stores stay in
//! the first-level cache. If a reader claims one of them, another slot takes its place.

use super::chen::{SLOT, slot};

const SLOTS_MAX: usize = SLOT as usize + 1;

/// The order in which the writer fills slots. If n slots take turns, the next write into the same slot is the n-th
/// after this one, or a later one.
pub(super) struct Turns {
    /// All slots, each once: first the slots that take turns, then the slots that wait until a reader claims one of
    /// those.
    order: [u8; SLOTS_MAX],
    /// The index in `order` of the slot whose turn it is.
    next: u8,
    /// The index in `order` of the last slot that takes turns.
    last: u8,
}

impl Turns {
    /// Of `slots` slots, `few` take turns: at least 2, at most all, at most 256. `newest` is the word that the
    /// previous writer published last. If `stamp` gives a word that was published less than `few` writes ago, its
    /// slot keeps the place of that write in the order; its next turn comes `few` writes after it. Wrong stamps can
    /// shorten, once, the rest of another slot. The slot of `newest` comes last.
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

    /// The slot whose turn it is. If that slot is marked, another one takes its place in the order from now on. At
    /// most as many slots are marked as do not take turns. Looks at 1 mark, or at up to 1 more for each slot that
    /// does not take turns.
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
        // One of the marked slots is this one, so fewer marked slots remain than slots that wait: at least one that
        // waits is not marked. The search never reaches the entries behind the last slot.
        if let Some(other) = others.iter_mut().find(|other| !marked((**other).into())) {
            core::mem::swap(place, other);
        }
        (*place).into()
    }

    /// Passes the turn to the next slot: the slot of this turn has been published.
    #[inline(always)]
    pub(super) fn pass(&mut self) {
        self.next = if self.next == self.last { 0 } else { self.next + 1 };
    }
}
