// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Capacity and latency of a queue between real-time tasks.
//!
//! ```text
//! Symbols     [ns] T_w, R_w the writer's period and response time (from arrival), n values sent per job
//!             T_r, R_r the reader's, m values taken per job; g the greatest common divisor of n and m
//! Rate        n · T_r ≤ m · T_w, else no queue is long enough
//! Wait        W = T_r · (n + m − g) / m;  a triggered reader with n · T_r ≤ T_w: W = min of that and (n − 1) · T_r
//! Capacity    min of   n · (⌊(R_w + W + R_r) / T_w⌋ + 1)                          (lifetime)
//!             and      max_{j≥0} n (j + 1) − m · max(0, ⌈(s_j − R_r) / T_r⌉ − 1)    (backlog)
//!                      with s_j = max(0, j · T_w − R_w)
//! Latency     from send to the end of the job that takes it: max(first, later) + R_r
//!             first ⌈n/m⌉ · T_r;  later R_w + W − (m · T_w − n · T_r) / m
//!             a triggered reader with n · T_r ≤ T_w: first (n − 1) · T_r;  later R_w + (2n − 1) · T_r − T_w
//! Assumes     A1 one writer, one reader, first in first out, empty at the start
//!             A2 writer jobs arrive T_w or more apart, send within R_w of their arrival, jobs in order
//!             A3 a reader's job takes until it has m values or the queue is empty
//!             A4 a periodic reader's jobs arrive every T_r; a triggered reader's job arrives at a send or while values
//!                wait, T_r or more after the previous arrival: if that gap delays it, exactly T_r after
//! Verdict     sufficient; exact for one value a job and free phases (test: some run attains it)
//! Cost        a pass over j, of about (R_w + R_r + 2 T_r) / T_w + m / g
//! Source      own; the form is that of arrival and service curves, [LeBoudec01] "Network Calculus"
//! ```
//!
//! **Wait.** The time from the arrival A of the writer's job to the arrival of the reader's job that takes its value
//! is at most R_w + W. Let u be the last send before ours that found the queue empty. A job that arrived at
//! A₀ ≥ u − R_w, j jobs before ours, made it: A ≥ A₀ + j T_w, and at most n (j + 1) values were sent since u. While
//! they wait, each reader's job takes m of them; the k-th reader's job that arrives after u does so by u + k T_r. So
//! the job that takes our value arrives by u + ⌈n (j + 1) / m⌉ T_r ≤ A + R_w + ⌈n (j + 1) / m⌉ T_r − j T_w. With
//! T_w ≥ n T_r / m, at most T_r (n + (−n (j + 1) mod m)) / m is left, and a residue of multiples of n modulo m is at
//! most m − g. A triggered reader's job arrives at once unless its gap delays it. In a chain of arrivals exactly T_r
//! apart, the first at a send of a job j jobs before ours, each job takes at least one value. So the job that takes
//! ours arrives by A − j T_w + R_w + (n (j + 1) − 1) T_r ≤ A + R_w + (n − 1) T_r.
//!
//! **Lifetime.** At a send of job A', only values of jobs with A + R_w + W + R_r ≥ A' still wait: those of
//! ⌊(R_w + W + R_r) / T_w⌋ + 1 jobs that are T_w apart.
//!
//! **Backlog.** A send j jobs after the send at u happens at u + s_j or later, and at most n (j + 1) values were sent
//! since u. At least ⌈(s_j − R_r) / T_r⌉ − 1 reader's jobs arrive in (u, u + s_j − R_r), and each has taken m values.
//! Once the inner term of the maximum is above 0, adding m / g to j adds no more values than takes.
//!
//! **Latency.** As for the wait, but counted from our send, which is not before A, and not before u.

pub mod alarms;
pub mod blocks;
pub mod broadcast;
pub mod lanes;
pub mod overflow;

use taut_time::Duration;

use crate::wide::{duration, greatest_common_divisor};
use crate::{Assumption, Overflow, Verdict, Why};

/// The writing task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendingTask {
    /// T_w.
    pub period: Duration,
    /// R_w, from arrival.
    pub response: Duration,
    /// n.
    pub sends: u32,
}

/// The reading task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakingTask {
    /// T_r: its period, or the least time between two of its arrivals.
    pub period: Duration,
    /// R_r, from arrival.
    pub response: Duration,
    /// m.
    pub takes: u32,
    /// Whether the queue releases it.
    pub triggered: bool,
}

/// The most values that can wait: a queue of that capacity is never full at a send.
///
/// # Errors
/// [`Overflow`].
pub fn capacity(writer: &SendingTask, reader: &TakingTask) -> Result<Verdict<u64>, Overflow> {
    check(writer, reader, || {
        let q = Figures::of(writer, reader);
        let alive = (q.rw + q.wait() + q.rr) / q.tw + 1;
        let lifetime = alive * q.n;
        let least = lifetime.min(backlog(&q, lifetime));
        u64::try_from(least).map_err(|_| Overflow)
    })
}

/// W: from the arrival of the writer's job plus R_w, to the arrival of the reader's job that takes the value.
///
/// # Errors
/// [`Overflow`].
pub fn wait(writer: &SendingTask, reader: &TakingTask) -> Result<Verdict<Duration>, Overflow> {
    check(writer, reader, || duration(Figures::of(writer, reader).wait()))
}

/// From a send to the end of the job that takes the value.
///
/// # Errors
/// [`Overflow`].
pub fn latency(writer: &SendingTask, reader: &TakingTask) -> Result<Verdict<Duration>, Overflow> {
    check(writer, reader, || {
        let q = Figures::of(writer, reader);
        // m · T_w − n · T_r ≥ 0 by the rate; rounded down, since it is subtracted.
        let spare = (q.m * q.tw - q.n * q.tr) / q.m;
        let first = q.n.div_ceil(q.m) * q.tr;
        let mut longest = first.max((q.rw + q.wait_any()).saturating_sub(spare));
        if q.follows() {
            let first = (q.n - 1) * q.tr;
            longest = longest.min(first.max((q.rw + (2 * q.n - 1) * q.tr).saturating_sub(q.tw)));
        }
        duration(longest + q.rr)
    })
}

/// The symbols. Counts are 32 and times 64 bits wide, so that no product or sum below passes 128 bits.
struct Figures {
    tw: u128,
    rw: u128,
    n: u128,
    tr: u128,
    rr: u128,
    m: u128,
    triggered: bool,
}

impl Figures {
    fn of(writer: &SendingTask, reader: &TakingTask) -> Self {
        Self {
            tw: writer.period.as_ns().into(),
            rw: writer.response.as_ns().into(),
            n: writer.sends.into(),
            tr: reader.period.as_ns().into(),
            rr: reader.response.as_ns().into(),
            m: reader.takes.into(),
            triggered: reader.triggered,
        }
    }

    /// Whether the queue releases the reader, and only the reader's gap can delay it.
    fn follows(&self) -> bool {
        self.triggered && self.n * self.tr <= self.tw
    }

    /// W for any reader, rounded up.
    fn wait_any(&self) -> u128 {
        let factor = self.n + self.m - greatest_common_divisor(self.n, self.m);
        (self.tr * factor).div_ceil(self.m)
    }

    /// W.
    fn wait(&self) -> u128 {
        let any = self.wait_any();
        if self.follows() { any.min((self.n - 1) * self.tr) } else { any }
    }
}

/// The longest pass over j; beyond it the lifetime bound is the answer.
const BACKLOG_STEPS_MAX: u128 = 1 << 16;

fn backlog(q: &Figures, otherwise: u128) -> u128 {
    let steps = (q.rw + q.rr + 2 * q.tr) / q.tw + q.m / greatest_common_divisor(q.n, q.m) + 1;
    if steps > BACKLOG_STEPS_MAX {
        return otherwise;
    }
    let waiting = |j: u128| {
        let since = (j * q.tw).saturating_sub(q.rw).saturating_sub(q.rr);
        let takes = since.div_ceil(q.tr).saturating_sub(1);
        (q.n * (j + 1)).saturating_sub(q.m * takes)
    };
    (0..=steps).map(waiting).max().unwrap_or(otherwise)
}

fn check<B>(
    writer: &SendingTask,
    reader: &TakingTask,
    bound: impl FnOnce() -> Result<B, Overflow>,
) -> Result<Verdict<B>, Overflow> {
    if writer.period.is_zero() || reader.period.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if writer.sends == 0 || reader.takes == 0 {
        return Ok(Verdict::NotApplicable(Assumption::PositiveCount));
    }
    let sent = u128::from(writer.sends) * u128::from(reader.period.as_ns());
    let taken = u128::from(reader.takes) * u128::from(writer.period.as_ns());
    if sent > taken {
        return Ok(Verdict::NotShown(Why::Rate));
    }
    bound().map(Verdict::Schedulable)
}
