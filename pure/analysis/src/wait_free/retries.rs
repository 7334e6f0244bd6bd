// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How often a read of one unprotected buffer is repeated: NBW with a reader that has a deadline.
//!
//! ```text
//! Equation    other core   X = a + (⌊(X + R_w) / T_w⌋ + 1) · min(s · a, w + 2 a);  retries (⌊(X + R_w) / T_w⌋ + 1) · s
//!                          s = ⌊w / b⌋ + 2
//!             same core, writer above   retries ⌈(D + J_w) / T_w⌉
//!             printed   3 per write, where a write lasts as long as an attempt: s for w = b
//! Symbols     [ns] a longest, b shortest time of one attempt, from its first look at the counter to the next
//!             attempt's; w longest time of a write; T_w least time between the writer's arrivals, R_w from an arrival
//!             to the end of its write, J_w from an arrival to its release; D the longest that the reader's job lasts
//!             X from the start of the first attempt to the end of the one that succeeds
//! Assumes     A1 T_w, b > 0, b ≤ a, w ≤ R_w   A2 one write per job, jobs in order   A3 a, b and w include all
//!             preemption   A4 attempts follow each other at once
//!             same core: A5 fixed priorities, the reader below the writer, so that a write is one instant for the
//!             reader; the writer does not suspend itself while it writes
//! Verdict     sufficient; s is attained. No bound if writes come too fast: min(s · a, w + 2 a) ≥ T_w
//! Cost        pseudo-polynomial, limited by steps
//! Source      [Kopetz93], as reported in [PerezRuiz20, IV-B]; same core: [Anderson97]; the form with R_w is own
//! ```
//!
//! **Other core.** An attempt fails only if it touches a write, ends included. Of consecutive attempts that touch one
//! write of length w, at most two extend beyond the write and at most ⌊w / b⌋ do not. They all lie within w + 2 a. A
//! closed window of length X touches a write only if the write's job arrived at most X + R_w before the window's end.
//! So the second term bounds the time of all failed attempts in the window, and the read ends by the first X that
//! solves the equation.
//!
//! **Same core.** A write happens as a whole between two steps of the reader and fails the one attempt that it hits.
//! Only a writer's job that is released while the reader's job is pending does so: an earlier one is complete before
//! the reader runs. The bound assumes that the reader's job ends within D. To verify this, compute the reader's
//! response time from its cost with the retries, [`cost`]: it must be at most D.

use taut_time::Duration;

use crate::wide::{count, duration, ns};
use crate::{Assumption, Overflow, Verdict, Why};

/// Iterations after which the search gives up.
pub const STEPS_MAX: u32 = 1_000_000;

/// The writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OvertakingWriter {
    /// T_w.
    pub period: Duration,
    /// R_w: from an arrival to the end of the write.
    pub response: Duration,
    /// J_w: from an arrival to the release.
    pub jitter: Duration,
    /// w.
    pub write: Duration,
}

/// One attempt to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// b.
    pub shortest: Duration,
    /// a.
    pub longest: Duration,
}

/// Bounds of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Attempts that fail.
    pub retries: u64,
    /// X: from the start of the first attempt to the end of the last.
    pub within: Duration,
}

/// s: how many attempts can fail because of one write. The printed 3 is s for a write as long as an attempt.
///
/// # Errors
/// [`Overflow`] if an attempt may take no time: then there is no bound.
pub fn per_write(attempt: &Attempt, write: Duration) -> Result<u64, Overflow> {
    let whole = write.div_floor(attempt.shortest).ok_or(Overflow)?;
    whole.checked_add(2).ok_or(Overflow)
}

/// Retries of a reader that runs in parallel to the writer, or whose preemption [`Attempt`] includes.
///
/// # Errors
/// [`Overflow`].
pub fn on_another_core(attempt: &Attempt, writer: &OvertakingWriter) -> Result<Verdict<Retries>, Overflow> {
    if writer.period.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if attempt.shortest.is_zero() || attempt.shortest > attempt.longest || writer.write > writer.response {
        return Ok(Verdict::NotApplicable(Assumption::TimeOrder));
    }
    let failed = per_write(attempt, writer.write)?;
    let (longest, period) = (ns(attempt.longest), ns(writer.period));
    let wasted = (u128::from(failed) * longest).min(ns(writer.write) + 2 * longest);
    if wasted >= period {
        return Ok(Verdict::NotShown(Why::Rate));
    }
    let writes = |within: u128| (within + ns(writer.response)) / period + 1;
    let mut within = longest + wasted;
    for _ in 0..STEPS_MAX {
        let time = writes(within).checked_mul(wasted).ok_or(Overflow)?;
        let next = longest.checked_add(time).ok_or(Overflow)?;
        if next == within {
            let retries = count(writes(within).checked_mul(failed.into()).ok_or(Overflow)?)?;
            return Ok(Verdict::Schedulable(Retries { retries, within: duration(within)? }));
        }
        within = next;
        duration(within)?;
    }
    Ok(Verdict::NotShown(Why::Steps(STEPS_MAX)))
}

/// Retries of a job of a less urgent reader on the writer's core, within `deadline` of its release.
///
/// # Errors
/// [`Overflow`].
pub fn below_the_writer(deadline: Duration, writer: &OvertakingWriter) -> Result<Verdict<u64>, Overflow> {
    if writer.period.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    count((ns(deadline) + ns(writer.jitter)).div_ceil(ns(writer.period))).map(Verdict::Schedulable)
}

/// C of a job that reads once: `other` is its execution outside the read, `attempt` the execution of one attempt.
///
/// # Errors
/// [`Overflow`].
pub fn cost(other: Duration, attempt: Duration, retries: u64) -> Result<Duration, Overflow> {
    let reads = retries.checked_add(1).and_then(|reads| attempt.checked_mul(reads));
    reads.and_then(|reads| other.checked_add(reads)).ok_or(Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(period: u64, response: u64, write: u64) -> OvertakingWriter {
        let [period, response, write] = [period, response, write].map(Duration::from_ns);
        OvertakingWriter { period, response, jitter: Duration::ZERO, write }
    }

    fn attempt(shortest: u64, longest: u64) -> Attempt {
        Attempt { shortest: Duration::from_ns(shortest), longest: Duration::from_ns(longest) }
    }

    /// The result of the worst reader whose first attempt begins at `begin`: failed attempts, and how long the read
    /// takes. Tries all sequences of attempts, by dynamic programming over the instant at which one begins.
    fn worst(attempt: &Attempt, writes: &[(u64, u64)], begin: u64, end: u64) -> (u64, u64) {
        let lengths = attempt.shortest.as_ns()..=attempt.longest.as_ns();
        let fails = |from: u64, to: u64| writes.iter().any(|&(s, e)| from <= e && to >= s);
        let (mut most, mut last) = (0, begin);
        let mut reached: Vec<Option<u64>> = vec![None; (end + 1) as usize];
        reached[begin as usize] = Some(0);
        for from in begin..end {
            let Some(failed) = reached[from as usize] else { continue };
            for length in lengths.clone() {
                let to = from + length;
                assert!(to <= end, "the horizon is too short");
                if fails(from, to) {
                    let place = &mut reached[to as usize];
                    *place = (*place).max(Some(failed + 1));
                } else {
                    most = most.max(failed);
                    last = last.max(to);
                }
            }
        }
        (most, last - begin)
    }

    #[test]
    fn no_timed_run_needs_more() {
        let (mut cases, mut attained) = (0, 0);
        for (shortest, longest) in [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3)] {
            for write in 1..=3 {
                for period in 8..16 {
                    for response in [write, write + 2, period] {
                        let (attempt, writer) = (attempt(shortest, longest), writer(period, response, write));
                        let Verdict::Schedulable(found) = on_another_core(&attempt, &writer).expect("small")
                        else {
                            continue;
                        };
                        let horizon = 2 * found.within.as_ns() + 12 * period;
                        let mut seen = (0, 0);
                        // Which jobs write as late as they may: none, those up to some job, those after it, or every
                        // second job.
                        for late in 0..4_u64 {
                            let is_late = |job: u64| match late {
                                0 => false,
                                1 => job <= 2,
                                2 => job > 2,
                                _ => job.is_multiple_of(2),
                            };
                            let write_of = |job: u64| {
                                let begin = job * period + if is_late(job) { response - write } else { 0 };
                                (begin, begin + write)
                            };
                            let writes: Vec<_> = (0..horizon / period + 1).map(write_of).collect();
                            for begin in 0..4 * period {
                                let (most, last) = worst(&attempt, &writes, begin, horizon);
                                seen = (seen.0.max(most), seen.1.max(last));
                            }
                        }
                        assert!(seen.0 <= found.retries, "{attempt:?} {writer:?}: {seen:?} {found:?}");
                        assert!(seen.1 <= found.within.as_ns(), "{attempt:?} {writer:?}: {seen:?} {found:?}");
                        cases += 1;
                        attained += u64::from(seen.0 * 2 >= found.retries);
                    }
                }
            }
        }
        assert!(cases > 150 && attained * 3 > cases, "{attained} of {cases}");
    }

    /// [PerezRuiz20, IV-B]: a read and a write of the same length, up to three retries by one write.
    #[test]
    fn kopetz93_three_retries() {
        let attempt = attempt(4, 4);
        assert_eq!(per_write(&attempt, Duration::from_ns(4)), Ok(3));
        // Attempts at 0, 4 and 8 and a write from 4 to 8, counted: each touches it for an instant at least.
        assert_eq!(worst(&attempt, &[(4, 8)], 0, 40), (3, 16));
        let found = on_another_core(&attempt, &writer(100, 4, 4)).expect("small");
        assert_eq!(found, Verdict::Schedulable(Retries { retries: 3, within: Duration::from_ns(4 + 12) }));
    }

    #[test]
    fn a_writer_that_is_too_fast() {
        // Every attempt can touch a write.
        let found = on_another_core(&attempt(4, 4), &writer(12, 4, 4)).expect("small");
        assert_eq!(found, Verdict::NotShown(Why::Rate));
        let writes: Vec<_> = (0..40).map(|job| (job * 8, job * 8 + 4)).collect();
        let mut at = 2;
        for _ in 0..50 {
            assert!(writes.iter().any(|&(s, e)| at <= e && at + 4 >= s));
            at += 4;
        }
    }

    /// On one core the reader runs whenever the writer does not; a write fails the attempt that it hits. Runs all
    /// offsets of the writer and all patterns of late jobs, tick by tick.
    #[test]
    fn below_the_writer_by_running() {
        let (mut cases, mut attained) = (0, 0);
        for period in 3..8_u64 {
            for jitter in 0..3_u64 {
                for length in 1..4_u64 {
                    let w = OvertakingWriter {
                        period: Duration::from_ns(period),
                        response: Duration::from_ns(jitter + 1),
                        jitter: Duration::from_ns(jitter),
                        write: Duration::from_ns(1),
                    };
                    // C = an attempt of `length` and its retries; D grows until C and the writer's jobs fit in it.
                    let mut deadline = length;
                    let retries = loop {
                        let r = *below_the_writer(Duration::from_ns(deadline), &w)
                            .expect("small")
                            .bound()
                            .expect("ok");
                        let need =
                            cost(Duration::ZERO, Duration::from_ns(length), r).expect("small").as_ns() + r;
                        if need <= deadline || need > 200 {
                            break (need <= deadline).then_some(r);
                        }
                        deadline = need;
                    };
                    let Some(bound) = retries else { continue };
                    let mut most = 0;
                    for offset in 0..period {
                        for pattern in 0..64_u64 {
                            let release =
                                |job: u64| offset + job * period + jitter * (pattern >> (job % 6) & 1);
                            // The reader is released at `jitter`, so that a late job can come with it.
                            let (mut done, mut failed, mut dirty) = (0, 0, false);
                            let mut now = jitter;
                            while done < length {
                                if (0..300).any(|job| release(job) == now) {
                                    // The writer's one tick; it spoils only an attempt that has begun.
                                    dirty |= done > 0;
                                } else {
                                    done += 1;
                                    if done == length && dirty {
                                        (done, dirty, failed) = (0, false, failed + 1);
                                    }
                                }
                                now += 1;
                                assert!(now < 1_000);
                            }
                            assert!(failed <= bound, "{w:?} {length}: {failed} > {bound}");
                            assert!(now - jitter <= deadline);
                            most = most.max(failed);
                        }
                    }
                    cases += 1;
                    attained += u32::from(most == bound);
                }
            }
        }
        assert!(cases >= 20 && attained * 4 > cases, "{attained} of {cases}");
    }

    #[test]
    fn extremes() {
        let bad = |a: &Attempt, w: &OvertakingWriter| on_another_core(a, w).expect("small");
        assert_eq!(bad(&attempt(1, 1), &writer(0, 1, 1)), Verdict::NotApplicable(Assumption::PositivePeriod));
        assert_eq!(bad(&attempt(0, 1), &writer(9, 1, 1)), Verdict::NotApplicable(Assumption::TimeOrder));
        assert_eq!(bad(&attempt(2, 1), &writer(9, 1, 1)), Verdict::NotApplicable(Assumption::TimeOrder));
        assert_eq!(bad(&attempt(1, 1), &writer(9, 1, 2)), Verdict::NotApplicable(Assumption::TimeOrder));
        assert_eq!(
            below_the_writer(Duration::MAX, &OvertakingWriter { jitter: Duration::MAX, ..writer(1, 1, 1) }),
            Err(Overflow)
        );
        assert_eq!(cost(Duration::MAX, Duration::from_ns(1), 0), Err(Overflow));
        // A rate of nearly one takes many steps or overflows, but ends.
        let slow = on_another_core(&attempt(1, 1), &writer(4, u64::MAX, 1));
        assert!(matches!(slow, Err(Overflow) | Ok(Verdict::Schedulable(_))));
    }
}
