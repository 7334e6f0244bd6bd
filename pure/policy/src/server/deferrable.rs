// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Deferrable server: keeps its budget until its period ends.
//!
//! ```text
//! Rule        when a period begins, the budget becomes C_s, whatever is left; it decreases while requests are served
//! Symbols     C_s budget, T_s period
//! Guarantee   to others the server looks like a periodic task of C_s and T_s with jitter T_s − C_s at most: two
//!             budgets back to back, one at the end of a period and one at the beginning of the next
//! Needs       nothing while no request waits
//! Cost        each step O(1)
//! Source      [Lehoczky87], [Strosnider95]
//! ```

use taut_time::{Duration, Instant};

use super::periodic::Periodic;
use super::{ServerRule, Unfit};

/// A deferrable server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferrable {
    budget: Periodic,
}

impl Deferrable {
    /// A server with budget C_s and period T_s; its first whole period begins at `start`. It has a budget before
    /// that, too.
    ///
    /// # Errors
    /// [`Unfit::Budget`].
    pub fn new(budget: Duration, period: Duration, start: Instant) -> Result<Self, Unfit> {
        Ok(Self { budget: Periodic::new(budget, period, true, start)? })
    }
}

impl ServerRule for Deferrable {
    fn pass(&mut self, now: Instant, ran: bool) -> bool {
        self.budget.pass(now, ran)
    }

    fn wake(&mut self) {}

    fn find_none(&mut self) {}

    fn is_ready(&self, backlog: bool) -> bool {
        backlog && self.budget.left > 0
    }

    fn left(&self) -> Duration {
        self.budget.stretch()
    }

    fn next(&self, backlog: bool) -> Option<Instant> {
        self.budget.next().filter(|_| backlog)
    }

    fn arrival(&self) -> Instant {
        self.budget.begun()
    }

    fn now(&self) -> Instant {
        self.budget.now()
    }
}
