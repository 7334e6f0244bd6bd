// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use super::{NONE, QueueEnd, ReadyQueue};
use crate::Misuse;

/// Any queue, with a place in front of it for one task that goes before all tasks in it.
///
/// A task that becomes the first and is taken next does not move up and down through the queue: a job that preempts
/// at its release, the job that it preempts, a release that is due next, and next again. These cost O(1) with every
/// queue; all else costs what the queue costs, and a comparison.
#[derive(Clone, Debug)]
pub struct Fronted<Q> {
    rest: Q,
    /// Goes before all of the rest; [`NONE`] if the front place is empty, even if there is a rest.
    task: u32,
    rank: u64,
}

impl<Q: ReadyQueue> Fronted<Q> {
    /// With an empty queue `rest`.
    pub fn new(rest: Q) -> Self {
        Self { rest, task: NONE, rank: 0 }
    }

    fn front(&self) -> Option<(usize, u64)> {
        (self.task != NONE).then_some((self.task as usize, self.rank))
    }
}

impl<Q: ReadyQueue> ReadyQueue for Fronted<Q> {
    fn capacity(&self) -> usize {
        self.rest.capacity()
    }

    fn ranks(&self) -> u64 {
        self.rest.ranks()
    }

    fn contains(&self, task: usize) -> bool {
        self.front().is_some_and(|(front, _)| front == task) || self.rest.contains(task)
    }

    fn insert(&mut self, task: usize, rank: u64, end: QueueEnd) -> Result<(), Misuse> {
        let front = self.front();
        let before =
            |(_, other): (usize, u64)| if end == QueueEnd::Front { rank <= other } else { rank < other };
        if !front.or_else(|| self.rest.first()).is_none_or(before) {
            if front.is_some_and(|(front, _)| front == task) {
                return Err(Misuse::State);
            }
            return self.rest.insert(task, rank, end);
        }
        if task >= self.capacity() {
            return Err(Misuse::Task);
        }
        if rank >= self.ranks() && self.ranks() < u64::MAX {
            return Err(Misuse::Rank);
        }
        if self.contains(task) {
            return Err(Misuse::State);
        }
        if let Some((front, rank)) = front {
            // It was before all tasks of the rest.
            self.rest.insert(front, rank, QueueEnd::Front)?;
        }
        (self.task, self.rank) = (task as u32, rank);
        Ok(())
    }

    #[inline]
    fn first(&self) -> Option<(usize, u64)> {
        self.front().or_else(|| self.rest.first())
    }

    fn take_first(&mut self) -> Option<(usize, u64)> {
        let Some(front) = self.front() else { return self.rest.take_first() };
        self.task = NONE;
        Some(front)
    }

    fn remove(&mut self, task: usize) -> bool {
        if self.front().is_some_and(|(front, _)| front == task) {
            self.task = NONE;
            return true;
        }
        self.rest.remove(task)
    }

    fn hasten_first(&mut self, rank: u64) {
        if self.task == NONE {
            self.rest.hasten_first(rank);
        } else {
            self.rank = self.rank.min(rank);
        }
    }
}
