// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Buffers by how many jobs of readers can be under way.
//!
//! ```text
//! Equation    I = Σ_r ⌈R_r / T_r⌉, which is the number of readers if no response is longer than the period
//!             NB = I + 2;  NB = I + 1 where the writer is above all readers on their one core and does not keep
//!             the newest buffer
//! Symbols     [ns] R response time of a reader, from arrival; T its period or least time between arrivals
//! Assumes     A1 T > 0   A2 a job uses the one value that it took, from its arrival to its completion at most
//!             A3 one writer, one job of it at a time
//! Verdict     sufficient; exact for I + 2 where jobs do overlap as A2 allows
//! Cost        one pass
//! Source      [Han14, II-B], [Chen97]; that I + 1 is for one core only: exhaustive search, `taut-share`'s `dbp`
//! ```
//!
//! **Why.** At any instant, only jobs that arrived in the last R_r are under way, and a half-open interval of that
//! length holds at most ⌈R_r / T_r⌉ arrivals. Each such job keeps one buffer; the newest value keeps one more, for a
//! reader that is about to take it, and the writer needs one. Where no reader can be about to take the newest value
//! while the writer runs, the writer may write the newest buffer itself.

use taut_time::Duration;

use crate::wide::{count, ns};
use crate::{Assumption, Overflow, Verdict};

/// A reader, as the theorem needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderTiming {
    /// T.
    pub period: Duration,
    /// R, from arrival.
    pub response: Duration,
}

/// Where writer and readers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterPlacement {
    /// Anywhere.
    Any,
    /// All on one core with fixed priorities, the writer more urgent than every reader, so that a write is one
    /// instant for the readers.
    WriterAboveOnOneCore,
}

/// I: how many jobs of readers can be under way at once.
///
/// # Errors
/// [`Overflow`].
pub fn instances(readers: &[ReaderTiming]) -> Result<Verdict<u64>, Overflow> {
    if readers.iter().any(|reader| reader.period.is_zero()) {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    // Fits: at most 2^64 readers with less than 2^64 jobs each.
    let sum = readers.iter().map(|r| ns(r.response).div_ceil(ns(r.period)).max(1)).sum();
    count(sum).map(Verdict::Schedulable)
}

/// NB.
///
/// # Errors
/// [`Overflow`].
pub fn buffers(readers: &[ReaderTiming], place: WriterPlacement) -> Result<Verdict<u64>, Overflow> {
    let more = match place {
        WriterPlacement::Any => 2,
        WriterPlacement::WriterAboveOnOneCore => 1,
    };
    match instances(readers)? {
        Verdict::Schedulable(jobs) => jobs.checked_add(more).map(Verdict::Schedulable).ok_or(Overflow),
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};

    use super::*;

    fn reader(period: u64, response: u64) -> ReaderTiming {
        ReaderTiming { period: Duration::from_ns(period), response: Duration::from_ns(response) }
    }

    /// Whether the writer always finds a buffer, over all states: which buffer is newest, and where each reader is.
    /// On one core a write is one step.
    fn always_free(readers: usize, buffers: usize, keep_newest: bool) -> bool {
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        enum At {
            Out,
            /// Has cleared its claim, and not yet loaded which buffer is newest.
            Cleared,
            Loaded(usize),
            Holds(usize),
        }
        let start = (0, vec![At::Out; readers]);
        let mut seen = HashSet::from([start.clone()]);
        let mut open = VecDeque::from([start]);
        while let Some((newest, at)) = open.pop_front() {
            let mut next = Vec::new();
            for i in 0..readers {
                let mut at = at.clone();
                at[i] = match at[i] {
                    At::Out | At::Holds(_) => At::Cleared,
                    At::Cleared => At::Loaded(newest),
                    At::Loaded(buffer) => At::Holds(buffer),
                };
                next.push((newest, at));
            }
            let kept =
                |buffer: &usize| (keep_newest && *buffer == newest) || at.contains(&At::Holds(*buffer));
            let mut free = (0..buffers).filter(|buffer| !kept(buffer)).peekable();
            if free.peek().is_none() {
                return false;
            }
            for written in free {
                // The writer gives the new buffer to each reader that has cleared its claim.
                let settled = |at: &At| match at {
                    At::Cleared | At::Loaded(_) => At::Holds(written),
                    other => *other,
                };
                next.push((written, at.iter().map(settled).collect()));
            }
            for state in next {
                if seen.insert(state.clone()) {
                    open.push_back(state);
                }
            }
        }
        true
    }

    #[test]
    fn searched_with_up_to_three_readers() {
        for readers in 1..=3 {
            let set = vec![reader(10, 10); readers];
            for (place, keep_newest) in
                [(WriterPlacement::Any, true), (WriterPlacement::WriterAboveOnOneCore, false)]
            {
                let found = *buffers(&set, place).expect("small").bound().expect("valid") as usize;
                assert!(always_free(readers, found, keep_newest), "{readers} readers, {place:?}");
                assert!(!always_free(readers, found - 1, keep_newest), "{readers} readers, {place:?}");
            }
        }
    }

    /// Counted over arrivals that are as dense as possible.
    #[test]
    fn jobs_that_overlap() {
        for period in 1..6_u64 {
            for response in 1..20_u64 {
                let under_way = |at: u64| {
                    (0..40).map(|job| job * period).filter(|&a| a <= at && at < a + response).count() as u64
                };
                let seen = (20..40).map(under_way).max();
                let found = instances(&[reader(period, response)]).expect("small");
                assert_eq!(found.bound().copied(), seen, "{period} {response}");
            }
        }
        assert_eq!(instances(&[reader(5, 5), reader(5, 6), reader(3, 1)]), Ok(Verdict::Schedulable(4)));
    }

    #[test]
    fn extremes() {
        let none = reader(0, 1);
        assert_eq!(instances(&[none]), Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
        assert_eq!(
            instances(&[ReaderTiming { period: Duration::from_ns(1), response: Duration::MAX }; 2]),
            Err(Overflow)
        );
        assert_eq!(buffers(&[], WriterPlacement::Any), Ok(Verdict::Schedulable(2)));
    }
}
