// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use super::list::Ends;
use super::{NONE, Node, QueueEnd, ReadyQueue};
use crate::{Misuse, Store};

/// The largest number of levels that a [`Bitmap`] has.
pub const LEVELS_MAX: usize = 256;

const WORDS: usize = LEVELS_MAX / 64;

/// The tasks of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Ends);

impl Level {
    /// No task.
    pub const EMPTY: Self = Self(Ends::EMPTY);
}

/// A list per rank, and a bit per list that says whether the list has a task. Linux uses this for real-time
/// priorities.
#[derive(Clone, Debug)]
pub struct Bitmap<L, S> {
    words: [u64; WORDS],
    levels: L,
    nodes: S,
}

impl<L: Store<Level>, S: Store<Node>> Bitmap<L, S> {
    /// An empty queue for as many tasks as there are nodes, and as many ranks as there are levels, but at most
    /// [`LEVELS_MAX`].
    pub fn new(mut levels: L, mut nodes: S) -> Self {
        levels.as_mut().fill(Level::EMPTY);
        nodes.as_mut().fill(Node::EMPTY);
        Self { words: [0; WORDS], levels, nodes }
    }

    fn level(&self) -> Option<usize> {
        let word = self.words.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }

    fn put(&mut self, task: usize, level: usize, end: QueueEnd) {
        let ends = &mut self.levels.as_mut()[level].0;
        let behind = if end == QueueEnd::Back { ends.tail } else { NONE };
        ends.link(self.nodes.as_mut(), task, level as u64, behind);
        self.words[level / 64] |= 1 << (level % 64);
    }

    fn take(&mut self, level: usize, task: usize) {
        let ends = &mut self.levels.as_mut()[level].0;
        ends.unlink(self.nodes.as_mut(), task);
        if ends.head == NONE {
            self.words[level / 64] &= !(1 << (level % 64));
        }
    }
}

impl<L: Store<Level>, S: Store<Node>> ReadyQueue for Bitmap<L, S> {
    fn capacity(&self) -> usize {
        self.nodes.as_ref().len()
    }

    fn ranks(&self) -> u64 {
        self.levels.as_ref().len().min(LEVELS_MAX) as u64
    }

    fn contains(&self, task: usize) -> bool {
        self.nodes.as_ref().get(task).is_some_and(Node::queued)
    }

    fn insert(&mut self, task: usize, rank: u64, end: QueueEnd) -> Result<(), Misuse> {
        if rank >= self.ranks() {
            return Err(Misuse::Rank);
        }
        match self.nodes.as_ref().get(task) {
            None => return Err(Misuse::Task),
            Some(node) if node.queued() => return Err(Misuse::State),
            Some(_) => {}
        }
        self.put(task, rank as usize, end);
        Ok(())
    }

    fn first(&self) -> Option<(usize, u64)> {
        let level = self.level()?;
        Some((self.levels.as_ref()[level].0.head as usize, level as u64))
    }

    fn take_first(&mut self) -> Option<(usize, u64)> {
        let first = self.first()?;
        self.take(first.1 as usize, first.0);
        Some(first)
    }

    fn remove(&mut self, task: usize) -> bool {
        let Some(node) = self.nodes.as_ref().get(task).filter(|node| node.queued()).copied() else {
            return false;
        };
        self.take(node.rank() as usize, task);
        true
    }

    fn hasten_first(&mut self, rank: u64) {
        if let Some((task, level)) = self.first().filter(|(_, level)| rank < *level) {
            self.take(level as usize, task);
            self.put(task, rank as usize, QueueEnd::Front);
        }
    }
}
