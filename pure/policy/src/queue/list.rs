// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use super::{NONE, QueueEnd, ReadyQueue};
use crate::{Misuse, Store};

/// A task's place in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    rank: u64,
    next: u32,
    previous: u32,
    queued: bool,
}

impl Node {
    /// A node in no list.
    pub const EMPTY: Self = Self { rank: 0, next: NONE, previous: NONE, queued: false };

    pub(super) fn queued(&self) -> bool {
        self.queued
    }

    pub(super) fn rank(&self) -> u64 {
        self.rank
    }
}

/// The ends of a list whose nodes are in a slice: several lists may share one slice, as each task is in at most one
/// list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) head: u32,
    pub(super) tail: u32,
}

impl Ends {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    /// Inserts a task that is in no list right behind another, or at the head if `behind` is [`NONE`].
    pub(super) fn link(&mut self, nodes: &mut [Node], task: usize, rank: u64, behind: u32) {
        let next = if behind == NONE { self.head } else { nodes[behind as usize].next };
        nodes[task] = Node { rank, next, previous: behind, queued: true };
        match behind {
            NONE => self.head = task as u32,
            behind => nodes[behind as usize].next = task as u32,
        }
        match next {
            NONE => self.tail = task as u32,
            next => nodes[next as usize].previous = task as u32,
        }
    }

    /// Removes a task of this list.
    pub(super) fn unlink(&mut self, nodes: &mut [Node], task: usize) {
        let Node { next, previous, .. } = nodes[task];
        match previous {
            NONE => self.head = next,
            previous => nodes[previous as usize].next = next,
        }
        match next {
            NONE => self.tail = previous,
            next => nodes[next as usize].previous = previous,
        }
        nodes[task].queued = false;
    }
}

/// A doubly linked list. MaRTE OS uses one for SRP [Gutierrez 2013].
#[derive(Clone, Debug)]
pub struct LinkedList<S> {
    nodes: S,
    ends: Ends,
}

impl<S: Store<Node>> LinkedList<S> {
    /// An empty list, for as many tasks as there are nodes.
    pub fn new(mut nodes: S) -> Self {
        nodes.as_mut().fill(Node::EMPTY);
        Self { nodes, ends: Ends::EMPTY }
    }

    /// Searches from the tail to the head for the first task that the new one does not go before, and inserts it
    /// behind that task. `before` says whether the new task goes before another; it need not be an order.
    ///
    /// # Errors
    /// As [`ReadyQueue::insert`].
    pub fn insert_from_tail(
        &mut self,
        task: usize,
        rank: u64,
        before: impl Fn(usize, u64) -> bool,
    ) -> Result<(), Misuse> {
        let nodes = self.nodes.as_mut();
        match nodes.get(task) {
            None => return Err(Misuse::Task),
            Some(node) if node.queued => return Err(Misuse::State),
            Some(_) => {}
        }
        let mut behind = self.ends.tail;
        while behind != NONE && before(behind as usize, nodes[behind as usize].rank) {
            behind = nodes[behind as usize].previous;
        }
        self.ends.link(nodes, task, rank, behind);
        Ok(())
    }
}

impl<S: Store<Node>> ReadyQueue for LinkedList<S> {
    fn capacity(&self) -> usize {
        self.nodes.as_ref().len()
    }

    fn contains(&self, task: usize) -> bool {
        self.nodes.as_ref().get(task).is_some_and(Node::queued)
    }

    fn insert(&mut self, task: usize, rank: u64, end: QueueEnd) -> Result<(), Misuse> {
        match end {
            QueueEnd::Back => self.insert_from_tail(task, rank, |_, other| rank < other),
            QueueEnd::Front => self.insert_from_tail(task, rank, |_, other| rank <= other),
        }
    }

    fn first(&self) -> Option<(usize, u64)> {
        let head = self.ends.head;
        self.nodes.as_ref().get(head as usize).map(|node| (head as usize, node.rank))
    }

    fn take_first(&mut self) -> Option<(usize, u64)> {
        let first = self.first()?;
        self.ends.unlink(self.nodes.as_mut(), first.0);
        Some(first)
    }

    fn remove(&mut self, task: usize) -> bool {
        let nodes = self.nodes.as_mut();
        let is_in = nodes.get(task).is_some_and(Node::queued);
        if is_in {
            self.ends.unlink(nodes, task);
        }
        is_in
    }

    fn hasten_first(&mut self, rank: u64) {
        if let Some(node) = self.nodes.as_mut().get_mut(self.ends.head as usize) {
            node.rank = node.rank.min(rank);
        }
    }
}
