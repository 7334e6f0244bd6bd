// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A budget that is full whenever a period begins: the common part of polling and deferrable servers.

use taut_time::{Duration, Instant};

use super::{NEVER, Unfit, figures};

/// The budget of a period, and the beginning of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Periodic {
    budget: u64,
    period: u64,
    pub(super) left: u64,
    /// What the server has overrun, to be deducted from later budgets.
    owed: u64,
    /// When the next period begins.
    next: u64,
    now: u64,
}

impl Periodic {
    pub(super) fn new(budget: Duration, period: Duration, left: bool, start: Instant) -> Result<Self, Unfit> {
        let (budget, period) = figures(budget, period)?;
        let left = if left { budget } else { 0 };
        Ok(Self { budget, period, left, owed: 0, next: start.as_ns(), now: 0 })
    }

    fn charge(&mut self, ran: u64) {
        self.owed = self.owed.saturating_add(ran.saturating_sub(self.left));
        self.left = self.left.saturating_sub(ran);
    }

    /// Replenishes the budget when a period begins.
    fn replenish(&mut self) {
        let kept = self.owed.min(self.budget);
        self.left = self.budget - kept;
        self.owed -= kept;
    }

    /// Returns whether the server ran and has used up its budget. O(1), however many periods have begun since the
    /// last call.
    pub(super) fn pass(&mut self, now: Instant, ran: bool) -> bool {
        let now = now.as_ns().max(self.now);
        if self.next <= now && self.next != NEVER {
            if ran {
                self.charge(self.next - self.now.min(self.next));
            }
            let whole = (now - self.next) / self.period;
            // In each whole period that passed, the server had a budget, and ran all the time or not at all.
            self.owed = if ran {
                self.owed.saturating_add(whole.saturating_mul(self.period - self.budget))
            } else {
                self.owed.saturating_sub(whole.saturating_mul(self.budget))
            };
            self.replenish();
            self.now = self.next + whole * self.period;
            self.next = self.now.saturating_add(self.period);
        }
        if ran {
            self.charge(now - self.now);
        }
        self.now = now;
        ran && self.left == 0
    }

    /// How long the server may run from now on: past the beginning of the next period, if the budget lasts until
    /// then.
    pub(super) fn stretch(&self) -> Duration {
        let to_next = self.next - self.now.min(self.next);
        let stretch = if self.left == 0 || self.left < to_next || self.next == NEVER {
            self.left
        } else {
            // Nothing is owed while some budget is left.
            to_next.saturating_add(self.budget)
        };
        Duration::from_ns(stretch)
    }

    /// The beginning of the next period that has a budget.
    pub(super) fn next(&self) -> Option<Instant> {
        // A period whose whole budget is deducted brings nothing.
        let empty = (self.owed / self.budget).saturating_mul(self.period);
        let next = self.next.saturating_add(empty);
        (next != NEVER).then(|| Instant::from_ns(next))
    }

    /// The beginning of this period.
    pub(super) fn begun(&self) -> Instant {
        Instant::from_ns(self.next.saturating_sub(self.period))
    }

    pub(super) fn now(&self) -> Instant {
        Instant::from_ns(self.now)
    }
}
