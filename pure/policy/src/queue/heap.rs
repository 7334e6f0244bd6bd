// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use super::{NONE, QueueEnd, ReadyQueue};
use crate::{Misuse, Store};

/// An entry of the heap, and the position of one task's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapSlot {
    entry: Entry,
    /// For the task with this slot's index: the position of its entry.
    place: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    rank: u64,
    /// The order among equal ranks; counts up at the back and down at the front. It would take centuries to wrap.
    order: i64,
    task: u32,
}

impl Entry {
    fn before(&self, other: &Self) -> bool {
        self.key() < other.key()
    }

    /// Rank and order as one number, so that a comparison has no branch that the processor must guess.
    fn key(&self) -> u128 {
        let order = self.order.cast_unsigned() ^ 1 << 63;
        u128::from(self.rank) << 64 | u128::from(order)
    }
}

impl HeapSlot {
    /// A slot of an empty heap.
    pub const EMPTY: Self = Self { entry: Entry { rank: 0, order: 0, task: NONE }, place: NONE };
}

/// Children of an entry. Four halve the depth of two, and lie side by side: with ten thousand entries that counts, with
/// few it costs nothing.
const CHILDREN: usize = 4;

/// A heap that keeps the order of insertion among equals and can find each task. With n entries each operation moves at
/// most ⌈log₄ n⌉ + 1 of them, and compares four for each.
#[derive(Clone, Debug)]
pub struct Heap<S> {
    slots: S,
    len: usize,
    back: i64,
    front: i64,
}

impl<S: Store<HeapSlot>> Heap<S> {
    /// An empty heap, for as many tasks as there are slots.
    pub fn new(mut slots: S) -> Self {
        slots.as_mut().fill(HeapSlot::EMPTY);
        Self { slots, len: 0, back: 0, front: 0 }
    }

    /// Puts an entry into the hole, or higher.
    fn rise(slots: &mut [HeapSlot], mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / CHILDREN;
            if !entry.before(&slots[parent].entry) {
                break;
            }
            Self::put(slots, hole, slots[parent].entry);
            hole = parent;
        }
        Self::put(slots, hole, entry);
    }

    /// Puts an entry into the hole, or lower.
    fn sink(slots: &mut [HeapSlot], len: usize, mut hole: usize, entry: Entry) {
        loop {
            let first = CHILDREN * hole + 1;
            if first >= len {
                break;
            }
            let child = Self::least(&slots[first..len.min(first + CHILDREN)]) + first;
            if !slots[child].entry.before(&entry) {
                break;
            }
            Self::put(slots, hole, slots[child].entry);
            hole = child;
        }
        Self::put(slots, hole, entry);
    }

    /// The position of the first of at most four entries; there is one at least.
    #[inline(always)]
    fn least(slots: &[HeapSlot]) -> usize {
        let first = |a: (u128, usize), b: (u128, usize)| if b.0 < a.0 { b } else { a };
        let key = |at: usize| (slots[at].entry.key(), at);
        match slots.len() {
            // Two comparisons at a time.
            CHILDREN => first(first(key(0), key(1)), first(key(2), key(3))).1,
            count => (1..count).fold(key(0), |least, at| first(least, key(at))).1,
        }
    }

    fn put(slots: &mut [HeapSlot], at: usize, entry: Entry) {
        slots[at].entry = entry;
        slots[entry.task as usize].place = at as u32;
    }

    fn take(&mut self, at: usize) -> Entry {
        let slots = self.slots.as_mut();
        let taken = slots[at].entry;
        slots[taken.task as usize].place = NONE;
        self.len -= 1;
        if at < self.len {
            let last = slots[self.len].entry;
            if last.before(&taken) {
                Self::rise(slots, at, last);
            } else {
                Self::sink(slots, self.len, at, last);
            }
        }
        taken
    }
}

impl<S: Store<HeapSlot>> ReadyQueue for Heap<S> {
    fn capacity(&self) -> usize {
        self.slots.as_ref().len()
    }

    fn contains(&self, task: usize) -> bool {
        self.slots.as_ref().get(task).is_some_and(|slot| slot.place != NONE)
    }

    fn insert(&mut self, task: usize, rank: u64, end: QueueEnd) -> Result<(), Misuse> {
        let slots = self.slots.as_mut();
        match slots.get(task) {
            None => return Err(Misuse::Task),
            Some(slot) if slot.place != NONE => return Err(Misuse::State),
            Some(_) => {}
        }
        let order = match end {
            QueueEnd::Back => {
                self.back += 1;
                self.back
            }
            QueueEnd::Front => {
                self.front -= 1;
                self.front
            }
        };
        let at = self.len;
        self.len += 1;
        Self::rise(slots, at, Entry { rank, order, task: task as u32 });
        Ok(())
    }

    #[inline]
    fn first(&self) -> Option<(usize, u64)> {
        let entry = &self.slots.as_ref().first()?.entry;
        (self.len > 0).then_some((entry.task as usize, entry.rank))
    }

    fn take_first(&mut self) -> Option<(usize, u64)> {
        if self.len == 0 {
            return None;
        }
        let entry = self.take(0);
        Some((entry.task as usize, entry.rank))
    }

    fn remove(&mut self, task: usize) -> bool {
        match self.slots.as_ref().get(task) {
            Some(slot) if slot.place != NONE => {
                let at = slot.place as usize;
                self.take(at);
                true
            }
            _ => false,
        }
    }

    fn hasten_first(&mut self, rank: u64) {
        if let Some(slot) = self.slots.as_mut().first_mut().filter(|_| self.len > 0) {
            slot.entry.rank = slot.entry.rank.min(rank);
        }
    }
}
