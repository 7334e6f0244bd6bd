// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Accounts of what a reader may read next. Each program keeps one for every reader; values are `payload::marked`,
//! numbered from 1 in the order of their writes.
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
    /// Checks the result of a read; write `complete` was complete before the read began. Returns the number, if the
    /// result is a value.
    ///
    /// # Panics
    ///
    /// If the value is torn, older than `complete`, or older than the last one; or if there is none although there
    /// must be one.
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
            Got::Unavailable => {
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
    /// Number of values popped.
    pub(crate) popped: u64,
    /// Number of values lost, as reported to the reader.
    pub(crate) lost: u64,
}

impl Order {
    /// Checks the result of a pop; push `complete` was complete before the pop began. Returns the number, if the
    /// result is a value. `begun` returns how many pushes have begun by now, at least.
    ///
    /// # Panics
    ///
    /// If the value is torn, lost, doubled or out of order; if there is none although one waits; or if values were
    /// lost against the policy or without a report.
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
                        // The last of them was discarded for the value that comes `capacity` after it.
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
            Got::Unavailable => {
                assert_ne!(Q::WHEN_FULL, WhenFull::Refuse, "{}: a pop that is told something", Q::NAME);
                None
            }
        }
    }
}

/// A queue according to its policy, on a list of numbers.
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

    /// Pushes `n`, and returns whether the queue takes it.
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

    /// Takes the oldest value; returns it, and how many were lost since the last one.
    pub(crate) fn pop(&mut self) -> Option<(u64, u64)> {
        let n = self.waiting.pop_front()?;
        Some((n, std::mem::take(&mut self.lost)))
    }
}

/// A queue according to its policy, as seen by a reader that copies values by the line: the values that the reader
/// returns count as taken when it copied the line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByLine {
    /// Values that the reader copies at once.
    line: usize,
    /// The queue at the time when the reader last copied a line.
    copied: Policy,
    /// Number of values of that line, and how many of them the reader has returned.
    ahead: usize,
    taken: usize,
    /// Values pushed since.
    since: Vec<u64>,
}

impl ByLine {
    /// A queue for values of `words` words.
    pub(crate) fn new(when_full: WhenFull, capacity: u32, words: usize) -> Self {
        let line = Self::values(when_full, words);
        Self { line, copied: Policy::new(when_full, capacity), ahead: 0, taken: 0, since: Vec::new() }
    }

    /// Number of values of `words` words that a reader copies at once: one, if the writer does not overwrite.
    pub(crate) fn values(when_full: WhenFull, words: usize) -> usize {
        if when_full == WhenFull::Refuse { 1 } else { (8 / words).max(1) }
    }

    /// The queue that a successor of the reader finds.
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

    /// A successor of the reader attaches: it does not have the values that the previous reader copied and did not
    /// return.
    pub(crate) fn succeed(&mut self) {
        self.copied = self.now();
        (self.ahead, self.taken) = (0, 0);
        self.since.clear();
    }

    /// Pushes `n`, and returns whether the queue takes it.
    pub(crate) fn push(&mut self, n: u64) -> bool {
        let taken = self.now().push(n);
        if taken {
            self.since.push(n);
        }
        taken
    }

    /// The value that the reader returns, and how many were lost since the last one.
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
