// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What may be read next. Each program keeps such an account for every reader; values are `payload::marked`, numbered
//! from 1 in the order of their writes.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

use std::collections::VecDeque;

use crate::objects::{Got, Queue, State, WhenFull};
use crate::payload::number;

/// The account of a reader of the newest value.
#[derive(Clone, Copy, Default)]
pub(crate) struct Newest {
    /// The number of the last value that was read; 0 before.
    pub(crate) last: u64,
}

impl Newest {
    /// Judges what a read gave before whose begin write `complete` was complete: the number, if it is a value.
    ///
    /// # Panics
    ///
    /// If it is torn, older than `complete`, older than the last, or nothing where there must be something.
    pub(crate) fn judge<const N: usize, S: State<N>>(
        &mut self,
        got: Got<[u64; N]>,
        complete: u64,
    ) -> Option<u64> {
        match got {
            Got::Value(value) => {
                let n = number(&value);
                assert!(n > 0, "{}: never written", S::NAME);
                assert!(n >= complete, "{}: {n} is old, {complete} was complete", S::NAME);
                assert!(n >= self.last, "{}: backwards from {} to {n}", S::NAME, self.last);
                self.last = n;
                Some(n)
            }
            Got::Nothing => {
                let known = complete.max(self.last);
                assert_eq!(known, 0, "{}: nothing, but there is a value", S::NAME);
                None
            }
            Got::Told => {
                assert!(!S::READS_ALWAYS, "{}: a read that is told something", S::NAME);
                None
            }
        }
    }
}

/// The account of a reader of a queue.
#[derive(Clone, Copy, Default)]
pub(crate) struct Order {
    /// The number of the last value that was popped; 0 before.
    pub(crate) last: u64,
    /// Values popped.
    pub(crate) popped: u64,
    /// Values lost, as the reader was told.
    pub(crate) lost: u64,
}

impl Order {
    /// Judges what a pop gave before whose begin push `complete` was complete: the number, if it is a value. `begun`
    /// tells how many pushes have begun by now, at least.
    ///
    /// # Panics
    ///
    /// If it is torn, lost, doubled, out of order, or nothing where a value waits, or values were lost against the
    /// policy or without being told.
    pub(crate) fn judge<const N: usize, Q: Queue<N>>(
        &mut self,
        got: Got<([u64; N], u64)>,
        complete: u64,
        capacity: u32,
        begun: impl FnOnce() -> u64,
    ) -> Option<u64> {
        let capacity = u64::from(capacity);
        match got {
            Got::Value((value, lost)) => {
                let (n, last) = (number(&value), self.last);
                assert_eq!(n, last + 1 + lost, "{}: after {last} and {lost} lost", Q::NAME);
                if lost > 0 {
                    match Q::WHEN_FULL {
                        WhenFull::Refuse => panic!("{}: {lost} lost", Q::NAME),
                        // The last of them made room for the one that comes `capacity` after it.
                        WhenFull::DropOldest => {
                            assert!(begun() >= n - 1 + capacity, "{}: lost before {n}, not full", Q::NAME);
                        }
                        WhenFull::Clear => {
                            assert_eq!(lost % capacity, 0, "{}: cleared before {n}, not full", Q::NAME);
                        }
                    }
                }
                self.last = n;
                self.popped += 1;
                self.lost += lost;
                Some(n)
            }
            Got::Nothing => {
                let last = self.last;
                assert!(complete <= last, "{}: empty after {last}, {complete} was complete", Q::NAME);
                None
            }
            Got::Told => {
                assert_ne!(Q::WHEN_FULL, WhenFull::Refuse, "{}: a pop that is told something", Q::NAME);
                None
            }
        }
    }
}

/// A queue as its policy has it, on a list of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Policy {
    waiting: VecDeque<u64>,
    lost: u64,
    capacity: usize,
    when_full: WhenFull,
}

impl Policy {
    pub(crate) fn new(when_full: WhenFull, capacity: u32) -> Self {
        Self { waiting: VecDeque::new(), lost: 0, capacity: capacity as usize, when_full }
    }

    /// Whether it is taken.
    pub(crate) fn push(&mut self, n: u64) -> bool {
        if self.waiting.len() == self.capacity {
            let dropped = match self.when_full {
                WhenFull::Refuse => return false,
                WhenFull::DropOldest => self.waiting.drain(..1).count(),
                WhenFull::Clear => self.waiting.drain(..).count(),
            };
            self.lost += dropped as u64;
        }
        self.waiting.push_back(n);
        true
    }

    /// The oldest, and how many were lost since the last one.
    pub(crate) fn pop(&mut self) -> Option<(u64, u64)> {
        let n = self.waiting.pop_front()?;
        Some((n, std::mem::take(&mut self.lost)))
    }
}

/// A queue by its policy as a reader sees it that copies values by the line: whatever the reader hands out, it took when it
/// copied the line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByLine {
    /// Values that the reader copies at once.
    line: usize,
    /// As the queue was when the reader last copied a line.
    copied: Policy,
    /// Values of that line, and how many of them the reader has handed out.
    ahead: usize,
    taken: usize,
    /// What has been pushed since.
    since: Vec<u64>,
}

impl ByLine {
    /// For values of `words`.
    pub(crate) fn new(when_full: WhenFull, capacity: u32, words: usize) -> Self {
        let line = Self::values(when_full, words);
        Self { line, copied: Policy::new(when_full, capacity), ahead: 0, taken: 0, since: Vec::new() }
    }

    /// Values of `words` that a reader copies at once: one, where the writer may not overwrite.
    pub(crate) fn values(when_full: WhenFull, words: usize) -> usize {
        if when_full == WhenFull::Refuse { 1 } else { (8 / words).max(1) }
    }

    /// What a successor of the reader finds.
    fn now(&self) -> Policy {
        let mut now = self.copied.clone();
        for _ in 0..self.taken {
            now.pop();
        }
        for n in &self.since {
            now.push(*n);
        }
        now
    }

    /// A successor of the reader comes: what the reader before copied and did not hand out is not its.
    pub(crate) fn succeed(&mut self) {
        self.copied = self.now();
        (self.ahead, self.taken) = (0, 0);
        self.since.clear();
    }

    /// Whether it is taken.
    pub(crate) fn push(&mut self, n: u64) -> bool {
        let taken = self.now().push(n);
        if taken {
            self.since.push(n);
        }
        taken
    }

    /// What the reader hands out, and how many were lost since the last one.
    pub(crate) fn pop(&mut self) -> Option<(u64, u64)> {
        if self.taken == self.ahead {
            self.succeed();
            self.ahead = self.line.min(self.copied.waiting.len());
        }
        if self.ahead == 0 {
            return None;
        }
        let mut copied = self.copied.clone();
        for _ in 0..self.taken {
            copied.pop();
        }
        self.taken += 1;
        copied.pop()
    }
}
