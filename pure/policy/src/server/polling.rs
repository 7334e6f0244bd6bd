// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Polling server: looks for requests once a period.
//!
//! ```text
//! Rule        when a period begins, the budget is C_s, whatever was left; when the server has the core and no request
//!             waits, what is left is given up. It asks for the core while it has a budget, even if nothing waits: so
//!             it looks when it first gets the core, which more urgent tasks may put off
//! Symbols     C_s budget, T_s period
//! Promise     others see a periodic task of C_s and T_s at most
//! Needs       to be told when each period begins: O(1) every T_s, requests or none
//! Cost        each step O(1)
//! Source      [Lehoczky87]; [Sprunt89] has the same
//! ```

use taut_time::{Duration, Instant};

use super::periodic::Periodic;
use super::{Server, Unfit};

/// A polling server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    budget: Periodic,
}

impl Polling {
    /// C_s, T_s, and when the first period begins. Until then there is no budget.
    ///
    /// # Errors
    /// [`Unfit::Budget`].
    pub fn new(budget: Duration, period: Duration, start: Instant) -> Result<Self, Unfit> {
        Ok(Self { budget: Periodic::new(budget, period, false, start)? })
    }
}

impl Server for Polling {
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
