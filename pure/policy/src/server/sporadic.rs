// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sporadic server: a used part of the budget comes back one period after the server could begin to use it.
//!
//! ```text
//! Rule        the budget is a list of replenishments (t, a): the server may use a from t on. It uses them in order of
//!             t; the used part of each comes back as one replenishment at t + T_s. When requests begin to wait at b,
//!             each t before b becomes b
//! Symbols     C_s budget: the sum of all replenishments, always; T_s period
//! Guarantee   the server delays others at most as a periodic task of cost C_s and period T_s does; after requests
//!             begin to wait, all of C_s is available again within T_s
//! Needs       nothing while no request waits
//! Cost        each step O(replenishments)
//! Source      [Sprunt89], with the corrections of [Stanovich10]
//! ```
//!
//! **Corrections.** A replenishment never comes back larger than what was used of it, nor earlier than T_s after t,
//! however the driver reports time. Two replenishments merge only if that makes no budget available earlier. An
//! overrun is deducted from the later replenishments, which come back that much later. Sprunt's t is the instant at
//! which the server's priority, or one above it, becomes busy; b is never before that.
//!
//! **Places for replenishments** are fixed. A replenishment is split only between two waits, so within one wait no
//! further place is needed. If there is no place when a wait begins, the two later replenishments that are closest in
//! time merge, at the time of the later one: the server delays less urgent tasks no more than before, and all of C_s
//! is still available within T_s. The cost is that a barely used budget is not available at once; if there is one
//! place more than the number of waits that can begin within T_s, there is no such cost.

use taut_time::{Duration, Instant};

use super::{NEVER, ServerRule, Unfit, figures};
use crate::Store;

/// A part of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replenishment {
    /// The instant from which the server may use it.
    pub at: Instant,
    /// Its size.
    pub amount: Duration,
}

impl Replenishment {
    /// An empty place.
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
    /// A ring buffer in order of time that begins at `first`; it has at least one entry, and none of size 0.
    replenishments: P,
    first: usize,
    count: usize,
    /// What has been used of the first replenishment.
    used: u64,
    now: u64,
}

impl<P: Store<Replenishment>> Sporadic<P> {
    /// A server with budget C_s, available from the beginning, and period T_s. It needs at least one place for
    /// replenishments.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn new(budget: Duration, period: Duration, mut replenishments: P) -> Result<Self, Unfit> {
        let (budget, period) = figures(budget, period)?;
        *replenishments.as_mut().first_mut().ok_or(Unfit::Replenishments)? = Replenishment::new(0, budget);
        Ok(Self { budget, period, replenishments, first: 0, count: 1, used: 0, now: 0 })
    }

    /// All replenishments, used amounts included, in order of time; only the used amount of the first one comes last.
    pub fn replenishments(&self) -> impl Iterator<Item = Replenishment> {
        let used = Replenishment::new(self.back(), self.used);
        (0..self.count).map(|at| self.part(at)).chain((self.used > 0).then_some(used))
    }

    fn place(&self, at: usize) -> usize {
        (self.first + at) % self.replenishments.as_ref().len()
    }

    fn part(&self, at: usize) -> Replenishment {
        self.replenishments.as_ref()[self.place(at)]
    }

    fn part_mut(&mut self, at: usize) -> &mut Replenishment {
        let place = self.place(at);
        &mut self.replenishments.as_mut()[place]
    }

    fn at(&self, at: usize) -> u64 {
        self.part(at).at.as_ns()
    }

    /// The instant at which the used amount of the first replenishment comes back.
    fn back(&self) -> u64 {
        self.at(0).saturating_add(self.period)
    }

    fn pop(&mut self) {
        self.first = self.place(1);
        self.count -= 1;
    }

    /// Appends a replenishment that is not earlier than any other. The caller makes sure that there is a place, unless
    /// the replenishment joins the last one.
    fn push(&mut self, at: u64, amount: u64) {
        if self.count > 0 && self.at(self.count - 1) == at {
            return self.part_mut(self.count - 1).add(amount);
        }
        self.count += 1;
        *self.part_mut(self.count - 1) = Replenishment::new(at, amount);
    }

    fn charge(&mut self, ran: u64) {
        // A server that uses C_s in one go uses each replenishment once, and all come back a period later.
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

    /// Appends a replenishment that is not earlier than any other. If there is no place, two neighbours merge, at the
    /// time of the later one. The first replenishment, which the server may use now, merges only if there is no other
    /// choice.
    fn squeeze(&mut self, at: u64, amount: u64) {
        if self.count < self.replenishments.as_ref().len() || self.at(self.count - 1) == at {
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

impl<P: Store<Replenishment>> ServerRule for Sporadic<P> {
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
        // The new replenishment becomes the first; it has a place, since at least one has just been removed.
        let places = self.replenishments.as_ref().len();
        self.first = (self.first + places - 1) % places;
        self.count += 1;
        *self.part_mut(0) = Replenishment::new(self.now, amount);
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

    /// What the server may use now is not postponed if there is no place, however soon the next replenishment comes.
    #[test]
    fn the_first_part_stays_where_it_is() {
        let replenishments = [Replenishment::new(4, 2), Replenishment::new(5, 1), Replenishment::new(20, 3)];
        let mut server =
            Sporadic { budget: 7, period: 22, replenishments, first: 0, count: 3, used: 0, now: 4 };
        server.squeeze(26, 1);
        let replenishments: Vec<Replenishment> = server.replenishments().collect();
        assert_eq!(
            replenishments,
            [Replenishment::new(4, 2), Replenishment::new(5, 1), Replenishment::new(26, 4)]
        );
        // With one place there is no other choice.
        let mut server = Sporadic {
            budget: 3,
            period: 22,
            replenishments: [Replenishment::new(4, 2)],
            first: 0,
            count: 1,
            used: 0,
            now: 4,
        };
        server.squeeze(26, 1);
        assert_eq!(server.replenishments().collect::<Vec<_>>(), [Replenishment::new(26, 3)]);
    }
}
