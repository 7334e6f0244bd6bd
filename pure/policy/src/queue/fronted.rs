// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use super::{End, NONE, ReadyQueue};
use crate::Misuse;

/// Any queue, and a place before it for one task that goes before all in it.
///
/// Whoever comes first and is taken next does not pass through the queue, up and down again: a job that preempts as it is
/// released, the job that it preempts, a release that is due next and then again. Those are O(1), whatever the queue is;
/// else it costs what the queue costs, and a comparison.
#[derive(Clone, Debug)]
pub struct Fronted<Q> {
    rest: Q,
    /// Before all of the rest; [`NONE`] if nobody stands here, although there may be a rest.
    task: u32,
    rank: u64,
}

impl<Q: ReadyQueue> Fronted<Q> {
    /// With an empty queue.
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

    fn insert(&mut self, task: usize, rank: u64, end: End) -> Result<(), Misuse> {
        let front = self.front();
        let before = |(_, other): (usize, u64)| if end == End::Front { rank <= other } else { rank < other };
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
            // It stood before all of these.
            self.rest.insert(front, rank, End::Front)?;
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
