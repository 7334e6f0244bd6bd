// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers of a set-up.

use taut_policy::server::{Any, REPLENISHMENTS, Replenishment, ServerEntry, ServerPolicy, Unfit};
use taut_time::{Duration, Instant};

/// A share of a core: a budget per period, for tasks that guarantee nothing about their demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSetup {
    pub(crate) name: String,
    pub(crate) policy: ServerPolicy,
    pub(crate) budget: Duration,
    pub(crate) period: Duration,
    pub(crate) priority: u32,
    pub(crate) recorded_as: Option<u16>,
}

impl ServerSetup {
    /// A server at priority 1. Its periods count from release 0.
    pub fn new(name: &str, policy: ServerPolicy, budget: Duration, period: Duration) -> Self {
        Self { name: name.to_owned(), policy, budget, period, priority: 1, recorded_as: None }
    }

    /// Its priority, under rules with fixed priorities; larger is more urgent. Under EDF its relative deadline is its
    /// period.
    #[must_use]
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// The subject of its records. By default its position among the servers of the set-up.
    #[must_use]
    pub fn recorded_as(mut self, subject: u16) -> Self {
        self.recorded_as = Some(subject);
        self
    }

    pub(crate) fn periods(&self) -> Periods {
        Periods { policy: self.policy, budget: self.budget, period: self.period }
    }

    pub(crate) fn entry(&self, start_ns: u64) -> Result<AnyServerEntry, Unfit> {
        let parts = || places(Replenishment::EMPTY, REPLENISHMENTS);
        let start = Instant::from_ns(start_ns);
        Ok(ServerEntry::new(Any::new(self.policy, self.budget, self.period, start, parts)?))
    }

    /// Whether budget and period make a valid server.
    pub(crate) fn is_fit(&self) -> bool {
        self.entry(0).is_ok()
    }
}

pub(crate) fn places<T: Clone>(empty: T, count: usize) -> Box<[T]> {
    vec![empty; count].into()
}

/// A server of a set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId {
    pub(crate) brand: u64,
    /// Its position on its core.
    pub(crate) server: u32,
}

pub(crate) type AnyServer = Any<Box<[Replenishment]>>;
pub(crate) type AnyServerEntry = ServerEntry<AnyServer>;

/// The parameters of a server, from which its budget follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periods {
    pub(crate) policy: ServerPolicy,
    pub(crate) budget: Duration,
    pub(crate) period: Duration,
}

impl Periods {
    /// A server whose first period begins at `start`; none if the start does not matter to it.
    pub(crate) fn begun(self, start: Instant) -> Option<AnyServer> {
        // These values were accepted before. A sporadic server without places is refused.
        Any::new(self.policy, self.budget, self.period, start, Box::default).ok()
    }
}
