// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Buffers by how long a value is used.
//!
//! ```text
//! Equation    NB = 1 + ⌈(max_r l_r + R_w) / T_w⌉
//!             without the writer's response: 1 + ⌈max_r l_r / T_w⌉, unsound
//! Symbols     [ns] l longest time from the moment when a reader takes the number of the newest buffer to its last
//!             read of it; at most its response time if it takes the number at its release or later
//!             R_w the writer's response time from arrival, release jitter included; T_w least time between arrivals
//! Assumes     A1 T_w > 0   A2 buffers are written in turn, one per job of the writer, jobs in order
//! Verdict     exact: with a buffer less, the writer writes a buffer that is read, in some run that A1 and A2 allow
//! Cost        one pass
//! Source      [Kopetz93], [Han14, II-B], whose formula is lost in the copy known here; the form with R_w is own
//! ```
//!
//! **Why.** Let write k be the newest at the instant t when a reader takes its number. Job k + 1 completes after t,
//! so it arrived after t − R_w, and job k + n after t − R_w + (n − 1) T_w. With n buffers, job k + n writes over k,
//! and it does so too soon if it may start before t + l; (n − 1) T_w ≥ l + R_w excludes that. This is the count of
//! [`super::writes_during_read`] plus one.
//!
//! **Why R_w cannot be left out.** A writer that is late once and on time ever after writes l / T_w + 1 times within
//! l or less. Then [`without_writer_response`] is a buffer short, which a test shows.

use taut_time::Duration;

use super::buffers::temporal;
use super::writes_during_read::{self, WriterTiming};
use crate::wide::{count, ns};
use crate::{Assumption, Overflow, Verdict};

/// NB for readers that use a value for `used_for` each; 1 if there are none.
///
/// # Errors
/// [`Overflow`].
pub fn buffers(used_for: &[Duration], writer: &WriterTiming) -> Result<Verdict<u64>, Overflow> {
    let Some(longest) = used_for.iter().max() else { return Ok(Verdict::Schedulable(1)) };
    match writes_during_read::most(*longest, writer)? {
        Verdict::Schedulable(writes) => temporal(writes).map(Verdict::Schedulable),
        other => Ok(other),
    }
}

/// The form that ignores how late within its response time the writer writes: unsound, kept for comparison.
///
/// # Errors
/// [`Overflow`].
pub fn without_writer_response(
    used_for: &[Duration],
    writer: &WriterTiming,
) -> Result<Verdict<u64>, Overflow> {
    if writer.period.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    let longest = used_for.iter().max().map_or(0, |longest| ns(*longest));
    count(longest.div_ceil(ns(writer.period)) + 1).map(Verdict::Schedulable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(period: u64, within: u64) -> WriterTiming {
        WriterTiming { period: Duration::from_ns(period), within: Duration::from_ns(within) }
    }

    fn is(value: Result<Verdict<u64>, Overflow>) -> u64 {
        *value.expect("small").bound().expect("valid")
    }

    /// The least number of buffers for which no run writes a buffer that is read, found by running. The writer's jobs
    /// arrive every `period` and write at an instant within `within`; a read begins at any half tick and lasts
    /// `used`. Jobs up to `late` write as late as they may, and later jobs at their arrival: with no other choice do
    /// more jobs write in a window that begins just before the late one.
    fn least(used: u64, period: u64, within: u64) -> u64 {
        let (used, period, within) = (2 * used, 2 * period, 2 * within);
        let mut most = 0;
        for late in 0..8 {
            let write = |job: u64| job * period + if job <= late { within } else { 0 };
            for begin in 0..12 * period {
                // The newest write that is complete.
                let Some(newest) = (0..40).take_while(|&job| write(job) <= begin).last() else { continue };
                let begun = (newest + 1..60).take_while(|&job| write(job) < begin + used).count() as u64;
                most = most.max(begun);
            }
        }
        // Write newest + 1 takes the next buffer; `most` writes need as many buffers besides the one that is read.
        most + 1
    }

    #[test]
    fn as_many_as_some_run_needs() {
        for period in 2..6 {
            for within in 1..=period {
                for used in 1..16 {
                    let bound = is(buffers(&[Duration::from_ns(used)], &at(period, within)));
                    assert_eq!(least(used, period, within), bound, "T {period} R {within} l {used}");
                }
            }
        }
    }

    /// T = 10, R_w = 9, l = 10: a late job writes at 19 and the next one, on time, at 20. Both write in a read from
    /// just before 19 to just before 29.
    #[test]
    fn a_late_writer_breaks_the_form_without_its_response() {
        let writer = at(10, 9);
        let used = [Duration::from_ns(10)];
        assert_eq!(is(without_writer_response(&used, &writer)), 2);
        assert_eq!(is(buffers(&used, &writer)), 3);
        assert_eq!(least(10, 10, 9), 3);
    }

    #[test]
    fn extremes() {
        let used = [Duration::MAX];
        assert_eq!(buffers(&used, &at(0, 1)), Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
        assert_eq!(buffers(&used, &at(1, 0)), Err(Overflow));
        assert_eq!(without_writer_response(&used, &at(1, 0)), Err(Overflow));
        assert_eq!(is(buffers(&[], &at(1, 1))), 1);
    }
}
