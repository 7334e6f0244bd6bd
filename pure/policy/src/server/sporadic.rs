// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sporadic server: what is used of the budget comes back a period after the server could begin to use it.
//!
//! ```text
//! Rule        the budget is in parts (t, a): a may be used from t on. Parts are used in order of t; what is used of a
//!             part comes back as one part at t + T_s. When requests begin to wait at b, each t before b becomes b
//! Symbols     C_s budget: the sum of all parts, always; T_s period
//! Promise     others see a periodic task of C_s and T_s at most; when requests begin to wait, all of C_s is there again
//!             within T_s
//! Needs       nothing while no request waits
//! Cost        each step O(parts)
//! Source      [Sprunt89], with the corrections of [Stanovich10]
//! ```
//!
//! **Corrections.** A part never comes back larger than what was used, nor sooner than T_s after t, however the server was
//! told of time; parts are put together only where no budget comes sooner by it; and what is used too much is taken from
//! the parts to come, which come back that much later. Sprunt's t is the instant at which the server's priority, or one
//! above it, becomes busy; b is never before that.
//!
//! **Places for parts** are fixed. A part is split only between two waits, so within one wait none more is needed. If at
//! its begin there is no place, those two parts to come that are closest become one, at the time of the later: nobody
//! below sees more of the server, and all of C_s is still there within T_s. What is lost is that a budget that was hardly
//! used is at hand at once; with a place more than waits can begin within T_s, nothing is.

use taut_time::{Duration, Instant};

use super::{NEVER, Server, Unfit, figures};
use crate::Store;

/// A part of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From when it may be used.
    pub at: Instant,
    /// How much it is.
    pub amount: Duration,
}

impl Part {
    /// A place for one.
    pub const EMPTY: Self = Self { at: Instant::from_ns(0), amount: Duration::ZERO };

    fn new(at: u64, amount: u64) -> Self {
        Self { at: Instant::from_ns(at), amount: Duration::from_ns(amount) }
    }

    fn add(&mut self, amount: u64) {
        self.amount = Duration::from_ns(self.amount.as_ns() + amount);
    }
}

/// A sporadic server.
#[derive(Clone, Debug)]
pub struct Sporadic<P> {
    budget: u64,
    period: u64,
    /// A ring, in order of time, that begins at `first`; there is always one, and none is empty.
    parts: P,
    first: usize,
    count: usize,
    /// What has been used of the first part.
    used: u64,
    now: u64,
}

impl<P: Store<Part>> Sporadic<P> {
    /// C_s, which is there from the beginning, T_s, and at least one place for parts.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn new(budget: Duration, period: Duration, mut parts: P) -> Result<Self, Unfit> {
        let (budget, period) = figures(budget, period)?;
        *parts.as_mut().first_mut().ok_or(Unfit::Parts)? = Part::new(0, budget);
        Ok(Self { budget, period, parts, first: 0, count: 1, used: 0, now: 0 })
    }

    /// All parts, what has been used included, in order of time but for what has been used of the first, which comes
    /// last.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        let used = Part::new(self.back(), self.used);
        (0..self.count).map(|at| self.part(at)).chain((self.used > 0).then_some(used))
    }

    fn place(&self, at: usize) -> usize {
        (self.first + at) % self.parts.as_ref().len()
    }

    fn part(&self, at: usize) -> Part {
        self.parts.as_ref()[self.place(at)]
    }

    fn part_mut(&mut self, at: usize) -> &mut Part {
        let place = self.place(at);
        &mut self.parts.as_mut()[place]
    }

    fn at(&self, at: usize) -> u64 {
        self.part(at).at.as_ns()
    }

    /// When what is used of the first part comes back.
    fn back(&self) -> u64 {
        self.at(0).saturating_add(self.period)
    }

    fn pop(&mut self) {
        self.first = self.place(1);
        self.count -= 1;
    }

    /// A part that comes no sooner than all others. There is a place if it joins the last one, or after [`Self::room`].
    fn push(&mut self, at: u64, amount: u64) {
        if self.count > 0 && self.at(self.count - 1) == at {
            return self.part_mut(self.count - 1).add(amount);
        }
        self.count += 1;
        *self.part_mut(self.count - 1) = Part::new(at, amount);
    }

    fn charge(&mut self, ran: u64) {
        // Whoever uses C_s in one go uses each part once, and all come a period later.
        let whole = (ran / self.budget).saturating_mul(self.period);
        if whole > 0 {
            for at in 0..self.count {
                let later = self.at(at).saturating_add(whole);
                self.part_mut(at).at = Instant::from_ns(later);
            }
        }
        let mut ran = ran % self.budget;
        while ran > 0 {
            let amount = self.part(0).amount.as_ns();
            let taken = ran.min(amount);
            ran -= taken;
            self.used += taken;
            self.part_mut(0).amount = Duration::from_ns(amount - taken);
            if taken == amount {
                let (back, used) = (self.back(), core::mem::take(&mut self.used));
                self.pop();
                self.push(back, used);
            }
        }
    }

    /// A part that comes no sooner than all others, where there may be no place: two that follow each other become one,
    /// at the time of the later. The first, which may be used now, is left alone if it can be.
    fn squeeze(&mut self, at: u64, amount: u64) {
        if self.count < self.parts.as_ref().len() || self.at(self.count - 1) == at {
            return self.push(at, amount);
        }
        let gap = |from: usize| {
            let next = if from + 1 < self.count { self.at(from + 1) } else { at };
            next - self.at(from)
        };
        let closest = (1.min(self.count - 1)..self.count).min_by_key(|from| gap(*from)).unwrap_or(0);
        let mut earlier = self.part(closest).amount.as_ns();
        for from in closest..self.count - 1 {
            let mut part = self.part(from + 1);
            part.add(core::mem::take(&mut earlier));
            *self.part_mut(from) = part;
        }
        self.count -= 1;
        self.push(at, amount + earlier);
    }

    fn is_available(&self) -> bool {
        self.at(0) <= self.now && self.at(0) != NEVER
    }
}

impl<P: Store<Part>> Server for Sporadic<P> {
    fn pass(&mut self, now: Instant, ran: bool) -> bool {
        let now = now.as_ns().max(self.now);
        if ran {
            self.charge(now - self.now);
        }
        self.now = now;
        ran && !self.is_available()
    }

    fn wake(&mut self) {
        if self.at(0) >= self.now {
            return;
        }
        let (back, mut used) = (self.back(), core::mem::take(&mut self.used));
        let mut amount = 0;
        while self.count > 0 && self.at(0) <= self.now {
            amount += self.part(0).amount.as_ns();
            self.pop();
        }
        if back <= self.now {
            amount += core::mem::take(&mut used);
        }
        // To the front, where at least one has just been taken away.
        let places = self.parts.as_ref().len();
        self.first = (self.first + places - 1) % places;
        self.count += 1;
        *self.part_mut(0) = Part::new(self.now, amount);
        if used > 0 {
            self.squeeze(back, used);
        }
    }

    fn find_none(&mut self) {}

    fn is_ready(&self, backlog: bool) -> bool {
        backlog && self.is_available()
    }

    fn left(&self) -> Duration {
        let mut end = self.now;
        for part in (0..self.count).map(|at| self.part(at)) {
            if part.at.as_ns() > end {
                break;
            }
            end = end.saturating_add(part.amount.as_ns());
        }
        Duration::from_ns(end - self.now)
    }

    fn next(&self, backlog: bool) -> Option<Instant> {
        let at = self.part(0).at;
        (backlog && at.as_ns() != NEVER).then_some(at)
    }

    fn arrival(&self) -> Instant {
        self.part(0).at
    }

    fn now(&self) -> Instant {
        Instant::from_ns(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What may be used now is not put off where there is no place, however soon the next part comes.
    #[test]
    fn the_first_part_stays_where_it_is() {
        let parts = [Part::new(4, 2), Part::new(5, 1), Part::new(20, 3)];
        let mut server = Sporadic { budget: 7, period: 22, parts, first: 0, count: 3, used: 0, now: 4 };
        server.squeeze(26, 1);
        let parts: Vec<Part> = server.parts().collect();
        assert_eq!(parts, [Part::new(4, 2), Part::new(5, 1), Part::new(26, 4)]);
        // With one place there is no other.
        let mut server =
            Sporadic { budget: 3, period: 22, parts: [Part::new(4, 2)], first: 0, count: 1, used: 0, now: 4 };
        server.squeeze(26, 1);
        assert_eq!(server.parts().collect::<Vec<_>>(), [Part::new(26, 3)]);
    }
}
