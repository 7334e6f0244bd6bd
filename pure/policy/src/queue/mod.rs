// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Ready queues: by rank, smaller first; among equals in order of insertion.
//!
//! | queue | insert | first, hasten first | take first | remove | ranks |
//! |---|---|---|---|---|---|
//! | [`LinkedList`] | O(n) | O(1) | O(1) | O(1) | any |
//! | [`Heap`] | O(log n) | O(1) | O(log n) | O(log n) | any |
//! | [`Bitmap`] | O(1) | O(1) | O(1) | O(1) | below 256 |
//! | [`Fronted`] | O(1) if it goes before all and the front place is free | O(1) | O(1) for the front | | |

mod bitmap;
mod fronted;
mod heap;
mod list;

pub use bitmap::{Bitmap, LEVELS_MAX, Level};
pub use fronted::Fronted;
pub use heap::{Heap, HeapSlot};
pub use list::{LinkedList, Node};

use crate::Misuse;

/// Where a task goes among those of its own rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// Behind all: it has just become ready.
    Back,
    /// Before all: it ran, and lost the core to a task of smaller rank.
    Front,
}

/// A set of ready tasks; each is in at most once.
pub trait ReadyQueue {
    /// Tasks are 0 to `capacity` − 1.
    fn capacity(&self) -> usize;

    /// Ranks are 0 to `ranks` − 1.
    fn ranks(&self) -> u64 {
        u64::MAX
    }

    /// Whether a task is in the queue.
    fn contains(&self, task: usize) -> bool;

    /// Inserts a task.
    ///
    /// # Errors
    /// [`Misuse::Task`] if there is no such task, [`Misuse::State`] if it is in the queue, [`Misuse::Rank`] if there
    /// is no such rank.
    fn insert(&mut self, task: usize, rank: u64, end: QueueEnd) -> Result<(), Misuse>;

    /// The first task and its rank.
    fn first(&self) -> Option<(usize, u64)>;

    /// Removes and returns the first task and its rank.
    fn take_first(&mut self) -> Option<(usize, u64)>;

    /// Removes a task; returns whether it was in the queue.
    fn remove(&mut self, task: usize) -> bool;

    /// Lowers the first task's rank to `rank` if that is less than its current one: so it stays the first. Nothing
    /// else moves.
    fn hasten_first(&mut self, rank: u64);
}

/// No task.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reference that each queue must equal: a list, sorted after each insertion.
    #[derive(Default)]
    struct Plain(Vec<(u64, i64, usize)>, i64);

    impl Plain {
        fn insert(&mut self, task: usize, rank: u64, end: QueueEnd) {
            self.1 += 1;
            self.0.push((rank, if end == QueueEnd::Back { self.1 } else { -self.1 }, task));
            self.0.sort_unstable();
        }
    }

    fn against_plain(mut queue: impl ReadyQueue, steps: &[(u8, usize, u64)]) {
        let mut plain = Plain::default();
        for &(what, task, rank) in steps {
            let is_in = plain.0.iter().position(|entry| entry.2 == task);
            match what {
                0 | 1 => {
                    let end = if what == 0 { QueueEnd::Back } else { QueueEnd::Front };
                    let expected = if is_in.is_some() { Err(Misuse::State) } else { Ok(()) };
                    assert_eq!(queue.insert(task, rank, end), expected);
                    if is_in.is_none() {
                        plain.insert(task, rank, end);
                    }
                }
                2 => {
                    queue.hasten_first(rank);
                    if let Some(first) = plain.0.first_mut() {
                        first.0 = first.0.min(rank);
                    }
                }
                3 => {
                    let expected = (!plain.0.is_empty()).then(|| plain.0.remove(0));
                    assert_eq!(queue.take_first(), expected.map(|(rank, _, task)| (task, rank)));
                }
                _ => {
                    assert_eq!(queue.remove(task), is_in.is_some());
                    is_in.map(|at| plain.0.remove(at));
                }
            }
            assert_eq!(queue.contains(task), plain.0.iter().any(|entry| entry.2 == task));
            assert_eq!(queue.first(), plain.0.first().map(|&(rank, _, task)| (task, rank)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn all_queues_are_stable(steps in prop::collection::vec((0_u8..5, 0_usize..9, 0_u64..5), 0..80)) {
            against_plain(LinkedList::new([Node::EMPTY; 9]), &steps);
            against_plain(Heap::new([HeapSlot::EMPTY; 9]), &steps);
            against_plain(Bitmap::new([Level::EMPTY; 5], [Node::EMPTY; 9]), &steps);
            against_plain(Fronted::new(Heap::new([HeapSlot::EMPTY; 9])), &steps);
            against_plain(Fronted::new(LinkedList::new([Node::EMPTY; 9])), &steps);
        }
    }

    #[test]
    fn what_has_no_place_is_refused() {
        assert_eq!(LinkedList::new([Node::EMPTY; 2]).insert(2, 0, QueueEnd::Back), Err(Misuse::Task));
        assert_eq!(Heap::new([HeapSlot::EMPTY; 2]).insert(2, 0, QueueEnd::Back), Err(Misuse::Task));
        assert_eq!(
            Fronted::new(Heap::new([HeapSlot::EMPTY; 2])).insert(2, 0, QueueEnd::Back),
            Err(Misuse::Task)
        );
        let mut bitmap = Fronted::new(Bitmap::new([Level::EMPTY; 3], [Node::EMPTY; 2]));
        assert_eq!(bitmap.insert(1, 3, QueueEnd::Back), Err(Misuse::Rank));
        let mut bitmap = Bitmap::new([Level::EMPTY; 3], [Node::EMPTY; 2]);
        assert_eq!(bitmap.insert(2, 0, QueueEnd::Back), Err(Misuse::Task));
        assert_eq!(bitmap.insert(1, 3, QueueEnd::Back), Err(Misuse::Rank));
        bitmap.hasten_first(0);
        assert!(!bitmap.remove(7) && bitmap.first().is_none());
    }
}
