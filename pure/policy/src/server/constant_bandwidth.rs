// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Constant bandwidth server, under EDF: its budget is always available, and its deadline pays for it.
//!
//! ```text
//! Rule        when requests begin to wait at r: if c · T_s ≥ (d − r) · C_s, d = r + T_s and c = C_s; else c and d
//!             stay. c decreases while requests are served; when it is used up, c = C_s at once and d = d + T_s
//! Symbols     C_s budget, T_s period, c the remaining budget, d absolute deadline
//! Guarantee   it demands no more than C_s / T_s: EDF keeps all deadlines if all utilizations and C_s / T_s add up to
//!             at most 1, whatever the requests are
//! Needs       nothing while no request waits. A rule that counts deadlines from arrivals, with T_s for the server
//! Cost        each step O(1)
//! Source      [Abeni98]
//! ```

use taut_time::{Duration, Instant};

use super::{ServerRule, Unfit, figures};

/// A constant bandwidth server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantBandwidth {
    budget: u64,
    period: u64,
    left: u64,
    deadline: u64,
    now: u64,
}

impl ConstantBandwidth {
    /// A server with budget C_s and period T_s.
    ///
    /// # Errors
    /// [`Unfit::Budget`].
    pub fn new(budget: Duration, period: Duration) -> Result<Self, Unfit> {
        let (budget, period) = figures(budget, period)?;
        Ok(Self { budget, period, left: budget, deadline: 0, now: 0 })
    }

    /// d: the deadline of the server's turn.
    pub fn deadline(&self) -> Instant {
        Instant::from_ns(self.deadline)
    }
}

impl ServerRule for ConstantBandwidth {
    fn pass(&mut self, now: Instant, ran: bool) -> bool {
        let now = now.as_ns().max(self.now);
        let ran = if ran { now - self.now } else { 0 };
        self.now = now;
        if ran < self.left {
            self.left -= ran;
            return false;
        }
        let more = ran - self.left;
        let times = (more / self.budget).saturating_add(1);
        self.left = self.budget - more % self.budget;
        self.deadline = self.deadline.saturating_add(times.saturating_mul(self.period));
        true
    }

    fn wake(&mut self) {
        let until = u128::from(self.deadline.saturating_sub(self.now));
        if u128::from(self.left) * u128::from(self.period) >= until * u128::from(self.budget) {
            self.deadline = self.now.saturating_add(self.period);
            self.left = self.budget;
        }
    }

    fn find_none(&mut self) {}

    fn is_ready(&self, backlog: bool) -> bool {
        backlog
    }

    fn left(&self) -> Duration {
        Duration::from_ns(self.left)
    }

    fn next(&self, _: bool) -> Option<Instant> {
        None
    }

    fn arrival(&self) -> Instant {
        Instant::from_ns(self.deadline.saturating_sub(self.period))
    }

    fn now(&self) -> Instant {
        Instant::from_ns(self.now)
    }
}
