// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

/// A counter of one side and the slot that it denotes, `counter` mod `slots`, without a division at each step.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) counter: u64,
    pub(super) slot: usize,
    pub(super) slots: usize,
}

impl Position {
    pub(super) fn new(counter: u64, slots: usize) -> Self {
        let slot = (counter % slots as u64) as usize;
        Self { counter, slot, slots }
    }

    #[inline(always)]
    pub(super) fn advance(&mut self) {
        self.counter = self.counter.wrapping_add(1);
        let next = self.slot + 1;
        self.slot = if next == self.slots { 0 } else { next };
    }

    /// Advances by `count`, at most the number of slots.
    #[inline(always)]
    pub(super) fn advance_by(&mut self, count: usize) {
        debug_assert!(count <= self.slots);
        self.counter = self.counter.wrapping_add(count as u64);
        // There may be so many slots of size 0 that `slot + count` overflows.
        let left = self.slots - self.slot;
        self.slot = if count < left { self.slot + count } else { count - left };
    }

    /// How many of `count` slots from here on, at most all, lie before the end of the ring; the others begin at
    /// slot 0.
    #[inline(always)]
    pub(super) fn until_end(&self, count: usize) -> usize {
        count.min(self.slots - self.slot)
    }
}
