// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Polling server: looks for requests once a period.
//!
//! ```text
//! Rule        when a period begins, the budget becomes C_s, whatever is left; when the server has the core and no
//!             request waits, it gives up the rest. It asks for the core while it has a budget, even if no request
//!             waits: so it looks for requests when it first gets the core, which more urgent tasks may delay
//! Symbols     C_s budget, T_s period
//! Guarantee   to others the server looks like a periodic task of C_s and T_s at most
//! Needs       the driver to report the beginning of each period: O(1) every T_s, even without requests
//! Cost        each step O(1)
//! Source      [Lehoczky87]; [Sprunt89] has the same
//! ```

use taut_time::{Duration, Instant};

use super::periodic::Periodic;
use super::{ServerRule, Unfit};

/// A polling server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    budget: Periodic,
}

impl Polling {
    /// A server with budget C_s and period T_s; its first period begins at `start`. It has no budget before that.
    ///
    /// # Errors
    /// [`Unfit::Budget`].
    pub fn new(budget: Duration, period: Duration, start: Instant) -> Result<Self, Unfit> {
        Ok(Self { budget: Periodic::new(budget, period, false, start)? })
    }
}

impl ServerRule for Polling {
    fn pass(&mut self, now: Instant, ran: bool) -> bool {
        self.budget.pass(now, ran)
    }

    fn wake(&mut self) {}

    fn find_none(&mut self) {
        self.budget.left = 0;
    }

    fn is_ready(&self, _: bool) -> bool {
        self.budget.left > 0
    }

    fn left(&self) -> Duration {
        self.budget.stretch()
    }

    fn next(&self, _: bool) -> Option<Instant> {
        self.budget.next()
    }

    fn arrival(&self) -> Instant {
        self.budget.begun()
    }

    fn now(&self) -> Instant {
        self.budget.now()
    }
}
