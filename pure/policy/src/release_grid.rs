// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! When a task that follows a device's clock is released: a phase-locked loop in integers.
//!
//! Symbols, in ns: T, D, J, S as [`DeviceClock`] has them; p(n) the instant of tick n, plus the offset; a(n) that of its
//! observation, plus the offset; r(k) release k.
//!
//! # Assumes
//! A1 T − D ≤ p(n + 1) − p(n) ≤ T + D. A2 p(n) ≤ a(n) ≤ p(n) + J. Not every tick need be observed, and an observation may come
//! to the loop at any later time. What holds without A1 and A2 is said so.
//!
//! # Rule
//! The loop keeps an interval I(k) = [lo, hi] for the tick of release k. For each release:
//!
//! 1. lo += T − D, hi += T + D.
//! 2. For a new observation a, j is the whole number nearest to (c − a + J / 2) / T, where c is the centre of I: a is that of the tick
//!    j ticks before the one of this release. I becomes its intersection with `[a − J + j T − |j| D, a + j T + |j| D]`. If it is empty, the device
//!    has broken A1 or A2. Then, and if the windows of two ticks overlap, the loop starts anew with the second interval alone.
//! 3. r(k + 1) = r(k) + T + x, where x = c − r(k) − T, limited to ±(D + S).
//!
//! # Proof
//! **Gaps**: by 3, T − D − S ≤ r(k + 1) − r(k) ≤ T + D + S, whatever is observed.
//!
//! **The tick is in I.** By A1 it stays there in 1. By A1 and A2 it is in the second interval of 2, if j is right. It is:
//! let w be the width of I. Tick n, which is i ticks before that of this release, is observed within (w + J) / 2 + |i| D of c − i T + J / 2. If a is
//! nearest to the middle of another window j, then (|i − j| − ½) T ≤ (w + J) / 2 + (|j| + |i − j|) D. The loop starts anew
//! unless w + J + 2 (|j| + 1) D < T, so (|i − j| − 1) (T − D) < 0, which no i ≠ j satisfies. So a device that keeps its word is
//! never said to have broken it.
//!
//! **Locked.** E = ⌈J / 2⌉ + 8 D. The age is the number of ticks since the newest one that was observed. While the age is at most 8,
//! w ≤ J + 16 D, so w / 2 ≤ E. Let far(k) be the larger distance of r(k) from an end of I(k). *If far(k) ≤ E, then far(k + 1) ≤ E*: without the
//! limit of 3, r is the centre, and far = ⌈w / 2⌉ ≤ E. If x was more than D + S, then r is less than c, so r − lo < w / 2 ≤ E; and
//! hi(k + 1) ≤ hi(k) + T + D, so hi(k + 1) − r(k + 1) ≤ hi(k) − r(k) − S ≤ E − S. If it was less than −(D + S), the same holds with both
//! ends exchanged. The grid is locked if the age is at most 8 and far ≤ E; since the tick is in I, |r(k) − p(k)| ≤ E.
//!
//! **It locks.** By the same inequality the larger distance falls by S in each period until the limit of 3 does not apply. A
//! loop that starts anew has |c − r(k) − T| ≤ T / 2 + 1, and the tick at most w / 2 further; so after ⌈(T / 2 + 1 + w / 2) / S⌉ ≤ 128 releases
//! with an age of at most 8 it is locked, since [`DeviceClock::is_distinct`] has w < T.
//!
//! **Without observations** r goes on every T (within D + S until it has reached c), and the tick is within ⌈J / 2⌉ + m D of c, m ticks
//! after the last one that was observed, if A1 holds.
//!
//! # Cost
//! Constant: one division.
//!
//! # Source
//! Own. The interval is the set-membership estimate of Schweppe (1968), here of one number.

use taut_time::{Duration, Instant};

use crate::device_clock::{DeviceClock, TICKS_UNSEEN_MAX};

/// What a release has to do with the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridState {
    /// No tick has been observed that says where the device is.
    Free,
    /// The grid moves towards the device's ticks.
    Approaching,
    /// The phase error is at most [`DeviceClock::phase_error`].
    Locked,
    /// More than 8 ticks passed since the last one that was observed. The phase error grows by D with each.
    Unseen,
}

/// A release of a task that follows a device's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridRelease {
    /// When.
    pub at: Instant,
    /// What the release has to do with the device.
    pub state: GridState,
    /// The most by which the release and its tick can be apart, by what was observed and if the device keeps its word;
    /// `None` if nothing says where the tick is.
    pub error: Option<Duration>,
    /// Whether an observation that is new for this release proves that the device broke its word.
    pub broke: bool,
}

/// Where the tick of a release is.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    lo: i128,
    hi: i128,
    /// Ticks since the newest one that was observed.
    age: u64,
}

/// The releases of a task that follows a device's clock, one after another.
#[derive(Clone, Debug)]
pub struct ReleaseGrid {
    period: i128,
    offset: i128,
    drift: i128,
    jitter: i128,
    step: i128,
    /// E.
    bound: i128,
    /// The last release.
    at: i128,
    estimate: Option<Estimate>,
    /// The newest observation that the loop has used.
    used: Option<Instant>,
}

impl ReleaseGrid {
    /// The grid of a clock, whose first release is at an instant that has nothing to do with the device.
    pub fn new(clock: &DeviceClock, first: Instant) -> Self {
        let of = |time: Duration| i128::from(time.as_ns());
        Self {
            period: of(clock.period).max(1),
            offset: of(clock.offset),
            drift: of(clock.drift()),
            jitter: of(clock.jitter),
            step: of(clock.step()),
            bound: of(clock.phase_error()),
            at: i128::from(first.as_ns()),
            estimate: None,
            used: None,
        }
    }

    /// The next release, by the newest observation of a tick; `None` if there was none yet. Constant time.
    pub fn next(&mut self, newest: Option<Instant>) -> GridRelease {
        let mut estimate = self.estimate.map(|of| self.a_period_later(of));
        let mut broke = false;
        if let Some(observed) = newest.filter(|_| newest != self.used) {
            self.used = newest;
            let tick = i128::from(observed.as_ns()) + self.offset;
            let narrowed = estimate.map(|of| self.narrowed(of, tick));
            broke = narrowed == Some(Narrowed::Empty);
            estimate = match narrowed {
                Some(Narrowed::To(lo, hi, age)) => Some(Estimate { lo, hi, age }),
                _ => Some(self.anew(tick)),
            };
        }
        // An interval of a period says nothing.
        self.estimate = estimate.filter(|of| of.hi - of.lo < self.period);
        let correction = |of: Estimate| of.lo + (of.hi - of.lo) / 2 - self.at - self.period;
        let correction = self.estimate.map_or(0, correction);
        self.at += self.period + correction.clamp(-self.step, self.step);
        self.release(broke)
    }

    /// Moves the last release so many periods on, over releases that do not take place. Constant time.
    pub fn pass_over(&mut self, periods: u64) -> GridRelease {
        let count = i128::from(periods);
        self.at += count * self.period;
        self.estimate = self.estimate.map(|of| Estimate {
            lo: of.lo + count * (self.period - self.drift),
            hi: of.hi + count * (self.period + self.drift),
            age: of.age.saturating_add(periods),
        });
        self.estimate = self.estimate.filter(|of| of.hi - of.lo < self.period);
        self.release(false)
    }

    /// The last release.
    fn release(&self, broke: bool) -> GridRelease {
        let far = self.estimate.map(|of| (of.hi - self.at).max(self.at - of.lo));
        GridRelease {
            at: Instant::from_ns(u64::try_from(self.at).unwrap_or(u64::MAX)),
            state: self.state(far),
            error: far.map(|far| Duration::from_ns(u64::try_from(far).unwrap_or(u64::MAX))),
            broke,
        }
    }

    fn state(&self, far: Option<i128>) -> GridState {
        match self.estimate.zip(far) {
            None => GridState::Free,
            Some((of, _)) if of.age > TICKS_UNSEEN_MAX => GridState::Unseen,
            Some((_, far)) if far <= self.bound => GridState::Locked,
            Some(_) => GridState::Approaching,
        }
    }

    fn a_period_later(&self, of: Estimate) -> Estimate {
        let (lo, hi) = (of.lo + self.period - self.drift, of.hi + self.period + self.drift);
        Estimate { lo, hi, age: of.age.saturating_add(1) }
    }

    /// Where the tick of the next release is by this observation of the tick `before` ticks before it.
    fn by_observation(&self, tick: i128, before: i128) -> (i128, i128) {
        let (nominal, drift) = (tick + before * self.period, before.abs() * self.drift);
        (nominal - self.jitter - drift, nominal + drift)
    }

    /// How many ticks before the one at `twice_centre` / 2 a tick was that is observed at `tick`.
    fn ticks_before(&self, twice_centre: i128, tick: i128) -> i128 {
        (twice_centre - 2 * tick + self.jitter + self.period).div_euclid(2 * self.period)
    }

    fn narrowed(&self, of: Estimate, tick: i128) -> Narrowed {
        let before = self.ticks_before(of.lo + of.hi, tick);
        if of.hi - of.lo + self.jitter + 2 * (before.abs() + 1) * self.drift >= self.period {
            return Narrowed::Overlapping;
        }
        let (lo, hi) = self.by_observation(tick, before);
        let (lo, hi) = (lo.max(of.lo), hi.min(of.hi));
        match lo <= hi {
            true => Narrowed::To(lo, hi, of.age.min(age(before))),
            false => Narrowed::Empty,
        }
    }

    /// The interval by one observation alone, of whichever tick makes it the nearest to the next release.
    fn anew(&self, tick: i128) -> Estimate {
        let before = self.ticks_before(2 * (self.at + self.period), tick);
        let (lo, hi) = self.by_observation(tick, before);
        Estimate { lo, hi, age: age(before) }
    }
}

fn age(before: i128) -> u64 {
    u64::try_from(before.unsigned_abs()).unwrap_or(u64::MAX)
}

/// What an observation does to an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Narrowed {
    To(i128, i128, u64),
    /// Which tick it was is not known.
    Overlapping,
    /// The device has broken its word.
    Empty,
}
