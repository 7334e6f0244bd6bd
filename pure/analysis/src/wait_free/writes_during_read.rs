// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Writes that can touch one read, by time alone.
//!
//! ```text
//! Equation    N = ⌈(R + D) / P⌉
//!             printed   N_max = max(2, ⌈(R_max − (P − D)) / P⌉ + 1), which is max(2, N)
//!             R = D_r − E                       the longest that a read can last
//!             printed   R_max = P_r − (C − C_R)
//! Symbols     [ns] R longest time from the begin of a read to its end, preemption included; P least time between
//!             two arrivals of the writer; D longest time from such an arrival to the end of the write
//!             D_r the reader's deadline or response time; E the least that its job executes outside the read
//!             P_r the reader's period, C its WCET, C_R the part of C that is the read
//! Assumes     A1 P > 0   A2 one write per arrival, within D of it
//!             R_max as printed: A3 the reader's deadline is its period or less, and is met with all of C executed
//!             A4 a sustainable scheduler on the reader's core: to execute less makes nothing later
//! Verdict     exact: some run has N writes that touch the read, none has more; N_max is N or one more
//! Cost        constant
//! Source      [Huang02, section 2.2]
//! ```
//!
//! **Why.** A write touches the read (x, x + R) only if its job arrived in (x − D, x + R). An open interval of that
//! length holds at most ⌈(R + D) / P⌉ instants that are P or more apart, and exactly that many for some x if they are
//! exactly P apart. The write in progress when the read began is among them.
//!
//! **What is left of a deadline.** The printed R_max charges the whole of C − C_R although a job may execute less of
//! it. It is right where A3 and A4 hold: if the rest of the job were as long as it may be, the part before the read
//! would make the read end later, the part after it would make the job end later still, and the deadline would be
//! met. Under global scheduling, with self-suspension or without an admission test, only the deadline minus the
//! execution that is certain is left, [`longest_read`].

use taut_time::Duration;

use crate::wide::{count, ns};
use crate::{Assumption, Overflow, Verdict};

/// The writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterTiming {
    /// P: the least time between two arrivals.
    pub period: Duration,
    /// D: the longest time from an arrival to the end of its write: a deadline that is met, or a response time from
    /// arrival, release jitter included.
    pub within: Duration,
}

/// N: the writes that can touch a read which lasts `read` at most.
///
/// # Errors
/// [`Overflow`].
pub fn most(read: Duration, writer: &WriterTiming) -> Result<Verdict<u64>, Overflow> {
    if writer.period.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    count((ns(read) + ns(writer.within)).div_ceil(ns(writer.period))).map(Verdict::Schedulable)
}

/// N_max: the same as printed, never less than 2.
///
/// # Errors
/// [`Overflow`].
pub fn printed(read: Duration, writer: &WriterTiming) -> Result<Verdict<u64>, Overflow> {
    Ok(most(read, writer)?.map(|writes| writes.max(2)))
}

/// R: the longest that a read can last, if the job ends within `within` of its arrival and executes at least
/// `elsewhere` outside the read. Nothing else is assumed.
pub fn longest_read(within: Duration, elsewhere: Duration) -> Duration {
    within.saturating_sub(elsewhere)
}

/// R_max as printed: needs A3 and A4, and that `read` (C_R) is part of `cost` (C); `None` if it is not, or if C does
/// not fit in the period.
pub fn printed_longest_read(period: Duration, cost: Duration, read: Duration) -> Option<Duration> {
    period.checked_sub(cost.checked_sub(read)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(period: u64, within: u64) -> WriterTiming {
        WriterTiming { period: Duration::from_ns(period), within: Duration::from_ns(within) }
    }

    fn is(value: Result<Verdict<u64>, Overflow>) -> Option<u64> {
        value.ok()?.bound().copied()
    }

    /// All writers of periods 2 to 8 whose deadlines are not longer than that, and reads of 1 to 24: 840 triples.
    /// Counts the writes that overlap an open read, for reads that begin at any quarter of a tick.
    #[test]
    fn counted_on_a_grid() {
        let mut triples = 0;
        for period in 2..=8_i64 {
            for within in 1..=period {
                for read in 1..=24_i64 {
                    let touch = |begin: i64| {
                        // Quarters of a tick.
                        let meets = |job: &i64| {
                            let arrival = 4 * period * job;
                            arrival < begin + 4 * read && arrival + 4 * within > begin
                        };
                        (-4..20).filter(meets).count() as u64
                    };
                    let seen = (0..4 * period).map(touch).max().expect("some");
                    let writer = at(period as u64, within as u64);
                    let read = Duration::from_ns(read as u64);
                    assert_eq!(is(most(read, &writer)), Some(seen), "{writer:?} {read}");
                    let literal = {
                        let (p, d, r) = (period, within, read.as_ns() as i64);
                        2.max((r - (p - d) + p - 1).div_euclid(p) + 1) as u64
                    };
                    assert_eq!(is(printed(read, &writer)), Some(literal), "{writer:?} {read}");
                    assert_eq!(literal, seen.max(2));
                    triples += 1;
                }
            }
        }
        assert_eq!(triples, 840);
    }

    /// [Huang02, Fig. 10], its R_max and N_max. Reader 3 is printed with a period of 22 and a cost of 9, which give
    /// 13, but with an R_max of 14, from which its N_max of 3 follows; 13 would give 2.
    #[test]
    fn huang02_figure_10_writes() {
        let writer = at(10, 7);
        let readers = [(8, 4), (12, 7), (23, 14), (22, 9), (50, 30), (150, 25), (500, 25)];
        let printed_reads = [4, 5, 9, 14, 20, 125, 475];
        let reads = readers.map(|(period, cost)| {
            printed_longest_read(Duration::from_ns(period), Duration::from_ns(cost), Duration::ZERO)
                .expect("it fits")
                .as_ns()
        });
        assert_eq!(reads, [4, 5, 9, 13, 20, 125, 475]);
        assert_eq!(is(printed(Duration::from_ns(13), &writer)), Some(2));
        let writes = printed_reads.map(|read| is(printed(Duration::from_ns(read), &writer)).expect("small"));
        assert_eq!(writes, [2, 2, 2, 3, 3, 14, 49]);
    }

    #[test]
    fn extremes() {
        assert_eq!(most(Duration::MAX, &at(0, 1)), Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
        assert_eq!(most(Duration::MAX, &at(1, 1)), Err(Overflow));
        assert_eq!(
            is(most(Duration::MAX, &WriterTiming { period: Duration::MAX, within: Duration::MAX })),
            Some(2)
        );
        assert_eq!(is(most(Duration::ZERO, &at(5, 0))), Some(0));
        assert_eq!(longest_read(Duration::from_ns(3), Duration::from_ns(5)), Duration::ZERO);
        assert_eq!(printed_longest_read(Duration::MAX, Duration::ZERO, Duration::MAX), None);
    }
}
