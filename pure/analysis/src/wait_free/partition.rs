// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which readers to treat as fast, for the fewest buffers.
//!
//! ```text
//! Equation    readers in order of N; for k = 0 .. P the first k are fast: buffers of [`super::buffers::mixed`] for
//!             P − k slow ones and the k-th reader's N; the least wins, and of equals the most fast readers
//! Symbols     N writes that can touch a read; P readers
//! Assumes     those of [`super::buffers`]
//! Verdict     exact: no other division needs fewer
//! Cost        P log P
//! Source      [Huang02, section 3.4, Fig. 9]
//! ```
//!
//! **Why.** The count depends on how many readers are slow and on the largest N of the fast ones, and does not fall
//! when either grows. Given the fast reader of the largest N, all readers with a smaller one may be fast as well.
//!
//! **The printed algorithm** does the same with the printed count. Its text goes through the example with yet another
//! count: S = 14, 12, .. for the slow readers is 2 (M + 1), as if one of their rows were free beside the fast
//! readers' buffers. [`printed`] is the figure, [`printed_prose`] the text: for the example they end with 8 and 10,
//! and 8 is right.

use super::buffers::{self, Claim};
use crate::Overflow;

/// A division of the readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The fast readers, positions in the given list, in order of their writes.
    pub fast: Vec<usize>,
    /// The slow ones, likewise.
    pub slow: Vec<usize>,
    /// Buffers in all.
    pub buffers: u64,
    /// Buffers with the first 0, 1, .. P readers fast, in the same order.
    pub by_fast: Vec<u64>,
}

/// The best division of readers; `writes` is, for each, how many writes can touch one of its reads.
///
/// # Errors
/// [`Overflow`].
pub fn best(claim: Claim, writes: &[u64]) -> Result<Partition, Overflow> {
    search(writes, |slow, fast| buffers::mixed(claim, slow, fast))
}

/// The result of [Huang02, Fig. 9], by its own count: unsound, see [`super::buffers`].
///
/// # Errors
/// [`Overflow`].
pub fn printed(claim: Claim, writes: &[u64]) -> Result<Partition, Overflow> {
    search(writes, |slow, fast| buffers::printed(claim, slow, fast))
}

/// The result of the text of [Huang02, section 3.4] for Double Buffer, where slow readers keep a row more.
///
/// # Errors
/// [`Overflow`].
pub fn printed_prose(writes: &[u64]) -> Result<Partition, Overflow> {
    search(writes, |slow, fast| {
        let rows = buffers::all_slow(Claim::Row, slow)?;
        rows.checked_add(fast.map_or(Ok(0), buffers::temporal)?).ok_or(Overflow)
    })
}

/// The fast readers, positions in the given list, of the division that costs least by a measure other than buffers,
/// such as bytes. `cost` gets how many readers are slow, and the largest number of writes of a fast one; it must not
/// fall when either grows. A division for which it returns `None` is excluded. Of divisions of equal cost the one
/// with the fewest fast readers wins, as those depend on time. At least one reader is fast; `None` if no division has
/// a cost.
pub fn cheapest(writes: &[u64], cost: impl Fn(u64, Option<u64>) -> Option<u64>) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..writes.len()).collect();
    order.sort_by_key(|&reader| writes[reader]);
    let of = |fast: usize| {
        let slow = u64::try_from(order.len() - fast).ok()?;
        cost(slow, Some(writes[order[fast - 1]])).map(|cost| (cost, fast))
    };
    let (_, fast) = (1..=order.len()).filter_map(of).min()?;
    order.truncate(fast);
    Some(order)
}

fn search(
    writes: &[u64],
    count: impl Fn(u64, Option<u64>) -> Result<u64, Overflow>,
) -> Result<Partition, Overflow> {
    let mut order: Vec<usize> = (0..writes.len()).collect();
    order.sort_by_key(|&reader| writes[reader]);
    let mut by_fast = Vec::with_capacity(order.len() + 1);
    let (mut split, mut least) = (0, u64::MAX);
    for fast in 0..=order.len() {
        let slow = u64::try_from(order.len() - fast).map_err(|_| Overflow)?;
        let last = fast.checked_sub(1).map(|last| writes[order[last]]);
        // A count that does not fit is not the least, unless all counts are such.
        let buffers = count(slow, last).unwrap_or(u64::MAX);
        by_fast.push(buffers);
        if buffers <= least {
            (split, least) = (fast, buffers);
        }
    }
    if least == u64::MAX {
        return Err(Overflow);
    }
    let slow = order.split_off(split);
    Ok(Partition { fast: order, slow, buffers: least, by_fast })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// N_max of [Huang02, Fig. 10].
    const FIGURE_10: [u64; 7] = [2, 2, 2, 3, 3, 14, 49];

    #[test]
    fn huang02_figure_10_chen() {
        let found = best(Claim::Buffer, &FIGURE_10).expect("small");
        assert_eq!(found.by_fast, [9, 9, 8, 7, 7, 6, 16, 50]);
        assert_eq!((found.fast.len(), found.buffers), (5, 6));
    }

    #[test]
    fn huang02_figure_10_double_buffer() {
        let found = best(Claim::Row, &FIGURE_10).expect("small");
        assert_eq!(found.by_fast, [16, 16, 14, 12, 10, 8, 18, 50]);
        assert_eq!((found.fast, found.slow, found.buffers), (vec![0, 1, 2, 3, 4], vec![5, 6], 8));
    }

    /// What Fig. 9 computes: for 1, 2 and 3 fast readers, N = 3, one buffer less than whole rows.
    #[test]
    fn huang02_figure_9_printed_double_buffer() {
        let found = printed(Claim::Row, &FIGURE_10).expect("small");
        assert_eq!(found.by_fast, [16, 15, 13, 11, 10, 8, 17, 50]);
        assert_eq!((found.fast.len(), found.buffers), (5, 8));
    }

    #[test]
    fn huang02_figure_9_printed_chen() {
        let found = printed(Claim::Buffer, &FIGURE_10).expect("small");
        assert_eq!(found.by_fast, [9, 9, 8, 7, 7, 6, 16, 50]);
    }

    /// Section 3.4: S = 14 and F = 3 with one fast reader, S = 12 with two, and 10 in the end, with five.
    #[test]
    fn huang02_section_3_4_printed_prose() {
        let found = printed_prose(&FIGURE_10).expect("small");
        assert_eq!(found.by_fast[..3], [16, 14 + 3, 12 + 3]);
        assert_eq!((found.fast.len(), found.buffers), (5, 10));
    }

    proptest! {
        /// Compares with all subsets.
        #[test]
        fn no_subset_is_better(writes in prop::collection::vec(0..12_u64, 0..8)) {
            for claim in Claim::ALL {
                let found = best(claim, &writes).expect("small");
                let least = (0..1_u32 << writes.len()).map(|fast| {
                    let is_fast = |reader: &usize| fast >> reader & 1 == 1;
                    let largest = (0..writes.len()).filter(is_fast).map(|reader| writes[reader]).max();
                    let slow = writes.len() as u64 - u64::from(fast.count_ones());
                    buffers::mixed(claim, slow, largest).expect("small")
                });
                prop_assert_eq!(least.min(), Some(found.buffers));
                // Never more than without fast readers.
                prop_assert!(found.buffers <= buffers::all_slow(claim, writes.len() as u64).expect("small"));
                prop_assert_eq!(found.fast.len() + found.slow.len(), writes.len());
                let slowest = found.fast.iter().map(|&reader| writes[reader]).max();
                prop_assert_eq!(buffers::mixed(claim, found.slow.len() as u64, slowest), Ok(found.buffers));
            }
        }
    }

    #[test]
    fn cheapest_by_another_measure() {
        let count = |slow, fast| buffers::mixed(Claim::Buffer, slow, fast).ok();
        assert_eq!(cheapest(&FIGURE_10, count), Some(vec![0, 1, 2, 3, 4]));
        // If a slow reader costs less than a write, no more than one need be fast.
        let cheap = |slow, fast| Some(slow + 10 * fast?);
        assert_eq!(cheapest(&[3, 9, 1], cheap), Some(vec![2]));
        // Of equal divisions the one with the fewest; a division without a cost is skipped.
        assert_eq!(cheapest(&[1, 1, 1], |_, _| Some(7)), Some(vec![0]));
        assert_eq!(cheapest(&[1, 1, 1], |slow, _| (slow < 2).then_some(7)), Some(vec![0, 1]));
        assert_eq!(cheapest(&[1], |_, _| None), None);
        assert_eq!(cheapest(&[], |_, _| Some(0)), None);
    }

    #[test]
    fn extremes() {
        // A reader whose number of buffers does not fit is slow.
        let found = best(Claim::Buffer, &[u64::MAX, 1]).expect("one is slow");
        assert_eq!((found.fast, found.buffers), (vec![1], 3));
        assert_eq!(best(Claim::Buffer, &[]).expect("no reader").buffers, 2);
    }
}
