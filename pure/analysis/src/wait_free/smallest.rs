// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The fewest buffers: by readers' jobs, by time, or by time for some readers and by jobs for the others.
//!
//! ```text
//! Equation    min(NB_instances, NB_lifetime, min over divisions of M + max(2, NB_lifetime of the fast readers))
//! Symbols     those of [`super::reader_instances`], [`super::lifetime`] and [`super::partition`]; M jobs of slow readers
//! Assumes     those of all three; for the third, that the writer's search goes round from behind the newest buffer
//! Verdict     sufficient
//! Cost        P log P
//! Source      [Han14, II-B] for the idea, [Huang02, section 3.1] for the count
//! ```
//!
//! Readers are ordered by how long they use a value, and time protects the k fastest. A slow reader counts for as
//! many jobs as it may have under way. The third term covers the other two, except for one buffer: with no reader it
//! is 2, where time alone gives 1.

use taut_time::Duration;

use super::buffers::{self, Claim};
use super::writes_during_read::WriterTiming;
use super::{lifetime, reader_instances};
use crate::{Overflow, Verdict};

/// A reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderUse {
    /// Its jobs.
    pub jobs: reader_instances::ReaderTiming,
    /// l: the longest time that it uses a value.
    pub used_for: Duration,
}

/// The three counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// By readers' jobs alone.
    pub instances: u64,
    /// By time alone; none if it does not fit.
    pub lifetime: Option<u64>,
    /// By both.
    pub mixed: u64,
    /// The fast readers of the mixed count, positions in the given list.
    pub fast: Vec<usize>,
}

impl Sizes {
    /// The fewest.
    pub fn least(&self) -> u64 {
        self.lifetime.map_or(self.instances, |by_time| by_time.min(self.instances)).min(self.mixed)
    }
}

/// Computes all three.
///
/// # Errors
/// [`Overflow`] if the readers' jobs are too many to count.
pub fn buffers(readers: &[ReaderUse], writer: &WriterTiming) -> Result<Verdict<Sizes>, Overflow> {
    let jobs: Vec<_> = readers.iter().map(|reader| reader.jobs).collect();
    let instances = match reader_instances::buffers(&jobs, reader_instances::WriterPlacement::Any)? {
        Verdict::Schedulable(instances) => instances,
        other => return Ok(other.map(|_| Sizes { instances: 0, lifetime: None, mixed: 0, fast: vec![] })),
    };
    let mut order: Vec<usize> = (0..readers.len()).collect();
    order.sort_by_key(|&reader| readers[reader].used_for);
    let by_time = |fast: usize| match fast.checked_sub(1) {
        None => Ok(Verdict::Schedulable(1)),
        Some(last) => lifetime::buffers(&[readers[order[last]].used_for], writer),
    };
    if let Ok(Verdict::NotApplicable(assumption)) = by_time(order.len().min(1)) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    let lifetime = by_time(order.len()).ok().and_then(|verdict| verdict.bound().copied());
    let (mut split, mut mixed, mut slow) = (0, instances, instances.saturating_sub(2));
    for fast in 1..=order.len() {
        let reader = readers[order[fast - 1]].jobs;
        slow = slow.saturating_sub(reader_instances::instances(&[reader])?.bound().copied().unwrap_or(0));
        // Once time cannot protect a reader, it cannot protect any later one.
        let Ok(Verdict::Schedulable(by_time)) = by_time(fast) else { break };
        let Ok(count) = buffers::mixed(Claim::Buffer, slow, Some(by_time - 1)) else { break };
        if count <= mixed {
            (split, mixed) = (fast, count);
        }
    }
    order.truncate(split);
    Ok(Verdict::Schedulable(Sizes { instances, lifetime, mixed, fast: order }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reader(period: u64, response: u64) -> ReaderUse {
        let (period, response) = (Duration::from_ns(period), Duration::from_ns(response));
        ReaderUse { jobs: reader_instances::ReaderTiming { period, response }, used_for: response }
    }

    fn sizes(readers: &[ReaderUse], writer: &WriterTiming) -> Sizes {
        buffers(readers, writer).expect("small").bound().expect("valid").clone()
    }

    proptest! {
        /// Compares with all subsets. Never above either count alone, except for the two buffers that any mixture
        /// has.
        #[test]
        fn no_subset_is_better(
            raw in prop::collection::vec((1..60_u64, 1..90_u64), 0..7),
            period in 1..30_u64,
            within in 1..30_u64,
        ) {
            let readers: Vec<_> = raw.iter().map(|&(period, response)| reader(period, response)).collect();
            let writer = WriterTiming {
                period: Duration::from_ns(period),
                within: Duration::from_ns(within),
            };
            let found = sizes(&readers, &writer);
            let least = (0..1_u32 << readers.len()).map(|fast| {
                let part = |is: bool| {
                    (0..readers.len()).filter(move |i| (fast >> i & 1 == 1) == is).map(|i| &readers[i])
                };
                let jobs: u64 = part(false).map(|r| r.jobs.response.as_ns().div_ceil(r.jobs.period.as_ns())).sum();
                let longest = part(true).map(|r| r.used_for.as_ns()).max();
                jobs + longest.map_or(2, |longest| (1 + (longest + within).div_ceil(period)).max(2))
            });
            prop_assert_eq!(least.min(), Some(found.mixed));
            prop_assert!(found.mixed <= found.instances);
            prop_assert!(found.mixed <= found.lifetime.expect("small").max(2));
            prop_assert_eq!(found.least(), found.mixed.min(found.lifetime.expect("small")));
        }
    }

    #[test]
    fn by_hand() {
        let writer = WriterTiming { period: Duration::from_ns(10), within: Duration::from_ns(7) };
        // Two fast readers, two slow ones: 3 by the time of the fast ones (⌈(9 + 7) / 10⌉ + 1) and 2.
        let found = sizes(&[reader(500, 400), reader(12, 9), reader(8, 3), reader(150, 100)], &writer);
        assert_eq!(found, Sizes { instances: 6, lifetime: Some(42), mixed: 5, fast: vec![2, 1] });
        assert_eq!(found.least(), 5);
        // The slow one cannot be protected by time at all.
        let endless = ReaderUse { used_for: Duration::MAX, ..reader(500, 400) };
        let instant = WriterTiming { period: Duration::from_ns(1), within: Duration::from_ns(1) };
        assert_eq!(sizes(&[endless], &instant).lifetime, None);
        assert_eq!(sizes(&[endless], &instant).least(), 3);
    }
}
